/* Attributes of nodes, and their defaults from the schema. */
#include "graph/op_def.h"

#include <string.h>

/* ---- makers ------------------------------------------------------------------------------------------------------ */

struct attr attr_float(const char *name, double x)
{
    return (struct attr){.name = name, .type = ATTR_FLOAT, .f = x};
}

struct attr attr_int(const char *name, int64_t x)
{
    return (struct attr){.name = name, .type = ATTR_INT, .i = x};
}

struct attr attr_string(const char *name, const char *x)
{
    return (struct attr){.name = name, .type = ATTR_STRING, .s = x};
}

struct attr attr_ints(const char *name, const int64_t *x, size_t count)
{
    return (struct attr){.name = name, .type = ATTR_INTS, .ints = x, .count = count};
}

struct attr attr_size(const char *name, const struct size *x)
{
    return (struct attr){.name = name, .type = ATTR_INT, .i = x->most, .per = x->per != 0 ? &x->per : NULL};
}

struct attr attr_dims(const char *name, const struct shape *s)
{
    return (struct attr){.name = name, .type = ATTR_INTS, .ints = s->dim, .per = shape_is_constant(s) ? NULL : s->per,
                         .count = (size_t)s->rank};
}

/* ---- equality ---------------------------------------------------------------------------------------------------- */

static size_t int_count(const struct attr *x)
{
    return x->type == ATTR_INT ? 1 : x->count;
}

static bool equal_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool equal_bytes(const void *a, const void *b, size_t size)
{
    return a == b || (a != NULL && b != NULL && memcmp(a, b, size) == 0);
}

static bool equal_strings(const struct attr *a, const struct attr *b)
{
    if (a->strings == NULL || b->strings == NULL)
        return a->strings == b->strings;
    for (size_t i = 0; i < a->count; i++)
        if (!equal_text(a->strings[i], b->strings[i]))
            return false;
    return true;
}

bool attr_equal(const struct attr *a, const struct attr *b)
{
    if (strcmp(a->name, b->name) != 0 || a->type != b->type || a->i != b->i || a->count != b->count || a->g != b->g)
        return false;
    if (!equal_bytes(&a->f, &b->f, sizeof a->f) || !equal_text(a->s, b->s) || !equal_strings(a, b))
        return false;
    if (a->t != b->t && (a->t == NULL || b->t == NULL || !tensor_identical(a->t, b->t)))
        return false;
    return equal_bytes(a->ints, b->ints, a->count * sizeof *a->ints) &&
           equal_bytes(a->per, b->per, int_count(a) * sizeof *a->per) &&
           equal_bytes(a->floats, b->floats, a->count * sizeof *a->floats);
}

/* ---- attributes of a node ---------------------------------------------------------------------------------------- */

static struct attr *find(const struct node *n, const char *name)
{
    for (size_t i = 0; i < n->attrs.count; i++)
        if (strcmp(n->attrs.data[i].name, name) == 0)
            return &n->attrs.data[i];
    return NULL;
}

const struct attr *node_attr(const struct node *n, const char *name)
{
    return find(n, name);
}

/* What the attribute points to is copied but for tensors and graphs, which never change. */
static void own_content(struct arena *a, struct attr *x)
{
    if (x->s != NULL)
        x->s = arena_strdup(a, x->s);
    if (x->ints != NULL)
        x->ints = arena_copy(a, x->ints, x->count * sizeof *x->ints, alignof(int64_t));
    if (x->per != NULL)
        x->per = arena_copy(a, x->per, int_count(x) * sizeof *x->per, alignof(int64_t));
    if (x->floats != NULL)
        x->floats = arena_copy(a, x->floats, x->count * sizeof *x->floats, alignof(double));
    if (x->strings != NULL)
        x->strings = arena_copy(a, x->strings, x->count * sizeof *x->strings, alignof(char *));
}

void node_set_attr(struct node *n, struct attr a)
{
    own_content(n->graph->arena, &a);
    struct attr *old = find(n, a.name);
    if (old != NULL)
        *old = a;
    else
        vec_push(n->graph->arena, &n->attrs, a);
}

void node_remove_attr(struct node *n, const char *name)
{
    const struct attr *old = find(n, name);
    if (old != NULL)
        vec_remove(&n->attrs, (size_t)(old - n->attrs.data));
}

/* ---- with the schema's defaults ---------------------------------------------------------------------------------- */

/* An attribute of the wrong type, or one that the schema does not know, is a mistake of ours: import refuses them. */
static const struct attr *given(const struct node *n, const char *name, enum attr_type type)
{
    const struct attr *a = find(n, name);
    if (a != NULL && a->type != type)
        UNREACHABLE("attribute '%s' of %s is of type %s, asked for as %s", name, n->def->name, attr_type_name(a->type),
                    attr_type_name(type));
    return a;
}

static const struct op_attr *by_schema(const struct node *n, const char *name, enum attr_type type)
{
    for (const struct op_attr *a = n->def->attrs; a != NULL && a->name != NULL; a++)
        if (strcmp(a->name, name) == 0 && a->type == type && !a->required && !a->no_default)
            return a;
    UNREACHABLE("attribute '%s' of %s is absent and has no default", name, n->def->name);
}

double op_attr_float(const struct node *n, const char *name)
{
    const struct attr *a = given(n, name, ATTR_FLOAT);
    return a != NULL ? a->f : by_schema(n, name, ATTR_FLOAT)->float_default;
}

int64_t op_attr_int(const struct node *n, const char *name)
{
    const struct attr *a = given(n, name, ATTR_INT);
    return a != NULL ? a->i : by_schema(n, name, ATTR_INT)->int_default;
}

const char *op_attr_string(const struct node *n, const char *name)
{
    const struct attr *a = given(n, name, ATTR_STRING);
    return a != NULL ? a->s : by_schema(n, name, ATTR_STRING)->string_default;
}

bool op_attr_ints(const struct node *n, const char *name, const int64_t **x, size_t *count)
{
    const struct attr *a = given(n, name, ATTR_INTS);
    *x = a != NULL ? a->ints : NULL;
    *count = a != NULL ? a->count : 0;
    return a != NULL;
}

struct size op_attr_size(const struct node *n, const char *name)
{
    const struct attr *const a = given(n, name, ATTR_INT);
    return (struct size){op_attr_int(n, name), a != NULL && a->per != NULL ? *a->per : 0};
}

struct shape op_attr_dims(const struct node *n, const char *name)
{
    const struct attr *const a = given(n, name, ATTR_INTS);
    struct shape s = SHAPE_SCALAR;
    for (size_t d = 0; a != NULL && d < a->count && d < SHAPE_MAX_RANK; d++)
        shape_add(&s, (struct size){a->ints[d], a->per != NULL ? a->per[d] : 0});
    return s;
}
