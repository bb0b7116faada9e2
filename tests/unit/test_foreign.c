/* Checkpoints of frameworks: zip archives, pickles, and what is what in them. What is hostile gives an error and
 * nothing else. */
#include "archive.h"
#include "base/diag.h"
#include "fixture.h"
#include "foreign/checkpoint.h"
#include "foreign/torch_file.h"
#include "foreign/zip.h"
#include "suite.h"

#include <check.h>
#include <math.h>

#define FLOATS(...) ((const char *)(const float[]){__VA_ARGS__}), sizeof((const float[]){__VA_ARGS__})
#define INTS(...) ((const int64_t[]){__VA_ARGS__})

static bool parse_bytes(const char *path, const void *bytes, size_t size, struct checkpoint *out)
{
    unsigned char *const exact = arena_copy(&arena, bytes, size, 1); /* sanitizers see one byte more */
    diag = (struct diag){.arena = &arena};
    return checkpoint_parse(&diag, &arena, path, exact, size, out);
}

/* An archive of this pickle and storage '0'. */
static bool parse_pickle(const char *pickle, size_t size, const char *storage, size_t storage_size,
                         struct checkpoint *out)
{
    struct strbuf file = {.arena = &arena};
    struct entry_text entries[] = {{.name = "a/data.pkl", .bytes = pickle, .size = size},
                                   {.name = "a/data/0", .bytes = storage, .size = storage_size}};
    put_archive(&file, entries, 2, false);
    return parse_bytes("a.pt", file.text, file.length, out);
}

static bool has_error(const char *text)
{
    const char *const first = diag_first_error(&diag);
    return first && strstr(first, text);
}

#define assert_error(text)                                                                                             \
    ck_assert_msg(has_error(text), "no '%s' in: %s", text, diag_first_error(&diag) ? diag_first_error(&diag) : "")

static const struct tensor *weight(const struct checkpoint *c, const char *name)
{
    vec_each_ptr(const struct named_tensor, t, &c->weights)
        if (str_equal(t->name, name))
            return t->tensor;
    return NULL;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* {'w': a tensor of six floats} */
static bool parse_tensor(int64_t elements, int64_t offset, int rank, const int64_t *sizes, const int64_t *strides,
                         struct checkpoint *out)
{
    struct strbuf p = {.arena = &arena};
    strbuf_add_n(&p, "\x80\x02}", 3);
    put_text_op(&p, "w");
    put_tensor_op(&p, "Float", "0", elements, offset, rank, sizes, strides);
    strbuf_add(&p, "s.");
    return parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), out);
}

START_TEST(tensors_are_read)
{
    struct checkpoint c;
    ck_assert(parse_tensor(6, 0, 2, INTS(2, 3), INTS(3, 1), &c));
    const struct tensor *t = weight(&c, "w");
    ck_assert(t && shape_equal(&t->shape, &SHAPE(2, 3)) && t->dtype == DTYPE_FLOAT);
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq(tensor_get_double(t, i), i + 1);
    ck_assert(parse_tensor(6, 0, 2, INTS(3, 2), INTS(1, 3), &c)); /* transposed */
    t = weight(&c, "w");
    ck_assert_double_eq(tensor_get_double(t, 1), 4);
    ck_assert_double_eq(tensor_get_double(t, 2), 2);
    ck_assert(parse_tensor(6, 2, 2, INTS(2, 2), INTS(2, 1), &c)); /* a view behind two elements */
    ck_assert_double_eq(tensor_get_double(weight(&c, "w"), 3), 6);
    ck_assert(parse_tensor(6, 5, 0, NULL, NULL, &c));
    ck_assert_double_eq(tensor_get_double(weight(&c, "w"), 0), 6);
    ck_assert(parse_tensor(6, 6, 1, INTS(0), INTS(1), &c));
    ck_assert_int_eq(weight(&c, "w")->count, 0);
}
END_TEST

static const struct {
    int64_t elements, offset;
    int rank;
    int64_t sizes[3], strides[3];
    const char *error;
} bad_tensors[] = {
    {6, 1, 2, {2, 3}, {3, 1}, "reaches beyond"},
    {6, 0, 2, {2, 3}, {4, 1}, "reaches beyond"},
    {6, -1, 1, {2}, {1}, "reaches beyond"},
    {6, 0, 1, {2}, {INT64_MAX}, "reaches beyond"},
    {6, 4, 2, {2, 2}, {INT64_MAX, INT64_MAX}, "reaches beyond"},
    {6, INT64_MAX, 1, {1}, {1}, "reaches beyond"},
    {6, 0, 1, {2}, {-1}, "size 2 and stride -1"},
    {6, 0, 1, {-2}, {1}, "size -2"},
    {6, 0, 1, {1000000}, {0}, "repeats the 6 elements"},
    {6, 0, 3, {1 << 30, 1 << 30, 1 << 30}, {0, 0, 0}, "is too large"},
    {5, 0, 1, {5}, {1}, "has 24 bytes, expected 5 elements of 4"},
    {INT64_MAX, 0, 1, {5}, {1}, "has 24 bytes"},
    {-6, 0, 1, {0}, {1}, "has -6 elements"},
};

