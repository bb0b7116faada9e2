/* runtime/mpi on models made by hand: sums of all types, in groups of any size, have the bits of one process that adds
 * up part by part; what ranks disagree on, and what fails on one of them, is told on all. Run by mpirun on any number
 * of ranks. Linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=free. */
#include "mpi/stepc_mpi.h"
#include "stepc_rounding.h"

#include <stdio.h>
#include <string.h>

enum { WIDE = 1000, NARROW = 7, STEPS = 3 };

typedef struct toy_state {
    float weight[3], mean[2], average[2];
    uint64_t counter;
    float single, wide[WIDE];
    uint8_t apart;
    double narrow[NARROW];
    uint16_t half[NARROW], brain[NARROW];
    int64_t long_count;
    int32_t count[3];
    uint8_t flag;
    float bias[2], moment[2];
} toy_state;

static const size_t dim_2[] = {2}, dim_3[] = {3}, dim_narrow[] = {NARROW}, dim_wide[] = {WIDE};

/* What accumulate() of the toy does, besides adding up. */
static struct {
    int moves_statistics, fails_at, bad_shard, bad_end; /* at part number ..., -1: never */
} toy;

static stepc_mpi mpi;
static int failures;

/* What is allocated, and what MPI does. */
static struct {
    int fails_at; /* the allocation number ..., -1: none */
    int count;
    size_t bytes;
    int mpi_fails; /* every MPI_Wait() */
    int freed_leaves;
} world = {.fails_at = -1};

#define EXPECT(x) expect(x, #x, __LINE__)

