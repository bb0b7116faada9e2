/* One kernel as one C function: parameters, name, comment, call; equal kernels share the function.
 *
 * A kernel that stands for itself is named by what it makes, its parameters by the model, and its comment is the
 * formula. Layers of equal shape share a function, whose names say what it does: y is what it writes, w what it updates
 * in place, x what it reads, s a scalar passed by value; operands of a template keep the template's names. Then the
 * comment says which values of the model they are. */
#include "emit/emit_internal.h"

#include "graph/op_def.h"
#include "lower/items.h"
#include "lower/product.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static bool contains(const buffer_list *l, const struct buffer *b)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->data[i] == b)
            return true;
    return false;
}

static const char *operand_name(const struct kernel *k, const struct buffer *b)
{
    kernel_each_item(it, k)
        if (it.kind == ITEM_OPERAND && !it.operand->value && it.operand->access.buffer == b)
            return it.operand->param;
    return NULL;
}

/* Is it read where the result of this kernel is written that takes its place? */
static bool is_replaced(const buffer_list *writes, const struct buffer *b)
{
    for (size_t i = 0; i < writes->count; i++)
        if (writes->data[i]->place_of == b)
            return true;
    return false;
}

/* What one part of a kernel hands to the next in a variable. */
static void add_locals(struct emission *e, const struct kernel *k, kernel_params *params)
{
    kernel_each_item(it, k)
        if (it.kind == ITEM_STAGE)
            add_locals(e, it.stage, params);
    static const char *const results[] = {
        [REDUCE_NONE] = "row_value", [REDUCE_SUM] = "row_sum",   [REDUCE_MAX] = "row_most",
        [REDUCE_TOP] = "row_most",   [REDUCE_MIN] = "row_least", [REDUCE_PROD] = "row_product"};
    for (size_t i = 0; i < k->parts.count; i++)
        for (size_t s = 0; s < k->parts.data[i].stores.count; s++) {
            struct kernel_param p = {
                .buffer = k->parts.data[i].stores.data[s].to.buffer, .by_value = true, .is_local = true};
            p.name = p.buffer->kind == BUFFER_LOCAL ? results[k->parts.data[i].reduce] : NULL;
            if (p.name)
                vec_push(e->arena, params, p);
        }
}

kernel_params find_params(struct emission *e, const struct kernel *k)
{
    kernel_params params = {0};
    buffer_list reads = {0}, writes = {0};
    struct kernel without_checks = *k;
    without_checks.checks.count = 0;
    kernel_reads(e->arena, &without_checks, &reads);
    kernel_writes(e->arena, &without_checks, &writes);
    for (size_t i = 0; i < writes.count; i++) {
        struct kernel_param p = {.buffer = writes.data[i], .written = true};
        const char *const own = own_name(k, p.buffer);
        const bool is_row = k->rows > 0 && contains(&reads, p.buffer) && p.buffer->kind == BUFFER_TEMP;
        p.replaces = contains(&reads, p.buffer->place_of) ? p.buffer->place_of : NULL;
        p.is_scratch = own && str_equal(p.buffer->name, "scratch");
        p.name = own ? own : is_row ? "row" : p.replaces || contains(&reads, p.buffer) ? "w" : "y";
        vec_push(e->arena, &params, p);
    }
    for (size_t i = 0; i < reads.count; i++) {
        struct kernel_param p = {.buffer = reads.data[i]};
        if (contains(&writes, p.buffer) || is_replaced(&writes, p.buffer))
            continue;
        p.name = operand_name(k, p.buffer);
        p.by_value = !p.name && p.buffer->count == 1;
        if (!p.name)
            p.name = p.by_value ? "s" : "x";
        vec_push(e->arena, &params, p);
    }
    add_locals(e, k, &params);
    if (k->scratch.buffer) {
        const struct kernel_param p = {
            .buffer = k->scratch.buffer, .name = k->scratch.param, .written = true, .is_scratch = true};
        vec_push(e->arena, &params, p);
    }
    return params;
}


