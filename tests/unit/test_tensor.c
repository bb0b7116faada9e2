/* compiler/tensor: element types, shapes, tensors, .npy. */
#include "base/file.h"
#include "base/str.h"
#include "tensor/tensor.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- dtype ------------------------------------------------------------------------------------------------------- */

START_TEST(every_dtype_has_a_row)
{
    ck_assert_int_eq(DTYPE_COUNT, 27);
    for (int n = 1; n < DTYPE_COUNT; n++) {
        const enum dtype d = (enum dtype)n;
        ck_assert(dtype_is_valid(n));
        ck_assert_int_eq(dtype_from_name(dtype_name(d)), d);
        ck_assert_uint_eq(dtype_size(d), (size_t)(dtype_bits(d) + 7) / 8);
    }
    ck_assert(!dtype_is_valid(0) && !dtype_is_valid(27) && !dtype_is_valid(-1));
    ck_assert_str_eq(dtype_name((enum dtype)99), "undefined");
    ck_assert_int_eq(dtype_from_name("undefined"), DTYPE_UNDEFINED);
    ck_assert_int_eq(dtype_from_name("float64"), DTYPE_UNDEFINED);
    ck_assert_str_eq(dtype_c_type(DTYPE_INT64), "int64_t");
    ck_assert_uint_eq(dtype_size(DTYPE_INT4), 1);
    ck_assert_uint_eq(dtype_size(DTYPE_STRING), 0);
    ck_assert(dtype_is_int(DTYPE_UINT2) && !dtype_is_int(DTYPE_BOOL) && dtype_is_float(DTYPE_FLOAT4E2M1));
}
END_TEST

static const struct {
    enum dtype dtype;
    int64_t min, max;
} limits[] = {
    {DTYPE_INT8, -128, 127},       {DTYPE_UINT8, 0, 255},         {DTYPE_INT16, -32768, 32767},
    {DTYPE_UINT16, 0, 65535},      {DTYPE_INT32, INT32_MIN, INT32_MAX}, {DTYPE_UINT32, 0, UINT32_MAX},
    {DTYPE_INT64, INT64_MIN, INT64_MAX}, {DTYPE_INT4, -8, 7},     {DTYPE_UINT4, 0, 15},
    {DTYPE_INT2, -2, 1},           {DTYPE_UINT2, 0, 3},           {DTYPE_BOOL, 0, 1},
};

START_TEST(integer_type_has_limits_and_keeps_to_them)
{
    const enum dtype d = limits[_i].dtype;
    ck_assert_int_eq(dtype_min_int(d), limits[_i].min);
    ck_assert_int_eq(dtype_max_int(d), limits[_i].max);
    ck_assert_int_eq(dtype_wrap(d, limits[_i].min), limits[_i].min);
    ck_assert_int_eq(dtype_wrap(d, limits[_i].max), limits[_i].max);
    if (d == DTYPE_BOOL)
        return;
    if (d != DTYPE_INT64) {
        ck_assert_int_eq(dtype_wrap(d, limits[_i].max + 1), limits[_i].min);
        ck_assert_int_eq(dtype_wrap(d, limits[_i].min - 1), limits[_i].max);
    }
    if (dtype_bits(d) < 8) {
        ck_assert_int_eq(dtype_from_double(d, (double)limits[_i].max + 1), limits[_i].min);
        ck_assert_int_eq(dtype_from_double(d, (double)limits[_i].min - 1), limits[_i].max);
        ck_assert_int_eq(dtype_from_double(d, NAN), 0);
        ck_assert_int_eq(dtype_from_double(d, 1.9), 1);
        return;
    }
    if (d != DTYPE_INT64) {
        ck_assert_int_eq(dtype_from_double(d, (double)limits[_i].max + 0.9), limits[_i].max);
        ck_assert_int_eq(dtype_from_double(d, (double)limits[_i].min - 0.9), limits[_i].min);
    }
    ck_assert_int_eq(dtype_from_double(d, INFINITY), limits[_i].max);
    ck_assert_int_eq(dtype_from_double(d, -INFINITY), limits[_i].min);
    ck_assert_int_eq(dtype_from_double(d, (double)limits[_i].max + 1), limits[_i].max);
    ck_assert_int_eq(dtype_from_double(d, NAN), 0);
    ck_assert_int_eq(dtype_from_double(d, 1.9), 1);
}
END_TEST