static void expect(int is_right, const char *what, int line)
{
    if (is_right)
        return;
    fprintf(stderr, "exchange.c:%d: rank %d of %d: not so: %s (%s)\n", line, mpi.rank, mpi.ranks, what, mpi.message);
    failures++;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void __real_free(void *bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void __wrap_free(void *bytes);

void *__wrap_malloc(size_t bytes)
{
    world.bytes += bytes;
    return world.count++ == world.fails_at ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    world.bytes += count * bytes;
    return world.count++ == world.fails_at ? NULL : __real_calloc(count, bytes);
}

void __wrap_free(void *bytes)
{
    world.freed_leaves += bytes != NULL && bytes == mpi.leaves;
    for (unsigned i = 0; bytes != NULL && bytes == mpi.requests && i <= mpi.group_count; i++)
        if (mpi.requests[i] != MPI_REQUEST_NULL) { /* MPI would wait for ever in what follows */
            fprintf(stderr, "exchange.c: rank %d of %d: buffers are freed that MPI reads\n", mpi.rank, mpi.ranks);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    __real_free(bytes);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return world.mpi_fails ? MPI_ERR_OTHER : PMPI_Wait(request, status);
}

/* Every so often a zero with a sign, something tiny, something large. */
static float number(uint64_t part, uint64_t draw, uint64_t i)
{
    uint64_t h = (part + 1) * UINT64_C(0x9E3779B97F4A7C15) + draw * UINT64_C(0xD1B54A32D192ED03) + i;
    h = (h ^ h >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    h ^= h >> 32;
    const float x = (float)(h % 20001u) / 1e4f - 1.0f;
    return h % 7 == 0 ? -0.0f : h % 5 == 0 ? x * 1e-38f : h % 11 == 0 ? x * 1e6f : x;
}

static uint16_t add_half(uint16_t a, uint16_t b)
{
    return stepc_float_to_float16(stepc_float16_to_float(a) + stepc_float16_to_float(b));
}

static uint16_t add_brain(uint16_t a, uint16_t b)
{
    return stepc_float_to_bfloat16(stepc_bfloat16_to_float(a) + stepc_bfloat16_to_float(b));
}

static stepc_status add(toy_state *s, uint64_t part)
{
    if ((int)part == toy.fails_at)
        return STEPC_E_LABEL;
    for (uint64_t i = 0; i < WIDE; i++)
        s->wide[i] += number(part, s->counter, i);
    for (uint64_t i = 0; i < NARROW; i++) {
        s->narrow[i] += (double)number(part, s->counter, i) / 3.0;
        s->half[i] = add_half(s->half[i], stepc_float_to_float16(number(part, 7, i) * 1e-2f));
        s->brain[i] = add_brain(s->brain[i], stepc_float_to_bfloat16(number(part, 8, i)));
    }
    s->single += 4.0f;
    s->long_count += (int64_t)part - 3;
    s->count[1] -= (int32_t)part;
    s->counter++;
    if (toy.moves_statistics)
        s->mean[1] += number(part, 9, 0);
    return STEPC_OK;
}

static stepc_status call_accumulate(void *state, void *arena, uint64_t seed, const void *const *in, void *const *out)
{
    (void)arena, (void)seed, (void)out;
    return add(state, *(const uint64_t *)in[0]);
}

#define AT(member) offsetof(toy_state, member)
#define PLAIN NULL, NULL
static stepc_variable_info variables[] = {
    {{"weight", STEPC_FLOAT, 1, dim_3}, AT(weight), STEPC_ROLE_WEIGHT, PLAIN},
    {{"mean", STEPC_FLOAT, 1, dim_2}, AT(mean), STEPC_ROLE_STATISTIC, PLAIN},
    {{"average", STEPC_FLOAT, 1, dim_2}, AT(average), STEPC_ROLE_STATISTIC, PLAIN},
    {{"stepc.random_counter_add", STEPC_UINT64, 0, NULL}, AT(counter), STEPC_ROLE_COUNTER, PLAIN},
    {{"single", STEPC_FLOAT, 0, NULL}, AT(single), STEPC_ROLE_SUM, PLAIN},
    {{"wide", STEPC_FLOAT, 1, dim_wide}, AT(wide), STEPC_ROLE_SUM, PLAIN},
    {{"narrow", STEPC_DOUBLE, 1, dim_narrow}, AT(narrow), STEPC_ROLE_SUM, PLAIN},
    {{"half", STEPC_FLOAT16, 1, dim_narrow}, AT(half), STEPC_ROLE_SUM, PLAIN},
    {{"brain", STEPC_BFLOAT16, 1, dim_narrow}, AT(brain), STEPC_ROLE_SUM, PLAIN},
    {{"long_count", STEPC_INT64, 0, NULL}, AT(long_count), STEPC_ROLE_SUM, PLAIN},
    {{"count", STEPC_INT32, 1, dim_3}, AT(count), STEPC_ROLE_SUM, PLAIN},
    {{"flag", STEPC_BOOL, 0, NULL}, AT(flag), STEPC_ROLE_COUNTER, PLAIN},
    {{"bias", STEPC_FLOAT, 1, dim_2}, AT(bias), STEPC_ROLE_WEIGHT, PLAIN},
    {{"moment", STEPC_FLOAT, 1, dim_2}, AT(moment), STEPC_ROLE_OPTIMIZER, PLAIN},
};
enum { WEIGHT, VARIABLES = sizeof variables / sizeof *variables, FLAG = VARIABLES - 3, BIAS, MOMENT };

/* Two shards of the update, and what comes behind them. */
static stepc_status call_first(void *state, void *arena, uint64_t seed, const void *const *in, void *const *out)
{
    toy_state *const s = state;
    (void)arena, (void)seed, (void)in, (void)out;
    s->weight[0] += s->wide[5];
    s->average[1] += 2.0f;
    s->moment[1] -= 1.0f;
    return STEPC_OK;
}

static stepc_status call_second(void *state, void *arena, uint64_t seed, const void *const *in, void *const *out)
{
    toy_state *const s = state;
    (void)arena, (void)seed, (void)in, (void)out;
    s->bias[1] -= s->wide[6];
    return toy.bad_shard ? STEPC_E_NOT_FINITE : STEPC_OK;
}

static stepc_status call_behind(void *state, void *arena, uint64_t seed, const void *const *in, void *const *out)
{
    (void)arena, (void)seed, (void)in, (void)out;
    ((toy_state *)state)->single = 0.0f;
    return toy.bad_end ? STEPC_E_INDEX : STEPC_OK;
}

#define MUTATES STEPC_ENTRY_MUTATES
static const stepc_entry entries[] = {{"add", MUTATES, 1, 0, NULL, NULL, call_accumulate},
                                      {"go_0", MUTATES, 0, 0, NULL, NULL, call_first},
                                      {"go_1", MUTATES, 0, 0, NULL, NULL, call_second},
                                      {"behind", MUTATES, 0, 0, NULL, NULL, call_behind}};
static const stepc_entry other_entries[] = {{"add", MUTATES, 1, 0, NULL, NULL, call_accumulate},
                                            {"go_0", MUTATES, 0, 0, NULL, NULL, call_first},
                                            {"behind", MUTATES, 0, 0, NULL, NULL, call_behind},
                                            {"go_1", MUTATES, 0, 0, NULL, NULL, call_second}};
/* The first: without statistics, the second: and a weight. */
static const unsigned add_updates[] = {1, 3, 4, 5, 6, 7, 8, 9, 10, VARIABLES};
static const unsigned plain_updates[] = {3, 4, 5, 6, 7, 8, 9, 10, VARIABLES};
static const unsigned wrong_updates[] = {0, 3, 4, 5, 6, 7, 8, 9, 10, VARIABLES};
static const unsigned first_updates[] = {0, 2, MOMENT, VARIABLES}, second_updates[] = {BIAS, VARIABLES};
static const unsigned other_updates[] = {MOMENT, VARIABLES};
static const unsigned behind_updates[] = {4, VARIABLES};
static const unsigned *updates[] = {add_updates, first_updates, second_updates, behind_updates};
static stepc_model model = {STEPC_ABI, "toy", "abc", sizeof(toy_state), 0, VARIABLES, 4, variables, entries, updates};

static void fill(toy_state *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < WIDE; i++)
        s->wide[i] = (float)(i % 3); /* some sums go on from what they have */
    s->counter = 40;
    s->average[0] = 5.0f;
}

static stepc_status step(toy_state *s)
{
    unsigned part;
    while (stepc_mpi_next(&mpi, s, &part)) {
        const uint64_t number_of = part;
        const void *const in[] = {&number_of};
        stepc_mpi_progress(&mpi);
        stepc_mpi_done(&mpi, s, call_accumulate(s, NULL, 0, in, NULL));
        stepc_mpi_progress(&mpi);
    }
    return stepc_mpi_finish(&mpi, s);
}

static stepc_status begin(const stepc_mpi_options *o)
{
    return stepc_mpi_open(&mpi, MPI_COMM_WORLD, &model, o);
}

/* As one process that keeps the statistics of part 0. */
static void step_alone(toy_state *s, unsigned parts)
{
    float mean[2] = {0};
    for (unsigned part = 0; part < parts; part++) {
        EXPECT(add(s, part) == STEPC_OK);
        if (part == 0)
            memcpy(mean, s->mean, sizeof mean);
    }
    memcpy(s->mean, mean, sizeof mean);
}

static void test_bits(stepc_mpi_options o, int from_zero, int is_apart)
{
    static toy_state shared, alone;
    fill(&shared);
    if (from_zero)
        memset(shared.wide, 0, sizeof shared.wide);
    variables[FLAG].offset = is_apart ? AT(apart) : AT(flag); /* something stands between the sums */
    shared.apart = is_apart ? 3 : 0;
    alone = shared;
    EXPECT(begin(&o) == STEPC_OK);
    for (int i = 0; i < STEPS; i++) {
        EXPECT(step(&shared) == STEPC_OK);
        step_alone(&alone, o.parts);
        EXPECT(memcmp(&shared, &alone, sizeof alone) == 0);
    }
    stepc_mpi_close(&mpi);
}

/* ---- failures, the same on all ranks ------------------------------------------------ */

static int says(const char *text)
{
    return strstr(mpi.message, text) != NULL;
}

static void test_failing_part(stepc_mpi_options o, int from_zero)
{
    static toy_state s, before;
    fill(&s);
    if (from_zero)
        memset(s.wide, 0, sizeof s.wide);
    EXPECT(begin(&o) == STEPC_OK);
    EXPECT(from_zero || step(&s) == STEPC_OK);
    before = s;
    toy.fails_at = (int)o.parts - 1;
    EXPECT(step(&s) == STEPC_E_LABEL);
    char text[60];
    snprintf(text, sizeof text, "rank %d, part %u: a class label", mpi.ranks - 1, o.parts - 1);
    EXPECT(says(text));
    EXPECT(memcmp(&s, &before, sizeof s) == 0);
    toy.fails_at = -1;
    EXPECT(step(&s) == STEPC_OK);
    step_alone(&before, o.parts);
    EXPECT(memcmp(&s, &before, sizeof s) == 0);
    stepc_mpi_close(&mpi);
}

static void test_what_else_changes(stepc_mpi_options o)
{
    static toy_state s;
    o.statistics = STEPC_MPI_STATISTICS_REFUSED;
    EXPECT(begin(&o) == STEPC_E_ARGUMENT && says("adding up changes mean, a running statistic"));
    updates[0] = wrong_updates;
    EXPECT(begin(&o) == STEPC_E_ARGUMENT && says("adding up changes weight, which is no sum"));
    model.updates = NULL;
    EXPECT(begin(&o) == STEPC_E_ARGUMENT && says("does not say what entries change"));
    model.updates = updates;
    updates[0] = plain_updates;
    toy.moves_statistics = 0;
    fill(&s);
    EXPECT(begin(&o) == STEPC_OK); /* statistics that stay as they are need no word */
    EXPECT(step(&s) == STEPC_OK);
    stepc_mpi_close(&mpi);
    updates[0] = add_updates;
    toy.moves_statistics = 1;
}

static void test_shards(stepc_mpi_options o)
{
    static toy_state s, alone;
    fill(&s);
    fill(&alone);
    o.shards = 2;
    EXPECT(begin(&o) == STEPC_E_NOT_FOUND && says("no entry apply_0"));
    o.apply = "go";
    EXPECT(begin(&o) == STEPC_E_NOT_FOUND && says("no entry advance"));
    o.advance = "behind";
    o.shards = 1;
    EXPECT(begin(&o) == STEPC_E_ARGUMENT && says("more shards than the options say: go_1"));
    o.shards = 2;
    EXPECT(begin(&o) == STEPC_OK);
    for (int i = 0; i < STEPS; i++) {
        EXPECT(step(&s) == STEPC_OK && stepc_mpi_apply(&mpi, &s, NULL, NULL, NULL) == STEPC_OK);
        step_alone(&alone, o.parts);
        for (size_t e = 1; e < 4; e++)
            EXPECT(entries[e].call(&alone, NULL, 0, NULL, NULL) == STEPC_OK);
        EXPECT(memcmp(s.weight, alone.weight, sizeof s.weight) == 0 && memcmp(s.bias, alone.bias, sizeof s.bias) == 0);
        EXPECT(s.average[1] == alone.average[1]);
        EXPECT((s.moment[1] == alone.moment[1]) == (mpi.rank == 0)); /* another rank's */
    }
    EXPECT(stepc_mpi_collect(&mpi, &s) == STEPC_OK);
    EXPECT(memcmp(&s, &alone, sizeof s) == 0);
    toy.bad_end = 1;
    EXPECT(step(&s) == STEPC_OK && stepc_mpi_apply(&mpi, &s, NULL, NULL, NULL) == STEPC_E_INDEX);
    EXPECT(says("behind: an index is out of range"));
    toy.bad_end = 0;
    toy.bad_shard = 1;
    EXPECT(step(&s) == STEPC_OK && stepc_mpi_apply(&mpi, &s, NULL, NULL, NULL) == STEPC_E_NOT_FINITE);
    EXPECT(says(mpi.ranks > 1 ? "rank 1, shard 1: a value that" : "rank 0, shard 1: a value that"));
    EXPECT(step(&s) == STEPC_E_NOT_FINITE); /* and so it stays */
    toy.bad_shard = 0;
    stepc_mpi_close(&mpi);
}

static void test_update_in_one(stepc_mpi_options o)
{
    static toy_state s;
    fill(&s);
    o.apply = "behind";
    EXPECT(begin(&o) == STEPC_OK && step(&s) == STEPC_OK);
    toy.bad_end = 1;
    EXPECT(stepc_mpi_apply(&mpi, &s, NULL, NULL, NULL) == STEPC_E_INDEX && says("behind: an index is out of range"));
    toy.bad_end = 0;
    EXPECT(stepc_mpi_apply(&mpi, &s, NULL, NULL, NULL) == STEPC_OK && mpi.message[0] == '\0');
    stepc_mpi_close(&mpi);
}

static void test_different_states(stepc_mpi_options o)
{
    static toy_state s;
    fill(&s);
    EXPECT(begin(&o) == STEPC_OK);
    s.average[1] = (float)mpi.rank;
    if (mpi.ranks > 1) {
        EXPECT(step(&s) == STEPC_E_MISMATCH && says("different states: see average; after closing and opening again"));
        EXPECT(step(&s) == STEPC_E_MISMATCH); /* and so it stays */
        EXPECT(stepc_mpi_broadcast(&mpi, &s, 0) == STEPC_E_MISMATCH);
        stepc_mpi_close(&mpi);
        EXPECT(begin(&o) == STEPC_OK);
    }
    EXPECT(stepc_mpi_broadcast(&mpi, &s, mpi.ranks - 1) == STEPC_OK);
    EXPECT(s.average[1] == (float)(mpi.ranks - 1));
    EXPECT(step(&s) == STEPC_OK);
    stepc_mpi_close(&mpi);
}

static void test_opening(const stepc_mpi_options *usual, int rank, int ranks)
{
    const int is_last = ranks > 1 && rank == ranks - 1;
    stepc_mpi_options o = *usual;
    char text[60];
    o.parts = (unsigned)ranks * 3 + 1;
    EXPECT(ranks == 1 || (begin(&o) == STEPC_E_ARGUMENT && says("cannot be shared equally")));
    o.parts = 0;
    EXPECT(begin(&o) == STEPC_E_ARGUMENT && says("0 parts"));
    o = *usual;
    o.accumulate = "none";
    EXPECT(begin(&o) == STEPC_E_NOT_FOUND && says("no entry none"));
    variables[FLAG].role = STEPC_ROLE_SUM;
    EXPECT(begin(usual) == STEPC_E_ARGUMENT && says("bool is not added up over ranks") && says("sum flag"));
    variables[FLAG].role = STEPC_ROLE_COUNTER;
    model.variable_count = 4;
    EXPECT(begin(usual) == STEPC_E_ARGUMENT && says("no sums over samples"));
    model.variable_count = VARIABLES;
    if (ranks == 1)
        return;
    snprintf(text, sizeof text, "rank %d has another ", ranks - 1);
    o = *usual;
    o.parts *= is_last ? 2 : 1;
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says(text) && says("number of parts than rank 0"));
    o = *usual;
    o.build = is_last ? 2 : 1;
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says(text) && says("build of the model"));
    model.fingerprint = is_last ? "abd" : "abc";
    EXPECT(begin(usual) == STEPC_E_MISMATCH && says(text) && says("model than"));
    model.fingerprint = "abc";
    variables[WEIGHT].role = is_last ? STEPC_ROLE_OPTIMIZER : STEPC_ROLE_WEIGHT;
    EXPECT(begin(usual) == STEPC_E_MISMATCH && says(text) && says("layout of the state"));
    variables[WEIGHT].role = STEPC_ROLE_WEIGHT;
    o = *usual;
    o.group_bytes = is_last ? 64 : 128;
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says("has other options"));
    o = *usual;
    o.apply = is_last ? "go" : NULL;
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says("has other options"));
    o = *usual;
    o.apply = "go";
    o.shards = 2;
    o.advance = is_last ? "behind" : "none"; /* found on one rank, not on the others */
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says("has other options"));
    o.advance = "behind";
    model.entry_count = is_last ? 3 : 4; /* without "behind" */
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says("has other entries"));
    model.entry_count = 4;
    model.entries = is_last ? other_entries : entries;
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says("has other entries"));
    model.entries = entries;
    updates[2] = is_last ? other_updates : second_updates;
    EXPECT(begin(&o) == STEPC_E_MISMATCH && says("has other entries"));
    updates[2] = second_updates;
}

