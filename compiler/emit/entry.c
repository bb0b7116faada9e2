#include "emit/entry.h"

/* ---- building ---------------------------------------------------------------------------------------------------- */

static bool same_guard(struct guard a, struct guard b)
{
    for (int i = 0; i < a.count && a.count == b.count; i++)
        if (a.output[i] != b.output[i])
            return false;
    return a.count == b.count;
}

struct pointer_search {
    struct arena *arena;
    tree_vars *found;
};

static bool note_pointer(const struct expr *e, void *data)
{
    const struct pointer_search *const s = data;
    const struct tree_var *const v = tree_var_of(e);
    if (v && v->kind == VAR_POINTER && v->value && !tree_has(s->found, v))
        vec_push(s->arena, s->found, v);
    return false;
}

void entry_add_step(struct entry_steps *l, struct entry_step s)
{
    const struct entry_step *const before = l->steps.count ? &l->steps.data[l->steps.count - 1] : NULL;
    s.block = before == NULL ? 0 : same_guard(before->guard, s.guard) ? before->block : before->block + 1;
    tree_any(&s.body, note_pointer, &(struct pointer_search){l->arena, &s.pointers});
    vec_push(l->arena, &l->steps, s);
}

static const struct expr *is_wanted(const struct entry_steps *l, int output)
{
    struct arena *const a = l->arena;
    return index_compare(a, EXPR_NE, tree_address(a, l->outputs[output], index_constant(a, 0)), tree_null(a));
}

const struct expr *entry_guard(const struct entry_steps *l, struct guard guard)
{
    const struct expr *condition = guard.count > 0 ? is_wanted(l, guard.output[0]) : NULL;
    for (int i = 1; i < guard.count; i++)
        condition = index_binary(l->arena, EXPR_EITHER, condition, is_wanted(l, guard.output[i]));
    return condition;
}

void entry_put_check(struct tree_builder *b, const struct expr *call, const struct expr *status)
{
    tree_open_if(b, index_compare(b->arena, EXPR_NE, call, index_text(b->arena, "STEPC_OK")));
    tree_return(b, status);
    tree_close(b);
}

/* ---- pointers ---------------------------------------------------------------------------------------------------- */

/* One that steps of a range name, counted from its first: the first and the last of them. */
struct named_pointer {
    const struct tree_var *var;
    size_t first, last;
};
typedef VEC(struct named_pointer) named_pointers;

/* Of steps first .. end - 1, of which some are put down. */
struct step_range {
    const struct entry_steps *l;
    size_t first, end;
    named_pointers named; /* in the order of their first steps */
};

static const struct entry_step *step_of(const struct step_range *r, size_t i)
{
    return &r->l->steps.data[r->first + i];
}

static bool begins_block(const struct step_range *r, size_t i)
{
    return i == 0 || step_of(r, i - 1)->block != step_of(r, i)->block;
}

static bool ends_block(const struct step_range *r, size_t i)
{
    return r->first + i + 1 == r->end || step_of(r, i + 1)->block != step_of(r, i)->block;
}

static void note_named(struct step_range *r, const struct tree_var *v, size_t step)
{
    vec_each_ptr (struct named_pointer, p, &r->named)
        if (p->var == v) {
            p->last = step;
            return;
        }
    vec_push(r->l->arena, &r->named, ((struct named_pointer){v, step, step}));
}

static bool is_inside(const struct step_range *r, const struct named_pointer *p)
{
    const struct entry_step *const first = step_of(r, p->first), *const last = step_of(r, p->last);
    return first->guard.count == 0 || first->block == last->block;
}

/* Where the output is wanted in any case, the pointer is that. */
static void declare(const struct entry_steps *l, const struct tree_var *v, struct guard guard, struct tree_builder *b)
{
    const struct expr *place = v->value;
    const bool asks_one = place->op == EXPR_SELECT && guard.count == 1;
    if (asks_one && place->arg[1]->var == l->outputs[guard.output[0]])
        place = place->arg[1];
    tree_declare(b, v, place);
}

/* Those whose first step is one of from .. end - 1 and that hold inside of its block, or before it. */
static void declare_pointers(const struct step_range *r, size_t from, size_t end, bool inside, struct guard guard,
                             struct tree_builder *b)
{
    vec_each_ptr (const struct named_pointer, p, &r->named)
        if (p->first >= from && p->first < end && is_inside(r, p) == inside)
            declare(r->l, p->var, guard, b);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

void entry_put_steps(const struct entry_steps *l, size_t first, size_t end, struct tree_builder *b)
{
    struct step_range r = {.l = l, .first = first, .end = end};
    for (size_t i = 0; i < end - first; i++)
        vec_each(const struct tree_var *, v, &step_of(&r, i)->pointers)
            note_named(&r, v, i);
    for (size_t i = 0, block_end = 0; i < end - first; i++) {
        const struct entry_step *const s = step_of(&r, i);
        const struct expr *const guard = entry_guard(l, s->guard);
        if (begins_block(&r, i)) {
            while (block_end == i || !ends_block(&r, block_end - 1))
                block_end++;
            declare_pointers(&r, i, block_end, false, (struct guard){0}, b);
            if (guard)
                tree_open_if(b, guard);
        }
        declare_pointers(&r, i, i + 1, true, s->guard, b);
        vec_each(const struct stmt *, statement, &s->body)
            vec_push(l->arena, b->at, statement);
        if (guard && ends_block(&r, i))
            tree_close(b);
    }
}

static bool names(const struct expr *e, void *param)
{
    const struct tree_var *const v = tree_var_of(e);
    return v && (v == param || v->of == param);
}

bool entry_uses(const stmt_list *body, const struct tree_var *param)
{
    return tree_any(body, names, (void *)(uintptr_t)param);
}
