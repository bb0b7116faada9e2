/* List scheduling over the kernels of an entry. The order that lowering and fusion leave is legal and stays the fallback in
 * ties, so that an unrelated change of the model moves as little as possible. Adds one constraint that they do not know: what
 * can fail runs before the first write to the state, so that a failed entry leaves the state as it was. */
#include "plan/schedule.h"

#include "graph/op_def.h"
#include <string.h>

struct task {
    struct kernel *kernel;
    VEC(int) successors;
    int waiting; /* predecessors not yet scheduled */
    bool done, writes_state, can_fail;
    buffer_list reads, writes;
};

struct schedule {
    struct arena *arena;
    struct task *tasks;
    int count;
    int *readers_left; /* by buffer id: kernels that still have to read it */
    VEC(int) ready;    /* tasks without open predecessors, by original position */
};

static void add_edge(struct schedule *s, int from, int to)
{
    if (from == to)
        return;
    struct task *t = &s->tasks[from];
    if (t->successors.count && t->successors.data[t->successors.count - 1] == to)
        return;
    vec_push(s->arena, &t->successors, to);
    s->tasks[to].waiting++;
}

/* Read after write, write after read, write after write, in the order given. */
static void add_data_edges(struct schedule *s, size_t buffer_count)
{
    int *writer = arena_array(s->arena, int, buffer_count);
    typedef VEC(int) int_list;
    int_list *readers = arena_array(s->arena, int_list, buffer_count);
    memset(writer, -1, buffer_count * sizeof *writer);
    for (int i = 0; i < s->count; i++) {
        struct task *t = &s->tasks[i];
        for (size_t r = 0; r < t->reads.count; r++) {
            const int b = t->reads.data[r]->id;
            if (writer[b] >= 0)
                add_edge(s, writer[b], i);
            vec_push(s->arena, &readers[b], i);
        }
        for (size_t w = 0; w < t->writes.count; w++) {
            const int b = t->writes.data[w]->id;
            if (writer[b] >= 0)
                add_edge(s, writer[b], i);
            for (size_t r = 0; r < readers[b].count; r++)
                add_edge(s, readers[b].data[r], i);
            readers[b].count = 0;
            writer[b] = i;
        }
    }
}

static void fill_tasks(struct schedule *s, const struct lowered *l)
{
    s->count = (int)l->kernels.count;
    s->tasks = arena_array(s->arena, struct task, l->kernels.count);
    for (int i = 0; i < s->count; i++) {
        struct task *t = &s->tasks[i];
        t->kernel = l->kernels.data[i];
        kernel_reads(s->arena, t->kernel, &t->reads);
        kernel_writes(s->arena, t->kernel, &t->writes);
        t->can_fail = t->kernel->checks.count > 0;
        for (size_t w = 0; w < t->writes.count; w++)
            t->writes_state |= t->writes.data[w]->kind == BUFFER_VARIABLE;
    }
    add_data_edges(s, l->buffers.count);
}

/* Which kernels can only run after one that writes state: the given order is topological. */
static bool *find_after_write(struct schedule *s)
{
    bool *after_write = arena_array(s->arena, bool, (size_t)s->count + 1);
    for (int i = 0; i < s->count; i++) {
        after_write[i] |= s->tasks[i].writes_state;
        for (size_t e = 0; e < s->tasks[i].successors.count; e++)
            after_write[s->tasks[i].successors.data[e]] |= after_write[i];
    }
    return after_write;
}

/* A loss reads what BatchNormalization computed while it stored the running statistics. Its labels do not depend on that: such
 * checks become kernels of their own, in front of the kernel they stood in. */
static bool detach_checks(struct schedule *s, struct lowered *l)
{
    const bool *const after_write = find_after_write(s);
    bool any = false;
    for (int i = s->count - 1; i >= 0; i--) {
        struct kernel *const k = s->tasks[i].kernel;
        if (!after_write[i] || k->checks.count == 0 || (k->parts.count == 0 && !k->tmpl))
            continue;
        struct kernel *const only = arena_new(l->arena, struct kernel);
        only->id = k->id;
        only->label = "check";
        for (size_t n = 0; n < k->nodes.count; n++)
            vec_push(l->arena, &only->nodes, k->nodes.data[n]);
        for (size_t c = 0; c < k->checks.count; c++)
            vec_push(l->arena, &only->checks, k->checks.data[c]);
        k->checks.count = 0;
        vec_push(l->arena, &l->kernels, NULL);
        memmove(&l->kernels.data[i + 1], &l->kernels.data[i], (l->kernels.count - 1 - (size_t)i) * sizeof *l->kernels.data);
        l->kernels.data[i] = only;
        any = true;
    }
    return any;
}

