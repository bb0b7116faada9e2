/* What emitted code expects of the C compiler's numbers, as far as the preprocessor can say it. */
#include "emit/emit_internal.h"

#include "base/str.h"
#include "lower/items.h"
#include <string.h>

static bool is_double(const struct expr *e, void *data)
{
    (void)data;
    return e->dtype == DTYPE_DOUBLE;
}

static bool stores_double(const struct part *p)
{
    vec_each_ptr(const struct store, s, &p->stores)
        if (s->to.buffer->dtype == DTYPE_DOUBLE)
            return true;
    return false;
}

static bool kernels_have_double(const struct lowered *l);

static bool kernel_has_double(const struct kernel *k)
{
    bool any = (k->kind == KERNEL_TEMPLATE && k->tmpl.type == DTYPE_DOUBLE) || kernel_any(k, is_double, NULL);
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_CHECK: any |= expr_any(it.check->value, is_double, NULL); break;
        case ITEM_PART: any |= stores_double(it.part); break;
        case ITEM_STAGE: any |= kernel_has_double(it.stage); break;
        case ITEM_REGION: any |= kernels_have_double(it.region->body); break;
        case ITEM_LOOP:
        case ITEM_INT:
        case ITEM_SCRATCH:
        case ITEM_OPERAND: /* kernel_any() */
        case ITEM_OWN: break;
        }
    return any;
}

static bool kernels_have_double(const struct lowered *l)
{
    vec_each(const struct kernel *, k, &l->kernels)
        if (kernel_has_double(k))
            return true;
    return false;
}

/* Somebody who needs 64 bits. */
static const struct double_user *user_at(struct emission *e, const struct loc *at, const char *what)
{
    struct double_user *const u = arena_new(e->arena, struct double_user);
    u->at = at ? *at : LOC_FILE(e->program->model->file);
    u->what = what;
    return u;
}

static const struct double_user *kernel_user(struct emission *e, const struct kernel *k, const char *what)
{
    return user_at(e, k->nodes.count > 0 ? &k->nodes.data[0]->loc : NULL, what);
}

static const struct double_user *user_in_entry(struct emission *e, const struct entry *entry, const struct lowered *l)
{
    const struct graph *const g = entry->graph;
    const struct double_user *u = NULL;
    for (size_t i = 0; i < g->inputs.count && !u; i++)
        if (g->inputs.data[i]->dtype == DTYPE_DOUBLE)
            u = user_at(e, NULL, arena_printf(e->arena, "input '%s' is double", g->inputs.data[i]->name));
    for (size_t i = 0; i < g->outputs.count && !u; i++)
        if (g->outputs.data[i].value->dtype == DTYPE_DOUBLE)
            u = user_at(e, NULL, arena_printf(e->arena, "output '%s' is double", g->outputs.data[i].name));
    for (size_t i = 0; i < l->kernels.count && !u; i++)
        if (kernel_has_double(l->kernels.data[i]))
            u = kernel_user(e, l->kernels.data[i], "computes in double");
    return u;
}

static bool calls_helper(struct emission *e, const struct kernel_function *f, const char *helper)
{
    for (size_t i = 0; i < f->functions.count; i++)
        if (tree_calls_helper(e->arena, f->functions.data[i], helper))
            return true;
    return false;
}

/* Some function of runtime/: with the first kernel that calls it, by itself. */
static const struct double_user *user_of_helper(struct emission *e, const char *helper)
{
    const char *const what = arena_printf(e->arena, "calls %s(), which computes in double", helper);
    for (size_t f = 0; f < e->functions.count; f++) {
        const struct kernel_function *const function = e->functions.data[f];
        if (!calls_helper(e, function, helper))
            continue;
        for (size_t i = 0; i < e->program->entries.count; i++) {
            const struct lowered *const l = e->plans[i]->lowered;
            for (size_t k = 0; k < l->kernels.count; k++)
                if (e->calls[i][k] && str_equal(e->calls[i][k], function->name))
                    return kernel_user(e, l->kernels.data[k], what);
        }
    }
    return user_at(e, NULL, what);
}

const struct double_user *find_double_user(struct emission *e)
{
    const struct double_user *u = NULL;
    for (size_t i = 0; i < e->program->variables.count && !u; i++) {
        const struct variable *const v = e->program->variables.data[i];
        if (v->dtype == DTYPE_DOUBLE)
            u = user_at(e, NULL, arena_printf(e->arena, "variable '%s' is double", v->name));
    }
    for (size_t i = 0; i < e->program->entries.count && !u; i++)
        u = user_in_entry(e, &e->program->entries.data[i], e->plans[i]->lowered);
    const char *const helper = u ? NULL : helper_with_double(e);
    return helper ? user_of_helper(e, helper) : u;
}

void section_arithmetic(struct emission *e)
{
    if (find_double_user(e))
        strbuf_add(&e->c.text, "#include <float.h>\n"
                               "#if DBL_MANT_DIG != 53\n"
                               "#error \"this file computes with numbers of 64 bits, which double has not: GCC 10 for "
                               "AVR knows -mdouble=64\"\n"
                               "#endif\n");
    if (e->options->check_finite)
        strbuf_add(&e->c.text, "\n"
                               "#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__\n"
                               "#error \"this file looks for infinities and NaN: compile it without -ffast-math or "
                               "-ffinite-math-only\"\n"
                               "#endif\n");
}
