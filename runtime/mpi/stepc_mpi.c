/* SPDX-License-Identifier: 0BSD */
/* Reduce-scatter in a fixed order, then all-gather. All sums stand end to end; groups of some megabytes are cut into as
 * many shares as there are ranks, and rank i owns share i of each group. After a part every rank hands each share of
 * what it has added to the share's owner, who adds what came from ranks 0, 1, 2 .. to the total. After the last part
 * the totals are handed out.
 *
 * 0 + x is x but for x = -0, which no sum ever is that begins with +0: so a rank may begin with +0 what one process
 * would add to what it has. */
#include "stepc_mpi_internal.h"

#include "../stepc_rounding.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACE = 8, /* of a sum among all: the same */
    USUAL_GROUP = 4 << 20,
    LEAST_MESSAGE = 64 << 10, /* between two ranks, unless the sums are smaller */
    CHUNK = 32 << 10          /* is added up at a time, from all ranks */
};

struct stepc_mpi_group {
    size_t first, bytes;  /* among all sums */
    size_t share;         /* bytes of a share; of the last ones less */
    size_t own;           /* bytes of this rank's share ... */
    size_t stride;        /* the same, up to a multiple of ALIGNMENT */
    size_t total, leaves; /* ... and where it stands in `total` and `before`, and in `leaves` */
    int *sent, *sent_at, *received, *received_at, *shares, *shares_at;
};

/* ---- failures ----------------------------------------------------------------- */

stepc_status stepc_mpi_fail(stepc_mpi *m, stepc_status status, const char *what, const char *name, const char *more)
{
    if (m->message[0] == '\0')
        snprintf(m->message, sizeof m->message, "%s%s%s", what, name, more);
    return status;
}

/* The first failure of MPI is kept; nothing is of use after it. */
int stepc_mpi_ok(stepc_mpi *m, const char *call, int result)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (result == MPI_SUCCESS)
        return 1;
    MPI_Error_string(result, text, &length);
    m->is_broken = 1;
    m->status = stepc_mpi_fail(m, STEPC_E_IO, call, ": ", text);
    return 0;
}

/* ---- digests: do the ranks agree? ----------------------------------------------- */

static uint64_t digest(uint64_t h, const void *bytes, size_t count)
{
    const unsigned char *const b = bytes;
    for (size_t i = 0; i < count; i++)
        h = (h ^ b[i]) * UINT64_C(0x100000001B3);
    return h;
}

static uint64_t digest_text(uint64_t h, const char *text)
{
    return digest(h, text, strlen(text) + 1);
}

static uint64_t digest_number(uint64_t h, uint64_t x)
{
    return digest(h, &x, sizeof x);
}

static uint64_t digest_layout(const stepc_model *model)
{
    uint64_t h = digest_number(UINT64_C(0xCBF29CE484222325), model->state_bytes);
    for (unsigned v = 0; v < model->variable_count; v++) {
        const stepc_variable_info *const x = &model->variables[v];
        h = digest_text(h, x->tensor.name);
        h = digest_number(h, x->offset);
        h = digest_number(h, (uint64_t)x->tensor.dtype * 16 + (uint64_t)x->role);
        h = digest_number(h, stepc_tensor_bytes(&x->tensor));
    }
    return h;
}

/* All entries, and what they change. */
static uint64_t digest_entries(const stepc_model *model)
{
    uint64_t h = digest_number(0, model->entry_count);
    for (unsigned e = 0; e < model->entry_count; e++) {
        const unsigned *u = model->updates != NULL ? model->updates[e] : NULL;
        h = digest_text(h, model->entries[e].name);
        for (; u != NULL && *u < model->variable_count; u++)
            h = digest_number(h, *u);
        h = digest_number(h, u != NULL ? model->variable_count : model->variable_count + 1);
    }
    return h;
}

static const char *name_or(const char *name, const char *usual)
{
    return name != NULL ? name : usual;
}

static uint64_t digest_options(const stepc_mpi_options *o)
{
    uint64_t h = digest_number(digest_number(o->shards, o->group_bytes), (uint64_t)o->statistics);
    h = digest_text(h, name_or(o->apply, "apply"));
    return digest_text(h, name_or(o->advance, "advance"));
}

