/* .safetensors: there and back, cut off at every byte, and headers that say what is not so. */
#include "base/str.h"
#include "fixture.h"
#include "model/safetensors.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static bool parse(const void *bytes, size_t size, named_tensors *out)
{
    unsigned char *const exact = arena_copy(&arena, bytes, size, 1); /* sanitizers see one byte more */
    diag = (struct diag){.arena = &arena};
    return safetensors_parse(&diag, &arena, "w.safetensors", exact, size, out);
}

/* A file with this header and `values` bytes 0, 1, 2... behind it. */
static bool parse_header(const char *header, size_t values, named_tensors *out)
{
    const size_t n = strlen(header);
    unsigned char *const bytes = arena_array(&arena, unsigned char, 8 + n + values);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)n >> (8 * i));
    memcpy(bytes + 8, header, n);
    for (size_t i = 0; i < values; i++)
        bytes[8 + n + i] = (unsigned char)i;
    return parse(bytes, 8 + n + values, out);
}

static void make_list(named_tensors *list)
{
    static const enum dtype dtypes[] = {DTYPE_BOOL, DTYPE_FLOAT, DTYPE_INT64, DTYPE_FLOAT16, DTYPE_DOUBLE, DTYPE_UINT8,
                                        DTYPE_INT32, DTYPE_UINT64, DTYPE_BFLOAT16, DTYPE_INT8, DTYPE_UINT16,
                                        DTYPE_FLOAT8E5M2};
    static const char *const names[] = {"b", "quote\"d", "i", "h", "d", "u", "\xC3\xA4", "U", "bf", "c", "s", "f8"};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        struct tensor *const t = tensor_new(&arena, dtypes[i],
                                            i % 3 == 0   ? &SHAPE_SCALAR
                                            : i % 3 == 1 ? &SHAPE(2, 3)
                                                         : &SHAPE(0));
        for (int64_t k = 0; k < t->count; k++)
            tensor_set_double(t, k, (double)((int64_t)i + k) * (dtypes[i] == DTYPE_BOOL ? 0 : 1));
        vec_push(&arena, list, ((struct named_tensor){names[i], t}));
    }
}

static const struct tensor *named_tensor_find(const named_tensors *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (str_equal(list->data[i].name, name))
            return list->data[i].tensor;
    return NULL;
}

START_TEST(there_and_back)
{
    named_tensors list = {0}, again;
    unsigned char *first, *second;
    size_t first_size, second_size;
    make_list(&list);
    ck_assert(safetensors_encode(&diag, &arena, "w", &list, &first, &first_size));
    ck_assert(parse(first, first_size, &again));
    ck_assert_uint_eq(again.count, list.count);
    for (size_t i = 0; i < list.count; i++) {
        const struct tensor *const t = named_tensor_find(&again, list.data[i].name);
        ck_assert_ptr_nonnull(t);
        ck_assert(tensor_identical(t, list.data[i].tensor));
    }
    ck_assert(safetensors_encode(&diag, &arena, "w", &again, &second, &second_size));
    ck_assert(first_size == second_size && memcmp(first, second, first_size) == 0);
}
END_TEST

START_TEST(cut_off_at_every_byte)
{
    named_tensors list = {0}, again;
    unsigned char *bytes;
    size_t size;
    make_list(&list);
    ck_assert(safetensors_encode(&diag, &arena, "w", &list, &bytes, &size));
    for (size_t n = 0; n < size; n++) {
        ck_assert_msg(!parse(bytes, n, &again), "%zu of %zu bytes are accepted", n, size);
        ck_assert_uint_gt(diag.errors, 0);
    }
}
END_TEST

static const struct {
    const char *header;
    size_t values;
    const char *error; /* NULL: it is right */
} headers[] = {
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ", 2, NULL},
    {"{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, NULL},
    {"{}", 0, NULL},
    {"{}", 1, "1 bytes behind the last tensor belong to none"},
    {"[]", 0, "the header is no JSON object"},
    {"{", 0, "the header is no JSON"},
    {"{\"a\":3}", 0, "tensor 'a': no description"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"a\":{}}", 2,
     "the header is no JSON: duplicate object key"},
    {"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "the header is no JSON"},
    {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
     "tensor 'a': dtype 'F31' is none that can be read"},
    {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "tensor 'a': dtype '' is none that can be read"},
    {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,2]}}", 2, "tensor 'a': its shape is no list"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-2],\"data_offsets\":[0,2]}}", 2, "tensor 'a': dimension 0 is no size"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2.0],\"data_offsets\":[0,2]}}", 2, "tensor 'a': dimension 0 is no size"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0]}}", 2, "tensor 'a': data_offsets are no two"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,0]}}", 2,
     "tensor 'a': data_offsets are no two ascending numbers"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,3]}}", 2,
     "tensor 'a': its values end at byte 3, but the file holds 2"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2,
     "tensor 'a' uint8[3] does not fit its 2 bytes"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904,2],\"data_offsets\":[0,2]}}", 2,
     "does not fit its 2 bytes"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}", 0,
     "does not fit its 0 bytes"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}", 3,
     "tensor 'b': its values begin at byte 2, expected byte 1"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3,
     "tensor 'b': its values begin at byte 1, but those before it end at byte 2"},
};

START_TEST(headers_are_checked)
{
    named_tensors list;
    const bool ok = parse_header(headers[_i].header, headers[_i].values, &list);
    ck_assert_msg(ok == (headers[_i].error == NULL), "%s: %s", headers[_i].header,
                  ok ? "accepted" : diag.messages.data[0].text);
    if (!ok)
        ck_assert_msg(strstr(diag.messages.data[0].text, headers[_i].error) != NULL, "%s", diag.messages.data[0].text);
}
END_TEST

START_TEST(what_cannot_be_written)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_INT4, &SHAPE(2)),
                         *const f = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(2));
    named_tensors list = {0}, twice = {0};
    unsigned char *bytes;
    size_t size;
    vec_push(&arena, &list, ((struct named_tensor){"a", t}));
    ck_assert(!safetensors_encode(&diag, &arena, "w", &list, &bytes, &size));
    vec_push(&arena, &twice, ((struct named_tensor){"a", f}));
    vec_push(&arena, &twice, ((struct named_tensor){"a", f}));
    ck_assert(!safetensors_encode(&diag, &arena, "w", &twice, &bytes, &size));
    ck_assert_uint_eq(diag.errors, 2);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("safetensors");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, there_and_back);
    tcase_add_test(t, cut_off_at_every_byte);
    tcase_add_loop_test(t, headers_are_checked, 0, sizeof headers / sizeof *headers);
    tcase_add_test(t, what_cannot_be_written);
    return run_tests("safetensors", t);
}
