/* Files of flax.serialization: MessagePack, arrays, and what is what in them; kernels as ONNX has them. What is hostile
 * gives an error and nothing else. */
#include "base/diag.h"
#include "base/str.h"
#include "foreign/checkpoint.h"
#include "foreign/kernels.h"
#include "foreign/msgpack.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

static struct arena arena;
static struct diag diag;

static void begin(void)
{
    arena = (struct arena){0};
    diag = (struct diag){.arena = &arena};
}

static void end(void)
{
    arena_free(&arena);
}

static bool has_error(const char *text)
{
    const char *const first = diag_first_error(&diag);
    return first && strstr(first, text);
}

#define assert_error(text)                                                                                             \
    ck_assert_msg(has_error(text), "no '%s' in: %s", text, diag_first_error(&diag) ? diag_first_error(&diag) : "")

/* ---- MessagePack ------------------------------------------------------------------------------------------------- */

static const struct loc at = {.file = "f.msgpack", .index = -1};

static struct msgpack_value *parse(const char *bytes, size_t size)
{
    struct msgpack_value *v;
    size_t left = 1000;
    const unsigned char *const exact = arena_copy(&arena, bytes, size, 1); /* sanitizers see one byte more */
    diag = (struct diag){.arena = &arena};
    return msgpack_parse(&diag, &arena, &at, exact, size, &left, &v) ? v : NULL;
}

#define BYTES(x) x, sizeof(x) - 1

static const struct {
    const char *bytes;
    size_t size;
    enum msgpack_kind kind;
    int64_t i; /* or the size of bytes and texts, or the number of items */
} values[] = {
    {BYTES("\xc0"), MSGPACK_NIL, 0},
    {BYTES("\xc2"), MSGPACK_BOOL, 0},
    {BYTES("\xc3"), MSGPACK_BOOL, 1},
    {BYTES("\x7f"), MSGPACK_INT, 127},
    {BYTES("\xff"), MSGPACK_INT, -1},
    {BYTES("\xe0"), MSGPACK_INT, -32},
    {BYTES("\xcc\xff"), MSGPACK_INT, 255},
    {BYTES("\xcd\x01\x02"), MSGPACK_INT, 258},
    {BYTES("\xce\xff\0\0\0"), MSGPACK_INT, 0xff000000},
    {BYTES("\xcf\0\0\0\x01\0\0\0\0"), MSGPACK_INT, (int64_t)1 << 32},
    {BYTES("\xd0\x80"), MSGPACK_INT, -128},
    {BYTES("\xd1\xff\0"), MSGPACK_INT, -256},
    {BYTES("\xd2\xff\xff\xff\xfe"), MSGPACK_INT, -2},
    {BYTES("\xd3\xff\xff\xff\xff\xff\xff\xff\xfd"), MSGPACK_INT, -3},
    {BYTES("\xa2" "ab"), MSGPACK_TEXT, 2},
    {BYTES("\xd9\x01" "a"), MSGPACK_TEXT, 1},
    {BYTES("\xda\0\x01" "a"), MSGPACK_TEXT, 1},
    {BYTES("\xdb\0\0\0\x01" "a"), MSGPACK_TEXT, 1},
    {BYTES("\xc4\x01" "a"), MSGPACK_BYTES, 1},
    {BYTES("\xc5\0\x01" "a"), MSGPACK_BYTES, 1},
    {BYTES("\xc6\0\0\0\x01" "a"), MSGPACK_BYTES, 1},
    {BYTES("\x92\x01\x02"), MSGPACK_LIST, 2},
    {BYTES("\xdc\0\x01\x01"), MSGPACK_LIST, 1},
    {BYTES("\xdd\0\0\0\x01\x01"), MSGPACK_LIST, 1},
    {BYTES("\x81\x01\x02"), MSGPACK_MAP, 2},
    {BYTES("\xde\0\x01\x01\x02"), MSGPACK_MAP, 2},
    {BYTES("\xdf\0\0\0\x01\x01\x02"), MSGPACK_MAP, 2},
    {BYTES("\xd4\x05" "a"), MSGPACK_EXTENSION, 1},
    {BYTES("\xd5\xff" "ab"), MSGPACK_EXTENSION, 2},
    {BYTES("\xc7\x03\x01" "abc"), MSGPACK_EXTENSION, 3},
    {BYTES("\xc8\0\x01\x01" "a"), MSGPACK_EXTENSION, 1},
    {BYTES("\xc9\0\0\0\x01\x01" "a"), MSGPACK_EXTENSION, 1},
};

