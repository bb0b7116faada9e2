/* The data of initializers, apart from the message that they belong to: a model that is mostly weights takes its own
 * size in memory and not a multiple of it, since protobuf-c would copy each tensor out of the file's bytes.
 *
 *   initializer { name: "w" dims: [4096,4096] raw_data: <64 MB> }
 *   ->  initializer { ... raw_data: <number> },  parts[number]
 *
 * Every raw_data of 4 bytes or more of an initializer is taken out, in the graph and in those of training_info, so that
 * one of 4 bytes is always such a number. Trusted: nothing; what is not framed as a model is left to the reader of
 * whole files, which says what is wrong. */
#ifndef STEPC_MODEL_BULK_H
#define STEPC_MODEL_BULK_H

#include "base/stream.h"
#include "base/str.h"
#include "base/vec.h"
#include "onnx.pb-c.h"

struct bulk {
    struct arena *arena;             /* where the data goes */
    struct strbuf message;           /* what is left */
    VEC(ProtobufCBinaryData) parts;  /* each at a multiple of 16 bytes */
};

/* Reads a model's file. False: not framed as one; what was taken in by then is of no use. */
bool bulk_read(struct bulk *b, struct stream *from) MUST_USE;
/* Takes the data out of a message, which keeps pointing to it. */
void bulk_take(struct bulk *b, Onnx__ModelProto *m);
/* Puts it back into a message that was unpacked from the one without; false where a number is none of this bulk. */
bool bulk_restore(const struct bulk *b, Onnx__ModelProto *m) MUST_USE;

#endif
