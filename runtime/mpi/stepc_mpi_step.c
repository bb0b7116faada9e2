/* SPDX-License-Identifier: 0BSD */
/* A step. After a part every rank hands each share of what it has added to the share's owner, who adds what came from
 * ranks 0, 1, 2 .. to the total. After the last part the totals are handed out. */
#include "stepc_mpi_internal.h"

#include <string.h>

/* ---- what else accumulate() changes --------------------------------------------- */

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
        if (x->role == STEPC_ROLE_STATISTIC &&
            !stepc_mpi_hand_out(m, place_of(state, x), stepc_tensor_bytes(&x->tensor), 0))
            return m->status;
    }
    return STEPC_OK;
}

/* ---- a step --------------------------------------------------------------------- */

/* Before a rank's first part. */
static void begin(stepc_mpi *m, void *state)
{
    if (m->is_broken)
        return;
    m->status = STEPC_OK;
    m->message[0] = '\0';
    m->failed_part = -1;
    if (!m->is_checked)
        m->status = stepc_mpi_compare_states(m, state);
    if (m->counter != NULL)
        memcpy(&m->first_draw, place_of(state, m->counter), sizeof m->first_draw);
    m->is_first_round = 1;
    m->is_zero = stepc_mpi_are_zero(m, state);
    for (unsigned i = 0; i < m->group_count && !m->is_zero; i++) {
        const struct stepc_mpi_group *const g = &m->groups[i];
        stepc_mpi_copy_sums(m, state, g->first + (size_t)g->shares_at[m->rank], g->own, m->before + g->total, 0);
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
        stepc_mpi_clear_sums(m, state);
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
            stepc_mpi_add_leaves(m, &m->groups[i]);
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
            stepc_mpi_copy_sums(m, state, g->first, g->bytes, m->leaf + g->first, 0);
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
            stepc_mpi_copy_sums(m, state, m->groups[i].first, m->groups[i].bytes, m->leaf + m->groups[i].first, 1);
}

/* Of a single rank, whose sums are in the state all the time. */
static void put_sums_back(stepc_mpi *m, void *state)
{
    for (unsigned i = 0; i < m->group_count; i++)
        stepc_mpi_copy_sums(m, state, m->groups[i].first, m->groups[i].bytes, m->before + m->groups[i].total, 1);
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
