/* ONNX bytes -> struct model. The bytes are scanned first (scan.c), so that unpacking is safe and recursion bounded;
 * then each message becomes a struct of the arena; weights stay where protobuf-c put them. Reading goes on after an
 * error, up to as many as get printed: independent faults are reported together. */
#include "base/file.h"
#include "model/model_internal.h"

#include "base/clean.h"
#include "base/hash.h"
#include "base/str.h"
#include "model/scan.h"
#include <string.h>

/* Fills a list of n elements by `call` for i = 0 .. n - 1, going on after failures until enough has been said. */
#define READ_LIST(r, ok, list, n, call)                                                                                \
    do {                                                                                                               \
        VEC_RESERVE((r)->arena, (list), (n));                                                                          \
        (list)->count = (n);                                                                                           \
        for (size_t i = 0; i < (n); i++)                                                                               \
            if (!(call)) {                                                                                             \
                (ok) = false;                                                                                          \
                if ((r)->diag->errors >= DIAG_MAX_PRINTED)                                                             \
                    break;                                                                                             \
            }                                                                                                          \
    } while (0)

/* ---- text ------------------------------------------------------------------- */

const char *text_fault(struct arena *a, const unsigned char *s, size_t size)
{
    for (size_t i = 0, n; i < size; i += n) {
        n = utf8_character((const char *)s + i, size - i);
        if (s[i] == 0)
            return arena_printf(a, "has a NUL character at position %zu", i);
        if (n == 0)
            return arena_printf(a, "is not valid UTF-8 at position %zu (byte 0x%02x)", i, s[i]);
    }
    return NULL;
}

bool read_text(struct reader *r, const struct loc *at, ProtobufCBinaryData b, const char *what, const char **out)
{
    const char *const fault = text_fault(r->arena, b.data, b.len);
    *out = "";
    if (fault)
        return diag_error(r->diag, at, "%s %s", what, fault);
    if (b.len > 0)
        *out = arena_strndup(r->arena, (const char *)b.data, b.len);
    return true;
}

static bool read_domain(struct reader *r, const struct loc *at, ProtobufCBinaryData b, const char *what,
                        const char **out)
{
    const bool ok = read_text(r, at, b, what, out);
    *out = model_domain(*out);
    return ok;
}

static bool read_names(struct reader *r, const struct loc *at, size_t n, const ProtobufCBinaryData *p, const char *what,
                       str_list *out)
{
    bool ok = true;
    READ_LIST(r, ok, out, n, read_text(r, at, p[i], what, &out->data[i]));
    return ok;
}

static bool read_pairs(struct reader *r, const struct loc *at, size_t n, Onnx__StringStringEntryProto *const *p,
                       const char *what, model_pairs *out)
{
    bool ok = true;
    READ_LIST(r, ok, out, n,
              read_text(r, at, p[i]->key, what, &out->data[i].key) &&
                  read_text(r, at, p[i]->value, what, &out->data[i].value));
    return ok;
}

#define METADATA(r, at, p, out) read_pairs((r), (at), (p)->n_metadata_props, (p)->metadata_props, "metadata", (out))

static bool read_opsets(struct reader *r, const struct loc *at, size_t n, Onnx__OperatorSetIdProto *const *p,
                        model_opsets *out)
{
    bool ok = true;
    READ_LIST(r, ok, out, n,
              (out->data[i].version = p[i]->version,
               read_domain(r, at, p[i]->domain, "an imported domain", &out->data[i].domain)));
    return ok;
}

/* ---- types ------------------------------------------------------------------ */

static bool read_type(struct reader *r, const struct loc *at, const char *what, const Onnx__TypeProto *p,
                      struct model_type *out);

static bool read_elem(struct reader *r, const struct loc *at, const char *what, int number, enum dtype *out)
{
    if (number != 0 && !dtype_is_valid(number))
        return diag_error(r->diag, at, "%s has the unknown element type %d", what, number);
    *out = (enum dtype)number; /* 0: subgraphs may leave it open */
    return true;
}

