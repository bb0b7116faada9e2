/* A model as its file says it: plain structs that mirror the messages of onnx.proto, already checked for what any
 * reader may rely on (lengths, counts, depth, valid UTF-8 without NUL, valid tensor storage), but not for meaning:
 * names may dangle and shapes disagree until the graph is imported.
 *
 * Everything lives in the arena given to the reader. Absent strings are "", never NULL, unless said otherwise.
 * This folder is the only place that knows protobuf. */
#ifndef STEPC_MODEL_MODEL_H
#define STEPC_MODEL_MODEL_H

#include "base/diag.h"
#include "base/str.h"
#include "base/vec.h"
#include "tensor/tensor.h"

/* AttributeProto.AttributeType */
enum attr_type {
    ATTR_UNDEFINED = 0,
    ATTR_FLOAT,
    ATTR_INT,
    ATTR_STRING,
    ATTR_TENSOR,
    ATTR_GRAPH,
    ATTR_FLOATS,
    ATTR_INTS,
    ATTR_STRINGS,
    ATTR_TENSORS,
    ATTR_GRAPHS,
    ATTR_SPARSE_TENSOR,
    ATTR_SPARSE_TENSORS,
    ATTR_TYPE_PROTO,
    ATTR_TYPE_PROTOS,
    ATTR_TYPE_COUNT
};

const char *attr_type_name(enum attr_type t); /* "float", "ints", ... */

struct model_graph;
struct model_type;

/* values: the elements that are not zero; indices: INT64, [nnz] or [nnz, rank], ascending; dims: the dense shape. */
struct model_sparse {
    const char *name;
    struct tensor *values, *indices;
    struct shape dims;
    struct loc loc;
};

struct model_bytes { /* a string attribute: any octets */
    const char *data; /* NUL follows */
    size_t size;
};

struct model_attr {
    const char *name, *doc;
    enum attr_type type;
    const char *ref; /* ref_attr_name, "" where none */
    float f;
    int64_t i;
    struct model_bytes s;
    struct tensor *t;
    const char *t_name; /* the name inside the tensor: kept for writing back */
    struct model_graph *g;
    struct model_sparse *sparse;
    struct model_type *tp;
    VEC(float) floats;
    VEC(int64_t) ints;
    VEC(struct model_bytes) strings;
    VEC(struct tensor *) tensors;
    VEC(struct model_graph *) graphs;
    VEC(struct model_sparse *) sparses;
    VEC(struct model_type *) types;
    struct loc loc;
};

struct model_pair { /* StringStringEntryProto */
    const char *key, *value;
};
typedef VEC(struct model_attr *) model_attrs;
typedef VEC(struct model_pair) model_pairs;

/* How a model is distributed over devices (IR 11): hints on nodes, docs/devices.md. Numbers are as the file has
 * them. */
enum { DEVICES_IR = 11 };
struct model_shards { /* SimpleShardedDimProto */
    int64_t size;       /* of the axis, or of one of those fused into it; -1: see symbol */
    const char *symbol; /* "": not said */
    int64_t count;
};
struct model_sharded_axis {
    int64_t axis;
    VEC(struct model_shards) shards;
};
struct model_device_group { /* an entry of index_to_device_group_map */
    int64_t key;
    VEC(int64_t) devices;
};
struct model_sharding { /* ShardingSpecProto */
    const char *tensor;
    VEC(int64_t) devices; /* or keys of groups */
    VEC(struct model_device_group) groups;
    VEC(struct model_sharded_axis) axes;
};
struct model_node_devices { /* NodeDeviceConfigurationProto */
    const char *configuration;
    bool has_stage;
    int32_t stage;
    VEC(struct model_sharding) shardings;
};
struct model_devices { /* DeviceConfigurationProto */
    const char *name;
    int32_t count;
    str_list names; /* of the devices; empty: not said */
};

struct model_node {
    const char *name, *op_type, *domain /* "ai.onnx" is read as "" */, *overload, *doc;
    str_list inputs, outputs; /* "" = omitted */
    model_attrs attrs;
    model_pairs metadata;
    VEC(struct model_node_devices) devices;
    struct loc loc; /* .graph, .node, .op, .index set */
};

