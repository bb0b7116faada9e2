/* SPDX-License-Identifier: 0BSD */
/* All sums end to end: from and to the state, and added up in the order of ranks.
 *
 * 0 + x is x but for x = -0, which no sum ever is that begins with +0: so a rank may begin with +0 what one process
 * would add to what it has. */
#include "stepc_mpi_internal.h"

#include "../stepc_rounding.h"

#include <string.h>

enum { CHUNK = 32 << 10 }; /* is added up at a time, from all ranks */

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

/* What begins with zeros is the first leaf. */
void stepc_mpi_add_leaves(const stepc_mpi *m, const struct stepc_mpi_group *g)
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

/* ---- between the state and all sums --------------------------------------------- */

void stepc_mpi_copy_sums(const stepc_mpi *m, unsigned char *state, size_t first, size_t count, unsigned char *sums,
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

int stepc_mpi_are_zero(const stepc_mpi *m, void *state)
{
    for (unsigned s = 0; s < m->sum_count; s++) {
        const stepc_variable_info *const x = &m->model->variables[m->sums[s]];
        const unsigned char *const b = place_of(state, x);
        if (b[0] != 0 || memcmp(b, b + 1, stepc_tensor_bytes(&x->tensor) - 1) != 0)
            return 0;
    }
    return 1;
}

void stepc_mpi_clear_sums(const stepc_mpi *m, void *state)
{
    for (unsigned s = 0; s < m->sum_count; s++) {
        const stepc_variable_info *const x = &m->model->variables[m->sums[s]];
        memset(place_of(state, x), 0, stepc_tensor_bytes(&x->tensor));
    }
}
