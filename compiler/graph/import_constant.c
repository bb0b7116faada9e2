/* Constant nodes and sparse tensors: everything that turns into a dense tensor at import. */
#include "graph/import_internal.h"

#include <string.h>

/* ---- sparse tensors ---------------------------------------------------------------------------------------------- */

/* Row-major position of non-zero element i, or -1 when an index is out of range. */
static int64_t dense_position(const struct model_sparse *s, int64_t i)
{
    if (s->indices->shape.rank == 1)
        return tensor_get_int(s->indices, i);
    int64_t position = 0;
    for (int k = 0; k < s->dims.rank; k++) {
        const int64_t index = tensor_get_int(s->indices, i * s->dims.rank + k);
        if (index < 0 || index >= s->dims.dim[k])
            return -1;
        position = position * s->dims.dim[k] + index;
    }
    return position;
}

static bool check_sparse(struct diag *d, const struct model_sparse *s)
{
    int64_t count;
    if (s->values == NULL || s->indices == NULL || s->values->dtype == DTYPE_STRING)
        return diag_error(d, &s->loc, "sparse tensor '%s' has no numeric values or no indices", s->name);
    if (s->indices->dtype != DTYPE_INT64 || s->values->shape.rank != 1)
        return diag_error(d, &s->loc, "sparse tensor '%s' needs values of rank 1 and int64 indices", s->name);
    if (!shape_count_checked(&s->dims, &count))
        return diag_error(d, &s->loc, "sparse tensor '%s' is too large", s->name);
    const int64_t nnz = s->values->count;
    const struct shape *const is = &s->indices->shape;
    const bool linear = is->rank == 1 && is->dim[0] == nnz;
    const bool full = is->rank == 2 && is->dim[0] == nnz && is->dim[1] == s->dims.rank;
    if (!linear && !full)
        return diag_error(d, &s->loc, "indices of sparse tensor '%s' have shape %s, expected [%lld] or [%lld,%d]",
                          s->name, shape_text(d->arena, is), (long long)nnz, (long long)nnz, s->dims.rank);
    return true;
}

struct tensor *import_dense(struct diag *d, struct arena *a, const struct model_sparse *s)
{
    if (!check_sparse(d, s))
        return NULL;
    struct tensor *const dense = tensor_new(a, s->values->dtype, &s->dims);
    const size_t size = dtype_size(dense->dtype);
    int64_t previous = -1;
    for (int64_t i = 0; i < s->values->count; i++) {
        const int64_t position = dense_position(s, i);
        if (position <= previous || position >= dense->count) {
            diag_error(d, &s->loc, "index %lld of sparse tensor '%s' is out of range or not ascending", (long long)i,
                       s->name);
            return NULL;
        }
        memcpy((char *)dense->data + (size_t)position * size, (const char *)s->values->data + (size_t)i * size, size);
        previous = position;
    }
    return dense;
}

/* ---- Constant ---------------------------------------------------------------------------------------------------- */

/* The forms of a Constant's value. Spec: ONNX Constant-1 (value), -11 (sparse_value), -12 (the others). */
static const struct constant_form {
    const char *name;
    enum attr_type type;
    int since;
} forms[] = {
    {"value", ATTR_TENSOR, 1},         {"sparse_value", ATTR_SPARSE_TENSOR, 11},
    {"value_float", ATTR_FLOAT, 12},   {"value_floats", ATTR_FLOATS, 12},
    {"value_int", ATTR_INT, 12},       {"value_ints", ATTR_INTS, 12},
    {"value_string", ATTR_STRING, 12}, {"value_strings", ATTR_STRINGS, 12},
};

bool import_is_constant(const struct model_node *mn)
{
    return mn->domain[0] == '\0' && strcmp(mn->op_type, "Constant") == 0;
}

static struct tensor *tensor_from_strings(struct arena *a, const struct model_bytes *s, size_t count,
                                          const struct shape *shape)
{
    struct tensor *const t = tensor_new(a, DTYPE_STRING, shape);
    t->strings = arena_array(a, const char *, count);
    t->string_lengths = arena_array(a, size_t, count);
    for (size_t i = 0; i < count; i++) {
        t->strings[i] = s[i].data != NULL ? s[i].data : "";
        t->string_lengths[i] = s[i].size;
    }
    return t;
}

static const struct tensor *tensor_from_attr(struct diag *d, struct arena *a, const struct model_attr *attr)
{
    switch (attr->type) {
    case ATTR_TENSOR:
        return attr->t;
    case ATTR_SPARSE_TENSOR:
        return attr->sparse != NULL ? import_dense(d, a, attr->sparse) : NULL;
    case ATTR_FLOAT:
        return tensor_scalar_double(a, DTYPE_FLOAT, attr->f);
    case ATTR_INT:
        return tensor_scalar_int(a, attr->i);
    case ATTR_FLOATS: {
        struct tensor *const t = tensor_new(a, DTYPE_FLOAT, &SHAPE((int64_t)attr->floats.count));
        for (size_t i = 0; i < attr->floats.count; i++)
            tensor_set_double(t, (int64_t)i, attr->floats.data[i]);
        return t;
    }
    case ATTR_INTS:
        return tensor_from_ints(a, attr->ints.data, (int64_t)attr->ints.count);
    case ATTR_STRING:
        return tensor_from_strings(a, &attr->s, 1, &SHAPE_SCALAR);
    case ATTR_STRINGS:
        return tensor_from_strings(a, attr->strings.data, attr->strings.count, &SHAPE((int64_t)attr->strings.count));
    default:
        UNREACHABLE("Constant of attribute type %d", (int)attr->type);
    }
}

static const struct constant_form *find_form(const char *name)
{
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++)
        if (strcmp(forms[k].name, name) == 0)
            return &forms[k];
    return NULL;
}

const struct tensor *import_constant_tensor(struct diag *d, struct arena *a, const struct model_node *mn)
{
    const struct model_attr *found = NULL;
    vec_each(const struct model_attr *, attr, &mn->attrs) {
        if (strncmp(attr->name, "__", 2) == 0)
            continue;
        const struct constant_form *const form = find_form(attr->name);
        if (form == NULL || found != NULL || attr->type != form->type) {
            if (form == NULL)
                diag_error(d, &mn->loc, "unknown attribute '%s' of Constant", attr->name);
            else if (found != NULL)
                diag_error(d, &mn->loc, "Constant has both '%s' and '%s', expected one value", found->name, attr->name);
            else
                diag_error(d, &mn->loc, "attribute '%s' of Constant is of type %s, expected %s", attr->name,
                           attr_type_name(attr->type), attr_type_name(form->type));
            return NULL;
        }
        found = attr;
    }
    if (found == NULL) {
        diag_error(d, &mn->loc, "Constant has no value");
        return NULL;
    }
    const size_t errors = d->errors;
    const struct tensor *const t = tensor_from_attr(d, a, found);
    if (t == NULL && d->errors == errors)
        diag_error(d, &mn->loc, "attribute '%s' of Constant has no value", found->name);
    return t;
}