/* A rank alone gives none: all others learn of it. */
static void test_missing_arguments(const stepc_mpi_options *o, int rank, int ranks)
{
    static const char *const names[] = {"stepc_mpi", "model", "options"};
    const int is_last = rank == ranks - 1;
    char text[80];
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "stepc_mpi_open() is given no %s", names[i]);
        EXPECT(stepc_mpi_open(is_last && i == 0 ? NULL : &mpi, MPI_COMM_WORLD, is_last && i == 1 ? NULL : &model,
                              is_last && i == 2 ? NULL : o) == STEPC_E_ARGUMENT);
        EXPECT((is_last && i == 0) || says(text));
        snprintf(text, sizeof text, "rank %d: ", ranks - 1);
        EXPECT(is_last || says(text));
    }
}

static void test_broadcasting(const stepc_mpi_options *o, int rank, int ranks)
{
    static toy_state s;
    const int is_last = rank == ranks - 1;
    fill(&s);
    EXPECT(begin(o) == STEPC_OK);
    EXPECT(stepc_mpi_broadcast(&mpi, is_last ? NULL : &s, 0) == STEPC_E_ARGUMENT && says("is given no state"));
    EXPECT(stepc_mpi_broadcast(&mpi, &s, ranks) == STEPC_E_ARGUMENT && says("there is no rank"));
    EXPECT(stepc_mpi_broadcast(&mpi, &s, -1) == STEPC_E_ARGUMENT && says("there is no rank -1"));
    EXPECT(ranks == 1 || (stepc_mpi_broadcast(&mpi, &s, is_last ? -1 : 0) == STEPC_E_MISMATCH &&
                          says("is asked for the state of several ranks")));
    EXPECT(stepc_mpi_broadcast(&mpi, &s, 0) == STEPC_OK && mpi.message[0] == '\0');
    EXPECT(step(&s) == STEPC_OK);
    stepc_mpi_close(&mpi);
}

