/* C identifiers for things of the model. */
#ifndef STEPC_EMIT_NAMES_H
#define STEPC_EMIT_NAMES_H

#include "base/map.h"

/* Names given out in one scope (the file, a struct, a function). A zeroed scope with .taken.arena set is empty. */
struct name_scope {
    struct map taken;
    const struct name_scope *outer; /* its names are taken here, too; or NULL */
};

/* What is taken in `outer` is taken in it, and not the other way round. Nothing is taken in `outer` while it is
 * used. */
struct name_scope name_scope_within(struct arena *a, const struct name_scope *outer);

/* "fc1.weight" -> "fc1_weight"; "1x" -> "v1x"; what name_is_reserved() gets a trailing underscore; a clash gets _2,
 * _3... The result is in the scope's arena and taken from now on. */
const char *name_in(struct name_scope *s, const char *wish);
/* The same for an identifier that is not the model's: only a clash changes it. */
const char *name_exactly(struct name_scope *s, const char *base);
/* The first of them that is free, else the last with a number behind it; each is an identifier that is not reserved. */
const char *name_first_free(struct name_scope *s, const char *const *wishes, size_t count);
/* The words that both have, in their order: "layers.0.mlp.weight", "layers.1.mlp.weight" -> "layers_mlp_weight". NULL:
 * there are none. */
const char *name_in_common(struct arena *a, const char *x, const char *y);
/* Is it a word, type, function or macro of C, C++ or their standard headers, of the runtime, or of the texts that
 * emitted files contain? */
bool name_is_reserved(const char *identifier);
/* Without a scope: the mangled form only. */
const char *name_mangle(struct arena *a, const char *wish);
/* Upper case of an identifier. */
const char *name_upper(struct arena *a, const char *identifier);

#endif
