/* Element types and conversions between them and the two wide forms the interpreter computes in (double, int64). */
#ifndef STEPC_TENSOR_DTYPE_H
#define STEPC_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are ONNX's. 0 means "not known". */
enum dtype {
    DTYPE_UNDEFINED = 0,
#define DTYPE(E, N, NAME, BITS, KIND, C) DTYPE_##E = (N),
#include "tensor/dtypes.def"
#undef DTYPE
    DTYPE_COUNT
};

/* Sets of dtypes, for schemas: bit n is dtype n. */
typedef uint32_t dtype_set;
#define DTYPE_BIT(d) ((dtype_set)1u << (d))
#define DTYPES_FLOAT_DOUBLE (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE))
#define DTYPES_FLOAT16S (DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16))
#define DTYPES_FLOATS (DTYPES_FLOAT_DOUBLE | DTYPES_FLOAT16S)
#define DTYPES_SIGNED (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64))
#define DTYPES_UNSIGNED                                                                                                \
    (DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_UINT16) | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))
#define DTYPES_INTS (DTYPES_SIGNED | DTYPES_UNSIGNED)
#define DTYPES_BOOL DTYPE_BIT(DTYPE_BOOL)
#define DTYPES_NUMERIC (DTYPES_FLOATS | DTYPES_INTS)
#define DTYPES_ALL (DTYPES_NUMERIC | DTYPES_BOOL)
#define DTYPES_FLOAT8                                                                                                  \
    (DTYPE_BIT(DTYPE_FLOAT8E4M3FN) | DTYPE_BIT(DTYPE_FLOAT8E4M3FNUZ) | DTYPE_BIT(DTYPE_FLOAT8E5M2) |                   \
     DTYPE_BIT(DTYPE_FLOAT8E5M2FNUZ))
#define DTYPES_INT4 (DTYPE_BIT(DTYPE_INT4) | DTYPE_BIT(DTYPE_UINT4))
#define DTYPES_INT2 (DTYPE_BIT(DTYPE_INT2) | DTYPE_BIT(DTYPE_UINT2))
#define DTYPES_INDEX (DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64))

bool dtype_is_valid(int onnx_number); /* 1..26 */
const char *dtype_name(enum dtype d); /* "float"; "undefined" for 0 or nonsense */
enum dtype dtype_from_name(const char *name); /* DTYPE_UNDEFINED if none */
const char *dtype_c_type(enum dtype d);       /* "float", "int64_t"; "" where emitted code has none */
int dtype_bits(enum dtype d);
/* Bytes of one element as stepc keeps it in memory: sub-byte types take one byte each; 0 for STRING. */
size_t dtype_size(enum dtype d);
bool dtype_is_float(enum dtype d);
bool dtype_is_int(enum dtype d); /* signed or unsigned, not bool */
bool dtype_is_signed(enum dtype d);
bool dtype_is_float16(enum dtype d); /* one of DTYPES_FLOAT16S */
/* A floating type of 16 bits or less: a type of memory, kept as its bit pattern. */
bool dtype_is_pattern(enum dtype d);
/* An integer type of less than 8 bits: a type of memory, one value to a byte. */
bool dtype_is_below_byte(enum dtype d);
/* The type that arithmetic on elements of d runs in: float for bit patterns, int8 or uint8 for integers
 * below a byte, else d. */
enum dtype dtype_computed(enum dtype d);

/* Numeric limits of an integer type, as int64 (UINT64's maximum does not fit: dtype_wrap handles it). */
int64_t dtype_min_int(enum dtype d);
int64_t dtype_max_int(enum dtype d);
/* Brings a 64-bit two's complement pattern into the type: integers wrap and are sign- or zero-extended again. */
int64_t dtype_wrap(enum dtype d, int64_t x);
/* Rounds to the nearest value of a floating type (ties to even); DOUBLE: unchanged. */
double dtype_round(enum dtype d, double x);
/* A float as a floating type of 8 or 4 bits, as Cast and QuantizeLinear store it. What lies above the largest value,
 * infinities included, becomes that value if it saturates; else infinity, or NaN where the type has none. x, a double,
 * becomes float first. */
double dtype_round_small(enum dtype d, double x, bool saturates);
/* Float to integer: truncates, saturates (4- and 2-bit types wrap, as ONNX's tests want), NaN gives 0; to bool: x != 0.
 * The pattern of a UINT64 is returned as int64. */
int64_t dtype_from_double(enum dtype d, double x);

/* One element in memory (native byte order, dtype_size bytes, no alignment needed) to and from the wide forms.
 * Floats through double, integers and bool through int64 (UINT64 by pattern). */
double dtype_load_double(enum dtype d, const void *p); /* any numeric type, converted by value */
int64_t dtype_load_int(enum dtype d, const void *p);   /* integers and bool */
void dtype_store_double(enum dtype d, void *p, double x); /* floats: rounds to nearest even (E8M0: up) */
void dtype_store_int(enum dtype d, void *p, int64_t x);   /* integers and bool: wraps */

#endif
