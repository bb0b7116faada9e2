/* Where tensors keep their elements: every field, sparse tensors, other files; and the ways in which that can be wrong.
 */
#include "wire.h"
#include "suite.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- tensors --------------------------------------------------------------------------------- */

/* One tensor each: values written to `field` (raw: as bytes), then what is expected, element by element. */
static const struct {
    const char *label;
    int dtype, rank;
    int64_t dims[3];
    int field, count;
    int64_t values[8];
    const char *said;
    double expected[8];
} tensors[] = {
    {"float", DTYPE_FLOAT, 1, {2}, T_FLOAT, 2, {3, -4}, NULL, {3, -4}},
    {"scalar", DTYPE_FLOAT, 0, {0}, T_FLOAT, 1, {3}, NULL, {3}},
    {"empty", DTYPE_FLOAT, 2, {0, 5}, T_RAW, 0, {0}, NULL, {0}},
    {"int32", DTYPE_INT32, 1, {2}, T_INT32, 2, {-1, INT32_MAX}, NULL, {-1, INT32_MAX}},
    {"int8", DTYPE_INT8, 1, {2}, T_INT32, 2, {-128, 127}, NULL, {-128, 127}},
    {"uint16", DTYPE_UINT16, 1, {1}, T_INT32, 1, {65535}, NULL, {65535}},
    {"bool", DTYPE_BOOL, 1, {3}, T_INT32, 3, {0, 1, 5}, NULL, {0, 1, 1}},
    {"bool raw", DTYPE_BOOL, 1, {3}, T_RAW, 3, {0, 1, 0xfe}, NULL, {0, 1, 1}},
    {"float16 bits", DTYPE_FLOAT16, 1, {2}, T_INT32, 2, {0x3c00, 0xc000}, NULL, {1, -2}},
    {"float16 sign-extended", DTYPE_FLOAT16, 1, {1}, T_INT32, 1, {(int16_t)0xc000}, NULL, {-2}},
    {"bfloat16 bits", DTYPE_BFLOAT16, 1, {1}, T_INT32, 1, {0x3f80}, NULL, {1}},
    {"float16 raw", DTYPE_FLOAT16, 1, {1}, T_RAW, 2, {0x00, 0x3c}, NULL, {1}},
    {"int64", DTYPE_INT64, 1, {1}, T_INT64, 1, {-5}, NULL, {-5}},
    {"uint32", DTYPE_UINT32, 1, {1}, T_UINT64, 1, {4294967295}, NULL, {4294967295.0}},
    {"double", DTYPE_DOUBLE, 1, {1}, T_DOUBLE, 1, {-7}, NULL, {-7}},
    {"int4 raw", DTYPE_INT4, 1, {3}, T_RAW, 2, {0x8f, 0xf7}, NULL, {-1, -8, 7}},
    {"uint4 raw", DTYPE_UINT4, 1, {3}, T_RAW, 2, {0x8f, 0x07}, NULL, {15, 8, 7}},
    {"int4 int32", DTYPE_INT4, 1, {3}, T_INT32, 2, {0x8f, 0x07}, NULL, {-1, -8, 7}},
    {"int2 raw", DTYPE_INT2, 1, {5}, T_RAW, 2, {0xe4, 0x03}, NULL, {0, 1, -2, -1, -1}},
    {"uint2 raw, half of a byte", DTYPE_UINT2, 1, {6}, T_RAW, 2, {0xe4, 0x0b}, NULL, {0, 1, 2, 3, 3, 2}},
    {"uint2 int32", DTYPE_UINT2, 1, {5}, T_INT32, 2, {0xe4, 0x03}, NULL, {0, 1, 2, 3, 3}},
    {"no type", 0, 1, {1}, T_INT32, 1, {0}, "has no element type", {0}},
    {"bad type", 27, 1, {1}, T_INT32, 1, {0}, "unknown element type 27", {0}},
    {"negative type", -1, 1, {1}, T_INT32, 1, {0}, "unknown element type -1", {0}},
    {"negative dim", DTYPE_FLOAT, 2, {2, -1}, T_FLOAT, 2, {0}, "dimension 1 is -1", {0}},
    {"overflow", DTYPE_FLOAT, 3, {INT64_MAX, 4, 4}, T_FLOAT, 2, {0}, "too many elements", {0}},
    {"huge", DTYPE_FLOAT, 2, {1 << 30, 1 << 20}, T_FLOAT, 2, {0}, "float_data has 2 entries, expected", {0}},
    {"little raw",
     DTYPE_FLOAT,
     1,
     {2},
     T_RAW,
     7,
     {0},
     "raw_data has 7 bytes, expected 8 for type float and shape [2]",
     {0}},
    {"little typed", DTYPE_INT64, 1, {3}, T_INT64, 2, {0}, "int64_data has 2 entries, expected 3", {0}},
    {"little uint2", DTYPE_UINT2, 1, {6}, T_RAW, 1, {0}, "raw_data has 1 bytes, expected 2", {0}},
    {"little int4", DTYPE_INT4, 1, {3}, T_INT32, 1, {0}, "int32_data has 1 entries, expected 2", {0}},
    {"complex", DTYPE_COMPLEX64, 1, {2}, T_FLOAT, 3, {0}, "float_data has 3 entries, expected 4", {0}},
    {"no data", DTYPE_FLOAT, 1, {2}, T_RAW, 0, {0}, "has no data", {0}},
    {"data of nothing",
     DTYPE_FLOAT,
     1,
     {0},
     T_FLOAT,
     1,
     {0},
     "has no elements by its shape, but data in float_data",
     {0}},
    {"wrong field",
     DTYPE_FLOAT,
     1,
     {1},
     T_INT32,
     1,
     {0},
     "data of type float stands in int32_data, expected raw_data or float_data",
     {0}},
    {"uint32 in int32_data", DTYPE_UINT32, 1, {1}, T_INT32, 1, {0}, "expected raw_data or uint64_data", {0}},
    {"string in raw_data", DTYPE_STRING, 1, {1}, T_RAW, 1, {0}, "stands in raw_data, expected string_data", {0}},
    {"int8 range", DTYPE_INT8, 1, {1}, T_INT32, 1, {128}, "entry 0 of int32_data is 128, which int8 cannot hold", {0}},
    {"half range", DTYPE_FLOAT16, 1, {1}, T_INT32, 1, {65536}, "which float16 cannot hold", {0}},
    {"uint32 range", DTYPE_UINT32, 1, {1}, T_UINT64, 1, {4294967296}, "which uint32 cannot hold", {0}},
    {"int4 byte", DTYPE_INT4, 1, {1}, T_INT32, 1, {256}, "which int4 cannot hold", {0}},
};

