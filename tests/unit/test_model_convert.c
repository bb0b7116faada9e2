/* Models as text: there and back again, byte for byte in both directions; and what the text has no place for. */
#include "base/decimal.h"
#include "wire.h"
#include "suite.h"

#include <math.h>

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define COUNT(x) (sizeof(x) / sizeof *(x))

/* ---- both ways --------------------------------------------------------------------------------------------------- */

static const char *first_message(void)
{
    return diag.messages.count ? diag.messages.data[0].text : "no message";
}

static const char *to_text(const struct model *m, bool lossy)
{
    const char *text = NULL;
    size_t size = 0;
    ck_assert_msg(model_encode_text(&diag, &arena, m, lossy, &text, &size), "not written: %s", first_message());
    ck_assert_uint_eq(strlen(text), size);
    return text;
}

static struct model *from_text(const char *text)
{
    struct model *m = NULL;
    ck_assert_msg(model_read_text(&diag, &arena, "m.onnxtxt", text, strlen(text), &m), "%d:%d: %s\n%s",
                  diag.messages.data[0].loc.line, diag.messages.data[0].loc.col, first_message(), text);
    return m;
}

static struct wire encode(const struct model *m)
{
    struct wire w = {0};
    ck_assert(model_encode_onnx(&diag, &arena, m, &w.data, &w.count));
    return w;
}

/* Returns the text. */
static const char *assert_round_trip(const struct model *m)
{
    const char *text = to_text(m, false);
    struct model *again = from_text(text);
    const struct wire a = encode(m), b = encode(again);
    ck_assert_msg(a.count == b.count && !memcmp(a.data, b.data, a.count), "the text says another model:\n%s", text);
    ck_assert_str_eq(to_text(again, false), text);
    return text;
}

/* ---- a model of everything that text can say --------------------------------------------------------------------- */

static struct model *new_model(void)
{
    struct model *m = arena_new(&arena, struct model);
    m->file = "m.onnx";
    m->ir_version = 10;
    m->producer_name = m->producer_version = m->domain = m->doc = "";
    vec_push(&arena, &m->opsets, ((struct model_opset){"", 21}));
    m->graph = model_graph_new(&arena, "main");
    return m;
}

static struct model_attr *new_attr(struct model_node *n, const char *name, enum attr_type type)
{
    struct model_attr *x = arena_new(&arena, struct model_attr);
    *x = (struct model_attr){.name = name, .doc = "", .ref = "", .t_name = "", .s.data = "", .type = type};
    vec_push(&arena, &n->attrs, x);
    return x;
}

static struct model_type *new_type(enum type_kind kind, enum dtype elem, struct model_type *element)
{
    struct model_type *t = arena_new(&arena, struct model_type);
    *t = (struct model_type){
        .kind = kind, .elem = elem, .element = element, .opaque_domain = "", .opaque_name = "", .denotation = ""};
    return t;
}

static struct model_type *nested_type(void)
{
    struct model_type *opaque = new_type(TYPE_OPAQUE, 0, NULL);
    opaque->opaque_domain = "org.example";
    opaque->opaque_name = "thing";
    return new_type(TYPE_SEQUENCE, 0, new_type(TYPE_MAP, DTYPE_STRING, new_type(TYPE_OPTIONAL, 0, opaque)));
}

static struct model_graph *subgraph(const char *name)
{
    struct model_graph *g = model_graph_new(&arena, name);
    model_add_value(&arena, g, 1, "r", DTYPE_FLOAT, NULL, 0);
    model_set_tensor(&arena, model_add_node(&arena, g, "", "Constant", NAMES(NULL), NAMES("r")), "value",
                     tensor_scalar_double(&arena, DTYPE_FLOAT, 0.1));
    return g;
}

