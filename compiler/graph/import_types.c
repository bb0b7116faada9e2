/* Declared types of model values: shapes of inputs, with symbols bound, and declarations against what was inferred. */
#include "base/str.h"
#include "graph/bounded.h"
#include "graph/dim_expression.h"
#include "graph/import_internal.h"
#include "graph/import_sizes.h"

#include <string.h>

/* ---- sizes of symbols -------------------------------------------------------------------------------------------- */

/* The shape that the caller fixes for an input: --shape, else that of the fed tensor. A fed tensor of one rank more
 * than declared is a stack of values, one per step. */
static bool fixed_shape(const struct import_options *o, const struct model_value_info *vi, struct shape *shape)
{
    const struct shape *const given = o->shapes != NULL ? map_get(o->shapes, vi->name) : NULL;
    if (given != NULL) {
        *shape = *given;
        return true;
    }
    const struct tensor *const fed = o->fed != NULL ? map_get(o->fed, vi->name) : NULL;
    if (fed == NULL)
        return false;
    *shape = fed->shape;
    if (vi->type.has_shape && (size_t)fed->shape.rank == vi->type.dims.count + 1) {
        *shape = SHAPE_SCALAR;
        for (int d = 1; d < fed->shape.rank; d++)
            shape_take(shape, &fed->shape, d);
    }
    return true;
}

/* What one count more of the range adds to a size that --dim gives for the whole model. */
static int64_t per_option(const struct import_options *o, const char *symbol)
{
    const int64_t *const per = o->pers != NULL ? map_get(o->pers, symbol) : NULL;
    return per != NULL ? *per : o->range != NULL && str_equal(o->range->name, symbol);
}

static bool dim_option(const struct import_options *o, struct arena *a, const char *entry, const char *symbol,
                       struct size *out)
{
    if (o->dims == NULL)
        return false;
    const int64_t *const own = entry != NULL ? map_get(o->dims, arena_printf(a, "%s:%s", entry, symbol)) : NULL;
    const int64_t *const size = own != NULL ? own : map_get(o->dims, symbol);
    *out = (struct size){size != NULL ? *size : 0, own == NULL ? per_option(o, symbol) : 0};
    return size != NULL;
}

/* The size that some input of mg, whose shape the caller fixes, gives to a symbol; -1: none. */
static int64_t symbol_from_inputs(const struct model_graph *mg, const struct import_options *o, const char *symbol)
{
    for (size_t i = 0; mg != NULL && i < mg->inputs.count; i++) {
        const struct model_value_info *const vi = mg->inputs.data[i];
        struct shape shape;
        if (!fixed_shape(o, vi, &shape) || (size_t)shape.rank != vi->type.dims.count)
            continue;
        for (int k = 0; k < shape.rank; k++)
            if (vi->type.dims.data[k].value < 0 && strcmp(vi->type.dims.data[k].param, symbol) == 0)
                return shape.dim[k];
    }
    return -1;
}

/* What sizes are looked up in. */
struct symbols {
    const struct graph *g;
    const struct import_options *o;
    const char *entry;
    int64_t provisional; /* of symbols that nothing binds; -1: they have no size */
};

/* One scope for the whole model (docs/readings.md, R2): --dim, then inputs of the main graph and of the algorithms. */
static struct size plain_symbol_size(const void *context, const char *symbol)
{
    const struct symbols *const s = context;
    struct size option;
    if (dim_option(s->o, s->g->arena, s->entry, symbol, &option))
        return option;
    const struct model *const m = s->g->program->model;
    int64_t size = symbol_from_inputs(m->graph, s->o, symbol);
    for (size_t k = 0; size < 0 && k < m->training.count; k++)
        size = symbol_from_inputs(m->training.data[k]->algorithm, s->o, symbol);
    if (size < 0)
        size = import_size_of_weights(m->graph, symbol);
    return size_constant(size >= 0 ? size : s->provisional);
}

/* -1: nothing binds it. What is written as an expression is looked up as a name first. */
static struct size symbol_size(const struct graph *g, const struct import_options *o, const char *entry,
                               const char *symbol)
{
    struct symbols s = {g, o, entry, -1};
    const struct size size = plain_symbol_size(&s, symbol);
    if (size.most >= 0 || !dim_is_expression(symbol))
        return size;
    s.provisional = o->provisional_dim > 0 ? o->provisional_dim : -1;
    const struct size computed = dim_expression_size(g->arena, symbol, plain_symbol_size, &s);
    return computed.most == 0 && s.provisional > 0 ? size_constant(-1) : computed;
}

/* ---- shapes of inputs -------------------------------------------------------------------------------------------- */

