#include "engine/budget.h"

#include "engine/pipeline_internal.h"
#include "engine/weigh.h"
#include "graph/build.h"
#include "graph/region.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_TURNS = 200,    /* values that are computed again */
    MOST_CANDIDATES = 8, /* values that are weighed for each, the largest first */
    MOST_COPIES = 24,    /* nodes that one of them may take */
    WORK = 4000,         /* kernels that are planned for each: of large graphs fewer values are weighed */
    MOST_WORK = 400000,  /* and for all: a minute or two */
    MOST_NAMES = 6       /* in the message */
};

struct budget {
    struct diag *diag;
    const struct program *program;
    const struct pipeline_options *options; /* without dumps */
    size_t entry;
    int64_t limit; /* of the arena */
    int64_t aim;   /* the next step towards it */
    int64_t *work; /* kernels that were planned so far */
};

static bool weigh(const struct budget *b, struct weighed *w)
{
    if (!weigh_entry(b->diag, b->program, b->entry, b->options, w))
        return false;
    *b->work += (int64_t)w->plan->lowered->kernels.count;
    weigh_excess(w, b->aim);
    return true;
}

/* ---- what is computed again -------------------------------------------------------------------------------------- */

/* The kernels in which a node stands, by id of its first result; -1: none. */
struct places_of_nodes {
    int *first, *last, *order; /* order: its place in the graph */
};

struct moved {
    struct node *reader;
    int input;
    struct value *from;
};

/* Is it read behind the peak? */
enum when_read { READ_UNKNOWN, READ_EARLY, READ_LATE };

struct recomputation {
    struct arena *arena;
    struct graph *graph;
    const struct weighed *at;
    struct places_of_nodes places;
    int count;                     /* of values before any was made here */
    const struct plan_life **life; /* by id of a value: of its buffer, NULL: it has none */
    struct value **copy;           /* by id */
    enum when_read *read;          /* by id; find_late() */
    bool keeps;                    /* operands with memory of their own are kept until they are read late */
    struct node *before;           /* copies stand before the first late reader, */
    int late;                      /* which is in this kernel */
    bool failed;
    VEC(struct moved) moved;
    VEC(struct node *) made;
    const char *of; /* the value's name */
};
typedef VEC(struct recomputation) recomputations;

static const struct value *first_result(const struct node *n)
{
    vec_each(const struct value *, v, &n->outputs)
        if (v != NULL)
            return v;
    UNREACHABLE("%s '%s' has no result", n->def->name, n->name);
}

static void find_places(struct recomputation *r)
{
    const size_t count = (size_t)r->graph->value_count;
    r->count = (int)count;
    struct places_of_nodes *const p = &r->places;
    int at = 0;
    p->first = arena_array(r->arena, int, count);
    p->last = arena_array(r->arena, int, count);
    p->order = arena_array(r->arena, int, count);
    r->copy = arena_array(r->arena, struct value *, count);
    r->read = arena_array(r->arena, enum when_read, count);
    r->life = arena_array(r->arena, const struct plan_life *, count);
    for (size_t i = 0; i < count; i++)
        p->first[i] = p->last[i] = -1;
    graph_each_node(r->graph, n)
        p->order[first_result(n)->id] = at++;
    const struct lowered *const l = r->at->plan->lowered;
    for (size_t k = 0; k < l->kernels.count; k++)
        vec_each(const struct node *, n, &l->kernels.data[k]->nodes) {
            const int id = first_result(n)->id;
            p->first[id] = p->first[id] < 0 ? (int)k : p->first[id];
            p->last[id] = (int)k;
        }
    vec_each(const struct buffer *, b, &l->buffers) {
        const struct value *const v = b->kind == BUFFER_TEMP && b->name ? graph_find(r->graph, b->name) : NULL;
        if (v != NULL && v->kind == VALUE_RESULT && r->at->plan->life[b->id].first >= 0)
            r->life[v->id] = &r->at->plan->life[b->id];
    }
}