START_TEST(values_are_read)
{
    const struct msgpack_value *const v = parse(values[_i].bytes, values[_i].size);
    ck_assert_msg(v, "%s", diag_first_error(&diag));
    ck_assert_int_eq(v->kind, values[_i].kind);
    const bool has_items = v->kind == MSGPACK_LIST || v->kind == MSGPACK_MAP,
               has_bytes = v->kind == MSGPACK_TEXT || v->kind == MSGPACK_BYTES || v->kind == MSGPACK_EXTENSION;
    ck_assert_int_eq(has_items ? (int64_t)v->items.count : has_bytes ? (int64_t)v->size : v->i, values[_i].i);
    for (size_t n = 0; n < values[_i].size; n++) { /* cut short anywhere */
        ck_assert(!parse(values[_i].bytes, n));
        assert_error("it was cut short");
    }
    ck_assert(!parse(arena_printf(&arena, "%c%c", 1, 1), 2));
    assert_error("something follows its end");
}
END_TEST

START_TEST(floats_are_read)
{
    ck_assert_double_eq(parse(BYTES("\xca\x3f\x80\0\0"))->number, 1);
    ck_assert_double_eq(parse(BYTES("\xcb\xbf\xf0\0\0\0\0\0\0"))->number, -1);
    ck_assert_int_eq(parse(BYTES("\xd5\xff" "ab"))->type, -1);
}
END_TEST

START_TEST(lies_cost_nothing)
{
    struct strbuf deep = {.arena = &arena};
    ck_assert(!parse(BYTES("\xdd\xff\xff\xff\xff\x01")));
    assert_error("it was cut short");
    ck_assert(!parse(BYTES("\xdf\xff\xff\xff\xff\x01")));
    ck_assert(!parse(BYTES("\xc6\xff\xff\xff\xff\x01")));
    ck_assert(!parse(BYTES("\xc9\xff\xff\xff\xff\x01\x01")));
    ck_assert(!parse(BYTES("\xc1")));
    assert_error("begins with a byte that begins none");
    for (int i = 0; i < 100; i++)
        strbuf_add(&deep, "\x91");
    ck_assert(!parse(deep.text, deep.length));
    assert_error("nested deeper than 64");
    char *const many = arena_array(&arena, char, 2003);
    memcpy(many, "\xdc\x07\xd0", 3); /* 2000 nils */
    memset(many + 3, 0xc0, 2000);
    ck_assert(!parse(many, 2003));
    assert_error("more values than an honest one");
    ck_assert(arena_bytes(&arena) < 1 << 20);
}
END_TEST

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static void put(struct strbuf *b, const char *bytes, size_t size)
{
    strbuf_add_n(b, bytes, size);
}

static void put_sized(struct strbuf *b, unsigned mark, size_t size)
{
    const char head[] = {(char)mark, (char)(size >> 8), (char)size};
    put(b, head, 3);
}

static void put_text(struct strbuf *b, const char *text)
{
    put_sized(b, 0xda, strlen(text));
    strbuf_add(b, text);
}

static void put_map(struct strbuf *b, size_t pairs)
{
    put_sized(b, 0xde, pairs);
}

/* An extension: (shape, type, bytes). */
static void put_array(struct strbuf *b, int extension, const char *shape, size_t shape_size, const char *type,
                      const void *bytes, size_t size)
{
    struct strbuf content = {.arena = &arena};
    put(&content, "\x93", 1);
    put(&content, shape, shape_size);
    put_text(&content, type);
    put_sized(&content, 0xc5, size);
    put(&content, bytes, size);
    put_sized(b, 0xc8, content.length);
    put(b, &(const char){(char)extension}, 1);
    put(b, content.text, content.length);
}

#define FLOATS(...) (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__})

static void put_floats(struct strbuf *b, const char *key, float x, float y)
{
    put_text(b, key);
    put_array(b, 1, BYTES("\x91\x02"), "float32", FLOATS(x, y));
}

