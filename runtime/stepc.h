/* SPDX-License-Identifier: 0BSD */
/* stepc.h: what every program emitted by stepc shares. Status codes, and descriptors by which checkpoints, other
 * languages and test drivers use any emitted model without knowing its header.
 *
 * Everything here is constant data or a function without state; nothing allocates. C99 and C++. */
#ifndef STEPC_H
#define STEPC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEPC_VERSION_MAJOR 0
#define STEPC_VERSION_MINOR 1
#define STEPC_VERSION_PATCH 0
#define STEPC_VERSION "0.1.0"
/* Raised when the layout of a descriptor below changes; an emitted model carries the number it was written for. */
#define STEPC_ABI 3u

/* ---- macros that a port may define before this header ---------------------- */

#ifndef STEPC_CODE
#define STEPC_CODE /* placement of kernels: __attribute__((section(".itcm"))) */
#endif
#ifndef STEPC_CONST
#define STEPC_CONST /* placement of constant tables: where ordinary loads read them, so not __progmem__ of AVR */
#endif
#ifndef STEPC_TRACE
#define STEPC_TRACE(kernel, name) ((void)0) /* in front of kernel number `kernel` of an entry, with `compile --trace` */
#endif
/* STEPC_NOINLINE: never merged into its caller, so that a profile shows kernels. STEPC_APART: nothing at all is known
 * of the caller. STEPC_INLINE: always merged. */
/* Why: Clang's compile time stays linear in the number of kernels. Nor shall GCC make a copy for the constants that a
 * kernel is called with where x86 has fused operations: GCC 12 then fused products and the constants behind them,
 * whatever -ffp-contract said. And GCC 12 for AVX-512 writes wrong code for copies of short constants that it sees. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__FMA__)
#define STEPC_NOINLINE __attribute__((noinline, noclone))
#elif defined(__GNUC__)
#define STEPC_NOINLINE __attribute__((noinline))
#else
#define STEPC_NOINLINE
#endif
#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__)
#define STEPC_APART __attribute__((noipa))
#else
#define STEPC_APART STEPC_NOINLINE
#endif
#if defined(__GNUC__)
#define STEPC_INLINE inline __attribute__((always_inline))
#else
#define STEPC_INLINE inline
#endif
/* Kernels may use the largest vectors. */
/* Why: kernels spell out their vectors. Clang, tuned for a processor on which it prefers 256 bits, would cut those of
 * 512 in halves, which need twice the registers: matrix products took twice the time. */
#if defined(__clang__) && defined(__AVX512F__)
#define STEPC_WIDE __attribute__((min_vector_width(512)))
#else
#define STEPC_WIDE
#endif
#define STEPC_KERNEL STEPC_CODE STEPC_NOINLINE STEPC_WIDE
/* Numbers are computed with more digits than they have, as in 32-bit code for the x87. (16 says so of half precision
 * only.) */
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#define STEPC_EXCESS_PRECISION
#endif
/* Processors of AMD, which alone have SSE4a. */
/* Why: they divide as fast as others multiply several times, and add twice as fast as they multiply and add in one. */
#if defined(__SSE4A__)
#define STEPC_AMD
#endif
/* For a kernel whose loops gain by the largest vectors, also where the compiler prefers smaller ones. */
/* Why: GCC is asked function by function, Clang loop by loop. */
#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__) && defined(__AVX512F__)
#define STEPC_WIDE_VECTORS __attribute__((target("prefer-vector-width=512")))
#else
#define STEPC_WIDE_VECTORS
#endif
/* A hint to the compiler, before a loop. */
/* Why: Frama-C reads no pragma between one loop and the next. */
#if defined(__FRAMAC__)
#define STEPC_HINT(text)
#else
#define STEPC_HINT(text) _Pragma(text)
#endif
/* Before a loop over lanes that selects. */
/* Why: both compilers unroll short loops first, and then find no vectors in the branches. */
#if defined(__clang__)
#define STEPC_SELECT_LOOP STEPC_HINT("clang loop unroll(disable)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define STEPC_SELECT_LOOP STEPC_HINT("GCC unroll 1")
#else
#define STEPC_SELECT_LOOP
#endif
/* The same where the elements lie apart and the loop has fewer than 16 iterations. */
/* Why: Clang would take 8 iterations at a time and the rest one by one, or gather (of 5 iterations: a third of the
 * time, of 14: half). */
#if defined(__clang__)
#define STEPC_APART_LOOP STEPC_HINT("clang loop vectorize_width(4) unroll(disable)")
#else
#define STEPC_APART_LOOP STEPC_SELECT_LOOP
#endif
/* Before loops over the 16 lanes of a sum, SUM_LANES, and those in which only the first n of them add something, of one
 * sum, REST, or of several, RESTS; STEPC_REST(n) is how many lanes these go over. */