static void put_values(struct wire *w, int field, const int64_t *values, int count)
{
    struct wire list = {0};
    for (int i = 0; i < count; i++) {
        const float f = (float)values[i];
        const double d = (double)values[i];
        const unsigned char byte = (unsigned char)values[i];
        if (field == T_FLOAT)
            put(&list, &f, 4);
        else if (field == T_DOUBLE)
            put(&list, &d, 8);
        else if (field == T_RAW)
            put(&list, &byte, 1);
        else
            put_varint(&list, (uint64_t)values[i]);
    }
    if (count > 0)
        put_message(w, (unsigned)field, &list);
}

START_TEST(test_tensors)
{
    struct wire t = {0};
    for (int i = 0; i < tensors[_i].rank; i++)
        put_int(&t, T_DIMS, tensors[_i].dims[i]);
    put_int(&t, T_TYPE, tensors[_i].dtype);
    put_string(&t, T_NAME, "W");
    put_values(&t, tensors[_i].field, tensors[_i].values, tensors[_i].count);
    struct wire w = model_with(GRAPH_INITIALIZER, &t);
    struct model *m = read_wire(&w);
    if (tensors[_i].said) {
        ck_assert_msg(!m, "%s: accepted", tensors[_i].label);
        assert_said(tensors[_i].said, tensors[_i].label);
        assert_said("initializer 'W'", tensors[_i].label);
        return;
    }
    ck_assert_msg(m != NULL, "%s: %s", tensors[_i].label, diag.messages.count ? diag.messages.data[0].text : "?");
    const struct tensor *x = m->graph->initializers.data[0]->tensor;
    for (int64_t i = 0; i < x->count; i++)
        ck_assert_msg(tensor_get_double(x, i) == tensors[_i].expected[i], "%s: element %d is %g, expected %g",
                      tensors[_i].label, (int)i, tensor_get_double(x, i), tensors[_i].expected[i]);
}
END_TEST