START_TEST(bool_and_uint64_convert)
{
    ck_assert_int_eq(dtype_from_double(DTYPE_BOOL, 0.25), 1);
    ck_assert_int_eq(dtype_from_double(DTYPE_BOOL, -0.0), 0);
    ck_assert_int_eq(dtype_wrap(DTYPE_BOOL, 256), 1);
    ck_assert_uint_eq((uint64_t)dtype_from_double(DTYPE_UINT64, 18446744073709549568.0), 18446744073709549568u);
    ck_assert_uint_eq((uint64_t)dtype_from_double(DTYPE_UINT64, 1e300), UINT64_MAX);
    ck_assert_uint_eq((uint64_t)dtype_from_double(DTYPE_UINT64, -3), 0);
    const uint64_t big = UINT64_C(1) << 63;
    ck_assert_double_eq(dtype_load_double(DTYPE_UINT64, &big), 9223372036854775808.0);
}
END_TEST

/* The small floating types: their last finite code, and what an overflow becomes. */
static const struct {
    enum dtype dtype;
    uint32_t sign, largest, overflow, nan;
} small_floats[] = {
    {DTYPE_FLOAT16, 0x8000, 0x7bff, 0x7c00, 0x7e00}, {DTYPE_BFLOAT16, 0x8000, 0x7f7f, 0x7f80, 0x7fc0},
    {DTYPE_FLOAT8E4M3FN, 0x80, 0x7e, 0x7e, 0x7f},    {DTYPE_FLOAT8E4M3FNUZ, 0x80, 0x7f, 0x7f, 0x80},
    {DTYPE_FLOAT8E5M2, 0x80, 0x7b, 0x7b, 0x7f},      {DTYPE_FLOAT8E5M2FNUZ, 0x80, 0x7f, 0x7f, 0x80},
    {DTYPE_FLOAT4E2M1, 0x8, 0x7, 0x7, 0x0},
};

static double value_of(enum dtype d, uint32_t code)
{
    const uint16_t wide = (uint16_t)code;
    const uint8_t narrow = (uint8_t)code;
    return dtype_size(d) == 2 ? dtype_load_double(d, &wide) : dtype_load_double(d, &narrow);
}

static uint32_t code_of(enum dtype d, double x)
{
    uint16_t wide;
    uint8_t narrow;
    if (dtype_size(d) == 2)
        return dtype_store_double(d, &wide, x), wide;
    return dtype_store_double(d, &narrow, x), narrow;
}

/* Between every two neighbours: the middle goes to the even code, a hair above or below it to the nearer one. A
 * conversion by way of float would round the hair away first. Covers subnormals and every carry. */
START_TEST(small_float_rounds_to_nearest_even)
{
    const enum dtype d = small_floats[_i].dtype;
    for (uint32_t code = 0; code < small_floats[_i].largest; code++) {
        const double low = value_of(d, code), high = value_of(d, code + 1), middle = (low + high) / 2;
        const uint32_t sign = small_floats[_i].sign, even = code + (code & 1);
        const uint32_t plain_zero = small_floats[_i].nan == sign ? 0 : sign; /* FNUZ types have no minus zero */
        if (code_of(d, low) != code || code_of(d, middle) != even || code_of(d, nextafter(middle, 0)) != code ||
            code_of(d, nextafter(middle, INFINITY)) != code + 1 || low >= high)
            ck_abort_msg("%s around code %#x", dtype_name(d), code);
        if (code_of(d, -low) != (code == 0 ? plain_zero : code | sign) || code_of(d, -high) != (sign | (code + 1)) ||
            value_of(d, sign | (code + 1)) != -high || dtype_round(d, nextafter(middle, 0)) != low)
            ck_abort_msg("%s around minus code %#x", dtype_name(d), code);
    }
}
END_TEST

START_TEST(small_float_overflows_and_keeps_nan)
{
    const enum dtype d = small_floats[_i].dtype;
    const uint32_t largest = small_floats[_i].largest, overflow = small_floats[_i].overflow,
                   sign = small_floats[_i].sign;
    const double last = value_of(d, largest), half_step = (last - value_of(d, largest - 1)) / 2;
    ck_assert_uint_eq(code_of(d, nextafter(last + half_step, 0)), largest);
    ck_assert_uint_eq(code_of(d, last + half_step), (largest & 1) != 0 ? overflow : largest);
    ck_assert_uint_eq(code_of(d, last * 4), overflow);
    ck_assert_uint_eq(code_of(d, 1e308), overflow);
    ck_assert_uint_eq(code_of(d, -1e308), sign | overflow);
    /* which that type has, though finite numbers saturate */
    const uint32_t infinity = d == DTYPE_FLOAT8E5M2 ? 0x7c : overflow;
    ck_assert_uint_eq(code_of(d, INFINITY), infinity);
    ck_assert_uint_eq(code_of(d, -INFINITY), sign | infinity);
    ck_assert_uint_eq(code_of(d, NAN), small_floats[_i].nan);
    ck_assert_uint_eq(code_of(d, -NAN), small_floats[_i].nan);
    ck_assert_uint_eq(code_of(d, 5e-324), 0);
    ck_assert(d == DTYPE_FLOAT4E2M1 || isnan(value_of(d, small_floats[_i].nan)));
}
END_TEST

