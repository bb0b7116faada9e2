/* Kernels that are equal before there is a text of them. Layers of one shape read, compute and store the same
 * through parameters of the same names. So a kernel is written down as numbers: a buffer is its parameter's, an
 * expression that of its first appearance, and all else that the text depends on stands as it is. Two kernels of the
 * same numbers have the same trees; others may have them as well (kernel_class.c). */
#include "emit/emit_internal.h"

#include "base/hash.h"
#include "lower/items.h"
#include <inttypes.h>
#include <string.h>

enum { NODES_MOST = 1024 }; /* of expressions in one kernel; they are looked for one after the other */

static void add(struct kernel_key *key, uint64_t word)
{
    words_add(key->arena, &key->words, word);
}

static void add_text(struct kernel_key *key, const char *text)
{
    words_add_text(key->arena, &key->words, text);
}

/* Every buffer of a kernel is that of a parameter, or what a parameter replaces; UINT64_MAX: none of them. */
static uint64_t buffer_number(const struct kernel_key *key, const struct buffer *b)
{
    for (size_t i = 0; b && i < key->buffers.count; i++)
        if (key->buffers.data[i] == b)
            return i;
    return UINT64_MAX;
}

static void add_buffer(struct kernel_key *key, const struct buffer *b)
{
    add(key, buffer_number(key, b));
}

static void add_expr(struct kernel_key *key, const struct expr *e);

/* Most strides are 0. */
static void add_access(struct kernel_key *key, const struct access *a)
{
    uint64_t moving = 0;
    for (int d = 0; d < LOOP_MAX_DIMS; d++)
        moving |= (uint64_t)(a->stride[d] != 0) << d;
    add_buffer(key, a->buffer);
    add(key, (uint64_t)a->offset);
    add(key, moving << 8 | (uint64_t)a->term_count);
    for (int d = 0; d < LOOP_MAX_DIMS; d++)
        if (a->stride[d] != 0)
            add(key, (uint64_t)a->stride[d]);
    for (int t = 0; t < a->term_count; t++) {
        add(key, (uint64_t)a->term[t].stride);
        add(key, (uint64_t)a->term[t].extent);
        add_expr(key, a->term[t].index);
    }
}

/* Random numbers have counters, which the kernel's function gets as parameters: not here. */
static void add_expr(struct kernel_key *key, const struct expr *e)
{
    size_t at = 0;
    while (at < key->nodes.count && key->nodes.data[at] != e)
        at++;
    add(key, at);
    if (at < key->nodes.count)
        return;
    if (at == NODES_MOST || !e || e->op == EXPR_UNIFORM || e->op == EXPR_NORMAL) {
        key->is_partial = true;
        return;
    }
    vec_push(key->arena, &key->nodes, e);
    uint64_t number;
    memcpy(&number, &e->f, sizeof number);
    add(key, (uint64_t)e->op << 32 | (uint64_t)e->dtype << 16 | (uint64_t)e->fn);
    add(key, number);
    add(key, (uint64_t)e->i);
    if (e->op == EXPR_LOAD)
        add_access(key, e->access);
    for (int i = 0; i < expr_arg_count(e) && !key->is_partial; i++)
        add_expr(key, e->arg[i]);
}

static void add_late(struct kernel_key *key, const struct late_size *late)
{
    add(key, (uint64_t)late->base);
    add(key, (uint64_t)late->per);
}

/* late: NULL where no extent can be. */
static void add_extents(struct kernel_key *key, const int64_t *extent, const struct late_size *late, int rank)
{
    add(key, (uint64_t)rank);
    for (int d = 0; d < rank; d++) {
        add(key, (uint64_t)extent[d]);
        if (late)
            add_late(key, &late[d]);
    }
}

static void add_part(struct kernel_key *key, const struct part *p)
{
    uint64_t reduced = 0;
    for (int d = 0; d < p->rank; d++)
        reduced |= (uint64_t)p->reduced[d] << d;
    add_text(key, p->hole);
    add_extents(key, p->extent, p->late, p->rank);
    add(key, reduced << 32 | (uint64_t)p->in_blocks << 16 | (uint64_t)p->lane_loops << 8 | (uint64_t)p->scan << 4 |
                 (uint64_t)p->reduce);
    add(key, p->element != NULL);
    if (p->element)
        add_expr(key, p->element);
    add(key, p->stores.count);
    for (size_t i = 0; i < p->stores.count; i++) {
        add_access(key, &p->stores.data[i].to);
        add_expr(key, p->stores.data[i].value);
    }
}

static void add_operand(struct kernel_key *key, const struct operand *o)
{
    add_text(key, o->param);
    add_extents(key, o->extent, NULL, o->rank);
    add(key, o->value != NULL);
    if (o->value)
        add_expr(key, o->value);
    else
        add_access(key, &o->access);
}

static void add_int(struct kernel_key *key, const struct kernel_int *x)
{
    add_text(key, x->name);
    add(key, (uint64_t)x->value);
    add_late(key, &x->late);
}

static void add_kernel(struct kernel_key *key, const struct kernel *k);

/* What checks read decides which parts may run twice: kernels with checks are few. Those of regions have no key. */
static void add_item(struct kernel_key *key, const struct kernel_item *it)
{
    add(key, (uint64_t)it->kind);
    switch (it->kind) {
    case ITEM_LOOP: add_extents(key, &it->loop.extent, it->loop.late, 1); return;
    case ITEM_INT: add_int(key, it->integer); return;
    case ITEM_SCRATCH:
        add_buffer(key, it->scratch->buffer);
        add_text(key, it->scratch->param);
        return;
    case ITEM_OPERAND: add_operand(key, it->operand); return;
    case ITEM_PART: add_part(key, it->part); return;
    case ITEM_STAGE: add_kernel(key, it->stage); return;
    case ITEM_OWN:
        add_buffer(key, it->own->buffer);
        add_text(key, it->own->param);
        return;
    case ITEM_CHECK:
    case ITEM_REGION: key->is_partial = true; return;
    }
}