/* "_32x10x32": sizes of the widest part (products: M, N, K); "64" where that is one. */
static const char *sizes_suffix(struct emission *e, const struct kernel *k)
{
    struct strbuf b = {.arena = e->arena};
    const bool has_stages = k->kind == KERNEL_STAGES; /* the first is a product; of all its rows */
    const struct kernel *const product = has_stages ? k->blocks.stages.data[0] : k;
    struct product_sizes s;
    if (product_has_sizes(product, &s))
        return arena_printf(e->arena, "_%" PRId64 "x%" PRId64 "x%" PRId64,
                            has_stages ? k->outer_extent[k->outer_rank - 1] : s.m, s.n, s.k);
    const struct part *widest = NULL;
    int64_t most = -1;
    for (size_t p = 0; p < k->parts.count; p++) {
        const int64_t n = part_iterations(&k->parts.data[p], 0);
        widest = n > most ? &k->parts.data[p] : widest;
        most = n > most ? n : most;
    }
    for (int d = 0; widest && d < widest->rank; d++)
        if (widest->extent[d] != 1)
            strbuf_addf(&b, "%s%" PRId64, b.length ? "x" : "", widest->extent[d]);
    return strchr(strbuf_text(&b), 'x') ? arena_printf(e->arena, "_%s", strbuf_text(&b)) : strbuf_text(&b);
}

/* The parameter that a kernel is named after: what it makes first, and of several variables the one that is trained;
 * params->count if there is none. */
static size_t made_param(const struct kernel_class *c, const kernel_params *params)
{
    size_t made = params->count;
    for (size_t i = params->count; i-- > 0;)
        if (params->data[i].written && c->names[i])
            made = i;
    for (size_t i = made; i < params->count && params->data[made].buffer->kind == BUFFER_VARIABLE; i++) {
        const struct buffer *const b = params->data[i].buffer;
        const bool is_weight = b->kind == BUFFER_VARIABLE && b->variable->role == ROLE_WEIGHT;
        if (params->data[i].written && c->names[i] && is_weight)
            return i;
    }
    return made;
}

/* What a value is called without what exporters hang on: "/conv1/Conv_output_0". */
static const char *without_exporter(struct arena *a, const char *name)
{
    const char *const ending = "_output_0";
    return str_ends_with(name, ending) ? arena_strndup(a, name, strlen(name) - strlen(ending)) : name;
}

/* What the model calls the result of a kernel that makes a piece of a buffer, as one of several parts of a Concat, or
 * NULL. */
static const char *piece_word(const struct kernel *k, const struct buffer *made)
{
    if (k->parts.count != 1 || k->parts.data[0].stores.count != 1)
        return NULL;
    const struct part *const p = &k->parts.data[0];
    int64_t count = 1;
    for (int d = 0; d < p->rank; d++)
        count *= p->reduced[d] ? 1 : p->extent[d];
    return count < made->count ? p->stores.data[0].value->word : NULL;
}

/* By what the kernel makes: compute_hidden, update_fc1_weight, init_fc1_weight. If there is such a function, further
 * words say what is particular: of an entry, or for these sizes. */
static const char *function_name(struct emission *e, const struct kernel_class *c)
{
    struct arena *const a = e->arena;
    const struct kernel_group *const g = c->first;
    const struct kernel *const k = g->kernel;
    const kernel_params *const params = &c->trees->params;
    const size_t made = made_param(c, params);
    const char *const sizes = c->sizes.count > 0 ? "" : sizes_suffix(e, k), *const label = name_mangle(a, k->label);
    const char *name = arena_printf(a, "%s%s", label, sizes);
    if (made == params->count)
        return name_in(&e->file, name);
    const struct entry *const entry = g->plan->lowered->entry;
    const char *const verb = params->data[made].buffer->kind != BUFFER_VARIABLE ? "compute"
                             : entry->kind == ENTRY_INIT                      ? "init"
                                                                              : "update";
    const char *const piece = c->is_shared ? NULL : piece_word(k, params->data[made].buffer);
    name = arena_printf(a, "%s_%s", verb, name_mangle(a, piece ? piece : without_exporter(a, c->names[made])));
    const char *const wishes[] = {
        name, arena_printf(a, "%s_%s", name, c->is_shared ? label : entry_of_plan(e, g->plan)),
        arena_printf(a, "%s_%s%s", name, label, sizes)};
    return name_first_free(&e->file, wishes, sizeof wishes / sizeof *wishes);
}

