/* struct model -> ONNX bytes. The messages of protobuf-c are built in a scratch arena, pointing into the model wherever
 * bytes can be used as they are, and packed in the order of their field numbers: the same model always gives the same
 * bytes. Fields that are empty are left out, except where their presence says something (an attribute's value, a
 * shape). */
#include "model/model_internal.h"

#include <limits.h>
#include <string.h>

static void *new_message(struct arena *a, const ProtobufCMessageDescriptor *kind)
{
    ProtobufCMessage *const m = arena_alloc(a, 1, kind->sizeof_message, alignof(max_align_t));
    kind->message_init(m);
    return m;
}

/* p->FIELD = the message for each element of the list. */
#define WRITE_LIST(a, list, n_field, field, call)                                                                      \
    do {                                                                                                               \
        (n_field) = (list)->count;                                                                                     \
        (field) = arena_alloc((a), (list)->count, sizeof *(field), alignof(max_align_t));                              \
        for (size_t i = 0; i < (list)->count; i++)                                                                     \
            (field)[i] = (call);                                                                                       \
    } while (0)

#define WRITE_TEXT(p, field, s)                                                                                        \
    do {                                                                                                               \
        (p)->field = write_text(s);                                                                                    \
        (p)->has_##field = (p)->field.len > 0;                                                                         \
    } while (0)

static ProtobufCBinaryData write_text(const char *s)
{
    return (ProtobufCBinaryData){s ? strlen(s) : 0, (uint8_t *)(uintptr_t)s};
}

/* ---- small things ------------------------------------------------------------- */

static void write_names(struct arena *a, const str_list *names, size_t *n, ProtobufCBinaryData **out)
{
    WRITE_LIST(a, names, *n, *out, write_text(names->data[i]));
}

Onnx__StringStringEntryProto *write_pair(struct arena *a, const struct model_pair *pair)
{
    Onnx__StringStringEntryProto *const p = new_message(a, &onnx__string_string_entry_proto__descriptor);
    WRITE_TEXT(p, key, pair->key);
    WRITE_TEXT(p, value, pair->value);
    return p;
}

static void write_pairs(struct arena *a, const model_pairs *pairs, size_t *n, Onnx__StringStringEntryProto ***out)
{
    WRITE_LIST(a, pairs, *n, *out, write_pair(a, &pairs->data[i]));
}

#define WRITE_METADATA(a, p, x) write_pairs((a), &(x)->metadata, &(p)->n_metadata_props, &(p)->metadata_props)

static Onnx__OperatorSetIdProto *write_opset(struct arena *a, const struct model_opset *o)
{
    Onnx__OperatorSetIdProto *const p = new_message(a, &onnx__operator_set_id_proto__descriptor);
    p->has_domain = true; /* upstream tools write the empty one, too */
    p->domain = write_text(o->domain);
    p->has_version = true;
    p->version = o->version;
    return p;
}

/* ---- tensors ------------------------------------------------------------------ */

static unsigned char *pack_elements(struct arena *a, const struct tensor *t)
{
    const int per = packed_per_byte(t->dtype), bits = 8 / per;
    const unsigned mask = (1u << bits) - 1;
    const unsigned char *from = t->data;
    unsigned char *bytes = arena_array(a, unsigned char, packed_size(t->dtype, t->count));
    for (int64_t i = 0; i < t->count; i++)
        bytes[i / per] |= (unsigned char)((from[i] & mask) << (i % per * bits));
    return bytes;
}

static unsigned char *raw_bytes(struct arena *a, const struct tensor *t)
{
    if (packed_per_byte(t->dtype) > 1)
        return pack_elements(a, t);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return t->data;
#else
    const size_t size = part_size(t->dtype);
    unsigned char *bytes = arena_array(a, unsigned char, tensor_bytes(t));
    copy_little_endian(bytes, t->data, tensor_bytes(t) / size, size);
    return bytes;
#endif
}

static void write_dims(struct arena *a, const struct shape *s, size_t *n, int64_t **out)
{
    *n = (size_t)s->rank;
    *out = arena_copy(a, s->dim, (size_t)s->rank * sizeof *s->dim, alignof(int64_t));
}

