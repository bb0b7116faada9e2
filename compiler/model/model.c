#include "model/model.h"

#include "base/file.h"
#include "base/str.h"
#include "model/model_internal.h"
#include <string.h>

const char *attr_type_name(enum attr_type t)
{
    static const char *const names[ATTR_TYPE_COUNT] = {
        "undefined", "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
        "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};
    return (unsigned)t < ATTR_TYPE_COUNT ? names[t] : "undefined";
}

/* ---- files -------------------------------------------------------------------- */

static bool read_whole(struct diag *d, struct arena *a, const char *path, struct model **out)
{
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const bool ok = file_read(d, &scratch, path, FILE_MAX_BYTES, &bytes, &size) &&
                    (str_ends_with(path, ".onnxtxt") ? model_read_text(d, a, path, (const char *)bytes, size, out)
                                                     : model_read_onnx(d, a, path, bytes, size, out));
    arena_free(&scratch);
    return ok;
}

/* Is it another kind of file? */
static bool check_kind(struct diag *d, const char *path)
{
    unsigned char bytes[512];
    size_t size;
    if (!file_begin(path, bytes, sizeof bytes, &size))
        return true; /* a pipe; or who reads it says why it cannot */
    const bool is_text = str_ends_with(path, ".onnxtxt");
    const char *const what = is_text ? NULL : foreign_file(bytes, size);
    const struct loc at = LOC_FILE(arena_strdup(d->arena, path));
    if (is_text && size > 1 && bytes[0] == 0x08 && bytes[1] < 0x20)
        return diag_error(d, &at,
                          "a binary ONNX file, as its first bytes say, and no text: its name should end in .onnx");
    return !what || diag_error(d, &at, "this is no ONNX model: %s", what);
}

bool model_read(struct diag *d, struct arena *a, const char *path, struct model **out)
{
    if (!check_kind(d, path))
        return false;
    bool well_formed = false;
    const bool ok = !str_ends_with(path, ".onnxtxt") && read_model_file(d, a, path, out, &well_formed);
    return well_formed ? ok : read_whole(d, a, path, out);
}

bool tensor_file_read(struct diag *d, struct arena *a, const char *path, struct tensor **out, const char **name)
{
    *name = "";
    if (str_ends_with(path, ".npy"))
        return npy_read(d, a, path, out);
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const bool ok = file_read(d, &scratch, path, FILE_MAX_BYTES, &bytes, &size) &&
                    read_tensor_bytes(d, a, path, bytes, size, out, name);
    arena_free(&scratch);
    return ok;
}

bool tensor_file_write(struct diag *d, const char *path, const char *name, const struct tensor *t)
{
    if (str_ends_with(path, ".npy"))
        return npy_write(d, path, t);
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const bool ok = write_packed(d, &scratch, &LOC_FILE(path), &write_tensor(&scratch, name, t)->base, &bytes, &size) &&
                    file_write(d, path, bytes, size);
    arena_free(&scratch);
    return ok;
}

/* ---- look-ups ----------------------------------------------------------------- */

struct model_graph *model_next_inner(struct model_inner *at)
{
    for (; at->attr < at->node->attrs.count; at->attr++, at->graph = 0) {
        const struct model_attr *const x = at->node->attrs.data[at->attr];
        if (x->type == ATTR_GRAPH && x->g && at->graph++ == 0)
            return x->g;
        if (x->type == ATTR_GRAPHS && at->graph < x->graphs.count)
            return x->graphs.data[at->graph++];
    }
    return NULL;
}

void model_each_node(const struct model_graph *g, void (*visit)(void *to, const struct model_node *n), void *to)
{
    for (size_t i = 0; g != NULL && i < g->nodes.count; i++) {
        visit(to, g->nodes.data[i]);
        model_each_inner(g->nodes.data[i], inner)
            model_each_node(inner, visit, to);
    }
}

struct model_initializer *model_find_initializer(const struct model_graph *g, const char *name)
{
    vec_each(struct model_initializer *, x, &g->initializers)
        if (str_equal(x->name, name))
            return x;
    return NULL;
}

struct model_attr *model_find_attr(const model_attrs *attrs, const char *name)
{
    vec_each(struct model_attr *, x, attrs)
        if (str_equal(x->name, name))
            return x;
    return NULL;
}

struct model_value_info *model_find_value(const model_values *values, const char *name)
{
    vec_each(struct model_value_info *, v, values)
        if (str_equal(v->name, name))
            return v;
    return NULL;
}

void model_add_files(struct arena *a, struct model *into, const struct model *from)
{
    vec_each(const char *, path, &from->external_files)
        vec_push(a, &into->external_files, path);
    vec_each_ptr(const struct model_source, c, &from->checkpoints)
        vec_push(a, &into->checkpoints, *c);
}

bool model_type_has(const struct model_type *t, const char *symbol)
{
    vec_each_ptr(const struct model_dim, dim, &t->dims)
        if (dim->value < 0 && str_equal(dim->param, symbol))
            return true;
    return false;
}

const char *model_dims_text(struct arena *a, const struct model_dim *dims, size_t rank)
{
    struct strbuf b = {.arena = a};
    strbuf_add(&b, "[");
    for (size_t i = 0; i < rank; i++) {
        strbuf_add(&b, i ? "," : "");
        if (dims[i].value >= 0)
            strbuf_addf(&b, "%lld", (long long)dims[i].value);
        else
            strbuf_add(&b, dims[i].param[0] ? dims[i].param : "?");
    }
    strbuf_add(&b, "]");
    return strbuf_text(&b);
}

const char *model_domain(const char *domain)
{
    return str_equal(domain, "ai.onnx") ? "" : domain;
}

/* A domain imported twice: equal versions are fine, others are refused at import, so the first will do. */
int64_t model_opset(const model_opsets *opsets, const char *domain)
{
    const char *wanted = model_domain(domain);
    for (size_t i = 0; i < opsets->count; i++)
        if (str_equal(opsets->data[i].domain, wanted))
            return opsets->data[i].version;
    return 0;
}

/* ---- makers ------------------------------------------------------------------- */

struct model_graph *model_graph_new(struct arena *a, const char *name)
{
    struct model_graph *g = arena_new(a, struct model_graph);
    g->name = arena_strdup(a, name);
    g->doc = "";
    g->loc = (struct loc){.graph = g->name, .index = -1};
    return g;
}

struct model_node *model_add_node(struct arena *a, struct model_graph *g, const char *domain, const char *op_type,
                                  const char *const *inputs, const char *const *outputs)
{
    struct model_node *n = arena_new(a, struct model_node);
    n->name = n->overload = n->doc = "";
    n->op_type = arena_strdup(a, op_type);
    n->domain = arena_strdup(a, domain);
    n->loc = g->loc;
    n->loc.node = n->name;
    n->loc.op = n->op_type;
    n->loc.index = (int)g->nodes.count;
    for (; *inputs; inputs++)
        vec_push(a, &n->inputs, arena_strdup(a, *inputs));
    for (; *outputs; outputs++)
        vec_push(a, &n->outputs, arena_strdup(a, *outputs));
    vec_push(a, &g->nodes, n);
    return n;
}

/* The attribute of that name, emptied: an old one is replaced in its place. */
static struct model_attr *set_attr(struct arena *a, struct model_node *n, const char *name, enum attr_type type)
{
    struct model_attr *x = model_find_attr(&n->attrs, name);
    if (!x) {
        x = arena_new(a, struct model_attr);
        vec_push(a, &n->attrs, x);
    }
    *x = (struct model_attr){
        .name = arena_strdup(a, name), .doc = "", .ref = "", .t_name = "", .s.data = "", .type = type, .loc = n->loc};
    return x;
}

void model_set_int(struct arena *a, struct model_node *n, const char *name, int64_t x)
{
    set_attr(a, n, name, ATTR_INT)->i = x;
}

void model_set_float(struct arena *a, struct model_node *n, const char *name, float x)
{
    set_attr(a, n, name, ATTR_FLOAT)->f = x;
}

void model_set_string(struct arena *a, struct model_node *n, const char *name, const char *x)
{
    set_attr(a, n, name, ATTR_STRING)->s = (struct model_bytes){arena_strdup(a, x), strlen(x)};
}

void model_set_ints(struct arena *a, struct model_node *n, const char *name, const int64_t *x, size_t count)
{
    struct model_attr *attr = set_attr(a, n, name, ATTR_INTS);
    VEC_RESERVE(a, &attr->ints, count);
    for (size_t i = 0; i < count; i++)
        attr->ints.data[attr->ints.count++] = x[i];
}

void model_set_floats(struct arena *a, struct model_node *n, const char *name, const double *x, size_t count)
{
    struct model_attr *attr = set_attr(a, n, name, ATTR_FLOATS);
    VEC_RESERVE(a, &attr->floats, count);
    for (size_t i = 0; i < count; i++)
        attr->floats.data[attr->floats.count++] = (float)x[i];
}

void model_set_strings(struct arena *a, struct model_node *n, const char *name, const char *const *x, size_t count)
{
    struct model_attr *attr = set_attr(a, n, name, ATTR_STRINGS);
    VEC_RESERVE(a, &attr->strings, count);
    for (size_t i = 0; i < count; i++)
        attr->strings.data[attr->strings.count++] = (struct model_bytes){arena_strdup(a, x[i]), strlen(x[i])};
}

void model_set_tensor(struct arena *a, struct model_node *n, const char *name, struct tensor *t)
{
    set_attr(a, n, name, ATTR_TENSOR)->t = t;
}

void model_set_graph(struct arena *a, struct model_node *n, const char *name, struct model_graph *g)
{
    set_attr(a, n, name, ATTR_GRAPH)->g = g;
}

void model_add_initializer(struct arena *a, struct model_graph *g, const char *name, struct tensor *t)
{
    struct model_initializer *x = arena_new(a, struct model_initializer);
    x->name = arena_strdup(a, name);
    x->doc = "";
    x->tensor = t;
    x->loc = g->loc;
    vec_push(a, &g->initializers, x);
}

void model_add_value(struct arena *a, struct model_graph *g, int where, const char *name, enum dtype dtype,
                     const struct model_dim *dims, size_t rank)
{
    struct model_value_info *v = arena_new(a, struct model_value_info);
    v->name = arena_strdup(a, name);
    v->doc = "";
    v->loc = g->loc;
    v->type = (struct model_type){.kind = TYPE_TENSOR, .elem = dtype, .has_shape = true, .opaque_domain = "",
                                  .opaque_name = "", .denotation = ""};
    VEC_RESERVE(a, &v->type.dims, rank);
    for (size_t i = 0; i < rank; i++) {
        v->type.dims.data[i] = dims ? dims[i] : (struct model_dim){.value = -1};
        if (!v->type.dims.data[i].param)
            v->type.dims.data[i].param = "";
        if (!v->type.dims.data[i].denotation)
            v->type.dims.data[i].denotation = "";
    }
    v->type.dims.count = rank;
    model_values *const lists[] = {&g->inputs, &g->outputs, &g->value_infos};
    vec_push(a, lists[where], v);
}