static const char *fixed_by(const struct import_options *o, const struct model_value_info *vi)
{
    return o->shapes != NULL && map_has(o->shapes, vi->name) ? "--shape gives it" : "the tensor fed has";
}

/* Does a fixed shape agree with the declaration, and a symbol with what else binds it? */
static bool check_fixed_shape(struct graph *g, const struct model_value_info *vi, const struct import_options *o,
                              const char *entry, const struct shape *shape)
{
    if (!vi->type.has_shape)
        return true;
    if ((size_t)shape->rank != vi->type.dims.count)
        return diag_error(g->diag, &vi->loc, "input '%s' has rank %zu, but %s shape %s", vi->name, vi->type.dims.count,
                          fixed_by(o, vi), shape_text(g->arena, shape));
    bool ok = true;
    for (int k = 0; k < shape->rank; k++) {
        const struct model_dim *const dim = &vi->type.dims.data[k];
        if (dim->value >= 0 && dim->value != shape->dim[k])
            ok = diag_error(g->diag, &vi->loc, "dimension %d of input '%s' is %lld, but %s %lld", k, vi->name,
                            (long long)dim->value, fixed_by(o, vi), (long long)shape->dim[k]);
        if (dim->value >= 0 || dim->param[0] == '\0')
            continue;
        const int64_t size = symbol_size(g, o, entry, dim->param).most;
        if (size >= 0 && size != shape->dim[k])
            ok = diag_error(g->diag, &vi->loc, "dimension %d of input '%s' is '%s' = %lld, but %s %lld", k, vi->name,
                            dim->param, (long long)size, fixed_by(o, vi), (long long)shape->dim[k]);
    }
    return ok;
}

/* "--dim batch=SIZE": what an expression is made of, as far as nothing binds it. */
static const char *sizes_wanted(const struct graph *g, const struct import_options *o, const char *entry,
                                const char *symbol)
{
    const struct symbols s = {g, o, entry, -1};
    struct strbuf text = {.arena = g->arena};
    str_list names = {0};
    dim_expression_symbols(g->arena, symbol, &names);
    vec_each(const char *, name, &names)
        if (plain_symbol_size(&s, name).most < 0)
            strbuf_addf(&text, "%s--dim %s=SIZE", text.length > 0 ? " and " : "", name);
    return text.length > 0 ? strbuf_text(&text) : arena_printf(g->arena, "--dim %s=SIZE", symbol);
}

static bool bind_dim(struct graph *g, const struct model_value_info *vi, const struct import_options *o,
                     const char *entry, int k, struct shape *shape)
{
    const struct model_dim *const dim = &vi->type.dims.data[k];
    struct size size = size_constant(dim->value);
    if (size.most < 0 && dim->param[0] != '\0')
        size = symbol_size(g, o, entry, dim->param);
    if (size.most < 0 && o->provisional_dim > 0)
        size = size_constant(o->provisional_dim);
    shape_set(shape, k, size);
    if (size.most >= 0)
        return true;
    if (dim->param[0] != '\0')
        return diag_error(g->diag, &vi->loc, "dimension %d of input '%s' is '%s'; give %s", k, vi->name, dim->param,
                          sizes_wanted(g, o, entry, dim->param));
    return diag_error(g->diag, &vi->loc, "dimension %d of input '%s' is not known; give --shape %s=...", k, vi->name,
                      vi->name);
}

static bool bind_dims(struct graph *g, const struct model_value_info *vi, const struct import_options *o,
                      const char *entry, struct shape *shape)
{
    if (!vi->type.has_shape)
        return diag_error(g->diag, &vi->loc, "the shape of input '%s' is not declared; give --shape %s=...", vi->name,
                          vi->name);
    bool ok = true;
    shape->rank = (int)vi->type.dims.count;
    for (int k = 0; k < shape->rank; k++)
        if (!bind_dim(g, vi, o, entry, k, shape))
            ok = false;
    return ok;
}

static bool check_input_type(struct graph *g, const struct model_value_info *vi)
{
    static const char *const kinds[] = {"nothing", "a tensor", "a sparse tensor", "a sequence",
                                        "a map",   "optional", "opaque"};
    if (vi->type.kind == TYPE_NONE)
        return diag_error(g->diag, &vi->loc, "input '%s' has no type", vi->name);
    if (vi->type.kind != TYPE_TENSOR)
        return diag_unsupported(g->diag, &vi->loc, "input '%s' is %s, which is not supported: only tensors are",
                                vi->name, kinds[vi->type.kind]);
    if (vi->type.elem == DTYPE_UNDEFINED)
        return diag_error(g->diag, &vi->loc, "input '%s' has no element type", vi->name);
    if (dtype_c_type(vi->type.elem)[0] == '\0')
        return diag_unsupported(g->diag, &vi->loc, "input '%s' is of type %s, which is not supported", vi->name,
                          dtype_name(vi->type.elem));
    return true;
}