enum { FACT_MODEL, FACT_LAYOUT, FACT_BUILD, FACT_PARTS, FACT_ENTRY, FACT_ENTRIES, FACT_OPTIONS, FACTS };

static const char *const fact_texts[FACTS] = {
    "has another model",
    "has another layout of the state",
    "has another build of the model",
    "has another number of parts",
    "adds up by another entry",
    "has other entries, or they change other variables",
    "has other options",
};

/* Every rank compares with rank 0, and all learn of the first difference. Collective; needs no memory. */
static stepc_status compare_facts(stepc_mpi *m)
{
    const stepc_mpi_options *const o = &m->options;
    const uint64_t facts[FACTS] = {digest_text(digest_number(0, STEPC_ABI), m->model->fingerprint),
                                   digest_layout(m->model),
                                   o->build,
                                   o->parts,
                                   digest_text(0, name_or(o->accumulate, "accumulate")),
                                   digest_entries(m->model),
                                   digest_options(o)};
    uint64_t theirs[FACTS];
    int own[2] = {0, m->rank}, first[2];
    char name[40];
    memcpy(theirs, facts, sizeof theirs);
    if (!OK(m, MPI_Bcast, theirs, FACTS, MPI_UINT64_T, 0, m->comm))
        return m->status;
    while (own[0] < FACTS && theirs[own[0]] == facts[own[0]])
        own[0]++;
    if (!OK(m, MPI_Allreduce, own, first, 1, MPI_2INT, MPI_MINLOC, m->comm))
        return m->status;
    if (first[0] == FACTS)
        return STEPC_OK;
    snprintf(name, sizeof name, "rank %d ", first[1]);
    m->message[0] = '\0'; /* what failed here alone may come from the difference */
    return stepc_mpi_fail(m, STEPC_E_MISMATCH, name, fact_texts[first[0]], " than rank 0");
}

static int keeps_statistics(const stepc_mpi *m)
{
    return m->options.statistics == STEPC_MPI_STATISTICS_OF_PART_0;
}

/* ---- laying out ------------------------------------------------------------------ */

static int can_be_added(stepc_dtype dtype)
{
    switch ((int)dtype) {
    case STEPC_FLOAT:
    case STEPC_DOUBLE:
    case STEPC_FLOAT16:
    case STEPC_BFLOAT16:
    case STEPC_INT32:
    case STEPC_INT64:
    case STEPC_UINT32:
    case STEPC_UINT64:
        return 1;
    default:
        return 0;
    }
}

/* In stepc's models the sums stand at the end of the state, with nothing between them. Then they are laid end to end as
 * they are there, and need not be copied when nobody writes to them. */
static void lay_out_as_in_state(stepc_mpi *m)
{
    const stepc_variable_info *const v = m->model->variables, *const first = &v[m->sums[0]],
                                     *const last = &v[m->sums[m->sum_count - 1]];
    const size_t end = last->offset + stepc_tensor_bytes(&last->tensor);
    int is_row = 1;
    for (unsigned s = 0; s < m->sum_count; s++) /* no element may lie across a multiple of ALIGNMENT */
        is_row = is_row && first->offset % stepc_dtype_size(v[m->sums[s]].tensor.dtype) == 0 &&
                 (s == 0 || v[m->sums[s]].offset > v[m->sums[s - 1]].offset);
    for (unsigned i = 0; i < m->model->variable_count && is_row; i++)
        is_row = v[i].role == STEPC_ROLE_SUM || v[i].offset < first->offset || v[i].offset >= end;
    if (!is_row)
        return;
    m->in_state = 1;
    m->base = first->offset;
    for (unsigned s = 0; s < m->sum_count; s++)
        m->places[s] = v[m->sums[s]].offset - m->base;
    m->places[m->sum_count] = end - m->base;
}