enum type_kind { TYPE_NONE, TYPE_TENSOR, TYPE_SPARSE_TENSOR, TYPE_SEQUENCE, TYPE_MAP, TYPE_OPTIONAL, TYPE_OPAQUE };

struct model_dim {
    int64_t value;     /* >= 0, or -1: see param */
    const char *param; /* symbol, or "" = unknown and unrelated to anything */
    const char *denotation;
};

struct model_type {
    enum type_kind kind;
    enum dtype elem;          /* tensor, sparse tensor; key type of a map */
    bool has_shape;           /* false: rank not known */
    VEC(struct model_dim) dims; /* at most SHAPE_MAX_RANK */
    struct model_type *element; /* sequence, optional; value type of a map */
    const char *opaque_domain, *opaque_name, *denotation;
};

struct model_value_info {
    const char *name, *doc;
    struct model_type type; /* kind TYPE_NONE: absent */
    model_pairs metadata;
    struct loc loc;
};

struct model_initializer {
    const char *name, *doc;
    struct tensor *tensor;
    /* External data: where it came from, so that writing can say so; NULL when the data stood in the file. */
    const char *external_location;
    model_pairs metadata;
    struct loc loc;
};

typedef VEC(struct model_node *) model_nodes;
typedef VEC(struct model_value_info *) model_values;

struct model_quantization {
    const char *tensor_name;
    model_pairs parameters;
};

struct model_graph {
    const char *name, *doc;
    model_nodes nodes;
    VEC(struct model_initializer *) initializers;
    VEC(struct model_sparse *) sparse_initializers;
    model_values inputs, outputs, value_infos;
    VEC(struct model_quantization *) quantization;
    model_pairs metadata;
    struct loc loc;
};

struct model_training {
    struct model_graph *initialization, *algorithm; /* NULL where absent */
    model_pairs initialization_binding, update_binding;
    struct loc loc;
};

struct model_opset {
    const char *domain; /* "ai.onnx" is read as "" */
    int64_t version;
};
typedef VEC(struct model_opset) model_opsets;

struct model_function {
    const char *name, *domain, *overload, *doc;
    str_list inputs, outputs, attributes;
    model_attrs attribute_defaults;
    model_nodes nodes;
    model_values value_infos;
    model_opsets opsets;
    model_pairs metadata;
    struct loc loc;
};

/* A checkpoint that something of the model was taken from, and the files of it that were read. */
struct model_source {
    const char *path; /* as the user typed it: a file, a folder, the beginning of names */
    str_list files;
};

struct model {
    const char *file; /* as the user typed it */
    int64_t ir_version, model_version;
    const char *producer_name, *producer_version, *domain, *doc;
    model_opsets opsets;
    model_pairs metadata;
    struct model_graph *graph; /* never NULL after a successful read */
    VEC(struct model_training *) training;
    VEC(struct model_function *) functions;
    VEC(struct model_devices) configurations;
    unsigned char digest[32]; /* SHA-256 of the file's bytes (external data not included) */
    str_list external_files; /* paths read, for dependency files */
    VEC(struct model_source) checkpoints;
};

/* Reads a model: .onnxtxt as text, anything else as ONNX bytes; external data from files inside the
 * model's folder only. */
bool model_read(struct diag *d, struct arena *a, const char *path, struct model **out) MUST_USE;
/* The same from memory (fuzzing, tests). `path` names the folder for external data and the file in messages. */
bool model_read_onnx(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                     struct model **out) MUST_USE;
/* The same for the text syntax (ONNX's, with @training_info). The first fault is reported with line,
 * column and caret. */
bool model_read_text(struct diag *d, struct arena *a, const char *path, const char *text, size_t size,
                     struct model **out) MUST_USE;
/* Writes .onnxtxt as text (see model_encode_text; lossy), anything else as .onnx (deterministic: field order of the
 * schema; tensors as raw_data). External data is brought inside, unless the message would be larger than protobuf's 2
 * GiB: then all large initializers go to PATH.data. */
bool model_write(struct diag *d, const struct model *m, const char *path) MUST_USE;
/* The same of .onnx, with another bound on the message. */
bool model_write_within(struct diag *d, const struct model *m, const char *path, size_t most) MUST_USE;
bool model_encode_onnx(struct diag *d, struct arena *a, const struct model *m, unsigned char **bytes,
                       size_t *size) MUST_USE;