/* Why: with masks one vector takes all 16 lanes: files that want the largest vectors ask it of GCC, too. (GCC 12 reads
 * beyond the masks of smaller vectors of AVX-512.) Clang keeps the lanes in registers if it unrolls both loops of one
 * sum, which at -O2 it does not by itself (a third of the time), or neither of two. */
#if defined(__clang__) && !defined(__OPTIMIZE_SIZE__) && (defined(__SSE2__) || defined(__aarch64__))
#define STEPC_SUM_LANES STEPC_HINT("clang loop unroll(full)")
#define STEPC_REST_LOOP STEPC_SUM_LANES
#define STEPC_RESTS_LOOP
#elif defined(__clang__)
#define STEPC_SUM_LANES
#define STEPC_REST_LOOP
#define STEPC_RESTS_LOOP
#else
#define STEPC_SUM_LANES
#define STEPC_REST_LOOP STEPC_SELECT_LOOP
#define STEPC_RESTS_LOOP STEPC_SELECT_LOOP
#endif
#if defined(__clang__) && defined(__AVX__)
#define STEPC_REST(n) 16
#else
#define STEPC_REST(n) (n)
#endif

/* The functions below are those of stepc.c. A header made with `stepc compile --standalone` has this file and that one
 * in it; there they are static, so that each source file has its own and nothing is linked. */
#ifdef STEPC_STANDALONE
#define STEPC_FUNCTION static inline
#else
#define STEPC_FUNCTION
#endif

/* Infinity and NaN as constants of each type, for emitted code. Without the built-ins they are values that overflow;
 * what the arithmetic says about them then is the compiler's business. */
#if defined(__GNUC__)
#define STEPC_INFF __builtin_inff()
#define STEPC_INF __builtin_inf()
#define STEPC_NANF __builtin_nanf("")
#define STEPC_NAN __builtin_nan("")
#else
#define STEPC_INFF ((float)(1e300 * 1e300))
#define STEPC_INF (1e300 * 1e300)
#define STEPC_NANF (STEPC_INFF - STEPC_INFF)
#define STEPC_NAN (STEPC_INF - STEPC_INF)
#endif

/* ---- status ----------------------------------------------------------------- */

/* An entry that returns anything but STEPC_OK has left the state as it was. ORDER STATUS: texts in stepc.c. */
typedef enum stepc_status {
    STEPC_OK = 0,
    STEPC_E_ARGUMENT,   /* a required pointer is NULL, or a count or size is wrong */
    STEPC_E_LABEL,      /* a class label is outside 0 .. classes-1 */
    STEPC_E_INDEX,      /* an index is outside the axis it selects from */
    STEPC_E_ARITHMETIC, /* this build rounds differently from what --reproducible promises */
    STEPC_E_NOT_FOUND,  /* the model has no entry or variable of that name */
    STEPC_E_IO,         /* a callback of the caller reported a failure */
    STEPC_E_CORRUPT,    /* a checkpoint is damaged: no slot with a valid checksum */
    STEPC_E_MISMATCH,   /* a checkpoint or weights file is sound but was written for another model or version */
    STEPC_E_NOT_FINITE, /* with --check-finite: what would have been stored is infinite or no number */
    STEPC_E_BLANK,      /* storage for checkpoints to which none was ever written */
    STEPC_STATUS_COUNT
} stepc_status;

/* One English sentence without a full stop; never NULL, "unknown status" for other numbers. */
STEPC_FUNCTION const char *stepc_status_text(stepc_status status);

/* ---- tensors ---------------------------------------------------------------- */

/* Gives an arena the alignment of any element type. More brings nothing: vector code measured the same at 8 and 64. */
typedef union stepc_max_align {
    double d;
    int64_t i;
    void *p;
    void (*f)(void);
} stepc_max_align;

/* The numbers are ONNX's. */
typedef enum stepc_dtype {
    STEPC_FLOAT = 1,
    STEPC_UINT8 = 2,
    STEPC_INT8 = 3,
    STEPC_UINT16 = 4,
    STEPC_INT16 = 5,
    STEPC_INT32 = 6,
    STEPC_INT64 = 7,
    STEPC_BOOL = 9,     /* uint8_t, 0 or 1 */
    STEPC_FLOAT16 = 10, /* uint16_t, the bit pattern */
    STEPC_DOUBLE = 11,
    STEPC_UINT32 = 12,
    STEPC_UINT64 = 13,
    STEPC_BFLOAT16 = 16,      /* uint16_t, the bit pattern */
    STEPC_FLOAT8E4M3FN = 17,  /* floats of 8 and 4 bits: uint8_t, the bit pattern, one to a byte */
    STEPC_FLOAT8E4M3FNUZ = 18,
    STEPC_FLOAT8E5M2 = 19,
    STEPC_FLOAT8E5M2FNUZ = 20,
    STEPC_UINT4 = 21, /* integers of 4 and 2 bits: uint8_t or int8_t, one value to a byte */
    STEPC_INT4 = 22,
    STEPC_FLOAT4E2M1 = 23,
    STEPC_FLOAT8E8M0 = 24,
    STEPC_UINT2 = 25,
    STEPC_INT2 = 26
} stepc_dtype;