static void add_scalar_attributes(struct model_node *n)
{
    static const float numbers[] = {0, -0.0f, 1, 0.1f, 16777216, 1e30f, 1e-45f, 3.4028235e38f, INFINITY, -INFINITY};
    struct model_attr *floats = new_attr(n, "floats", ATTR_FLOATS);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        model_set_float(&arena, n, arena_printf(&arena, "f%zu", i), numbers[i]);
        vec_push(&arena, &floats->floats, numbers[i]);
    }
    model_set_float(&arena, n, "minus_nan", copysignf((float)NAN, -1));
    model_set_float(&arena, n, "nan", (float)NAN);
    model_set_int(&arena, n, "int", INT64_MIN);
    model_set_string(&arena, n, "string", "\"quoted\" \\n caf\xc3\xa9\nsecond line\t# no comment");
    model_set_ints(&arena, n, "ints", (const int64_t[]){1, -2, INT64_MAX}, 3);
    model_set_strings(&arena, n, "strings", NAMES("a", "", "inf"), 3);
    struct model_attr *bytes = new_attr(n, "bytes", ATTR_STRING);
    bytes->s = (struct model_bytes){"\xff\xfe", 2};
    new_attr(n, "no_floats", ATTR_FLOATS);
    new_attr(n, "no_ints", ATTR_INTS);
    new_attr(n, "no_strings", ATTR_STRINGS);
    new_attr(n, "no_tensors", ATTR_TENSORS);
    new_attr(n, "no_graphs", ATTR_GRAPHS);
    new_attr(n, "no_types", ATTR_TYPE_PROTOS);
    new_attr(n, "ref", ATTR_INTS)->ref = "outer";
    new_attr(n, "sparse_ref", ATTR_SPARSE_TENSOR)->ref = "outer name";
}

static void add_message_attributes(struct model_node *n)
{
    model_set_tensor(&arena, n, "t", tensor_from_ints(&arena, (const int64_t[]){7, 8}, 2));
    struct model_attr *named = new_attr(n, "named", ATTR_TENSOR);
    named->t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(2, 0, 3));
    named->t_name = "float";
    struct model_attr *tensors = new_attr(n, "tensors", ATTR_TENSORS);
    vec_push(&arena, &tensors->tensors, tensor_scalar_double(&arena, DTYPE_DOUBLE, 2.5));
    vec_push(&arena, &tensors->tensors, tensor_from_ints(&arena, (const int64_t[]){-1}, 1));
    new_attr(n, "g", ATTR_GRAPH)->g = subgraph("map"); /* also the beginning of a type */
    struct model_attr *graphs = new_attr(n, "graphs", ATTR_GRAPHS);
    vec_push(&arena, &graphs->graphs, subgraph("a b"));
    vec_push(&arena, &graphs->graphs, subgraph("inf"));
    new_attr(n, "tp", ATTR_TYPE_PROTO)->tp = nested_type();
    struct model_attr *types = new_attr(n, "types", ATTR_TYPE_PROTOS);
    vec_push(&arena, &types->types, new_type(TYPE_TENSOR, DTYPE_INT32, NULL));
    vec_push(&arena, &types->types, new_type(TYPE_SPARSE_TENSOR, DTYPE_FLOAT, NULL));
    vec_push(&arena, &types->types, nested_type());
}

