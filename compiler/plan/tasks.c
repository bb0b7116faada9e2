#include "plan/tasks.h"

#include "base/checked.h"
#include "graph/op_def.h"
#include <string.h>

int64_t plan_buffer_bytes(const struct buffer *b)
{
    return round_up(b->count * (int64_t)dtype_size(b->dtype), PLAN_ALIGN);
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

static void add_edge(struct task_list *l, int from, int to)
{
    struct task *t = &l->tasks[from];
    if (from == to || (t->successors.count && t->successors.data[t->successors.count - 1] == to))
        return;
    vec_push(l->arena, &t->successors, to);
    vec_push(l->arena, &l->tasks[to].predecessors, from);
}

/* Read after write, write after read, write after write, in the order given. */
static void add_data_edges(struct task_list *l)
{
    struct arena scratch = {0};
    typedef VEC(int) int_list;
    int *writer = arena_array(&scratch, int, l->buffer_count + 1);
    int_list *readers = arena_array(&scratch, int_list, l->buffer_count + 1);
    memset(writer, -1, l->buffer_count * sizeof *writer);
    for (int i = 0; i < l->count; i++) {
        const struct task *t = &l->tasks[i];
        vec_each(const struct buffer *, b, &t->reads) {
            if (writer[b->id] >= 0)
                add_edge(l, writer[b->id], i);
            vec_push(&scratch, &readers[b->id], i);
        }
        vec_each(const struct buffer *, b, &t->writes) {
            if (writer[b->id] >= 0)
                add_edge(l, writer[b->id], i);
            vec_each(int, reader, &readers[b->id])
                add_edge(l, reader, i);
            readers[b->id].count = 0;
            writer[b->id] = i;
        }
    }
    arena_free(&scratch);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

static void add_touch(struct task_list *l, struct task *t, struct buffer *b)
{
    if (!b || b->kind != BUFFER_TEMP || buffers_have(&t->touches, b))
        return;
    vec_push(l->arena, &t->touches, b);
    vec_push(l->arena, &t->touched, b->id);
    l->touches[b->id]++;
}

static void fill_task(struct task_list *l, struct task *t, struct kernel *k, const bool *is_output)
{
    t->kernel = k;
    kernel_reads(l->arena, k, &t->reads);
    kernel_writes(l->arena, k, &t->writes);
    t->can_fail = k->checks.count > 0;
    vec_each(struct buffer *, b, &t->reads)
        add_touch(l, t, b);
    vec_each(struct buffer *, b, &t->writes) {
        add_touch(l, t, b);
        t->writes_state |= b->kind == BUFFER_VARIABLE;
    }
    add_touch(l, t, k->scratch.buffer);
    in_place_find(l->arena, k, is_output, &t->in_place);
}

/* Checks of their own -> the kernel that takes its indices as checked. */
static void add_check_edges(struct task_list *l)
{
    for (int i = 0; i < l->count; i++)
        for (int j = i + 1; l->tasks[i].kernel->checked && j < l->count; j++)
            if (l->tasks[j].kernel == l->tasks[i].kernel->checked)
                add_edge(l, i, j);
}

static void fill_tasks(struct task_list *l, const struct lowered *lowered)
{
    const bool *const is_output = in_place_outputs(l->arena, lowered);
    l->count = (int)lowered->kernels.count;
    l->tasks = arena_array(l->arena, struct task, lowered->kernels.count + 1);
    l->buffer_count = lowered->buffers.count;
    l->bytes = arena_array(l->arena, int64_t, l->buffer_count + 1);
    l->touches = arena_array(l->arena, int, l->buffer_count + 1);
    for (size_t b = 0; b < l->buffer_count; b++)
        l->bytes[b] = plan_buffer_bytes(lowered->buffers.data[b]);
    for (int i = 0; i < l->count; i++)
        fill_task(l, &l->tasks[i], lowered->kernels.data[i], is_output);
    add_data_edges(l);
    add_check_edges(l);
}

/* ---- what can fail ----------------------------------------------------------------------------------------------- */

/* Which kernels can only run after one that writes state: the given order is topological. */
static bool *find_after_write(const struct task_list *l)
{
    bool *after_write = arena_array(l->arena, bool, (size_t)l->count + 1);
    for (int i = 0; i < l->count; i++) {
        after_write[i] |= l->tasks[i].writes_state;
        for (size_t e = 0; e < l->tasks[i].successors.count; e++)
            after_write[l->tasks[i].successors.data[e]] |= after_write[i];
    }
    return after_write;
}

static struct kernel *only_checks(struct arena *a, struct kernel *k)
{
    struct kernel *const only = arena_new(a, struct kernel);
    only->id = k->id;
    only->label = "check";
    only->checked = k;
    vec_each(const struct node *, n, &k->nodes)
        vec_push(a, &only->nodes, n);
    vec_each_ptr(const struct check, c, &k->checks)
        vec_push(a, &only->checks, *c);
    k->checks.count = 0;
    return only;
}

/* Does a kernel write state, and touch the arena, that need not run after the given one? That would have to wait for
 * its checks, and what it reads would stay alive until then. */
static bool keeps_writers_waiting(const struct task_list *l, int task)
{
    struct arena scratch = {0};
    bool *after = arena_array(&scratch, bool, (size_t)l->count + 1);
    bool found = false;
    after[task] = true;
    for (int i = 0; i < l->count; i++) {
        const struct task *t = &l->tasks[i];
        found |= !after[i] && t->writes_state && t->touches.count > 0;
        for (size_t e = 0; after[i] && e < t->successors.count; e++)
            after[t->successors.data[e]] = true;
    }
    arena_free(&scratch);
    return found;
}

/* A loss reads what BatchNormalization computed while it stored the running statistics. Its labels do not depend on
 * that: such checks become kernels of their own, in front of the kernel they stood in. So do those of a kernel at the
 * end of the gradient (of an embedding): else all updates would wait for it. */
static bool detach_checks(const struct task_list *tasks, struct lowered *l)
{
    const bool *const after_write = find_after_write(tasks);
    bool any = false;
    for (int i = tasks->count - 1; i >= 0; i--) {
        struct kernel *const k = tasks->tasks[i].kernel;
        if (k->checks.count == 0 || kernel_only_checks(k) || (!after_write[i] && !keeps_writers_waiting(tasks, i)))
            continue;
        struct kernel *const only = only_checks(l->arena, k);
        vec_push(l->arena, &l->kernels, NULL);
        memmove(&l->kernels.data[i + 1], &l->kernels.data[i],
                (l->kernels.count - 1 - (size_t)i) * sizeof *l->kernels.data);
        l->kernels.data[i] = only;
        any = true;
    }
    return any;
}

/* Every kernel that can fail -> a task between -> every kernel that writes state. */
static bool add_failure_edges(struct diag *d, struct task_list *l)
{
    const bool *const after_write = find_after_write(l);
    const int between = l->count;
    bool ok = true;
    for (int i = 0; i < between; i++) {
        const struct task *t = &l->tasks[i];
        if (after_write[i] && t->can_fail && !t->writes_state)
            ok = diag_error(d, t->kernel->nodes.count ? &t->kernel->nodes.data[0]->loc : NULL,
                            "the check of its indices can only run after a variable was written");
        else if (t->can_fail && !t->writes_state)
            add_edge(l, i, between);
    }
    if (l->tasks[between].predecessors.count == 0)
        return ok;
    l->count++;
    for (int i = 0; i < between; i++)
        if (l->tasks[i].writes_state)
            add_edge(l, between, i);
    return ok;
}

bool tasks_make(struct diag *d, struct arena *a, struct lowered *l, struct task_list *out)
{
    *out = (struct task_list){.arena = a};
    fill_tasks(out, l);
    if (detach_checks(out, l)) {
        *out = (struct task_list){.arena = a};
        fill_tasks(out, l);
    }
    return add_failure_edges(d, out);
}
