/* Shape passes: which run on which machine, what they are offered, and kinds of loops that a machine does not know. */
#include "tune/tune.h"
#include "base/str.h"
#include "suite.h"

#include <check.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct arena arena;

static void begin(void)
{
    arena = (struct arena){0};
}

static void end(void)
{
    arena_free(&arena);
}

static const struct expr *number(int64_t x)
{
    return index_constant(&arena, x);
}

static struct tree_builder builder(struct tree_function *f)
{
    *f = (struct tree_function){.name = "f", .type = "void"};
    return tree_builder(&arena, &f->body);
}

static struct stmt *open_loop(struct tree_builder *b, enum loop_kind kind, int64_t count)
{
    const struct tree_var *const i = tree_index_var(&arena, VAR_LOOP, "int", "i", 0, count - 1);
    return tree_open_loop(b, i, number(0), number(count), 1, kind);
}

/* ---- which passes ------------------------------------------------------------------------------------------------ */

static void note_pass(void *user, const char *pass)
{
    strbuf_addf(user, "%s ", pass);
}

static const char *passes_of(bool has_vectors, bool small)
{
    struct strbuf names = {.arena = &arena};
    const struct tune t = {.arena = &arena, .row = &targets[0], .has_vectors = has_vectors, .small = small};
    tune_functions(&t, NULL, 0, note_pass, &names);
    return strbuf_text(&names);
}

START_TEST(machines_want_passes)
{
    ck_assert_str_eq(passes_of(true, false), "masks row_calls hints ");
    ck_assert_str_eq(passes_of(true, true), "masks hints ");
    ck_assert_str_eq(passes_of(false, false), "hints ");
}
END_TEST

/* ---- kinds of loops ---------------------------------------------------------------------------------------------- */

static const struct {
    enum loop_kind kind;
    bool has_vectors, small, stays;
} kinds[] = {
    {LOOP_SHARES, false, true, true},      {LOOP_LANES, true, false, true},   {LOOP_LANES, true, true, true},
    {LOOP_LANES, false, false, false},     {LOOP_LANES, false, true, false},  {LOOP_UNROLLED, true, true, true},
    {LOOP_UNROLLED, false, false, true},   {LOOP_UNROLLED, false, true, false}};

/* Wherever the loop stands: in the second function, in a loop, in either branch. */
START_TEST(kinds_of_no_use_become_plain)
{
    const struct tune t = {.arena = &arena, .row = target_find("cortex-m4"), .has_vectors = kinds[_i].has_vectors,
                           .small = kinds[_i].small};
    struct tree_function f, g;
    struct tree_builder b = builder(&f);
    struct stmt *inner[2];
    open_loop(&b, LOOP_PLAIN, 4);
    tree_open_if(&b, tree_read(&arena, tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "c")));
    tree_close(&b);
    tree_open_else(&b);
    inner[0] = open_loop(&b, kinds[_i].kind, 8);
    b = builder(&g);
    inner[1] = open_loop(&b, kinds[_i].kind, 8);
    struct strbuf names = {.arena = &arena};
    tune_functions(&t, (struct tree_function *[]){&f, &g}, 2, note_pass, &names);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(inner[i]->loop, kinds[_i].stays ? kinds[_i].kind : LOOP_PLAIN);
}
END_TEST

START_TEST(macros_have_their_kind)
{
    static const enum loop_kind all[] = {
#define LOOP_KIND(kind, macro, header, use) LOOP_##kind,
#include "tree/loop_kinds.def"
#undef LOOP_KIND
    };
    enum loop_kind found = LOOP_PLAIN;
    for (size_t i = 0; i < COUNT(all); i++)
        if (loop_kinds[all[i]].macro) {
            ck_assert(loop_kind_find(loop_kinds[all[i]].macro, &found));
            ck_assert_int_eq(found, all[i]);
        }
    ck_assert(!loop_kind_find("STEPC_KERNEL", &found));
}
END_TEST

/* ---- what a pass is offered -------------------------------------------------------------------------------------- */

/* A loop of n > 1 iterations becomes two of n / 2. */
static bool halve(const struct tune *t, struct stmt *s, struct tree_builder *b)
{
    (void)t;
    for (int i = 0; s->to->i > 1 && i < 2; i++) {
        open_loop(b, LOOP_PLAIN, s->to->i / 2);
        tree_close(b);
    }
    return s->to->i > 1;
}

START_TEST(what_is_put_is_offered_in_turn)
{
    const struct tune t = {.arena = &arena, .row = &targets[0]};
    struct tree_function f;
    struct tree_builder b = builder(&f);
    open_loop(&b, LOOP_PLAIN, 8);
    tree_close(&b);
    open_loop(&b, LOOP_PLAIN, 1);
    tree_close(&b);
    tune_replace(&t, &f.body, halve);
    ck_assert_uint_eq(f.body.count, 9);
    for (size_t i = 0; i < f.body.count; i++)
        ck_assert_int_eq(f.body.data[i]->to->i, 1);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, machines_want_passes);
    tcase_add_loop_test(tests, kinds_of_no_use_become_plain, 0, COUNT(kinds));
    tcase_add_test(tests, macros_have_their_kind);
    tcase_add_test(tests, what_is_put_is_offered_in_turn);
    return run_tests("tune", tests);
}
