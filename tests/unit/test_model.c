/* Reading and writing ONNX files: round trips, the freedoms of the wire format, and bytes that lie. */
#include "base/file.h"
#include "wire.h"
#include "suite.h"

/* ---- a model with one of everything ---------------------------------------------------- */

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

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

static struct model_sparse *new_sparse(const char *name)
{
    struct model_sparse *s = arena_new(&arena, struct model_sparse);
    s->name = name;
    s->values = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(2));
    s->indices = tensor_new(&arena, DTYPE_INT64, &SHAPE(2, 2));
    tensor_set_int(s->indices, 1, 1);
    tensor_set_int(s->indices, 2, 1);
    s->dims = SHAPE(2, 3);
    return s;
}

static void add_attributes(struct model_node *n)
{
    model_set_int(&arena, n, "i", -3);
    model_set_float(&arena, n, "f", 0.5f);
    model_set_string(&arena, n, "s", "text");
    model_set_ints(&arena, n, "ints", (const int64_t[]){1, -2, INT64_MAX}, 3);
    model_set_strings(&arena, n, "strings", (const char *const[]){"a", ""}, 2);
    model_set_tensor(&arena, n, "t", tensor_from_ints(&arena, (const int64_t[]){7, 8}, 2));
    struct model_attr *floats = new_attr(n, "floats", ATTR_FLOATS);
    vec_push(&arena, &floats->floats, 1.5f);
    struct model_attr *tensors = new_attr(n, "tensors", ATTR_TENSORS);
    vec_push(&arena, &tensors->tensors, tensor_scalar_double(&arena, DTYPE_DOUBLE, 2.5));
    new_attr(n, "g", ATTR_GRAPH)->g = model_graph_new(&arena, "inner");
    struct model_attr *graphs = new_attr(n, "graphs", ATTR_GRAPHS);
    vec_push(&arena, &graphs->graphs, model_graph_new(&arena, "inner2"));
    new_attr(n, "sparse", ATTR_SPARSE_TENSOR)->sparse = new_sparse("sp");
    struct model_attr *sparses = new_attr(n, "sparses", ATTR_SPARSE_TENSORS);
    vec_push(&arena, &sparses->sparses, new_sparse(""));
    new_attr(n, "tp", ATTR_TYPE_PROTO)->tp = new_type(TYPE_SEQUENCE, 0, new_type(TYPE_TENSOR, DTYPE_INT32, NULL));
    struct model_attr *types = new_attr(n, "types", ATTR_TYPE_PROTOS);
    vec_push(&arena, &types->types,
             new_type(TYPE_MAP, DTYPE_STRING, new_type(TYPE_OPTIONAL, 0, new_type(TYPE_OPAQUE, 0, NULL))));
    new_attr(n, "ref", ATTR_INT)->ref = "outer";
}

static struct model_graph *full_graph(const char *name)
{
    struct model_graph *g = model_graph_new(&arena, name);
    const struct model_dim dims[] = {{-1, "N", ""}, {3, "", "CHANNEL"}, {-1, "", ""}};
    model_add_value(&arena, g, 0, "x", DTYPE_FLOAT, dims, 3);
    model_add_value(&arena, g, 1, "y", DTYPE_FLOAT, NULL, 0);
    model_add_value(&arena, g, 2, "z", DTYPE_INT64, NULL, 2);
    g->value_infos.data[0]->type.has_shape = false;
    g->value_infos.data[0]->type.dims.count = 0;
    for (enum dtype d = 1; d < DTYPE_COUNT; d++) {
        struct tensor *t = tensor_new(&arena, d, &SHAPE(5));
        for (int i = 0; i < 5 && d == DTYPE_STRING; i++)
            t->strings[i] = i % 2 ? "\xff\0y" : "", t->string_lengths[i] = i % 2 ? 3 : 0;
        for (int i = 0; i < 5 && d != DTYPE_STRING && d != DTYPE_COMPLEX64 && d != DTYPE_COMPLEX128; i++)
            tensor_set_double(t, i,
                              d == DTYPE_BOOL                           ? i % 2
                              : dtype_is_signed(d) && dtype_bits(d) < 8 ? -(i % 2)
                                                                        : i % 4);
        model_add_initializer(&arena, g, dtype_name(d), t);
    }
    model_add_initializer(&arena, g, "empty", tensor_new(&arena, DTYPE_FLOAT, &SHAPE(0, 3)));
    vec_push(&arena, &g->sparse_initializers, new_sparse("sparse"));
    vec_push(&arena, &g->metadata, ((struct model_pair){"k", "v"}));
    struct model_quantization *q = arena_new(&arena, struct model_quantization);
    q->tensor_name = "x";
    vec_push(&arena, &q->parameters, ((struct model_pair){"SCALE_TENSOR", "s"}));
    vec_push(&arena, &g->quantization, q);
    add_attributes(model_add_node(&arena, g, "", "Everything", NAMES("x", "", "float"), NAMES("y")));
    return g;
}