/* A node without a kernel of its own, or with one before the peak and one behind it, is copied for its late readers. */
static bool is_copied(const struct recomputation *r, const struct node *n)
{
    const int id = first_result(n)->id;
    if (id >= r->count) /* it is one of the copies */
        return false;
    const int first = r->places.first[id], last = r->places.last[id];
    return n->outputs.count == 1 && n->region == NULL && (first < 0 || (first <= r->at->peak && last > r->at->peak));
}

static int first_kernel(const struct recomputation *r, const struct node *n)
{
    const int id = first_result(n)->id;
    return id < r->count ? r->places.first[id] : -1;
}

/* Notes the first reader of v behind the peak, in the graph and of kernels; false: there is none. Each value is looked
 * at once: a node may read one twice, and so on. */
static bool find_late(struct recomputation *r, const struct value *v)
{
    bool any = false;
    if (r->read[v->id] != READ_UNKNOWN)
        return r->read[v->id] == READ_LATE;
    vec_each_ptr(const struct use, u, &v->uses) {
        const int id = first_result(u->node)->id, first = first_kernel(r, u->node);
        if (is_copied(r, u->node)) {
            any |= find_late(r, u->node->outputs.data[0]);
        } else if (first > r->at->peak) {
            any = true;
            r->late = r->late < 0 || first < r->late ? first : r->late;
            if (r->before == NULL || r->places.order[id] < r->places.order[first_result(r->before)->id])
                r->before = u->node;
        }
    }
    r->read[v->id] = any ? READ_LATE : READ_EARLY;
    return any;
}

/* Is it there when the first late reader runs? */
static bool is_there(const struct recomputation *r, const struct value *v)
{
    while (v->kind == VALUE_RESULT && r->life[v->id] == NULL && v->producer->def->is_view)
        v = v->producer->inputs.data[0];
    return v->kind != VALUE_RESULT || (r->life[v->id] != NULL && (r->keeps || r->life[v->id]->last >= r->late));
}

static const char *name_again(struct graph *g, const char *name)
{
    const char *const wish = arena_printf(g->arena, "%s.again", name);
    return graph_find(g, wish) == NULL ? wish : graph_fresh_name(g, wish);
}

static void copy_node(struct recomputation *r, const struct node *n, struct value *const *inputs, struct node *before)
{
    struct node *const made = graph_add_like(r->graph, n, &n->loc, before);
    for (size_t i = 0; i < n->inputs.count; i++)
        node_add_input(made, inputs[i]);
    vec_each(const struct value *, v, &n->outputs) {
        struct value *const copy = node_add_output(made, v != NULL ? name_again(r->graph, v->name) : NULL);
        if (v != NULL)
            r->copy[v->id] = copy;
    }
    if (!node_infer(made))
        UNREACHABLE("a copy of %s '%s' that inference refuses", n->def->name, n->name);
    vec_push(r->arena, &r->made, made);
}

/* v once more; what it is computed of, too, as far as that is gone by then. */
static struct value *again(struct recomputation *r, struct value *v)
{
    const struct node *const n = v->producer;
    struct value **const inputs = arena_array(r->arena, struct value *, n->inputs.count + 1);
    r->failed |= n->region != NULL || r->made.count >= MOST_COPIES;
    for (size_t i = 0; i < n->inputs.count && !r->failed; i++) {
        struct value *const x = n->inputs.data[i];
        inputs[i] = x == NULL || is_there(r, x) ? x : r->copy[x->id] != NULL ? r->copy[x->id] : again(r, x);
    }
    if (r->failed)
        return v;
    copy_node(r, n, inputs, r->before);
    return r->copy[v->id];
}

/* Where a copy of n, a reader of what was copied, stands: behind that, and behind n, whose other operands may be made
 * after the first late reader. */
static struct node *place_behind(const struct recomputation *r, const struct node *n)
{
    const int *const order = r->places.order;
    return order[first_result(n)->id] < order[first_result(r->before)->id] ? r->before : n->next;
}