/* Every bit pattern of the narrow types; extremes, specials and a thousand others of the wide ones. */
static struct tensor *full_tensor(enum dtype d)
{
    enum { N = 1024 };
    struct tensor *t = tensor_new(&arena, d, &SHAPE(4, N / 4));
    const bool complex_type = d == DTYPE_COMPLEX64 || d == DTYPE_COMPLEX128;
    const enum dtype part = d == DTYPE_COMPLEX64 ? DTYPE_FLOAT : d == DTYPE_COMPLEX128 ? DTYPE_DOUBLE : d;
    uint64_t state = 1;
    for (int i = 0; i < (complex_type ? 2 * N : N); i++) {
        char *at = d == DTYPE_STRING ? NULL : (char *)t->data + (size_t)i * dtype_size(part);
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = state ^ state >> 33;
        if (d == DTYPE_STRING) {
            t->strings[i] = arena_printf(&arena, "%d\n\"\\%d\xff", i, i);
            t->string_lengths[i] = strlen(t->strings[i]);
        } else if (dtype_is_int(d) || d == DTYPE_BOOL) {
            dtype_store_int(d, at,
                            d == DTYPE_BOOL ? (int64_t)(bits & 1)
                            : i == 0        ? dtype_min_int(d)
                            : i == 1        ? -1
                                            : (int64_t)bits);
        } else if (part == DTYPE_FLOAT || part == DTYPE_DOUBLE) {
            memcpy(at, &bits, dtype_size(part));
            if (isnan(dtype_load_double(part, at)))
                dtype_store_double(part, at, NAN);
        } else {
            const uint64_t small = bits & ((1u << (dtype_bits(d) < 16 ? dtype_bits(d) : 16)) - 1);
            memcpy(at, &small, dtype_size(d));
        }
    }
    return t;
}

static struct model_graph *full_graph(const char *name)
{
    struct model_graph *g = model_graph_new(&arena, name);
    const struct model_dim dims[] = {{-1, "N", ""}, {3, "", ""}, {-1, "", ""}, {-1, "a+b", ""}, {0, "", ""}};
    model_add_value(&arena, g, 0, "x", DTYPE_FLOAT, dims, COUNT(dims));
    model_add_value(&arena, g, 0, "float", DTYPE_BFLOAT16, NULL, 0);
    model_add_value(&arena, g, 0, "fc1.weight", DTYPE_FLOAT, NULL, 1);
    model_add_value(&arena, g, 1, "/y\"\\", DTYPE_FLOAT, NULL, 0);
    model_add_value(&arena, g, 1, "seq", DTYPE_FLOAT, NULL, 0);
    g->outputs.data[1]->type = *nested_type();
    model_add_value(&arena, g, 2, "z", DTYPE_INT64, NULL, 0);
    g->value_infos.data[0]->type.has_shape = false;
    model_add_value(&arena, g, 2, "untyped", DTYPE_INT64, NULL, 0);
    g->value_infos.data[1]->type = *new_type(TYPE_NONE, 0, NULL);
    for (enum dtype d = 1; d < DTYPE_COUNT; d++)
        model_add_initializer(&arena, g, dtype_name(d), full_tensor(d));
    model_add_initializer(&arena, g, "fc1.weight", tensor_scalar_double(&arena, DTYPE_FLOAT, 1));
    model_add_initializer(&arena, g, "", tensor_new(&arena, DTYPE_STRING, &SHAPE(0)));
    struct model_node *n =
        model_add_node(&arena, g, "org.example", "Everything", NAMES("x", "", "float", ""), NAMES("", "/y\"\\"));
    n->name = "node 1";
    n->overload = "o1";
    add_scalar_attributes(n);
    add_message_attributes(n);
    add_scalar_attributes(model_add_node(&arena, g, "", "Sink", NAMES(""), NAMES(NULL)));
    return g;
}