START_TEST(bad_tensors_are_refused)
{
    struct checkpoint c;
    const int64_t *const sizes = bad_tensors[_i].sizes, *const strides = bad_tensors[_i].strides;
    ck_assert(
        !parse_tensor(bad_tensors[_i].elements, bad_tensors[_i].offset, bad_tensors[_i].rank, sizes, strides, &c));
    assert_error(bad_tensors[_i].error);
}
END_TEST

static const struct {
    const char *type;
    enum dtype dtype;
} storages[] = {
    {"Double", DTYPE_DOUBLE}, {"Half", DTYPE_FLOAT16},          {"BFloat16", DTYPE_BFLOAT16}, {"Long", DTYPE_INT64},
    {"Int", DTYPE_INT32},     {"Short", DTYPE_INT16},           {"Char", DTYPE_INT8},         {"Byte", DTYPE_UINT8},
    {"Bool", DTYPE_BOOL},     {"ComplexFloat", DTYPE_COMPLEX64}};

START_TEST(storages_have_types)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    const int64_t count = 24 / (int64_t)dtype_size(storages[_i].dtype);
    strbuf_add(&p, "}");
    put_text_op(&p, "w");
    put_tensor_op(&p, storages[_i].type, "0", count, 0, 1, &count, INTS(1));
    strbuf_add(&p, "s.");
    ck_assert(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    ck_assert_int_eq(weight(&c, "w")->dtype, storages[_i].dtype);
    ck_assert_int_eq(weight(&c, "w")->count, count);
}
END_TEST

/* A type that the tensor says, of a storage of bytes: _rebuild_tensor_v3; a parameter; a tensor with attributes. */
START_TEST(other_makers_of_tensors)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}");
    put_text_op(&p, "w");
    strbuf_add(&p, "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v3\nctorch\nTensor\n((");
    put_text_op(&p, "storage");
    strbuf_add(&p, "ctorch.storage\nUntypedStorage\n");
    put_text_op(&p, "0");
    put_text_op(&p, "cpu");
    put_int_op(&p, 24);
    strbuf_add_n(&p, "tQK\1", 4);
    put_list_of(&p, INTS(5), 1);
    put_list_of(&p, INTS(1), 1);
    strbuf_add_n(&p, "\x89Nctorch\nfloat32\nt}tRs", 22);
    const size_t before = p.length;
    strbuf_add(&p, ".");
    ck_assert(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    ck_assert_double_eq(tensor_get_double(weight(&c, "w"), 4), 6);
    p.length = before;
    put_text_op(&p, "q");
    strbuf_add(&p, "ctorch._utils\n_rebuild_parameter\n(");
    put_tensor_op(&p, "Float", "0", 6, 0, 1, INTS(6), INTS(1));
    strbuf_add_n(&p, "\x88NtRs.", 6);
    ck_assert_msg(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c), "%s", diag_first_error(&diag));
    ck_assert_double_eq(tensor_get_double(weight(&c, "q"), 4), 5);
}
END_TEST

/* However many views there are of a storage, memory is bounded by the file. */
START_TEST(views_are_bounded)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    char *const storage = arena_array(&arena, char, 40000);
    strbuf_add(&p, "}(");
    for (int i = 0; i < 40; i++) {
        put_text_op(&p, arena_printf(&arena, "w%d", i));
        put_tensor_op(&p, "Float", "0", 10000, 0, 1, INTS(10000), INTS(1));
    }
    strbuf_add(&p, "u.");
    ck_assert(!parse_pickle(p.text, p.length, storage, 40000, &c));
    assert_error("the tensors together are larger than 4 times the file");
}
END_TEST

/* ---- hostile pickles --------------------------------------------------------------------------------------------- */

#define PICKLE(bytes, error)                                                                                           \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1, error                                                                                \
    }