static void move_late(struct recomputation *r, struct value *v)
{
    struct value *const copy = r->copy[v->id];
    const size_t count = v->uses.count;
    struct use *const uses = arena_array(r->arena, struct use, count + 1);
    memcpy(uses, v->uses.data, count * sizeof *uses);
    for (size_t i = 0; i < count; i++) {
        struct node *const n = uses[i].node;
        struct value *const out = n->outputs.data[0];
        if (is_copied(r, n) && r->read[out->id] == READ_LATE && r->copy[out->id] == NULL) {
            struct value **const inputs = arena_array(r->arena, struct value *, n->inputs.count + 1);
            for (size_t k = 0; k < n->inputs.count; k++)
                inputs[k] = n->inputs.data[k] == v ? copy : n->inputs.data[k];
            copy_node(r, n, inputs, place_behind(r, n));
            move_late(r, out);
        } else if (!is_copied(r, n) && first_kernel(r, n) > r->at->peak) {
            vec_push(r->arena, &r->moved, ((struct moved){n, uses[i].input, v}));
            node_set_input(n, uses[i].input, copy);
        }
    }
}

static void take_back(struct recomputation *r)
{
    for (size_t i = r->moved.count; i-- > 0;)
        node_set_input(r->moved.data[i].reader, r->moved.data[i].input, r->moved.data[i].from);
    for (size_t i = r->made.count; i-- > 0;)
        graph_remove_node(r->graph, r->made.data[i]);
}

/* v is computed again behind the peak; false: it cannot be, and nothing has changed. */
static bool recompute(struct recomputation *r, struct value *v)
{
    if (!find_late(r, v))
        return false;
    again(r, v);
    if (!r->failed)
        move_late(r, v);
    if (r->failed || r->moved.count == 0) {
        take_back(r);
        return false;
    }
#ifndef NDEBUG
    graph_verify(r->graph, "budget");
#endif
    return true;
}

/* ---- which of them ----------------------------------------------------------------------------------------------- */

static bool is_touched(const struct kernel *k, const struct buffer *b)
{
    struct arena scratch = {0};
    buffer_list list = {0};
    kernel_reads(&scratch, k, &list);
    kernel_writes(&scratch, k, &list);
    const bool result = buffers_have(&list, b);
    arena_free(&scratch);
    return result;
}

static int by_bytes(const void *a, const void *b)
{
    const struct buffer *const x = *(const struct buffer *const *)a, *const y = *(const struct buffer *const *)b;
    if (weigh_bytes(x) != weigh_bytes(y))
        return weigh_bytes(x) > weigh_bytes(y) ? -1 : 1;
    return x->id - y->id;
}

/* The names of values that lie there during the peak, which neither writes nor reads them: the largest first. */
static void find_candidates(const struct budget *b, const struct weighed *w, struct arena *a, str_list *out)
{
    const struct lowered *const l = w->plan->lowered;
    const struct graph *const g = b->program->entries.data[b->entry].graph;
    const struct buffer **const list = arena_array(a, const struct buffer *, l->buffers.count + 1);
    size_t count = 0;
    vec_each(const struct buffer *, x, &l->buffers) {
        const struct plan_life *const life = &w->plan->life[x->id];
        const struct value *const v = x->kind == BUFFER_TEMP && x->name ? graph_find(g, x->name) : NULL;
        if (life->first >= 0 && life->first < w->peak && life->last > w->peak && v != NULL &&
            v->kind == VALUE_RESULT && !graph_gives(g, v) && !is_touched(l->kernels.data[w->peak], x))
            list[count++] = x;
    }
    qsort(list, count, sizeof *list, by_bytes);
    const size_t most = 1 + WORK / (l->kernels.count + 1);
    for (size_t i = 0; i < count && i < MOST_CANDIDATES && i < most; i++)
        str_list_add(a, out, list[i]->name);
}

struct best_value {
    const char *name; /* NULL: none so far */
    bool keeps;
    double gain;      /* bytes over time, for each operation more */
};