static const struct {
    enum dtype dtype;
    uint32_t code;
    double value;
} known_codes[] = {
    {DTYPE_FLOAT16, 0x3c00, 1},         {DTYPE_FLOAT16, 0x7bff, 65504},        {DTYPE_FLOAT16, 0x0001, 0x1p-24},
    {DTYPE_FLOAT16, 0x0400, 0x1p-14},   {DTYPE_FLOAT16, 0xfc00, -INFINITY},    {DTYPE_FLOAT16, 0xc248, -3.140625},
    {DTYPE_BFLOAT16, 0x3f80, 1},        {DTYPE_BFLOAT16, 0x0001, 0x1p-133},    {DTYPE_BFLOAT16, 0x7f7f, 0x1.fep127},
    {DTYPE_FLOAT8E4M3FN, 0x7e, 448},    {DTYPE_FLOAT8E4M3FN, 0x01, 0x1p-9},    {DTYPE_FLOAT8E4M3FN, 0x38, 1},
    {DTYPE_FLOAT8E4M3FNUZ, 0x7f, 240},  {DTYPE_FLOAT8E4M3FNUZ, 0x01, 0x1p-10}, {DTYPE_FLOAT8E5M2, 0x7b, 57344},
    {DTYPE_FLOAT8E5M2, 0x01, 0x1p-16},  {DTYPE_FLOAT8E5M2, 0x7c, INFINITY},    {DTYPE_FLOAT8E5M2FNUZ, 0x7f, 57344},
    {DTYPE_FLOAT8E5M2FNUZ, 0x01, 0x1p-17}, {DTYPE_FLOAT4E2M1, 0x7, 6},         {DTYPE_FLOAT4E2M1, 0x9, -0.5},
    {DTYPE_FLOAT8E8M0, 0x7f, 1},        {DTYPE_FLOAT8E8M0, 0x00, 0x1p-127},    {DTYPE_FLOAT8E8M0, 0xfe, 0x1p127},
};

START_TEST(code_has_the_known_value)
{
    ck_assert(value_of(known_codes[_i].dtype, known_codes[_i].code) == known_codes[_i].value);
}
END_TEST

START_TEST(e8m0_rounds_up_to_powers_of_two)
{
    static const struct {
        double x;
        uint32_t code;
    } cases[] = {{1, 127}, {1.0001, 128}, {-2, 128}, {0, 0}, {0x1p-140, 0}, {1e300, 0xfe}, {NAN, 0xff},
                 {INFINITY, 0xff}};
    for (int i = 0; i < COUNT(cases); i++)
        ck_assert_uint_eq(code_of(DTYPE_FLOAT8E8M0, cases[i].x), cases[i].code);
    ck_assert(isnan(value_of(DTYPE_FLOAT8E8M0, 0xff)));
    for (uint32_t code = 0; code < 0xff; code++)
        ck_assert_uint_eq(code_of(DTYPE_FLOAT8E8M0, value_of(DTYPE_FLOAT8E8M0, code)), code);
}
END_TEST

START_TEST(elements_need_no_alignment)
{
    unsigned char memory[17] = {0};
    dtype_store_double(DTYPE_DOUBLE, memory + 1, 0.1);
    ck_assert_double_eq(dtype_load_double(DTYPE_DOUBLE, memory + 1), 0.1);
    dtype_store_double(DTYPE_FLOAT, memory + 1, 0.1);
    ck_assert_double_eq(dtype_load_double(DTYPE_FLOAT, memory + 1), (double)0.1f);
    dtype_store_int(DTYPE_INT64, memory + 3, -5);
    ck_assert_int_eq(dtype_load_int(DTYPE_INT64, memory + 3), -5);
    dtype_store_int(DTYPE_INT4, memory, 9);
    ck_assert_int_eq(dtype_load_int(DTYPE_INT4, memory), -7);
    ck_assert_double_eq(dtype_load_double(DTYPE_INT4, memory), -7);
}
END_TEST