static const struct {
    const char *bytes;
    size_t size;
    const char *error;
} bad_pickles[] = {
    PICKLE("cos\nsystem\n(X\x09\0\0\0touch hittR.", "os.system is not among the globals that a checkpoint needs"),
    PICKLE("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.",
           "posix.system is not among the globals that a checkpoint needs"),
    PICKLE("c__builtin__\neval\n(X\1\0\0\0\x31tR.", "__builtin__.eval is not among the globals"),
    PICKLE("ctorch\nload\n.", "torch.load is not among the globals"),
    PICKLE("c__main__\nNet\n.", "__main__.Net is not among the globals"),
    PICKLE("(X\2\0\0\0lsios\nsystem\n.", "INST is not among the opcodes"),
    PICKLE("(ccollections\nOrderedDict\no.", "OBJ is not among the opcodes"),
    PICKLE("\x82\1.", "EXT1 is not among the opcodes"),
    PICKLE("Pa\n.", "PERSID is not among the opcodes"),
    PICKLE("\x92.", "NEWOBJ_EX is not among the opcodes"),
    PICKLE("ccollections\nOrderedDict\n(](NNtatR.", "a dict is made of a list"),
    PICKLE("ctorch\nTensor\n)R.", "torch.Tensor cannot be called"),
    PICKLE("K\1)R.", "1 cannot be called"),
    PICKLE("cbuiltins\ngetattr\n(cbuiltins\ndict\nX\6\0\0\0updatetR.", "an attribute of what is no object"),
    PICKLE("cbuiltins\ngetattr\n(ctorch.optim.adam\nAdam\n)\x81K\1tR.", "an attribute of what is no object"),
    PICKLE("cbuiltins\ngetattr\n(ctorch.optim.adam\nAdam\n)\x81tR.", "an attribute of what is no object"),
    PICKLE("cbuiltins\ngetattr\n(ctorch.optim.adam\nAdam\n)\x81X\4\0\0\0steptR)R.",
           "the method 'step' cannot be called"),
    PICKLE("ccollections\nOrderedDict\nNR.", "the arguments of a call are None"),
    PICKLE("ctorch._utils\n_rebuild_tensor_v2\n)R.", "is not made of storage"),
    PICKLE("ctorch._utils\n_rebuild_parameter\n(NtR.", "a parameter is made of what is no tensor"),
    PICKLE("ctorch._tensor\n_rebuild_from_type_v2\n(ccollections\nOrderedDict\nN)NtR.", "made of what is no tensor"),
    PICKLE("(X\7\0\0\0storageNX\1\0\0\0\x30NK\1tQ.", "stands in the place of a storage"),
    PICKLE("NQ.", "stands in the place of a storage"),
    PICKLE("X\xff\xff\xff\xff\x61.", "a length of 4294967295 goes beyond the pickle"),
    PICKLE("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "goes beyond the pickle"),
    PICKLE("\x8b\xff\xff\xff\x7f.", "goes beyond the pickle"),
    PICKLE("X\5\0\0\0ab.", "a length of 5 goes beyond the pickle"),
    PICKLE("\x8a\1\xff.", "-1 was saved"),
    PICKLE("\x95\xff\0\0\0\0\0\0\0.", "a frame goes beyond"),
    PICKLE("\x80\x06.", "protocol 6"),
    PICKLE("h\0.", "memo 0 is read, but not set"),
    PICKLE("Nq\5.", "memo 5 is set before memo 0"),
    PICKLE("Nr\xff\xff\xff\xff.", "memo 4294967295 is set"),
    PICKLE("Np-1\n.", "'-1' is no number of a memo"),
    PICKLE(".", "the stack is empty"),
    PICKLE("R.", "the stack is empty"),
    PICKLE("N(R.", "the stack is empty"), /* not below a mark */
    PICKLE("N(s.", "the stack is empty"),
    PICKLE("\x86.", "the stack is empty"),
    PICKLE("Nt.", "no mark"),
    PICKLE("Nu.", "no mark"),
    PICKLE("(t.", "a tuple of 0 was saved"), /* nothing was pushed before the mark */
    PICKLE("(1N.", "None was saved"),
    PICKLE("}(Nu.", "a key without a value"),
    PICKLE("(Nd.", "a key without a value"),
    PICKLE("NNa.", "elements are added to None"),
    PICKLE("N}b.", "attributes are set of None"),
    PICKLE("NN\x93.", "the name of a global is no text"),
    PICKLE("\xff.", "0xff is no opcode"),
    PICKLE("N", "the pickle has no end"),
    PICKLE("cos", "ends in the middle of a line"),
    PICKLE("G\0", "ends in the middle of a value"),
    PICKLE("N.", "None was saved, not a dict of tensors"),
    PICKLE("}.", "neither a tensor of weights nor the state of an optimizer"),
    PICKLE("}q\0X\5\0\0\0modelh\0s.", "neither a tensor"), /* a dict that contains itself */
    PICKLE("]q\0h\0a.", "a list of 1 was saved"),
};

START_TEST(hostile_pickles_are_refused)
{
    struct checkpoint c;
    ck_assert(!parse_pickle(bad_pickles[_i].bytes, bad_pickles[_i].size, "", 0, &c));
    assert_error(bad_pickles[_i].error);
}
END_TEST

/* A dict of tensors in which it is itself: the walk ends. */
START_TEST(dicts_may_contain_themselves)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}q");
    put_number(&p, 0, 1);
    put_text_op(&p, "w");
    put_tensor_op(&p, "Float", "0", 6, 0, 1, INTS(6), INTS(1));
    strbuf_add(&p, "s");
    put_text_op(&p, "again");
    strbuf_add_n(&p, "h\0s.", 4);
    ck_assert(!parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    assert_error("nested deeper than 16");
}
END_TEST

/* Ten dicts, each of which has the next one ten times: 10^10 tensors by names, a few in the file. */
START_TEST(shared_dicts_are_bounded)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}q");
    put_number(&p, 0, 1);
    put_text_op(&p, "w");
    put_tensor_op(&p, "Float", "0", 6, 0, 1, INTS(6), INTS(1));
    strbuf_add(&p, "s");
    for (int i = 1; i <= 10; i++) {
        strbuf_add(&p, "}q");
        put_number(&p, (uint64_t)i, 1);
        put_text_op(&p, "w");
        put_tensor_op(&p, "Float", "0", 6, 0, 1, INTS(6), INTS(1));
        strbuf_add(&p, "s");
        for (int k = 0; k < 10; k++) {
            put_text_op(&p, arena_printf(&arena, "k%d", k));
            strbuf_add(&p, "h");
            put_number(&p, (uint64_t)i - 1, 1);
            strbuf_add(&p, "s");
        }
    }
    strbuf_add(&p, ".");
    ck_assert(!parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    assert_error("contain each other too often");
}
END_TEST

