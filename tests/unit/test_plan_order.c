/* The order of kernels and the places of temporaries, on kernels made by hand: a property each, never an offset. */
#include "kernels.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "suite.h"

#define INPUT(name, count) buffer(BUFFER_INPUT, name, count)
#define TEMP(name, count) buffer(BUFFER_TEMP, name, count)
#define STATE(name, count) buffer(BUFFER_VARIABLE, name, count)

/* to[i] = from[i] * 2 */
static struct kernel *map(struct buffer *to, struct buffer *from)
{
    struct kernel *const k = loops(EXTENTS(to->count));
    store(k, AT(to, 0, 1), mul(load(AT(from, 0, from->count > 1)), number(2)));
    return k;
}

static size_t position(const struct kernel *k)
{
    for (size_t i = 0; i < lowered.kernels.count; i++)
        if (lowered.kernels.data[i] == k)
            return i;
    ck_abort_msg("a kernel is gone");
    return 0;
}

static struct plan *must_plan(void)
{
    struct plan *plan;
    ck_assert(plan_entry(&diag, &lowered, &plan));
    return plan;
}

static void add_check(struct kernel *k, struct buffer *b)
{
    const struct check c = {.rank = 1, .extent = {b->count}, .value = load(AT(b, 0, 1)), .high = 3,
                            .status = "STEPC_E_INDEX"};
    vec_push(&arena, &k->checks, c);
}

/* Though it would take half of the memory the other way round. */
START_TEST(state_is_read_before_it_is_written)
{
    enum { LARGE = 1 << 12 };
    struct buffer *const w = STATE("w", LARGE), *const x = INPUT("x", LARGE), *const t = TEMP("t", LARGE),
                         *const u = TEMP("u", LARGE);
    const struct kernel *const reads = map(u, w);
    (void)map(t, x);
    const struct kernel *const writes = map(w, t);
    struct kernel *const last = loops(EXTENTS(LARGE));
    store(last, AT(STATE("s", LARGE), 0, 1), add(load(AT(u, 0, 1)), load(AT(w, 0, 1))));
    (void)must_plan();
    ck_assert_uint_lt(position(reads), position(writes));
}
END_TEST

START_TEST(what_can_fail_runs_before_the_state_is_written)
{
    struct buffer *const x = INPUT("x", 16), *const labels = INPUT("labels", 4);
    const struct kernel *const writes = map(STATE("w", 16), x);
    struct kernel *const fails = map(TEMP("t", 16), x);
    (void)map(STATE("v", 16), fails->parts.data[0].stores.data[0].to.buffer);
    add_check(fails, labels);
    (void)must_plan();
    ck_assert_uint_lt(position(fails), position(writes));
}
END_TEST

/* What depends on the new state has a check that does not: the check alone comes first. */
START_TEST(a_check_leaves_a_kernel_that_must_wait)
{
    struct buffer *const x = INPUT("x", 16), *const w = STATE("w", 16), *const labels = INPUT("labels", 4);
    const struct kernel *const writes = map(w, x);
    struct kernel *const fails = map(TEMP("t", 16), w);
    add_check(fails, labels);
    (void)must_plan();
    ck_assert_uint_eq(lowered.kernels.count, 3);
    ck_assert(kernel_only_checks(lowered.kernels.data[0]));
    ck_assert_uint_eq(fails->checks.count, 0);
    ck_assert_uint_lt(position(writes), position(fails));
}
END_TEST

/* What reads the table by indices waits for their check, though `large` would be free before they are computed. */
START_TEST(a_kernel_waits_for_its_check)
{
    enum { LARGE = 1 << 12 };
    struct buffer *const x = INPUT("x", LARGE), *const large = TEMP("large", LARGE),
                         *const other = TEMP("other", LARGE), *const at = TEMP("at", 1), *const t = TEMP("t", 16);
    (void)map(large, x);
    (void)map(other, large);
    struct kernel *const computes = loops(EXTENTS(LARGE)), *const reads = loops(EXTENTS(LARGE));
    sum(computes, 0, load(AT(other, 0, 1)));
    store(computes, AT(at, 0), result());
    sum(reads, 0, load(AT(large, 0, 1)));
    store(reads, AT(buffer(BUFFER_OUTPUT, "y", 1), 0), result());
    add_check(reads, at);
    (void)map(t, x);
    (void)map(STATE("w", 16), t);
    (void)must_plan();
    ck_assert_uint_eq(reads->checks.count, 0);
    for (size_t i = 0; i < lowered.kernels.count; i++)
        if (lowered.kernels.data[i]->checked == reads)
            ck_assert_uint_lt(i, position(reads));
}
END_TEST

