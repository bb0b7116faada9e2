/* List scheduling over the kernels of an entry, several times: the order with the lowest peak wins, the earliest tried
 * among equals. First comes the greedy one (of what is ready, the kernel that grows the arena least; the earliest of
 * the given order among equals, so that an unrelated change of the model moves as little as possible), then the order
 * that lowering and fusion left, then random ones and greedy ones whose sight is blurred, by numbers that are the same
 * in every run. Each is tightened; from the best, single kernels wander at last. */
#include "plan/schedule.h"

#include "plan/tasks.h"
#include <string.h>

enum {
    WINDOW = 64,           /* tasks of the ready list that are weighed: keeps a schedule linear in large graphs */
    MOST_TRIALS = 60,      /* orders that are tried, */
    TRIAL_WORK = 50 * 400, /* and kernels that they place in all */
    TIGHTEN_TURNS = 4,     /* of each, late and early in turns */
    WANDER_WORK = 1000 * 400 /* kernels that all single moves place */
};

enum policy { POLICY_GREEDY, POLICY_GIVEN, POLICY_BLURRED, POLICY_RANDOM, POLICY_SEARCH /* of all of them */ };

struct schedule {
    const struct task_list *tasks;
    enum policy policy;
    uint64_t random;
    int *waiting;      /* by task: predecessors not yet placed */
    int *touches_left; /* by buffer id: tasks that still have to touch it */
    int *born, *dead;  /* by buffer id: the first and the last task that touch it */
    int *ready;        /* a heap: the earliest of the given order on top */
    int ready_count;
    int window[WINDOW]; /* taken from the heap, to be weighed */
    int window_count;
    int *order;
    int64_t alive, peak;
};

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static bool dies_here(const struct schedule *s, const struct buffer *b)
{
    return s->touches_left[b->id] == 1;
}

static bool is_born_here(const struct schedule *s, const struct buffer *b)
{
    return s->touches_left[b->id] == s->tasks->touches[b->id];
}

struct change {
    int64_t during, after; /* bytes that the task adds while it runs, and for good */
};

/* Bytes of results that take the place of operands. */
static int64_t bytes_in_place(const struct schedule *s, const struct task *t)
{
    int64_t bytes = 0;
    bool taken[IN_PLACE_MOST];
    for (size_t i = 0; i < t->in_place.count; i++) {
        const struct in_place *pair = &t->in_place.data[i];
        taken[i] = dies_here(s, pair->operand) && is_born_here(s, pair->result) &&
                   in_place_is_free(&t->in_place, taken, i);
        bytes += taken[i] ? s->tasks->bytes[pair->result->id] : 0;
    }
    return bytes;
}

static struct change weigh(const struct schedule *s, const struct task *t)
{
    int64_t born = 0, dead = 0;
    for (size_t i = 0; i < t->touches.count; i++) {
        const int id = t->touched.data[i], left = s->touches_left[id];
        const int64_t bytes = s->tasks->bytes[id];
        born += left == s->tasks->touches[id] ? bytes : 0;
        dead += left == 1 ? bytes : 0;
    }
    return (struct change){born - bytes_in_place(s, t), born - dead};
}

/* In one walk over what the task touches: a search does little else. */
static void place(struct schedule *s, int task, int at)
{
    const struct task *t = &s->tasks->tasks[task];
    int64_t born = 0, dead = 0, in_place = t->in_place.count > 0 ? bytes_in_place(s, t) : 0;
    for (size_t i = 0; i < t->touches.count; i++) {
        const int id = t->touched.data[i], left = s->touches_left[id]--;
        if (left == s->tasks->touches[id]) {
            born += s->tasks->bytes[id];
            s->born[id] = task;
        }
        if (left == 1) {
            dead += s->tasks->bytes[id];
            s->dead[id] = task;
        }
    }
    s->peak = s->alive + born - in_place > s->peak ? s->alive + born - in_place : s->peak;
    s->alive += born - dead;
    s->order[at] = task;
}

