#include "fuse/fuse.h"

#include "base/str.h"
#include "fuse/fuse_internal.h"
#include "graph/op_def.h"
#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------------------------ */

struct fuse_buffer *fuse_buffer(const struct fusion *f, const struct buffer *b)
{
    return &f->buffers[b->id];
}

static void remove_from(kernel_list *l, const struct kernel *k)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->data[i] == k)
            vec_remove(l, i);
}

void fuse_forget(struct fusion *f, struct kernel *k)
{
    vec_each(const struct buffer *, b, &f->touched[k->id].reads)
        remove_from(&fuse_buffer(f, b)->readers, k);
    vec_each(const struct buffer *, b, &f->touched[k->id].writes)
        remove_from(&fuse_buffer(f, b)->writers, k);
}

static void enter(struct fusion *f, struct kernel *k)
{
    vec_each(const struct buffer *, b, &f->touched[k->id].reads)
        vec_push(f->arena, &fuse_buffer(f, b)->readers, k);
    vec_each(const struct buffer *, b, &f->touched[k->id].writes)
        vec_push(f->arena, &fuse_buffer(f, b)->writers, k);
}

/* A kernel's expressions are walked here and nowhere else: they grow, and rules ask again and again. */
void fuse_remember(struct fusion *f, struct kernel *k)
{
    struct fuse_touched *const t = &f->touched[k->id];
    t->reads.count = t->writes.count = 0;
    kernel_reads(f->arena, k, &t->reads);
    kernel_writes(f->arena, k, &t->writes);
    enter(f, k);
}

void fuse_remember_inlined(struct fusion *f, struct kernel *k, const struct kernel *producer, const struct buffer *b)
{
    buffer_list *const reads = &f->touched[k->id].reads;
    size_t kept = 0;
    for (size_t i = 0; i < reads->count; i++)
        if (reads->data[i] != b)
            reads->data[kept++] = reads->data[i];
    reads->count = kept;
    vec_each(struct buffer *, own, &f->touched[producer->id].reads)
        if (!buffers_have(reads, own))
            vec_push(f->arena, reads, own);
    enter(f, k);
}

void fuse_remove(struct fusion *f, struct kernel *k)
{
    k->removed = true;
    f->l->kernels.data[f->position[k->id]] = k;
}

void fuse_take_place(struct fusion *f, struct kernel *k, struct kernel *at)
{
    const int from = f->position[k->id], to = f->position[at->id];
    f->l->kernels.data[to] = k;
    f->l->kernels.data[from] = at;
    f->position[k->id] = to;
    f->position[at->id] = from;
}

bool fuse_is_map(const struct kernel *k)
{
    return !k->removed && k->kind == KERNEL_LOOPS && k->checks.count == 0 && k->parts.count == 1 &&
           k->parts.data[0].reduce == REDUCE_NONE;
}

static bool kernels_have(const kernel_list *l, const struct kernel *k)
{
    vec_each(const struct kernel *, own, l)
        if (own == k)
            return true;
    return false;
}

bool fuse_reads(const struct fusion *f, const struct kernel *k, const struct buffer *b)
{
    return kernels_have(&fuse_buffer(f, b)->readers, k);
}

bool fuse_writes(const struct fusion *f, const struct kernel *k, const struct buffer *b)
{
    return kernels_have(&fuse_buffer(f, b)->writers, k);
}

/* ---- where a merged kernel may stand ----------------------------------------------------------------------------- */

/* Does some kernel strictly between positions lo and hi stand in the list? */
static bool any_between(const struct fusion *f, const kernel_list *list, int lo, int hi)
{
    vec_each(const struct kernel *, k, list)
        if (f->position[k->id] > lo && f->position[k->id] < hi)
            return true;
    return false;
}

/* Does nobody there write what is in the list, or read it either? */
static bool list_clear(const struct fusion *f, const buffer_list *list, bool against_readers, int lo, int hi)
{
    vec_each(const struct buffer *, b, list)
        if (any_between(f, &fuse_buffer(f, b)->writers, lo, hi) ||
            (against_readers && any_between(f, &fuse_buffer(f, b)->readers, lo, hi)))
            return false;
    return true;
}

bool fuse_keeps(const struct fusion *f, const struct kernel *k)
{
    kernel_each_store(k, p, s)
        if (s->to.buffer->kind == BUFFER_VARIABLE || fuse_buffer(f, s->to.buffer)->kept)
            return true;
    return false;
}