static struct model *full_model(void)
{
    struct model *m = new_model();
    m->model_version = 3;
    m->producer_name = "test \"1\"";
    m->producer_version = "1";
    m->domain = "org.example";
    m->doc = "first\nsecond";
    vec_push(&arena, &m->opsets, ((struct model_opset){"ai.onnx.preview.training", 1}));
    vec_push(&arena, &m->metadata, ((struct model_pair){"key", "value"}));
    m->graph = full_graph("main graph");
    struct model_training *t = arena_new(&arena, struct model_training),
                          *empty = arena_new(&arena, struct model_training);
    t->initialization = subgraph("init");
    t->algorithm = full_graph("train");
    for (int i = 0; i < 20; i++) {
        const char *name = arena_printf(&arena, "layer%d.weight", i);
        vec_push(&arena, &t->initialization_binding, ((struct model_pair){name, "W0"}));
        vec_push(&arena, &t->update_binding, ((struct model_pair){name, "W1"}));
    }
    vec_push(&arena, &m->training, t);
    vec_push(&arena, &m->training, empty);
    struct model_function *f = arena_new(&arena, struct model_function),
                          *bare = arena_new(&arena, struct model_function);
    *f =
        (struct model_function){.name = "fn 1", .domain = "pkg.2.3", .overload = "o-1", .doc = "d", .nodes.data = NULL};
    vec_push(&arena, &f->inputs, "a.1");
    vec_push(&arena, &f->outputs, "b");
    vec_push(&arena, &f->attributes, "alpha");
    vec_push(&arena, &f->opsets, ((struct model_opset){"", 21}));
    vec_push(&arena, &f->nodes, m->graph->nodes.data[0]);
    vec_push(&arena, &f->attribute_defaults, m->graph->nodes.data[1]->attrs.data[0]);
    vec_push(&arena, &f->value_infos, m->graph->inputs.data[0]);
    *bare = (struct model_function){.name = "bare", .domain = "", .overload = "", .doc = "", .nodes.data = NULL};
    vec_push(&arena, &m->functions, f);
    vec_push(&arena, &m->functions, bare);
    return m;
}

START_TEST(test_everything_there_and_back)
{
    assert_round_trip(full_model());
    ck_assert_uint_eq(diag.messages.count, 0);
}
END_TEST

START_TEST(test_files_by_extension)
{
    const char *folder, *text_file, *onnx_file;
    struct model *m = full_model(), *again;
    ck_assert(temp_directory(&diag, &arena, &folder));
    text_file = in_folder(folder, "m.onnxtxt");
    onnx_file = in_folder(folder, "m.onnx");
    ck_assert(model_write(&diag, m, text_file) && model_read(&diag, &arena, text_file, &again));
    ck_assert(model_write(&diag, again, onnx_file) && model_read(&diag, &arena, onnx_file, &again));
    ck_assert_str_eq(to_text(again, false), to_text(m, false));
    temp_directory_remove(folder);
}
END_TEST

/* The layout is part of what is promised: diffs of models are read. */
START_TEST(test_layout)
{
    static const char text[] = "<\n"
                               "  ir_version: 10,\n"
                               "  opset_import: [\"\" : 21, \"ai.onnx.preview.training\" : 1],\n"
                               "  doc_string: \"a \\\"small\\\" model\"\n"
                               ">\n"
                               "net (float[N,4] x, bool c) => (float[N,3] \"p.0\")\n"
                               "<\n"
                               "  float[N,3] h,\n"
                               "  float[4,3] W = {0, -0, 0.1, 1e-7, 123.5, 1e9, 1, 2, 3, inf, -inf, nan},\n"
                               "  float16[2] half = {15360, 0}\n"
                               ">\n"
                               "{\n"
                               "  [fc] h = MatMul (x, W)\n"
                               "  i = If (c) <\n"
                               "    then_branch = a () => (float[] t)\n"
                               "    {\n"
                               "      t = Neg (h)\n"
                               "    },\n"
                               "    else_branch = b () => (float[] e)\n"
                               "    {\n"
                               "      e, \"\" = Dropout <seed = 1> (h, \"\", c)\n"
                               "    }>\n"
                               "  \"p.0\" = com.example.Act:v2 <alpha = 1.0, axes: ints = [], s = \"x\"> (i)\n"
                               "}\n"
                               "\n"
                               "@training_info {\n"
                               "  initialization: init () => (float[4,3] W0)\n"
                               "  {\n"
                               "    W0 = RandomNormal <shape = [4, 3]> ()\n"
                               "  }\n"
                               "  initialization_binding: [\"W\" : \"W0\"]\n"
                               "}\n"
                               "\n"
                               "<\n"
                               "  domain: \"com.example\",\n"
                               "  overload: \"v2\",\n"
                               "  opset_import: [\"\" : 21]\n"
                               ">\n"
                               "Act <s, alpha = 1.0> (x) => (y)\n"
                               "{\n"
                               "  y = Elu <alpha: float = @alpha> (x)\n"
                               "}\n";
    ck_assert_str_eq(assert_round_trip(from_text(text)), text);
}
END_TEST