static stepc_status find_sums(stepc_mpi *m)
{
    const stepc_model *const model = m->model;
    size_t place = 0;
    m->sums = malloc(model->variable_count * sizeof *m->sums + 1);
    m->places = malloc((model->variable_count + 1) * sizeof *m->places);
    if (m->sums == NULL || m->places == NULL)
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "no memory", "", "");
    for (unsigned v = 0; v < model->variable_count; v++) {
        const stepc_variable_info *const x = &model->variables[v];
        if (x->role != STEPC_ROLE_SUM)
            continue;
        if (!can_be_added(x->tensor.dtype))
            return stepc_mpi_fail(m, STEPC_E_ARGUMENT, stepc_dtype_name(x->tensor.dtype),
                                  " is not added up over ranks, but is the type of the sum ", x->tensor.name);
        m->sums[m->sum_count] = v;
        m->places[m->sum_count++] = place;
        place = round_up(place + stepc_tensor_bytes(&x->tensor), PLACE);
    }
    m->places[m->sum_count] = place;
    if (m->sum_count == 0)
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "the model has no sums over samples: ",
                              "`stepc prepare --split` makes entries that add up", "");
    lay_out_as_in_state(m);
    return STEPC_OK;
}

/* Bytes of a rank's share of the group. */
static size_t share_bytes(const struct stepc_mpi_group *g, int rank)
{
    const size_t first = least((size_t)rank * g->share, g->bytes);
    return least(g->share, g->bytes - first);
}

static void lay_out_messages(const stepc_mpi *m, struct stepc_mpi_group *g, int *counts)
{
    const int n = m->ranks;
    g->sent = counts;
    g->sent_at = counts + n;
    g->received = counts + 2 * n;
    g->received_at = counts + 3 * n;
    g->shares = counts + 4 * n;
    g->shares_at = counts + 5 * n;
    for (int r = 0; r < n; r++) {
        g->shares[r] = (int)share_bytes(g, r);
        g->shares_at[r] = (int)least((size_t)r * g->share, g->bytes);
        g->sent[r] = r == m->rank ? 0 : g->shares[r];
        g->sent_at[r] = g->shares_at[r];
        g->received[r] = r == m->rank ? 0 : (int)g->own;
        g->received_at[r] = r * (int)g->stride;
    }
}

static stepc_status lay_out_groups(stepc_mpi *m)
{
    const size_t all = m->places[m->sum_count], ranks = (size_t)m->ranks;
    const size_t usual = ranks * LEAST_MESSAGE > USUAL_GROUP ? ranks * LEAST_MESSAGE : USUAL_GROUP;
    const size_t wish = m->options.group_bytes > 0 ? m->options.group_bytes : usual;
    const size_t group = round_up(least(wish, MOST_BYTES), ALIGNMENT);
    size_t total = 0, leaves = 0;
    m->group_count = (unsigned)((all + group - 1) / group);
    m->groups = calloc(m->group_count, sizeof *m->groups);
    m->counts = malloc(m->group_count * 6 * ranks * sizeof *m->counts);
    m->requests = malloc((m->group_count + 1) * sizeof *m->requests);
    for (unsigned i = 0; i <= m->group_count && m->requests != NULL; i++)
        m->requests[i] = MPI_REQUEST_NULL;
    if (m->groups == NULL || m->counts == NULL || m->requests == NULL)
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "no memory", "", "");
    for (unsigned i = 0; i < m->group_count; i++) {
        struct stepc_mpi_group *const g = &m->groups[i];
        g->first = i * group;
        g->bytes = least(group, all - g->first);
        g->share = round_up((g->bytes + ranks - 1) / ranks, ALIGNMENT);
        g->own = share_bytes(g, m->rank);
        g->total = total;
        g->leaves = leaves;
        g->stride = round_up(g->own, ALIGNMENT);
        total += g->stride;
        leaves += g->stride * ranks;
        lay_out_messages(m, g, m->counts + i * 6 * ranks);
    }
    const int is_alone = m->ranks == 1; /* then the sums stay in the state */
    m->leaf = malloc(is_alone || (m->in_state && m->options.parts == (unsigned)m->ranks) ? 1 : all);
    m->leaves = malloc(is_alone ? 1 : leaves + 1);
    m->total = malloc(is_alone ? 1 : total + 1);
    m->before = malloc(total + 1);
    m->shares_bytes = total;
    m->kept = malloc(keeps_statistics(m) ? m->model->state_bytes : 1);
    m->moved = malloc(keeps_statistics(m) ? m->model->state_bytes : 1);
    m->digests = malloc(3 * m->model->variable_count * sizeof *m->digests);
    return m->leaf != NULL && m->leaves != NULL && m->total != NULL && m->before != NULL && m->kept != NULL &&
                   m->moved != NULL && m->digests != NULL
               ? STEPC_OK
               : stepc_mpi_fail(m, STEPC_E_ARGUMENT, "no memory", "", "");
}