/* ---- shape ------------------------------------------------------------------------------------------------------- */

static const struct {
    struct shape a, b, out;
    bool ok;
} broadcast_cases[] = {
    {SHAPE(2, 3), SHAPE(2, 3), SHAPE(2, 3), true},    {SHAPE(2, 3), SHAPE(3), SHAPE(2, 3), true},
    {SHAPE(2, 1), SHAPE(1, 3), SHAPE(2, 3), true},    {{.rank = 0}, SHAPE(4), SHAPE(4), true},
    {SHAPE(0), SHAPE(1), SHAPE(0), true},             {SHAPE(0), SHAPE(2), {0}, false},
    {SHAPE(2, 3), SHAPE(2), {0}, false},              {SHAPE(8, 1, 6, 1), SHAPE(7, 1, 5), SHAPE(8, 7, 6, 5), true},
    {{.rank = 0}, {.rank = 0}, {.rank = 0}, true},
};

START_TEST(shapes_broadcast)
{
    struct shape a = broadcast_cases[_i].a, out;
    ck_assert(shape_broadcast(&out, &broadcast_cases[_i].b, &a) == broadcast_cases[_i].ok);
    ck_assert(shape_broadcast(&a, &a, &broadcast_cases[_i].b) == broadcast_cases[_i].ok); /* in place */
    if (broadcast_cases[_i].ok) {
        ck_assert_str_eq(shape_text(&arena, &a), shape_text(&arena, &broadcast_cases[_i].out));
        ck_assert(shape_equal(&a, &out) && shape_equal(&a, &broadcast_cases[_i].out));
    }
}
END_TEST

/* Reading through the strides visits what index arithmetic says. */
START_TEST(broadcast_strides_reach_the_right_element)
{
    const struct shape *s = &broadcast_cases[_i].a, *to = &broadcast_cases[_i].out;
    if (!broadcast_cases[_i].ok || shape_count(to) == 0)
        return;
    int64_t wide[SHAPE_MAX_RANK], own[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0}, steps = 0;
    shape_broadcast_strides(s, to, wide);
    shape_strides(s, own);
    do {
        int64_t at = 0, expected = 0;
        for (int i = 0; i < to->rank; i++)
            at += index[i] * wide[i];
        for (int i = 0; i < s->rank; i++)
            expected += (s->dim[i] == 1 ? 0 : index[to->rank - s->rank + i]) * own[i];
        ck_assert_int_eq(at, expected);
        steps++;
    } while (shape_next(to, index));
    ck_assert_int_eq(steps, shape_count(to));
}
END_TEST

static const struct {
    struct shape shape;
    bool ok;
    int64_t count;
} count_cases[] = {
    {{.rank = 0}, true, 1},                        {SHAPE(2, 3, 4), true, 24},
    {SHAPE(5, 0), true, 0},                        {SHAPE(-1), false, 0},
    {SHAPE(-1, -1), false, 0},                     {SHAPE(0, -1), false, 0},
    {SHAPE(INT64_MAX / 16), true, INT64_MAX / 16}, {SHAPE(INT64_MAX / 15), false, 0},
    {SHAPE(INT64_MAX, 0), false, 0},               {SHAPE(0, INT64_MAX), false, 0},
    {SHAPE(1 << 30, 1 << 30, 16), false, 0},       {{.rank = SHAPE_MAX_RANK + 1}, false, 0},
    {{.rank = -1}, false, 0},
};

START_TEST(element_count_is_checked)
{
    int64_t count = 0;
    ck_assert(shape_count_checked(&count_cases[_i].shape, &count) == count_cases[_i].ok);
    if (count_cases[_i].ok) {
        ck_assert_int_eq(count, count_cases[_i].count);
        ck_assert_int_eq(shape_count(&count_cases[_i].shape), count);
    }
}
END_TEST

START_TEST(axes_ranges_and_texts)
{
    int axis = -9;
    ck_assert(shape_axis(3, -1, &axis) && axis == 2);
    ck_assert(shape_axis(3, 0, &axis) && axis == 0);
    ck_assert(!shape_axis(3, 3, &axis) && !shape_axis(3, -4, &axis) && !shape_axis(0, 0, &axis));
    ck_assert(!shape_axis(3, INT64_MIN, &axis) && !shape_axis(3, INT64_MAX, &axis));
    ck_assert_int_eq(shape_count_range(&SHAPE(2, 3, 5), 1, 3), 15);
    ck_assert_int_eq(shape_count_range(&SHAPE(2, 3, 5), 1, 1), 1);
    ck_assert_str_eq(shape_text(&arena, &SHAPE(2, 3)), "[2,3]");
    ck_assert_str_eq(shape_text(&arena, &SHAPE_SCALAR), "[]");
    ck_assert(!shape_equal(&SHAPE(2), &SHAPE(2, 1)));
}
END_TEST