START_TEST(test_tensor_oddities)
{
    struct wire t = {0};
    const float one = 1;
    put_int(&t, T_TYPE, DTYPE_FLOAT);
    put_bytes(&t, T_RAW, &one, 4);
    struct wire two = t, rank = t, segment = t;
    put_bytes(&two, T_FLOAT, &one, 4);
    struct wire m = model_with(GRAPH_INITIALIZER, &two);
    assert_refused(&m, "holds data twice, in raw_data and in float_data");
    rank.data = NULL, rank.count = rank.capacity = 0;
    put(&rank, t.data, t.count);
    for (int i = 0; i <= SHAPE_MAX_RANK; i++)
        put_int(&rank, T_DIMS, 1);
    m = model_with(GRAPH_INITIALIZER, &rank);
    assert_refused(&m, "has rank 13; at most 12 is supported");
    segment.data = NULL, segment.count = segment.capacity = 0;
    put(&segment, t.data, t.count);
    put_bytes(&segment, T_SEGMENT, "", 0);
    m = model_with(GRAPH_INITIALIZER, &segment);
    assert_refused(&m, "segment");
}
END_TEST

/* ---- sparse tensors ---------------------------------------------------------------------------- */

static const struct {
    int rank;
    int64_t dims[2];
    int columns; /* 0: linear indices */
    int64_t indices[4];
    const char *said;
} sparses[] = {
    {2, {2, 3}, 2, {0, 1, 1, 0}, NULL},
    {2, {2, 3}, 0, {1, 5}, NULL},
    {2, {2, 3}, 0, {1, 6}, "index 1 lies outside shape [2,3]"},
    {2, {2, 3}, 0, {-1, 1}, "index 0 lies outside shape [2,3]"},
    {2, {2, 3}, 0, {1, 1}, "index 1 does not follow"},
    {2, {2, 3}, 2, {1, 0, 0, 1}, "index 1 does not follow"},
    {2, {2, 3}, 2, {0, 3, 1, 0}, "index 0 lies outside"},
    {1, {6}, 2, {0, 1, 1, 0}, "expected int64 [2] or [2,1]"},
    {0, {0}, 0, {0, 1}, "has no dimensions"},
    {2, {0, 3}, 0, {0, 1}, "dimension 0 is 0"},
    {2, {INT64_MAX, 3}, 0, {0, 1}, "too many elements"},
};

START_TEST(test_sparse)
{
    struct wire values = {0}, indices = {0}, s = {0};
    put_int(&values, T_DIMS, 2);
    put_int(&values, T_TYPE, DTYPE_FLOAT);
    put_values(&values, T_FLOAT, (const int64_t[]){1, 2}, 2);
    put_int(&indices, T_DIMS, 2);
    if (sparses[_i].columns)
        put_int(&indices, T_DIMS, sparses[_i].columns);
    put_int(&indices, T_TYPE, DTYPE_INT64);
    put_values(&indices, T_INT64, sparses[_i].indices, sparses[_i].columns ? 4 : 2);
    put_message(&s, 1, &values);
    put_message(&s, 2, &indices);
    for (int i = 0; i < sparses[_i].rank; i++)
        put_int(&s, 3, sparses[_i].dims[i]);
    struct wire m = model_with(15, &s);
    if (sparses[_i].said)
        assert_refused(&m, sparses[_i].said);
    else
        assert_read(&m);
}
END_TEST