static void mark_kept(struct fusion *f)
{
    for (size_t i = f->l->kernels.count; i-- > 0;) {
        const struct kernel *const k = f->l->kernels.data[i];
        if (fuse_keeps(f, k))
            vec_each(const struct buffer *, b, &f->touched[k->id].reads)
                fuse_buffer(f, b)->kept = true;
    }
}

/* ORDER CHECKS: plan/schedule.c runs them before the first write to the state, if nothing here makes that
 * impossible. */
static void mark_checked(struct fusion *f)
{
    const struct lowered *l = f->l;
    for (size_t i = l->kernels.count; i-- > 0;) {
        const struct kernel *const k = l->kernels.data[i];
        const struct fuse_touched *const t = &f->touched[k->id];
        bool checked = false;
        vec_each(const struct buffer *, b, &t->writes)
            checked |= fuse_buffer(f, b)->checked;
        buffer_list of_checks = {0};
        if (!checked && k->checks.count > 0) {
            const struct kernel checks = {.checks = k->checks};
            kernel_reads(f->arena, &checks, &of_checks);
        }
        vec_each(const struct buffer *, b, checked ? &t->reads : &of_checks)
            fuse_buffer(f, b)->checked = true;
    }
}

static void find_kinds(const struct fusion *f, const buffer_list *writes, bool *state, bool *checked)
{
    vec_each(const struct buffer *, b, writes) {
        *state |= b->kind == BUFFER_VARIABLE;
        *checked |= fuse_buffer(f, b)->checked && b->kind != BUFFER_VARIABLE;
    }
}

enum fuse_place fuse_place(const struct fusion *f, const struct kernel *p, const struct kernel *c)
{
    const int lo = f->position[p->id], hi = f->position[c->id];
    const struct fuse_touched *const by_p = &f->touched[p->id], *const by_c = &f->touched[c->id];
    bool state = false, checked = false;
    find_kinds(f, &by_p->writes, &state, &checked);
    find_kinds(f, &by_c->writes, &state, &checked);
    if (state && checked)
        return FUSE_NOWHERE;
    if (list_clear(f, &by_c->reads, false, lo, hi) && list_clear(f, &by_c->writes, true, lo, hi))
        return FUSE_AT_FIRST;
    if (list_clear(f, &by_p->writes, true, lo, hi) && list_clear(f, &by_p->reads, false, lo, hi))
        return FUSE_AT_SECOND;
    return FUSE_NOWHERE;
}

/* ---- nodes and labels -------------------------------------------------------------------------------------------- */

void fuse_join_nodes(struct fusion *f, struct kernel *a, const struct kernel *b)
{
    const size_t own = a->nodes.count, most = own + b->nodes.count; /* those of b differ among themselves */
    if (a->nodes.capacity < most) {
        const struct node **const all = arena_array(f->arena, const struct node *, most);
        for (size_t i = 0; i < own; i++)
            all[i] = a->nodes.data[i];
        a->nodes.data = all;
        a->nodes.capacity = most;
    }
    for (size_t i = 0; i < b->nodes.count; i++) {
        bool known = false;
        for (size_t j = 0; j < own; j++)
            known |= a->nodes.data[j] == b->nodes.data[i];
        if (!known)
            vec_push(f->arena, &a->nodes, b->nodes.data[i]);
    }
    enum { WORDS = 2 }; /* more make no better name; the comment lists all nodes */
    if (!strcmp(a->label, "copy")) {
        a->label = b->label;
        a->joined = b->joined;
    } else if (strcmp(b->label, "copy") != 0 && a->joined + b->joined < WORDS) {
        a->label = arena_printf(f->arena, "%s_%s", a->label, b->label);
        a->joined += b->joined + 1;
    }
}

void fuse_end(struct fusion *f, struct kernel *p, struct kernel *c, enum fuse_place place)
{
    fuse_remember(f, p);
    fuse_join_nodes(f, p, c);
    if (place == FUSE_AT_SECOND)
        fuse_take_place(f, p, c);
    fuse_remove(f, c);
}

