/* Checkpoints of TensorFlow: tables, bundles, and what is what in them. What is hostile gives an error and nothing
 * else. */
#include "bundle_file.h"
#include "foreign/bundle.h"
#include "foreign/checkpoint_internal.h"
#include "foreign/table.h"
#include "suite.h"

#include <check.h>
#include <math.h>

#define VALUE "/.ATTRIBUTES/VARIABLE_VALUE"

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

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool parse_table(const struct strbuf *file, table_entries *out)
{
    unsigned char *const exact = arena_copy(&arena, file->text, file->length, 1); /* sanitizers see one byte more */
    diag = (struct diag){.arena = &arena};
    return table_parse(&diag, &arena, "t.index", exact, file->length, false, out);
}

START_TEST(checksums_are_crc32c)
{
    /* RFC 3720, B.4 */
    unsigned char zeros[32] = {0}, up[32];
    for (unsigned char i = 0; i < 32; i++)
        up[i] = i;
    ck_assert_uint_eq(crc32c(0, zeros, 32), 0x8a9136aa);
    ck_assert_uint_eq(crc32c(0, up, 32), 0x46dd794e);
    ck_assert_uint_eq(crc32c(crc32c(0, up, 10), up + 10, 22), 0x46dd794e);
    ck_assert_uint_eq(crc32c_masked(crc32c(0, up, 32)), masked_crc_of((const char *)up, 32));
}
END_TEST

