#include "prepare/fix_inputs.h"

#include "base/checked.h"
#include "base/map.h"
#include <string.h>

enum { MOST_FILLED = 1 << 26 }; /* elements that one number stands for: the model keeps each of them */

/* One setting of an input while it is read. */
struct setting {
    struct diag *diag;
    struct arena *arena;
    const struct import_options *import;
    const char *name, *value;
    const struct model_value_info *input;
};

static bool refuse(const struct setting *s, const char *why)
{
    return diag_error(s->diag, &s->input->loc, "--set %s=%s: %s", s->name, s->value, why);
}

/* ---- the shape --------------------------------------------------------------------------------------------------- */

/* -1: nothing says it. */
static int64_t size_of_dim(const struct setting *s, const struct model_dim *dim)
{
    const int64_t *const given = dim->param[0] != '\0' && s->import->dims ? map_get(s->import->dims, dim->param) : NULL;
    return dim->value >= 0 ? dim->value : given ? *given : -1;
}

/* Of a value with `count` elements: what is declared. One size that stays open is what is left for it. */
static bool find_shape(const struct setting *s, int64_t count, struct shape *out)
{
    const struct model_type *const t = &s->input->type;
    const struct shape *const given = s->import->shapes ? map_get(s->import->shapes, s->name) : NULL;
    int64_t known = 1;
    int open = -1;
    if (given || !t->has_shape) {
        *out = given ? *given : count == 1 ? (struct shape){0} : SHAPE(count);
        return true;
    }
    out->rank = (int)t->dims.count;
    for (int k = 0; k < out->rank; k++) {
        out->dim[k] = size_of_dim(s, &t->dims.data[k]);
        if (out->dim[k] < 0 && open >= 0)
            return refuse(s, "the input has more than one size that is not known; --dim and --shape give sizes");
        if (out->dim[k] < 0)
            open = k;
        else if (!checked_mul(known, out->dim[k], &known))
            return refuse(s, "the input is too large");
    }
    if (open >= 0 && (known == 0 || count % known != 0))
        return refuse(s, "the input has a size that is not known; --dim and --shape give sizes");
    if (open >= 0)
        out->dim[open] = count / known;
    return true;
}

/* ---- from text --------------------------------------------------------------------------------------------------- */

static bool read_bool(const char *text, long long *x)
{
    *x = str_equal(text, "true") || str_equal(text, "1");
    return *x || str_equal(text, "false") || str_equal(text, "0");
}

static bool read_element(struct tensor *t, int64_t i, const char *text)
{
    long long x;
    double f;
    if (dtype_is_float(t->dtype)) {
        if (!str_to_double(text, &f))
            return false;
        tensor_set_double(t, i, f);
        return true;
    }
    if (t->dtype == DTYPE_BOOL ? !read_bool(text, &x)
                               : !str_to_int64(text, &x) || dtype_wrap(t->dtype, x) != x ||
                                     (x < 0 && !dtype_is_signed(t->dtype)))
        return false;
    tensor_set_int(t, i, x);
    return true;
}

static const char *expected_text(enum dtype dtype)
{
    return dtype == DTYPE_BOOL       ? "true or false, or several with commas between"
           : dtype_is_float(dtype)   ? "a number, or several with commas between"
           : dtype_is_signed(dtype)  ? "a whole number, or several with commas between"
                                     : "a whole number from 0, or several with commas between";
}

