/* Included in front of each file that `generated` rewrote: every wrong change is in the program, the environment names
 * the one that is made (wrong.c). Written for GNU C: only these tests compile it. */
#ifndef STEPC_WRONG_H
#define STEPC_WRONG_H

extern int wrong_active;
extern unsigned char *wrong_seen;

static inline __attribute__((always_inline)) int wrong_is(int id)
{
    if (__builtin_expect(wrong_seen != (unsigned char *)0, 0))
        wrong_seen[id] = 1;
    return __builtin_expect(wrong_active == id, 0);
}

/* `a OP b` as it stands, or with WRONG_OP; both sides are computed once. */
#define WRONG_BINARY(id, op, wrong_op, a, b)                                                                           \
    ({                                                                                                                 \
        __auto_type wrong_a_ = (a);                                                                                    \
        __auto_type wrong_b_ = (b);                                                                                    \
        wrong_is(id) ? wrong_a_ wrong_op wrong_b_ : wrong_a_ op wrong_b_;                                              \
    })
/* A condition, or its contrary. */
#define WRONG_CONDITION(id, c) ((!!(c)) != wrong_is(id))

#endif
