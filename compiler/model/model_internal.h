/* What the files of this folder share. Included nowhere else. */
#ifndef STEPC_MODEL_MODEL_INTERNAL_H
#define STEPC_MODEL_MODEL_INTERNAL_H

#include "base/map.h"
#include "model/bulk.h"
#include "model/model.h"

/* The state of reading one file. */
struct reader {
    struct diag *diag;
    struct arena *arena;                   /* of the result */
    const char *file;                      /* as the user typed it */
    struct model *model;                   /* NULL while a tensor file is read: no external data then */
    struct map external;                   /* paths of external files met so far; the arena is `arena` */
    struct map refused; /* locations of files that cannot be read: said once, whatever number of tensors lies there */
    uint64_t external_size, external_read; /* bytes of those files together; bytes taken out of them */
    bool unpacked_stays;                   /* the messages are in the arena, too: a tensor may lie in one */
    const char *trace, *scopes;            /* of the node around what is read (struct loc) */
};

/* Room for exactly n elements: what a list of known length needs. */
#define VEC_RESERVE(a, v, n)                                                                                           \
    do {                                                                                                               \
        if ((n) > 0)                                                                                                   \
            (v)->data = arena_alloc((a), (n), sizeof *(v)->data, alignof(max_align_t));                                \
        (v)->capacity = (n);                                                                                           \
    } while (0)

/* What keeps a file's bytes from being text, valid UTF-8 without NUL: "has a NUL character at position 3"; or NULL. */
const char *text_fault(struct arena *a, const unsigned char *s, size_t size);

/* Text out of the file: valid UTF-8 without NUL. `what` names it in messages ("a node's name"). */
bool read_text(struct reader *r, const struct loc *at, ProtobufCBinaryData b, const char *what,
               const char **out) MUST_USE;

/* A tensor, from whichever field holds it. `what` names it in messages ("initializer 'W'"). *external: where external
 * data came from, else NULL; may be passed as NULL. */
bool read_tensor(struct reader *r, const struct loc *at, const char *what, const Onnx__TensorProto *p,
                 struct tensor **out, const char **external) MUST_USE;

/* Reads a model's file and takes the data of its initializers out as it goes by, see bulk.h. *well_formed: is it framed
 * as a model? If not, nothing is reported, and who reads the whole file says what is wrong. */
bool read_model_file(struct diag *d, struct arena *a, const char *path, struct model **out, bool *well_formed) MUST_USE;

/* Unpacks a whole tensor file. */
bool read_tensor_bytes(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                       struct tensor **out, const char **name) MUST_USE;

/* Finds and reads the `need` bytes of a tensor that live in another file; into `a`, which may be a scratch arena. */
bool external_data_read(struct reader *r, struct arena *a, const struct loc *at, const char *what,
                        const Onnx__TensorProto *p, size_t need, unsigned char **bytes, const char **location) MUST_USE;

/* The message for a tensor: pointers into the tensor where its bytes are already in file order, into `a` otherwise. */
Onnx__TensorProto *write_tensor(struct arena *a, const char *name, const struct tensor *t);
Onnx__StringStringEntryProto *write_pair(struct arena *a, const struct model_pair *pair);
/* Packs a message; the error is that it passes what ONNX can hold (2 GiB). */
bool write_packed(struct diag *d, struct arena *a, const struct loc *at, const ProtobufCMessage *m,
                  unsigned char **bytes, size_t *size) MUST_USE;

/* The message for a model: pointers into its tensors, see write_tensor(). */
Onnx__ModelProto *model_message(struct arena *a, const struct model *m);
/* The hash, begun here, of the bytes of a packed message. */
void hash_message(const ProtobufCMessage *m, struct sha256 *hash);

/* How many elements share a byte in the file: 1, 2 or 4. */
int packed_per_byte(enum dtype d);
/* Bytes of `count` elements in the file; 0 for STRING. The count passed shape_count_checked(). */
size_t packed_size(enum dtype d, int64_t count);
/* Copies elements of `size` bytes between native and little-endian order. */
void copy_little_endian(void *to, const void *from, size_t count, size_t size);
/* The width to which byte order applies: that of a part for complex numbers. */
size_t part_size(enum dtype d);

/* What a file that begins with these bytes is, if it is none of ONNX but something known, and what to do; else NULL.
 * (foreign_file.c) */
const char *foreign_file(const unsigned char *bytes, size_t size);

#endif