START_TEST(test_long_lists_are_wrapped)
{
    struct model *m = new_model();
    model_add_initializer(&arena, m->graph, "big", tensor_new(&arena, DTYPE_INT8, &SHAPE(10000)));
    size_t width = 0, column = 0;
    for (const char *p = assert_round_trip(m); *p; p++) {
        column = *p == '\n' ? 0 : column + 1;
        width = column > width ? column : width;
    }
    ck_assert_uint_ge(width, 90);
    ck_assert_uint_le(width, 110);
}
END_TEST

/* Only where there is a training_info, and only what its reader takes. */
START_TEST(test_equal_elements_are_written_once)
{
    struct model *m = new_model();
    struct tensor *const ones = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(17));
    for (int64_t i = 0; i < ones->count; i++)
        tensor_set_double(ones, i, 1);
    model_add_initializer(&arena, m->graph, "few", tensor_new(&arena, DTYPE_FLOAT, &SHAPE(4)));
    model_add_initializer(&arena, m->graph, "ones", ones);
    ck_assert_ptr_null(strstr(assert_round_trip(m), "..."));
    struct model_training *const t = arena_new(&arena, struct model_training);
    t->algorithm = model_graph_new(&arena, "a");
    vec_push(&arena, &m->training, t);
    const char *text = assert_round_trip(m);
    ck_assert_ptr_nonnull(strstr(text, "float[4] few = {0, 0, 0, 0}"));
    ck_assert_ptr_nonnull(strstr(text, "float[17] ones = {1, ...}"));
    model_add_initializer(&arena, m->graph, "many", tensor_new(&arena, DTYPE_INT8, &SHAPE((1 << 22) - 17)));
    model_add_initializer(&arena, m->graph, "more", tensor_new(&arena, DTYPE_INT8, &SHAPE(20)));
    text = assert_round_trip(m);
    ck_assert_ptr_nonnull(strstr(text, "many = {0, ...}"));
    ck_assert_ptr_nonnull(strstr(text, "int8[20] more = {0, 0, "));
    tensor_set_double(ones, 16, 2);
    ck_assert_ptr_nonnull(strstr(assert_round_trip(m), "1, 2}"));
}
END_TEST

/* ---- what text has no place for ---------------------------------------------------------------------------------- */

static struct model_sparse *new_sparse(const char *name, bool linear)
{
    struct model_sparse *s = arena_new(&arena, struct model_sparse);
    s->name = name;
    s->values = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(2));
    s->indices = linear ? tensor_new(&arena, DTYPE_INT64, &SHAPE(2)) : tensor_new(&arena, DTYPE_INT64, &SHAPE(2, 2));
    tensor_set_double(s->values, 0, 5);
    tensor_set_double(s->values, 1, 6);
    tensor_set_int(s->indices, linear ? 0 : 1, 1); /* both: [0,1] and [1,0] of [2,3] */
    tensor_set_int(s->indices, linear ? 1 : 2, linear ? 3 : 1);
    s->dims = SHAPE(2, 3);
    return s;
}

static void add_pair(model_pairs *pairs)
{
    vec_push(&arena, pairs, ((struct model_pair){"k", "v"}));
}

