/* Sines of a row at a time. Some elementary functions have a short way for nearly all arguments and a long one for the
 * others. Compilers find no vectors where each element asks which one it takes, so a row asks once, in a routine of the
 * runtime (stepc_sin_row()):
 *
 *   for (i..256)                  for (i..256, by 64) {
 *       y[i] = sin(x[i]);             float angle[64];
 *                                     for (l..64) angle[l] = x[i + l];
 *                            ->       stepc_sin_row(angle, 64);
 *                                     for (l..64) y[i + l] = angle[l];
 *                                 }
 *
 * What is left of a loop whose count is no multiple stays as it was. Not where size goes before speed, nor without
 * vectors: there numbers go one by one. The bits are the same. */
#include "tune/tune.h"


enum { ROW = 64, SHORTEST = 8, MOST_ROWS = 4 };

static const char *row_routine(const struct expr *e)
{
    static const char *const routines[EXPR_FN_COUNT] = {
        [EXPR_FN_SIN] = "stepc_sin_row", [EXPR_FN_COS] = "stepc_cos_row", [EXPR_FN_TAN] = "stepc_tan_row"};
    return e->op == EXPR_MATH && e->dtype == DTYPE_FLOAT ? routines[e->fn] : NULL;
}

static bool has_routine(const struct expr *e, void *data)
{
    (void)data;
    return row_routine(e) != NULL;
}

/* ---- which calls ------------------------------------------------------------------------------------------------- */

struct row {
    const struct expr *call;
    const struct tree_var *array;
};

struct call_rows {
    struct arena *arena;
    const struct stmt *loop;
    VEC(const struct expr *) found; /* all calls; */
    struct row row[MOST_ROWS];      /* those that go first */
    size_t count;
    const struct tree_var *lane; /* the loop over a row */
};

/* ---- what may be computed ahead of the loop's stores ------------------------------------------------------------- */

static bool holds(const struct expr *index, const struct tree_var *v)
{
    bool found = index->op == EXPR_VAR && index->var == v;
    for (int i = 0; i < expr_arg_count(index) && !found; i++)
        found = holds(index->arg[i], v);
    return found;
}

/* Is the index another one in each iteration? A sum or a multiple of the loop's variable. */
static bool steps_with(const struct expr *e, const struct tree_var *v)
{
    if (e->op == EXPR_VAR)
        return e->var == v;
    if (e->op == EXPR_MUL)
        return steps_with(e->arg[0], v) && index_is_constant(e->arg[1]) && !index_is(e->arg[1], 0);
    if (e->op != EXPR_ADD && e->op != EXPR_SUB)
        return false;
    const bool in_first = holds(e->arg[0], v), in_second = holds(e->arg[1], v);
    return in_first != in_second && steps_with(e->arg[in_second], v);
}

struct row_reading {
    const struct stmt *loop;
    size_t at; /* the statement that reads */
};

/* Is it something that the loop writes? But for the element that this or a later statement of the same iteration
 * stores, and no other iteration: y[i] = sin(y[i]). */
static bool is_unsettled(const struct expr *e, void *data)
{
    const struct row_reading *const r = data;
    if (e->op != EXPR_VAR && e->op != EXPR_ELEMENT && e->op != EXPR_ADDRESS)
        return false;
    for (size_t i = 0; i < r->loop->body.count; i++) {
        const struct stmt *const s = r->loop->body.data[i];
        if (s->kind != STMT_SET || s->target->var != e->var)
            continue;
        if (i < r->at || e->op != EXPR_ELEMENT || !tree_same_place(s->target, e) ||
            !steps_with(e->arg[0], r->loop->var))
            return true;
    }
    return false;
}

static bool is_settled(const struct stmt *loop, size_t at, const struct expr *e)
{
    return !expr_any(e, is_unsettled, &(struct row_reading){loop, at});
}

static bool names_var(const struct expr *e, void *var)
{
    return e->op == EXPR_VAR && e->var == var;
}