static void add_kernel(struct kernel_key *key, const struct kernel *k)
{
    add(key, (uint64_t)k->kind);
    add_text(key, k->kind == KERNEL_TEMPLATE ? k->tmpl.traits->name : NULL);
    add(key, k->kind == KERNEL_TEMPLATE ? (uint64_t)k->tmpl.type : 0);
    add(key, k->kind == KERNEL_STAGES ? (uint64_t)k->blocks.rows : 0);
    add(key, (uint64_t)k->rows);
    add(key, (uint64_t)k->cut.shares << 32 | (uint64_t)k->cut.passes);
    add(key, (uint64_t)(k->cut.outer + 1));
    add(key, (uint64_t)k->cut.pieces);
    kernel_each_item(it, k)
        if (!key->is_partial)
            add_item(key, &it);
    add(key, UINT64_MAX);
}

static void add_params(struct kernel_key *key, const kernel_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        vec_push(key->arena, &key->buffers, params->data[i].buffer);
        vec_push(key->arena, &key->buffers, params->data[i].replaces);
    }
    add(key, params->count);
    for (size_t i = 0; i < params->count; i++) {
        const struct kernel_param *const p = &params->data[i];
        add_text(key, p->name);
        add(key, (uint64_t)p->written | (uint64_t)p->by_value << 1 | (uint64_t)p->is_scratch << 2 |
                     (uint64_t)p->is_local << 3);
        add_buffer(key, p->replaces);
        add_buffer(key, p->buffer->place_of);
        add(key, (uint64_t)p->buffer->kind << 32 | (uint64_t)p->buffer->dtype);
        add(key, (uint64_t)p->buffer->count);
    }
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static struct kernel_group *new_group(struct emission *e, size_t param_count)
{
    struct kernel_group *const g = arena_new(e->arena, struct kernel_group);
    g->names = arena_array(e->arena, const char *, param_count + 1);
    vec_push(e->arena, &e->group_list, g);
    return g;
}

/* The group of the kernel, found or made. */
static struct kernel_group *find_group(struct emission *e, const struct kernel *k, const kernel_params *params)
{
    struct kernel_key *const key = &e->key;
    key->arena = e->arena;
    key->words.count = key->buffers.count = key->nodes.count = 0; /* the memory serves every kernel */
    key->is_partial = false;
    add_params(key, params);
    add_kernel(key, k);
    if (key->is_partial)
        return new_group(e, params->count);
    const size_t bytes = key->words.count * sizeof *key->words.data;
    const char *const hash = arena_printf(e->arena, "%016" PRIx64, hash_bytes(key->words.data, bytes));
    struct kernel_group *const first = map_get(&e->keyed, hash);
    for (struct kernel_group *g = first; g; g = g->next)
        if (g->word_count == key->words.count && memcmp(g->words, key->words.data, bytes) == 0)
            return g;
    struct kernel_group *const made = new_group(e, params->count);
    made->words = arena_copy(e->arena, key->words.data, bytes, alignof(uint64_t));
    made->word_count = key->words.count;
    made->next = first;
    map_set(&e->keyed, hash, made);
    return made;
}

/* A parameter has the words of the model's names that are the same for all kernels of the group. */
static void join(struct emission *e, struct kernel_group *g, const kernel_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct kernel_param *const p = &params->data[i];
        const char *const name = p->is_local || p->is_scratch ? NULL : p->buffer->name;
        if (g->kernels == 0)
            g->names[i] = name;
        else if (g->names[i] && !str_equal(g->names[i], name)) {
            g->names[i] = name_in_common(e->arena, g->names[i], name);
            g->is_shared = true;
        } else {
            g->is_shared |= name && !g->names[i];
        }
        if (!name)
            continue;
        map_set(&e->param_names, name_of_local(e, name), NULL);
        map_set(&e->file.taken, name_of_local(e, name), NULL);
    }
    g->kernels++;
}

void group_kernels(struct emission *e)
{
    e->groups = arena_array(e->arena, struct kernel_group **, e->all_plans.count + 1);
    for (size_t i = 0; i < e->all_plans.count; i++) {
        const struct lowered *const l = e->all_plans.data[i]->lowered;
        int most = 0;
        for (size_t n = 0; n < l->kernels.count; n++)
            most = l->kernels.data[n]->id > most ? l->kernels.data[n]->id : most;
        e->groups[i] = arena_array(e->arena, struct kernel_group *, (size_t)most + 1);
        for (size_t n = 0; n < l->kernels.count; n++) {
            const struct kernel *const k = l->kernels.data[n];
            struct buffer *from, *to;
            struct kernel_draw draw;
            if (kernel_only_checks(k) || k->kind == KERNEL_REGION || kernel_is_copy(k, &from, &to) ||
                kernel_is_draw(k, &draw))
                continue;
            const kernel_params params = find_params(e, k);
            struct kernel_group *const g = find_group(e, k, &params);
            join(e, g, &params);
            e->groups[i][k->id] = g;
            g->plan = g->plan ? g->plan : e->all_plans.data[i];
            g->kernel = g->kernel ? g->kernel : k;
        }
    }
}

struct kernel_group *group_of(const struct emission *e, const struct plan *plan, const struct kernel *k)
{
    for (size_t i = 0; i < e->all_plans.count; i++)
        if (e->all_plans.data[i] == plan)
            return e->groups[i][k->id];
    UNREACHABLE("kernel '%s' is of no entry", k->label);
}
