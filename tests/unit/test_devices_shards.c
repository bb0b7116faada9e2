/* Parts of an axis through reshapes, held against what each element says: it is of the same part before and after. */
#include "devices/shards.h"
#include "suite.h"

/* The part in which element k lies. */
static int64_t part_of(const struct shape *s, const struct parted_axis *at, int64_t k)
{
    const int64_t run = s->dim[at->axis] / at->blocks;
    const int64_t step = k / shape_count_range(s, at->axis + 1, s->rank) % s->dim[at->axis] % run;
    int64_t part = 0;
    while ((part + 1) * run / at->parts <= step)
        part++;
    return part;
}

static bool is_same(const struct shape *x, const struct parted_axis *a, const struct shape *y,
                    const struct parted_axis *b)
{
    for (int64_t k = 0; k < shape_count(x); k++)
        if (part_of(x, a, k) != part_of(y, b, k))
            return false;
    return true;
}

/* Has any axis of y these parts? */
static bool can_be_said(const struct shape *x, const struct parted_axis *a, const struct shape *y)
{
    for (int d = 0; d < y->rank; d++)
        for (int64_t blocks = 1; blocks <= y->dim[d]; blocks++)
            if (y->dim[d] % blocks == 0 && y->dim[d] / blocks % a->parts == 0 &&
                is_same(x, a, y, &(struct parted_axis){d, a->parts, blocks}))
                return true;
    return false;
}

static const struct shape shapes[] = {
    SHAPE(24), SHAPE(1, 24), SHAPE(4, 6), SHAPE(6, 4), SHAPE(2, 12), SHAPE(12, 2), SHAPE(2, 3, 4), SHAPE(4, 1, 3, 2),
    SHAPE(2, 2, 6), SHAPE(3, 2, 2, 2), SHAPE(8, 3), SHAPE(3, 8), SHAPE(24, 1), SHAPE(6, 1, 4),
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(parts_of_a_reshape)
{
    const struct shape *const x = &shapes[_i];
    int followed = 0;
    for (int i = 0; i < SHAPES; i++)
        for (int d = 0; d < x->rank; d++)
            for (int64_t parts = 2; parts <= 4; parts++)
                for (int64_t blocks = 1; blocks < x->dim[d]; blocks++) {
                    const struct parted_axis from = {d, parts, blocks};
                    struct parted_axis to = from;
                    if (x->dim[d] % blocks != 0 || x->dim[d] / blocks % parts != 0)
                        continue;
                    if (!reshape_parted(x, &shapes[i], 0, &to)) {
                        ck_assert(!can_be_said(x, &from, &shapes[i]));
                        continue;
                    }
                    ck_assert_int_eq(to.parts, parts);
                    ck_assert(is_same(x, &from, &shapes[i], &to));
                    followed++;
                }
    ck_assert_int_gt(followed, 0);
}
END_TEST

static const struct {
    struct shape x, y;
    int64_t assumed;
    struct parted_axis from, to; /* to.parts 0: none has them */
} cases[] = {
    /* samples and heads, and back; steps in front of samples */
    {SHAPE(4, 3, 5), SHAPE(12, 5), 0, {0, 2, 1}, {0, 2, 1}},
    {SHAPE(12, 5), SHAPE(4, 3, 5), 0, {0, 2, 1}, {0, 2, 1}},
    {SHAPE(3, 4, 5), SHAPE(12, 5), 0, {1, 2, 1}, {0, 2, 3}},
    {SHAPE(12, 5), SHAPE(3, 4, 5), 0, {0, 2, 3}, {1, 2, 1}},
    {SHAPE(12, 5), SHAPE(6, 2, 5), 0, {0, 2, 3}, {0, 2, 3}},
    {SHAPE(12, 5), SHAPE(2, 6, 5), 0, {0, 2, 3}, {0, 0, 0}},
    {SHAPE(2, 3, 4, 5), SHAPE(6, 20), 0, {2, 2, 1}, {1, 2, 1}},
    /* uneven parts stay those of an axis that stays */
    {SHAPE(5, 2, 3), SHAPE(5, 6), 0, {0, 2, 1}, {0, 2, 1}},
    {SHAPE(5, 2), SHAPE(10), 0, {0, 2, 1}, {0, 0, 0}},
    /* a size that may be another */
    {SHAPE(2, 3), SHAPE(6), 2, {0, 3, 1}, {0, 3, 1}},
    {SHAPE(2, 3), SHAPE(6), 0, {0, 3, 1}, {0, 0, 0}},
    {SHAPE(2, 3), SHAPE(6), 1, {0, 3, 1}, {0, 0, 0}},
    /* nothing in it */
    {SHAPE(0, 4), SHAPE(4, 0), 0, {1, 2, 1}, {0, 0, 0}},
    {SHAPE(4, 0), SHAPE(4, 3, 0), 0, {0, 2, 1}, {0, 2, 1}},
};

START_TEST(parts_by_hand)
{
    struct parted_axis at = cases[_i].from;
    const bool found = reshape_parted(&cases[_i].x, &cases[_i].y, cases[_i].assumed, &at);
    ck_assert_int_eq(found, cases[_i].to.parts > 0);
    if (!found)
        return;
    ck_assert_int_eq(at.axis, cases[_i].to.axis);
    ck_assert_int_eq(at.parts, cases[_i].to.parts);
    ck_assert_int_eq(at.blocks, cases[_i].to.blocks);
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("shards");
    tcase_add_loop_test(t, parts_of_a_reshape, 0, SHAPES);
    tcase_add_loop_test(t, parts_by_hand, 0, (int)(sizeof cases / sizeof *cases));
    return run_tests("parts of tensors", t);
}
