/* Places in the arena: what lives at the same time does not overlap, however many there are, and none
 * is placed as well. */
#include "plan/places.h"

#include "lower/kernel.h"
#include "suite.h"
#include <check.h>
#include <stdint.h>

static struct arena arena;

static void teardown(void)
{
    arena_free(&arena);
}

/* `count` lives of up to `longest` kernels and up to 16 cache lines, the same in every run. */
static place_list lives(int count, int longest)
{
    place_list l = {0};
    uint32_t random = 1;
    for (int i = 0; i < count; i++) {
        struct place p = {.buffer = arena_new(&arena, struct buffer), .first = i};
        p.buffer->id = i;
        random = random * 1664525u + 1013904223u;
        p.last = p.first + (int)((random >> 16) % (uint32_t)longest);
        p.bytes = 64 * (1 + (random >> 8) % 16);
        vec_push(&arena, &l, p);
    }
    return l;
}

static bool overlap(const struct place *a, const struct place *b)
{
    return a->last >= b->first && b->last >= a->first && a->offset + a->bytes > b->offset &&
           b->offset + b->bytes > a->offset;
}

static void check_pack(place_list l, size_t times)
{
    const size_t bound = places_bound(&l, times), end = places_pack(&l);
    ck_assert_uint_ge(end, bound);
    size_t overlaps = 0, outside = 0;
    for (size_t i = 0; i < l.count; i++) {
        outside += l.data[i].offset + l.data[i].bytes > end;
        for (size_t j = 0; j < i; j++)
            overlaps += overlap(&l.data[i], &l.data[j]);
    }
    ck_assert_uint_eq(overlaps, 0);
    ck_assert_uint_eq(outside, 0);
}

START_TEST(nothing_takes_no_bytes)
{
    place_list none = {0};
    ck_assert_uint_eq(places_bound(&none, 0), 0);
    ck_assert_uint_eq(places_pack(&none), 0);
}
END_TEST

START_TEST(few_do_not_overlap)
{
    check_pack(lives(300, 40), 340);
}
END_TEST

START_TEST(many_do_not_overlap) /* too many for the quadratic way */
{
    check_pack(lives(5000, 60), 5060);
}
END_TEST

START_TEST(nested_lives_take_no_more_than_the_bound)
{
    place_list l = lives(6000, 1);
    for (int i = 0; i < 6000; i++)
        l.data[i].last = 12000 - i;
    const size_t bound = places_bound(&l, 12001);
    ck_assert_uint_eq(places_pack(&l), bound);
}
END_TEST

START_TEST(what_meets_in_one_kernel_lives_together)
{
    place_list l = lives(2, 1);
    l.data[0].last = l.data[1].first;
    ck_assert_uint_eq(places_bound(&l, 2), l.data[0].bytes + l.data[1].bytes);
    l.data[1].first = l.data[1].last = l.data[0].last + 1;
    ck_assert_uint_eq(places_bound(&l, 3),
                      l.data[0].bytes > l.data[1].bytes ? l.data[0].bytes : l.data[1].bytes);
}
END_TEST

/* Freed from the highest place to the lowest, then needed in one piece. */
START_TEST(what_is_freed_becomes_one_piece)
{
    for (int backwards = 0; backwards < 2; backwards++) {
        place_list l = lives(6000, 1);
        size_t all = 0;
        for (int i = 0; i < 6000; i++) {
            l.data[i].last = backwards ? 12000 - i : 6001 + i;
            all += l.data[i].bytes;
        }
        struct place whole = {.buffer = arena_new(&arena, struct buffer), .first = 12001, .last = 12001, .bytes = all};
        whole.buffer->id = 6000;
        vec_push(&arena, &l, whole);
        ck_assert_uint_eq(places_pack(&l), all);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, nothing_takes_no_bytes);
    tcase_add_test(tests, few_do_not_overlap);
    tcase_add_test(tests, many_do_not_overlap);
    tcase_add_test(tests, nested_lives_take_no_more_than_the_bound);
    tcase_add_test(tests, what_meets_in_one_kernel_lives_together);
    tcase_add_test(tests, what_is_freed_becomes_one_piece);
    return run_tests("plan", tests);
}