static bool read(const struct strbuf *b, struct checkpoint *out)
{
    const unsigned char *const exact = arena_copy(&arena, b->text, b->length, 1);
    diag = (struct diag){.arena = &arena};
    return checkpoint_parse(&diag, &arena, "f.msgpack", exact, b->length, out);
}

static const struct tensor *weight(const struct checkpoint *c, const char *name)
{
    vec_each_ptr(const struct named_tensor, t, &c->weights)
        if (str_equal(t->name, name))
            return t->tensor;
    return NULL;
}

static const struct tensor *kept(const struct checkpoint *c, const char *name, const char *key)
{
    vec_each_ptr(const struct checkpoint_parameter, p, &c->parameters)
        for (size_t i = 0; str_equal(p->name, name) && i < p->state.count; i++)
            if (str_equal(p->state.data[i].name, key))
                return p->state.data[i].tensor;
    return NULL;
}

static bool lists(const str_list *l, const char *text)
{
    vec_each(const char *, x, l)
        if (strstr(x, text))
            return true;
    return false;
}

static const struct {
    const char *type;
    enum dtype dtype;
    size_t size;
} types[] = {{"float32", DTYPE_FLOAT, 4},     {"float64", DTYPE_DOUBLE, 8}, {"float16", DTYPE_FLOAT16, 2},
             {"bfloat16", DTYPE_BFLOAT16, 2}, {"int64", DTYPE_INT64, 8},    {"uint32", DTYPE_UINT32, 4},
             {"bool", DTYPE_BOOL, 1},         {"int8", DTYPE_INT8, 1}};

START_TEST(arrays_have_types)
{
    struct strbuf b = {.arena = &arena};
    struct checkpoint c;
    static const unsigned char bytes[16] = {1, 1, 1, 1};
    put_map(&b, 1);
    put_text(&b, "w");
    put_array(&b, 1, BYTES("\x92\x02\x01"), types[_i].type, bytes, 2 * types[_i].size);
    ck_assert_msg(read(&b, &c), "%s", diag_first_error(&diag));
    ck_assert_int_eq(weight(&c, "w")->dtype, types[_i].dtype);
    ck_assert(shape_equal(&weight(&c, "w")->shape, &SHAPE(2, 1)));
}
END_TEST

static const struct {
    const char *shape;
    size_t size;
    const char *type;
    size_t bytes;
    const char *error;
} bad_arrays[] = {
    {BYTES("\x91\x03"), "float32", 8, "does not fit its 8 bytes"},
    {BYTES("\x91\x01"), "float32", 8, "does not fit its 8 bytes"},
    {BYTES("\x91\xff"), "float32", 8, "has a shape that is no list of at most 12 sizes"},
    {BYTES("\x91\xcb\0\0\0\0\0\0\0\0"), "float32", 8, "has a shape that is no list"},
    {BYTES("\x93\xce\x7f\xff\xff\xff\xce\x7f\xff\xff\xff\xce\x7f\xff\xff\xff"), "float32", 8, "does not fit its 8"},
    {BYTES("\x9d\1\1\1\1\1\1\1\1\1\1\1\1\2"), "float32", 8, "has a shape that is no list"},
    {BYTES("\x02"), "float32", 8, "is no shape, type and bytes"},
    {BYTES("\x91\x02"), "int4", 8, NULL}, /* listed */
};

START_TEST(bad_arrays_are_refused)
{
    struct strbuf b = {.arena = &arena};
    struct checkpoint c;
    put_map(&b, 2);
    put_floats(&b, "v", 1, 2);
    put_text(&b, "w");
    put_array(&b, 1, bad_arrays[_i].shape, bad_arrays[_i].size, bad_arrays[_i].type, (const float[2]){1, 2},
              bad_arrays[_i].bytes);
    ck_assert(read(&b, &c) == !bad_arrays[_i].error);
    if (bad_arrays[_i].error)
        assert_error(bad_arrays[_i].error);
    else
        ck_assert(lists(&c.rest, "'w' (of a type that is not read)"));
}
END_TEST

