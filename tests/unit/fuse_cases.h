/* For tests of fusion: kernels made by hand, how many of them are left, and that the results are the same. */
#ifndef STEPC_TESTS_FUSE_CASES_H
#define STEPC_TESTS_FUSE_CASES_H

#include "fuse/fuse.h"
#include "kernels.h"

#define INPUT(name, count) buffer(BUFFER_INPUT, name, count)
#define TEMP(name, count) buffer(BUFFER_TEMP, name, count)
#define STATE(name, count) buffer(BUFFER_VARIABLE, name, count)
#define OUTPUT(name, count) buffer(BUFFER_OUTPUT, name, count)

struct fuse_case {
    const char *name;
    void (*make)(void);
    size_t left; /* kernels after fusion */
};
#define CASE(make, left) {#make, make, left}

static inline void run_case(const struct fuse_case *c)
{
    c->make();
    const struct memory before = run_all();
    fuse_entry(&lowered, false);
    const struct memory after = run_all();
    check_same_results(c->name, &before, &after);
    ck_assert_msg(lowered.kernels.count == c->left, "%s: %zu kernels are left, expected %zu:\n%s", c->name,
                  lowered.kernels.count, c->left, lowered_print(&arena, &lowered));
}

#endif