/* ---- the ready list ---------------------------------------------------------------------------------------------- */

static void swap(int *a, int *b)
{
    const int x = *a;
    *a = *b;
    *b = x;
}

static void push_ready(struct schedule *s, int task)
{
    int at = s->ready_count++;
    s->ready[at] = task;
    for (; at > 0 && s->ready[(at - 1) / 2] > s->ready[at]; at = (at - 1) / 2)
        swap(&s->ready[(at - 1) / 2], &s->ready[at]);
}

static int pop_ready(struct schedule *s)
{
    const int first = s->ready[0];
    s->ready[0] = s->ready[--s->ready_count];
    for (int at = 0, child; (child = 2 * at + 1) < s->ready_count; at = child) {
        if (child + 1 < s->ready_count && s->ready[child + 1] < s->ready[child])
            child++;
        if (s->ready[at] <= s->ready[child])
            break;
        swap(&s->ready[at], &s->ready[child]);
    }
    return first;
}

static void make_ready(struct schedule *s, int task)
{
    int latest = 0;
    for (int i = 1; i < s->window_count; i++)
        if (s->window[i] > s->window[latest])
            latest = i;
    if (s->window_count < WINDOW)
        s->window[s->window_count++] = task;
    else if (task < s->window[latest]) {
        push_ready(s, s->window[latest]);
        s->window[latest] = task;
    } else {
        push_ready(s, task);
    }
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) /* splitmix64: Steele, Lea and Flood 2014 */
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* What the task costs in the eyes of the policy; the least is placed. */
static double cost_of(struct schedule *s, int task)
{
    const struct change c = weigh(s, &s->tasks->tasks[task]);
    switch (s->policy) {
    case POLICY_GIVEN: return task;
    case POLICY_RANDOM: return (double)(next_random(&s->random) >> 11);
    case POLICY_BLURRED: {
        const double blur = 0.25 + 1.5 * (double)(next_random(&s->random) >> 11) * 0x1p-53;
        const int64_t over = s->alive + c.during - s->peak; /* a new peak */
        return (double)c.after * (c.after > 0 ? blur : 2 - blur) + (over > 0 ? (double)over * blur : 0);
    }
    default: return (double)c.after;
    }
}

static int choose(struct schedule *s)
{
    int best = 0;
    double least = 0;
    for (int i = 0; i < s->window_count; i++) {
        if (!s->tasks->tasks[s->window[i]].kernel) { /* costs nothing and lets others run */
            best = i;
            break;
        }
        const double cost = cost_of(s, s->window[i]);
        if (i > 0 && (cost > least || (cost == least && s->window[i] > s->window[best])))
            continue;
        least = cost;
        best = i;
    }
    const int task = s->window[best];
    s->window[best] = s->window[--s->window_count];
    if (s->ready_count > 0)
        s->window[s->window_count++] = pop_ready(s);
    return task;
}