/* ---- archives ---------------------------------------------------------------------------------------------------- */

static void put_state(struct strbuf *p)
{
    strbuf_add(p, "}(");
    put_text_op(p, "w");
    put_tensor_op(p, "Float", "0", 6, 0, 2, INTS(2, 3), INTS(3, 1));
    put_text_op(p, "b");
    put_tensor_op(p, "Float", "1", 2, 0, 1, INTS(2), INTS(1));
    strbuf_add(p, "u.");
}

static void put_file(struct strbuf *file, bool zip64)
{
    struct strbuf p = {.arena = &arena};
    put_state(&p);
    struct entry_text entries[] = {{.name = "net/data.pkl", .bytes = p.text, .size = p.length},
                                   {.name = "net/data/0", FLOATS(1, 2, 3, 4, 5, 6)},
                                   {.name = "net/data/1", FLOATS(7, 8)},
                                   {.name = "net/byteorder", .bytes = "little", .size = 6}};
    put_archive(file, entries, 4, zip64);
}

START_TEST(archives_with_and_without_zip64)
{
    struct checkpoint c;
    struct strbuf file = {.arena = &arena};
    put_file(&file, _i == 1);
    ck_assert_msg(parse_bytes("net.pt", file.text, file.length, &c), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(c.weights.count, 2);
    ck_assert_uint_eq(diag.warnings, 0);
    ck_assert_double_eq(tensor_get_double(weight(&c, "b"), 1), 8);
    ck_assert(c.ordered);
}
END_TEST

/* Cut off, and with each byte changed: an error, or another checkpoint; never more. */
START_TEST(damaged_archives_do_no_harm)
{
    struct checkpoint c;
    struct strbuf file = {.arena = &arena};
    put_file(&file, _i == 1);
    for (size_t n = 0; n < file.length; n++) {
        ck_assert(!parse_bytes("net.pt", file.text, n, &c));
        ck_assert(diag.errors > 0);
    }
    for (size_t n = 0; n < file.length; n++)
        for (int bit = 0; bit < 8; bit++) {
            file.text[n] = (char)(file.text[n] ^ 1 << bit);
            ck_assert(parse_bytes("net.pt", file.text, file.length, &c) == (diag.errors == 0));
            file.text[n] = (char)(file.text[n] ^ 1 << bit);
        }
}
END_TEST

START_TEST(entries_may_not_overlap)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena}, file = {.arena = &arena};
    put_state(&p);
    struct entry_text entries[] = {{.name = "net/data.pkl", .bytes = p.text, .size = p.length},
                                   {.name = "net/data/0", FLOATS(1, 2, 3, 4, 5, 6)},
                                   {.name = "net/data/0", FLOATS(7, 8)}};
    put_archive(&file, entries, 3, false);
    ck_assert(!parse_bytes("net.pt", file.text, file.length, &c));
    assert_error("it has two entries 'net/data/0'");
    const size_t begin_of_0 = entries[1].at;
    file = (struct strbuf){.arena = &arena};
    entries[1].size = 200; /* reaches over the next */
    entries[1].bytes = arena_array(&arena, char, 200);
    entries[2].name = "net/data/1";
    put_archive(&file, entries, 3, false);
    ck_assert(!parse_bytes("net.pt", file.text, file.length, &c));
    ck_assert_uint_eq(begin_of_0, entries[1].at);
    /* The directory of the same file, where entry 1 begins inside of entry 0: its bytes are a local header, too. */
    struct strbuf inner = {.arena = &arena};
    struct entry_text one = {.name = "net/data/1", FLOATS(7, 8)};
    put_archive(&inner, &one, 1, false);
    file = (struct strbuf){.arena = &arena};
    struct entry_text two[] = {
        {.name = "net/data.pkl", .bytes = inner.text, .size = inner.length},
        {.name = "net/data/1", FLOATS(7, 8), .moved = true, .at = 30 + strlen("net/data.pkl") + 5}};
    put_archive(&file, two, 2, false);
    ck_assert(!parse_bytes("net.pt", file.text, file.length, &c));
    assert_error("entries 'net/data.pkl' and 'net/data/1' overlap");
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    unsigned method;
    uint64_t unpacked;
    const char *error;
} packed_entries[] = {
    {"hello", 5, 0, 6, "is stored, but says that 5 bytes are 6"},
    {"hello", 5, 12, 0, "compressed by method 12"},
#ifdef STEPC_ZLIB
    {"\x01\x05\x00\xfa\xffhello", 10, 8, 1u << 22, "cannot unpack to 4194304 bytes from 10"},
    {"\x01\x05\x00\xfa\xffhello", 10, 8, 4, "does not unpack to its 4 bytes"},
    {"\x01\x05\x00\xfa\xffhello", 10, 8, 6, "does not unpack to its 6 bytes"},
    {"\x01\x05\x00\xfa\xffhell", 9, 8, 5, "does not unpack to its 5 bytes"},
    {"\x07\x05\x00\xfa\xffhello", 10, 8, 5, "does not unpack to its 5 bytes"},
#endif
};

