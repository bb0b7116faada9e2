/* Fields of a message of protocol buffers, one after the other: enough for messages of TensorFlow that say where
 * tensors lie and what they are. Not trusted. Spec: protobuf.dev/programming-guides/encoding. */
#ifndef STEPC_FOREIGN_WIRE_H
#define STEPC_FOREIGN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
    const unsigned char *at, *end;
    bool ok; /* false once something in it was no field */
};

enum wire_kind { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint64_t number;
    enum wire_kind kind;
    uint64_t value;             /* of a number or of fixed bytes */
    const unsigned char *bytes; /* WIRE_BYTES */
    size_t size;
};

struct wire wire_of(const unsigned char *bytes, size_t size);
/* False at the end, and where w->ok is false now. */
bool wire_next(struct wire *w, struct wire_field *out);

#endif