/* ---- external data --------------------------------------------------------------------------------- */

static void put_pair(struct wire *w, unsigned field, const char *key, const char *value)
{
    struct wire pair = {0};
    put_string(&pair, 1, key);
    put_string(&pair, 2, value);
    put_message(w, field, &pair);
}

static const struct {
    const char *location, *offset, *length, *said;
} externals[] = {
    {"data.bin", "4", "8", NULL},
    {"data.bin", "4", NULL, NULL},
    {"./sub/../data.bin", NULL, NULL, "could leave the model's folder"},
    {"sub/inner.bin", NULL, NULL, NULL},
    {"", NULL, NULL, "without a location"},
    {NULL, "0", NULL, "without a location"},
    {"/etc/passwd", NULL, NULL, "absolute path"},
    {"../outside.bin", NULL, NULL, "could leave the model's folder"},
    {"..", NULL, NULL, "could leave the model's folder"},
    {"linked.bin", NULL, NULL, "is a symbolic link"},
    {"linked_folder/outside.bin", NULL, NULL, "lies outside the model's folder"},
    {"linked_neighbour/outside.bin", NULL, NULL, "lies outside the model's folder"},
    {"hard.bin", NULL, NULL, "hard link"},
    {"sub", NULL, NULL, "not a plain file"},
    {"pipe", NULL, NULL, "not a plain file"},
    {"missing.bin", NULL, NULL, "cannot open external data"},
    {"data.bin", "5", NULL, "has 12 bytes; bytes 5 and 8 following"},
    {"data.bin", "13", NULL, "has 12 bytes"},
    {"data.bin", "4", "9", "has 12 bytes"},
    {"data.bin", "0", "4", "external data of 4 bytes, expected 8"},
    {"data.bin", "18446744073709551615", "8", "has 12 bytes"},
    {"data.bin", "18446744073709551616", "8", "expected a number of bytes"},
    {"data.bin", "-1", "8", "expected a number of bytes"},
    {"data.bin", "0", "0x8", "expected a number of bytes"},
    {"data.bin", "", "8", "expected a number of bytes"},
};

/* top/outer and top/model2 with outside.bin, and top/model with the files of the table. */
static const char *make_folder(const char *top)
{
    const float data[] = {0, 1, 2};
    const char *model = in_folder(top, "model");
    ck_assert_int_eq(mkdir(model, 0700), 0);
    ck_assert_int_eq(mkdir(in_folder(model, "sub"), 0700), 0);
    ck_assert_int_eq(mkdir(in_folder(top, "outer"), 0700), 0);
    ck_assert_int_eq(mkdir(in_folder(top, "model2"), 0700), 0);
    ck_assert(file_write(&diag, in_folder(model, "data.bin"), data, sizeof data));
    ck_assert(file_write(&diag, in_folder(model, "sub/inner.bin"), data, sizeof data));
    ck_assert(file_write(&diag, in_folder(top, "outer/outside.bin"), data, sizeof data));
    ck_assert(file_write(&diag, in_folder(top, "model2/outside.bin"), data, sizeof data));
    ck_assert(file_write(&diag, in_folder(model, "one.bin"), data, sizeof data));
    ck_assert_int_eq(link(in_folder(model, "one.bin"), in_folder(model, "hard.bin")), 0);
    ck_assert_int_eq(symlink("data.bin", in_folder(model, "linked.bin")), 0);
    ck_assert_int_eq(symlink("../outer", in_folder(model, "linked_folder")), 0);
    ck_assert_int_eq(symlink("../model2", in_folder(model, "linked_neighbour")), 0);
    ck_assert_int_eq(mkfifo(in_folder(model, "pipe"), 0600), 0);
    return model;
}