/* Every kernel that can fail -> every kernel that writes state. */
static bool add_failure_edges(struct diag *d, struct schedule *s)
{
    const bool *const after_write = find_after_write(s);
    bool ok = true;
    for (int i = 0; i < s->count; i++)
        if (after_write[i] && s->tasks[i].can_fail && !s->tasks[i].writes_state)
            ok = diag_error(d, s->tasks[i].kernel->nodes.count ? &s->tasks[i].kernel->nodes.data[0]->loc : NULL,
                            "the check of its indices can only run after a variable was written");
    for (int i = 0; ok && i < s->count; i++)
        for (int j = 0; s->tasks[i].can_fail && j < s->count; j++)
            if (s->tasks[j].writes_state)
                add_edge(s, i, j);
    return ok;
}

/* Bytes of the arena that running the task would add (new results) less those that would die (last reads). */
static int64_t growth(const struct schedule *s, const struct task *t)
{
    int64_t bytes = 0;
    for (size_t w = 0; w < t->writes.count; w++)
        if (t->writes.data[w]->kind == BUFFER_TEMP)
            bytes += t->writes.data[w]->count * (int64_t)dtype_size(t->writes.data[w]->dtype);
    for (size_t r = 0; r < t->reads.count; r++) {
        const struct buffer *b = t->reads.data[r];
        if (b->kind == BUFFER_TEMP && s->readers_left[b->id] == 1)
            bytes -= b->count * (int64_t)dtype_size(b->dtype);
    }
    return bytes;
}

/* The ready task that grows the arena least; the earliest in the given order among equals. Only a window of the ready list is
 * looked at, which keeps scheduling linear in large graphs. */
static size_t choose(const struct schedule *s)
{
    enum { WINDOW = 64 };
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < s->ready.count && i < WINDOW; i++) {
        const int64_t g = growth(s, &s->tasks[s->ready.data[i]]);
        if (g < least) {
            least = g;
            best = i;
        }
    }
    return best;
}

static void make_ready(struct schedule *s, int task)
{
    size_t at = s->ready.count;
    vec_push(s->arena, &s->ready, task);
    for (; at > 0 && s->ready.data[at - 1] > task; at--)
        s->ready.data[at] = s->ready.data[at - 1];
    s->ready.data[at] = task;
}

static void run_schedule(struct schedule *s, struct lowered *l)
{
    for (int i = 0; i < s->count; i++)
        if (s->tasks[i].waiting == 0)
            make_ready(s, i);
    for (int n = 0; n < s->count; n++) {
        if (s->ready.count == 0)
            UNREACHABLE("the kernels of entry '%s' depend on each other in a cycle", l->entry->name);
        const size_t at = choose(s);
        struct task *t = &s->tasks[s->ready.data[at]];
        vec_remove(&s->ready, at);
        l->kernels.data[n] = t->kernel;
        for (size_t r = 0; r < t->reads.count; r++)
            s->readers_left[t->reads.data[r]->id]--;
        for (size_t e = 0; e < t->successors.count; e++)
            if (--s->tasks[t->successors.data[e]].waiting == 0)
                make_ready(s, t->successors.data[e]);
    }
}

bool schedule_kernels(struct diag *d, struct lowered *l)
{
    struct arena scratch = {0};
    struct schedule s = {.arena = &scratch};
    fill_tasks(&s, l);
    if (detach_checks(&s, l))
        fill_tasks(&s, l);
    s.readers_left = arena_array(&scratch, int, l->buffers.count);
    for (int i = 0; i < s.count; i++)
        for (size_t r = 0; r < s.tasks[i].reads.count; r++)
            s.readers_left[s.tasks[i].reads.data[r]->id]++;
    const bool ok = add_failure_edges(d, &s);
    if (ok)
        run_schedule(&s, l);
    arena_free(&scratch);
    return ok;
}
