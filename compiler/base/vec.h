/* A typed growing array in an arena. A zeroed vec is empty. Growing leaves the old storage in the arena. */
#ifndef STEPC_BASE_VEC_H
#define STEPC_BASE_VEC_H

#include "base/arena.h"

#define VEC(T)                                                                                                         \
    struct {                                                                                                           \
        T *data;                                                                                                       \
        size_t count, capacity;                                                                                        \
    }

/* Makes room for one more element: doubles the capacity. */
void *vec_grow(struct arena *a, void *data, size_t count, size_t *capacity, size_t size, size_t align);

#define vec_push(a, v, x)                                                                                              \
    do {                                                                                                               \
        if ((v)->count == (v)->capacity)                                                                               \
            (v)->data = vec_grow((a), (v)->data, (v)->count, &(v)->capacity, sizeof *(v)->data,                        \
                                 alignof(max_align_t));                                                                \
        (v)->data[(v)->count++] = (x);                                                                                 \
    } while (0)

/* vec_each(struct node *, n, &g->nodes) { ... }: a loop over the elements, which may become more meanwhile; `break` and
 * `continue` do what they do in any loop (the inner `for` runs once, and only `break` keeps it from counting).
 * vec_each_ptr: n points to the element. */
#define vec_each(T, x, v)                                                                                              \
    for (size_t x##_at = 0, x##_done = 0; x##_at == x##_done && x##_at < (v)->count; x##_at++)                         \
        for (T x = (v)->data[x##_at]; x##_done == x##_at; x##_done++)
#define vec_each_ptr(T, x, v)                                                                                          \
    for (size_t x##_at = 0, x##_done = 0; x##_at == x##_done && x##_at < (v)->count; x##_at++)                         \
        for (T *x = &(v)->data[x##_at]; x##_done == x##_at; x##_done++)

/* Removes element i, keeping the order of the others. */
#define vec_remove(v, i)                                                                                               \
    do {                                                                                                               \
        for (size_t vec_i_ = (i); vec_i_ + 1 < (v)->count; vec_i_++)                                                   \
            (v)->data[vec_i_] = (v)->data[vec_i_ + 1];                                                                 \
        (v)->count--;                                                                                                  \
    } while (0)

#endif