static struct model *full_model(void)
{
    struct model *m = arena_new(&arena, struct model);
    m->file = "full.onnx";
    m->ir_version = 10;
    m->model_version = 3;
    m->producer_name = "test";
    m->producer_version = "1";
    m->domain = "org.example";
    m->doc = "caf\xc3\xa9";
    vec_push(&arena, &m->opsets, ((struct model_opset){"", 21}));
    vec_push(&arena, &m->opsets, ((struct model_opset){"ai.onnx.preview.training", 1}));
    vec_push(&arena, &m->metadata, ((struct model_pair){"key", "value"}));
    m->graph = full_graph("main");
    struct model_training *t = arena_new(&arena, struct model_training);
    t->initialization = model_graph_new(&arena, "init");
    t->algorithm = full_graph("train");
    vec_push(&arena, &t->initialization_binding, ((struct model_pair){"W", "W0"}));
    vec_push(&arena, &t->update_binding, ((struct model_pair){"W", "W1"}));
    vec_push(&arena, &m->training, t);
    struct model_function *f = arena_new(&arena, struct model_function);
    *f = (struct model_function){.name = "fn", .domain = "local", .overload = "o", .doc = "d", .nodes.data = NULL};
    vec_push(&arena, &f->inputs, "a");
    vec_push(&arena, &f->outputs, "b");
    vec_push(&arena, &f->attributes, "alpha");
    vec_push(&arena, &f->opsets, ((struct model_opset){"", 21}));
    vec_push(&arena, &f->nodes, m->graph->nodes.data[0]);
    vec_push(&arena, &m->functions, f);
    return m;
}

static struct wire encode(const struct model *m)
{
    struct wire w = {0};
    ck_assert(model_encode_onnx(&diag, &arena, m, &w.data, &w.count));
    w.capacity = w.count;
    return w;
}

START_TEST(test_round_trip)
{
    const struct wire first = encode(full_model());
    struct model *m = assert_read(&first);
    const struct wire second = encode(m);
    ck_assert_uint_eq(first.count, second.count);
    ck_assert_mem_eq(first.data, second.data, first.count);
    ck_assert_str_eq(m->doc, "caf\xc3\xa9");
    ck_assert_str_eq(m->graph->metadata.data[0].value, "v");
    ck_assert_str_eq(m->graph->quantization.data[0]->tensor_name, "x");
    ck_assert_str_eq(m->graph->quantization.data[0]->parameters.data[0].value, "s");
    ck_assert_str_eq(m->training.data[0]->algorithm->name, "train");
    ck_assert_str_eq(m->functions.data[0]->overload, "o");
    const struct model_graph *g = m->graph, *want = full_graph("main");
    ck_assert_uint_eq(g->initializers.count, want->initializers.count);
    for (size_t i = 0; i < g->initializers.count; i++)
        ck_assert_msg(tensor_identical(g->initializers.data[i]->tensor, want->initializers.data[i]->tensor), "%s",
                      g->initializers.data[i]->name);
    const struct model_node *n = g->nodes.data[0];
    ck_assert_uint_eq(n->attrs.count, want->nodes.data[0]->attrs.count);
    ck_assert_str_eq(n->inputs.data[1], "");
    ck_assert_str_eq(n->loc.graph, "main");
    ck_assert_str_eq(n->loc.op, "Everything");
    ck_assert_int_eq(n->loc.index, 0);
    ck_assert(!g->value_infos.data[0]->type.has_shape);
    ck_assert(g->outputs.data[0]->type.has_shape);
    ck_assert_int_eq(model_opset(&m->opsets, "ai.onnx"), 21);
    ck_assert_int_eq(model_opset(&m->opsets, "none"), 0);
    ck_assert_ptr_nonnull(model_find_initializer(g, "empty"));
    ck_assert_ptr_nonnull(model_find_value(&g->inputs, "x"));
    ck_assert_ptr_nonnull(model_find_value(&g->outputs, "y"));
    ck_assert_ptr_null(model_find_value(&g->outputs, "x"));
}
END_TEST

typedef void note(const char **doc, model_pairs *metadata, const char *what);

static void write_note(const char **doc, model_pairs *metadata, const char *what)
{
    *doc = arena_printf(&arena, "of %s", what);
    if (metadata)
        vec_push(&arena, metadata, ((struct model_pair){arena_printf(&arena, "of %s", what), what}));
}