/* ---- tensor and .npy --------------------------------------------------------------------------------------------- */

START_TEST(tensor_elements_convert)
{
    struct tensor *t = tensor_new(&arena, DTYPE_UINT8, &SHAPE(2, 2));
    ck_assert_int_eq(t->count, 4);
    ck_assert_uint_eq(tensor_bytes(t), 4);
    ck_assert_uint_eq((uintptr_t)t->data % 16, 0);
    tensor_set_double(t, 0, 300.5);
    tensor_set_int(t, 1, 300);
    ck_assert_int_eq(tensor_get_int(t, 0), 255);
    ck_assert_double_eq(tensor_get_double(t, 1), 44);
    ck_assert_int_eq(tensor_get_int(tensor_scalar_double(&arena, DTYPE_FLOAT, -2.9), 0), -2);
    ck_assert_int_eq(tensor_get_int(tensor_from_ints(&arena, (int64_t[]){7, 8}, 2), 1), 8);
    ck_assert_int_eq(tensor_from_ints(&arena, NULL, 0)->count, 0);
}
END_TEST

START_TEST(identical_means_the_same_bits)
{
    struct tensor *zero = tensor_scalar_double(&arena, DTYPE_FLOAT, 0.0);
    ck_assert(tensor_identical(zero, tensor_scalar_double(&arena, DTYPE_FLOAT, 0.0)));
    ck_assert(!tensor_identical(zero, tensor_scalar_double(&arena, DTYPE_FLOAT, -0.0)));
    ck_assert(!tensor_identical(zero, tensor_scalar_double(&arena, DTYPE_INT32, 0.0)));
    ck_assert(!tensor_identical(zero, tensor_new(&arena, DTYPE_FLOAT, &SHAPE(1))));
    struct tensor *a = tensor_new(&arena, DTYPE_STRING, &SHAPE(1)), *b = tensor_new(&arena, DTYPE_STRING, &SHAPE(1));
    ck_assert(tensor_identical(a, b));
    a->strings[0] = "x";
    a->string_lengths[0] = 1;
    ck_assert(!tensor_identical(a, b));
}
END_TEST

static const char *folder;

static void begin_file(void)
{
    begin();
    ck_assert(temp_directory(&diag, &arena, &folder));
}

static void end_file(void)
{
    temp_directory_remove(folder);
    end();
}

static const struct {
    enum dtype dtype, read_as;
} npy_cases[] = {
    {DTYPE_FLOAT, DTYPE_FLOAT},      {DTYPE_DOUBLE, DTYPE_DOUBLE}, {DTYPE_FLOAT16, DTYPE_FLOAT16},
    {DTYPE_INT64, DTYPE_INT64},      {DTYPE_BOOL, DTYPE_BOOL},     {DTYPE_UINT8, DTYPE_UINT8},
    {DTYPE_BFLOAT16, DTYPE_FLOAT},   {DTYPE_INT4, DTYPE_INT8},     {DTYPE_UINT2, DTYPE_UINT8},
    {DTYPE_FLOAT8E5M2, DTYPE_FLOAT}, {DTYPE_UINT64, DTYPE_UINT64},
};

START_TEST(npy_written_is_read_back)
{
    static const struct shape shapes[] = {{.rank = 0}, SHAPE(3), SHAPE(2, 3), SHAPE(2, 0, 4),
                                          SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9)};
    for (int i = 0; i < COUNT(shapes); i++) {
        struct tensor *t = tensor_new(&arena, npy_cases[_i].dtype, &shapes[i]), *back;
        for (int64_t k = 0; k < t->count; k++)
            tensor_set_int(t, k, k % 3);
        const char *path = path_join(&arena, folder, "t.npy");
        ck_assert(npy_write(&diag, path, t));
        ck_assert(npy_read(&diag, &arena, path, &back));
        ck_assert_int_eq(back->dtype, npy_cases[_i].read_as);
        ck_assert(shape_equal(&back->shape, &shapes[i]));
        for (int64_t k = 0; k < t->count; k++)
            ck_assert_double_eq(tensor_get_double(back, k), tensor_get_double(t, k));
    }
}
END_TEST

