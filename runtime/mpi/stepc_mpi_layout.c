/* SPDX-License-Identifier: 0BSD */
/* Where sums stand end to end, which group and which rank's share they belong to, and the memory for all of it. */
#include "stepc_mpi_internal.h"

#include <stdlib.h>

enum {
    PLACE = 8, /* of a sum among all: the same */
    USUAL_GROUP = 4 << 20,
    LEAST_MESSAGE = 64 << 10 /* between two ranks, unless the sums are smaller */
};

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

stepc_status stepc_mpi_find_sums(stepc_mpi *m)
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

stepc_status stepc_mpi_lay_out_groups(stepc_mpi *m)
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