static void check_note(const char **doc, model_pairs *metadata, const char *what)
{
    ck_assert_str_eq(*doc, arena_printf(&arena, "of %s", what));
    for (size_t i = 0; metadata && i <= metadata->count; i++) {
        ck_assert_msg(i < metadata->count, "no metadata of %s", what);
        if (str_equal(metadata->data[i].key, arena_printf(&arena, "of %s", what))) {
            ck_assert_str_eq(metadata->data[i].value, what);
            return;
        }
    }
}

/* What people say of each thing, and what it means to them. */
static void visit_notes(struct model *m, note *f)
{
    struct model_graph *const g = m->graph;
    struct model_node *const n = g->nodes.data[0];
    struct model_function *const call = m->functions.data[0];
    f(&m->doc, &m->metadata, "model");
    f(&g->doc, &g->metadata, "graph");
    f(&n->doc, &n->metadata, "node");
    f(&n->attrs.data[0]->doc, NULL, "attribute");
    f(&g->inputs.data[0]->doc, &g->inputs.data[0]->metadata, "input");
    f(&g->outputs.data[0]->doc, &g->outputs.data[0]->metadata, "output");
    f(&g->value_infos.data[0]->doc, &g->value_infos.data[0]->metadata, "value");
    f(&g->initializers.data[0]->doc, &g->initializers.data[0]->metadata, "initializer");
    f(&call->doc, &call->metadata, "function");
    f(&call->attribute_defaults.data[0]->doc, NULL, "default");
    f(&call->value_infos.data[0]->doc, &call->value_infos.data[0]->metadata, "value of a function");
}

START_TEST(test_notes_round_trip)
{
    struct model *const m = full_model();
    struct model_function *const call = m->functions.data[0];
    struct model_graph *const apart = model_graph_new(&arena, "none");
    struct model_node *const own = model_add_node(&arena, apart, "", "Neg", NAMES("a"), NAMES("b"));
    model_set_int(&arena, own, "beta", 2);
    vec_push(&arena, &call->attribute_defaults, own->attrs.data[0]);
    vec_push(&arena, &call->value_infos, full_graph("none")->value_infos.data[0]);
    call->nodes.data[0] = own;
    visit_notes(m, write_note);
    const struct wire w = encode(m);
    visit_notes(assert_read(&w), check_note);
}
END_TEST

/* An unknown size is a dimension that says nothing: 0a 00 in the shape, not 0a 02 12 00, a symbol without a name. */
START_TEST(test_unknown_sizes_say_nothing)
{
    struct model *const m = full_model();
    m->graph = model_graph_new(&arena, "main");
    m->training.count = m->functions.count = 0;
    const struct model_dim dims[] = {{-1, "", ""}, {-1, "N", ""}};
    model_add_value(&arena, m->graph, 0, "x", DTYPE_FLOAT, dims, 2);
    const struct wire w = encode(m);
    static const unsigned char wanted[] = {0x12, 0x07, 0x0a, 0x00, 0x0a, 0x03, 0x12, 0x01, 'N'};
    bool found = false;
    for (size_t i = 0; i + sizeof wanted <= w.count; i++)
        found = found || memcmp(w.data + i, wanted, sizeof wanted) == 0;
    ck_assert(found);
}
END_TEST

/* Each once, in their order, those of nodes without any not at all. */
START_TEST(test_inner_graphs)
{
    static const char *const names[] = {"inner", "inner2", "inner3", "last"};
    struct model_graph *const g = full_graph("main");
    struct model_node *const n = g->nodes.data[0];
    struct model_node *const empty = model_add_node(&arena, g, "", "Neg", NAMES("x"), NAMES("n"));
    size_t count = 0;
    vec_push(&arena, &model_find_attr(&n->attrs, "graphs")->graphs, model_graph_new(&arena, "inner3"));
    new_attr(n, "none", ATTR_GRAPHS);
    new_attr(n, "last", ATTR_GRAPH)->g = model_graph_new(&arena, "last");
    model_each_inner(n, inner)
        ck_assert_str_eq(inner->name, count < 4 ? names[count++] : "no more");
    ck_assert_uint_eq(count, 4);
    model_each_inner(empty, inner)
        ck_abort_msg("%s", inner->name);
}
END_TEST

/* Every prefix, and every byte changed in a few ways: a clean answer, whatever it is (read_at checks that). */
START_TEST(test_truncated_and_changed)
{
    static const unsigned char flips[] = {0xff, 0x01, 0x80, 0x07};
    const struct wire all = encode(full_model());
    struct wire w = {malloc(all.count), all.count, all.count}; /* outside the arena, which is emptied as we go */
    memcpy(w.data, all.data, all.count);
    for (w.count = 0; w.count < w.capacity; w.count++) {
        read_wire(&w);
        arena_free(&arena);
    }
    for (size_t i = 0; i < w.count; i++) {
        for (size_t k = 0; k < sizeof flips; k++) {
            w.data[i] ^= flips[k];
            read_wire(&w);
            w.data[i] ^= flips[k];
        }
        arena_free(&arena);
    }
    free(w.data);
}
END_TEST