/* Bytes of one element; 0 for a number that is no dtype. */
STEPC_FUNCTION size_t stepc_dtype_size(stepc_dtype dtype);
/* ONNX's name in lower case, "float"; "unknown" for a number that is no dtype. */
STEPC_FUNCTION const char *stepc_dtype_name(stepc_dtype dtype);

typedef struct stepc_tensor_info {
    const char *name; /* as in the ONNX model, UTF-8 */
    stepc_dtype dtype;
    unsigned rank;
    const size_t *dims; /* rank numbers, row-major order; NULL for a scalar */
} stepc_tensor_info;

/* Elements and bytes of a tensor: the product of its dims, 1 for a scalar. stepc has checked that both fit size_t. */
STEPC_FUNCTION size_t stepc_tensor_count(const stepc_tensor_info *tensor);
STEPC_FUNCTION size_t stepc_tensor_bytes(const stepc_tensor_info *tensor);

/* ---- variables: the members of the state ------------------------------------ */

typedef enum stepc_role {
    STEPC_ROLE_WEIGHT,    /* trained: weights, biases, scales */
    STEPC_ROLE_STATISTIC, /* running means and variances, moving averages of weights */
    STEPC_ROLE_OPTIMIZER, /* moments, learning rate */
    STEPC_ROLE_COUNTER,   /* step and random counters */
    STEPC_ROLE_SUM        /* sums over samples, which machines that share a batch add up: see mpi/stepc_mpi.h */
} stepc_role;

typedef struct stepc_variable_info {
    stepc_tensor_info tensor;
    size_t offset; /* bytes from the start of the state */
    stepc_role role;
    /* For a variable that the state keeps in another layout than row-major; NULL where it is plain. `values` are
     * `count` of its elements, from number `first` on, row-major. */
    void (*read)(const void *state, void *values, size_t first, size_t count);
    void (*write)(void *state, const void *values, size_t first, size_t count);
} stepc_variable_info;

/* ---- entries ---------------------------------------------------------------- */

#define STEPC_ENTRY_SEED 1u   /* uses `seed` */
#define STEPC_ENTRY_MUTATES 2u /* may change the state; without it the state is only read */

/* The generic form of an entry: pointers in the order in which `inputs` and `outputs` are declared. An output that is
 * NULL is not wanted. Nothing may overlap. */
typedef stepc_status (*stepc_entry_function)(void *state, void *arena, uint64_t seed, const void *const *inputs,
                                             void *const *outputs);

typedef struct stepc_entry {
    const char *name; /* "init", "step", "infer", ... */
    unsigned flags;   /* STEPC_ENTRY_... */
    unsigned input_count;
    unsigned output_count;
    const stepc_tensor_info *inputs;
    const stepc_tensor_info *outputs;
    stepc_entry_function call;
} stepc_entry;

/* A count that is given as an input: 0, which no entry takes, where it is not. */
static inline int32_t stepc_count(const void *input)
{
    return input != NULL ? *(const int32_t *)input : 0;
}

/* ---- models ----------------------------------------------------------------- */

typedef struct stepc_model {
    uint32_t abi;            /* STEPC_ABI of the stepc that wrote it */
    const char *name;        /* the C prefix */
    const char *fingerprint; /* hexadecimal sha256 of the ONNX file */
    size_t state_bytes;
    size_t arena_bytes;
    unsigned variable_count;
    unsigned entry_count;
    const stepc_variable_info *variables; /* in the order of the state */
    const stepc_entry *entries;
    /* For each entry the variables that a call may change: their numbers, ascending, then variable_count. NULL in a
     * model without sums over samples, where nobody asks. */
    const unsigned *const *updates;
} stepc_model;

/* By exact name; NULL if there is none. */
STEPC_FUNCTION const stepc_entry *stepc_find_entry(const stepc_model *model, const char *name);
STEPC_FUNCTION const stepc_variable_info *stepc_find_variable(const stepc_model *model, const char *name);

/* Copy one variable out of or into a state, as stepc_tensor_bytes() bytes of row-major values, whatever its layout. */
STEPC_FUNCTION void stepc_read_variable(const stepc_variable_info *variable, const void *state, void *values);
STEPC_FUNCTION void stepc_write_variable(const stepc_variable_info *variable, void *state, const void *values);

#ifdef __cplusplus
}
#endif

#endif