START_TEST(npy_is_what_numpy_writes)
{
    const char *path = path_join(&arena, folder, "t.npy");
    struct tensor *t = tensor_new(&arena, DTYPE_INT16, &SHAPE(2));
    tensor_set_int(t, 0, 258);
    tensor_set_int(t, 1, -1);
    unsigned char *bytes;
    size_t size;
    ck_assert(npy_write(&diag, path, t) && file_read(&diag, &arena, path, 1000, &bytes, &size));
    ck_assert_uint_eq(size, 132);
    ck_assert_int_eq(memcmp(bytes,
                            "\x93NUMPY\1\0\x76\0{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }  ", 69),
                     0);
    ck_assert_int_eq(bytes[127], '\n');
    ck_assert_int_eq(memcmp(bytes + 128, "\2\1\xff\xff", 4), 0);
}
END_TEST

/* A .npy file of version 1 with this header and this data, read. */
static bool read_made(const char *header, const char *data, size_t size, struct tensor **out)
{
    const char *path = path_join(&arena, folder, "made.npy");
    struct strbuf b = {.arena = &arena};
    const size_t length = strlen(header);
    strbuf_add_n(&b, "\x93NUMPY\1\0", 8);
    strbuf_add_n(&b, (char[]){(char)(length & 255), (char)(length >> 8)}, 2);
    strbuf_add(&b, header);
    strbuf_add_n(&b, data, size);
    ck_assert(file_write(&diag, path, b.text, b.length));
    return npy_read(&diag, &arena, path, out);
}

static const struct {
    const char *header, *data;
    size_t size;
    double elements[6]; /* row-major */
} npy_inputs[] = {
    {"{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n", "\1\0\2\0\3\0\4\0\5\0\6\0", 12,
     {1, 2, 3, 4, 5, 6}},
    {"{'descr': '>i2', 'fortran_order': False, 'shape': (2,3)}", "\0\1\0\2\0\3\0\4\0\5\0\6", 12, {1, 2, 3, 4, 5, 6}},
    {"{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2), }", "\1\3\5\2\4\6", 6, {1, 2, 3, 4, 5, 6}},
    {"{\"shape\": (6,), 'fortran_order': True, 'descr': '|i1'}  \n", "\1\2\3\4\5\xff", 6, {1, 2, 3, 4, 5, -1}},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (6,)}", "\1\0\2\0\xff\0", 6, {1, 0, 1, 0, 1, 0}},
    {" { 'descr' : '<i2' ,\n 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , } \n", "\1\0\2\0\3\0\4\0\5\0\6\0", 12,
     {1, 2, 3, 4, 5, 6}},
};

START_TEST(npy_form_is_understood)
{
    struct tensor *t;
    ck_assert(read_made(npy_inputs[_i].header, npy_inputs[_i].data, npy_inputs[_i].size, &t));
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq(tensor_get_double(t, i), npy_inputs[_i].elements[i]);
}
END_TEST

static const struct {
    const char *header, *error;
} bad_npy[] = {
    {"", "malformed .npy header: expected a dictionary"},
    {"{}", "malformed .npy header: expected the entries 'descr', 'fortran_order' and 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", "malformed .npy header: the dictionary does not end"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", "malformed .npy header: expected a dimension of 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", "malformed .npy header: 'shape' does not end"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
     "malformed .npy header: expected a dimension of 'shape'"},
    {"{'descr': '<f4", "malformed .npy header: a string does not end"},
    {"{'descr': '<f4', 'descr': '<f8'}", "malformed .npy header: two entries 'descr'"},
    {"{'order': 1}", "malformed .npy header: unknown entry 'order'"},
    {"{'fortran_order': 1}", "malformed .npy header: 'fortran_order' is neither True nor False"},
    {"{'descr': '<U7', 'fortran_order': False, 'shape': ()}", "element type '<U7' of the array is not supported"},
    {"{'descr': [('a', '<f4')]}", "the array has records as elements, expected numbers"},
    {"{'descr':   [('a', '<f4')]}", "the array has records as elements, expected numbers"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
     "4 bytes follow the header, expected 12 for [3] of float"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}",
     "4 bytes follow the header, expected 0 for [0] of float"},
    {"{'shape': (99999999999999999999,)}", "malformed .npy header: a dimension of 'shape' is too large"},
    {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1)}", "the array has more than 12 dimensions"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296)}",
     "the array's shape [4294967296,4294967296] is too large"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
     "malformed .npy header: something follows the dictionary"},
};