/* ---- files, whose initializers are read to their place ------------------------------------ */

/* Reads the bytes as a file, and holds what comes out against reading them from memory. */
static void compare_with_file(const char *path, const struct wire *w)
{
    FILE *f = fopen(path, "wb");
    ck_assert(f != NULL && fwrite(w->data, 1, w->count, f) == w->count && fclose(f) == 0);
    const struct model *m = read_at(path, w);
    const struct diag said = diag;
    struct model *from_file = NULL;
    diag = (struct diag){.arena = &arena};
    ck_assert(model_read(&diag, &arena, path, &from_file) == (m != NULL));
    ck_assert_uint_eq(diag.messages.count, said.messages.count);
    for (size_t i = 0; i < said.messages.count; i++)
        ck_assert_str_eq(diag.messages.data[i].text, said.messages.data[i].text);
    if (m == NULL)
        return;
    ck_assert_mem_eq(from_file->digest, m->digest, sizeof m->digest);
    const struct wire a = encode(m), b = encode(from_file);
    ck_assert_uint_eq(a.count, b.count);
    ck_assert_mem_eq(a.data, b.data, a.count);
}

START_TEST(test_file_is_read_as_memory_is)
{
    const char *folder;
    ck_assert(temp_directory(&(struct diag){.arena = &arena}, &arena, &folder));
    char path[256];
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    const struct wire all = encode(full_model());
    struct wire w = {malloc(all.count), all.count, all.count};
    memcpy(w.data, all.data, all.count);
    compare_with_file(path, &w);
    for (w.count = 0; w.count < w.capacity; w.count += 11) {
        compare_with_file(path, &w);
        arena_free(&arena);
    }
    w.count = w.capacity;
    for (size_t i = 0; i < w.count; i += 3) {
        w.data[i] ^= 0x81 >> i % 3;
        compare_with_file(path, &w);
        w.data[i] ^= 0x81 >> i % 3;
        arena_free(&arena);
    }
    free(w.data);
    remove(path);
    remove(path_directory(&arena, path));
}
END_TEST

/* A scalar's 4 bytes and those of the number in its place look alike; data that occurs twice: the last counts. */
START_TEST(test_data_of_four_bytes_and_twice)
{
    static const float one = 1, many[3] = {2, 3, 4};
    const char *folder;
    ck_assert(temp_directory(&(struct diag){.arena = &arena}, &arena, &folder));
    const char *const path = in_folder(folder, "m.onnx");
    struct wire t = {0};
    put_int(&t, 2, DTYPE_FLOAT);
    put_string(&t, 8, "t");
    put_bytes(&t, 9, many, sizeof many);
    put_bytes(&t, 9, &one, sizeof one);
    struct wire m = model_with(5, &t);
    compare_with_file(path, &m);
    struct model *read = NULL;
    ck_assert(model_read(&diag, &arena, path, &read));
    ck_assert(tensor_get_double(read->graph->initializers.data[0]->tensor, 0) == 1);
    remove(path);
    remove(folder);
}
END_TEST

/* What does not fit into a message goes beside it, and comes back. */
START_TEST(test_data_beside_the_message)
{
    const char *folder;
    ck_assert(temp_directory(&(struct diag){.arena = &arena}, &arena, &folder));
    const char *const path = in_folder(folder, "m.onnx"), *const data = in_folder(folder, "m.onnx.data");
    struct model *m = full_model(), *back = NULL;
    const struct shape shape = SHAPE(7, 100);
    for (int i = 0; i < 3; i++) {
        struct tensor *const t = tensor_new(&arena, i == 1 ? DTYPE_INT16 : DTYPE_DOUBLE, &shape);
        for (int64_t k = 0; k < t->count; k++)
            tensor_set_int(t, k, k * (i + 1));
        model_add_initializer(&arena, i == 2 ? m->training.data[0]->algorithm : m->graph,
                              arena_printf(&arena, "large_%d", i), t);
    }
    const struct wire whole = encode(m);
    ck_assert(model_write(&diag, m, path));
    ck_assert(!file_exists(data));
    ck_assert(model_write_within(&diag, m, path, whole.count - 1));
    ck_assert(file_exists(data));
    ck_assert_msg(model_read(&diag, &arena, path, &back), "%s", diag.messages.count ? diag.messages.data[0].text : "?");
    for (size_t i = 0; i < m->graph->initializers.count; i++)
        ck_assert(tensor_identical(m->graph->initializers.data[i]->tensor, back->graph->initializers.data[i]->tensor));
    const struct wire again = encode(back);
    ck_assert_uint_eq(again.count, whole.count);
    ck_assert_mem_eq(again.data, whole.data, whole.count);
    ck_assert(!model_write_within(&diag, m, path, 100));
    assert_said("without the initializers' data", "writing");

    /* In place the data are replaced; data that a file of another name needs are not. */
    const char *const other = in_folder(folder, "other.onnx");
    ck_assert(model_write_within(&diag, back, path, whole.count - 1));
    ck_assert_int_eq(rename(path, other), 0);
    ck_assert(model_read(&diag, &arena, other, &back));
    ck_assert(!model_write_within(&diag, back, path, whole.count - 1));
    assert_said("m.onnx.data would replace the model's external data", "writing");
    ck_assert(!file_exists(path));
    remove(other);
    remove(data);
    remove(folder);
}
END_TEST

