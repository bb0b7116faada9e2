#include "tensor/dtype.h"
#include "base/arena.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct dtype_row {
    const char *name;
    int bits;
    char kind; /* F, S, U, B, X as in dtypes.def */
    const char *c_type;
};

static const struct dtype_row rows[DTYPE_COUNT] = {
    [DTYPE_UNDEFINED] = {"undefined", 0, 'X', ""},
#define F 'F'
#define S 'S'
#define U 'U'
#define B 'B'
#define X 'X'
#define DTYPE(E, N, NAME, BITS, KIND, C) [DTYPE_##E] = {NAME, BITS, KIND, C},
#include "tensor/dtypes.def"
#undef DTYPE
#undef F
#undef S
#undef U
#undef B
#undef X
};

static const struct dtype_row *row_of(enum dtype d)
{
    return &rows[dtype_is_valid((int)d) ? d : DTYPE_UNDEFINED];
}

bool dtype_is_valid(int onnx_number)
{
    return onnx_number > DTYPE_UNDEFINED && onnx_number < DTYPE_COUNT;
}

const char *dtype_name(enum dtype d)
{
    return row_of(d)->name;
}

enum dtype dtype_from_name(const char *name)
{
    for (int d = DTYPE_UNDEFINED + 1; d < DTYPE_COUNT; d++)
        if (strcmp(rows[d].name, name) == 0)
            return (enum dtype)d;
    return DTYPE_UNDEFINED;
}

const char *dtype_c_type(enum dtype d)
{
    return row_of(d)->c_type;
}

int dtype_bits(enum dtype d)
{
    return row_of(d)->bits;
}

size_t dtype_size(enum dtype d)
{
    return (size_t)(row_of(d)->bits + 7) / 8;
}

bool dtype_is_float(enum dtype d)
{
    return row_of(d)->kind == 'F';
}

bool dtype_is_int(enum dtype d)
{
    return row_of(d)->kind == 'S' || row_of(d)->kind == 'U';
}

bool dtype_is_signed(enum dtype d)
{
    return row_of(d)->kind == 'S' || row_of(d)->kind == 'F';
}

bool dtype_is_float16(enum dtype d)
{
    return d == DTYPE_FLOAT16 || d == DTYPE_BFLOAT16;
}

bool dtype_is_pattern(enum dtype d)
{
    return dtype_is_float(d) && dtype_bits(d) <= 16;
}

bool dtype_is_below_byte(enum dtype d)
{
    return dtype_is_int(d) && dtype_bits(d) < 8;
}

enum dtype dtype_computed(enum dtype d)
{
    if (dtype_is_below_byte(d))
        return dtype_is_signed(d) ? DTYPE_INT8 : DTYPE_UINT8;
    return dtype_is_pattern(d) ? DTYPE_FLOAT : d;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

int64_t dtype_min_int(enum dtype d)
{
    if (row_of(d)->kind == 'S')
        return -((int64_t)1 << (row_of(d)->bits - 2)) * 2; /* two steps: 1 << 63 would overflow */
    return 0;
}

int64_t dtype_max_int(enum dtype d)
{
    const struct dtype_row *row = row_of(d);
    if (row->kind == 'B')
        return 1;
    if (row->kind == 'S')
        return -(dtype_min_int(d) + 1);
    return row->bits < 64 ? ((int64_t)1 << row->bits) - 1 : INT64_MAX;
}

int64_t dtype_wrap(enum dtype d, int64_t x)
{
    const struct dtype_row *row = row_of(d);
    if (row->kind == 'B')
        return x != 0;
    if (row->kind != 'S' && row->kind != 'U')
        UNREACHABLE("%s is not an integer type", row->name);
    if (row->bits == 64)
        return x;
    const uint64_t sign = (uint64_t)1 << (row->bits - 1);
    const uint64_t low = (uint64_t)x & (2 * sign - 1);
    return row->kind == 'S' ? (int64_t)(low ^ sign) - (int64_t)sign : (int64_t)low;
}

/* 2^bits of an unsigned type or 2^(bits-1) of a signed one, the first value above the range, is exact in double; the
 * maximum itself (2^63 - 1) would not be. A bool asks whether x differs from 0, which NaN does. The 4- and 2-bit types
 * wrap instead of saturating: ONNX's own tests expect that of Cast (-9 becomes 7 in int4 and uint4). */
int64_t dtype_from_double(enum dtype d, double x)
{
    const struct dtype_row *row = row_of(d);
    if (row->kind == 'B')
        return x != 0;
    if (isnan(x))
        return 0;
    if (row->bits < 8)
        return dtype_wrap(d, dtype_from_double(DTYPE_INT64, x));
    const double above = ldexp(1.0, row->kind == 'S' ? row->bits - 1 : row->bits);
    if (row->kind == 'U' && row->bits == 64)
        return (int64_t)(x >= above ? UINT64_MAX : x <= 0 ? 0 : (uint64_t)x);
    if (x >= above)
        return dtype_max_int(d);
    return x <= (double)dtype_min_int(d) ? dtype_min_int(d) : (int64_t)x;
}

/* ---- small floating formats -------------------------------------------------------------------------------------- */

/* A format of `mantissa` stored bits below an exponent field, below the sign. What lies above `largest` is an infinity
 * and NaNs as in IEEE 754 where there is an infinity; otherwise only the code `nan` is none of the numbers. A finite
 * number beyond the range of a type that saturates becomes its largest, as by ONNX Cast with saturate = 1. */
struct format {
    int mantissa, bias;
    uint32_t sign;     /* mask of the sign bit */
    uint32_t largest;  /* code of the largest finite value */
    uint32_t infinity; /* IEEE 754: largest + 1; 0 where the format has none */
    uint32_t nan;      /* the NaN that is written; equal to 0 where there is none */
    bool saturates;
    bool has_minus_zero;
};

/* ONNX, "Float stored in 8 bits": E5M2 has infinities, though a saturating Cast never makes one. FNUZ: finite, NaN is
 * the code that minus zero would have. FLOAT4E2M1 has no NaN. */
static const struct format half_format = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00, false, true};
static const struct format bfloat_format = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, false, true};
static const struct format e4m3fn_format = {3, 7, 0x80, 0x7e, 0, 0x7f, true, true};
static const struct format e4m3fnuz_format = {3, 8, 0x80, 0x7f, 0, 0x80, true, false};
static const struct format e5m2_format = {2, 15, 0x80, 0x7b, 0x7c, 0x7f, true, true};
static const struct format e5m2fnuz_format = {2, 16, 0x80, 0x7f, 0, 0x80, true, false};
static const struct format e2m1_format = {1, 1, 0x8, 0x7, 0, 0, true, true};