static void remove_folder(const char *top)
{
    static const char *const files[] = {
        "model/data.bin", "model/sub/inner.bin", "outer/outside.bin",   "model2/outside.bin",     "model/one.bin",
        "model/hard.bin", "model/linked.bin",    "model/linked_folder", "model/linked_neighbour", "model/pipe"};
    static const char *const folders[] = {"model/sub", "model", "outer", "model2"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(in_folder(top, files[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        rmdir(in_folder(top, folders[i]));
    rmdir(top);
}

static struct wire external_tensor(int64_t elements, const char *location, const char *offset, const char *length)
{
    struct wire t = {0};
    put_int(&t, T_DIMS, elements);
    put_int(&t, T_TYPE, DTYPE_FLOAT);
    put_int(&t, T_LOCATION, 1);
    if (location)
        put_pair(&t, T_EXTERNAL, "location", location);
    if (offset)
        put_pair(&t, T_EXTERNAL, "offset", offset);
    if (length)
        put_pair(&t, T_EXTERNAL, "length", length);
    put_pair(&t, T_EXTERNAL, "checksum", "unused");
    return t;
}

START_TEST(test_external)
{
    const char *top;
    ck_assert(temp_directory(&diag, &arena, &top));
    const char *folder = make_folder(top);
    for (size_t i = 0; i < sizeof externals / sizeof *externals; i++) {
        struct wire t = external_tensor(2, externals[i].location, externals[i].offset, externals[i].length);
        struct wire w = model_with(GRAPH_INITIALIZER, &t);
        struct model *m = read_at(in_folder(folder, "m.onnx"), &w);
        if (externals[i].said) {
            ck_assert_msg(!m, "'%s' accepted", externals[i].location ? externals[i].location : "(none)");
            assert_said(externals[i].said, externals[i].location ? externals[i].location : "(none)");
            continue;
        }
        ck_assert_msg(m != NULL, "'%s' refused", externals[i].location);
        const struct model_initializer *x = m->graph->initializers.data[0];
        ck_assert_str_eq(x->external_location, externals[i].location);
        ck_assert_double_eq(tensor_get_double(x->tensor, 1), externals[i].offset ? 2 : 1);
        ck_assert_uint_eq(m->external_files.count, 1);
    }
    remove_folder(top);
}
END_TEST

/* A file of 12 bytes read a thousand times. */
START_TEST(test_external_shared_too_often)
{
    const char *top;
    ck_assert(temp_directory(&diag, &arena, &top));
    const char *folder = make_folder(top);
    struct wire g = graph_named("g"), t = external_tensor(3, "data.bin", NULL, NULL);
    for (int i = 0; i < 1000; i++)
        put_message(&g, GRAPH_INITIALIZER, &t);
    struct wire w = model_of(&g);
    ck_assert(!read_at(in_folder(folder, "m.onnx"), &w));
    assert_said("external data refused", "sharing");
    remove_folder(top);
}
END_TEST

/* A file that is missing is one message, whatever number of tensors lies in it. */
START_TEST(test_external_missing_is_said_once)
{
    const char *top;
    ck_assert(temp_directory(&diag, &arena, &top));
    const char *folder = make_folder(top);
    struct wire g = graph_named("g");
    for (int i = 0; i < 10; i++) { /* by other names: the diagnostics leave out what is equal */
        struct wire t = external_tensor(3, i == 7 ? "other.bin" : "missing.bin", NULL, NULL);
        put_string(&t, T_NAME, arena_printf(&arena, "w%d", i));
        put_message(&g, GRAPH_INITIALIZER, &t);
    }
    struct wire w = model_of(&g);
    ck_assert(!read_at(in_folder(folder, "m.onnx"), &w));
    ck_assert_uint_eq(diag.errors, 2);
    remove_folder(top);
}
END_TEST

int main(void)
{
    TCase *c = tcase_create("data");
    tcase_add_checked_fixture(c, setup, teardown);
    ADD_LOOP(c, test_tensors, tensors);
    tcase_add_test(c, test_tensor_oddities);
    ADD_LOOP(c, test_sparse, sparses);
    tcase_add_test(c, test_external);
    tcase_add_test(c, test_external_shared_too_often);
    tcase_add_test(c, test_external_missing_is_said_once);
    return run_tests("model", c);
}
