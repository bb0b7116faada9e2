/* SPDX-License-Identifier: 0BSD */
/* Marks for kernel templates. A template is an ordinary C99 file that compiles with sample values; the build finds its
 * holes with libclang by these annotations, other compilers see nothing.
 *
 *   enum HOLE { M = 3, N = 4 };                           integer holes: each enumerator becomes a literal
 *   typedef float T HOLE;                                 type hole; write its constants as (T)0 or (T)0.5
 *   static inline T HOLE load(int i) { ... }              expression hole: a call becomes an expression
 *   static inline void HOLE finish(int i, T x) { ... }    statement hole: a call, alone on its line, becomes statements
 *   KERNEL static void product(const T *restrict a)       what is instantiated; its parameters can be renamed
 *
 * Expressions of integer holes and literals only are computed: N - N % 16 becomes one number.
 *
 * An `if` (or ?:) whose condition is made of integer holes and literals is decided at instantiation; only the live
 * branch is emitted, without braces where that is safe. It and statement holes stand on lines of their own.
 *
 * A loop over such an expression, for (int z = 0; z < D; z++), is left out where it has one iteration: its body stays,
 * z is 0. Hints above it (STEPC_...) go with it. Not below a pragma, nor if the body is but a statement hole, leaves
 * the loop or changes z.
 *
 * The comment directly above a kernel or a function goes with it into emitted code. A comment that begins with "Why:"
 * and has lines of its own stays here: measurements, and what compilers would do otherwise. It stands below the one
 * that says what the code does.
 *
 * Other static functions, typedefs and const tables of the file that a kernel uses are carried along. What depends on
 * no hole keeps its name and is emitted once; what depends on type holes only gets the types as a suffix (tile_float);
 * everything else belongs to the instance (INSTANCE_part), and if a statement or expression hole is called in it, what
 * the hole's text captures is passed to it as further parameters.
 *
 * Functions of the runtime's headers (stepc_expf) and routines of runtime/kernels/ (stepc_tile) are called there, and
 * emitted code includes their headers. A template calls the routine for float; emitted code for double calls the one
 * with _double behind its name. Macros must come from such a header, too; those that depend on the type of elements
 * take it as their first argument: STEPC_LANES(T). No #if inside functions. */
#ifndef STEPC_TEMPLATE_H
#define STEPC_TEMPLATE_H

#if defined(__clang__)
#define HOLE __attribute__((annotate("hole")))
#define KERNEL __attribute__((annotate("kernel")))
#else
#define HOLE
#define KERNEL
#endif

#endif