/* ---- memory ------------------------------------------------------------------------ */

/* A rank alone lacks it, once at each place: no other one waits for it. */
static void test_no_memory(stepc_mpi_options o, int rank, int ranks)
{
    static toy_state s;
    stepc_status status = STEPC_E_ARGUMENT;
    char text[60];
    int fails_at = 0;
    snprintf(text, sizeof text, rank == ranks - 1 ? "no memory" : "rank %d: no memory", ranks - 1);
    o.shards = 2;
    o.apply = "go";
    o.advance = "behind";
    for (; status != STEPC_OK && fails_at < 100; fails_at++) {
        world.count = 0;
        world.fails_at = rank == ranks - 1 ? fails_at : -1;
        status = begin(&o);
        EXPECT(status == STEPC_OK || (status == STEPC_E_ARGUMENT && says(text)));
    }
    EXPECT(status == STEPC_OK && fails_at > 10);
    fill(&s);
    EXPECT(step(&s) == STEPC_OK && stepc_mpi_apply(&mpi, &s, NULL, NULL, NULL) == STEPC_OK);
    world.count = 0;
    world.fails_at = rank == ranks - 1 ? 0 : -1;
    EXPECT(stepc_mpi_collect(&mpi, &s) == STEPC_E_ARGUMENT && says(text));
    world.fails_at = -1;
    EXPECT(stepc_mpi_collect(&mpi, rank == ranks - 1 ? NULL : &s) == STEPC_E_ARGUMENT && says("is given no state"));
    EXPECT(stepc_mpi_collect(&mpi, &s) == STEPC_OK);
    stepc_mpi_close(&mpi);
}