/* Marks the declarations that e reads, itself or through others. */
static void mark_needed(const struct stmt *loop, const struct expr *e, bool *needed)
{
    for (size_t i = loop->body.count; i-- > 0;) {
        const struct stmt *const s = loop->body.data[i];
        if (s->kind != STMT_DECLARE || needed[i] || !expr_any(e, names_var, (void *)(uintptr_t)s->var))
            continue;
        needed[i] = true;
        mark_needed(loop, s->value, needed);
    }
}

/* Does the argument hold no other call, nor what it reads? */
static bool is_first(const struct call_rows *r, const struct expr *call)
{
    bool *const needed = arena_array(r->arena, bool, r->loop->body.count + 1), first = true;
    mark_needed(r->loop, call->arg[0], needed);
    for (size_t i = 0; i < r->loop->body.count; i++)
        first = first && !(needed[i] && expr_any(r->loop->body.data[i]->value, has_routine, NULL));
    return first && !expr_any(call->arg[0], has_routine, NULL);
}

static bool note_call(const struct expr *e, void *data)
{
    struct call_rows *const r = data;
    bool is_new = row_routine(e) != NULL;
    for (size_t i = 0; i < r->found.count; i++)
        is_new = is_new && r->found.data[i] != e;
    if (is_new)
        vec_push(r->arena, &r->found, e);
    return false;
}

/* Notes the calls that wait for no other. */
static void find_rows(struct call_rows *r)
{
    tree_any(&(stmt_list){.data = &r->loop, .count = 1}, note_call, r);
    for (size_t i = 0; i < r->found.count && r->count < MOST_ROWS; i++)
        if (is_first(r, r->found.data[i]))
            r->row[r->count++].call = r->found.data[i];
}

static bool is_node(const struct expr *e, void *node)
{
    return e == node;
}

static bool reads_call(const struct stmt *s, const struct expr *call)
{
    for (int i = 0; i < STMT_EXPRS; i++)
        if (s->expr[i] && expr_any(s->expr[i], is_node, (void *)(uintptr_t)call))
            return true;
    return false;
}

static bool may_go_ahead(const struct call_rows *r, const bool *needed)
{
    const stmt_list *const body = &r->loop->body;
    for (size_t i = 0; i < body->count; i++) {
        const struct stmt *const s = body->data[i];
        if (needed[i] && (!s->value || !is_settled(r->loop, i, s->value)))
            return false;
        for (size_t c = 0; c < r->count; c++)
            if (reads_call(s, r->row[c].call) && !is_settled(r->loop, i, r->row[c].call->arg[0]))
                return false;
    }
    return true;
}