/* Is a node behind this one from the same place: the next one, or any? Then it is said there. */
static bool has_origin_of_later(const struct kernel *k, size_t i, bool any)
{
    const char *const own = k->nodes.data[i]->loc.origin;
    for (size_t j = i + 1; own && j < k->nodes.count && (any || j == i + 1); j++)
        if (k->nodes.data[j]->loc.origin && str_equal(own, k->nodes.data[j]->loc.origin))
            return true;
    return false;
}

/* Of what nodes a text says that it is the gradient, at its end. */
struct said_gradients {
    size_t plural;    /* where the s of "nodes" goes; 0: there is no such end */
    const char *node; /* of the last one: "#6 (Loop: ", or NULL */
};

/* "#6 (Loop: " of "#6 (Loop: Where)", where a node of the model has become several. */
static const char *node_of_several(struct arena *a, const char *text)
{
    const char *const colon = text[0] == '#' ? strstr(text, ": ") : NULL;
    return colon ? arena_strndup(a, text, (size_t)(colon + 2 - text)) : NULL;
}

/* "gradient of node 'fc1'", and behind such a one: "gradient of nodes 'fc1', 'relu', #6 (Loop: Where, Mul)". */
static void add_origin(struct strbuf *b, const char *origin, struct said_gradients *said)
{
    static const char one[] = "gradient of node ";
    if (!str_starts_with(origin, one)) {
        strbuf_addf(b, "%s%s", b->length ? ", " : "", origin);
        *said = (struct said_gradients){0};
        return;
    }
    const char *const text = origin + strlen(one), *const node = node_of_several(b->arena, text);
    if (said->plural == 0) {
        strbuf_add(b, b->length ? ", " : "");
        said->plural = b->length + strlen(one) - 1;
        strbuf_add(b, origin);
    } else if (node && said->node && str_equal(node, said->node)) {
        b->length--; /* ")" */
        strbuf_addf(b, ", %s", text + strlen(node));
    } else {
        const char *const before = arena_strndup(b->arena, strbuf_text(b), said->plural);
        const char *const behind = arena_strdup(b->arena, strbuf_text(b) + said->plural);
        b->length = 0;
        strbuf_addf(b, "%s%s%s, %s", before, *behind == 's' ? "" : "s", behind, text);
    }
    said->node = node;
}

/* With a formula, which says the operators: the names of nodes, and where those without one come from. */
const char *nodes_text(struct emission *e, const struct kernel *k, bool has_formula)
{
    struct strbuf b = {.arena = e->arena};
    struct said_gradients said = {0};
    for (size_t i = 0; i < k->nodes.count; i++) {
        const struct node *n = k->nodes.data[i];
        const char *const op = op_display_name(n->def), *const origin = n->loc.origin;
        const bool is_last = !has_origin_of_later(k, i, has_formula);
        if (has_formula && (origin ? !is_last : !n->name[0]))
            continue;
        if (origin && has_formula) {
            add_origin(&b, origin, &said);
            continue;
        }
        said = (struct said_gradients){0};
        strbuf_add(&b, b.length ? ", " : "");
        if (origin && is_last)
            strbuf_addf(&b, "%s (%s)", op, origin);
        else if (!origin && n->name[0])
            strbuf_addf(&b, "%s \"%s\"", op, n->name);
        else
            strbuf_add(&b, op);
    }
    if (k->nodes.count == 0)
        strbuf_add(&b, "copy");
    return strbuf_text(&b);
}

static const char *all_formulas(struct emission *e, const struct plan *plan, const struct kernel *k,
                                const kernel_params *params, const char *function)
{
    const struct buffer **const made = arena_array(e->arena, const struct buffer *, params->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < params->count; i++)
        if (params->data[i].written && !params->data[i].is_scratch && !params->data[i].is_local)
            made[count++] = params->data[i].buffer;
    return formulas_text(e->arena, k, plan->lowered->entry->graph, made, count, function, &e->updates);
}