START_TEST(test_written_and_read_without_bytes)
{
    const struct model *const m = full_model();
    const struct wire first = encode(m);
    struct model *from_bytes = assert_read(&first), *direct = NULL;
    ck_assert(model_read_written(&diag, &arena, "/nonexistent/m.onnx", m, &direct));
    ck_assert_mem_eq(direct->digest, from_bytes->digest, sizeof direct->digest);
    const struct wire second = encode(direct);
    ck_assert_uint_eq(first.count, second.count);
    ck_assert_mem_eq(first.data, second.data, first.count);
}
END_TEST

/* ---- freedoms of the wire format -------------------------------------------------------- */

START_TEST(test_singular_message_twice_is_merged)
{
    struct wire g1 = graph_named("first"), g2 = {0}, node = {0}, m = {0};
    put_string(&node, NODE_OP, "Relu");
    put_message(&g1, GRAPH_NODE, &node);
    put_message(&g2, GRAPH_NODE, &node);
    put_message(&g2, GRAPH_NODE, &node);
    put_int(&m, MODEL_IR, 3);
    put_message(&m, MODEL_GRAPH, &g1);
    put_message(&m, MODEL_GRAPH, &g2);
    put_int(&m, MODEL_IR, 10);
    struct model *read = assert_read(&m);
    ck_assert_int_eq(read->ir_version, 10);
    ck_assert_str_eq(read->graph->name, "first");
    ck_assert_uint_eq(read->graph->nodes.count, 3);
    ck_assert_int_eq(read->graph->nodes.data[2]->loc.index, 2);
}
END_TEST

START_TEST(test_type_in_two_halves_is_refused)
{
    struct wire elem = {0}, half = {0}, type = {0}, v = {0}, w = {0};
    put_int(&elem, 1, DTYPE_DOUBLE);
    put_message(&half, 1, &elem);
    put_message(&v, 2, &half);
    put_message(&v, 2, &half);
    struct wire m = model_with(GRAPH_INPUT, &v);
    assert_refused(&m, "in ValueInfoProto: 'type' occurs twice");
    put_message(&type, 1, &elem);
    put_message(&type, 1, &elem);
    put_message(&w, 2, &type);
    m = model_with(GRAPH_INPUT, &w);
    assert_refused(&m, "in TypeProto: 'tensor_type' occurs twice");
}
END_TEST

START_TEST(test_last_of_oneof_wins)
{
    struct wire dim = {0}, shape = {0}, tensor = {0}, type = {0}, v = {0};
    put_int(&dim, 1, 4);
    put_string(&dim, 2, "N");
    put_message(&shape, 1, &dim);
    put_int(&tensor, 1, DTYPE_FLOAT);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_string(&v, 1, "x");
    put_message(&v, 2, &type);
    struct wire m = model_with(GRAPH_INPUT, &v);
    const struct model_dim *d = &assert_read(&m)->graph->inputs.data[0]->type.dims.data[0];
    ck_assert_int_eq(d->value, -1);
    ck_assert_str_eq(d->param, "N");
}
END_TEST

START_TEST(test_packed_and_unpacked_lists)
{
    struct wire t = {0}, dims = {0};
    const float two[] = {2, 3};
    put_varint(&dims, 2);
    put_bytes(&t, T_DIMS, dims.data, dims.count); /* declared unpacked */
    put_int(&t, T_DIMS, 2);
    put_int(&t, T_TYPE, DTYPE_FLOAT);
    put_float(&t, T_FLOAT, 1); /* declared packed */
    put_bytes(&t, T_FLOAT, two, sizeof two);
    put_float(&t, T_FLOAT, 4);
    struct wire m = model_with(GRAPH_INITIALIZER, &t);
    const struct tensor *x = assert_read(&m)->graph->initializers.data[0]->tensor;
    ck_assert_int_eq(x->shape.rank, 2);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq(tensor_get_double(x, i), i + 1);
}
END_TEST