/* ---- opening ---------------------------------------------------------------------- */

/* By the model's table of what entries change. */
static stepc_status check_changes(stepc_mpi *m, const stepc_entry *accumulate)
{
    const unsigned *u = m->model->updates != NULL ? m->model->updates[accumulate - m->model->entries] : NULL;
    for (; u != NULL && *u < m->model->variable_count; u++) {
        const stepc_variable_info *const x = &m->model->variables[*u];
        const int is_statistic = x->role == STEPC_ROLE_STATISTIC;
        if (x->role != STEPC_ROLE_SUM && x != m->counter && !(is_statistic && keeps_statistics(m)))
            return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "adding up changes ", x->tensor.name,
                                  is_statistic
                                      ? ", a running statistic; STEPC_MPI_STATISTICS_OF_PART_0 keeps that of part 0"
                                      : ", which is no sum over samples: the ranks' states would differ");
    }
    return u != NULL ? STEPC_OK
                     : stepc_mpi_fail(m, STEPC_E_ARGUMENT, "the model does not say what entries change", "", "");
}

static stepc_status find_entry(stepc_mpi *m)
{
    const char *const name = name_or(m->options.accumulate, "accumulate");
    const stepc_entry *const accumulate = stepc_find_entry(m->model, name);
    char counter[200];
    if (accumulate == NULL)
        return stepc_mpi_fail(m, STEPC_E_NOT_FOUND, "the model has no entry ", name, "");
    snprintf(counter, sizeof counter, "stepc.random_counter_%s", name);
    m->counter = stepc_find_variable(m->model, counter);
    if (m->counter == NULL) /* a single entry that changes the state */
        m->counter = stepc_find_variable(m->model, "stepc.random_counter");
    return check_changes(m, accumulate);
}

static stepc_status check_parts(stepc_mpi *m)
{
    char text[100];
    if (m->options.parts > 0 && m->options.parts <= INT_MAX && m->options.parts % (unsigned)m->ranks == 0)
        return STEPC_OK;
    snprintf(text, sizeof text, "%u parts cannot be shared equally by %d ranks", m->options.parts, m->ranks);
    return stepc_mpi_fail(m, STEPC_E_ARGUMENT, text, "", "");
}

stepc_status stepc_mpi_agree(stepc_mpi *m, stepc_status status)
{
    int own[2] = {(int)status, m->rank}, worst[2];
    char text[sizeof m->message];
    if (!OK(m, MPI_Allreduce, own, worst, 1, MPI_2INT, MPI_MAXLOC, m->comm))
        return m->status;
    if (worst[0] == STEPC_OK)
        return STEPC_OK;
    snprintf(text, sizeof text, "rank %d: %.380s", m->rank, m->message);
    if (!OK(m, MPI_Bcast, text, (int)sizeof text, MPI_CHAR, worst[1], m->comm))
        return m->status;
    return status != STEPC_OK ? status : stepc_mpi_fail(m, (stepc_status)worst[0], text, "", "");
}

/* What no other rank is needed for. */
static stepc_status begin_here(stepc_mpi *m)
{
    stepc_status status = check_parts(m);
    if (status == STEPC_OK)
        status = find_sums(m);
    if (status == STEPC_OK)
        status = find_entry(m);
    if (status == STEPC_OK)
        status = stepc_mpi_find_shards(m);
    if (status == STEPC_OK)
        status = lay_out_groups(m);
    if (status == STEPC_OK)
        status = stepc_mpi_lay_out_shards(m);
    return status;
}

