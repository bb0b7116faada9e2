/* What fusion leaves apart: rows that others read or write, outputs that a caller may leave out, what a check has to
 * see before the state changes, what stands between. And the nearest that is joined. */
#include "fuse_cases.h"
#include "suite.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { ROWS = 6, COLUMNS = 20 };

/* s[i] = sum over j of x[i,j] */
static struct kernel *sum_rows(struct access x, struct access s)
{
    struct kernel *const k = loops(EXTENTS(ROWS, COLUMNS));
    sum(k, 1, load(x));
    store(k, s, result());
    return k;
}

/* Element (i,j) of rows that lie one behind another; element i of a vector. */
#define WHOLE(b) AT(b, 0, COLUMNS, 1)
#define EACH(b) AT(b, 0, 1)

static struct kernel *map_rows(struct access to, const struct expr *value)
{
    struct kernel *const k = loops(EXTENTS(ROWS, COLUMNS));
    store(k, to, value);
    return k;
}

/* Too much to be computed once more for each reader. */
static const struct expr *cubed(const struct expr *x)
{
    return mul(mul(x, x), mul(x, x));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void rows_of(int64_t columns)
{
    struct buffer *const x = INPUT("x", ROWS * columns), *const s = TEMP("s", ROWS);
    struct kernel *const k = loops(EXTENTS(ROWS, columns));
    sum(k, 1, load(AT(x, 0, columns, 1)));
    store(k, EACH(s), result());
    store(loops(EXTENTS(ROWS, columns)), AT(STATE("v", ROWS * columns), 0, columns, 1),
          add(load(AT(x, 0, columns, 1)), load(EACH(s))));
}

static void rows_of_15(void)
{
    rows_of(15);
}

static void rows_of_16(void)
{
    rows_of(16);
}

static void rows_change_what_was_summed(void)
{
    struct buffer *const x = STATE("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS);
    sum_rows(AT(x, 0, COLUMNS, 1), EACH(s));
    map_rows(WHOLE(x), add(load(WHOLE(x)), load(EACH(s))));
}

static void sums_read_the_next_row_that_changes(void)
{
    struct buffer *const x = STATE("x", (ROWS + 1) * COLUMNS), *const s = TEMP("s", ROWS);
    sum_rows(AT(x, COLUMNS, COLUMNS, 1), EACH(s));
    map_rows(WHOLE(x), mul(load(EACH(s)), number(3)));
}

/* The first of each row is stored by both. */
static void both_store_a_place(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS),
                        *const v = STATE("v", ROWS * COLUMNS);
    store(sum_rows(WHOLE(x), EACH(s)), AT(v, 0, COLUMNS), result());
    map_rows(WHOLE(v), add(load(WHOLE(x)), load(EACH(s))));
}

static void fewer_rows_follow(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS);
    store(sum_rows(WHOLE(x), EACH(s)), EACH(STATE("all", ROWS)), result());
    store(loops(EXTENTS(ROWS - 2, COLUMNS)), WHOLE(STATE("v", (ROWS - 2) * COLUMNS)),
          add(load(WHOLE(x)), load(EACH(s))));
}

/* t[i,j] = (x[i,j] + sum of row i)^4; r[i] = sum over j of t[i,j]; v[i,j] = t[i,j] * r[i], whatever x's strides are */
static struct buffer *chain_of_rows(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS),
                        *const t = TEMP("t", ROWS * COLUMNS), *const r = TEMP("r", ROWS);
    sum_rows(WHOLE(x), EACH(s));
    map_rows(WHOLE(t), cubed(add(load(WHOLE(x)), load(EACH(s)))));
    sum_rows(WHOLE(t), EACH(r));
    map_rows(WHOLE(STATE("v", ROWS * COLUMNS)), add(load(WHOLE(t)), load(EACH(r))));
    return t;
}

static void a_row_is_kept(void)
{
    (void)chain_of_rows();
}

static void a_row_is_read_elsewhere(void)
{
    struct buffer *const t = chain_of_rows(), *const u = STATE("u", COLUMNS);
    struct kernel *const k = loops(EXTENTS(COLUMNS, ROWS));
    sum(k, 1, load(AT(t, 0, 1, COLUMNS)));
    store(k, EACH(u), result());
}