START_TEST(test_unknown_fields_are_skipped)
{
    struct wire g = graph_named("g");
    put_int(&g, 500, 7);
    put_string(&g, 501, "later version");
    put_float(&g, 502, 1);
    struct wire m = model_of(&g);
    put_varint(&m, 503 << 3 | 1);
    put(&m, "12345678", 8);
    assert_read(&m);
}
END_TEST

/* ---- bytes that lie ------------------------------------------------------------------------ */

static const struct {
    const char *bytes;
    size_t size;
    const char *said;
} damaged[] = {
    {"", 0, "the file is empty"},
    {"\x08\x0a", 2, "no graph"},
    {"\x08\x0a\x3a", 3, "no valid length"},
    {"\x08\x0a\x3a\x05\x12\x01", 6, "claims 5 bytes, but only 2 are left"},
    {"\x08\x0a\x3a\x02\x12\x05xxxxx", 11, "in GraphProto: field 2 claims 5 bytes, but only 0 are left"},
    {"\x3b\x3c", 2, "wire type 3, which ONNX does not use"},
    {"\x3c", 1, "wire type 4, which ONNX does not use"},
    {"\x0e", 1, "wire type 6"},
    {"\x00\x01", 2, "field number 0"},
    {"\x02\x00", 2, "field number 0"},
    {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "a number without end"},
    {"\x08", 1, "a number without end"},
    {"\x88\x80\x80\x80\x80\x00\x0a", 7, "no valid field tag"},
    {"\xff\xff\xff\xff\x7f\x00", 6, "no valid field tag"},
    {"\x3a\xff\xff\xff\xff\x0f", 6, "no valid length"},
    {"\x3d\x00\x00\x00\x00", 5, "'graph' is stored as 4 bytes, expected a length"},
    {"\x0a\x01x", 3, "'ir_version' is stored as a length, expected a varint"},
    {"\x09\x00\x00", 3, "field 1 claims 8 bytes, but only 2 are left"},
    {"\x08\x0a\x3b", 3, "damaged at byte 2"},
    {"{\"model\": 1}", 12, "this is no ONNX model"},
    {"hello\n", 6, "this is no ONNX model"},
    {"Bytes of a story that begins with a field's tag", 47, "this is no ONNX model"},
    {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16, "this is no ONNX model"},
    {"PK\x03\x04\x14\0\0\0", 8, "this is no ONNX model"},
    {"\x7f" "ELF\x02\x01\x01\0\0\0\0\0", 12, "this is no ONNX model"},
};

START_TEST(test_damaged)
{
    struct wire w = {(unsigned char *)(uintptr_t)damaged[_i].bytes, damaged[_i].size, damaged[_i].size};
    assert_refused(&w, damaged[_i].said);
}
END_TEST

START_TEST(test_damaged_packed_lists)
{
    struct wire t = {0};
    put_int(&t, T_TYPE, DTYPE_FLOAT);
    put_bytes(&t, T_FLOAT, "12345", 5);
    struct wire m = model_with(GRAPH_INITIALIZER, &t);
    assert_refused(&m, "'float_data' has 5 bytes, not a multiple of 4");
    struct wire i = {0};
    put_bytes(&i, T_INT64, "\x01\x80", 2);
    m = model_with(GRAPH_INITIALIZER, &i);
    assert_refused(&m, "a number without end in a packed list");
}
END_TEST

/* attribute -> graph -> node -> attribute ...: `levels` graphs inside the main one. */
static struct wire nested(int levels)
{
    struct wire g = graph_named("g");
    for (int i = 0; i < levels; i++) {
        struct wire attr = {0}, node = {0};
        put_string(&attr, ATTR_NAME, "body");
        put_int(&attr, ATTR_TYPE_TAG, ATTR_GRAPH);
        put_message(&attr, ATTR_G, &g);
        put_string(&node, NODE_OP, "Loop");
        put_message(&node, NODE_ATTRIBUTE, &attr);
        g = graph_named("g");
        put_message(&g, GRAPH_NODE, &node);
    }
    return model_of(&g);
}

START_TEST(test_depth)
{
    struct wire w = nested(32); /* 2 + 3 * 32 = 98 messages deep */
    assert_read(&w);
    w = nested(33);
    assert_refused(&w, "nested more than 100 deep");
    w = nested(300);
    assert_refused(&w, "nested more than 100 deep");
}
END_TEST