bool import_input_shape(struct graph *g, const struct model_value_info *vi, const struct import_options *o,
                        const char *entry, struct shape *shape)
{
    *shape = SHAPE_SCALAR;
    if (!check_input_type(g, vi))
        return false;
    if (fixed_shape(o, vi, shape)) {
        if (!check_fixed_shape(g, vi, o, entry, shape))
            return false;
    } else if (!bind_dims(g, vi, o, entry, shape)) {
        return false;
    }
    int64_t count;
    if (!shape_count_checked(shape, &count))
        return diag_error(g->diag, &vi->loc, "input '%s' of shape %s is too large", vi->name,
                          shape_text(g->arena, shape));
    return true;
}

/* ---- declarations ------------------------------------------------------------------------------------------------ */

static bool follows_from_data(const struct value *v, size_t axis)
{
    return v->bounded != NULL && (size_t)v->bounded->axis == axis;
}

/* "is declared as float, but is int64"; NULL: it is what it is declared as. */
static const char *contradiction(struct arena *a, const struct model_type *t, const struct value *v)
{
    if (t->kind == TYPE_NONE)
        return NULL;
    if (t->kind != TYPE_TENSOR)
        return "is declared as something other than a tensor, but is one";
    if (t->elem != DTYPE_UNDEFINED && t->elem != v->dtype)
        return arena_printf(a, "is declared as %s, but is %s", dtype_name(t->elem), dtype_name(v->dtype));
    bool agrees = !t->has_shape || t->dims.count == (size_t)v->shape.rank;
    for (size_t k = 0; t->has_shape && agrees && k < t->dims.count; k++)
        agrees = t->dims.data[k].value < 0 || t->dims.data[k].value == v->shape.dim[k] || follows_from_data(v, k);
    return agrees ? NULL
                  : arena_printf(a, "is declared with shape %s, but has %s",
                                 model_dims_text(a, t->dims.data, t->dims.count), shape_text(a, &v->shape));
}

bool import_check_declared(struct diag *d, const struct model_value_info *vi, const struct value *v)
{
    const char *const text = contradiction(d->arena, &vi->type, v);
    return !text || diag_lenient(d, &vi->loc,
                                 "value '%s' %s; what the operators give counts (stepc convert --no-value-info leaves "
                                 "such declarations out)",
                                 vi->name, text);
}

bool import_check_initializer(struct diag *d, const struct model_value_info *vi, const struct value *v)
{
    const char *const text = contradiction(d->arena, &vi->type, v);
    return !text || diag_lenient(d, &vi->loc, "initializer '%s' %s; the initializer counts", vi->name, text);
}

/* The size that the symbol has in some input of the graph, by whose name it is known here; -1: in none. */
static int64_t size_in_inputs(const struct model_graph *mg, const struct map *scope, const char *symbol,
                              const char **input)
{
    vec_each(const struct model_value_info *, vi, &mg->inputs) {
        const struct value *const v = map_get(scope, vi->name);
        for (size_t k = 0; v && v->kind == VALUE_INPUT && (size_t)v->shape.rank == vi->type.dims.count &&
                           k < vi->type.dims.count;
             k++)
            if (vi->type.dims.data[k].value < 0 && str_equal(vi->type.dims.data[k].param, symbol)) {
                *input = vi->name;
                return v->shape.dim[k];
            }
    }
    return -1;
}

bool import_check_output(struct diag *d, const struct model_graph *mg, const struct map *scope,
                         const struct model_value_info *vi, const struct value *v)
{
    const char *const text = contradiction(d->arena, &vi->type, v), *input;
    if (text)
        return diag_error(d, &vi->loc, "output '%s' %s", vi->name, text);
    for (size_t k = 0; k < vi->type.dims.count && k < (size_t)v->shape.rank; k++) {
        const struct model_dim *const dim = &vi->type.dims.data[k];
        const int64_t size = dim->value < 0 && dim->param[0] ? size_in_inputs(mg, scope, dim->param, &input) : -1;
        if (size >= 0 && size != v->shape.dim[k] && !follows_from_data(v, k))
            diag_warning(d, &vi->loc,
                         "dimension %zu of output '%s' is declared as '%s', which is %lld in input '%s', but it is "
                         "%lld: one name for two sizes",
                         k, vi->name, dim->param, (long long)size, input, (long long)v->shape.dim[k]);
    }
    return true;
}