/* The same of channels: x[n,c,h], the row of channel c being all x[.,c,.]. */
static void a_row_of_a_channel_is_kept(void)
{
    enum { N = 3, C = 4, H = 20 };
    struct buffer *const x = INPUT("x", N * C * H), *const s = TEMP("s", C), *const t = TEMP("t", N * C * H),
                        *const r = TEMP("r", C), *const v = STATE("v", N * C * H);
#define CHANNEL(b) AT(b, 0, C * H, H, 1)
#define OF_CHANNEL(b) AT(b, 0, 0, 1, 0)
    for (int turn = 0; turn < 2; turn++) {
        struct kernel *const k = loops(EXTENTS(N, C, H));
        part_of(k)->reduce = REDUCE_SUM;
        part_of(k)->reduced[0] = part_of(k)->reduced[2] = true;
        part_of(k)->element = load(CHANNEL(turn == 0 ? x : t));
        store(k, OF_CHANNEL(turn == 0 ? s : r), result());
        const struct expr *const last = add(load(CHANNEL(turn == 0 ? x : t)), load(OF_CHANNEL(turn == 0 ? s : r)));
        store(loops(EXTENTS(N, C, H)), CHANNEL(turn == 0 ? t : v), turn == 0 ? cubed(last) : last);
    }
}

static struct access chosen(struct buffer *b, int64_t by, struct buffer *index)
{
    struct access a = AT(b, 0, 0, 1);
    a.term[0] = (struct access_term){load(EACH(index)), by, ROWS};
    a.term_count = 1;
    return a;
}

/* All rows go to row 0: the last one stays. */
static void rows_go_to_computed_places(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS), *const at = TEMP("at", ROWS),
                        *const v = STATE("v", ROWS * COLUMNS);
    store(loops(EXTENTS(ROWS)), EACH(at), number(2));
    sum_rows(WHOLE(x), EACH(s));
    map_rows(chosen(v, COLUMNS, at), add(load(WHOLE(x)), load(EACH(s))));
}

static struct check check_of(const struct expr *e)
{
    return (struct check){.rank = 1, .extent = {ROWS}, .value = e, .low = 0, .high = 9, .status = "STEPC_E_INDEX"};
}

static void rows_are_checked(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS), *const at = INPUT("at", ROWS);
    sum_rows(WHOLE(x), EACH(s));
    struct kernel *const k = map_rows(WHOLE(TEMP("t", ROWS * COLUMNS)), add(load(WHOLE(x)), load(EACH(s))));
    vec_push(&arena, &k->checks, check_of(load(EACH(at))));
}

/* ---- outputs, which a caller may leave out ----------------------------------------------------------------------- */

static void rows_give_an_output(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS);
    sum_rows(WHOLE(x), EACH(s));
    map_rows(WHOLE(OUTPUT("o", ROWS * COLUMNS)), add(load(WHOLE(x)), load(EACH(s))));
}

static void rows_give_an_output_and_others_want_them(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS);
    sum_rows(WHOLE(x), EACH(s));
    map_rows(WHOLE(OUTPUT("o", ROWS * COLUMNS)), add(load(WHOLE(x)), load(EACH(s))));
    store(loops(EXTENTS(ROWS)), AT(STATE("last", ROWS), ROWS - 1, -1), load(AT(s, 0, 1)));
}

static void sums_are_an_output_as_well(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS);
    store(sum_rows(WHOLE(x), EACH(s)), EACH(OUTPUT("o", ROWS)), result());
    map_rows(WHOLE(STATE("v", ROWS * COLUMNS)), add(load(WHOLE(x)), load(EACH(s))));
}

static void a_sum_is_finished_in_an_output(void)
{
    struct buffer *const s = TEMP("s", ROWS);
    sum_rows(WHOLE(INPUT("x", ROWS * COLUMNS)), EACH(s));
    store(loops(EXTENTS(ROWS)), EACH(OUTPUT("o", ROWS)), mul(load(EACH(s)), number(3)));
    store(loops(EXTENTS(ROWS)), EACH(STATE("v", ROWS)), add(load(EACH(s)), number(1)));
}

