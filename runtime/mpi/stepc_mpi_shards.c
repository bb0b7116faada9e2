/* SPDX-License-Identifier: 0BSD */
/* Updates in shards: a rank computes those of its own, and hands out weights and statistics, which accumulate() reads.
 * What else they have changed, what the optimizer remembers, stays where it is until somebody asks for it. */
#include "stepc_mpi_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 200 };

/* ---- entries ------------------------------------------------------------------- */

static const char *apply_name(const stepc_mpi *m)
{
    return name_or(m->options.apply, "apply");
}

static const stepc_entry *shard_entry(const stepc_mpi *m, unsigned shard)
{
    char name[MOST_NAME];
    snprintf(name, sizeof name, "%s_%u", apply_name(m), shard);
    return stepc_find_entry(m->model, name);
}

static stepc_status miss(stepc_mpi *m, const char *name)
{
    return stepc_mpi_fail(m, STEPC_E_NOT_FOUND, "the model has no entry ", name, "");
}

stepc_status stepc_mpi_find_shards(stepc_mpi *m)
{
    char name[MOST_NAME];
    m->apply = m->options.shards > 0 ? shard_entry(m, 0) : stepc_find_entry(m->model, apply_name(m));
    for (unsigned s = 0; s < m->options.shards; s++)
        if (shard_entry(m, s) == NULL) {
            snprintf(name, sizeof name, "%s_%u", apply_name(m), s);
            return miss(m, name);
        }
    if (m->options.shards > 0 && shard_entry(m, m->options.shards) != NULL) {
        snprintf(name, sizeof name, "%s_%u", apply_name(m), m->options.shards);
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "the model has more shards than the options say: ", name, "");
    }
    if (m->options.shards > 0) {
        const char *const last = name_or(m->options.advance, "advance");
        m->advance = stepc_find_entry(m->model, last);
        if (m->advance == NULL)
            return miss(m, last);
    }
    return STEPC_OK;
}

/* ---- what shards have changed --------------------------------------------------- */

enum what { MODEL, ALL }; /* weights and statistics, or what the optimizer remembers, too */
enum way { MEASURE, PACK, UNPACK };

/* Goes through what the rank's shards have changed, which lies there one after the other. Returns its bytes. */
static size_t walk(const stepc_mpi *m, int rank, enum what what, enum way way, void *state, unsigned char *bytes)
{
    size_t at = 0;
    for (unsigned s = (unsigned)rank; s < m->options.shards; s += (unsigned)m->ranks) {
        const unsigned *u = m->model->updates[shard_entry(m, s) - m->model->entries];
        for (; *u < m->model->variable_count; u++) {
            const stepc_variable_info *const x = &m->model->variables[*u];
            const size_t count = stepc_tensor_bytes(&x->tensor);
            if (what == MODEL && x->role != STEPC_ROLE_WEIGHT && x->role != STEPC_ROLE_STATISTIC)
                continue;
            if (way == PACK)
                memcpy(bytes + at, place_of(state, x), count);
            else if (way == UNPACK)
                memcpy(place_of(state, x), bytes + at, count);
            at += count;
        }
    }
    return round_up(at, ALIGNMENT);
}

/* Where each rank's begin, in blocks. Returns the bytes of all. */
static size_t measure(stepc_mpi *m, enum what what)
{
    size_t all = 0;
    for (int r = 0; r < m->ranks; r++) {
        const size_t bytes = walk(m, r, what, MEASURE, NULL, NULL);
        m->blocks[r] = (int)(bytes / ALIGNMENT);
        m->blocks[m->ranks + r] = (int)(all / ALIGNMENT);
        all += bytes;
    }
    return all;
}

/* `bytes` has room for all. */
static stepc_status gather(stepc_mpi *m, enum what what, void *state, unsigned char *bytes)
{
    measure(m, what);
    const int *const begin = m->blocks + m->ranks;
    walk(m, m->rank, what, PACK, state, bytes + (size_t)begin[m->rank] * ALIGNMENT);
    if (!OK(m, MPI_Allgatherv, MPI_IN_PLACE, 0, m->block, bytes, m->blocks, begin, m->block, m->comm))
        return m->status;
    for (int r = 0; r < m->ranks; r++)
        if (r != m->rank)
            walk(m, r, what, UNPACK, state, bytes + (size_t)begin[r] * ALIGNMENT);
    return STEPC_OK;
}