START_TEST(entries_end_before_the_directory)
{
    struct zip z;
    struct strbuf file = {.arena = &arena};
    struct entry_text e = {.name = "a", .bytes = "hello", .size = 5, .more = 1};
    put_archive(&file, &e, 1, false);
    ck_assert(!zip_open(&diag, &arena, "a.zip", (const unsigned char *)file.text, file.length, &z));
    assert_error("entry 'a' ends behind the file");
}
END_TEST

START_TEST(entries_say_what_they_are)
{
    struct zip z;
    const unsigned char *bytes;
    struct strbuf file = {.arena = &arena};
    struct entry_text e = {.name = "a",
                           .bytes = packed_entries[_i].bytes,
                           .size = packed_entries[_i].size,
                           .method = packed_entries[_i].method,
                           .unpacked = packed_entries[_i].unpacked};
    put_archive(&file, &e, 1, false);
    ck_assert(zip_open(&diag, &arena, "a.zip", (const unsigned char *)file.text, file.length, &z));
    ck_assert(!zip_read(&z, zip_find(&z, "a"), &bytes));
    assert_error(packed_entries[_i].error);
}
END_TEST

START_TEST(entries_are_unpacked)
{
    struct zip z;
    const unsigned char *bytes = NULL;
    struct strbuf file = {.arena = &arena};
    struct entry_text e = {.name = "a",
                           .bytes = "\x01\x05\x00\xfa\xffhello",
                           .size = 10,
                           .method = 8,
                           .unpacked = 5,
                           .crc = crc_of("hello", 5)};
    put_archive(&file, &e, 1, false);
    ck_assert(zip_open(&diag, &arena, "a.zip", (const unsigned char *)file.text, file.length, &z));
#ifdef STEPC_ZLIB
    ck_assert(zip_read(&z, zip_find(&z, "a"), &bytes));
    ck_assert_mem_eq(bytes, "hello", 5);
    ck_assert_uint_eq(diag.warnings, 0);
#else
    ck_assert(!zip_read(&z, zip_find(&z, "a"), &bytes));
    assert_error("built without zlib");
#endif
}
END_TEST

START_TEST(checksums_are_compared)
{
    struct zip z;
    const unsigned char *bytes;
    struct strbuf file = {.arena = &arena};
    struct entry_text e = {.name = "a", .bytes = "hello", .size = 5, .crc = 1};
    put_archive(&file, &e, 1, false);
    ck_assert(zip_open(&diag, &arena, "a.zip", (const unsigned char *)file.text, file.length, &z));
    ck_assert(zip_read(&z, zip_find(&z, "a"), &bytes) && zip_read(&z, zip_find(&z, "a"), &bytes));
    ck_assert_uint_eq(diag.warnings, 1);
}
END_TEST

START_TEST(files_of_another_kind)
{
    struct checkpoint c;
    struct strbuf file = {.arena = &arena};
    struct entry_text program[] = {{.name = "m/data.pkl", .bytes = "N.", .size = 2},
                                   {.name = "m/constants.pkl", .bytes = "N.", .size = 2}};
    ck_assert(!parse_bytes("a.pt", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15, &c));
    assert_error("before PyTorch 1.6");
    ck_assert(!parse_bytes("a.pt", "hello", 5, &c));
    assert_error("it is no zip archive");
    put_archive(&file, program, 1, false);
    ck_assert(!parse_bytes("a.npz", file.text, file.length, &c));
    assert_error("is no array of NumPy");
    file = (struct strbuf){.arena = &arena};
    put_archive(&file, program, 2, false);
    ck_assert(!parse_bytes("a.pt", file.text, file.length, &c));
    assert_error("a TorchScript program");
    file = (struct strbuf){.arena = &arena};
    put_archive(&file, program + 1, 1, false);
    ck_assert(!parse_bytes("a.pt", file.text, file.length, &c));
    assert_error("none of torch.save");
}
END_TEST

/* ---- what is what ------------------------------------------------------------------------------------------------ */

static void put_floats(struct strbuf *p, const char *key)
{
    put_text_op(p, key);
    put_tensor_op(p, "Float", "0", 6, 0, 1, INTS(6), INTS(1));
}

/* {'state': {ID: {'step': 7, 'exp_avg': tensor}}, 'param_groups': [{'lr': .5, 'betas': (.9, .99), 'params': [0]}]} */
static void put_optimizer(struct strbuf *p, int64_t id)
{
    strbuf_add(p, "}(");
    put_text_op(p, "state");
    strbuf_add(p, "}");
    put_int_op(p, id);
    strbuf_add(p, "}(");
    put_text_op(p, "step");
    put_int_op(p, 7);
    put_floats(p, "exp_avg");
    strbuf_add(p, "us");
    put_text_op(p, "param_groups");
    strbuf_add(p, "]}(");
    put_text_op(p, "lr");
    put_float_op(p, 0.5);
    put_text_op(p, "amsgrad");
    strbuf_add(p, "\x89");
    put_text_op(p, "betas");
    put_float_op(p, 0.9);
    put_float_op(p, 0.99);
    strbuf_add(p, "\x86");
    put_text_op(p, "params");
    strbuf_add(p, "]");
    put_int_op(p, 0);
    strbuf_add(p, "auau");
}