/* A loop by ones over declarations of values and stores. */
static bool is_plain_loop(const struct stmt *s)
{
    if (s->kind != STMT_LOOP || s->step != 1 || s->condition || s->by || s->next || !s->to ||
        s->to->op == EXPR_CALL) /* STEPC_REST(15) is for one loop alone */
        return false;
    for (size_t i = 0; i < s->body.count; i++) {
        const struct stmt *const of = s->body.data[i];
        const bool is_value = of->kind == STMT_DECLARE && of->var->kind == VAR_VALUE && of->value;
        if (!is_value && of->kind != STMT_SET)
            return false;
    }
    return true;
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

struct move {
    const struct call_rows *r;
    const struct expr *index; /* in place of the loop's variable */
    bool in_rows;             /* calls are elements of their rows */
};

static const struct expr *moved_node(const struct expr *e, void *data)
{
    const struct move *const m = data;
    const struct call_rows *const r = m->r;
    if (e->op == EXPR_VAR && e->var == r->loop->var)
        return m->index;
    for (size_t i = 0; m->in_rows && i < r->count; i++)
        if (r->row[i].call == e)
            return tree_element(r->arena, r->row[i].array, tree_read(r->arena, r->lane));
    return NULL;
}

static const struct expr *moved(const struct call_rows *r, const struct expr *e, const struct expr *index, bool in_rows)
{
    return e ? tree_with(r->arena, e, moved_node, &(struct move){r, index, in_rows}) : NULL;
}

/* What the rows of one turn are: where it begins, how many elements it has, at most so many. */
struct turn {
    const struct expr *base, *width;
    int64_t most;
};

/* Opens for (l..width); returns the index of the loop as it was. Where the width is a variable, l has no range: with
 * the beginning of its row it stays below the end, which two ranges by themselves do not tell. */
static const struct expr *open_lanes(struct call_rows *r, struct tree_builder *b, const struct turn *t,
                                     const char *name, enum loop_kind kind)
{
    struct tree_var *const l = tree_index_var(r->arena, VAR_LOOP, "int", name, 0, t->most - 1);
    l->has_range = t->width->op != EXPR_VAR;
    r->lane = l;
    tree_open_loop(b, l, index_constant(r->arena, 0), t->width, 1, kind);
    return index_add(r->arena, t->base, tree_read(r->arena, l));
}

/* Marks the declarations that e reads where calls are elements of their rows. */
static void mark_left(const struct call_rows *r, const struct expr *e, bool *left)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->row[i].call == e)
            return;
    for (size_t i = 0; e->op == EXPR_VAR && i < r->loop->body.count; i++) {
        const struct stmt *const s = r->loop->body.data[i];
        if (s->kind == STMT_DECLARE && s->var == e->var && !left[i]) {
            left[i] = true;
            mark_left(r, s->value, left);
        }
    }
    for (int i = 0; i < expr_arg_count(e); i++)
        mark_left(r, e->arg[i], left);
    for (size_t i = 0; e->op == EXPR_CALL && i < e->call->count; i++)
        mark_left(r, e->call->args[i], left);
}

static void declare_again(struct call_rows *r, struct tree_builder *b, const struct stmt *s, const struct expr *index)
{
    tree_declare(b, s->var, moved(r, s->value, index, false));
}

static void fill_rows(struct call_rows *r, struct tree_builder *b, const struct turn *t, const bool *needed,
                      const char *lane)
{
    const struct expr *const index = open_lanes(r, b, t, lane, LOOP_PLAIN);
    for (size_t i = 0; i < r->loop->body.count; i++)
        if (needed[i])
            declare_again(r, b, r->loop->body.data[i], index);
    for (size_t c = 0; c < r->count; c++)
        tree_set(b, tree_element(r->arena, r->row[c].array, tree_read(r->arena, r->lane)), SET_TO,
                 moved(r, r->row[c].call->arg[0], index, false));
    tree_close(b);
}

static void read_rows(struct call_rows *r, struct tree_builder *b, const struct turn *t, const char *lane)
{
    const struct expr *const index = open_lanes(r, b, t, lane, r->loop->loop);
    bool *const left = arena_array(r->arena, bool, r->loop->body.count + 1);
    for (size_t i = 0; i < r->loop->body.count; i++) {
        const struct stmt *const s = r->loop->body.data[i];
        if (s->kind == STMT_SET) {
            mark_left(r, s->value, left);
            mark_left(r, s->target, left);
        }
    }
    for (size_t i = 0; i < r->loop->body.count; i++) {
        const struct stmt *const s = r->loop->body.data[i];
        if (s->kind == STMT_DECLARE && !left[i])
            continue;
        struct stmt *const made = arena_copy(r->arena, s, sizeof *s, alignof(struct stmt));
        made->value = moved(r, s->value, index, true);
        made->target = moved(r, s->target, index, true);
        vec_push(r->arena, b->at, made);
    }
    tree_close(b);
}

static void write_row(struct call_rows *r, struct tree_builder *b, const struct turn *t, const char *lane,
                      const bool *needed)
{
    struct arena *const a = r->arena;
    for (size_t c = 0; c < r->count; c++) {
        struct tree_var *const v = tree_var(a, VAR_ARRAY, DTYPE_FLOAT, "float", "angle");
        v->count = t->most;
        r->row[c].array = v;
        tree_declare_array(b, v, NULL, 0);
    }
    fill_rows(r, b, t, needed, lane);
    for (size_t c = 0; c < r->count; c++) {
        const struct expr *const args[] = {tree_address(a, r->row[c].array, index_constant(a, 0)), t->width};
        tree_run(b, tree_call(a, DTYPE_INDEX, CALL_HELPER, row_routine(r->row[c].call), args, 2));
    }
    read_rows(r, b, t, lane);
}