/* As the header says: of the sums, and twice those of the state. */
static void test_bytes(stepc_mpi_options o)
{
    static toy_state s;
    const size_t slack = 2048 + (size_t)mpi.ranks * 256;
    o.group_bytes = 0;
    o.parts = 2 * (unsigned)mpi.ranks;
    world.bytes = 0;
    EXPECT(begin(&o) == STEPC_OK);
    EXPECT(world.bytes < (mpi.ranks > 1 ? 5 : 3) * sizeof s + slack);
    stepc_mpi_close(&mpi);
}

/* ---- closing ------------------------------------------------------------------------ */

static void test_leaving_a_step(stepc_mpi_options o, int with_failure)
{
    static toy_state s;
    MPI_Request requests[8];
    unsigned part;
    o.group_bytes = 0;
    fill(&s);
    EXPECT(begin(&o) == STEPC_OK && mpi.group_count < 8);
    EXPECT(stepc_mpi_next(&mpi, &s, &part));
    stepc_mpi_done(&mpi, &s, STEPC_OK);
    memcpy(requests, mpi.requests, (mpi.group_count + 1) * sizeof *requests);
    world.mpi_fails = with_failure;
    EXPECT(!with_failure || mpi.ranks == 1 || stepc_mpi_finish(&mpi, &s) == STEPC_E_IO);
    world.freed_leaves = 0;
    stepc_mpi_close(&mpi);
    world.mpi_fails = 0;
    EXPECT(world.freed_leaves == !(with_failure && mpi.ranks > 1));
    for (unsigned i = 0; i < mpi.group_count && with_failure && mpi.ranks > 1; i++)
        PMPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const size_t group_bytes[] = {0, 1, 200, 4000, 100000};
    int rank, ranks, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    toy.fails_at = -1;
    toy.moves_statistics = 1;
    stepc_mpi_options o = {.accumulate = "add", .statistics = STEPC_MPI_STATISTICS_OF_PART_0};
    for (unsigned rounds = 1; rounds <= 3; rounds++)
        for (size_t i = 0; i < sizeof group_bytes / sizeof *group_bytes; i++) {
            o.parts = rounds * (unsigned)ranks;
            o.group_bytes = group_bytes[i];
            test_bits(o, 0, 1);
            test_bits(o, 1, 1);
            test_bits(o, 0, 0);
            test_bits(o, 1, 0);
        }
    o.group_bytes = 1024;
    test_failing_part(o, 0);
    test_failing_part(o, 1);
    test_what_else_changes(o);
    test_different_states(o);
    test_shards(o);
    test_update_in_one(o);
    test_opening(&o, rank, ranks);
    test_missing_arguments(&o, rank, ranks);
    test_broadcasting(&o, rank, ranks);
    test_no_memory(o, rank, ranks);
    test_bytes(o);
    test_leaving_a_step(o, 0);
    test_leaving_a_step(o, 1);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all > 0;
}