/* What the kernel makes of what, and which nodes it came from. */
static const char *comment_text(struct emission *e, const struct plan *plan, const struct kernel *k,
                                const struct kernel_group *g, const kernel_params *params)
{
    struct strbuf b = {.arena = e->arena};
    const struct kernel_class *const c = g->class;
    const char *const formulas = c->is_shared ? NULL : all_formulas(e, plan, k, params, c->function->name);
    const char *const nodes = nodes_text(e, k, formulas);
    if (formulas) {
        strbuf_addf(&b, "%s%s%s", formulas, *nodes ? ": " : "", nodes);
        return strbuf_text(&b);
    }
    strbuf_addf(&b, "%s;", nodes);
    for (size_t i = 0; i < params->count; i++) {
        const struct kernel_param *p = &params->data[i];
        const struct tree_var *const v = class_var(g, i);
        if (p->is_scratch || !v)
            continue;
        strbuf_addf(&b, "%s %s is \"%s\"%s%s", i ? "," : "", v->name, p->buffer->name, p->buffer->shape.rank ? " " : "",
                    p->buffer->shape.rank
                        ? buffer_shape_text(e->arena, plan->lowered->entry->graph, p->buffer)
                        : "");
        if (p->replaces)
            strbuf_addf(&b, " in place of \"%s\"", p->replaces->name);
    }
    return strbuf_text(&b);
}

/* Which of the model's nodes a kernel is of many that share a function: its last one that has a name, else where it
 * comes from, else what it makes. */
static const char *served_text(struct emission *e, const struct kernel *k, const kernel_params *params)
{
    for (size_t i = k->nodes.count; i-- > 0;)
        if (!k->nodes.data[i]->loc.origin && k->nodes.data[i]->name[0])
            return arena_printf(e->arena, "\"%s\"", k->nodes.data[i]->name);
    for (size_t i = k->nodes.count; i-- > 0;)
        if (k->nodes.data[i]->loc.origin)
            return k->nodes.data[i]->loc.origin;
    return params->count > 0 ? arena_printf(e->arena, "\"%s\"", params->data[0].buffer->name) : "copy";
}

/* Their operators, each once. */
static const char *operators_text(struct emission *e, const struct kernel *k)
{
    struct strbuf b = {.arena = e->arena};
    struct map said = {.arena = e->arena};
    for (size_t i = 0; i < k->nodes.count; i++) {
        const char *const op = op_display_name(k->nodes.data[i]->def);
        if (!map_has(&said, op))
            strbuf_addf(&b, "%s%s", b.length ? ", " : "", op);
        map_set(&said, op, NULL);
    }
    return b.length ? strbuf_text(&b) : "copy";
}

static void add_served(struct emission *e, struct kernel_function *f, const struct kernel *k,
                       const kernel_params *params)
{
    const char *const text = served_text(e, k, params);
    f->operators = f->operators ? f->operators : operators_text(e, k);
    for (size_t i = 0; i < f->served.count; i++)
        if (str_equal(f->served.data[i], text))
            return;
    vec_push(e->arena, &f->served, text);
}

/* "Conv, Relu of 5 nodes: "a", gradient of nodes 'b', 'c', .." */
static const char *summary_text(struct arena *a, const struct kernel_function *f)
{
    struct strbuf b = {.arena = a};
    struct said_gradients said = {0};
    for (size_t i = 0; i < f->served.count; i++)
        add_origin(&b, f->served.data[i], &said);
    return arena_printf(a, "%s, %d times: %s", f->operators, f->kernels, strbuf_text(&b));
}

void write_kernel_comments(struct emission *e, struct writer *w, const struct kernel_function *f)
{
    enum { COMMENTS_MOST = 2 }; /* which say what each parameter is */
    if (f->comments.count > COMMENTS_MOST)
        write_comment(w, summary_text(e->arena, f));
    for (size_t i = 0; i < f->comments.count && f->comments.count <= COMMENTS_MOST; i++)
        write_comment(w, f->comments.data[i]);
}