/* What updates the state is called so: "product_update". */
static void name_updates(struct fusion *f)
{
    vec_each(struct kernel *, k, &f->l->kernels) {
        bool updates = false;
        vec_each(const struct buffer *, b, &f->touched[k->id].writes)
            updates |= b->kind == BUFFER_VARIABLE;
        if (updates && k->nodes.count > 0)
            k->label = k->kind != KERNEL_TEMPLATE
                           ? "update"
                           : arena_printf(f->arena, "%.*s_update", (int)strcspn(k->label, "_"), k->label);
    }
}

/* ---- the rules in order ------------------------------------------------------------------------------------------ */

typedef bool (*fuse_rule)(struct fusion *f, struct kernel *k);

/* Applies a rule to every kernel in order until it finds nothing more there. */
static void run_rule(struct fusion *f, fuse_rule rule)
{
    for (size_t i = 0; i < f->l->kernels.count; i++) {
        struct kernel *k = f->l->kernels.data[i];
        while (!k->removed && rule(f, k))
            ;
        /* A kernel that moved to a later place leaves another one here. */
        if (f->l->kernels.data[i] != k && !f->l->kernels.data[i]->removed)
            i--;
    }
}

static bool is_internal(const struct fusion *f, const struct kernel *k, const struct buffer *b)
{
    const struct fuse_buffer *t = fuse_buffer(f, b);
    return b->kind == BUFFER_TEMP && t->writers.count == 1 && t->readers.count == 1 && t->readers.data[0] == k;
}

/* The pointer of an output may be NULL: all that a kernel writes for others is guarded, or nothing. */
static bool writes_only(struct fusion *f, const struct kernel *k, const struct buffer *b)
{
    buffer_list writes = {0};
    kernel_writes(f->arena, k, &writes);
    bool ok = !fuse_reads(f, k, b);
    vec_each(const struct buffer *, own, &writes)
        ok &= own == b || is_internal(f, k, own);
    return ok;
}

static void write_to(struct fusion *f, struct kernel *k, const struct buffer *from, struct buffer *to)
{
    fuse_forget(f, k);
    kernel_each_store(k, p, s)
        if (s->to.buffer == from)
            s->to.buffer = to;
    if (k->kind == KERNEL_REGION)
        region_write_to(k->region, from, to);
    fuse_remember(f, k);
}

/* Memory that nobody reads: outputs, and what a region stacks. */
static bool is_only_written(const struct fusion *f, const struct buffer *b)
{
    return b->kind == BUFFER_OUTPUT ||
           (b->kind == BUFFER_VARIABLE && f->buffers[b->id].readers.count == 0 && f->l->entry->is_region);
}

bool fuse_is_needless_copy(struct fusion *f, const struct kernel *copy)
{
    struct buffer *from, *to;
    if (!kernel_is_copy(copy, &from, &to) || !is_only_written(f, to) || from->kind != BUFFER_TEMP)
        return false;
    const struct fuse_buffer *b = fuse_buffer(f, from);
    bool ok = b->readers.count == 1 && b->writers.count > 0;
    vec_each(const struct kernel *, k, &b->writers)
        ok = ok && writes_only(f, k, from);
    return ok;
}

/* A value that only feeds one output of the entry, or is stacked, is written there directly, by all that write it. */
static bool write_output_directly(struct fusion *f, struct kernel *copy)
{
    struct buffer *from, *to;
    if (!fuse_is_needless_copy(f, copy) || !kernel_is_copy(copy, &from, &to))
        return false;
    const struct fuse_buffer *b = fuse_buffer(f, from);
    fuse_forget(f, copy);
    while (b->writers.count > 0)
        write_to(f, b->writers.data[0], from, to);
    fuse_remove(f, copy);
    return true;
}

static void drop_removed(struct lowered *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->kernels.count; i++)
        if (!l->kernels.data[i]->removed)
            l->kernels.data[kept++] = l->kernels.data[i];
    l->kernels.count = kept;
}

static struct fusion tables_of(struct lowered *l)
{
    struct fusion f = {.l = l, .arena = l->arena, .buffer_count = l->buffers.count};
    int most = 0;
    for (size_t i = 0; i < l->kernels.count; i++)
        most = l->kernels.data[i]->id > most ? l->kernels.data[i]->id : most;
    f.buffers = arena_array(l->arena, struct fuse_buffer, l->buffers.count);
    f.kernel_ids = (size_t)most + 1;
    f.position = arena_array(l->arena, int, f.kernel_ids);
    f.touched = arena_array(l->arena, struct fuse_touched, f.kernel_ids);
    for (size_t i = 0; i < l->kernels.count; i++) {
        f.position[l->kernels.data[i]->id] = (int)i;
        fuse_remember(&f, l->kernels.data[i]);
    }
    return f;
}

