/* Lists of sizes in which a count stands (graph/bounded_extents.c): which number each element is, or how many times the
 * count. Folding knows the rest. */
#include "graph/bounded.h"
#include "rewrite/pass.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static struct arena arena;
static struct diag diag;
static struct program program;
static struct graph *g;
static struct builder b;
static struct { /* what `build(&at, ...)` wants */
    struct builder *b;
} at = {&b};
static struct value *n, *m; /* counts, of 5 elements at most */

static struct value *count_of(const char *name)
{
    struct value *const x = graph_add_input(g, name, DTYPE_INT64, &SHAPE_SCALAR);
    return build_with(&at, "stepc.CountUpTo", ATTRS(attr_int("most", 5)), x);
}

static void begin(void)
{
    diag = (struct diag){.arena = &arena};
    program = (struct program){.name = "p", .arena = &arena, .diag = &diag, .fold = fold_value};
    g = graph_new(&program, "g");
    b = (struct builder){.graph = g, .loc = {.index = -1}, .prefix = ""};
    n = count_of("n");
    m = count_of("m");
}

static void end(void)
{
    arena_free(&arena);
}

static struct value *ints(int64_t p, int64_t q)
{
    return build_ints(&b, (int64_t[]){p, q}, 2);
}

static struct value *one(int64_t p)
{
    return build_ints(&b, &p, 1);
}

static struct value *joined(struct value *x, struct value *y)
{
    return build_with(&at, "Concat", ATTRS(attr_int("axis", 0)), build_reshape(&b, x, &SHAPE(1)),
                      build_reshape(&b, y, &SHAPE(1)));
}

/* (2, n) */
static struct value *pair(void)
{
    return joined(build_int(&b, 2), n);
}

static struct value *cut(struct value *x, int64_t from, int64_t step)
{
    return build(&at, "Slice", x, one(from), one(step > 0 ? INT64_MAX : INT64_MIN), one(0), one(step));
}

static struct value *doubled(struct value *x, int times)
{
    for (int i = 0; i < times; i++)
        x = build(&at, "Mul", x, build_int(&b, 1 << 10));
    return x;
}

/* "2 n 3n"; "?": not known. */
static const char *text_of(struct value *v)
{
    struct bounded_extents x;
    const char *text = "";
    ck_assert(!b.failed);
    if (!bounded_extents(v, &x))
        return "?";
    for (int k = 0; k < x.count; k++) {
        const char *const name = x.of[k].count == n ? "n" : x.of[k].count == m ? "m" : "";
        const bool number = *name == '\0' || x.of[k].number != 1;
        text = arena_printf(&arena, "%s%s%s%s", text, k > 0 ? " " : "",
                            number ? arena_printf(&arena, "%lld", (long long)x.of[k].number) : "", name);
    }
    return text;
}

#define CASE(name, expression)                                                                                         \
    static struct value *name(void)                                                                                    \
    {                                                                                                                  \
        return expression;                                                                                             \
    }

CASE(count, n)
CASE(fed, graph_add_input(g, "fed", DTYPE_INT64, &SHAPE(2)))
CASE(two, pair())
CASE(both, joined(n, m))
CASE(of_floats, build_cast(&b, pair(), DTYPE_FLOAT))
CASE(times_numbers, build(&at, "Mul", pair(), ints(3, 4)))
CASE(times_one, build(&at, "Mul", one(3), pair()))
CASE(times_itself, build(&at, "Mul", n, n))
CASE(times_other, build(&at, "Mul", pair(), joined(m, build_int(&b, 1))))
CASE(too_large, doubled(n, 5))
CASE(turned, build(&at, "Gather", pair(), ints(1, 0)))
CASE(last, build(&at, "Gather", pair(), build_int(&b, -1)))
CASE(chosen_by_count, build(&at, "Gather", pair(), m))
CASE(behind, cut(pair(), 1, 1))
CASE(behind_from_end, cut(pair(), -1, 1))
CASE(whole, cut(pair(), -9, 1))
CASE(backwards, cut(build_with(&at, "Concat", ATTRS(attr_int("axis", 0)), pair(), pair()), 1, -1))
CASE(is_number, build(&at, "Equal", pair(), ints(2, -1)))
CASE(is_other_number, build(&at, "Equal", pair(), ints(3, -1)))
CASE(number_is, build(&at, "Equal", ints(2, -1), pair()))
CASE(may_be_zero, build(&at, "Equal", pair(), ints(2, 0)))
CASE(may_be_five, build(&at, "Equal", pair(), ints(2, 5)))
CASE(either, build(&at, "Where", build(&at, "Equal", joined(n, build_int(&b, -1)), ints(-1, -1)), ints(7, 8), pair()))
CASE(added, build(&at, "Add", pair(), ints(1, 1)))
CASE(table, build_reshape(&b, pair(), &SHAPE(2, 1)))

static const struct {
    struct value *(*make)(void);
    const char *text;
} cases[] = {
    {count, "n"},
    {fed, "?"},
    {two, "2 n"},
    {both, "n m"},
    {of_floats, "?"},
    {times_numbers, "6 4n"},
    {times_one, "6 3n"},
    {times_itself, "?"},
    {times_other, "2m n"},
    {too_large, "?"},
    {turned, "n 2"},
    {last, "n"},
    {chosen_by_count, "?"},
    {behind, "n"},
    {behind_from_end, "n"},
    {whole, "2 n"},
    {backwards, "?"},
    {is_number, "1 0"},
    {is_other_number, "0 0"},
    {number_is, "1 0"},
    {may_be_zero, "?"},
    {may_be_five, "?"},
    {either, "2 8"},
    {added, "?"},
    {table, "?"},
};

START_TEST(extents)
{
    ck_assert_str_eq(text_of(cases[_i].make()), cases[_i].text);
}
END_TEST

/* What has no count in it is a constant, though it was made of a count. */
START_TEST(fixed_sizes)
{
    const struct tensor *const t = bounded_fixed(g, build(&at, "Gather", pair(), ints(0, 0)));
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->count, 2);
    ck_assert_int_eq(tensor_get_int(t, 1), 2);
    ck_assert_ptr_null(bounded_fixed(g, pair()));
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("extents");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_loop_test(all, extents, 0, COUNT(cases));
    tcase_add_test(all, fixed_sizes);
    return run_tests("extents", all);
}