START_TEST(arrays_come_in_chunks)
{
    static const struct {
        const char *shape, *second;
        size_t size, pairs;
        const char *error;
    } cases[] = {{"\x02", "1", 8, 2, NULL},
                 {"\x03", "1", 8, 2, "has chunks that do not fit its shape"},
                 {"\x02", "2", 8, 2, "has a chunk that is no array"},
                 {"\x02", "1", 8, 0, "has no shape or no chunks"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf b = {.arena = &arena};
        struct checkpoint c;
        put_map(&b, 1);
        put_text(&b, "w");
        put_map(&b, 3);
        put_text(&b, "__msgpack_chunked_array__");
        put(&b, "\xc3", 1);
        put_text(&b, "shape");
        put_map(&b, 2);
        put_text(&b, "0");
        put(&b, cases[i].shape, 1);
        put_text(&b, "1");
        put(&b, "\x02", 1);
        put_text(&b, "chunks");
        put_map(&b, cases[i].pairs);
        if (cases[i].pairs > 0) {
            put_floats(&b, cases[i].second, 3, 4); /* the order is that of the names */
            put_floats(&b, "0", 1, 2);
        }
        ck_assert_msg(read(&b, &c) == !cases[i].error, "case %zu", i);
        if (cases[i].error)
            assert_error(cases[i].error);
        else
            ck_assert(shape_equal(&weight(&c, "w")->shape, &SHAPE(2, 2)) &&
                      tensor_get_double(weight(&c, "w"), 0) == 1 && tensor_get_double(weight(&c, "w"), 3) == 4);
    }
}
END_TEST

/* ---- what is what ------------------------------------------------------------------------------------------------ */

/* {step: 5, params: {params: {k}}, batch_stats: {mean}, opt_state: {"0": {FIELD: {params: {k}}...}, "1": {}}} */
static bool read_state(const char *const *fields, size_t count, bool counts, const char *more, struct checkpoint *c)
{
    struct strbuf b = {.arena = &arena};
    put_map(&b, 4);
    put_text(&b, "step");
    put(&b, "\x05", 1);
    put_text(&b, "params");
    put_map(&b, 1);
    put_text(&b, "params");
    put_map(&b, 1);
    put_floats(&b, "k", 1, 2);
    put_text(&b, "batch_stats");
    put_map(&b, 1);
    put_floats(&b, "mean", 7, 8);
    put_text(&b, "opt_state");
    put_map(&b, more ? 2 : 1);
    put_text(&b, "0");
    put_map(&b, count + (counts ? 1 : 0));
    if (counts) {
        put_text(&b, "count");
        put_array(&b, 1, BYTES("\x90"), "int32", (const int32_t[]){6}, 4);
    }
    for (size_t i = 0; i < count; i++) {
        put_text(&b, fields[i]);
        put_map(&b, 1);
        put_text(&b, "params");
        put_map(&b, 1);
        put_floats(&b, "k", (float)i + 10, (float)i + 20);
    }
    if (more) {
        put_text(&b, "1");
        put_map(&b, 1);
        put_text(&b, more);
        put_map(&b, 1);
        put_text(&b, "params");
        put_map(&b, 1);
        put_floats(&b, "k", 50, 60);
    }
    return read(&b, c);
}

START_TEST(states_of_optax)
{
    static const struct {
        const char *fields[3];
        size_t count;
        bool counts;
        const char *more;
        const char *keys[3]; /* of the fields; NULL: listed */
        const char *of_more;
    } cases[] = {
        {{"mu", "nu"}, 2, true, NULL, {"exp_avg", "exp_avg_sq"}, NULL},
        {{"mu", "nu", "nu_max"}, 3, true, NULL, {"exp_avg", "exp_avg_sq", NULL}, NULL},
        {{"mu"}, 1, true, NULL, {"exp_avg"}, NULL},
        {{"nu"}, 1, false, NULL, {"square_avg"}, NULL},
        {{"nu"}, 1, true, NULL, {"square_avg"}, NULL},
        {{"mu", "nu"}, 2, false, NULL, {"grad_avg", "square_avg"}, NULL},
        {{"trace"}, 1, false, NULL, {"momentum_buffer"}, NULL},
        {{"sum_of_squares"}, 1, false, NULL, {"sum"}, NULL},
        {{"nu"}, 1, false, "trace", {"square_avg"}, NULL}, /* the rate is in it */
        {{"acc_grads"}, 1, false, NULL, {NULL}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checkpoint c;
        ck_assert_msg(read_state(cases[i].fields, cases[i].count, cases[i].counts, cases[i].more, &c), "%s",
                      diag_first_error(&diag));
        ck_assert(c.has_optimizer && c.anonymous && c.channels_last);
        ck_assert_double_eq(c.steps, cases[i].counts ? 6 : 5);
        ck_assert_uint_eq(c.weights.count, 2);
        for (size_t k = 0; k < cases[i].count; k++) {
            const struct tensor *const t = cases[i].keys[k] ? kept(&c, "params/params/k", cases[i].keys[k]) : NULL;
            ck_assert_msg(!t == !cases[i].keys[k], "case %zu, %s", i, cases[i].fields[k]);
            ck_assert(!t || tensor_get_double(t, 1) == (double)k + 20);
            ck_assert(t || lists(&c.rest, cases[i].fields[k]));
        }
        ck_assert(!cases[i].more || lists(&c.rest, "opt_state/1/trace' (RMSprop's momentum"));
        ck_assert(c.parameters.count == 0 || isnan(c.parameters.data[0].steps) == !cases[i].counts);
        ck_assert_uint_eq(c.other_names.count, 2);
        ck_assert_str_eq(c.other_names.data[0], "k");
        ck_assert_str_eq(c.other_names.data[1], "mean");
    }
}
END_TEST

START_TEST(hyperparameters_are_injected)
{
    struct strbuf b = {.arena = &arena};
    struct checkpoint c;
    put_map(&b, 2);
    put_floats(&b, "k", 1, 2);
    put_text(&b, "opt_state");
    put_map(&b, 2);
    put_text(&b, "hyperparams");
    put_map(&b, 2);
    put_text(&b, "learning_rate");
    put_array(&b, 1, BYTES("\x90"), "float32", FLOATS(0.25f));
    put_text(&b, "b1");
    put(&b, "\xca\x3f\0\0\0", 5);
    put_text(&b, "inner_state");
    put_map(&b, 1);
    put_text(&b, "trace");
    put_map(&b, 1);
    put_floats(&b, "k", 3, 4);
    ck_assert_msg(read(&b, &c), "%s", diag_first_error(&diag));
    ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "lr", 0), 0.25);
    ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "beta1", 0), 0.5);
    ck_assert_double_eq(tensor_get_double(kept(&c, "k", "momentum_buffer"), 0), 3);
}
END_TEST