static void a_sum_is_finished_in_two_outputs(void)
{
    struct buffer *const s = TEMP("s", ROWS);
    sum_rows(WHOLE(INPUT("x", ROWS * COLUMNS)), EACH(s));
    store(loops(EXTENTS(ROWS)), EACH(OUTPUT("a", ROWS)), mul(load(EACH(s)), number(3)));
    store(loops(EXTENTS(ROWS)), EACH(OUTPUT("b", ROWS)), add(load(EACH(s)), number(1)));
}

/* The state needs s, two steps on; only the outputs need u. */
static void an_output_wants_more_of_what_the_state_needs(void)
{
    enum { SHORT = 8 }; /* too short to be walked together */
    struct buffer *const s = TEMP("s", ROWS), *const u = TEMP("u", ROWS), *const all = TEMP("all", 1);
    struct kernel *k = loops(EXTENTS(ROWS, SHORT));
    sum(k, 1, load(AT(INPUT("x", ROWS * SHORT), 0, SHORT, 1)));
    store(k, EACH(s), result());
    k = loops(EXTENTS(ROWS));
    sum(k, 0, load(EACH(s)));
    store(k, AT(all, 0), result());
    store(loops(EXTENTS(2, 3)), AT(STATE("v", ROWS), 0, 3, 1), load(AT(all, 0)));
    store(loops(EXTENTS(ROWS)), EACH(u), cubed(cubed(load(EACH(s)))));
    for (int i = 0; i < 2; i++) {
        struct kernel *const o = loops(EXTENTS(ROWS, 3));
        sum(o, 0, mul(load(AT(u, 0, 1, 0)), load(AT(u, 0, 1, 0))));
        store(o, AT(OUTPUT(i ? "a" : "b", 1), 0), result());
    }
}

/* ---- checks before the state changes ----------------------------------------------------------------------------- */

static void a_check_needs_what_updates_the_state(void)
{
    struct buffer *const s = TEMP("s", ROWS);
    sum_rows(WHOLE(INPUT("x", ROWS * COLUMNS)), EACH(s));
    struct kernel *const k = loops(EXTENTS(ROWS));
    store(k, AT(TEMP("t", ROWS), ROWS - 1, -1), number(1));
    vec_push(&arena, &k->checks, check_of(load(EACH(s))));
    store(loops(EXTENTS(ROWS)), EACH(STATE("v", ROWS)), mul(load(EACH(s)), number(3)));
}

/* ---- what stands between ----------------------------------------------------------------------------------------- */

/* z = sum of s; v[i,j] = x[i,j] + s[i] + z: neither of the outer ones can pass the middle one. */
static void the_sums_are_needed_before(void)
{
    struct buffer *const x = INPUT("x", ROWS * COLUMNS), *const s = TEMP("s", ROWS), *const z = STATE("z", 1);
    sum_rows(WHOLE(x), EACH(s));
    struct kernel *const k = loops(EXTENTS(ROWS));
    sum(k, 0, load(EACH(s)));
    store(k, AT(z, 0), result());
    map_rows(WHOLE(STATE("v", ROWS * COLUMNS)), add(add(load(WHOLE(x)), load(EACH(s))), load(AT(z, 0))));
}

/* ---- epilogues --------------------------------------------------------------------------------------------------- */

static void a_turned_epilogue_knows_its_loop(void)
{
    struct buffer *const x = INPUT("x", 60), *const t = TEMP("t", 12);
    struct kernel *const k = loops(EXTENTS(3, 4, 5));
    sum(k, 2, load(AT(x, 0, 20, 5, 1)));
    store(k, AT(t, 0, 4, 1), result());
    store(loops(EXTENTS(4, 3)), AT(STATE("v", 12), 0, 1, 4), below(0, 2, load(AT(t, 0, 1, 4)), number(7)));
}

