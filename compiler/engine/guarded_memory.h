/* Memory for generated code that ends where the process may not go: a step that leaves its arena or state ends in a
 * fault, and not in a result that is wrong elsewhere. */
#ifndef STEPC_ENGINE_GUARDED_MEMORY_H
#define STEPC_ENGINE_GUARDED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct guarded_memory {
    void *data; /* aligned to 64 bytes; its contents are no zeros, for they must not matter */
    void *pages;
    size_t length; /* of the pages, with those around */
};

/* Memory of its own, to be released; an empty one has no pages. False: this machine has not so much. */
bool guarded_memory_new(size_t bytes, struct guarded_memory *out);
void guarded_memory_release(struct guarded_memory *m);

#endif