START_TEST(npy_is_refused_with_a_reason)
{
    struct tensor *t;
    ck_assert(!read_made(bad_npy[_i].header, "1234", 4, &t));
    ck_assert_uint_eq(diag.messages.count, 1);
    ck_assert_str_eq(diag.messages.data[0].text, bad_npy[_i].error);
}
END_TEST

START_TEST(npy_cut_short_anywhere_is_refused)
{
    const char *path = path_join(&arena, folder, "t.npy");
    struct tensor *t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(2)), *back;
    unsigned char *bytes;
    size_t size;
    ck_assert(npy_write(&diag, path, t) && file_read(&diag, &arena, path, 1000, &bytes, &size));
    for (size_t n = 0; n < size; n++) {
        ck_assert(file_write(&diag, path, bytes, n));
        ck_assert(!npy_read(&diag, &arena, path, &back));
    }
    ck_assert(!npy_write(&diag, path, tensor_new(&arena, DTYPE_STRING, &SHAPE_SCALAR)));
}
END_TEST

/* ---- sizes: for a highest count of 8, down to 2 ------------------------------------------------------------------ */

#define N ((struct size){8, 1})
#define LOST ((struct size){0, NOT_AFFINE})
enum { SPAN = 6 };

START_TEST(sizes_are_affine)
{
    const struct size three = size_constant(3), six = size_product(N, three), next = size_sum(N, three);
    ck_assert(size_equal(next, (struct size){11, 1}));
    ck_assert(size_equal(size_product(three, next), (struct size){33, 3}));
    ck_assert(size_equal(size_difference(six, N), (struct size){16, 2}));
    ck_assert(size_equal(size_difference(three, N), (struct size){-5, -1}));
    ck_assert(size_equal(size_product(N, N), (struct size){64, NOT_AFFINE}));
    ck_assert(size_equal(size_product(LOST, size_constant(0)), (struct size){0, NOT_AFFINE}));
    ck_assert(size_equal(size_sum(LOST, N), (struct size){8, NOT_AFFINE}));
    const struct size far = {INT64_MAX, 1}, none = {0, NOT_AFFINE};
    ck_assert(size_equal(size_sum(far, size_constant(1)), none));
    ck_assert(size_equal(size_difference(size_constant(-2), far), none));
    ck_assert(size_equal(size_difference(far, far), size_constant(0)));
    ck_assert(size_equal(size_product(far, size_constant(2)), none));
}
END_TEST

START_TEST(sizes_are_divided)
{
    const struct size pairs = {17, 2};
    ck_assert(size_equal(size_quotient(pairs, 2), (struct size){8, 1}));
    ck_assert(size_equal(size_quotient_up(pairs, 2), (struct size){9, 1}));
    ck_assert(size_equal(size_quotient(N, 2), (struct size){4, NOT_AFFINE}));
    ck_assert(size_equal(size_quotient((struct size){-5, 0}, 2), size_constant(-3)));
    ck_assert(size_equal(size_over((struct size){24, 3}, N), size_constant(3)));
    ck_assert(size_equal(size_over((struct size){24, 3}, size_constant(3)), N));
    ck_assert(size_equal(size_over((struct size){16, 1}, N), (struct size){2, NOT_AFFINE}));
    const struct size twice = {16, NOT_AFFINE}, once = {8, NOT_AFFINE};
    ck_assert(size_equal(size_over(twice, once), (struct size){2, NOT_AFFINE}));
}
END_TEST

START_TEST(sizes_are_compared_for_all_counts)
{
    ck_assert(size_equal(size_least(N, size_constant(8), SPAN), N));
    ck_assert(size_equal(size_greatest(size_constant(2), N, SPAN), N));
    ck_assert(size_equal(size_least(N, size_constant(7), SPAN), (struct size){7, NOT_AFFINE}));
    ck_assert(size_equal(size_greatest(size_constant(3), N, SPAN), (struct size){8, NOT_AFFINE}));
    ck_assert(size_equal(size_greatest(LOST, N, SPAN), (struct size){8, NOT_AFFINE}));
    ck_assert_int_eq(size_compare(N, size_constant(-1), SPAN), 1);
    ck_assert_int_eq(size_compare(N, size_constant(9), SPAN), -1);
    ck_assert_int_eq(size_compare(N, N, SPAN), 0);
    ck_assert(size_compare(N, size_constant(8), SPAN) == NOT_AFFINE);
    ck_assert(size_compare(N, size_constant(3), SPAN) == NOT_AFFINE);
    ck_assert(size_compare(LOST, size_constant(3), SPAN) == NOT_AFFINE);
}
END_TEST