/* One of each, in this order of LOSSES. */
static struct model *lossy_model(void)
{
    static const uint32_t payload = 0x7fc00001;
    struct model *m = new_model();
    struct model_graph *g = m->graph;
    float nan;
    memcpy(&nan, &payload, sizeof nan);
    model_add_value(&arena, g, 0, "x", DTYPE_FLOAT, NULL, 1);
    model_add_value(&arena, g, 1, "y", DTYPE_UNDEFINED, NULL, 0);
    struct model_node *n = model_add_node(&arena, g, "", "Relu", NAMES("x"), NAMES("y"));
    model_set_float(&arena, n, "a", nan);
    model_set_string(&arena, n, "s", "bell\a");
    g->doc = n->doc = g->inputs.data[0]->doc = n->attrs.data[0]->doc = "said";
    add_pair(&g->metadata);
    add_pair(&n->metadata);
    add_pair(&g->inputs.data[0]->metadata);
    struct model_function *f = arena_new(&arena, struct model_function);
    f->name = "f";
    f->loc.graph = "function f";
    add_pair(&f->metadata);
    vec_push(&arena, &m->functions, f);
    struct model_quantization *q = arena_new(&arena, struct model_quantization);
    q->tensor_name = "x";
    vec_push(&arena, &g->quantization, q);
    g->inputs.data[0]->type.dims.data[0].denotation = "DATA_BATCH";
    vec_push(&arena, &g->sparse_initializers, new_sparse("S", false));
    vec_push(&arena, &g->sparse_initializers, new_sparse("L", true));
    struct model_node *c = model_add_node(&arena, g, "", "Constant", NAMES(NULL), NAMES("k"));
    new_attr(c, "sparse_value", ATTR_SPARSE_TENSOR)->sparse = new_sparse("", false);
    return m;
}

static void assert_not_written(const struct model *m, bool lossy, const char *message)
{
    const char *text;
    size_t size;
    setup();
    ck_assert(!model_encode_text(&diag, &arena, m, lossy, &text, &size));
    ck_assert_uint_eq(diag.errors, 1);
    ck_assert_str_eq(first_message(), message);
}

#define ALL_LOSSES                                                                                                     \
    "doc strings of graphs (1), doc strings of nodes (1), doc strings of values (1), doc strings of attributes (1), "  \
    "graphs with metadata_props (1), nodes with metadata_props (1), values with metadata_props (1), "                  \
    "functions with metadata_props (1), quantization annotations (1), denotations of types and dimensions (1), "       \
    "incomplete value types (1), sparse tensors (3), strings with control characters (1), NaN with a payload (1)"

START_TEST(test_losses_are_refused)
{
    assert_not_written(lossy_model(), false,
                       "the text syntax has no place for " ALL_LOSSES "; --lossy writes the model without");
    ck_assert_uint_eq(diag.messages.count, 15); /* a note for each kind */
    ck_assert_str_eq(diag.messages.data[2].text, "doc strings of nodes: the first is here; --lossy leaves them out");
    ck_assert_str_eq(diag.messages.data[2].loc.op, "Relu");
    for (size_t i = 1; i < diag.messages.count; i++)
        if (str_starts_with(diag.messages.data[i].text, "functions with metadata_props: the first"))
            ck_assert_str_eq(diag.messages.data[i].loc.graph, "function f");
}
END_TEST

START_TEST(test_losses_are_accepted)
{
    static const char text[] = "<\n"
                               "  ir_version: 10,\n"
                               "  opset_import: [\"\" : 21]\n"
                               ">\n"
                               "main (float[?] x) => (y)\n"
                               "<\n"
                               "  float[2,3] S = {0, 5, 0, 6, 0, 0},\n"
                               "  float[2,3] L = {0, 5, 0, 6, 0, 0}\n"
                               ">\n"
                               "{\n"
                               "  y = Relu <a = nan, s = \"bell \"> (x)\n"
                               "  k = Constant <value = float[2,3] {0, 5, 0, 6, 0, 0}> ()\n"
                               "}\n"
                               "\n"
                               "f () => ()\n"
                               "{\n"
                               "}\n";
    ck_assert_str_eq(to_text(lossy_model(), true), text);
    ck_assert_uint_eq(diag.errors, 0);
    ck_assert_uint_eq(diag.warnings, 0);
    ck_assert_str_eq(first_message(), "not in the text as it was in the model: " ALL_LOSSES);
    assert_round_trip(from_text(text));
}
END_TEST