START_TEST(a_check_of_the_new_state_is_refused)
{
    struct buffer *const w = STATE("w", 16);
    (void)map(w, INPUT("x", 16));
    add_check(map(TEMP("t", 16), w), w);
    struct plan *plan;
    ck_assert(!plan_entry(&diag, &lowered, &plan));
    ck_assert(strstr(diag.messages.data[0].text, "can only run after a variable was written"));
}
END_TEST

/* Four large values of which each is needed once: made one by one they take the place of one. */
START_TEST(large_values_die_one_by_one)
{
    enum { LARGE = 1 << 12, MANY = 4 };
    struct buffer *const x = INPUT("x", LARGE), *large[MANY];
    for (int i = 0; i < MANY; i++) {
        large[i] = TEMP("large", LARGE);
        (void)map(large[i], x);
    }
    for (int i = 0; i < MANY; i++) {
        struct kernel *const k = loops(EXTENTS(1, LARGE));
        sum(k, 1, load(AT(large[i], 0, 0, 1)));
        store(k, AT(STATE("v", 1), 0, 0, 0), result());
    }
    const struct plan *const plan = must_plan();
    ck_assert_uint_eq(plan->bound_bytes, LARGE * 4);
    ck_assert_uint_eq(plan->arena_bytes, LARGE * 4);
}
END_TEST

/* A chain of maps: each result lies where its operand did. */
START_TEST(a_chain_takes_one_place)
{
    enum { COUNT = 100 };
    struct buffer *from = INPUT("x", COUNT);
    for (int i = 0; i < 5; i++) {
        struct buffer *const t = TEMP("t", COUNT);
        (void)map(t, from);
        from = t;
    }
    (void)map(STATE("v", COUNT), from);
    ck_assert_uint_eq(must_plan()->arena_bytes, 448); /* 400, to whole lines */
}
END_TEST

/* t lives until the end, whatever dies beside it. */
START_TEST(nothing_takes_the_place_of_what_lives)
{
    struct buffer *const x = INPUT("x", 64), *const t = TEMP("t", 64), *const u = TEMP("u", 64),
                         *const v = TEMP("v", 64);
    (void)map(t, x);
    (void)map(u, t);
    (void)map(v, u);
    struct kernel *const last = loops(EXTENTS(64));
    store(last, AT(STATE("s", 64), 0, 1), add(load(AT(t, 0, 1)), load(AT(v, 0, 1))));
    const struct plan *const plan = must_plan();
    ck_assert_uint_eq(plan->arena_bytes, 512);
    ck_assert_int_eq(plan->life[t->id].last, 3);
    ck_assert_uint_ne(t->arena_offset, u->arena_offset);
    ck_assert_uint_ne(t->arena_offset, v->arena_offset);
}
END_TEST

START_TEST(peak_counts_what_lives)
{
    struct buffer *const x = INPUT("x", 64), *const t = TEMP("t", 64), *const u = TEMP("u", 32);
    (void)map(t, x);
    struct kernel *const k = loops(EXTENTS(32));
    store(k, AT(u, 0, 1), load(AT(t, 0, 2)));
    (void)map(STATE("s", 32), u);
    int64_t peak;
    ck_assert(schedule_peak(&diag, &lowered, &peak));
    ck_assert_int_eq(peak, 64 * 4 + 32 * 4);
}
END_TEST

START_TEST(equals_stay_in_order)
{
    enum { MANY = 9 };
    struct buffer *const x = INPUT("x", 64);
    const struct kernel *given[MANY];
    for (int i = 0; i < MANY; i++)
        given[i] = map(STATE("v", 64), x);
    (void)must_plan();
    for (int i = 0; i < MANY; i++)
        ck_assert_ptr_eq(lowered.kernels.data[i], given[i]);
}
END_TEST

/* ---- kernels at random ------------------------------------------------------------------------------------------- */

static uint64_t state_of_random;

static int below_number(int n)
{
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state_of_random >> 33) % (uint64_t)n);
}

enum { SMALL = 16, WIDE = 32, MOST_TEMPS = 24 };

struct temps {
    struct buffer *all[MOST_TEMPS];
    int count;
};

static struct buffer *new_temp(struct temps *t, int64_t count)
{
    return t->all[t->count++] = TEMP("t", count);
}

/* A read of the buffer in a loop of `count`: straight, backwards, every second one, or one element. */
static const struct expr *random_load(struct buffer *b, int64_t count)
{
    if (b->count < count)
        return load(AT(b, below_number((int)b->count), 0));
    if (b->count > count)
        return load(AT(b, 0, 2));
    return below_number(3) ? load(AT(b, 0, 1)) : load(AT(b, count - 1, -1));
}