/* What model_encode_onnx() writes, read back, without the bytes in between: tensors share their data with those of
 * `written`, and there is no bound of 2 GiB. */
bool model_read_written(struct diag *d, struct arena *a, const char *path, const struct model *written,
                        struct model **out) MUST_USE;
/* `into` was made of `from`: the files that went into that went into it, too. */
void model_add_files(struct arena *a, struct model *into, const struct model *from);
/* The text that reads back as an equal model, the same for equal models; a NUL follows. What the syntax has no place
 * for (write_text.c lists it) is refused in one error that names and counts all of it; with `lossy` a note says what
 * was left out or replaced, and only what would make it another model is refused. */
bool model_encode_text(struct diag *d, struct arena *a, const struct model *m, bool lossy, const char **text,
                       size_t *size) MUST_USE;
bool model_write_text(struct diag *d, const struct model *m, const char *path, bool lossy) MUST_USE;

/* A file holding one TensorProto (.pb), or .npy by its extension. *name: the name inside, may be "". */
bool tensor_file_read(struct diag *d, struct arena *a, const char *path, struct tensor **out,
                      const char **name) MUST_USE;
bool tensor_file_write(struct diag *d, const char *path, const char *name, const struct tensor *t) MUST_USE;

/* Look-ups; NULL where absent. */
/* model_each_inner(n, g) { ... }: each graph g inside node n, in attributes of one graph or of several. */
struct model_inner {
    const struct model_node *node;
    size_t attr, graph;
};
struct model_graph *model_next_inner(struct model_inner *at);
#define model_each_inner(n, g)                                                                                         \
    for (struct model_inner g##_at = {(n), 0, 0}; g##_at.node; g##_at.node = NULL)                                     \
        for (struct model_graph * g; (g = model_next_inner(&g##_at)) != NULL;)
/* Each node of the graph, and after it those of graphs inside it. Nesting is bounded by the reader. */
void model_each_node(const struct model_graph *g, void (*visit)(void *to, const struct model_node *n), void *to);
struct model_initializer *model_find_initializer(const struct model_graph *g, const char *name);
struct model_attr *model_find_attr(const model_attrs *attrs, const char *name);
struct model_value_info *model_find_value(const model_values *values, const char *name);
/* Is the symbol the size of some dimension? The dimensions as text, "[batch,64,?]". */
bool model_type_has(const struct model_type *t, const char *symbol);
const char *model_dims_text(struct arena *a, const struct model_dim *dims, size_t rank);
/* "ai.onnx" and "" are one domain, which is "" in all but functions: these must name theirs. */
const char *model_domain(const char *domain);
/* Version imported for a domain ("" = ai.onnx), or 0. */
int64_t model_opset(const model_opsets *opsets, const char *domain);

/* Small makers for code that writes models (prepare, tests). */
struct model_graph *model_graph_new(struct arena *a, const char *name);
struct model_node *model_add_node(struct arena *a, struct model_graph *g, const char *domain, const char *op_type,
                                  const char *const *inputs, const char *const *outputs); /* NULL-terminated */
void model_set_int(struct arena *a, struct model_node *n, const char *name, int64_t x);
void model_set_float(struct arena *a, struct model_node *n, const char *name, float x);
void model_set_string(struct arena *a, struct model_node *n, const char *name, const char *x);
void model_set_ints(struct arena *a, struct model_node *n, const char *name, const int64_t *x, size_t count);
void model_set_floats(struct arena *a, struct model_node *n, const char *name, const double *x, size_t count);
void model_set_strings(struct arena *a, struct model_node *n, const char *name, const char *const *x, size_t count);
void model_set_tensor(struct arena *a, struct model_node *n, const char *name, struct tensor *t);
void model_set_graph(struct arena *a, struct model_node *n, const char *name, struct model_graph *g);
void model_add_initializer(struct arena *a, struct model_graph *g, const char *name, struct tensor *t);
/* where: 0 input, 1 output, 2 value_info. dims: shape with the symbols of `like` where its dims agree in position; pass
 * NULL for none. */
void model_add_value(struct arena *a, struct model_graph *g, int where, const char *name, enum dtype dtype,
                     const struct model_dim *dims, size_t rank);

#endif