/* A kernel of several entries says the same in each. */
static void add_comment(struct emission *e, struct kernel_function *f, const char *text)
{
    for (size_t i = 0; i < f->comments.count; i++)
        if (str_equal(f->comments.data[i], text))
            return;
    vec_push(e->arena, &f->comments, text);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* What is called. */
static struct tree_function *called_function(const struct kernel_trees *t)
{
    return t->functions.data[t->functions.count - 1];
}

/* Names of the functions, by that of the kernel: compute_hidden() calls hidden_tile(). */
static void name_functions(struct emission *e, struct kernel_trees *t, const char *name)
{
    static const char verb[] = "compute_";
    struct arena *const a = e->arena;
    const char *const made = str_starts_with(name, verb) ? name + strlen(verb) : name;
    for (size_t i = 0; i < t->stages.count; i++) {
        struct tree_function *const f = t->functions.data[i];
        const int stage = t->stages.data[i];
        if (f->kind == FUNCTION_OWN)
            f->name = name_exactly(&e->file, stage > 0 ? arena_printf(a, "%s_%d_%s", made, stage, f->name)
                                                       : arena_printf(a, "%s_%s", made, f->name));
    }
    called_function(t)->name = name;
    if (t->has_shares)
        t->functions.data[t->stages.count]->name = name_exactly(&e->file, arena_printf(a, "%s_share", made));
}

/* Those from number `from` up to `to` that only this kernel has. */
static const char *own_text(struct expr_scope *s, const struct kernel_trees *t, size_t from, size_t to)
{
    struct strbuf b = {.arena = s->arena};
    for (size_t i = from; i < to; i++)
        if (t->functions.data[i]->kind == FUNCTION_OWN)
            strbuf_addf(&b, "%s%s", b.length ? "\n" : "", function_text(s, t->functions.data[i]));
    return strbuf_text(&b);
}

void note_tree(struct emission *e, struct kernel_function *f, const struct tree_function *tree)
{
    vec_push(e->arena, &e->trees, tree);
    vec_push(e->arena, &f->functions, tree);
}

/* What the functions use, and those that other kernels use as well. */
static void note_functions(struct emission *e, struct expr_scope *s, const struct kernel_trees *t,
                           struct kernel_function *to)
{
    for (size_t i = 0; i < t->functions.count; i++) {
        const struct tree_function *const f = t->functions.data[i];
        note_needs(e, f);
        if (f->kind == FUNCTION_OWN) {
            note_tree(e, to, f);
        } else if (!map_has(&e->shared_pieces, f->name)) {
            map_set(&e->shared_pieces, f->name, (void *)(uintptr_t)function_text(s, f));
            vec_push(e->arena, &e->trees, f);
        }
    }
}

static struct kernel_function *make_function(struct emission *e, struct kernel_class *c)
{
    struct kernel_trees *const t = c->trees;
    struct expr_scope s = scope_for(e, &t->params);
    struct kernel_function *const f = arena_new(e->arena, struct kernel_function);
    finish_kernel(e, c->first->kernel, t);
    f->name = function_name(e, c);
    name_functions(e, t, f->name);
    note_functions(e, &s, t, f);
    f->tree = called_function(t);
    f->text = own_text(&s, t, 0, t->stages.count);
    f->definition = own_text(&s, t, t->stages.count, t->functions.count);
    vec_push(e->arena, &e->functions, f);
    return f;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static void add_function(struct emission *e, const struct plan *plan, const struct kernel *k, struct kernel_call *call)
{
    const kernel_params params = find_params(e, k);
    const struct kernel_group *const g = group_of(e, plan, k);
    struct kernel_class *const c = g->class;
    const struct kernel_trees *const t = c->trees;
    if (!c->function)
        c->function = make_function(e, c);
    add_comment(e, c->function, comment_text(e, plan, k, g, &params));
    add_served(e, c->function, k, &params);
    c->function->kernels++;
    for (size_t i = 0; i < t->params.count; i++) {
        const size_t own = group_param(g, i);
        if (own < params.count)
            vec_push(e->arena, &call->arguments,
                     ((struct call_argument){params.data[own].buffer, params.data[own].by_value}));
    }
    call->name = c->function->name;
    call->function = c->function->tree;
    call->draws = t->seed != NULL;
    call->takes_count = t->count != NULL;
    for (size_t i = 0; i < t->counters.count; i++)
        vec_push(e->arena, &call->counters, group_counter(g, i));
    for (size_t i = 0; i < c->sizes.count; i++)
        vec_push(e->arena, &call->sizes, g->sizes[i]);
}

struct kernel_call emit_kernel(struct emission *e, const struct plan *plan, const struct kernel *k)
{
    struct kernel_call call = {0};
    if (k->kind == KERNEL_REGION)
        return emit_region(e, k);
    if (!kernel_only_checks(k))
        add_function(e, plan, k, &call);
    for (size_t i = 0; i < k->checks.count; i++)
        vec_push(e->arena, &call.checks, check_call(e, k, &k->checks.data[i]));
    return call;
}