static const struct expr *random_value(const struct temps *t, struct buffer *input, int64_t count)
{
    const struct expr *e = random_load(t->count > 0 ? t->all[below_number(t->count)] : input, count);
    for (int more = below_number(3); more > 0; more--)
        e = add(e, random_load(t->count > 0 && below_number(4) ? t->all[below_number(t->count)] : input, count));
    return e;
}

/* One more kernel: a new temporary, an older one written once more, or what stays. Some need scratch. */
static void random_kernel(struct temps *t, struct buffer *input)
{
    const int kind = below_number(8);
    struct buffer *to = kind == 0 && t->count > 0 ? t->all[below_number(t->count)] : NULL;
    const int64_t count = to ? to->count : below_number(2) ? SMALL : WIDE;
    const struct expr *const value = random_value(t, input, count);
    if (!to)
        to = kind < 2 || t->count == MOST_TEMPS ? STATE("v", count) : new_temp(t, count);
    struct kernel *const k = loops(EXTENTS(count));
    store(k, AT(to, 0, 1), value);
    if (below_number(5) == 0) {
        k->scratch.buffer = TEMP("scratch", WIDE);
        k->scratch.count = WIDE;
    }
}

/* Temporaries lie in one arena, where they were planned; scratch is overwritten. */
static struct memory run_planned(const struct plan *plan)
{
    struct memory m = fresh_memory();
    double *const bytes = arena_array(&arena, double, plan->arena_bytes / sizeof(float) + WIDE);
    for (size_t i = 0; i < plan->arena_bytes / sizeof(float) + WIDE; i++)
        bytes[i] = (double)NAN;
    vec_each(const struct buffer *, b, &lowered.buffers)
        if (b->kind == BUFFER_TEMP)
            m.at[b->id] = bytes + b->arena_offset / sizeof(float);
    vec_each(const struct kernel *, k, &lowered.kernels) {
        for (int64_t i = 0; k->scratch.buffer && i < k->scratch.buffer->count; i++)
            m.at[k->scratch.buffer->id][i] = (double)NAN;
        run_kernel(k, &m);
    }
    return m;
}

/* Kernels without end are ready at once, and what reads their results becomes so in the opposite order: the earliest
 * are weighed, and the order in which all stand can be taken. */
START_TEST(the_earliest_of_many_are_weighed)
{
    enum { MANY = 300, SIZE = 8 };
    struct buffer *const x = INPUT("x", SIZE), *of[MANY];
    const struct kernel *all[2 * MANY];
    for (int i = 0; i < MANY; i++)
        all[i] = map(of[i] = TEMP("t", SIZE), x);
    for (int i = 0; i < MANY; i++)
        all[MANY + i] = map(STATE("s", SIZE), of[MANY - 1 - i]);
    int64_t peak;
    ck_assert(schedule_peak(&diag, &lowered, &peak));
    for (size_t i = 0; i < 2 * MANY; i++)
        ck_assert_uint_eq(position(all[i]), i);
}
END_TEST

START_TEST(planned_kernels_compute_the_same)
{
    struct temps t = {.count = 0};
    state_of_random = (uint64_t)_i + 1;
    struct buffer *const input = INPUT("x", WIDE);
    for (int n = 3 + below_number(14); n > 0; n--)
        random_kernel(&t, input);
    for (int i = 0; i < t.count; i++)
        if (below_number(2))
            (void)map(STATE("last", t.all[i]->count), t.all[i]);
    const struct memory before = run_all();
    int64_t given, planned;
    ck_assert(schedule_peak(&diag, &lowered, &given));
    const struct plan *const plan = must_plan();
    const struct memory after = run_planned(plan);
    check_same_results(arena_printf(&arena, "case %d", _i), &before, &after);
    ck_assert(schedule_peak(&diag, &lowered, &planned));
    ck_assert_int_le(planned, given);
    ck_assert_uint_ge(plan->arena_bytes, plan->bound_bytes);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, state_is_read_before_it_is_written);
    tcase_add_test(tests, what_can_fail_runs_before_the_state_is_written);
    tcase_add_test(tests, a_check_leaves_a_kernel_that_must_wait);
    tcase_add_test(tests, a_kernel_waits_for_its_check);
    tcase_add_test(tests, a_check_of_the_new_state_is_refused);
    tcase_add_test(tests, large_values_die_one_by_one);
    tcase_add_test(tests, a_chain_takes_one_place);
    tcase_add_test(tests, nothing_takes_the_place_of_what_lives);
    tcase_add_test(tests, peak_counts_what_lives);
    tcase_add_test(tests, equals_stay_in_order);
    tcase_add_test(tests, the_earliest_of_many_are_weighed);
    tcase_add_loop_test(tests, planned_kernels_compute_the_same, 0, 100);
    return run_tests("plan_order", tests);
}