static void an_epilogue_reads_another_part(void)
{
    struct buffer *const a = INPUT("a", 24), *const b = INPUT("b", 30), *const c = TEMP("c", 20),
                        *const s = TEMP("s", 4);
    struct kernel *const k = turned_product(4, 5, 6, AT(a, 0), AT(b, 0), AT(c, 0, 5, 1), result());
    add_loops(k, EXTENTS(4));
    part_of(k)->hole = "row_sum";
    store(k, EACH(s), result());
    store(loops(EXTENTS(4, 5)), AT(STATE("v", 20), 0, 5, 1), add(load(AT(c, 0, 5, 1)), load(EACH(s))));
}

static void an_epilogue_updates_the_vector(void)
{
    enum { SIZE = 8 };
    struct buffer *const w = INPUT("w", SIZE * SIZE), *const x = STATE("x", SIZE), *const t = TEMP("t", SIZE);
    (void)matrix_vector(SIZE, SIZE, AT(w, 0), AT(x, 0), EACH(t), result());
    store(loops(EXTENTS(SIZE)), EACH(x), add(load(EACH(x)), load(EACH(t))));
}

/* ---- updates of a matrix on the way ------------------------------------------------------------------------------ */

enum { SIDE = 96 };

static void square_matrix(struct access *w, struct access *to)
{
    struct buffer *const matrix = STATE("w", SIDE * SIDE);
    (void)matrix_vector(SIDE, SIDE, AT(matrix, 0), AT(INPUT("x", SIDE), 0), EACH(STATE("dx", SIDE)), result());
    *w = AT(matrix, 0, SIDE, 1);
    *to = AT(matrix, 0, 1, SIDE);
}

static void a_square_matrix_is_updated_by_columns(void)
{
    struct access by_rows, by_columns;
    square_matrix(&by_rows, &by_columns);
    store(loops(EXTENTS(SIDE, SIDE)), by_columns, add(load(by_columns), load(AT(INPUT("by", SIDE), 0, 0, 1))));
}

static void a_square_matrix_gets_another_element(void)
{
    struct access by_rows, by_columns;
    square_matrix(&by_rows, &by_columns);
    store(loops(EXTENTS(SIDE, SIDE)), by_rows, add(load(by_columns), number(1)));
}

static void an_update_gives_an_output(void)
{
    struct access by_rows, by_columns;
    square_matrix(&by_rows, &by_columns);
    struct kernel *const k = loops(EXTENTS(SIDE, SIDE));
    store(k, by_rows, add(load(by_rows), number(1)));
    store(k, AT(OUTPUT("o", SIDE * SIDE), 0, SIDE, 1), load(by_rows));
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct fuse_case cases[] = {
    CASE(rows_of_15, 2),
    CASE(rows_of_16, 1),
    CASE(rows_change_what_was_summed, 2),
    CASE(sums_read_the_next_row_that_changes, 2),
    CASE(both_store_a_place, 2),
    CASE(fewer_rows_follow, 2),
    CASE(a_row_is_kept, 1),
    CASE(a_row_is_read_elsewhere, 2),
    CASE(a_row_of_a_channel_is_kept, 1),
    CASE(rows_go_to_computed_places, 3),
    CASE(rows_are_checked, 2),
    CASE(rows_give_an_output, 1),
    CASE(rows_give_an_output_and_others_want_them, 2),
    CASE(sums_are_an_output_as_well, 2),
    CASE(a_sum_is_finished_in_an_output, 2),
    CASE(a_sum_is_finished_in_two_outputs, 3),
    CASE(an_output_wants_more_of_what_the_state_needs, 6),
    CASE(a_check_needs_what_updates_the_state, 3),
    CASE(the_sums_are_needed_before, 3),
    CASE(a_turned_epilogue_knows_its_loop, 2),
    CASE(an_epilogue_reads_another_part, 2),
    CASE(an_epilogue_updates_the_vector, 2),
    CASE(a_square_matrix_is_updated_by_columns, 1),
    CASE(a_square_matrix_gets_another_element, 2),
    CASE(an_update_gives_an_output, 2),
};

START_TEST(results_stay)
{
    run_case(&cases[_i]);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, results_stay, 0, COUNT(cases));
    return run_tests("fuse_apart", tests);
}