static void run(struct schedule *s, enum policy policy, uint64_t seed)
{
    const struct task_list *l = s->tasks;
    s->policy = policy;
    s->random = seed;
    s->alive = s->peak = 0;
    s->ready_count = s->window_count = 0;
    memcpy(s->touches_left, l->touches, l->buffer_count * sizeof *l->touches);
    for (int i = 0; i < l->count; i++) {
        s->waiting[i] = (int)l->tasks[i].predecessors.count;
        if (s->waiting[i] == 0)
            make_ready(s, i);
    }
    for (int n = 0; n < l->count; n++) {
        if (s->window_count == 0)
            UNREACHABLE("kernels depend on each other in a cycle");
        const int task = choose(s);
        place(s, task, n);
        for (size_t e = 0; e < l->tasks[task].successors.count; e++)
            if (--s->waiting[l->tasks[task].successors.data[e]] == 0)
                make_ready(s, l->tasks[task].successors.data[e]);
    }
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static struct schedule make_schedule(struct arena *a, const struct task_list *l)
{
    const size_t n = (size_t)l->count + 1;
    return (struct schedule){.tasks = l,
                             .waiting = arena_array(a, int, n),
                             .touches_left = arena_array(a, int, l->buffer_count + 1),
                             .born = arena_array(a, int, l->buffer_count + 1),
                             .dead = arena_array(a, int, l->buffer_count + 1),
                             .ready = arena_array(a, int, n),
                             .order = arena_array(a, int, n)};
}

/* No order needs less than the kernel that touches most. */
static int64_t least_possible(const struct task_list *l)
{
    int64_t most = 0;
    for (int i = 0; i < l->count; i++) {
        const struct task *t = &l->tasks[i];
        int64_t bytes = 0;
        for (size_t b = 0; b < t->touches.count; b++)
            bytes += l->bytes[t->touches.data[b]->id];
        for (size_t p = 0; p < t->in_place.count; p++)
            bytes -= p == 0 || t->in_place.data[p].result != t->in_place.data[p - 1].result
                         ? l->bytes[t->in_place.data[p].result->id]
                         : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Bytes that the task added for good in the order that was run last. */
static int64_t growth(const struct schedule *s, int task)
{
    const struct task *t = &s->tasks->tasks[task];
    int64_t bytes = 0;
    for (size_t i = 0; i < t->touches.count; i++) {
        const int b = t->touches.data[i]->id;
        bytes += (s->born[b] == task) * s->tasks->bytes[b] - (s->dead[b] == task) * s->tasks->bytes[b];
    }
    return bytes;
}

/* Moves the task at `from` to `to`, those between by one. */
static void move(struct schedule *s, int *position, int from, int to)
{
    const int task = s->order[from], by = from < to ? 1 : -1;
    for (int i = from; i != to; i += by) {
        s->order[i] = s->order[i + by];
        position[s->order[i]] = i;
    }
    s->order[to] = task;
    position[task] = to;
}

/* Positions to which the task can move alone: behind what it needs, in front of what needs it. */
static int earliest(const struct schedule *s, const int *position, int task)
{
    const struct task *t = &s->tasks->tasks[task];
    int at = 0;
    for (size_t e = 0; e < t->predecessors.count; e++)
        at = position[t->predecessors.data[e]] + 1 > at ? position[t->predecessors.data[e]] + 1 : at;
    return at;
}

static int latest(const struct schedule *s, const int *position, int task)
{
    const struct task *t = &s->tasks->tasks[task];
    int at = s->tasks->count - 1;
    for (size_t e = 0; e < t->successors.count; e++)
        at = position[t->successors.data[e]] - 1 < at ? position[t->successors.data[e]] - 1 : at;
    return at;
}

static void find_positions(const struct schedule *s, int *position)
{
    for (int i = 0; i < s->tasks->count; i++)
        position[s->order[i]] = i;
}

/* What makes the arena larger runs as late as what waits for it allows; what makes it smaller as early as it may. */
static void tighten(struct schedule *s, int *position, bool late)
{
    find_positions(s, position);
    for (int n = 0; n < s->tasks->count; n++) {
        const int at = late ? s->tasks->count - 1 - n : n, task = s->order[at];
        const int to = late ? latest(s, position, task) : earliest(s, position, task);
        const int64_t bytes = growth(s, task);
        if (late ? bytes >= 0 && to > at : bytes <= 0 && to < at)
            move(s, position, at, to);
    }
}

/* The order in s->order once more, for its peak. */
static void replay(struct schedule *s)
{
    s->alive = s->peak = 0;
    memcpy(s->touches_left, s->tasks->touches, s->tasks->buffer_count * sizeof *s->touches_left);
    for (int i = 0; i < s->tasks->count; i++)
        place(s, s->order[i], i);
}

struct best {
    int *order;
    int64_t peak;
    bool any;
};

static void keep_lower(const struct schedule *s, struct best *b)
{
    if (b->any && s->peak >= b->peak)
        return;
    *b = (struct best){b->order, s->peak, true};
    memcpy(b->order, s->order, (size_t)s->tasks->count * sizeof *b->order);
}

/* ---- single moves ------------------------------------------------------------------------------------------------ */

/* What is known of an order, so that a move costs as much as the positions that it shifts. */
struct wandering {
    struct schedule *s;
    int *position;      /* by task */
    int64_t *alive;     /* by position: bytes in front of the task there, */
    int64_t *need;      /* and while it runs */
    int64_t *alive_before, *need_before; /* the same in front of the move that is tried */
    int *first, *last;  /* by buffer id: positions */
    int *move, moves;   /* by buffer id: the last move that looked at it, of so many */
};

/* Places the tasks at lo .. hi, whatever their order there, and returns the peak of the whole; something above `limit`
 * as soon as it is clear that the peak is. */
static int64_t place_range(struct wandering *w, int lo, int hi, int64_t limit)
{
    struct schedule *const s = w->s;
    const struct task_list *const l = s->tasks;
    int64_t peak = 0;
    w->moves++;
    for (int at = lo; at <= hi; at++) {
        const struct task *const t = &l->tasks[s->order[at]];
        for (size_t i = 0; i < t->touches.count; i++) { /* touches_left as it is at lo, as far as place() asks for it */
            const int id = t->touched.data[i];
            const bool is_new = w->first[id] >= lo;
            if (w->move[id] != w->moves)
                s->touches_left[id] = is_new ? l->touches[id] : w->last[id] > hi;
            s->touches_left[id] += !is_new;
            w->move[id] = w->moves;
        }
    }
    s->alive = w->alive[lo];
    for (int at = lo; at <= hi; at++) {
        w->alive[at] = s->alive;
        s->peak = 0;
        place(s, s->order[at], at);
        w->need[at] = s->peak;
        if (s->peak > limit)
            return s->peak;
    }
    for (int at = 0; at < l->count; at++)
        peak = w->need[at] > peak ? w->need[at] : peak;
    return peak;
}

/* Where the buffers that the tasks at lo .. hi touch are touched first and last. */
static void find_touches(struct wandering *w, int lo, int hi)
{
    for (int at = hi; at >= lo; at--) {
        const struct task *const t = &w->s->tasks->tasks[w->s->order[at]];
        for (size_t i = 0; i < t->touches.count; i++)
            if (w->first[t->touched.data[i]] >= lo)
                w->first[t->touched.data[i]] = at;
    }
    for (int at = lo; at <= hi; at++) {
        const struct task *const t = &w->s->tasks->tasks[w->s->order[at]];
        for (size_t i = 0; i < t->touches.count; i++)
            if (w->last[t->touched.data[i]] <= hi)
                w->last[t->touched.data[i]] = at;
    }
}

static struct wandering make_wandering(struct arena *a, struct schedule *s, int *position)
{
    const size_t tasks = (size_t)s->tasks->count + 1, buffers = s->tasks->buffer_count + 1;
    struct wandering w = {.s = s,
                          .position = position,
                          .alive = arena_array(a, int64_t, tasks),
                          .need = arena_array(a, int64_t, tasks),
                          .alive_before = arena_array(a, int64_t, tasks),
                          .need_before = arena_array(a, int64_t, tasks),
                          .first = arena_array(a, int, buffers),
                          .last = arena_array(a, int, buffers),
                          .move = arena_array(a, int, buffers)};
    find_positions(s, position);
    find_touches(&w, 0, s->tasks->count - 1);
    s->peak = place_range(&w, 0, s->tasks->count - 1, INT64_MAX);
    return w;
}

/* Moves single tasks at random, as long as the peak does not rise. */
static void wander(struct arena *a, struct schedule *s, int *position)
{
    const int count = s->tasks->count, moves = WANDER_WORK / (count + 1);
    uint64_t random = 1;
    struct wandering w = make_wandering(a, s, position);
    int64_t peak = s->peak;
    for (int m = 0; m < moves; m++) {
        const int from = (int)(next_random(&random) % (uint64_t)count), task = s->order[from];
        const int low = earliest(s, position, task), high = latest(s, position, task);
        const int to = low + (int)(next_random(&random) % (uint64_t)(high - low + 1));
        const int lo = from < to ? from : to, hi = from < to ? to : from;
        if (from == to)
            continue;
        const size_t bytes = (size_t)(hi - lo + 1) * sizeof *w.alive;
        memcpy(w.alive_before, w.alive + lo, bytes);
        memcpy(w.need_before, w.need + lo, bytes);
        move(s, position, from, to);
        const int64_t moved = place_range(&w, lo, hi, peak);
        if (moved <= peak) {
            find_touches(&w, lo, hi);
            peak = moved;
        } else {
            move(s, position, to, from);
            memcpy(w.alive + lo, w.alive_before, bytes);
            memcpy(w.need + lo, w.need_before, bytes);
        }
    }
    s->peak = peak;
}

static void search(struct arena *a, struct schedule *s)
{
    struct best best = {.order = arena_array(a, int, (size_t)s->tasks->count + 1)};
    int *position = arena_array(a, int, (size_t)s->tasks->count + 1);
    const int64_t least = least_possible(s->tasks);
    const int trials = TRIAL_WORK / (s->tasks->count + 1) + 2;
    for (int trial = 0; trial < trials && trial < MOST_TRIALS && !(best.any && best.peak <= least); trial++) {
        const enum policy policy = trial == 0   ? POLICY_GREEDY
                                   : trial == 1 ? POLICY_GIVEN
                                   : trial % 2  ? POLICY_RANDOM
                                                : POLICY_BLURRED;
        run(s, policy, (uint64_t)trial);
        keep_lower(s, &best);
        for (int turn = 0; turn < TIGHTEN_TURNS && s->tasks->count <= TRIAL_WORK / 8; turn++) {
            tighten(s, position, turn % 2 == 0);
            replay(s);
            keep_lower(s, &best);
        }
    }
    memcpy(s->order, best.order, (size_t)s->tasks->count * sizeof *best.order);
    s->peak = best.peak;
    if (best.peak <= least)
        return;
    wander(a, s, position);
    keep_lower(s, &best); /* a readable order is worth more than another of the same peak */
    memcpy(s->order, best.order, (size_t)s->tasks->count * sizeof *best.order);
}

static void reorder(struct lowered *l, const struct schedule *s)
{
    size_t at = 0;
    for (int i = 0; i < s->tasks->count; i++)
        if (s->tasks->tasks[s->order[i]].kernel)
            l->kernels.data[at++] = s->tasks->tasks[s->order[i]].kernel;
}

static bool schedule(struct diag *d, struct lowered *l, enum policy policy, uint64_t seed, int64_t *peak)
{
    struct arena scratch = {0};
    struct task_list tasks;
    const bool ok = tasks_make(d, &scratch, l, &tasks);
    if (ok) {
        struct schedule s = make_schedule(&scratch, &tasks);
        if (policy == POLICY_SEARCH)
            search(&scratch, &s);
        else
            run(&s, policy, seed);
        reorder(l, &s);
        *peak = s.peak;
    }
    arena_free(&scratch);
    return ok;
}

bool schedule_kernels(struct diag *d, struct lowered *l)
{
    return schedule(d, l, POLICY_SEARCH, 0, &(int64_t){0});
}

bool schedule_at_random(struct diag *d, struct lowered *l, uint64_t seed)
{
    return schedule(d, l, POLICY_RANDOM, seed, &(int64_t){0});
}

bool schedule_peak(struct diag *d, struct lowered *l, int64_t *peak)
{
    return schedule(d, l, POLICY_GIVEN, 0, peak);
}