static bool read_dim(struct reader *r, const struct loc *at, const char *what,
                     const Onnx__TensorShapeProto__Dimension *p, size_t index, struct model_dim *out)
{
    *out = (struct model_dim){-1, "", ""};
    if (!read_text(r, at, p->denotation, "a dimension's denotation", &out->denotation))
        return false;
    if (p->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
        return read_text(r, at, p->dim_param, "a dimension's symbol", &out->param);
    if (p->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        return true;
    if (p->dim_value < -1)
        return diag_error(r->diag, at, "%s: dimension %zu is %lld", what, index, (long long)p->dim_value);
    out->value = p->dim_value; /* -1: old exporters write it for "unknown" */
    return true;
}

static bool read_shape(struct reader *r, const struct loc *at, const char *what, const Onnx__TensorShapeProto *p,
                       struct model_type *out)
{
    bool ok = true;
    if (!p)
        return true;
    out->has_shape = true;
    if (p->n_dim > SHAPE_MAX_RANK)
        return diag_error(r->diag, at, "%s has rank %zu; at most %d is supported", what, p->n_dim, SHAPE_MAX_RANK);
    READ_LIST(r, ok, &out->dims, p->n_dim, read_dim(r, at, what, p->dim[i], i, &out->dims.data[i]));
    return ok;
}

static bool read_inner_type(struct reader *r, const struct loc *at, const char *what, const Onnx__TypeProto *p,
                            struct model_type **out)
{
    *out = arena_new(r->arena, struct model_type);
    return read_type(r, at, what, p, *out);
}

static bool read_type(struct reader *r, const struct loc *at, const char *what, const Onnx__TypeProto *p,
                      struct model_type *out)
{
    *out = (struct model_type){.opaque_domain = "", .opaque_name = "", .denotation = ""};
    if (!p)
        return true;
    if (!read_text(r, at, p->denotation, "a type's denotation", &out->denotation))
        return false;
    switch (p->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        out->kind = TYPE_TENSOR;
        return read_elem(r, at, what, p->tensor_type->elem_type, &out->elem) &&
               read_shape(r, at, what, p->tensor_type->shape, out);
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        out->kind = TYPE_SPARSE_TENSOR;
        return read_elem(r, at, what, p->sparse_tensor_type->elem_type, &out->elem) &&
               read_shape(r, at, what, p->sparse_tensor_type->shape, out);
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        out->kind = TYPE_SEQUENCE;
        return read_inner_type(r, at, what, p->sequence_type->elem_type, &out->element);
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        out->kind = TYPE_OPTIONAL;
        return read_inner_type(r, at, what, p->optional_type->elem_type, &out->element);
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        out->kind = TYPE_MAP;
        return read_elem(r, at, what, p->map_type->key_type, &out->elem) &&
               read_inner_type(r, at, what, p->map_type->value_type, &out->element);
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        out->kind = TYPE_OPAQUE;
        return read_text(r, at, p->opaque_type->domain, "an opaque type's domain", &out->opaque_domain) &&
               read_text(r, at, p->opaque_type->name, "an opaque type's name", &out->opaque_name);
    default:
        return true; /* no kind set */
    }
}

static bool read_value_info(struct reader *r, const struct loc *at, const char *role, const Onnx__ValueInfoProto *p,
                            struct model_value_info **out)
{
    struct model_value_info *v = *out = arena_new(r->arena, struct model_value_info);
    v->loc = *at;
    if (!read_text(r, at, p->name, arena_printf(r->arena, "the name of %s", role), &v->name))
        return false;
    const char *what = arena_printf(r->arena, "%s '%s'", role, v->name);
    return read_text(r, at, p->doc_string, "a doc_string", &v->doc) && METADATA(r, at, p, &v->metadata) &&
           read_type(r, at, what, p->type, &v->type);
}

/* ---- sparse tensors --------------------------------------------------------- */

/* Linear index of entry i, or -1 where a coordinate is outside. */
static int64_t sparse_index(const struct model_sparse *s, int64_t count, int64_t i)
{
    const int64_t *index = s->indices->data;
    if (s->indices->shape.rank == 1)
        return index[i] < 0 || index[i] >= count ? -1 : index[i];
    int64_t linear = 0;
    for (int k = 0; k < s->dims.rank; k++) {
        const int64_t x = index[i * s->dims.rank + k];
        if (x < 0 || x >= s->dims.dim[k])
            return -1;
        linear = linear * s->dims.dim[k] + x;
    }
    return linear;
}

static bool check_indices(struct reader *r, const struct loc *at, const char *what, const struct model_sparse *s,
                          int64_t count)
{
    const struct tensor *x = s->indices;
    const int64_t nnz = s->values->count;
    const bool linear = x->shape.rank == 1, coordinates = x->shape.rank == 2 && x->shape.dim[1] == s->dims.rank;
    if (x->dtype != DTYPE_INT64 || !(linear || coordinates) || x->shape.dim[0] != nnz)
        return diag_error(r->diag, at, "%s: indices are %s %s, expected int64 [%lld] or [%lld,%d]", what,
                          dtype_name(x->dtype), shape_text(r->arena, &x->shape), (long long)nnz, (long long)nnz,
                          s->dims.rank);
    int64_t before = -1;
    for (int64_t i = 0; i < nnz; i++) {
        const int64_t here = sparse_index(s, count, i);
        if (here < 0)
            return diag_error(r->diag, at, "%s: index %lld lies outside shape %s", what, (long long)i,
                              shape_text(r->arena, &s->dims));
        if (here <= before)
            return diag_error(r->diag, at, "%s: index %lld does not follow the one before it; indices must ascend",
                              what, (long long)i);
        before = here;
    }
    return true;
}

static bool check_sparse(struct reader *r, const struct loc *at, const char *what, const struct model_sparse *s)
{
    int64_t count;
    if (s->dims.rank == 0)
        return diag_error(r->diag, at, "%s has no dimensions, expected at least one", what);
    for (int i = 0; i < s->dims.rank; i++)
        if (s->dims.dim[i] <= 0)
            return diag_error(r->diag, at, "%s: dimension %d is %lld, expected more than 0", what, i,
                              (long long)s->dims.dim[i]);
    if (!shape_count_checked(&s->dims, &count))
        return diag_error(r->diag, at, "%s: shape %s has too many elements", what, shape_text(r->arena, &s->dims));
    if (s->values->shape.rank != 1)
        return diag_error(r->diag, at, "%s: values have shape %s, expected rank 1", what,
                          shape_text(r->arena, &s->values->shape));
    return check_indices(r, at, what, s, count);
}

static bool read_sparse(struct reader *r, const struct loc *at, const char *role, const Onnx__SparseTensorProto *p,
                        struct model_sparse **out)
{
    struct model_sparse *s = *out = arena_new(r->arena, struct model_sparse);
    s->loc = *at;
    s->name = "";
    if (p->values && !read_text(r, at, p->values->name, "a sparse tensor's name", &s->name))
        return false;
    const char *what = arena_printf(r->arena, "%s '%s'", role, s->name);
    if (!p->values || !p->indices)
        return diag_error(r->diag, at, "%s has no %s", what, p->values ? "indices" : "values");
    if (p->n_dims > SHAPE_MAX_RANK)
        return diag_error(r->diag, at, "%s has rank %zu; at most %d is supported", what, p->n_dims, SHAPE_MAX_RANK);
    s->dims.rank = (int)p->n_dims;
    for (int i = 0; i < s->dims.rank; i++)
        s->dims.dim[i] = p->dims[i];
    return read_tensor(r, at, arena_printf(r->arena, "%s, values", what), p->values, &s->values, NULL) &&
           read_tensor(r, at, arena_printf(r->arena, "%s, indices", what), p->indices, &s->indices, NULL) &&
           check_sparse(r, at, what, s);
}

/* ---- attributes ------------------------------------------------------------- */

static bool read_graph(struct reader *r, const Onnx__GraphProto *p, struct model_graph **out);

/* Which value fields the attribute holds, one bit for each type. Scalars at their default are left to pass: some
 * writers spell out every field. */
static unsigned fields_set(const Onnx__AttributeProto *p)
{
    const bool set[ATTR_TYPE_COUNT] = {
        [ATTR_FLOAT] = p->has_f && p->f != 0,
        [ATTR_INT] = p->has_i && p->i != 0,
        [ATTR_STRING] = p->s.len > 0,
        [ATTR_TENSOR] = p->t != NULL,
        [ATTR_GRAPH] = p->g != NULL,
        [ATTR_FLOATS] = p->n_floats > 0,
        [ATTR_INTS] = p->n_ints > 0,
        [ATTR_STRINGS] = p->n_strings > 0,
        [ATTR_TENSORS] = p->n_tensors > 0,
        [ATTR_GRAPHS] = p->n_graphs > 0,
        [ATTR_SPARSE_TENSOR] = p->sparse_tensor != NULL,
        [ATTR_SPARSE_TENSORS] = p->n_sparse_tensors > 0,
        [ATTR_TYPE_PROTO] = p->tp != NULL,
        [ATTR_TYPE_PROTOS] = p->n_type_protos > 0,
    };
    unsigned bits = 0;
    for (unsigned i = 0; i < ATTR_TYPE_COUNT; i++)
        bits |= (unsigned)set[i] << i;
    return bits;
}

/* IR version 1 had no type tag: the field that is set tells. */
static enum attr_type type_from_fields(const Onnx__AttributeProto *p, unsigned set)
{
    for (unsigned i = 1; i < ATTR_TYPE_COUNT; i++)
        if (set == 1u << i)
            return (enum attr_type)i;
    if (set == 0)
        return p->has_f ? ATTR_FLOAT : p->has_i ? ATTR_INT : p->has_s ? ATTR_STRING : ATTR_UNDEFINED;
    return ATTR_UNDEFINED;
}

static bool find_attr_type(struct reader *r, const struct loc *at, const Onnx__AttributeProto *p, struct model_attr *x)
{
    const unsigned set = fields_set(p);
    const unsigned messages = 1u << ATTR_TENSOR | 1u << ATTR_GRAPH | 1u << ATTR_SPARSE_TENSOR | 1u << ATTR_TYPE_PROTO;
    const int number = (int)p->type;
    if (number < 0 || number >= ATTR_TYPE_COUNT)
        return diag_error(r->diag, at, "attribute '%s' has the unknown type %d", x->name, number);
    x->type = number == 0 && r->model->ir_version < 2 ? type_from_fields(p, set) : (enum attr_type)number;
    if (x->type == ATTR_UNDEFINED)
        return diag_error(r->diag, at, "attribute '%s' has no type", x->name);
    for (unsigned i = 1; i < ATTR_TYPE_COUNT; i++)
        if ((set >> i & 1) && (*x->ref || i != x->type))
            return diag_error(r->diag, at, "attribute '%s' %s'%s', but holds a value of type %s", x->name,
                              *x->ref ? "refers to " : "is of type ", *x->ref ? x->ref : attr_type_name(x->type),
                              attr_type_name((enum attr_type)i));
    if (!*x->ref && (messages >> x->type & 1) && set == 0)
        return diag_error(r->diag, at, "attribute '%s' is of type '%s', but holds none", x->name,
                          attr_type_name(x->type));
    return true;
}

static bool read_bytes(struct reader *r, ProtobufCBinaryData b, struct model_bytes *out)
{
    out->data = b.len ? arena_strndup(r->arena, (const char *)b.data, b.len) : "";
    out->size = b.len;
    return true;
}

static bool read_attr_tensor(struct reader *r, const struct loc *at, const char *what, const Onnx__TensorProto *p,
                             const char **name, struct tensor **out)
{
    return read_text(r, at, p->name, "the name of an attribute's tensor", name) &&
           read_tensor(r, at, what, p, out, NULL);
}

static bool read_attr_lists(struct reader *r, const struct loc *at, const char *what, const Onnx__AttributeProto *p,
                            struct model_attr *x)
{
    bool ok = true;
    const char *ignored;
    READ_LIST(r, ok, &x->floats, p->n_floats, (x->floats.data[i] = p->floats[i], true));
    READ_LIST(r, ok, &x->ints, p->n_ints, (x->ints.data[i] = p->ints[i], true));
    READ_LIST(r, ok, &x->strings, p->n_strings, read_bytes(r, p->strings[i], &x->strings.data[i]));
    READ_LIST(r, ok, &x->tensors, p->n_tensors,
              read_attr_tensor(r, at, what, p->tensors[i], &ignored, &x->tensors.data[i]));
    READ_LIST(r, ok, &x->graphs, p->n_graphs, read_graph(r, p->graphs[i], &x->graphs.data[i]));
    READ_LIST(r, ok, &x->sparses, p->n_sparse_tensors,
              read_sparse(r, at, what, p->sparse_tensors[i], &x->sparses.data[i]));
    READ_LIST(r, ok, &x->types, p->n_type_protos, read_inner_type(r, at, what, p->type_protos[i], &x->types.data[i]));
    return ok;
}

static bool read_attr_value(struct reader *r, const struct loc *at, const Onnx__AttributeProto *p, struct model_attr *x)
{
    const char *what = arena_printf(r->arena, "attribute '%s'", x->name);
    switch (x->type) {
    case ATTR_FLOAT:
        x->f = p->f;
        return true;
    case ATTR_INT:
        x->i = p->i;
        return true;
    case ATTR_STRING:
        return read_bytes(r, p->s, &x->s);
    case ATTR_TENSOR:
        return read_attr_tensor(r, at, what, p->t, &x->t_name, &x->t);
    case ATTR_GRAPH:
        return read_graph(r, p->g, &x->g);
    case ATTR_SPARSE_TENSOR:
        return read_sparse(r, at, what, p->sparse_tensor, &x->sparse);
    case ATTR_TYPE_PROTO:
        return read_inner_type(r, at, what, p->tp, &x->tp);
    default:
        return read_attr_lists(r, at, what, p, x);
    }
}

static bool read_attr(struct reader *r, const struct loc *at, const Onnx__AttributeProto *p, struct model_attr **out)
{
    struct model_attr *x = *out = arena_new(r->arena, struct model_attr);
    x->loc = *at;
    x->t_name = "";
    x->s.data = "";
    if (!read_text(r, at, p->name, "an attribute's name", &x->name) ||
        !read_text(r, at, p->doc_string, "a doc_string", &x->doc) ||
        !read_text(r, at, p->ref_attr_name, "an attribute's ref_attr_name", &x->ref))
        return false;
    if (!*x->name)
        return diag_error(r->diag, at, "an attribute has no name");
    return find_attr_type(r, at, p, x) && (*x->ref || read_attr_value(r, at, p, x));
}

/* ---- distribution over devices ------------------------------------------------ */

static bool read_shards(struct reader *r, const struct loc *at, const Onnx__SimpleShardedDimProto *p,
                        struct model_shards *out)
{
    const bool sized = p->dim_case == ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_VALUE;
    *out = (struct model_shards){.size = -1, .symbol = "", .count = p->num_shards};
    if (sized && p->dim_value < 0)
        return diag_error(r->diag, at, "a sharding specification's dim_value is %lld", (long long)p->dim_value);
    if (sized)
        out->size = p->dim_value;
    return p->dim_case != ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_PARAM ||
           read_text(r, at, p->dim_param, "a sharding specification's dim_param", &out->symbol);
}

static bool read_sharded_axis(struct reader *r, const struct loc *at, const Onnx__ShardedDimProto *p,
                              struct model_sharded_axis *out)
{
    bool ok = true;
    out->axis = p->axis;
    READ_LIST(r, ok, &out->shards, p->n_simple_sharding,
              read_shards(r, at, p->simple_sharding[i], &out->shards.data[i]));
    return ok;
}

static bool read_device_group(struct reader *r, const Onnx__IntIntListEntryProto *p, struct model_device_group *out)
{
    bool ok = true;
    out->key = p->key;
    READ_LIST(r, ok, &out->devices, p->n_value, (out->devices.data[i] = p->value[i], true));
    return ok;
}

static bool read_sharding(struct reader *r, const struct loc *at, const Onnx__ShardingSpecProto *p,
                          struct model_sharding *out)
{
    bool ok = read_text(r, at, p->tensor_name, "a sharding specification's tensor_name", &out->tensor);
    READ_LIST(r, ok, &out->devices, p->n_device, (out->devices.data[i] = p->device[i], true));
    READ_LIST(r, ok, &out->groups, p->n_index_to_device_group_map,
              read_device_group(r, p->index_to_device_group_map[i], &out->groups.data[i]));
    READ_LIST(r, ok, &out->axes, p->n_sharded_dim,
              read_sharded_axis(r, at, p->sharded_dim[i], &out->axes.data[i]));
    return ok;
}

static bool read_node_devices(struct reader *r, const struct loc *at, const Onnx__NodeDeviceConfigurationProto *p,
                              struct model_node_devices *out)
{
    bool ok = read_text(r, at, p->configuration_id, "a device configuration's configuration_id", &out->configuration);
    out->has_stage = p->has_pipeline_stage;
    out->stage = p->pipeline_stage;
    READ_LIST(r, ok, &out->shardings, p->n_sharding_spec,
              read_sharding(r, at, p->sharding_spec[i], &out->shardings.data[i]));
    return ok;
}

static bool read_devices(struct reader *r, const struct loc *at, const Onnx__DeviceConfigurationProto *p,
                         struct model_devices *out)
{
    out->count = p->num_devices;
    return read_text(r, at, p->name, "a device configuration's name", &out->name) &&
           read_names(r, at, p->n_device, p->device, "a device's name", &out->names);
}

/* ---- nodes, graphs, functions ------------------------------------------------- */

/* PyTorch's newer exporter keeps it as metadata, the older one as a doc_string. Nodes in a graph of a node that have
 * none are written where that one is. */
static void note_written_at(const struct reader *r, const struct model_node *n, struct loc *loc)
{
    loc->trace = *n->doc ? n->doc : r->trace;
    loc->scopes = r->scopes;
    vec_each_ptr(const struct model_pair, pair, &n->metadata) {
        if (str_equal(pair->key, "pkg.torch.onnx.stack_trace"))
            loc->trace = pair->value;
        else if (str_equal(pair->key, "pkg.torch.onnx.name_scopes"))
            loc->scopes = pair->value;
    }
}

static bool read_node(struct reader *r, const struct loc *in, size_t index, const Onnx__NodeProto *p,
                      struct model_node **out)
{
    struct model_node *n = *out = arena_new(r->arena, struct model_node);
    bool ok = true;
    n->loc = *in;
    n->loc.index = (int)index;
    n->loc.node = n->loc.op = "";
    if (!read_text(r, &n->loc, p->op_type, "a node's op_type", &n->op_type) ||
        !read_text(r, &n->loc, p->name, "a node's name", &n->name))
        return false;
    n->loc.node = n->name;
    n->loc.op = n->op_type;
    if (!*n->op_type)
        return diag_error(r->diag, &n->loc, "a node without op_type");
    ok = read_domain(r, &n->loc, p->domain, "a node's domain", &n->domain) &&
         read_text(r, &n->loc, p->overload, "a node's overload", &n->overload) &&
         read_text(r, &n->loc, p->doc_string, "a doc_string", &n->doc) && METADATA(r, &n->loc, p, &n->metadata);
    if (ok)
        note_written_at(r, n, &n->loc);
    const char *const trace = r->trace, *const scopes = r->scopes;
    r->trace = n->loc.trace;
    r->scopes = n->loc.scopes;
    ok = ok &&
         read_names(r, &n->loc, p->n_input, p->input, "an input's name", &n->inputs) &&
         read_names(r, &n->loc, p->n_output, p->output, "an output's name", &n->outputs);
    READ_LIST(r, ok, &n->attrs, p->n_attribute, read_attr(r, &n->loc, p->attribute[i], &n->attrs.data[i]));
    READ_LIST(r, ok, &n->devices, p->n_device_configurations,
              read_node_devices(r, &n->loc, p->device_configurations[i], &n->devices.data[i]));
    r->trace = trace;
    r->scopes = scopes;
    return ok;
}

static bool read_initializer(struct reader *r, const struct loc *at, const Onnx__TensorProto *p,
                             struct model_initializer **out)
{
    struct model_initializer *x = *out = arena_new(r->arena, struct model_initializer);
    x->loc = *at;
    if (!read_text(r, at, p->name, "an initializer's name", &x->name))
        return false;
    return read_text(r, at, p->doc_string, "a doc_string", &x->doc) && METADATA(r, at, p, &x->metadata) &&
           read_tensor(r, at, arena_printf(r->arena, "initializer '%s'", x->name), p, &x->tensor,
                       &x->external_location);
}

static bool read_quantization(struct reader *r, const struct loc *at, const Onnx__TensorAnnotation *p,
                              struct model_quantization **out)
{
    struct model_quantization *q = *out = arena_new(r->arena, struct model_quantization);
    return read_text(r, at, p->tensor_name, "a quantization annotation's tensor_name", &q->tensor_name) &&
           read_pairs(r, at, p->n_quant_parameter_tensor_names, p->quant_parameter_tensor_names,
                      "a quantization annotation", &q->parameters);
}

static bool read_graph(struct reader *r, const Onnx__GraphProto *p, struct model_graph **out)
{
    struct model_graph *g = *out = arena_new(r->arena, struct model_graph);
    bool ok = true;
    g->loc = LOC_FILE(r->file);
    if (!read_text(r, &g->loc, p->name, "a graph's name", &g->name))
        return false;
    g->loc.graph = g->name;
    const struct loc *at = &g->loc;
    ok = read_text(r, at, p->doc_string, "a doc_string", &g->doc) && METADATA(r, at, p, &g->metadata);
    READ_LIST(r, ok, &g->inputs, p->n_input, read_value_info(r, at, "input", p->input[i], &g->inputs.data[i]));
    READ_LIST(r, ok, &g->outputs, p->n_output, read_value_info(r, at, "output", p->output[i], &g->outputs.data[i]));
    READ_LIST(r, ok, &g->value_infos, p->n_value_info,
              read_value_info(r, at, "value_info", p->value_info[i], &g->value_infos.data[i]));
    READ_LIST(r, ok, &g->initializers, p->n_initializer,
              read_initializer(r, at, p->initializer[i], &g->initializers.data[i]));
    READ_LIST(r, ok, &g->sparse_initializers, p->n_sparse_initializer,
              read_sparse(r, at, "sparse initializer", p->sparse_initializer[i], &g->sparse_initializers.data[i]));
    READ_LIST(r, ok, &g->quantization, p->n_quantization_annotation,
              read_quantization(r, at, p->quantization_annotation[i], &g->quantization.data[i]));
    READ_LIST(r, ok, &g->nodes, p->n_node, read_node(r, at, i, p->node[i], &g->nodes.data[i]));
    return ok;
}

static bool read_function(struct reader *r, const Onnx__FunctionProto *p, struct model_function **out)
{
    struct model_function *f = *out = arena_new(r->arena, struct model_function);
    bool ok = true;
    f->loc = LOC_FILE(r->file);
    if (!read_text(r, &f->loc, p->name, "a function's name", &f->name))
        return false;
    f->loc.graph = f->name;
    const struct loc *at = &f->loc;
    ok = read_text(r, at, p->domain, "a function's domain", &f->domain) && /* as it is: a function must name one */
         read_text(r, at, p->overload, "a function's overload", &f->overload) &&
         read_text(r, at, p->doc_string, "a doc_string", &f->doc) && METADATA(r, at, p, &f->metadata) &&
         read_names(r, at, p->n_input, p->input, "an input's name", &f->inputs) &&
         read_names(r, at, p->n_output, p->output, "an output's name", &f->outputs) &&
         read_names(r, at, p->n_attribute, p->attribute, "an attribute's name", &f->attributes) &&
         read_opsets(r, at, p->n_opset_import, p->opset_import, &f->opsets);
    READ_LIST(r, ok, &f->attribute_defaults, p->n_attribute_proto,
              read_attr(r, at, p->attribute_proto[i], &f->attribute_defaults.data[i]));
    READ_LIST(r, ok, &f->value_infos, p->n_value_info,
              read_value_info(r, at, "value_info", p->value_info[i], &f->value_infos.data[i]));
    READ_LIST(r, ok, &f->nodes, p->n_node, read_node(r, at, i, p->node[i], &f->nodes.data[i]));
    return ok;
}

static bool read_training(struct reader *r, const Onnx__TrainingInfoProto *p, struct model_training **out)
{
    struct model_training *t = *out = arena_new(r->arena, struct model_training);
    t->loc = LOC_FILE(r->file);
    bool ok = read_pairs(r, &t->loc, p->n_initialization_binding, p->initialization_binding,
                         "a name in initialization_binding", &t->initialization_binding);
    ok = read_pairs(r, &t->loc, p->n_update_binding, p->update_binding, "a name in update_binding",
                    &t->update_binding) &&
         ok;
    if (p->initialization)
        ok = read_graph(r, p->initialization, &t->initialization) && ok;
    if (p->algorithm) {
        ok = read_graph(r, p->algorithm, &t->algorithm) && ok;
        t->loc.graph = t->algorithm->name;
    }
    return ok;
}

static bool read_model(struct reader *r, const Onnx__ModelProto *p)
{
    struct model *m = r->model;
    const struct loc at = LOC_FILE(r->file);
    m->ir_version = p->ir_version;
    m->model_version = p->model_version;
    if (p->ir_version <= 0)
        return diag_error(r->diag, &at, "not an ONNX model: it has no ir_version");
    if (!p->graph)
        return diag_error(r->diag, &at, "the model has no graph");
    bool ok = read_text(r, &at, p->producer_name, "producer_name", &m->producer_name) &&
              read_text(r, &at, p->producer_version, "producer_version", &m->producer_version) &&
              read_text(r, &at, p->domain, "the model's domain", &m->domain) &&
              read_text(r, &at, p->doc_string, "a doc_string", &m->doc) && METADATA(r, &at, p, &m->metadata) &&
              read_opsets(r, &at, p->n_opset_import, p->opset_import, &m->opsets);
    ok = read_graph(r, p->graph, &m->graph) && ok;
    READ_LIST(r, ok, &m->training, p->n_training_info, read_training(r, p->training_info[i], &m->training.data[i]));
    READ_LIST(r, ok, &m->functions, p->n_functions, read_function(r, p->functions[i], &m->functions.data[i]));
    READ_LIST(r, ok, &m->configurations, p->n_configuration,
              read_devices(r, &at, p->configuration[i], &m->configurations.data[i]));
    return ok;
}

/* ---- files -------------------------------------------------------------------- */

static void *allocate(void *arena, size_t size)
{
    return arena_alloc(arena, 1, size, alignof(max_align_t));
}

static void no_free(void *arena, void *pointer)
{
    (void)arena, (void)pointer;
}

/* In the arena: nothing is freed singly. */
static ProtobufCMessage *unpack(struct diag *d, struct arena *a, const struct loc *at,
                                const ProtobufCMessageDescriptor *kind, const unsigned char *bytes, size_t size)
{
    if (!scan_message(d, at, kind, bytes, size))
        return NULL;
    ProtobufCAllocator allocator = {allocate, no_free, a};
    ProtobufCMessage *m = protobuf_c_message_unpack(kind, &allocator, size, bytes);
    if (!m)
        diag_error(d, at, "cannot be decoded as %s", kind->short_name);
    return m;
}

static bool read_unpacked(struct diag *d, struct arena *a, const char *path, const ProtobufCMessage *p,
                          struct sha256 *hash, struct model **out)
{
    struct reader r = {
        .diag = d, .arena = a, .file = path, .external.arena = a, .refused.arena = a, .unpacked_stays = true};
    struct model *m = r.model = arena_new(a, struct model);
    m->file = path;
    sha256_end(hash, m->digest);
    const bool ok = read_model(&r, (const Onnx__ModelProto *)p);
    if (ok)
        *out = m;
    return ok;
}

bool model_read_onnx(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                     struct model **out)
{
    const struct loc at = LOC_FILE(path);
    if (size == 0)
        return diag_error(d, &at, "this is no ONNX model: the file is empty");
    const ProtobufCMessage *p = unpack(d, a, &at, &onnx__model_proto__descriptor, bytes, size);
    if (!p)
        return false;
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, bytes, size);
    return read_unpacked(d, a, path, p, &hash, out);
}

/* The message whose data is apart, unpacked and whole; NULL: something is wrong with it. */
static ProtobufCMessage *unpack_bulk(struct diag *d, struct arena *a, const struct loc *at, const struct bulk *b)
{
    ProtobufCMessage *p = unpack(d, a, at, &onnx__model_proto__descriptor,
                                 (const unsigned char *)strbuf_text(&b->message), b->message.length);
    return p && bulk_restore(b, (Onnx__ModelProto *)p) ? p : NULL;
}

bool read_model_file(struct diag *d, struct arena *a, const char *path, struct model **out, bool *well_formed)
{
    struct arena scratch = {0};
    struct diag unheard = {.arena = &scratch};
    struct bulk b = {.arena = a, .message.arena = &scratch};
    struct stream *const s = arena_new(&scratch, struct stream);
    const ProtobufCMessage *p = NULL;
    if (stream_open(s, path)) {
        p = s->size <= FILE_MAX_BYTES && bulk_read(&b, s) ? unpack_bulk(&unheard, a, &LOC_FILE(path), &b) : NULL;
        stream_close(s);
    }
    *well_formed = p != NULL;
    const bool ok = p && read_unpacked(d, a, path, p, &s->hash, out);
    arena_free(&scratch);
    return ok;
}

bool model_read_written(struct diag *d, struct arena *a, const char *path, const struct model *written,
                        struct model **out)
{
    struct arena scratch = {0};
    struct bulk b = {.arena = a, .message.arena = &scratch};
    struct sha256 hash;
    Onnx__ModelProto *const whole = model_message(a, written);
    hash_message(&whole->base, &hash);
    bulk_take(&b, whole);
    const size_t size = protobuf_c_message_get_packed_size(&whole->base);
    strbuf_reserve(&b.message, size);
    b.message.length = protobuf_c_message_pack(&whole->base, (unsigned char *)b.message.text);
    const ProtobufCMessage *const p = unpack_bulk(d, a, &LOC_FILE(path), &b);
    const bool ok = p && read_unpacked(d, a, path, p, &hash, out);
    arena_free(&scratch);
    return ok;
}

bool read_tensor_bytes(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                       struct tensor **out, const char **name)
{
    const struct loc at = LOC_FILE(path);
    struct arena scratch = {0};
    ProtobufCMessage *p = unpack(d, &scratch, &at, &onnx__tensor_proto__descriptor, bytes, size);
    if (!p) {
        arena_free(&scratch);
        return false;
    }
    struct reader r = {.diag = d, .arena = a, .file = path};
    const Onnx__TensorProto *t = (const Onnx__TensorProto *)p;
    /* Field 3 is a tensor's segment, which nobody writes, and where sequences and optionals have their tensors. */
    const bool ok = t->segment ? diag_error(d, &at, "not a tensor (a sequence, or an optional?)")
                               : read_text(&r, &at, t->name, "the tensor's name", name) &&
                                     read_tensor(&r, &at, "the tensor", t, out, NULL);
    arena_free(&scratch);
    return ok;
}