Onnx__TensorProto *write_tensor(struct arena *a, const char *name, const struct tensor *t)
{
    Onnx__TensorProto *const p = new_message(a, &onnx__tensor_proto__descriptor);
    WRITE_TEXT(p, name, name);
    p->has_data_type = true;
    p->data_type = (int32_t)t->dtype;
    write_dims(a, &t->shape, &p->n_dims, &p->dims);
    if (t->dtype == DTYPE_STRING) {
        p->n_string_data = (size_t)t->count;
        p->string_data = arena_array(a, ProtobufCBinaryData, p->n_string_data);
        for (int64_t i = 0; i < t->count; i++)
            p->string_data[i] = (ProtobufCBinaryData){t->string_lengths[i], (uint8_t *)(uintptr_t)t->strings[i]};
        return p;
    }
    p->has_raw_data = true;
    p->raw_data = (ProtobufCBinaryData){packed_size(t->dtype, t->count), raw_bytes(a, t)};
    return p;
}

static Onnx__SparseTensorProto *write_sparse(struct arena *a, const struct model_sparse *s)
{
    Onnx__SparseTensorProto *const p = new_message(a, &onnx__sparse_tensor_proto__descriptor);
    p->values = write_tensor(a, s->name, s->values);
    p->indices = write_tensor(a, "", s->indices);
    write_dims(a, &s->dims, &p->n_dims, &p->dims);
    return p;
}

static Onnx__TensorProto *write_initializer(struct arena *a, const struct model_initializer *x)
{
    Onnx__TensorProto *p = write_tensor(a, x->name, x->tensor);
    WRITE_TEXT(p, doc_string, x->doc);
    WRITE_METADATA(a, p, x);
    return p;
}

/* ---- types -------------------------------------------------------------------- */

static Onnx__TensorShapeProto__Dimension *write_dim(struct arena *a, const struct model_dim *d)
{
    Onnx__TensorShapeProto__Dimension *const p = new_message(a, &onnx__tensor_shape_proto__dimension__descriptor);
    WRITE_TEXT(p, denotation, d->denotation);
    if (d->value >= 0) {
        p->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        p->dim_value = d->value;
    } else if (d->param && *d->param) {
        p->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        p->dim_param = write_text(d->param);
    }
    return p;
}

static Onnx__TensorShapeProto *write_shape(struct arena *a, const struct model_type *t)
{
    if (!t->has_shape)
        return NULL;
    Onnx__TensorShapeProto *const p = new_message(a, &onnx__tensor_shape_proto__descriptor);
    WRITE_LIST(a, &t->dims, p->n_dim, p->dim, write_dim(a, &t->dims.data[i]));
    return p;
}

static Onnx__TypeProto *write_type(struct arena *a, const struct model_type *t);

/* The element of a sequence, map or optional; one without kind stands for an absent message. */
static Onnx__TypeProto *write_element(struct arena *a, const struct model_type *t)
{
    return t && t->kind != TYPE_NONE ? write_type(a, t) : NULL;
}

static Onnx__TypeProto *write_type(struct arena *a, const struct model_type *t)
{
    Onnx__TypeProto *const p = new_message(a, &onnx__type_proto__descriptor);
    WRITE_TEXT(p, denotation, t->denotation);
    switch (t->kind) {
    case TYPE_NONE:
        break;
    case TYPE_TENSOR:
        p->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        p->tensor_type = new_message(a, &onnx__type_proto__tensor__descriptor);
        p->tensor_type->has_elem_type = true;
        p->tensor_type->elem_type = (int32_t)t->elem;
        p->tensor_type->shape = write_shape(a, t);
        break;
    case TYPE_SPARSE_TENSOR:
        p->value_case = ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE;
        p->sparse_tensor_type = new_message(a, &onnx__type_proto__sparse_tensor__descriptor);
        p->sparse_tensor_type->has_elem_type = true;
        p->sparse_tensor_type->elem_type = (int32_t)t->elem;
        p->sparse_tensor_type->shape = write_shape(a, t);
        break;
    case TYPE_SEQUENCE:
        p->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
        p->sequence_type = new_message(a, &onnx__type_proto__sequence__descriptor);
        p->sequence_type->elem_type = write_element(a, t->element);
        break;
    case TYPE_OPTIONAL:
        p->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
        p->optional_type = new_message(a, &onnx__type_proto__optional__descriptor);
        p->optional_type->elem_type = write_element(a, t->element);
        break;
    case TYPE_MAP:
        p->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
        p->map_type = new_message(a, &onnx__type_proto__map__descriptor);
        p->map_type->has_key_type = true;
        p->map_type->key_type = (int32_t)t->elem;
        p->map_type->value_type = write_element(a, t->element);
        break;
    case TYPE_OPAQUE:
        p->value_case = ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE;
        p->opaque_type = new_message(a, &onnx__type_proto__opaque__descriptor);
        WRITE_TEXT(p->opaque_type, domain, t->opaque_domain);
        WRITE_TEXT(p->opaque_type, name, t->opaque_name);
        break;
    }
    return p;
}