static const struct tensor *read_text(const struct setting *s)
{
    const enum dtype dtype = s->input->type.elem;
    int64_t count = 1, elements;
    struct shape shape;
    for (const char *c = s->value; *c; c++)
        count += *c == ',';
    if (!find_shape(s, count, &shape))
        return NULL;
    if (!shape_count_checked(&shape, &elements) || (count != elements && count != 1)) {
        refuse(s, arena_printf(s->arena, "%lld value%s for an input of shape %s", (long long)count,
                               str_plural((size_t)count), shape_text(s->arena, &shape)));
        return NULL;
    }
    if (elements > count && elements > MOST_FILLED) {
        refuse(s, arena_printf(s->arena, "one number for all of %s: an input of up to %d elements can be filled so",
                               shape_text(s->arena, &shape), MOST_FILLED));
        return NULL;
    }
    struct tensor *const t = tensor_new(s->arena, dtype, &shape);
    const char *at = s->value;
    for (int64_t i = 0; i < elements; i++) {
        const size_t n = strcspn(at, ",");
        if (!read_element(t, i, arena_strndup(s->arena, at, n))) {
            refuse(s, arena_printf(s->arena, "the input is %s: expected %s", dtype_name(dtype), expected_text(dtype)));
            return NULL;
        }
        at += count == 1 ? 0 : n + (at[n] == ',');
    }
    return t;
}

/* ---- from a file ------------------------------------------------------------------------------------------------- */

static const struct tensor *read_file(const struct setting *s)
{
    struct tensor *t;
    const char *name;
    struct shape shape;
    if (!tensor_file_read(s->diag, s->arena, s->value + 1, &t, &name) || !find_shape(s, t->count, &shape))
        return NULL;
    if (t->dtype != s->input->type.elem || !shape_equal(&t->shape, &shape)) {
        refuse(s, arena_printf(s->arena, "the file holds %s%s, expected %s%s", dtype_name(t->dtype),
                               shape_text(s->arena, &t->shape), dtype_name(s->input->type.elem),
                               shape_text(s->arena, &shape)));
        return NULL;
    }
    return t;
}

/* ---- in the model ------------------------------------------------------------------------------------------------ */

static void remove_input(struct model_graph *g, const char *name)
{
    size_t kept = 0;
    vec_each(struct model_value_info *, vi, &g->inputs)
        if (!str_equal(vi->name, name))
            g->inputs.data[kept++] = vi;
    g->inputs.count = kept;
    kept = 0;
    vec_each(struct model_initializer *, init, &g->initializers) /* what the input was by default */
        if (!str_equal(init->name, name))
            g->initializers.data[kept++] = init;
    g->initializers.count = kept;
}

/* The Constant stands in front of all nodes. */
static void add_constant(struct arena *a, struct model_graph *g, const char *name, struct tensor *t)
{
    struct model_node *const n =
        model_add_node(a, g, "", "Constant", (const char *[]){NULL}, (const char *[]){name, NULL});
    model_set_tensor(a, n, "value", t);
    memmove(g->nodes.data + 1, g->nodes.data, (g->nodes.count - 1) * sizeof *g->nodes.data);
    g->nodes.data[0] = n;
}

static bool fix(const struct setting *s, struct model_graph *g)
{
    if (s->input->type.kind != TYPE_TENSOR || s->input->type.elem == DTYPE_STRING)
        return refuse(s, "only tensors of numbers and bool can be set");
    if (s->input->type.elem == DTYPE_UNDEFINED)
        return refuse(s, "the input has no element type");
    const struct tensor *const t = s->value[0] == '@' ? read_file(s) : read_text(s);
    if (t == NULL)
        return false;
    remove_input(g, s->name);
    add_constant(s->arena, g, s->name, (struct tensor *)t);
    return true;
}

bool fix_input(struct diag *d, struct arena *a, struct model *m, const struct import_options *o, const char *name,
               const char *value, bool *found)
{
    struct setting s = {.diag = d, .arena = a, .import = o, .name = name, .value = value};
    s.input = model_find_value(&m->graph->inputs, name);
    *found = s.input != NULL;
    const bool in_main_graph = *found;
    if (in_main_graph && !fix(&s, m->graph))
        return false;
    vec_each(struct model_training *, t, &m->training) {
        s.input = t->algorithm ? model_find_value(&t->algorithm->inputs, name) : NULL;
        *found = *found || s.input != NULL;
        if (s.input && in_main_graph) /* it sees what the main graph has */
            remove_input(t->algorithm, name);
        else if (s.input && !fix(&s, t->algorithm))
            return false;
    }
    return true;
}