stepc_status stepc_mpi_lay_out_shards(stepc_mpi *m)
{
    unsigned outputs = 1;
    for (unsigned i = 0; i < m->model->entry_count; i++)
        if (m->model->entries[i].output_count > outputs)
            outputs = m->model->entries[i].output_count;
    m->block = MPI_DATATYPE_NULL;
    m->blocks = malloc(2 * (size_t)m->ranks * sizeof *m->blocks);
    m->nothing = calloc(outputs, sizeof *m->nothing);
    if (m->blocks == NULL || m->nothing == NULL)
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "no memory", "", "");
    if (m->options.shards == 0)
        return STEPC_OK;
    m->shards = malloc(measure(m, MODEL) + 1);
    if (m->shards == NULL)
        return stepc_mpi_fail(m, STEPC_E_ARGUMENT, "no memory", "", "");
    return OK(m, MPI_Type_contiguous, ALIGNMENT, MPI_BYTE, &m->block) && OK(m, MPI_Type_commit, &m->block) ? STEPC_OK
                                                                                                           : m->status;
}

void stepc_mpi_free_shards(stepc_mpi *m)
{
    free(m->shards);
    free(m->blocks);
    free(m->nothing);
    if (m->options.shards > 0 && m->blocks != NULL && m->block != MPI_DATATYPE_NULL)
        MPI_Type_free(&m->block);
}

/* ---- a step ----------------------------------------------------------------------- */

static stepc_status apply_shards(stepc_mpi *m, void *state, void *arena, const void *const *inputs)
{
    for (unsigned s = (unsigned)m->rank; s < m->options.shards && m->status == STEPC_OK; s += (unsigned)m->ranks) {
        m->status = shard_entry(m, s)->call(state, arena, 0, inputs, m->nothing);
        m->failed_what = "shard";
        m->failed_part = (int)s;
    }
    m->outcome[0] = (int)m->status;
    m->outcome[1] = m->rank;
    if (!OK(m, MPI_Allreduce, m->outcome, m->worst, 1, MPI_2INT, MPI_MAXLOC, m->comm))
        return m->status;
    m->status = (stepc_status)m->worst[0];
    m->is_broken = m->status != STEPC_OK;
    return m->is_broken ? stepc_mpi_tell(m) : gather(m, MODEL, state, m->shards);
}

/* All ranks compute the same, so that they fail alike. */
static stepc_status call_on_all(stepc_mpi *m, const stepc_entry *entry, void *state, void *arena,
                                const void *const *inputs, void *const *outputs)
{
    const stepc_status status = entry->call(state, arena, 0, inputs, outputs);
    return status == STEPC_OK ? status : stepc_mpi_fail(m, status, entry->name, ": ", stepc_status_text(status));
}

stepc_status stepc_mpi_apply(stepc_mpi *m, void *state, void *arena, const void *const *inputs, void *const *outputs)
{
    if (m->is_broken)
        return m->status;
    m->status = STEPC_OK;
    m->message[0] = '\0';
    if (m->apply == NULL)
        return miss(m, apply_name(m));
    if (m->options.shards == 0)
        return call_on_all(m, m->apply, state, arena, inputs, outputs);
    const stepc_status status = apply_shards(m, state, arena, inputs);
    return status == STEPC_OK ? call_on_all(m, m->advance, state, arena, NULL, outputs) : status;
}

stepc_status stepc_mpi_collect(stepc_mpi *m, void *state)
{
    if (m->is_broken)
        return m->status;
    m->message[0] = '\0';
    if (m->options.shards == 0)
        return STEPC_OK;
    unsigned char *const bytes = malloc(measure(m, ALL) + 1);
    stepc_status status = STEPC_OK;
    if (bytes == NULL || state == NULL)
        status = stepc_mpi_fail(m, STEPC_E_ARGUMENT,
                                bytes == NULL ? "no memory" : "stepc_mpi_collect() is given no state", "", "");
    status = stepc_mpi_agree(m, status);
    if (status == STEPC_OK)
        status = gather(m, ALL, state, bytes);
    free(bytes);
    return status;
}