/* Whatever fails on a rank, it goes through the same collective calls as all others: they would wait for it. */
stepc_status stepc_mpi_open(stepc_mpi *m, MPI_Comm comm, const stepc_model *model, const stepc_mpi_options *options)
{
    if (m == NULL || model == NULL || options == NULL)
        return STEPC_E_ARGUMENT;
    memset(m, 0, sizeof *m);
    m->model = model;
    m->options = *options;
    if (!OK(m, MPI_Comm_dup, comm, &m->comm))
        return m->status;
    m->is_open = 1;
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->comm, &m->rank);
    MPI_Comm_size(m->comm, &m->ranks);
    const stepc_status here = begin_here(m);
    stepc_status status = compare_facts(m);
    if (status == STEPC_OK)
        status = stepc_mpi_agree(m, here);
    m->part = (unsigned)m->rank;
    if (status != STEPC_OK)
        stepc_mpi_close(m);
    return status;
}

/* Waits for what is under way. 0: after a failure of MPI something still is, and always may be. */
static int is_at_rest(stepc_mpi *m)
{
    int is_under_way = 0;
    for (unsigned i = 0; m->requests != NULL && i <= m->group_count; i++)
        if (m->requests[i] != MPI_REQUEST_NULL)
            is_under_way |= m->is_broken || !OK(m, MPI_Wait, &m->requests[i], MPI_STATUS_IGNORE);
    return !is_under_way;
}

void stepc_mpi_close(stepc_mpi *m)
{
    if (m == NULL || !m->is_open)
        return;
    m->is_open = 0;
    if (!is_at_rest(m)) /* MPI may still read and write there: better lost than given to others */
        return;
    free(m->sums);
    free(m->places);
    free(m->groups);
    free(m->counts);
    free(m->requests);
    free(m->leaf);
    free(m->leaves);
    free(m->total);
    free(m->before);
    free(m->kept);
    free(m->moved);
    free(m->digests);
    stepc_mpi_free_shards(m);
    MPI_Comm_free(&m->comm);
}

/* ---- the whole state --------------------------------------------------------------- */

static int broadcast(stepc_mpi *m, unsigned char *bytes, size_t count, int rank)
{
    for (size_t at = 0; at < count; at += MOST_BYTES)
        if (!OK(m, MPI_Bcast, bytes + at, (int)least(MOST_BYTES, count - at), MPI_BYTE, rank, m->comm))
            return 0;
    return 1;
}

stepc_status stepc_mpi_broadcast(stepc_mpi *m, void *state, int rank)
{
    if (m->is_broken)
        return m->status;
    return broadcast(m, state, m->model->state_bytes, rank) ? STEPC_OK : m->status;
}

/* Digests of all variables, the same on all ranks? */
static stepc_status compare_states(stepc_mpi *m, void *state)
{
    const unsigned count = m->model->variable_count;
    uint64_t *const own = m->digests, *const least_of = own + count, *const most = own + 2 * count;
    stepc_status status = STEPC_OK;
    for (unsigned v = 0; v < count; v++) {
        const stepc_variable_info *const x = &m->model->variables[v];
        own[v] = digest(0, place_of(state, x), stepc_tensor_bytes(&x->tensor));
    }
    if (!OK(m, MPI_Allreduce, own, least_of, (int)count, MPI_UINT64_T, MPI_MIN, m->comm) ||
        !OK(m, MPI_Allreduce, own, most, (int)count, MPI_UINT64_T, MPI_MAX, m->comm))
        status = m->status;
    for (unsigned v = 0; v < count && status == STEPC_OK; v++)
        if (least_of[v] != most[v])
            status = stepc_mpi_fail(m, STEPC_E_MISMATCH, "the ranks begin with different states: see ",
                                    m->model->variables[v].tensor.name,
                                    "; after closing and opening again stepc_mpi_broadcast() hands out that of one");
    m->is_broken = status != STEPC_OK;
    return status;
}

/* ---- adding ------------------------------------------------------------------------ */

#define ADD_ALL(type, sum)                                                                                             \
    do {                                                                                                               \
        type *const t = (type *)(void *)total;                                                                         \
        const type *const x = (const type *)(const void *)leaf;                                                        \
        for (size_t i = 0; i < bytes / sizeof(type); i++)                                                              \
            t[i] = (sum);                                                                                              \
    } while (0)