START_TEST(optimizers_are_found)
{
    static const char *const keys[] = {"optimizer", "optimizer_state_dict", "anything"};
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}(");
    put_text_op(&p, _i == 2 ? "my net" : "model");
    strbuf_add(&p, "}(");
    put_floats(&p, "fc.weight");
    strbuf_add(&p, "u");
    put_text_op(&p, keys[_i]);
    put_optimizer(&p, 0);
    put_text_op(&p, "epoch");
    put_int_op(&p, 3);
    put_text_op(&p, "global_step");
    put_int_op(&p, 11);
    strbuf_add(&p, "u.");
    ck_assert_msg(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c), "%s", diag_first_error(&diag));
    ck_assert_ptr_nonnull(weight(&c, "fc.weight"));
    ck_assert(c.has_optimizer && !c.has_schedule);
    ck_assert_uint_eq(c.parameters.count, 1);
    ck_assert_double_eq(c.parameters.data[0].steps, 7);
    ck_assert_str_eq(c.parameters.data[0].state.data[0].name, "exp_avg");
    ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "lr", NAN), 0.5);
    ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "beta2", NAN), 0.99);
    ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "amsgrad", NAN), 0);
    ck_assert_double_eq(c.steps, 11);
    ck_assert_uint_eq(c.rest.count, 1);
    ck_assert_str_eq(c.rest.data[0], "'epoch' (3)");
}
END_TEST

/* What --save writes to .safetensors: the step count is a number, and so is the moment of a parameter of one
 * element. */
START_TEST(steps_and_moments_of_one_element)
{
    static const char head[] =
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"optimizer.state.w.exp_avg\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
        "\"optimizer.state.w.step\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]},"
        "\"optimizer.param_groups.w.lr\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]}}";
    static const float values[] = {1.5F, 0.25F, 7, 0.125F};
    struct checkpoint c;
    struct strbuf file = {.arena = &arena};
    const unsigned char length[8] = {(sizeof head - 1) & 255, (sizeof head - 1) >> 8};
    strbuf_add_n(&file, (const char *)length, sizeof length);
    strbuf_add(&file, head);
    strbuf_add_n(&file, (const char *)values, sizeof values);
    ck_assert_msg(parse_bytes("a.safetensors", file.text, file.length, &c), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(c.parameters.count, 1);
    ck_assert_double_eq(c.parameters.data[0].steps, 7);
    ck_assert_uint_eq(c.parameters.data[0].state.count, 1);
    ck_assert_str_eq(c.parameters.data[0].state.data[0].name, "exp_avg");
    ck_assert_double_eq(tensor_get_double(c.parameters.data[0].state.data[0].tensor, 0), 0.25);
    ck_assert_double_eq(checkpoint_number(&c.groups.data[0].numbers, "lr", NAN), 0.125);
}
END_TEST

START_TEST(optimizers_list_what_they_keep)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    put_optimizer(&p, 1);
    strbuf_add(&p, ".");
    ck_assert(!parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    assert_error("for parameter '1', which no group lists");
}
END_TEST

static const char *long_name(void)
{
    struct strbuf text = {.arena = &arena};
    for (int i = 0; i < 600; i++)
        strbuf_add(&text, "n");
    return strbuf_text(&text);
}

/* {'mine': {'w': ...}}: w. Another key beside it, or a very long one, is no name to leave out. */
START_TEST(an_only_key_is_left_out)
{
    static const char *const names[] = {"w", "mine.w", "?.w", "?.w"};
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}(");
    for (int i = 0; i < (_i == 1 ? 2 : 1); i++) {
        if (i == 1 || _i == 3)
            put_int_op(&p, 3);
        else
            put_text_op(&p, _i == 2 ? long_name() : "mine");
        strbuf_add(&p, "}(");
        put_floats(&p, "w");
        strbuf_add(&p, "u");
    }
    strbuf_add(&p, "u.");
    ck_assert_msg(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c), "%s", diag_first_error(&diag));
    ck_assert_str_eq(c.weights.data[0].name, names[_i]);
    for (size_t i = 0; i < c.aliases.count; i++)
        ck_assert_str_eq(c.aliases.data[i], "?.w");
}
END_TEST