/* What exporters note at nodes has no place in the text: prepare and strip write it all the same. */
START_TEST(test_losses_are_noted)
{
    const char *folder, *file;
    struct model *again;
    ck_assert(temp_directory(&diag, &arena, &folder));
    file = in_folder(folder, "m.onnxtxt");
    ck_assert(model_write(&diag, lossy_model(), file) && model_read(&diag, &arena, file, &again));
    ck_assert_uint_eq(diag.messages.count, 1);
    ck_assert_int_eq(diag.messages.data[0].severity, DIAG_NOTE);
    temp_directory_remove(folder);
}
END_TEST

#define CANNOT "the text syntax cannot express "

static void assert_impossible(const struct model *m, const char *message)
{
    assert_not_written(m, false, message);
    assert_not_written(m, true, message);
}

START_TEST(test_names)
{
    struct model *m = new_model();
    struct model_node *n = model_add_node(&arena, m->graph, "my-domain", "2Op", NAMES("x\x1b"), NAMES("\x7f"));
    n->overload = "a.b";
    new_attr(n, "no identifier", ATTR_INT);
    assert_impossible(m, CANNOT
                      "names with control characters (2), operators, domains, overloads and attributes named by no "
                      "identifier (4)");
}
END_TEST

START_TEST(test_attributes)
{
    struct model *m = new_model();
    struct model_node *n = model_add_node(&arena, m->graph, "", "Op", NAMES(NULL), NAMES(NULL));
    new_attr(n, "s", ATTR_SPARSE_TENSOR)->sparse = new_sparse("", true);
    new_attr(n, "l", ATTR_SPARSE_TENSORS);
    new_attr(n, "u", ATTR_UNDEFINED);
    new_attr(n, "t", ATTR_TYPE_PROTO)->tp = new_type(TYPE_SEQUENCE, 0, new_type(TYPE_NONE, 0, NULL));
    assert_impossible(m, CANNOT "sparse attributes (2), attributes with an incomplete type or none (2)");
}
END_TEST

START_TEST(test_sparse_too_large)
{
    struct model *m = new_model();
    struct model_sparse *s = new_sparse("S", true);
    s->dims = SHAPE(1 << 20, 1 << 20);
    vec_push(&arena, &m->graph->sparse_initializers, s);
    assert_not_written(m, true, CANNOT "sparse tensors too large to be made dense (1)");
    assert_not_written(m, false,
                       "the text syntax has no place for sparse tensors (1), and cannot express sparse tensors too "
                       "large to be made dense (1)");
}
END_TEST

/* As deep as is read back, and one deeper. */
START_TEST(test_depth)
{
    for (int deep = 31; deep <= 32; deep++) {
        struct model *m = new_model();
        struct model_graph *g = m->graph;
        for (int i = 1; i < deep; i++) {
            struct model_node *n = model_add_node(&arena, g, "", "If", NAMES("c"), NAMES("y"));
            g = new_attr(n, "then_branch", ATTR_GRAPH)->g = model_graph_new(&arena, "g");
        }
        model_add_value(&arena, g, 1, "y", DTYPE_FLOAT, NULL, 0);
        if (deep < 32)
            assert_round_trip(m);
        else
            assert_impossible(m, CANNOT "graphs or types nested too deep (1)");
    }
}
END_TEST

/* ---- decimals ---------------------------------------------------------------------------------------------------- */