/* total += leaf. Of half precision: the float sum of two is exact, or so near that rounding it again is right. */
static void add(stepc_dtype dtype, unsigned char *total, const unsigned char *leaf, size_t bytes)
{
    switch ((int)dtype) {
    case STEPC_FLOAT:
        ADD_ALL(float, t[i] + x[i]);
        break;
    case STEPC_DOUBLE:
        ADD_ALL(double, t[i] + x[i]);
        break;
    case STEPC_FLOAT16:
        ADD_ALL(uint16_t, stepc_float_to_float16(stepc_float16_to_float(t[i]) + stepc_float16_to_float(x[i])));
        break;
    case STEPC_BFLOAT16:
        ADD_ALL(uint16_t, stepc_float_to_bfloat16(stepc_bfloat16_to_float(t[i]) + stepc_bfloat16_to_float(x[i])));
        break;
    case STEPC_INT32:
    case STEPC_UINT32:
        ADD_ALL(uint32_t, t[i] + x[i]);
        break;
    default:
        ADD_ALL(uint64_t, t[i] + x[i]);
        break;
    }
}

/* The sum in which byte `at` of all sums lies. */
static unsigned sum_at(const stepc_mpi *m, size_t at)
{
    unsigned low = 0, high = m->sum_count;
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;
        if (m->places[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A stretch of all sums from byte `at` on, element by element of their types. */
static void add_stretch(const stepc_mpi *m, size_t at, size_t count, unsigned char *total, const unsigned char *leaf)
{
    const size_t end = at + count;
    for (unsigned s = sum_at(m, at); at < end; s++) {
        const stepc_tensor_info *const t = &m->model->variables[m->sums[s]].tensor;
        const size_t bytes = least(m->places[s + 1], end) - at, own = m->places[s] + stepc_tensor_bytes(t);
        add(t->dtype, total, leaf, at < own ? least(bytes, own - at) : 0);
        total += bytes;
        leaf += bytes;
        at += bytes;
    }
}

/* In the order of ranks, which is that of parts. What begins with zeros is the first leaf. */
static void add_leaves(const stepc_mpi *m, const struct stepc_mpi_group *g)
{
    const size_t first = g->first + (size_t)g->shares_at[m->rank];
    for (size_t at = 0; at < g->own; at += CHUNK) {
        const size_t count = least(CHUNK, g->own - at);
        for (int r = 0; r < m->ranks; r++) {
            const unsigned char *const theirs = m->leaves + g->leaves + (size_t)r * g->stride;
            const unsigned char *const leaf = (r == m->rank ? m->own + first : theirs) + at;
            if (r == 0 && m->is_zero && m->is_first_round)
                memcpy(m->total + g->total + at, leaf, count);
            else
                add_stretch(m, first + at, count, m->total + g->total + at, leaf);
        }
    }
}

/* ---- between the state and all sums ------------------------------------------------- */

/* Copies bytes first .. first + count - 1 of all sums from or to the state. */
static void copy_sums(const stepc_mpi *m, unsigned char *state, size_t first, size_t count, unsigned char *sums,
                      int to_state)
{
    const size_t end = first + count;
    for (unsigned s = sum_at(m, first); first < end; s++) {
        const stepc_variable_info *const x = &m->model->variables[m->sums[s]];
        const size_t inside = first - m->places[s], whole = stepc_tensor_bytes(&x->tensor);
        const size_t bytes = least(m->places[s + 1], end) - first;
        const size_t own = inside < whole ? least(bytes, whole - inside) : 0;
        unsigned char *const member = state + x->offset + inside;
        memcpy(to_state ? member : sums, to_state ? sums : member, own);
        if (!to_state)
            memset(sums + own, 0, bytes - own);
        sums += bytes;
        first += bytes;
    }
}

static int are_zero(const stepc_mpi *m, void *state)
{
    for (unsigned s = 0; s < m->sum_count; s++) {
        const stepc_variable_info *const x = &m->model->variables[m->sums[s]];
        const unsigned char *const b = place_of(state, x);
        if (b[0] != 0 || memcmp(b, b + 1, stepc_tensor_bytes(&x->tensor) - 1) != 0)
            return 0;
    }
    return 1;
}

static void clear_sums(const stepc_mpi *m, void *state)
{
    for (unsigned s = 0; s < m->sum_count; s++) {
        const stepc_variable_info *const x = &m->model->variables[m->sums[s]];
        memset(place_of(state, x), 0, stepc_tensor_bytes(&x->tensor));
    }
}

/* ---- what else accumulate() changes -------------------------------------------------- */

static void set_counter(const stepc_mpi *m, void *state, uint64_t parts)
{
    const uint64_t draw = m->first_draw + parts;
    if (m->counter != NULL)
        memcpy(place_of(state, m->counter), &draw, sizeof draw);
}

static void copy_statistics(const stepc_mpi *m, unsigned char *to, const unsigned char *from)
{
    for (unsigned v = 0; keeps_statistics(m) && v < m->model->variable_count; v++) {
        const stepc_variable_info *const x = &m->model->variables[v];
        if (x->role == STEPC_ROLE_STATISTIC)
            memcpy(to + x->offset, from + x->offset, stepc_tensor_bytes(&x->tensor));
    }
}

/* Part 0 is rank 0's. */
static stepc_status hand_out_statistics(stepc_mpi *m, void *state)
{
    if (m->rank == 0)
        copy_statistics(m, state, m->moved);
    for (unsigned v = 0; keeps_statistics(m) && v < m->model->variable_count; v++) {
        const stepc_variable_info *const x = &m->model->variables[v];
        if (x->role == STEPC_ROLE_STATISTIC && !broadcast(m, place_of(state, x), stepc_tensor_bytes(&x->tensor), 0))
            return m->status;
    }
    return STEPC_OK;
}

/* ---- a step -------------------------------------------------------------------------- */

/* Before a rank's first part. */
static void begin(stepc_mpi *m, void *state)
{
    if (m->is_broken)
        return;
    m->status = STEPC_OK;
    m->message[0] = '\0';
    m->failed_part = -1;
    if (!m->is_checked)
        m->status = compare_states(m, state);
    if (m->counter != NULL)
        memcpy(&m->first_draw, place_of(state, m->counter), sizeof m->first_draw);
    m->is_first_round = 1;
    m->is_zero = are_zero(m, state);
    for (unsigned i = 0; i < m->group_count && !m->is_zero; i++) {
        const struct stepc_mpi_group *const g = &m->groups[i];
        copy_sums(m, state, g->first + (size_t)g->shares_at[m->rank], g->own, m->before + g->total, 0);
        if (m->ranks > 1)
            memcpy(m->total + g->total, m->before + g->total, g->own);
    }
}

int stepc_mpi_next(stepc_mpi *m, void *state, unsigned *part)
{
    if (m->part == (unsigned)m->rank)
        begin(m, state);
    if (m->is_broken || m->part >= m->options.parts)
        return 0;
    if (m->ranks > 1 && !(m->is_zero && m->part == (unsigned)m->rank))
        clear_sums(m, state);
    set_counter(m, state, m->part);
    copy_statistics(m, m->kept, state);
    *part = m->part;
    return 1;
}

/* Waits for the leaves of the last round, group by group, and adds them to the total. */
static void collect(stepc_mpi *m)
{
    for (unsigned i = 0; i < m->group_count && !m->is_broken; i++)
        if (OK(m, MPI_Wait, &m->requests[i], MPI_STATUS_IGNORE))
            add_leaves(m, &m->groups[i]);
    m->is_first_round = 0;
}

/* All sums as they stand in the state. */
static unsigned char *row_of(const stepc_mpi *m, void *state)
{
    return (unsigned char *)state + m->base;
}

/* From a copy, unless no part follows that writes to the sums. */
static void send_leaf(stepc_mpi *m, void *state)
{
    m->own = m->in_state && m->part >= m->options.parts ? row_of(m, state) : m->leaf;
    for (unsigned i = 0; i < m->group_count && !m->is_broken; i++) {
        const struct stepc_mpi_group *const g = &m->groups[i];
        if (m->own == m->leaf)
            copy_sums(m, state, g->first, g->bytes, m->leaf + g->first, 0);
        (void)OK(m, MPI_Ialltoallv, m->own + g->first, g->sent, g->sent_at, MPI_BYTE, m->leaves + g->leaves,
                 g->received, g->received_at, MPI_BYTE, m->comm, &m->requests[i]);
    }
}

/* The worst status of all ranks, and the first of the ranks that have it. */
static void send_outcome(stepc_mpi *m)
{
    m->outcome[0] = (int)m->status;
    m->outcome[1] = m->rank;
    if (!m->is_broken)
        (void)OK(m, MPI_Iallreduce, m->outcome, m->worst, 1, MPI_2INT, MPI_MAXLOC, m->comm,
                 &m->requests[m->group_count]);
}

void stepc_mpi_done(stepc_mpi *m, void *state, stepc_status status)
{
    if (m->is_broken)
        return;
    if (m->part == 0)
        copy_statistics(m, m->moved, state);
    copy_statistics(m, state, m->kept);
    if (status != STEPC_OK && m->status == STEPC_OK) {
        m->status = status;
        m->failed_what = "part";
        m->failed_part = (int)m->part;
    }
    const int was_first = m->part == (unsigned)m->rank;
    m->part += (unsigned)m->ranks;
    if (m->ranks > 1) {
        if (!was_first)
            collect(m);
        send_leaf(m, state);
    }
    if (m->part >= m->options.parts)
        send_outcome(m);
}

void stepc_mpi_progress(stepc_mpi *m)
{
    int all = 0;
    if (m->is_open && m->ranks > 1 && m->part != (unsigned)m->rank && m->part < m->options.parts && !m->is_broken)
        (void)OK(m, MPI_Testall, (int)m->group_count, m->requests, &all, MPI_STATUSES_IGNORE);
}

stepc_status stepc_mpi_tell(stepc_mpi *m)
{
    const stepc_status status = (stepc_status)m->worst[0];
    char text[sizeof m->message];
    if (m->rank == m->worst[1]) {
        snprintf(text, sizeof text, "rank %d, %s %d: %.300s", m->rank, m->failed_what, m->failed_part,
                 m->message[0] != '\0' ? m->message : stepc_status_text(status));
        memcpy(m->message, text, sizeof text);
    }
    return broadcast(m, (unsigned char *)m->message, sizeof m->message, m->worst[1]) ? status : m->status;
}

/* Every rank's shares of all sums, to all. */
static void gather(stepc_mpi *m, const unsigned char *shares, unsigned char *sums)
{
    for (unsigned i = 0; i < m->group_count && !m->is_broken; i++) {
        const struct stepc_mpi_group *const g = &m->groups[i];
        (void)OK(m, MPI_Iallgatherv, shares + g->total, (int)g->own, MPI_BYTE, sums + g->first, g->shares, g->shares_at,
                 MPI_BYTE, m->comm, &m->requests[i]);
    }
}

static void store(stepc_mpi *m, void *state)
{
    for (unsigned i = 0; i < m->group_count && !m->is_broken; i++)
        if (OK(m, MPI_Wait, &m->requests[i], MPI_STATUS_IGNORE) && !m->in_state)
            copy_sums(m, state, m->groups[i].first, m->groups[i].bytes, m->leaf + m->groups[i].first, 1);
}

/* Of a single rank, whose sums are in the state all the time. */
static void put_sums_back(stepc_mpi *m, void *state)
{
    for (unsigned i = 0; i < m->group_count; i++)
        copy_sums(m, state, m->groups[i].first, m->groups[i].bytes, m->before + m->groups[i].total, 1);
}

stepc_status stepc_mpi_finish(stepc_mpi *m, void *state)
{
    m->part = (unsigned)m->rank;
    if (m->is_broken)
        return m->status;
    if (m->ranks > 1)
        collect(m);
    if (m->is_broken || !OK(m, MPI_Wait, &m->requests[m->group_count], MPI_STATUS_IGNORE))
        return m->status;
    const int failed = m->worst[0] != STEPC_OK;
    if (failed && m->is_zero)
        memset(m->before, 0, m->shares_bytes);
    if (m->ranks > 1) {
        gather(m, failed ? m->before : m->total, m->in_state ? row_of(m, state) : m->leaf);
        store(m, state);
    } else if (failed) {
        put_sums_back(m, state);
    }
    if (m->is_broken)
        return m->status;
    set_counter(m, state, failed ? 0 : m->options.parts);
    if (failed)
        return stepc_mpi_tell(m);
    m->is_checked = 1;
    return hand_out_statistics(m, state);
}
