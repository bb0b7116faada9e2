/* What a checkpoint of tf.train.Checkpoint, of Keras or in a SavedModel says of the objects that hold its variables.
 * Not trusted. Spec: tensorflow/core/protobuf/trackable_object_graph.proto. */
#ifndef STEPC_FOREIGN_OBJECTS_H
#define STEPC_FOREIGN_OBJECTS_H

#include "base/diag.h"

struct object_child {
    const char *name;
    size_t object; /* its number, which there is */
};

struct object {
    VEC(struct object_child) children;
    const char *key;       /* of its value in the checkpoint, if it is a variable; else NULL */
    const char *full_name; /* what the variable itself is called: "dense/kernel"; may be empty */
};
typedef VEC(struct object) object_list;

bool objects_parse(struct diag *d, struct arena *a, const struct loc *at, const unsigned char *bytes, size_t size,
                   object_list *out) MUST_USE;
/* The one that is called so there; NULL: there is none. */
const struct object *object_child(const object_list *all, const struct object *o, const char *name);

#endif