static Onnx__ValueInfoProto *write_value_info(struct arena *a, const struct model_value_info *v)
{
    Onnx__ValueInfoProto *const p = new_message(a, &onnx__value_info_proto__descriptor);
    WRITE_TEXT(p, name, v->name);
    WRITE_TEXT(p, doc_string, v->doc);
    WRITE_METADATA(a, p, v);
    p->type = v->type.kind != TYPE_NONE ? write_type(a, &v->type) : NULL;
    return p;
}

/* ---- attributes, nodes, graphs -------------------------------------------------- */

static Onnx__GraphProto *write_graph(struct arena *a, const struct model_graph *g);

static ProtobufCBinaryData write_bytes(const struct model_bytes *b)
{
    return (ProtobufCBinaryData){b->size, (uint8_t *)(uintptr_t)b->data};
}

static void write_attr_value(struct arena *a, const struct model_attr *x, Onnx__AttributeProto *p)
{
    switch (x->type) {
    case ATTR_FLOAT:
        p->has_f = true;
        p->f = x->f;
        break;
    case ATTR_INT:
        p->has_i = true;
        p->i = x->i;
        break;
    case ATTR_STRING:
        p->has_s = true;
        p->s = write_bytes(&x->s);
        break;
    case ATTR_TENSOR:
        p->t = write_tensor(a, x->t_name, x->t);
        break;
    case ATTR_GRAPH:
        p->g = write_graph(a, x->g);
        break;
    case ATTR_SPARSE_TENSOR:
        p->sparse_tensor = write_sparse(a, x->sparse);
        break;
    case ATTR_TYPE_PROTO:
        p->tp = write_type(a, x->tp);
        break;
    case ATTR_FLOATS:
        p->n_floats = x->floats.count;
        p->floats = x->floats.data;
        break;
    case ATTR_INTS:
        p->n_ints = x->ints.count;
        p->ints = x->ints.data;
        break;
    case ATTR_STRINGS:
        WRITE_LIST(a, &x->strings, p->n_strings, p->strings, write_bytes(&x->strings.data[i]));
        break;
    case ATTR_TENSORS:
        WRITE_LIST(a, &x->tensors, p->n_tensors, p->tensors, write_tensor(a, "", x->tensors.data[i]));
        break;
    case ATTR_GRAPHS:
        WRITE_LIST(a, &x->graphs, p->n_graphs, p->graphs, write_graph(a, x->graphs.data[i]));
        break;
    case ATTR_SPARSE_TENSORS:
        WRITE_LIST(a, &x->sparses, p->n_sparse_tensors, p->sparse_tensors, write_sparse(a, x->sparses.data[i]));
        break;
    case ATTR_TYPE_PROTOS:
        WRITE_LIST(a, &x->types, p->n_type_protos, p->type_protos, write_type(a, x->types.data[i]));
        break;
    case ATTR_UNDEFINED:
    case ATTR_TYPE_COUNT:
        break;
    }
}

static Onnx__AttributeProto *write_attr(struct arena *a, const struct model_attr *x)
{
    Onnx__AttributeProto *const p = new_message(a, &onnx__attribute_proto__descriptor);
    WRITE_TEXT(p, name, x->name);
    WRITE_TEXT(p, doc_string, x->doc);
    WRITE_TEXT(p, ref_attr_name, x->ref);
    p->has_type = true;
    p->type = (Onnx__AttributeProto__AttributeType)x->type;
    if (!p->has_ref_attr_name)
        write_attr_value(a, x, p);
    return p;
}

static Onnx__SimpleShardedDimProto *write_shards(struct arena *a, const struct model_shards *s)
{
    Onnx__SimpleShardedDimProto *const p = new_message(a, &onnx__simple_sharded_dim_proto__descriptor);
    if (s->size >= 0) {
        p->dim_case = ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_VALUE;
        p->dim_value = s->size;
    } else if (*s->symbol) {
        p->dim_case = ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_PARAM;
        p->dim_param = write_text(s->symbol);
    }
    p->has_num_shards = true;
    p->num_shards = s->count;
    return p;
}

static Onnx__ShardedDimProto *write_sharded_axis(struct arena *a, const struct model_sharded_axis *x)
{
    Onnx__ShardedDimProto *const p = new_message(a, &onnx__sharded_dim_proto__descriptor);
    p->has_axis = true;
    p->axis = x->axis;
    WRITE_LIST(a, &x->shards, p->n_simple_sharding, p->simple_sharding, write_shards(a, &x->shards.data[i]));
    return p;
}