static void start(struct recomputation *r, struct arena *a, const struct budget *b, const struct weighed *w, bool keeps)
{
    *r = (struct recomputation){.arena = a, .graph = b->program->entries.data[b->entry].graph, .at = w,
                                .keeps = keeps, .late = -1};
    find_places(r);
}

static bool consider(const struct budget *b, const struct weighed *now, const char *name, bool keeps,
                     struct best_value *best)
{
    struct arena scratch = {0};
    struct recomputation r;
    struct weighed then;
    bool ok = true;
    start(&r, &scratch, b, now, keeps);
    if (recompute(&r, graph_find(r.graph, name))) {
        ok = weigh(b, &then);
        const double more = ok && then.work > now->work ? (double)(then.work - now->work) : 0;
        const double gain = ok ? (double)(now->excess - then.excess) / (more + 1 + 0.001 * (double)now->work) : 0;
        if (ok && gain > best->gain)
            *best = (struct best_value){name, keeps, gain};
        arena_free(&then.arena);
        take_back(&r);
    }
    arena_free(&scratch);
    return ok;
}

/* One value more is computed again; *done: there is none that helps. */
static bool take_best(const struct budget *b, const struct weighed *now, recomputations *taken, bool *done)
{
    struct arena scratch = {0}, *const a = b->program->arena;
    struct best_value best = {0};
    struct recomputation r;
    str_list candidates = {0};
    bool ok = true;
    find_candidates(b, now, &scratch, &candidates);
    vec_each(const char *, name, &candidates)
        for (int keeps = 0; keeps < 2 && ok; keeps++)
            ok = consider(b, now, name, keeps, &best);
    *done = best.name == NULL;
    if (ok && !*done) {
        start(&r, a, b, now, best.keeps);
        r.of = arena_strdup(a, best.name);
        if (!recompute(&r, graph_find(r.graph, best.name)))
            UNREACHABLE("'%s' is not computed again as it was on trial", r.of);
        vec_push(a, taken, r);
    }
    arena_free(&scratch);
    return ok;
}

static void say(const struct budget *b, const struct weighed *first, const struct weighed *last,
                const recomputations *taken)
{
    str_list names = {0};
    vec_each_ptr(const struct recomputation, r, taken)
        str_list_add(b->program->arena, &names, r->of);
    struct strbuf list = {.arena = b->program->arena};
    const struct entry *const e = &b->program->entries.data[b->entry];
    const double more = first->flops > 0 ? 100.0 * (double)(last->flops - first->flops) / (double)first->flops : 0;
    for (size_t i = 0; i < names.count && i < MOST_NAMES; i++)
        strbuf_addf(&list, "%s'%s'", i > 0 ? ", " : "", names.data[i]);
    if (names.count > MOST_NAMES)
        strbuf_addf(&list, " and %zu more", names.count - MOST_NAMES);
    diag_note(b->diag, &LOC_FILE(b->program->model->file),
              "to fit --ram, %s() computes %s again: %.1f %% more operations, an arena of %zu bytes instead of %zu",
              e->name, strbuf_text(&list), more, last->plan->arena_bytes, first->plan->arena_bytes);
}

/* Steps are small, so that a value is weighed by the peak at hand; where none lowers that, by more and more around it.
 * They do not depend on the limit: whatever lies above the smallest arena can be had. */
static bool take_step(struct budget *b, struct weighed *now, recomputations *taken, bool *done)
{
    static const double aims[] = {15.0 / 16, 0.75, 0};
    bool ok = true;
    *done = true;
    for (size_t i = 0; i < sizeof aims / sizeof *aims && ok && *done; i++) {
        b->aim = (int64_t)(aims[i] * (double)now->plan->arena_bytes);
        weigh_excess(now, b->aim);
        ok = take_best(b, now, taken, done);
    }
    return ok;
}

/* What was taken since the arena was smallest has not paid. */
static bool drop_rest(const struct budget *b, recomputations *taken, size_t kept, struct weighed *now)
{
    if (taken->count == kept)
        return true;
    while (taken->count > kept)
        take_back(&taken->data[--taken->count]);
    arena_free(&now->arena);
    return weigh(b, now);
}

