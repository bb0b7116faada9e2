/* MessagePack as a tree of values. Not trusted: every byte; nesting and the number of values are bounded.
 * Spec: github.com/msgpack/msgpack/blob/master/spec.md. */
#ifndef STEPC_FOREIGN_MSGPACK_H
#define STEPC_FOREIGN_MSGPACK_H

#include "base/diag.h"
#include <stdint.h>

enum msgpack_kind {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_INT,
    MSGPACK_FLOAT,
    MSGPACK_TEXT,
    MSGPACK_BYTES,
    MSGPACK_LIST,
    MSGPACK_MAP,
    MSGPACK_EXTENSION
};

struct msgpack_value {
    enum msgpack_kind kind;
    int type;                   /* of an extension */
    int64_t i;                  /* a truth or an integer; the pattern of one above INT64_MAX */
    double number;              /* of MSGPACK_FLOAT */
    const unsigned char *bytes; /* text, bytes, content of an extension: in what was parsed */
    size_t size;
    VEC(struct msgpack_value *) items; /* of a map: key, value, key, value... */
};

/* One value, which is all there is; *left: values that may still be made, counted down. */
bool msgpack_parse(struct diag *d, struct arena *a, const struct loc *at, const unsigned char *bytes, size_t size,
                   size_t *left, struct msgpack_value **out) MUST_USE;
/* The value under a key of a map; NULL: there is none, or it is no map. */
const struct msgpack_value *msgpack_get(const struct msgpack_value *map, const char *key);

#endif