enum { DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

/* x / 2^shift, to nearest, ties to even; x < 2^53. */
static uint64_t shift_to_even(uint64_t x, int shift)
{
    if (shift > DOUBLE_MANTISSA + 2)
        return 0;
    const uint64_t quotient = x >> shift, rest = x & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    return quotient + (rest > half || (rest == half && (quotient & 1) != 0));
}

/* One rounding, from the bits of the double: going through float first would round twice. A mantissa that rounds up to
 * the next power of two carries into the exponent field, which is the right code. All NaNs become the same one: their
 * sign and payload differ between processors. */
static uint32_t encode(const struct format *f, double x, bool saturates)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 63 != 0 ? f->sign : 0;
    if (isnan(x))
        return f->nan;
    if (isinf(x) && f->infinity != 0)
        return f->infinity | sign;
    const int exponent = (int)(bits >> DOUBLE_MANTISSA & 0x7ff) - DOUBLE_BIAS + f->bias;
    const uint64_t hidden = (uint64_t)1 << DOUBLE_MANTISSA;
    const uint64_t significand = hidden | (bits & (hidden - 1));
    uint64_t code; /* a subnormal double is below half of every format's smallest value: exponent is far below 1 */
    if (exponent >= 1)
        code = ((uint64_t)(exponent - 1) << f->mantissa) + shift_to_even(significand, DOUBLE_MANTISSA - f->mantissa);
    else
        code = shift_to_even(significand, DOUBLE_MANTISSA - f->mantissa + 1 - exponent);
    if (code > f->largest && !saturates && f->infinity == 0)
        return f->nan;
    if (code > f->largest)
        code = saturates ? f->largest : f->infinity;
    return code == 0 && !f->has_minus_zero ? 0 : (uint32_t)code | sign;
}

static double decode(const struct format *f, uint32_t code)
{
    const uint32_t magnitude = code & (f->sign - 1);
    const double sign = (code & f->sign) != 0 ? -1.0 : 1.0;
    if (f->infinity != 0 && magnitude == f->infinity)
        return sign * HUGE_VAL;
    if (magnitude > f->largest || (code == f->nan && f->nan != 0))
        return NAN;
    const uint32_t hidden = (uint32_t)1 << f->mantissa, exponent = magnitude >> f->mantissa,
                   low = magnitude & (hidden - 1);
    const int scale = (exponent == 0 ? 1 : (int)exponent) - f->bias - f->mantissa;
    return sign * ldexp(exponent == 0 ? low : hidden | low, scale);
}

/* FLOAT8E8M0: 2^(code - 127), a scale without sign or zero, 0xff is NaN. As ONNX Cast with its default round_mode "up":
 * the sign is ignored, what is no power of two goes to the next larger one (a block scaled by it cannot overflow), the
 * ends saturate, and an infinity becomes NaN. */
static uint32_t encode_e8m0(double x)
{
    if (!isfinite(x))
        return 0xff;
    int exponent; /* |x| = fraction * 2^exponent, fraction in [0.5, 1) */
    const double fraction = frexp(fabs(x), &exponent);
    const int code = exponent - 1 + 127 + (fraction > 0.5);
    return x == 0 || code < 0 ? 0 : code > 0xfe ? 0xfe : (uint32_t)code;
}