static bool fit_entry(struct budget *b)
{
    struct weighed first, now;
    recomputations taken = {0};
    size_t smallest, kept = 0;
    bool done = false, ok = weigh(b, &first);
    ok = ok && weigh(b, &now);
    smallest = ok ? now.plan->arena_bytes : 0;
    while (ok && !done && taken.count < MOST_TURNS && *b->work < MOST_WORK &&
           (int64_t)now.plan->arena_bytes > b->limit) {
        ok = take_step(b, &now, &taken, &done);
        if (done || !ok)
            break;
        arena_free(&now.arena);
        ok = weigh(b, &now);
        if (ok && now.plan->arena_bytes < smallest) {
            smallest = now.plan->arena_bytes;
            kept = taken.count;
        }
    }
    ok = ok && drop_rest(b, &taken, kept, &now);
    if (ok && taken.count > 0 && b->options->warns && (int64_t)now.plan->arena_bytes <= b->limit)
        say(b, &first, &now, &taken);
    arena_free(&now.arena);
    arena_free(&first.arena);
    return ok;
}

bool budget_fit(struct diag *d, struct arena *a, const struct program *p, const struct pipeline_options *o,
                struct plan **plans)
{
    struct pipeline_options quiet = *o;
    const int64_t limit = (int64_t)o->ram - (int64_t)program_state_bytes(p);
    quiet.passes.dump_after = NULL;
    for (size_t i = 0; i < p->entries.count; i++) {
        int64_t work = 0;
        struct budget b = {d, p, &quiet, i, limit, limit, &work};
        if ((int64_t)plans[i]->arena_bytes <= limit || limit <= 0)
            continue;
        if (!fit_entry(&b) || !pipeline_plan_entry(d, a, p, i, o, &plans[i]))
            return false;
    }
    return true;
}

/* ---- the curve --------------------------------------------------------------------------------------------------- */

enum { POINTS_BETWEEN = 8 };

/* The program for so much memory; 0: for any. */
static bool measure(struct diag *d, const struct model *m, const struct pipeline_options *o, int64_t ram,
                    struct report_point *out)
{
    struct arena scratch = {0};
    struct pipeline_options quiet = *o;
    struct program *p;
    struct plan **plans;
    quiet.passes.dump_after = NULL;
    quiet.warns = false;
    quiet.ram = (size_t)ram;
    const bool ok = pipeline_canonical(d, &scratch, m, &quiet, &p) && pipeline_plans(d, &scratch, p, &quiet, &plans);
    *out = (struct report_point){0};
    for (size_t i = 0; ok && i < p->entries.count; i++) {
        const int64_t bytes = (int64_t)plans[i]->arena_bytes;
        out->arena_bytes = bytes > out->arena_bytes ? bytes : out->arena_bytes;
        vec_each(const struct kernel *, k, &plans[i]->lowered->kernels)
            out->flops += p->entries.data[i].kind == ENTRY_INIT ? 0 : report_flops(k);
    }
    out->ram_bytes = ok ? out->arena_bytes + (int64_t)program_state_bytes(p) : 0;
    arena_free(&scratch);
    return ok;
}

bool budget_curve(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                  report_points *out)
{
    struct report_point plain, smallest, between;
    if (!measure(d, m, o, 0, &plain) ||
        !measure(d, m, o, plain.ram_bytes - plain.arena_bytes + 1, &smallest))
        return false;
    vec_push(a, out, plain);
    for (int i = 1; i <= POINTS_BETWEEN; i++) {
        const int64_t span = plain.ram_bytes - smallest.ram_bytes;
        if (!measure(d, m, o, plain.ram_bytes - span * i / (POINTS_BETWEEN + 1), &between))
            return false;
        if (between.arena_bytes < out->data[out->count - 1].arena_bytes && between.arena_bytes > smallest.arena_bytes)
            vec_push(a, out, between);
    }
    if (smallest.arena_bytes < plain.arena_bytes)
        vec_push(a, out, smallest);
    return true;
}