static const struct {
    double x;
    const char *as_float, *as_double;
} decimals[] = {
    {0, "0", "0"},
    {-0.0, "-0", "-0"},
    {1, "1", "1"},
    {-10, "-10", "-10"},
    {0.1f, "0.1", "0.10000000149011612"},
    {0.0001, "0.0001", "0.0001"},
    {0.00001, "0.00001", "0.00001"},
    {0.000001, "1e-6", "1e-6"},
    {123456789, "123456790", "123456789"},
    {1234567890, "1.2345679e9", "1.23456789e9"},
    {16777216, "16777216", "16777216"},
    {0x1p-149, "1e-45", "1.401298464324817e-45"},
    {0x1.fffffep127, "3.4028235e38", "3.4028234663852886e38"},
    {1.0 / 3, "0.33333334", "0.3333333333333333"},
    {0.1 + 0.2, "0.3", "0.30000000000000004"},
    {INFINITY, "inf", "inf"},
    {-INFINITY, "-inf", "-inf"},
};

START_TEST(test_decimal)
{
    char text[DECIMAL_MAX];
    ck_assert_uint_eq(decimal_float(text, (float)decimals[_i].x), strlen(decimals[_i].as_float));
    ck_assert_str_eq(text, decimals[_i].as_float);
    ck_assert_uint_eq(decimal_double(text, decimals[_i].x), strlen(decimals[_i].as_double));
    ck_assert_str_eq(text, decimals[_i].as_double);
}
END_TEST

/* The same digits as trying one precision of printf after the other. */
static bool is_shortest_float(const char *text, float x)
{
    char plain[40];
    int digits = 0, shortest = 1;
    for (const char *p = text; *p && *p != 'e'; p++)
        digits += *p >= '0' && *p <= '9' && (digits || *p != '0');
    for (; shortest < 9; shortest++) {
        snprintf(plain, sizeof plain, "%.*g", shortest, (double)x);
        if (strtof(plain, NULL) == x)
            break;
    }
    return digits <= shortest || strtod(text, NULL) == strtod(plain, NULL); /* the latter: zeros of 1200000 */
}

START_TEST(test_decimals_read_back)
{
    uint64_t state = 7;
    for (int i = 0; i < 100000; i++) {
        char text[DECIMAL_MAX];
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = state ^ state >> 29;
        const uint32_t low = (uint32_t)bits;
        float x;
        double y;
        memcpy(&x, &low, sizeof x);
        memcpy(&y, &bits, sizeof y);
        if (i % 2) /* sizes of weights */
            x = (float)(int32_t)low / 2147483648.0f, y = (double)(int64_t)bits / 9223372036854775808.0;
        if (isnan(x) || isnan(y))
            continue;
        decimal_float(text, x);
        ck_assert_msg(strtof(text, NULL) == x && (float)strtod(text, NULL) == x, "%a: %s", (double)x, text);
        ck_assert_msg(!(i % 2) || is_shortest_float(text, x), "%a: %s is not the shortest", (double)x, text);
        decimal_double(text, y);
        ck_assert_msg(strtod(text, NULL) == y, "%a: %s", y, text);
    }
}
END_TEST

int main(void)
{
    TCase *c = tcase_create("convert");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_everything_there_and_back);
    tcase_add_test(c, test_files_by_extension);
    tcase_add_test(c, test_layout);
    tcase_add_test(c, test_long_lists_are_wrapped);
    tcase_add_test(c, test_equal_elements_are_written_once);
    tcase_add_test(c, test_losses_are_refused);
    tcase_add_test(c, test_losses_are_accepted);
    tcase_add_test(c, test_losses_are_noted);
    tcase_add_test(c, test_names);
    tcase_add_test(c, test_attributes);
    tcase_add_test(c, test_sparse_too_large);
    tcase_add_test(c, test_depth);
    ADD_LOOP(c, test_decimal, decimals);
    tcase_add_test(c, test_decimals_read_back);
    return run_tests("model", c);
}