START_TEST(sizes_broadcast)
{
    struct shape y;
    ck_assert(shape_broadcast(&y, &SHAPE_OF(N, size_constant(4)), &SHAPE(1, 4)));
    ck_assert(size_equal(shape_size(&y, 0), N) && size_equal(shape_size(&y, 1), size_constant(4)));
    ck_assert(shape_broadcast(&y, &SHAPE(8, 4), &SHAPE_OF(N, size_constant(4))));
    ck_assert(y.per[0] == NOT_AFFINE && y.per[1] == 0);
    ck_assert(size_equal(shape_size_range(&SHAPE_OF(N, size_constant(4), size_constant(5)), 0, 3),
                         (struct size){160, 20}));
}
END_TEST

START_TEST(constants_are_the_same_for_all_counts)
{
    const struct tensor *const dims = tensor_from_dims(&arena, &SHAPE_OF(N, size_constant(4)));
    const struct tensor *const plain = tensor_from_dims(&arena, &SHAPE(8, 4));
    ck_assert(tensor_identical(dims, plain) && !tensor_same_sizes(dims, plain) && !tensor_same_sizes(plain, dims));
    ck_assert(tensor_same_sizes(dims, tensor_from_dims(&arena, &SHAPE_OF(N, size_constant(4)))));
    const struct tensor *const other = tensor_from_dims(&arena, &SHAPE_OF(((struct size){8, 2}), size_constant(4)));
    ck_assert(!tensor_same_sizes(dims, other));
    const struct tensor *const zeros = tensor_new(&arena, DTYPE_FLOAT, &SHAPE_OF(N));
    ck_assert(!tensor_same_sizes(zeros, tensor_new(&arena, DTYPE_FLOAT, &SHAPE(8))));
    ck_assert(tensor_same_sizes(zeros, tensor_new(&arena, DTYPE_FLOAT, &SHAPE_OF(N))));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor");
    TCase *dtypes = tcase_create("dtype");
    tcase_add_checked_fixture(dtypes, begin, end);
    tcase_add_test(dtypes, every_dtype_has_a_row);
    tcase_add_loop_test(dtypes, integer_type_has_limits_and_keeps_to_them, 0, COUNT(limits));
    tcase_add_test(dtypes, bool_and_uint64_convert);
    tcase_add_loop_test(dtypes, small_float_rounds_to_nearest_even, 0, COUNT(small_floats));
    tcase_add_loop_test(dtypes, small_float_overflows_and_keeps_nan, 0, COUNT(small_floats));
    tcase_add_loop_test(dtypes, code_has_the_known_value, 0, COUNT(known_codes));
    tcase_add_test(dtypes, e8m0_rounds_up_to_powers_of_two);
    tcase_add_test(dtypes, elements_need_no_alignment);
    suite_add_tcase(suite, dtypes);

    TCase *shapes = tcase_create("shape");
    tcase_add_checked_fixture(shapes, begin, end);
    tcase_add_loop_test(shapes, shapes_broadcast, 0, COUNT(broadcast_cases));
    tcase_add_loop_test(shapes, broadcast_strides_reach_the_right_element, 0, COUNT(broadcast_cases));
    tcase_add_loop_test(shapes, element_count_is_checked, 0, COUNT(count_cases));
    tcase_add_test(shapes, axes_ranges_and_texts);
    tcase_add_test(shapes, sizes_are_affine);
    tcase_add_test(shapes, sizes_are_divided);
    tcase_add_test(shapes, sizes_are_compared_for_all_counts);
    tcase_add_test(shapes, sizes_broadcast);
    tcase_add_test(shapes, constants_are_the_same_for_all_counts);
    suite_add_tcase(suite, shapes);

    TCase *tensors = tcase_create("tensor");
    tcase_add_checked_fixture(tensors, begin_file, end_file);
    tcase_add_test(tensors, tensor_elements_convert);
    tcase_add_test(tensors, identical_means_the_same_bits);
    tcase_add_loop_test(tensors, npy_written_is_read_back, 0, COUNT(npy_cases));
    tcase_add_test(tensors, npy_is_what_numpy_writes);
    tcase_add_loop_test(tensors, npy_form_is_understood, 0, COUNT(npy_inputs));
    tcase_add_loop_test(tensors, npy_is_refused_with_a_reason, 0, COUNT(bad_npy));
    tcase_add_test(tensors, npy_cut_short_anywhere_is_refused);
    suite_add_tcase(suite, tensors);

    return run_suite(suite);
}