static Onnx__IntIntListEntryProto *write_device_group(struct arena *a, const struct model_device_group *g)
{
    Onnx__IntIntListEntryProto *const p = new_message(a, &onnx__int_int_list_entry_proto__descriptor);
    p->has_key = true;
    p->key = g->key;
    p->n_value = g->devices.count;
    p->value = g->devices.data;
    return p;
}

static Onnx__ShardingSpecProto *write_sharding(struct arena *a, const struct model_sharding *s)
{
    Onnx__ShardingSpecProto *const p = new_message(a, &onnx__sharding_spec_proto__descriptor);
    WRITE_TEXT(p, tensor_name, s->tensor);
    p->n_device = s->devices.count;
    p->device = s->devices.data;
    WRITE_LIST(a, &s->groups, p->n_index_to_device_group_map, p->index_to_device_group_map,
               write_device_group(a, &s->groups.data[i]));
    WRITE_LIST(a, &s->axes, p->n_sharded_dim, p->sharded_dim, write_sharded_axis(a, &s->axes.data[i]));
    return p;
}

static Onnx__NodeDeviceConfigurationProto *write_node_devices(struct arena *a, const struct model_node_devices *x)
{
    Onnx__NodeDeviceConfigurationProto *const p = new_message(a, &onnx__node_device_configuration_proto__descriptor);
    WRITE_TEXT(p, configuration_id, x->configuration);
    p->has_pipeline_stage = x->has_stage;
    p->pipeline_stage = x->stage;
    WRITE_LIST(a, &x->shardings, p->n_sharding_spec, p->sharding_spec, write_sharding(a, &x->shardings.data[i]));
    return p;
}

static Onnx__DeviceConfigurationProto *write_devices(struct arena *a, const struct model_devices *x)
{
    Onnx__DeviceConfigurationProto *const p = new_message(a, &onnx__device_configuration_proto__descriptor);
    WRITE_TEXT(p, name, x->name);
    p->has_num_devices = true;
    p->num_devices = x->count;
    write_names(a, &x->names, &p->n_device, &p->device);
    return p;
}

static Onnx__NodeProto *write_node(struct arena *a, const struct model_node *n)
{
    Onnx__NodeProto *const p = new_message(a, &onnx__node_proto__descriptor);
    WRITE_TEXT(p, name, n->name);
    WRITE_TEXT(p, op_type, n->op_type);
    WRITE_TEXT(p, domain, n->domain);
    WRITE_TEXT(p, overload, n->overload);
    WRITE_TEXT(p, doc_string, n->doc);
    write_names(a, &n->inputs, &p->n_input, &p->input);
    write_names(a, &n->outputs, &p->n_output, &p->output);
    WRITE_LIST(a, &n->attrs, p->n_attribute, p->attribute, write_attr(a, n->attrs.data[i]));
    WRITE_METADATA(a, p, n);
    WRITE_LIST(a, &n->devices, p->n_device_configurations, p->device_configurations,
               write_node_devices(a, &n->devices.data[i]));
    return p;
}

static Onnx__TensorAnnotation *write_quantization(struct arena *a, const struct model_quantization *q)
{
    Onnx__TensorAnnotation *const p = new_message(a, &onnx__tensor_annotation__descriptor);
    WRITE_TEXT(p, tensor_name, q->tensor_name);
    write_pairs(a, &q->parameters, &p->n_quant_parameter_tensor_names, &p->quant_parameter_tensor_names);
    return p;
}

static Onnx__GraphProto *write_graph(struct arena *a, const struct model_graph *g)
{
    Onnx__GraphProto *const p = new_message(a, &onnx__graph_proto__descriptor);
    WRITE_TEXT(p, name, g->name);
    WRITE_TEXT(p, doc_string, g->doc);
    WRITE_LIST(a, &g->nodes, p->n_node, p->node, write_node(a, g->nodes.data[i]));
    WRITE_LIST(a, &g->initializers, p->n_initializer, p->initializer, write_initializer(a, g->initializers.data[i]));
    WRITE_LIST(a, &g->sparse_initializers, p->n_sparse_initializer, p->sparse_initializer,
               write_sparse(a, g->sparse_initializers.data[i]));
    WRITE_LIST(a, &g->inputs, p->n_input, p->input, write_value_info(a, g->inputs.data[i]));
    WRITE_LIST(a, &g->outputs, p->n_output, p->output, write_value_info(a, g->outputs.data[i]));
    WRITE_LIST(a, &g->value_infos, p->n_value_info, p->value_info, write_value_info(a, g->value_infos.data[i]));
    WRITE_LIST(a, &g->quantization, p->n_quantization_annotation, p->quantization_annotation,
               write_quantization(a, g->quantization.data[i]));
    WRITE_METADATA(a, p, g);
    return p;
}