START_TEST(test_memory_bombs)
{
    struct wire g = graph_named("g"), node = {0};
    for (int i = 0; i < 400000; i++)
        put_bytes(&g, GRAPH_NODE, "", 0);
    struct wire m = model_of(&g);
    assert_refused(&m, "would take more than");
    for (int i = 0; i < 400000; i++)
        put_bytes(&node, NODE_ATTRIBUTE, "", 0);
    m = model_with(GRAPH_NODE, &node);
    assert_refused(&m, "would take more than");
    struct wire twice = {0};
    put_int(&twice, MODEL_IR, 10);
    for (int i = 0; i < 1000; i++)
        put_bytes(&twice, MODEL_GRAPH, "", 0);
    assert_refused(&twice, "repeated more than 100 times");
}
END_TEST

/* So many of one kind in one node are the most that the bound on memory lets through, to a twentieth. */
static const struct {
    const char *bytes;
    size_t size, most;
} many[] = {
    {"\x0a", 2, 1965000},           /* the name of an input, empty */
    {"\x2a", 2, 239000},            /* an attribute, empty */
    {"\xfa\x07", 3, 2184000},       /* a field that ONNX does not have, of bytes */
    {"\xf8\x07\x01", 3, 2154000}, /* and of a number */
};

static bool takes_too_much(size_t count, int kind)
{
    struct wire node = {0};
    struct model *read;
    for (size_t i = 0; i < count; i++)
        put(&node, many[kind].bytes, many[kind].size);
    const struct wire m = model_with(GRAPH_NODE, &node);
    ck_assert(!model_read_onnx(&diag, &arena, "m", m.data, m.count, &read));
    const bool is_refused = strstr(diag_first_error(&diag), "would take more than") != NULL;
    arena_free(&arena);
    diag = (struct diag){.arena = &arena};
    return is_refused;
}

START_TEST(test_memory_of_many)
{
    ck_assert(!takes_too_much(many[_i].most / 20 * 19, _i));
    ck_assert(takes_too_much(many[_i].most / 20 * 21, _i));
}
END_TEST

START_TEST(test_thousand_faults_are_not_all_reported)
{
    struct wire g = graph_named("g"), node = {0};
    put_string(&node, NODE_OP, "\xff");
    for (int i = 0; i < 1000; i++)
        put_message(&g, GRAPH_NODE, &node);
    struct wire m = model_of(&g);
    assert_refused(&m, "not valid UTF-8");
    ck_assert_uint_ge(diag.errors, 2);
    ck_assert_uint_le(diag.errors, 2 * DIAG_MAX_PRINTED);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    const char *said; /* NULL: fine */
} texts[] = {
    {"plain", 5, NULL},
    {"\x01\x1f tab\t", 7, NULL},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, NULL},
    {"a\0b", 3, "NUL character at position 1"},
    {"\0", 1, "NUL character at position 0"},
    {"a\xff", 2, "not valid UTF-8 at position 1 (byte 0xff)"},
    {"\xc0\xaf", 2, "not valid UTF-8"},     /* overlong */
    {"\xe0\x80\x80", 3, "not valid UTF-8"}, /* overlong */
    {"\xed\xa0\x80", 3, "not valid UTF-8"}, /* surrogate */
    {"\xf4\x90\x80\x80", 4, "not valid UTF-8"},
    {"\xe2\x82", 2, "not valid UTF-8"},
};

START_TEST(test_names)
{
    struct wire node = {0};
    put_string(&node, NODE_OP, "Relu");
    put_bytes(&node, NODE_INPUT, texts[_i].bytes, texts[_i].size);
    struct wire m = model_with(GRAPH_NODE, &node);
    if (texts[_i].said)
        assert_refused(&m, texts[_i].said);
    else
        ck_assert_mem_eq(assert_read(&m)->graph->nodes.data[0]->inputs.data[0], texts[_i].bytes, texts[_i].size + 1);
}
END_TEST

START_TEST(test_attribute_strings_hold_any_bytes)
{
    struct wire node = {0}, attr = {0};
    put_string(&attr, ATTR_NAME, "s");
    put_bytes(&attr, 4, "\xff\0z", 3);
    put_int(&attr, ATTR_TYPE_TAG, ATTR_STRING);
    put_string(&node, NODE_OP, "Op");
    put_message(&node, NODE_ATTRIBUTE, &attr);
    struct wire m = model_with(GRAPH_NODE, &node);
    const struct model_attr *x = assert_read(&m)->graph->nodes.data[0]->attrs.data[0];
    ck_assert_uint_eq(x->s.size, 3);
    ck_assert_mem_eq(x->s.data, "\xff\0z", 4);
}
END_TEST