static double decode_e8m0(uint32_t code)
{
    return code == 0xff ? (double)NAN : ldexp(1.0, (int)code - 127);
}

static const struct format *small_format(enum dtype d)
{
    switch ((int)d) {
    case DTYPE_FLOAT16: return &half_format;
    case DTYPE_BFLOAT16: return &bfloat_format;
    case DTYPE_FLOAT8E4M3FN: return &e4m3fn_format;
    case DTYPE_FLOAT8E4M3FNUZ: return &e4m3fnuz_format;
    case DTYPE_FLOAT8E5M2: return &e5m2_format;
    case DTYPE_FLOAT8E5M2FNUZ: return &e5m2fnuz_format;
    case DTYPE_FLOAT4E2M1: return &e2m1_format;
    default: UNREACHABLE("%s is not a floating type", dtype_name(d));
    }
}

static uint32_t encode_small(enum dtype d, double x)
{
    if (d == DTYPE_FLOAT8E8M0)
        return encode_e8m0(x);
    const struct format *format = small_format(d);
    return encode(format, x, format->saturates);
}

static double decode_small(enum dtype d, uint32_t code)
{
    return d == DTYPE_FLOAT8E8M0 ? decode_e8m0(code) : decode(small_format(d), code);
}

/* ---- elements in memory ------------------------------------------------------------------------------------------ */

double dtype_round(enum dtype d, double x)
{
    if (d == DTYPE_DOUBLE)
        return x;
    if (d == DTYPE_FLOAT)
        return (double)(float)x;
    return decode_small(d, encode_small(d, x));
}

double dtype_round_small(enum dtype d, double x, bool saturates)
{
    const struct format *const format = small_format(d);
    x = dtype_round(DTYPE_FLOAT, x);
    if (saturates)
        return dtype_round(d, isinf(x) ? copysign(FLT_MAX, x) : x);
    return format != NULL && format->nan != 0 ? decode(format, encode(format, x, false)) : dtype_round(d, x);
}

/* The bytes of an element as a number; memcpy because `p` need not be aligned. */
static uint64_t load_bits(size_t size, const void *p)
{
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (size) {
    case 1: memcpy(&b1, p, 1); return b1;
    case 2: memcpy(&b2, p, 2); return b2;
    case 4: memcpy(&b4, p, 4); return b4;
    case 8: memcpy(&b8, p, 8); return b8;
    default: UNREACHABLE("an element of %zu bytes", size);
    }
}

static void store_bits(size_t size, void *p, uint64_t bits)
{
    const uint8_t b1 = (uint8_t)bits;
    const uint16_t b2 = (uint16_t)bits;
    const uint32_t b4 = (uint32_t)bits;
    switch (size) {
    case 1: memcpy(p, &b1, 1); break;
    case 2: memcpy(p, &b2, 2); break;
    case 4: memcpy(p, &b4, 4); break;
    case 8: memcpy(p, &bits, 8); break;
    default: UNREACHABLE("an element of %zu bytes", size);
    }
}

static bool is_integer_or_bool(enum dtype d)
{
    return dtype_is_int(d) || d == DTYPE_BOOL;
}

double dtype_load_double(enum dtype d, const void *p)
{
    if (d == DTYPE_DOUBLE) {
        double x;
        memcpy(&x, p, sizeof x);
        return x;
    }
    if (d == DTYPE_FLOAT) {
        float x;
        memcpy(&x, p, sizeof x);
        return x;
    }
    if (is_integer_or_bool(d)) {
        const int64_t x = dtype_load_int(d, p);
        return d == DTYPE_UINT64 ? (double)(uint64_t)x : (double)x;
    }
    if (!dtype_is_float(d))
        UNREACHABLE("dtype_load_double of %s", dtype_name(d));
    return decode_small(d, (uint32_t)load_bits(dtype_size(d), p));
}

int64_t dtype_load_int(enum dtype d, const void *p)
{
    if (!is_integer_or_bool(d))
        UNREACHABLE("dtype_load_int of %s", dtype_name(d));
    return dtype_wrap(d, (int64_t)load_bits(dtype_size(d), p));
}

void dtype_store_double(enum dtype d, void *p, double x)
{
    if (d == DTYPE_DOUBLE) {
        memcpy(p, &x, sizeof x);
    } else if (d == DTYPE_FLOAT) {
        const float rounded = (float)x;
        memcpy(p, &rounded, sizeof rounded);
    } else if (dtype_is_float(d)) {
        store_bits(dtype_size(d), p, encode_small(d, x));
    } else {
        UNREACHABLE("dtype_store_double of %s", dtype_name(d));
    }
}

void dtype_store_int(enum dtype d, void *p, int64_t x)
{
    if (!is_integer_or_bool(d))
        UNREACHABLE("dtype_store_int of %s", dtype_name(d));
    store_bits(dtype_size(d), p, (uint64_t)dtype_wrap(d, x));
}