/* Single numbers made of nothing but single numbers, all known from the beginning or made so themselves. */
static bool is_scalar(const struct fusion *f, const struct kernel *k, const bool *leads)
{
    const struct fuse_touched *const t = &f->touched[k->id];
    bool ok = k->kind != KERNEL_TEMPLATE && k->checks.count == 0 && t->writes.count > 0;
    for (size_t i = 0; ok && i < t->writes.count; i++)
        ok = t->writes.data[i]->kind == BUFFER_TEMP && t->writes.data[i]->count == 1 &&
             fuse_buffer(f, t->writes.data[i])->writers.count == 1;
    for (size_t i = 0; ok && i < t->reads.count; i++) {
        const struct fuse_buffer *const b = fuse_buffer(f, t->reads.data[i]);
        ok = t->reads.data[i]->count == 1;
        for (size_t w = 0; ok && w < b->writers.count; w++)
            ok = f->position[b->writers.data[w]->id] > f->position[k->id] || leads[b->writers.data[w]->id];
    }
    return ok;
}

/* Such numbers (the learning rate with the correction of Adam) come first, so that they are in nobody's way. */
static void lead_scalars(struct fusion *f)
{
    struct lowered *const l = f->l;
    struct arena scratch = {0};
    bool *const leads = arena_array(&scratch, bool, f->kernel_ids);
    struct kernel **const order = arena_array(&scratch, struct kernel *, l->kernels.count + 1);
    size_t count = 0;
    for (int turn = 0; turn < 2; turn++)
        vec_each(struct kernel *, k, &l->kernels) {
            leads[k->id] = turn == 0 ? is_scalar(f, k, leads) : leads[k->id];
            if (leads[k->id] == (turn == 0))
                order[count++] = k;
        }
    for (size_t i = 0; i < count; i++) {
        l->kernels.data[i] = order[i];
        f->position[order[i]->id] = (int)i;
    }
    arena_free(&scratch);
}

/* Shares blocks of rows until nothing more is found. */
static void share_blocks(struct lowered *l)
{
    struct fusion f = tables_of(l);
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct kernel *const k = l->kernels.data[i];
        if (!fuse_blocks(&f, k))
            continue;
        drop_removed(l);
        f = tables_of(l);
        i = 0;
    }
}

/* ---- the order of the state -------------------------------------------------------------------------------------- */

/* Do all stores of a part go to matrices that the state holds by columns? */
static bool stores_columns(const struct part *p)
{
    bool all = p->rank == 2 && p->reduce == REDUCE_NONE && p->stores.count > 0;
    for (size_t s = 0; all && s < p->stores.count; s++) {
        const struct access *const to = &p->stores.data[s].to;
        all = to->buffer->variable && to->buffer->variable->by_columns && to->term_count == 0 && to->stride[0] == 1 &&
              to->stride[1] > 1;
    }
    return all;
}

/* The inner loop then walks memory. */
static void walk_columns(struct lowered *l)
{
    vec_each(struct kernel *, k, &l->kernels) {
        bool all = k->kind != KERNEL_TEMPLATE && k->rows == 0;
        for (size_t p = 0; all && p < k->parts.count; p++)
            all = stores_columns(&k->parts.data[p]);
        for (size_t p = 0; all && p < k->parts.count; p++)
            (void)part_lead(l->arena, &k->parts.data[p], 1);
    }
}

void fuse_entry(struct lowered *l, bool plain)
{
    struct fusion f = tables_of(l);
    mark_checked(&f);
    mark_kept(&f);
    lead_scalars(&f);
    static const fuse_rule rules[] = {fuse_siblings, fuse_accumulate,      fuse_inline,   fuse_epilogue, fuse_row_sums,
                                      fuse_inline_operands, fuse_epilogue, fuse_rows,     write_output_directly};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        run_rule(&f, rules[r]);
    if (!plain)
        run_rule(&f, fuse_update);
    for (size_t i = 0; i < l->kernels.count; i++)
        fuse_finish_rows(&f, l->kernels.data[i]);
    drop_removed(l);
    walk_columns(l);
    name_updates(&f);
    share_blocks(l);
}