/* ---- models --------------------------------------------------------------------- */

static Onnx__FunctionProto *write_function(struct arena *a, const struct model_function *f)
{
    Onnx__FunctionProto *const p = new_message(a, &onnx__function_proto__descriptor);
    WRITE_TEXT(p, name, f->name);
    WRITE_TEXT(p, domain, f->domain);
    WRITE_TEXT(p, overload, f->overload);
    WRITE_TEXT(p, doc_string, f->doc);
    write_names(a, &f->inputs, &p->n_input, &p->input);
    write_names(a, &f->outputs, &p->n_output, &p->output);
    write_names(a, &f->attributes, &p->n_attribute, &p->attribute);
    WRITE_LIST(a, &f->attribute_defaults, p->n_attribute_proto, p->attribute_proto,
               write_attr(a, f->attribute_defaults.data[i]));
    WRITE_LIST(a, &f->nodes, p->n_node, p->node, write_node(a, f->nodes.data[i]));
    WRITE_LIST(a, &f->value_infos, p->n_value_info, p->value_info, write_value_info(a, f->value_infos.data[i]));
    WRITE_LIST(a, &f->opsets, p->n_opset_import, p->opset_import, write_opset(a, &f->opsets.data[i]));
    WRITE_METADATA(a, p, f);
    return p;
}

static Onnx__TrainingInfoProto *write_training(struct arena *a, const struct model_training *t)
{
    Onnx__TrainingInfoProto *const p = new_message(a, &onnx__training_info_proto__descriptor);
    p->initialization = t->initialization ? write_graph(a, t->initialization) : NULL;
    p->algorithm = t->algorithm ? write_graph(a, t->algorithm) : NULL;
    write_pairs(a, &t->initialization_binding, &p->n_initialization_binding, &p->initialization_binding);
    write_pairs(a, &t->update_binding, &p->n_update_binding, &p->update_binding);
    return p;
}

Onnx__ModelProto *model_message(struct arena *a, const struct model *m)
{
    Onnx__ModelProto *const p = new_message(a, &onnx__model_proto__descriptor);
    p->has_ir_version = true;
    p->ir_version = m->ir_version;
    p->has_model_version = m->model_version != 0;
    p->model_version = m->model_version;
    WRITE_TEXT(p, producer_name, m->producer_name);
    WRITE_TEXT(p, producer_version, m->producer_version);
    WRITE_TEXT(p, domain, m->domain);
    WRITE_TEXT(p, doc_string, m->doc);
    p->graph = write_graph(a, m->graph);
    WRITE_LIST(a, &m->opsets, p->n_opset_import, p->opset_import, write_opset(a, &m->opsets.data[i]));
    WRITE_METADATA(a, p, m);
    WRITE_LIST(a, &m->training, p->n_training_info, p->training_info, write_training(a, m->training.data[i]));
    WRITE_LIST(a, &m->functions, p->n_functions, p->functions, write_function(a, m->functions.data[i]));
    WRITE_LIST(a, &m->configurations, p->n_configuration, p->configuration,
               write_devices(a, &m->configurations.data[i]));
    return p;
}

bool write_packed(struct diag *d, struct arena *a, const struct loc *at, const ProtobufCMessage *m,
                  unsigned char **bytes, size_t *size)
{
    *size = protobuf_c_message_get_packed_size(m);
    if (*size > INT_MAX)
        return diag_error(d, at, "cannot be written: %zu bytes, but a file of this format ends at 2 GiB", *size);
    *bytes = arena_array(a, unsigned char, *size);
    if (protobuf_c_message_pack(m, *bytes) != *size)
        UNREACHABLE("%s packs to another size than announced", m->descriptor->name);
    return true;
}

bool model_encode_onnx(struct diag *d, struct arena *a, const struct model *m, unsigned char **bytes, size_t *size)
{
    struct arena scratch = {0};
    const bool ok = write_packed(d, a, &LOC_FILE(m->file), &model_message(&scratch, m)->base, bytes, size);
    arena_free(&scratch);
    return ok;
}

struct hash_buffer {
    ProtobufCBuffer base;
    struct sha256 *hash;
};

static void hash_bytes_of_message(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    sha256_add(((struct hash_buffer *)buffer)->hash, bytes, size);
}

void hash_message(const ProtobufCMessage *m, struct sha256 *hash)
{
    struct hash_buffer buffer = {{hash_bytes_of_message}, hash};
    sha256_begin(hash);
    (void)protobuf_c_message_pack_to_buffer(m, &buffer.base);
}