/* One group of 200 numbers, which the list has 10,000 times. */
START_TEST(groups_are_bounded)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}(");
    put_text_op(&p, "state");
    strbuf_add(&p, "}");
    put_text_op(&p, "param_groups");
    strbuf_add(&p, "](}(");
    put_text_op(&p, "params");
    strbuf_add(&p, "]");
    for (int i = 0; i < 200; i++) {
        put_text_op(&p, arena_printf(&arena, "k%d", i));
        put_int_op(&p, i);
    }
    strbuf_add_n(&p, "uq\0", 3);
    for (int i = 0; i < 10000; i++)
        strbuf_add_n(&p, "h\0", 2);
    strbuf_add(&p, "eu.");
    ck_assert(!parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    assert_error("contain each other too often");
}
END_TEST

/* Weights alone; tied ones; dicts of dicts. */
START_TEST(weights_are_found)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "ccollections\nOrderedDict\n)R(");
    put_floats(&p, "a");
    put_floats(&p, "b");
    strbuf_add(&p, "u}");
    put_text_op(&p, "_metadata");
    strbuf_add(&p, "}sb.");
    ck_assert_msg(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(c.weights.count, 2);
    ck_assert_uint_eq(c.aliases.count, 1);
    ck_assert_str_eq(c.aliases.data[0], "b");
    p.length = 0;
    strbuf_add(&p, "}(");
    for (int i = 0; i < 2; i++) {
        put_text_op(&p, i == 0 ? "encoder" : "decoder");
        strbuf_add(&p, "}(");
        put_floats(&p, "w");
        strbuf_add(&p, "u");
    }
    strbuf_add(&p, "u.");
    ck_assert(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    ck_assert(weight(&c, "encoder.w") && weight(&c, "decoder.w"));
}
END_TEST

/* A square matrix and its transpose have one storage, but are two. */
START_TEST(other_strides_are_another_weight)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}(");
    put_text_op(&p, "a");
    put_tensor_op(&p, "Float", "0", 6, 0, 2, INTS(2, 2), INTS(2, 1));
    put_text_op(&p, "b");
    put_tensor_op(&p, "Float", "0", 6, 0, 2, INTS(2, 2), INTS(1, 2));
    put_text_op(&p, "c");
    put_tensor_op(&p, "Float", "0", 6, 0, 2, INTS(2, 2), INTS(2, 1));
    strbuf_add(&p, "u.");
    ck_assert(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c));
    ck_assert_uint_eq(c.aliases.count, 1);
    ck_assert_str_eq(c.aliases.data[0], "c");
}
END_TEST

/* What people save beside: paths, dates, numbers of other kinds. Objects, of which nothing is looked at. */
static const struct {
    const char *bytes;
    size_t size;
} beside[] = {
#define BESIDE(bytes) {bytes, sizeof(bytes) - 1}
    BESIDE("cpathlib\nPosixPath\n(X\1\0\0\0/X\4\0\0\0runstR"),
    BESIDE("cpathlib._local\nPosixPath\n(X\4\0\0\0runstR"),
    BESIDE("cdatetime\ndatetime\n(c_codecs\nencode\n(X\2\0\0\0\x07\x65X\6\0\0\0latin1tRtR"),
    BESIDE("cdatetime\ntimedelta\n(K\1K\2K\3tR"),
    BESIDE("cuuid\nUUID\n)\x81}X\3\0\0\0intK\5sb"),
    BESIDE("cdecimal\nDecimal\n(X\3\0\0\0"
           "1.5tR"),
    BESIDE("ccollections\ndeque\n(]K\x0atR(K\1K\2e"),
    BESIDE("ctypes\nSimpleNamespace\n)R}X\1\0\0\0aK\1sb"),
    BESIDE("c__builtin__\nxrange\n(K\0K\4K\1tR"),
    BESIDE("ctorch.optim.lr_scheduler\nStepLR\n)\x81}X\1\0\0\0aK\1sb"),
    BESIDE("ctorch.optim.sgd\nSGD\n)\x81}X\1\0\0\0aK\1sb"),
    BESIDE("c__builtin__\ngetattr\n(ctorch.optim.swa_utils\nSWALR\nX\6\0\0\0anneal"
           "tR0cdatetime\ndate\n)R"),
#undef BESIDE
};

START_TEST(what_is_beside_is_passed_over)
{
    struct checkpoint c;
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}(");
    put_floats(&p, "w");
    put_text_op(&p, "beside");
    strbuf_add_n(&p, beside[_i].bytes, beside[_i].size);
    strbuf_add(&p, "u.");
    ck_assert_msg(parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), &c), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(c.rest.count, 1);
    ck_assert_str_eq(c.rest.data[0], "'beside' (an object)");
    ck_assert_ptr_nonnull(weight(&c, "w"));
}
END_TEST

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* {'w': .., 'scheduler': {'last_epoch': 3, then each of the keys with what these opcodes make}} */
static bool parse_schedule(const char *const *keys, const char *what, size_t size, struct checkpoint *c)
{
    struct strbuf p = {.arena = &arena};
    strbuf_add(&p, "}(");
    put_floats(&p, "w");
    put_text_op(&p, "scheduler");
    strbuf_add(&p, "}(");
    put_text_op(&p, "last_epoch");
    put_int_op(&p, 3);
    for (; *keys; keys++) {
        put_text_op(&p, *keys);
        strbuf_add_n(&p, what, size);
    }
    strbuf_add(&p, "uu.");
    return parse_pickle(p.text, p.length, FLOATS(1, 2, 3, 4, 5, 6), c);
}