START_TEST(bad_trees_are_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *error;
    } cases[] = {{BYTES("\x01"), "it is no map of names"},
                 {BYTES("\x80"), "neither a tensor of weights nor the state of an optimizer"},
                 {BYTES("\x81\xc0\x01"), "a key below '' is no text"},
                 {BYTES("\x81\xa2" "a\0\x01"), "a key below '' has a NUL"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf b = {.arena = &arena};
        struct checkpoint c;
        put(&b, cases[i].bytes, cases[i].size);
        ck_assert(!read(&b, &c));
        assert_error(cases[i].error);
    }
    struct strbuf twice = {.arena = &arena}, same = {.arena = &arena};
    struct checkpoint c;
    put_map(&twice, 2);
    put_floats(&twice, "k", 1, 2);
    put_floats(&twice, "k", 1, 2);
    ck_assert(!read(&twice, &c));
    assert_error("two of its arrays are called 'k'");
    /* two collections have one name: then there are no second names */
    put_map(&same, 2);
    put_text(&same, "params");
    put_map(&same, 1);
    put_floats(&same, "k", 1, 2);
    put_text(&same, "batch_stats");
    put_map(&same, 1);
    put_floats(&same, "k", 3, 4);
    ck_assert_msg(read(&same, &c), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(c.other_names.count, 0);
}
END_TEST

/* Each of many small entries has the path of all for its name. */
START_TEST(long_paths_cost_nothing)
{
    char *const path = arena_array(&arena, char, 1001);
    memset(path, 'a', 1000);
    path[1000] = '\0';
    for (int within = 0; within < 3; within++) { /* ends, maps, what an optimizer keeps */
        struct strbuf b = {.arena = &arena};
        struct checkpoint c;
        put_map(&b, 1);
        put_text(&b, within == 2 ? "opt_state" : path);
        if (within == 2) {
            put_map(&b, 1);
            put_text(&b, "mu");
            put_map(&b, 1);
            put_text(&b, path);
        }
        put_map(&b, 30000);
        for (int i = 0; i < 30000; i++)
            put(&b, within == 1 ? "\xa1" "b\x80" : "\xa1" "b\xc0", 3);
        const size_t before = arena_bytes(&arena);
        ck_assert(!read(&b, &c));
        assert_error("its names are larger than those of an honest one");
        ck_assert(arena_bytes(&arena) - before < (size_t)32 << 20);
    }
}
END_TEST

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static const struct tensor *numbered(const struct shape *shape)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, shape);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, (double)i);
    return t;
}

