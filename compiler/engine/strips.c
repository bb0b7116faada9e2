#include "engine/strips.h"

#include "engine/pipeline_internal.h"
#include "engine/weigh.h"
#include "graph/region.h"

enum {
    MOST_TURNS = 8,      /* values that are cut, with what is around them */
    MOST_CANDIDATES = 3, /* values that are weighed for each, the largest first */
    MOST_STRIPS = 32,
    MOST_WORK = 20000, /* kernels that are planned for all */
    LEAST_GAIN = 16,   /* an arena that is smaller by less than this part of it does not pay for loops, */
    LEAST_BYTES = 1024 /* nor by less than that */
};

struct strip_choice {
    struct diag *diag;
    struct entry *entry;
    size_t number;
    const struct program *program;
    struct pipeline_options options; /* without dumps */
    size_t rest;                     /* bytes that other entries take: less than these are of no use */
    struct weighed now;
    double excess;      /* of `now` */
    struct graph *best; /* NULL: none so far */
    double best_score;
    double price; /* of operations more */
    size_t work;  /* kernels that were planned so far */
};

static bool weigh(struct strip_choice *c, struct weighed *w)
{
    const bool ok = weigh_entry(c->diag, c->program, c->number, &c->options, w);
    c->work += ok ? w->plan->lowered->kernels.count : 0;
    return ok;
}

/* What is alive beyond three quarters of the arena at hand, over time; what is beyond half of it counts a quarter of
 * that. There may be several peaks, so the arena itself need not become smaller at once. */
static double excess_of(const struct strip_choice *c, struct weighed *w)
{
    const int64_t bytes = (int64_t)c->now.plan->arena_bytes;
    weigh_excess(w, bytes / 4 * 3);
    const double high = (double)w->excess;
    weigh_excess(w, bytes / 2);
    return high + (double)w->excess / 4;
}

/* What is left of the excess: 1: all of it. Narrow strips may take longer, which counts twice, if there is a choice. */
static double score_of(const struct strip_choice *c, struct weighed *then)
{
    const double more = then->work > c->now.work ? (double)(then->work - c->now.work) / (double)c->now.work : 0;
    return excess_of(c, then) / (c->excess + 1) + c->price * more;
}

/* Has its outermost axis so many equal strips? */
static bool divides(const struct value *v, int64_t count)
{
    int axis = 0;
    while (axis + 1 < v->shape.rank && v->shape.dim[axis] == 1)
        axis++;
    return v->shape.rank > 0 && v->shape.dim[axis] % count == 0;
}

/* Weighs the graph with the value of that name in so many strips. */
static bool consider(struct strip_choice *c, const char *name, int64_t count)
{
    struct graph *const now = c->entry->graph;
    if (!divides(graph_find(now, name), count))
        return true;
    struct graph *const trial = graph_copy(now);
    struct weighed then;
    bool done, ok = rewrite_strips(trial, graph_find(trial, name), count, &done);
    if (!ok || !done)
        return ok;
    c->entry->graph = trial;
    ok = weigh(c, &then);
    c->entry->graph = now;
    const double score = ok ? score_of(c, &then) : 0;
    if (ok && score < c->best_score * 0.98) {
        c->best = trial;
        c->best_score = score;
    }
    arena_free(&then.arena);
    return ok;
}

/* The values that lie in memory at the peak, the largest first: the one that comes after `before`, NULL: the first. */
static const struct buffer *next_candidate(const struct strip_choice *c, const struct buffer *before)
{
    const struct buffer *found = NULL;
    vec_each(const struct buffer *, b, &c->now.plan->lowered->buffers) {
        const struct plan_life *const life = &c->now.plan->life[b->id];
        const struct value *const v = b->kind == BUFFER_TEMP && b->name ? graph_find(c->entry->graph, b->name) : NULL;
        const bool is_there = life->first >= 0 && life->first <= c->now.peak && life->last >= c->now.peak;
        if (!is_there || v == NULL || v->kind != VALUE_RESULT || v->producer->region != NULL)
            continue;
        const int64_t bytes = weigh_bytes(b), above = before != NULL ? weigh_bytes(before) : INT64_MAX;
        const bool comes_later = bytes < above || (bytes == above && b->id > before->id);
        if (comes_later && (found == NULL || bytes > weigh_bytes(found)))
            found = b;
    }
    return found;
}