static const struct {
    const char *name;
    const char *keys[4];
} schedules[] = {
    {"StepLR", {"step_size", "gamma"}},
    {"MultiStepLR", {"milestones", "gamma"}},
    {"ExponentialLR", {"gamma"}},
    {"CosineAnnealingLR", {"T_max", "eta_min"}},
    {"CosineAnnealingWarmRestarts", {"T_0", "T_i", "eta_min"}},
    {"LinearLR", {"start_factor", "end_factor", "total_iters"}},
    {"ConstantLR", {"factor", "total_iters"}},
    {"PolynomialLR", {"power", "total_iters"}},
    {"LambdaLR or MultiplicativeLR", {"lr_lambdas"}},
    {"SequentialLR", {"_schedulers"}},
    {"ReduceLROnPlateau", {"patience", "factor"}},
    {"CyclicLR", {"step_ratio", "gamma"}},
    {"OneCycleLR", {"_schedule_phases"}},
    {"SWALR", {"anneal_epochs", "swa_lrs"}},
    {NULL, {"of mine"}},
};

START_TEST(schedules_are_known_by_their_keys)
{
    struct checkpoint c;
    ck_assert_msg(parse_schedule(schedules[_i].keys, "K\5", 2, &c), "%s", diag_first_error(&diag));
    ck_assert(c.has_schedule);
    if (schedules[_i].name)
        ck_assert_str_eq(c.schedule_name, schedules[_i].name);
    else
        ck_assert_ptr_null(c.schedule_name);
    ck_assert_int_eq(c.schedule_waits, schedules[_i].name && str_equal(schedules[_i].name, "ReduceLROnPlateau"));
    ck_assert_double_eq(checkpoint_number(&c.schedule, "last_epoch", NAN), 3);
}
END_TEST

/* As PyTorch 1.13 has it: the object, which holds its optimizer, and the name of a method. */
START_TEST(one_cycle_may_be_an_object)
{
    static const char line[] = "c__builtin__\ngetattr\n(ctorch.optim.lr_scheduler\nOneCycleLR\n)\x81}X\1\0\0\0o"
                               "ctorch.optim.adam\nAdam\n)\x81}X\1\0\0\0sK\1sbsbX\021\0\0\0_annealing_lineartR",
                      wave[] = "c__builtin__\ngetattr\n(ctorch.optim.lr_scheduler\nOneCycleLR\n)\x81X\016\0\0\0"
                               "_annealing_costR";
    static const char *const keys[] = {"anneal_func", NULL}, *const others[] = {"verbose", NULL};
    struct checkpoint c;
    ck_assert_msg(parse_schedule(keys, line, sizeof line - 1, &c), "%s", diag_first_error(&diag));
    ck_assert_double_eq(checkpoint_number(&c.schedule, "linear", 0), 1);
    ck_assert_ptr_nonnull(weight(&c, "w"));
    ck_assert_msg(parse_schedule(keys, wave, sizeof wave - 1, &c), "%s", diag_first_error(&diag));
    ck_assert_double_eq(checkpoint_number(&c.schedule, "linear", 0), 0);
    ck_assert_msg(parse_schedule(others, line, sizeof line - 1, &c), "%s", diag_first_error(&diag));
    ck_assert_double_eq(checkpoint_number(&c.schedule, "linear", 0), 0);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("foreign");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, tensors_are_read);
    tcase_add_loop_test(tests, bad_tensors_are_refused, 0, sizeof bad_tensors / sizeof *bad_tensors);
    tcase_add_loop_test(tests, storages_have_types, 0, sizeof storages / sizeof *storages);
    tcase_add_test(tests, other_makers_of_tensors);
    tcase_add_test(tests, views_are_bounded);
    tcase_add_loop_test(tests, hostile_pickles_are_refused, 0, sizeof bad_pickles / sizeof *bad_pickles);
    tcase_add_test(tests, dicts_may_contain_themselves);
    tcase_add_test(tests, shared_dicts_are_bounded);
    tcase_add_loop_test(tests, archives_with_and_without_zip64, 0, 2);
    tcase_add_loop_test(tests, damaged_archives_do_no_harm, 0, 2);
    tcase_add_test(tests, entries_may_not_overlap);
    tcase_add_test(tests, entries_end_before_the_directory);
    tcase_add_loop_test(tests, entries_say_what_they_are, 0, sizeof packed_entries / sizeof *packed_entries);
    tcase_add_test(tests, entries_are_unpacked);
    tcase_add_test(tests, checksums_are_compared);
    tcase_add_test(tests, files_of_another_kind);
    tcase_add_loop_test(tests, optimizers_are_found, 0, 3);
    tcase_add_test(tests, steps_and_moments_of_one_element);
    tcase_add_test(tests, optimizers_list_what_they_keep);
    tcase_add_test(tests, weights_are_found);
    tcase_add_loop_test(tests, an_only_key_is_left_out, 0, 4);
    tcase_add_test(tests, groups_are_bounded);
    tcase_add_test(tests, other_strides_are_another_weight);
    tcase_add_loop_test(tests, schedules_are_known_by_their_keys, 0, sizeof schedules / sizeof *schedules);
    tcase_add_test(tests, one_cycle_may_be_an_object);
    tcase_add_loop_test(tests, what_is_beside_is_passed_over, 0, sizeof beside / sizeof *beside);
    return run_tests("foreign", tests);
}