START_TEST(kernels_are_laid_out)
{
    /* [sizes, inputs, outputs]: the element of line 1, column 0, input 2, output 3 */
    const struct tensor *t = kernel_laid_out(&arena, &SHAPE(4, 3, 2, 5), numbered(&SHAPE(2, 5, 3, 4)));
    ck_assert_double_eq(tensor_get_double(t, ((3 * 3 + 2) * 2 + 1) * 5 + 0), ((1 * 5 + 0) * 3 + 2) * 4 + 3);
    t = kernel_laid_out(&arena, &SHAPE(4, 3, 2), numbered(&SHAPE(2, 3, 4)));
    ck_assert_double_eq(tensor_get_double(t, (3 * 3 + 2) * 2 + 1), (1 * 3 + 2) * 4 + 3);
    /* TensorFlow's depthwise: [sizes, channels, outputs of each]; flax's: [sizes, 1, channels] */
    t = kernel_laid_out(&arena, &SHAPE(6, 1, 2, 2), numbered(&SHAPE(2, 2, 3, 2)));
    ck_assert_double_eq(tensor_get_double(t, ((2 * 2 + 1) * 2 + 1) * 2 + 0), ((1 * 2 + 0) * 3 + 2) * 2 + 1);
    t = kernel_laid_out(&arena, &SHAPE(6, 1, 2, 2), numbered(&SHAPE(2, 2, 1, 6)));
    ck_assert_double_eq(tensor_get_double(t, (5 * 2 + 1) * 2 + 0), (1 * 2 + 0) * 6 + 5);
    ck_assert_int_eq(kernel_laid_out(&arena, &SHAPE(4, 0, 2), numbered(&SHAPE(2, 0, 4)))->count, 0);
    ck_assert_ptr_null(kernel_laid_out(&arena, &SHAPE(4, 3, 2, 5), numbered(&SHAPE(5, 2, 3, 4))));
    ck_assert_ptr_null(kernel_laid_out(&arena, &SHAPE(3, 4, 2, 5), numbered(&SHAPE(2, 5, 3, 4))));
    ck_assert_ptr_null(kernel_laid_out(&arena, &SHAPE(4, 3), numbered(&SHAPE(3, 4))));
    ck_assert_ptr_null(kernel_laid_out(&arena, &SHAPE(4, 3, 2), numbered(&SHAPE(2, 1, 3, 4))));
    ck_assert_ptr_null(kernel_laid_out(&arena, &SHAPE(5, 1, 2, 2), numbered(&SHAPE(2, 2, 3, 2))));
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("flax");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, values_are_read, 0, sizeof values / sizeof *values);
    tcase_add_test(tests, floats_are_read);
    tcase_add_test(tests, lies_cost_nothing);
    tcase_add_loop_test(tests, arrays_have_types, 0, sizeof types / sizeof *types);
    tcase_add_loop_test(tests, bad_arrays_are_refused, 0, sizeof bad_arrays / sizeof *bad_arrays);
    tcase_add_test(tests, arrays_come_in_chunks);
    tcase_add_test(tests, states_of_optax);
    tcase_add_test(tests, hyperparameters_are_injected);
    tcase_add_test(tests, bad_trees_are_refused);
    tcase_add_test(tests, long_paths_cost_nothing);
    tcase_add_test(tests, kernels_are_laid_out);
    return run_tests("flax", tests);
}