START_TEST(numbers_of_seven_bits)
{
    static const struct {
        const char *bytes;
        size_t size;
        bool ok;
        uint64_t x;
    } cases[] = {{"\x05", 1, true, 5},
                 {"\xac\x02", 2, true, 300},
                 {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true, UINT64_MAX},
                 {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false, 0},
                 {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, false, 0},
                 {"\x80", 1, false, 0},
                 {"", 0, false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const unsigned char *p = (const unsigned char *)cases[i].bytes;
        uint64_t x = 0;
        ck_assert_msg(read_varint(&p, p + cases[i].size, &x) == cases[i].ok, "case %zu", i);
        ck_assert(!cases[i].ok || x == cases[i].x);
    }
}
END_TEST

START_TEST(keys_share_what_they_begin_with)
{
    struct strbuf one = {.arena = &arena}, two = {.arena = &arena}, file = {.arena = &arena};
    table_entries out;
    put_table_entry(&one, 0, "dense/bias", "1", 1);
    put_table_entry(&one, 6, "kernel", "22", 2);
    put_table_entry(&two, 0, "f", "", 0);
    const struct block_place blocks[] = {put_block(&file, &one, 0), put_block(&file, &two, 0)};
    end_table(&file, blocks, 2);
    ck_assert_msg(parse_table(&file, &out), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(out.count, 3);
    ck_assert_str_eq(out.data[1].key, "dense/kernel");
    ck_assert(out.data[1].size == 2 && memcmp(out.data[1].value, "22", 2) == 0);
    ck_assert_str_eq(out.data[2].key, "f");
}
END_TEST

/* Blocks of one entry each, or one of these bytes. */
static const struct {
    const char *what;
    size_t shared[2];
    const char *keys[2];
    const char *error;
} bad_keys[] = {
    {"the same twice", {0, 0}, {"b", "b"}, "its keys do not ascend"},
    {"descending", {0, 0}, {"b", "a"}, "its keys do not ascend"},
    {"shares more than there is", {0, 2}, {"b", "a"}, "an entry is longer than its block"},
    {"the first shares", {1, 0}, {"b", "c"}, "an entry is longer than its block"},
};

START_TEST(bad_keys_are_refused)
{
    for (int apart = 0; apart < 2; apart++) {
        struct strbuf entries[2] = {{.arena = &arena}, {.arena = &arena}}, file = {.arena = &arena};
        struct block_place blocks[2];
        table_entries out;
        for (int i = 0; i < 2; i++)
            put_table_entry(&entries[apart ? i : 0], bad_keys[_i].shared[i], bad_keys[_i].keys[i], "v", 1);
        blocks[0] = put_block(&file, &entries[0], 0);
        if (apart)
            blocks[1] = put_block(&file, &entries[1], 0);
        end_table(&file, blocks, apart ? 2 : 1);
        ck_assert(!parse_table(&file, &out));
        assert_error(bad_keys[_i].error);
    }
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    const char *error;
} bad_entries[] = {
#define ENTRY(bytes, error) {bytes, sizeof(bytes) - 1, error}
    ENTRY("\0\x05\0abc", "an entry is longer than its block"),
    ENTRY("\0\x01\x05" "abc", "an entry is longer than its block"),
    ENTRY("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01" "abc", "an entry is longer than its block"),
    ENTRY("\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "abc", "an entry is longer than its block"),
    ENTRY("\0\x03\x05" "abcde", "an entry is longer than its block"),
    ENTRY("\0\x01", "an entry is cut short"),
    ENTRY("\0\x02\0" "a\0", "there is a NUL in a key"),
#undef ENTRY
};

START_TEST(bad_entries_are_refused)
{
    struct strbuf entries = {.arena = &arena}, file = {.arena = &arena};
    table_entries out;
    strbuf_add_n(&entries, bad_entries[_i].bytes, bad_entries[_i].size);
    const struct block_place block = put_block(&file, &entries, 0);
    end_table(&file, &block, 1);
    ck_assert(!parse_table(&file, &out));
    assert_error(bad_entries[_i].error);
}
END_TEST

START_TEST(bad_blocks_are_refused)
{
    struct strbuf entries = {.arena = &arena};
    table_entries out;
    put_table_entry(&entries, 0, "k", "v", 1);
    const struct {
        int kind;
        bool twice;
        struct block_place move; /* added to the block's place */
        const char *error;
    } cases[] = {{0, false, {0, 0}, NULL},
                 {1, false, {0, 0}, "compressed by snappy"},
                 {2, false, {0, 0}, "compressed in a way that there is not"},
                 {0, true, {0, 0}, "its blocks overlap"},
                 {0, false, {0, 1000}, "a block lies behind its end"},
                 {0, false, {0, SIZE_MAX - 1000}, "a block lies behind its end"},
                 {0, false, {1000, 0}, "a block lies behind its end"},
                 {0, false, {1, 0}, "the checksum of a block is another"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf file = {.arena = &arena};
        struct block_place p[2] = {put_block(&file, &entries, cases[i].kind)};
        p[0].at += cases[i].move.at;
        p[0].size += cases[i].move.size;
        p[1] = p[0];
        end_table(&file, p, cases[i].twice ? 2 : 1);
        ck_assert_msg(parse_table(&file, &out) == !cases[i].error, "case %zu", i);
        if (cases[i].error)
            assert_error(cases[i].error);
    }
    /* more places to begin anew than the block has bytes */
    struct strbuf file = {.arena = &arena};
    const struct block_place p = put_block(&file, &entries, 0);
    file.text[p.at + p.size - 4] = 100;
    const uint32_t crc = masked_crc_of(file.text + p.at, p.size + 1);
    for (int i = 0; i < 4; i++)
        file.text[p.at + p.size + 1 + (size_t)i] = (char)(crc >> (8 * i));
    end_table(&file, &p, 1);
    ck_assert(!parse_table(&file, &out));
    assert_error("a block is shorter than it says");
}
END_TEST

/* An index that repeats an empty block costs time for each: refused. Long keys that share all but a byte, too. */
START_TEST(memory_and_time_are_bounded)
{
    struct strbuf entries = {.arena = &arena}, file = {.arena = &arena};
    table_entries out;
    char *const name = arena_array(&arena, char, 5001);
    memset(name, 'a', 5000);
    put_table_entry(&entries, 0, name, "", 0);
    struct block_place p = put_block(&file, &entries, 0);
    end_table(&file, &p, 1);
    ck_assert(!parse_table(&file, &out));
    assert_error("a key has 5000 bytes");
    struct strbuf many = {.arena = &arena}, other = {.arena = &arena};
    name[4000] = '\0';
    put_table_entry(&many, 0, name, "", 0);
    for (int i = 0; i < 20000; i++) { /* 6 bytes each; together 80 MB of keys */
        const char low[3] = {(char)(1 + i / 200), (char)(1 + i % 200), 0};
        put_table_entry(&many, 4000, low, "", 0);
    }
    p = put_block(&other, &many, 0);
    end_table(&other, &p, 1);
    ck_assert(!parse_table(&other, &out));
    assert_error("its keys are larger than those of an honest one");
    ck_assert(arena_bytes(&arena) < (size_t)64 << 20);
}
END_TEST

/* ---- bundles ----------------------------------------------------------------------------------------------------- */

static struct bundle_text new_bundle(void)
{
    return (struct bundle_text){.index.arena = &arena, .data.arena = &arena};
}

static bool read_bundle(const struct bundle_text *b, struct checkpoint *out)
{
    const struct strbuf index = bundle_index(b);
    const unsigned char *const bytes = arena_copy(&arena, index.text, index.length, 1),
                        *const data = arena_copy(&arena, strbuf_text(&b->data), b->data.length, 1);
    struct bundle parsed;
    diag = (struct diag){.arena = &arena};
    *out = (struct checkpoint){.path = "c", .steps = NAN};
    struct checkpoint_reader r = {.diag = &diag, .arena = &arena, .loc = LOC_FILE("c.index"), .to = out};
    return bundle_open(&diag, &arena, "c.index", bytes, index.length, false, &parsed) &&
           bundle_fill(&parsed, "c.data", 0, data, b->data.length) && checkpoint_add_bundle(&r, &parsed);
}

#define SIZES(...) ((const int64_t[]){__VA_ARGS__})
#define FLOATS(...) ((const float[]){__VA_ARGS__}), sizeof((const float[]){__VA_ARGS__}) / sizeof(float)

static const struct tensor *weight(const struct checkpoint *c, const char *name)
{
    vec_each_ptr(const struct named_tensor, t, &c->weights)
        if (str_equal(t->name, name))
            return t->tensor;
    return NULL;
}

/* What is kept of a weight under PyTorch's key; NULL: nothing. */
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

START_TEST(saver_has_names)
{
    struct bundle_text b = new_bundle();
    struct checkpoint c;
    put_bundle_floats(&b, "beta1_power", 0, NULL, FLOATS(0.5f));
    put_bundle_floats(&b, "d/Adam", 1, SIZES(2), FLOATS(9, 8)); /* of no "d" */
    put_bundle_int(&b, "global_step", 7);
    put_bundle_floats(&b, "k", 2, SIZES(2, 3), FLOATS(1, 2, 3, 4, 5, 6));
    put_bundle_floats(&b, "k/Adam", 2, SIZES(2, 3), FLOATS(2, 2, 3, 4, 5, 6));
    put_bundle_floats(&b, "k/Adam_1", 2, SIZES(2, 3), FLOATS(3, 2, 3, 4, 5, 6));
    put_bundle_floats(&b, "k/Momentum", 1, SIZES(6), FLOATS(1, 2, 3, 4, 5, 6)); /* of another shape */
    ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(c.weights.count, 3);
    ck_assert_double_eq(tensor_get_double(weight(&c, "k"), 5), 6);
    ck_assert_double_eq(tensor_get_double(kept(&c, "k", "exp_avg"), 0), 2);
    ck_assert_double_eq(tensor_get_double(kept(&c, "k", "exp_avg_sq"), 0), 3);
    ck_assert(weight(&c, "k/Momentum") && weight(&c, "d/Adam"));
    ck_assert_double_eq(c.steps, 7);
    ck_assert(c.has_optimizer && c.anonymous && c.channels_last);
    ck_assert(lists(&c.rest, "'beta1_power' (0.5)"));
}
END_TEST

/* Keras to 2.10, and what of it has the rate in it. */
START_TEST(slots_stand_below_their_variable)
{
    static const struct {
        float decay;
        bool rmsprop;
        double momentum; /* NAN: it is not taken */
    } cases[] = {{0, false, -16}, {0, true, 16}, {0.5f, false, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bundle_text b = new_bundle();
        struct checkpoint c;
        put_bundle_floats(&b, "m/k" VALUE, 1, SIZES(2), FLOATS(1, 2));
        put_bundle_floats(&b, "m/k/.OPTIMIZER_SLOT/m/opt/m" VALUE, 1, SIZES(2), FLOATS(3, 4));
        put_bundle_floats(&b, "m/k/.OPTIMIZER_SLOT/m/opt/momentum" VALUE, 1, SIZES(2), FLOATS(2, 4));
        put_bundle_floats(&b, "m/k/.OPTIMIZER_SLOT/m/opt/other" VALUE, 1, SIZES(2), FLOATS(2, 4));
        put_bundle_floats(&b, "m/opt/beta_1" VALUE, 0, NULL, FLOATS(0.75f));
        put_bundle_floats(&b, "m/opt/decay" VALUE, 0, NULL, (const float[]){cases[i].decay}, 1);
        put_bundle_int(&b, "m/opt/iter" VALUE, 12);
        put_bundle_floats(&b, "m/opt/learning_rate" VALUE, 0, NULL, FLOATS(0.125f));
        if (cases[i].rmsprop)
            put_bundle_floats(&b, "m/opt/rho" VALUE, 0, NULL, FLOATS(0.5f));
        ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
        ck_assert_uint_eq(c.weights.count, 1);
        ck_assert_uint_eq(c.parameters.count, 1);
        ck_assert_double_eq(c.parameters.data[0].steps, 12);
        ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "lr", 0), 0.125);
        ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "beta1", 0), 0.75);
        ck_assert_double_eq(tensor_get_double(kept(&c, "m/k", "exp_avg"), 1), 4);
        const struct tensor *const momentum = kept(&c, "m/k", "momentum_buffer");
        ck_assert(!momentum == isnan(cases[i].momentum));
        ck_assert(!momentum || tensor_get_double(momentum, 0) == cases[i].momentum);
        ck_assert(lists(&c.notes, "divided by it") == !!momentum);
        ck_assert(lists(&c.rest, "momentum' (float[2], which has the learning rate in it") == !momentum);
        ck_assert(lists(&c.rest, "opt/other' (float[2])"));
        ck_assert(lists(&c.rest, "decay") == (cases[i].decay != 0));
    }
}
END_TEST

/* Keras since 2.11: lists, told apart by the graph; whose each is says a list of what is trained, or its name. */
static void put_lists(struct bundle_text *b, const char *optimizer, bool trained, bool both)
{
    struct strbuf graph = {.arena = &arena};
    put_object(&graph, NULL, "", "optimizer", 1, NULL);
    if (trained)
        put_object(&graph, NULL, "", "_iterations", 2, "_momentums", both ? 3 : 4, "_velocities", 5,
                   "_trainable_variables", 9, NULL);
    else
        put_object(&graph, NULL, "", "_iterations", 2, "_momentums", both ? 3 : 4, "_velocities", 5, NULL);
    put_object(&graph, "optimizer/_iterations" VALUE, "iteration", NULL);
    put_object(&graph, NULL, "", "0", 6, NULL);
    put_object(&graph, NULL, "", NULL);
    put_object(&graph, NULL, "", "0", 7, NULL);
    put_object(&graph, "optimizer/_variables/1" VALUE, arena_printf(&arena, "%s/m/dense/kernel", optimizer), NULL);
    put_object(&graph, "optimizer/_variables/2" VALUE, arena_printf(&arena, "%s/v/dense/kernel", optimizer), NULL);
    put_object(&graph, "a/kernel" VALUE, "dense/kernel", NULL);
    put_object(&graph, NULL, "", "0", 10, NULL);
    put_object(&graph, "b/kernel" VALUE, "dense_1/kernel", NULL);
    put_bundle_string(b, "_CHECKPOINTABLE_OBJECT_GRAPH", graph.text, graph.length);
    put_bundle_floats(b, "a/kernel" VALUE, 1, SIZES(2), FLOATS(1, 2));
    put_bundle_floats(b, "b/kernel" VALUE, 1, SIZES(2), FLOATS(1, 2));
    put_bundle_int(b, "optimizer/_iterations" VALUE, 3);
    put_bundle_floats(b, "optimizer/_learning_rate" VALUE, 0, NULL, FLOATS(0.5f));
    put_bundle_floats(b, "optimizer/_variables/1" VALUE, 1, SIZES(2), FLOATS(3, 4));
    put_bundle_floats(b, "optimizer/_variables/2" VALUE, 1, SIZES(2), FLOATS(5, 6));
}

START_TEST(lists_are_told_apart_by_the_graph)
{
    static const struct {
        const char *optimizer;
        bool trained, both;
        const char *weight, *first, *second;
        double value; /* of the first */
    } cases[] = {{"Adam", false, true, "a/kernel", "exp_avg", "exp_avg_sq", 3},
                 {"adam", true, true, "b/kernel", "exp_avg", "exp_avg_sq", 3},
                 {"RMSprop", false, true, "a/kernel", "momentum_buffer", "square_avg", 6},
                 {"x", false, false, "a/kernel", "", "square_avg", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bundle_text b = new_bundle();
        struct checkpoint c;
        put_lists(&b, cases[i].optimizer, cases[i].trained, cases[i].both);
        ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
        ck_assert_uint_eq(c.parameters.count, 1);
        ck_assert_str_eq(c.parameters.data[0].name, cases[i].weight);
        const struct tensor *const first = kept(&c, cases[i].weight, cases[i].first);
        ck_assert(!first == !cases[i].both);
        ck_assert(!first || tensor_get_double(first, 0) == cases[i].value);
        ck_assert_double_eq(tensor_get_double(kept(&c, cases[i].weight, cases[i].second), 1), 6);
        ck_assert_double_eq(c.steps, 3);
        ck_assert_uint_eq(c.other_names.count, 2);
        ck_assert_str_eq(c.other_names.data[1], "dense_1/kernel");
    }
}
END_TEST

/* SGD without momentum: the rate is for all. */
START_TEST(an_optimizer_may_keep_nothing)
{
    struct bundle_text b = new_bundle();
    struct checkpoint c;
    put_bundle_floats(&b, "k" VALUE, 1, SIZES(2), FLOATS(1, 2));
    put_bundle_int(&b, "o/iter" VALUE, 12);
    put_bundle_floats(&b, "o/learning_rate" VALUE, 0, NULL, FLOATS(0.125f));
    put_bundle_int(&b, "save_counter" VALUE, 2);
    ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(c.parameters.count, 1);
    ck_assert_str_eq(c.parameters.data[0].name, "k");
    ck_assert_double_eq(c.steps, 12);
    ck_assert_uint_eq(c.rest.count, 1);
    ck_assert_str_eq(c.rest.data[0], "'save_counter' (2)");
}
END_TEST

static const struct {
    const char *what;
    int type, rank;
    int64_t sizes[3];
    uint64_t shard, offset, size;
    const char *error;
} bad_tensors[] = {
    {"as it should be", TF_FLOAT, 1, {2}, 0, 0, 8, NULL},
    {"nothing", TF_FLOAT, 2, {0, 5}, 0, 8, 0, NULL},
    {"of another size", TF_FLOAT, 1, {3}, 0, 0, 8, "does not fit its 8 bytes"},
    {"of another size", TF_FLOAT, 1, {1}, 0, 0, 8, "does not fit its 8 bytes"},
    {"a negative size", TF_FLOAT, 1, {-2}, 0, 0, 8, "its shape is damaged"},
    {"too large", TF_FLOAT, 3, {1 << 30, 1 << 30, 1 << 30}, 0, 0, 8, "is too large"},
    {"behind the file", TF_FLOAT, 1, {2}, 0, 1, 8, "ends behind the 8 bytes of the file"},
    {"behind the file", TF_FLOAT, 1, {2}, 0, UINT64_MAX - 3, 8, "ends behind the 8 bytes of the file"},
    {"behind the file", TF_FLOAT, 1, {2}, 0, 0, UINT64_MAX, "ends behind the 8 bytes of the file"},
    {"behind the last data file", TF_FLOAT, 1, {2}, 1, 0, 8, "lies in a data file behind the last one"},
    {"behind the last data file", TF_FLOAT, 1, {2}, UINT64_MAX, 0, 8, "lies in a data file behind the last one"},
    {"a text that is none", TF_STRING, 0, {0}, 0, 0, 8, "does not fit its 8 bytes"},
    {"a type of no use", TF_VARIANT, 0, {0}, 0, 0, UINT64_MAX, NULL},
    {"a type that there is not", 1000, 0, {0}, 0, 0, UINT64_MAX, NULL},
};

START_TEST(bad_tensors_are_refused)
{
    struct bundle_text b = new_bundle();
    struct checkpoint c;
    const uint64_t size = bad_tensors[_i].size;
    put_number(&b.data, 0x40000000, 4);
    put_number(&b.data, 0x3f800000, 4);
    put_bundle_entry(&b, "w", bad_tensors[_i].type, bad_tensors[_i].rank, bad_tensors[_i].sizes, bad_tensors[_i].shard,
                     bad_tensors[_i].offset, size, masked_crc_of(b.data.text, size <= 8 ? (size_t)size : 0));
    ck_assert_msg(read_bundle(&b, &c) == !bad_tensors[_i].error, "%s: %s", bad_tensors[_i].what,
                  diag_first_error(&diag));
    if (bad_tensors[_i].error)
        assert_error(bad_tensors[_i].error);
    else if (bad_tensors[_i].type != TF_FLOAT)
        ck_assert(c.rest.count == 1 && strstr(c.rest.data[0], "'w' ("));
}
END_TEST

START_TEST(tensors_share_no_bytes)
{
    struct bundle_text b = new_bundle();
    struct checkpoint c;
    put_number(&b.data, 0x4000000040000000, 8);
    const uint32_t crc = masked_crc_of(b.data.text, 8);
    put_bundle_entry(&b, "a", TF_FLOAT, 1, SIZES(2), 0, 0, 8, crc);
    put_bundle_entry(&b, "b", TF_FLOAT, 1, SIZES(2), 0, 0, 8, crc);
    ck_assert(!read_bundle(&b, &c));
    assert_error("some share their bytes");
}
END_TEST

START_TEST(checksums_of_tensors_are_compared)
{
    struct checkpoint c;
    for (int of_text = 0; of_text < 2; of_text++) {
        struct bundle_text b = new_bundle();
        put_bundle_floats(&b, "a", 1, SIZES(2), FLOATS(1, 2));
        put_bundle_string(&b, "b", "abc", 3);
        ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
        b.data.text[of_text ? 8 + 6 : 3] ^= 1;
        ck_assert(!read_bundle(&b, &c));
        assert_error(of_text ? "tensor 'b' has another checksum" : "tensor 'a' has another checksum");
    }
}
END_TEST

START_TEST(headers_are_checked)
{
    static const struct {
        const char *header;
        size_t size;
        const char *error;
    } cases[] = {
#define HEADER(bytes, error) {bytes, sizeof(bytes) - 1, error}
        HEADER("\x08\x01", NULL),
        HEADER("", "it says that it has 0 data files"),
        HEADER("\x08\xff\xff\xff\xff\x0f", "it says that it has 4294967295 data files"),
        HEADER("\x08\x01\x10\x01", "stores high bytes first"),
        HEADER("\x08\x01\x1a\x02\x10\x02", "in version 2 of its format"),
        HEADER("\x08\x01\x1a\x05\x10\x01", "the header of the index is damaged"),
        HEADER("\x08\x01\x0b", "the header of the index is damaged"),
#undef HEADER
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf entries = {.arena = &arena}, file = {.arena = &arena};
        struct bundle b;
        put_table_entry(&entries, 0, "", cases[i].header, cases[i].size);
        const struct block_place block = put_block(&file, &entries, 0);
        end_table(&file, &block, 1);
        diag = (struct diag){.arena = &arena};
        ck_assert_msg(bundle_open(&diag, &arena, "c.index", (const unsigned char *)file.text, file.length, false, &b) ==
                          !cases[i].error,
                      "case %zu", i);
        if (cases[i].error)
            assert_error(cases[i].error);
    }
    struct strbuf entries = {.arena = &arena}, file = {.arena = &arena};
    struct bundle b;
    put_table_entry(&entries, 0, "w", "\x08\x01", 2);
    const struct block_place block = put_block(&file, &entries, 0);
    end_table(&file, &block, 1);
    diag = (struct diag){.arena = &arena};
    ck_assert(!bundle_open(&diag, &arena, "c.index", (const unsigned char *)file.text, file.length, false, &b));
    assert_error("its first key is no header");
}
END_TEST

START_TEST(slices_are_refused)
{
    struct bundle_text b = new_bundle();
    struct checkpoint c;
    put_table_entry(&b.index, 0, "embedding", "\x08\x01\x3a\x00", 4);
    ck_assert(!read_bundle(&b, &c));
    assert_error("tensor 'embedding' is stored in slices");
}
END_TEST

/* A loop of training counts, too, and has the network below it. */
START_TEST(what_counts_may_hold_the_network)
{
    for (int rate = 0; rate < 2; rate++) { /* which may be the loop's own variable */
        struct bundle_text b = new_bundle();
        struct checkpoint c;
        put_bundle_int(&b, "t/iterations" VALUE, 3);
        if (rate)
            put_bundle_floats(&b, "t/learning_rate" VALUE, 0, NULL, FLOATS(0.25f));
        put_bundle_floats(&b, "t/net/_layers/0/b" VALUE, 1, SIZES(2), FLOATS(5, 6));
        put_bundle_floats(&b, "t/net/w" VALUE, 1, SIZES(2), FLOATS(1, 2));
        put_bundle_floats(&b, "t/net/w/.OPTIMIZER_SLOT/t/optimizer/m" VALUE, 1, SIZES(2), FLOATS(3, 4));
        put_bundle_floats(&b, "t/net/w/.OPTIMIZER_SLOT/t/optimizer/v" VALUE, 1, SIZES(2), FLOATS(3, 4));
        put_bundle_int(&b, "t/optimizer/iter" VALUE, 12);
        put_bundle_floats(&b, "t/s" VALUE, 0, NULL, FLOATS(7));
        put_bundle_floats(&b, "t/s/.OPTIMIZER_SLOT/t/optimizer/m" VALUE, 0, NULL, FLOATS(7));
        ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
        ck_assert_uint_eq(c.weights.count, 3);
        ck_assert(weight(&c, "t/net/w") && weight(&c, "t/net/_layers/0/b") && weight(&c, "t/s"));
        ck_assert_double_eq(tensor_get_double(kept(&c, "t/net/w", "exp_avg"), 1), 4);
        ck_assert_double_eq(c.steps, 12);
        ck_assert_uint_eq(c.groups.count, rate ? 2 : 1);
        ck_assert(lists(&c.rest, "'t/iterations' (3)") == !rate);
    }
}
END_TEST

/* Lists show one, by their names or as the graph has them; a count alone shows none. */
START_TEST(optimizers_show_themselves)
{
    static const struct {
        const char *list; /* of the object, NULL: none */
        const char *kept; /* beside the count */
        bool is_one;
    } cases[] = {{NULL, "o/_variables/1", true}, {"_variables", "o/x/1", true}, {NULL, "o/x/1", false},
                 {"_layers", "o/x/1", false},    {NULL, "o/decay", true},       {NULL, "o/w", false},
                 {NULL, "o/_variables/w", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bundle_text b = new_bundle();
        struct strbuf graph = {.arena = &arena};
        struct checkpoint c;
        if (cases[i].list)
            put_object(&graph, NULL, "", cases[i].list, 2, "iterations", 1, NULL);
        else
            put_object(&graph, NULL, "", "iterations", 1, NULL);
        put_object(&graph, "o/iterations" VALUE, "", NULL);
        put_object(&graph, NULL, "", "0", 3, NULL);
        put_object(&graph, "o/x/1" VALUE, "", NULL);
        put_bundle_string(&b, "_CHECKPOINTABLE_OBJECT_GRAPH", graph.text, graph.length);
        put_bundle_floats(&b, "k" VALUE, 1, SIZES(2), FLOATS(1, 2));
        const bool first = strcmp(cases[i].kept, "o/iterations") < 0; /* keys ascend */
        if (!first)
            put_bundle_int(&b, "o/iterations" VALUE, 12);
        put_bundle_floats(&b, arena_printf(&arena, "%s%s", cases[i].kept, VALUE), 0, NULL, FLOATS(3));
        if (first)
            put_bundle_int(&b, "o/iterations" VALUE, 12);
        ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
        ck_assert_msg(c.has_optimizer == cases[i].is_one, "case %zu", i);
    }
}
END_TEST

/* ---- the graph of objects ---------------------------------------------------------------------------------------- */

START_TEST(graphs_of_lies_are_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
#define GRAPH(bytes) {bytes, sizeof(bytes) - 1}
        GRAPH("\x0a\x04\x0a\x02\x08\x01"),                 /* a child behind the last object */
        GRAPH("\x0a\x08\x0a\x06\x08\xff\xff\xff\xff\x0f"), /* far behind */
        GRAPH("\x0a\x05\x0a\x02"),                         /* longer than it is */
        GRAPH("\x0a\x05\x0a\x03\x12\x01\0"),               /* a NUL in a name */
        GRAPH("\x0b"),                                     /* a group */
#undef GRAPH
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bundle_text b = new_bundle();
        struct checkpoint c;
        put_bundle_string(&b, "_CHECKPOINTABLE_OBJECT_GRAPH", cases[i].bytes, cases[i].size);
        ck_assert_msg(!read_bundle(&b, &c), "case %zu", i);
        assert_error("what it says of its objects is damaged");
    }
}
END_TEST

START_TEST(optimizers_are_bounded)
{
    struct bundle_text b = new_bundle();
    struct checkpoint c;
    for (int i = 0; i < 65; i++) {
        put_bundle_int(&b, arena_printf(&arena, "o%02d/iter" VALUE, i), 1);
        put_bundle_floats(&b, arena_printf(&arena, "o%02d/learning_rate" VALUE, i), 0, NULL, FLOATS(1));
    }
    ck_assert(!read_bundle(&b, &c));
    assert_error("it has more than 64 optimizers");
}
END_TEST

/* Many objects have one child, whose name is long: it is not copied for each. */
START_TEST(objects_share_a_name)
{
    enum { LONG = 3500, MANY = 10000 };
    struct bundle_text b = new_bundle();
    struct strbuf graph = {.arena = &arena};
    struct checkpoint c;
    char *const name = arena_array(&arena, char, LONG + 1);
    memset(name, 'a', LONG);
    name[LONG] = '\0';
    const char *const counter = arena_printf(&arena, "%s/_iterations" VALUE, name);
    put_object(&graph, counter, "", NULL);
    for (int i = 0; i < MANY; i++)
        put_object(&graph, NULL, "", "_iterations", 0, NULL);
    put_bundle_string(&b, "_CHECKPOINTABLE_OBJECT_GRAPH", graph.text, graph.length);
    put_bundle_int(&b, counter, 1);
    put_bundle_floats(&b, "k" VALUE, 1, SIZES(2), FLOATS(1, 2));
    const size_t before = arena_bytes(&arena);
    ck_assert_msg(read_bundle(&b, &c), "%s", diag_first_error(&diag));
    ck_assert(arena_bytes(&arena) - before < (size_t)16 << 20);
}
END_TEST

START_TEST(names_are_distinct)
{
    struct bundle_text b = new_bundle();
    struct checkpoint c;
    put_bundle_floats(&b, "k", 1, SIZES(2), FLOATS(1, 2));
    put_bundle_floats(&b, "k" VALUE, 1, SIZES(2), FLOATS(1, 2));
    ck_assert(!read_bundle(&b, &c));
    assert_error("two of its tensors are called 'k'");
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("tensorflow");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, checksums_are_crc32c);
    tcase_add_test(tests, numbers_of_seven_bits);
    tcase_add_test(tests, keys_share_what_they_begin_with);
    tcase_add_loop_test(tests, bad_keys_are_refused, 0, sizeof bad_keys / sizeof *bad_keys);
    tcase_add_loop_test(tests, bad_entries_are_refused, 0, sizeof bad_entries / sizeof *bad_entries);
    tcase_add_test(tests, bad_blocks_are_refused);
    tcase_add_test(tests, memory_and_time_are_bounded);
    tcase_add_test(tests, saver_has_names);
    tcase_add_test(tests, slots_stand_below_their_variable);
    tcase_add_test(tests, lists_are_told_apart_by_the_graph);
    tcase_add_test(tests, an_optimizer_may_keep_nothing);
    tcase_add_loop_test(tests, bad_tensors_are_refused, 0, sizeof bad_tensors / sizeof *bad_tensors);
    tcase_add_test(tests, tensors_share_no_bytes);
    tcase_add_test(tests, checksums_of_tensors_are_compared);
    tcase_add_test(tests, headers_are_checked);
    tcase_add_test(tests, slices_are_refused);
    tcase_add_test(tests, graphs_of_lies_are_refused);
    tcase_add_test(tests, what_counts_may_hold_the_network);
    tcase_add_test(tests, optimizers_show_themselves);
    tcase_add_test(tests, optimizers_are_bounded);
    tcase_add_test(tests, objects_share_a_name);
    tcase_add_test(tests, names_are_distinct);
    return run_tests("tensorflow", tests);
}
