/* SPDX-License-Identifier: 0BSD */
/* Do all ranks have the same model, options and state? Digests of them are compared. */
#include "stepc_mpi_internal.h"

#include <stdio.h>
#include <string.h>

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

stepc_status stepc_mpi_compare_facts(stepc_mpi *m)
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

stepc_status stepc_mpi_compare_states(stepc_mpi *m, void *state)
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