/* The length that leaves the fewest elements behind, the longer the better. */
static int64_t row_length(int64_t count)
{
    int64_t best = count < ROW ? count - count % SHORTEST : ROW;
    for (int64_t length = best; count > ROW && length >= 2 * SHORTEST; length -= SHORTEST)
        if (count % length < count % best)
            best = length;
    return best;
}

/* The loop over rows, with its variable. */
static const struct expr *open_rows(struct call_rows *r, struct tree_builder *b, const struct expr *from,
                                    const struct expr *to, int64_t high, int64_t length)
{
    struct tree_var *const v = arena_copy(r->arena, r->loop->var, sizeof *v, alignof(struct tree_var));
    v->high = high;
    tree_open_loop(b, v, from, to, length, LOOP_PLAIN);
    return tree_read(r->arena, v);
}

static void write_known(struct call_rows *r, struct tree_builder *b, const bool *needed)
{
    struct arena *const a = r->arena;
    const int64_t from = r->loop->from->i, to = r->loop->to->i, length = row_length(to - from);
    const int64_t whole = from + (to - from) / length * length;
    struct turn t = {.base = r->loop->from, .width = index_constant(a, length), .most = length};
    const bool several = whole - from > length;
    if (several)
        t.base = open_rows(r, b, r->loop->from, index_constant(a, whole), whole - length, length);
    write_row(r, b, &t, several ? "l" : r->loop->var->name, needed);
    if (several)
        tree_close(b);
    if (whole < to) {
        struct stmt *const rest = arena_copy(a, r->loop, sizeof *rest, alignof(struct stmt));
        rest->from = index_constant(a, whole);
        vec_push(a, b->at, rest);
    }
}

/* Bounds that the program knows when it runs: the last row may be shorter. */
static void write_unknown(struct call_rows *r, struct tree_builder *b, const bool *needed)
{
    struct arena *const a = r->arena;
    struct turn t = {.most = ROW};
    t.base = open_rows(r, b, r->loop->from, r->loop->to, r->loop->var->high, ROW);
    const struct expr *const left = index_sub(a, r->loop->to, t.base);
    struct tree_var *const width = tree_index_var(a, VAR_VALUE, "int", "width", 1, ROW);
    tree_declare(b, width, index_cast(a, "int", index_smaller(a, left, index_constant(a, ROW))));
    t.width = tree_read(a, width);
    write_row(r, b, &t, "l", needed);
    tree_close(b);
}

static bool take_rows(struct call_rows *r, struct tree_builder *b)
{
    if (!is_plain_loop(r->loop))
        return false;
    const bool is_known = index_is_constant(r->loop->from) && index_is_constant(r->loop->to);
    if (is_known && r->loop->to->i - r->loop->from->i < SHORTEST)
        return false;
    find_rows(r);
    bool *const needed = arena_array(r->arena, bool, r->loop->body.count + 1);
    for (size_t i = 0; i < r->count; i++)
        mark_needed(r->loop, r->row[i].call->arg[0], needed);
    if (r->count == 0 || !may_go_ahead(r, needed))
        return false;
    if (is_known)
        write_known(r, b, needed);
    else
        write_unknown(r, b, needed);
    return true;
}

static bool take_loop(const struct tune *t, struct stmt *s, struct tree_builder *b)
{
    struct call_rows r = {.arena = t->arena, .loop = s};
    return take_rows(&r, b);
}

/* What rows leave may have calls whose arguments held others. */
void tune_row_calls(const struct tune *t, stmt_list *body)
{
    tune_replace(t, body, take_loop);
}