static bool take_best(struct strip_choice *c)
{
    const struct buffer *at = NULL;
    bool ok = true;
    c->excess = excess_of(c, &c->now);
    c->best = NULL;
    c->best_score = 1;
    for (int i = 0; i < MOST_CANDIDATES && ok && (at = next_candidate(c, at)) != NULL; i++)
        for (int64_t count = 2; count <= MOST_STRIPS && ok && c->work < MOST_WORK; count++)
            ok = consider(c, at->name, count);
    return ok;
}

/* Cuts values as long as that helps; what was cut since the arena was smallest has not paid. */
static bool cut_values(struct strip_choice *c)
{
    struct graph *smallest = c->entry->graph;
    bool ok = weigh(c, &c->now);
    size_t bytes = ok ? c->now.plan->arena_bytes : 0;
    for (int turn = 0; turn < MOST_TURNS && ok && bytes > c->rest && (ok = take_best(c)) && c->best != NULL; turn++) {
        arena_free(&c->now.arena);
        c->entry->graph = c->best;
        ok = weigh(c, &c->now);
        if (ok && c->now.plan->arena_bytes + bytes / LEAST_GAIN <= bytes &&
            c->now.plan->arena_bytes + LEAST_BYTES <= bytes) {
            bytes = c->now.plan->arena_bytes;
            smallest = c->best;
        }
    }
    arena_free(&c->now.arena);
    c->entry->graph = smallest;
    return ok;
}

/* The entry with the largest arena; *rest: that of the next one. */
static size_t find_largest(struct plan *const *plans, size_t count, size_t *rest)
{
    size_t largest = 0;
    *rest = 0;
    for (size_t i = 1; i < count; i++) {
        const size_t other = plans[i]->arena_bytes > plans[largest]->arena_bytes ? largest : i;
        largest = other == i ? largest : i;
        *rest = plans[other]->arena_bytes > *rest ? plans[other]->arena_bytes : *rest;
    }
    return largest;
}

/* The entry's graph as cut_values() leaves it, and its plan. */
static bool cut_entry(struct strip_choice *c, struct arena *a, const struct pipeline_options *o, double price,
                      struct plan **plan)
{
    const struct graph *const before = c->entry->graph;
    c->price = price;
    return cut_values(c) &&
           (c->entry->graph == before || pipeline_plan_entry(c->diag, a, c->program, c->number, o, plan));
}

/* Without regard to time only if the rest does not fit. *done: no entry takes less than before. */
static bool cut_largest(struct strip_choice *c, struct arena *a, const struct pipeline_options *o, struct plan **plans,
                        bool *done)
{
    c->number = find_largest(plans, c->program->entries.count, &c->rest);
    c->entry = &c->program->entries.data[c->number];
    struct plan **const plan = &plans[c->number], *narrow = *plan;
    struct graph *const before = c->entry->graph;
    if (!cut_entry(c, a, o, 2, plan))
        return false;
    struct graph *const cut = c->entry->graph;
    if (o->ram > 0 && (*plan)->arena_bytes + program_state_bytes(c->program) > o->ram) {
        c->entry->graph = before;
        if (!cut_entry(c, a, o, 0, &narrow))
            return false;
        if (narrow->arena_bytes < (*plan)->arena_bytes)
            *plan = narrow;
        else
            c->entry->graph = cut;
    }
    *done = c->entry->graph == before;
    return true;
}

bool strips_choose(struct diag *d, struct arena *a, const struct program *p, const struct pipeline_options *o,
                   struct plan **plans)
{
    struct strip_choice c = {.diag = d, .program = p, .options = *o};
    bool ok = true, done = false;
    c.options.passes.dump_after = NULL;
    for (size_t turn = 0; turn < p->entries.count && ok && !done; turn++)
        ok = cut_largest(&c, a, o, plans, &done);
    return ok;
}
