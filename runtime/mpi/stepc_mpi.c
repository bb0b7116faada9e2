/* SPDX-License-Identifier: 0BSD */
/* Reduce-scatter in a fixed order, then all-gather. All sums stand end to end; groups of some megabytes are cut into as
 * many shares as there are ranks, and rank i owns share i of each (stepc_mpi_layout.c). stepc_mpi_step.c has what a
 * step does with them. */
#include "stepc_mpi_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What no other rank is needed for. */
static stepc_status begin_here(stepc_mpi *m)
{
    stepc_status status = check_parts(m);
    if (status == STEPC_OK)
        status = stepc_mpi_find_sums(m);
    if (status == STEPC_OK)
        status = find_entry(m);
    if (status == STEPC_OK)
        status = stepc_mpi_find_shards(m);
    if (status == STEPC_OK)
        status = stepc_mpi_lay_out_groups(m);
    if (status == STEPC_OK)
        status = stepc_mpi_lay_out_shards(m);
    return status;
}

/* All ranks have one. */
static stepc_status open_model(stepc_mpi *m, const stepc_model *model, const stepc_mpi_options *options)
{
    m->model = model;
    m->options = *options;
    m->part = (unsigned)m->rank;
    const stepc_status here = begin_here(m), same = stepc_mpi_compare_facts(m);
    return same == STEPC_OK ? stepc_mpi_agree(m, here) : same;
}

/* Whatever fails on a rank, it goes through the same collective calls as all others: they would wait for it. So does
 * one that gives no handle, with one of its own. */
stepc_status stepc_mpi_open(stepc_mpi *handle, MPI_Comm comm, const stepc_model *model,
                            const stepc_mpi_options *options)
{
    const char *const missing = handle == NULL    ? "stepc_mpi"
                                : model == NULL   ? "model"
                                : options == NULL ? "options"
                                                  : NULL;
    stepc_mpi own, *const m = handle != NULL ? handle : &own;
    stepc_status status = STEPC_OK;
    memset(m, 0, sizeof *m);
    if (!OK(m, MPI_Comm_dup, comm, &m->comm))
        return m->status;
    m->is_open = 1;
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->comm, &m->rank);
    MPI_Comm_size(m->comm, &m->ranks);
    if (missing != NULL)
        status = stepc_mpi_fail(m, STEPC_E_ARGUMENT, "stepc_mpi_open() is given no ", missing, "");
    status = stepc_mpi_agree(m, status);
    if (status == STEPC_OK)
        status = open_model(m, model, options);
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

/* ---- the whole state ------------------------------------------------------------ */

int stepc_mpi_hand_out(stepc_mpi *m, unsigned char *bytes, size_t count, int rank)
{
    for (size_t at = 0; at < count; at += MOST_BYTES)
        if (!OK(m, MPI_Bcast, bytes + at, (int)least(MOST_BYTES, count - at), MPI_BYTE, rank, m->comm))
            return 0;
    return 1;
}

/* All ranks learn of what is wrong on one: nobody waits for it. */
stepc_status stepc_mpi_broadcast(stepc_mpi *m, void *state, int rank)
{
    int own[3] = {rank, ~rank, state == NULL}, most[3]; /* the largest ~rank is that of the least */
    char text[40];
    if (m->is_broken)
        return m->status;
    m->message[0] = '\0';
    if (!OK(m, MPI_Allreduce, own, most, 3, MPI_INT, MPI_MAX, m->comm))
        return m->status;
    snprintf(text, sizeof text, "there is no rank %d", rank);
    if (most[2])
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "stepc_mpi_broadcast() is given no state", "", "");
    if (most[0] != ~most[1])
        return stepc_mpi_fail(m, STEPC_E_MISMATCH, "stepc_mpi_broadcast() is asked for the state of several ranks", "",
                              "");
    if (rank < 0 || rank >= m->ranks)
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, text, "", "");
    return stepc_mpi_hand_out(m, state, m->model->state_bytes, rank) ? STEPC_OK : m->status;
}
