#include "random_tree.h"

#include "emit/emit_internal.h"
#include <math.h>
#include <string.h>

static const char *verify(struct arena *a, const struct random_tree *t)
{
    tree_vars params = {0};
    vec_push(a, &params, t->y);
    vec_push(a, &params, t->x);
    vec_push(a, &params, t->z);
    return tree_verify(a, &params, &t->body);
}

struct folding {
    struct expr_scope *scope;
    VEC(const struct expr *) conditions; /* of loops: the range of a loop's variable holds in the body only */
};

static void add_conditions(struct folding *f, const stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const s = list->data[i];
        if (s->kind == STMT_LOOP && s->condition)
            vec_push(f->scope->arena, &f->conditions, s->condition);
        add_conditions(f, &s->body);
        add_conditions(f, &s->otherwise);
    }
}

static bool is_left_to_fold(const struct expr *e, void *data)
{
    const struct folding *const f = data;
    struct expr_scope *const s = f->scope;
    for (size_t i = 0; i < f->conditions.count; i++)
        if (f->conditions.data[i] == e)
            return false;
    if (e->op != EXPR_ELEMENT && (e->dtype != DTYPE_INDEX || expr_arg_count(e) == 0))
        return false;
    const char *const text = tree_expr_text(s, e, PREC_NONE);
    return strcmp(text, tree_expr_text(s, made_again(s->arena, e), PREC_NONE)) != 0;
}

/* The tree with every element of y moved by one that there is not. */
static bool refuses_broken(struct arena *a, const struct random_tree *t)
{
    struct random_tree broken = {.y = t->y, .x = t->x, .z = t->z};
    struct tree_builder b = tree_builder(a, &broken.body);
    for (size_t i = 0; i < t->body.count; i++)
        vec_push(a, &broken.body, t->body.data[i]);
    tree_set(&b, tree_element(a, t->y, index_constant(a, ELEMENTS)), SET_TO, expr_float(a, DTYPE_FLOAT, 0));
    return verify(a, &broken) != NULL;
}

const char *check_tree(struct arena *a, const struct random_tree *t)
{
    struct emission emission = {.arena = a};
    emission.helpers.arena = a;
    struct expr_scope scope = {.e = &emission, .arena = a};
    const char *const wrong = verify(a, t);
    if (wrong)
        return wrong;
    struct folding folding = {.scope = &scope};
    add_conditions(&folding, &t->body);
    if (tree_any(&t->body, is_left_to_fold, &folding))
        return "an index can be folded further";
    return refuses_broken(a, t) ? NULL : "an element outside is not found";
}

void tree_arguments(uint64_t seed, float *y, float *x, int64_t *z)
{
    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = (float)((i * 37 + (int)(seed % 11)) % 29 - 14) / 4.0f;
        y[i] = (float)(i % 7) - 3.0f;
    }
    x[5] = NAN;
    x[11] = -0.0f;
    x[17] = INFINITY;
    for (int i = 0; i < CHOICES; i++)
        z[i] = (i * 5 + (int64_t)(seed % 3)) % (MOST_CHOICE + 1);
}