static const struct {
    int type;
    const char *value; /* wire bytes of value fields */
    size_t size;
    const char *said;
} attrs[] = {
    {ATTR_INT, "\x18\x05", 2, NULL},
    {ATTR_INT, "", 0, NULL}, /* proto3 writers leave 0 out */
    {ATTR_STRING, "", 0, NULL},
    {ATTR_INTS, "\x42\x02\x01\x02", 4, NULL},
    {0, "\x18\x05", 2, "has no type"},
    {15, "\x18\x05", 2, "unknown type 15"},
    {-1, "\x18\x05", 2, "unknown type -1"},
    {ATTR_FLOAT, "\x18\x05", 2, "is of type 'float', but holds a value of type int"},
    {ATTR_INT, "\x15\0\0\x80\x3f\x18\x05", 7, "is of type 'int', but holds a value of type float"},
    {ATTR_INT, "\x18\x05\x40\x01", 4, "holds a value of type ints"},
    {ATTR_TENSOR, "", 0, "is of type 'tensor', but holds none"},
    {ATTR_GRAPH, "", 0, "is of type 'graph', but holds none"},
    {ATTR_INT, "\xaa\x01\x01r\x18\x05", 6, "refers to 'r', but holds a value of type int"},
    {ATTR_INT, "\xaa\x01\x01r", 4, NULL},
};

START_TEST(test_attributes)
{
    struct wire node = {0}, attr = {0};
    put_string(&attr, ATTR_NAME, "a");
    put_int(&attr, ATTR_TYPE_TAG, attrs[_i].type);
    put(&attr, attrs[_i].value, attrs[_i].size);
    put_string(&node, NODE_OP, "Op");
    put_message(&node, NODE_ATTRIBUTE, &attr);
    struct wire m = model_with(GRAPH_NODE, &node);
    if (attrs[_i].said)
        assert_refused(&m, attrs[_i].said);
    else
        assert_read(&m);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------- */

START_TEST(test_files)
{
    const char *folder, *name;
    struct tensor *t;
    struct model *m;
    ck_assert(temp_directory(&diag, &arena, &folder));
    const struct tensor *x = tensor_from_ints(&arena, (const int64_t[]){3, 1, 4}, 3);
    ck_assert(tensor_file_write(&diag, in_folder(folder, "t.pb"), "x", x));
    ck_assert(tensor_file_read(&diag, &arena, in_folder(folder, "t.pb"), &t, &name));
    ck_assert(tensor_identical(t, x));
    ck_assert_str_eq(name, "x");
    ck_assert(tensor_file_write(&diag, in_folder(folder, "t.npy"), "x", x));
    ck_assert(tensor_file_read(&diag, &arena, in_folder(folder, "t.npy"), &t, &name));
    ck_assert(tensor_identical(t, x));
    ck_assert_str_eq(name, "");
    ck_assert(model_write(&diag, full_model(), in_folder(folder, "m.onnx")));
    ck_assert(model_read(&diag, &arena, in_folder(folder, "m.onnx"), &m));
    const struct wire a = encode(m), b = encode(full_model());
    ck_assert_uint_eq(a.count, b.count);
    ck_assert_mem_eq(a.data, b.data, a.count);
    ck_assert(!model_read(&diag, &arena, in_folder(folder, "none.onnx"), &m));
    assert_said("cannot open", "missing file");
    temp_directory_remove(folder);
}
END_TEST

int main(void)
{
    TCase *c = tcase_create("model");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_round_trip);
    tcase_add_test(c, test_notes_round_trip);
    tcase_add_test(c, test_inner_graphs);
    tcase_add_test(c, test_unknown_sizes_say_nothing);
    tcase_add_test(c, test_truncated_and_changed);
    tcase_add_test(c, test_file_is_read_as_memory_is);
    tcase_add_test(c, test_data_of_four_bytes_and_twice);
    tcase_add_test(c, test_written_and_read_without_bytes);
    tcase_add_test(c, test_data_beside_the_message);
    tcase_add_test(c, test_singular_message_twice_is_merged);
    tcase_add_test(c, test_type_in_two_halves_is_refused);
    tcase_add_test(c, test_last_of_oneof_wins);
    tcase_add_test(c, test_packed_and_unpacked_lists);
    tcase_add_test(c, test_unknown_fields_are_skipped);
    ADD_LOOP(c, test_damaged, damaged);
    tcase_add_test(c, test_damaged_packed_lists);
    tcase_add_test(c, test_depth);
    tcase_add_test(c, test_memory_bombs);
    ADD_LOOP(c, test_memory_of_many, many);
    tcase_add_test(c, test_thousand_faults_are_not_all_reported);
    ADD_LOOP(c, test_names, texts);
    tcase_add_test(c, test_attribute_strings_hold_any_bytes);
    ADD_LOOP(c, test_attributes, attrs);
    tcase_add_test(c, test_files);
    return run_tests("model", c);
}
