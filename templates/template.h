/* SPDX-License-Identifier: 0BSD */
/* Marks for kernel templates. A template is an ordinary C99 file that compiles, and is tested, with sample values.
 * When stepc is built, its functions are read into statement trees (compiler/tools over libclang,
 * compiler/tree/tree.h); other compilers see nothing of the marks.
 *
 *   enum HOLE { M = 3, N = 4 };                           integer holes: each enumerator becomes a number
 *   typedef float T HOLE;                                 type hole; write its constants as (T)0 or (T)-0.5
 *   static inline T HOLE load(int i) { ... }              expression hole: what a call gives is the kernel's
 *   static inline void HOLE finish(int i, T x) { ... }    statement hole: a call becomes statements of the kernel
 *   KERNEL static void product(const T *restrict a)       what is instantiated; its parameters are operands of a kernel
 *
 * T is the type of elements, for which functions and headers have versions; other type holes may have any name. What
 * the bodies of holes name beside their parameters (a static array, say) is there for the sample only.
 *
 * For a kernel of the emitted file, compiler/tree/instance.c builds each function anew with what is bound to its
 * holes:
 *
 * - What is computed of sizes alone is a number: N - N % 16. So are comparisons, && and || and ?: between these, and
 *   an `if` on such a condition is the branch that is taken. What is not taken is not built; holes that only it calls
 *   need not be bound, nor must operands. An integer hole WITH_... that is not bound is 0.
 * - A loop over sizes, for (int z = 0; z < D; z++), that runs once is its body, with z as number; one that never runs
 *   is nothing. A macro above it, which says of which kind it is (a row of
 *   compiler/tree/loop_kinds.def), goes with it.
 * - A function that is called once becomes a part of its caller, unless it returns before its end, is given one place
 *   as two parameters of which one is written, or is STEPC_KERNEL. One that depends on sizes and only returns a value
 *   is that value. In what stays, a parameter that is the same constant in all calls is that constant.
 * - What depends on no hole keeps its name and is emitted once; what depends on T only gets the type as suffix
 *   (tile_float); everything else belongs to the kernel (KERNEL_part). Names of locals give way to the kernel's.
 *
 * Then compiler/tree/settle.c takes out what nobody reads: values, locals that are only set, parameters and their
 * arguments. Variables of the kernel that holes name in a function become parameters of it. (void)x is for the
 * sample's compiler and is not read.
 *
 * What a function of a template may say is what a tree can hold:
 *
 * - declarations with a value, one or several of a type: int, unsigned, size_t, types of <stdint.h>, type holes,
 *   structs of headers of kernels; pointers into arrays; arrays without a value or with one, {(T)0} or {x},
 *   the others being 0; a struct as {.low = 0, .high = n}. Names differ from those of the file;
 * - for with a variable of its own, whose step is ++, --, += x, -= x or = x; if and else; return; blocks only behind
 *   these;
 * - =, +=, -=, *= and |= of a variable or an element, and calls, as statements;
 * - the operators + - * / % < <= > >= == != && || ! ?:, casts to these types, sizeof of a type, elements of
 *   variables, p + n and &p[n], members, and (T *)0.
 *
 * Whatever else stands there is an error of the build. Types of operands must fit: what is compared with an element
 * is (T)0, not 0.
 *
 * The comment directly above a kernel, a function or a statement goes with it into emitted code. That of a function
 * says what is there: its parameters (of one letter, in backticks, or beside .. + - [), operands and sizes go by the
 * names and numbers that they have; {what stands in braces} goes if something in it is not there, else the sentence.
 * A comment that begins with "Why:" and has lines of its own stays here: measurements, and what compilers would do
 * otherwise. It stands below the one that says what the code does.
 *
 * Functions of the runtime's headers (stepc_expf) and routines of runtime/kernels/ (stepc_tile) are called there, and
 * emitted code includes their headers. A template calls the routine for float; emitted code for double calls the one
 * with _double behind its name. Macros must come from a header that emitted code includes, too: what they stand for is
 * the user's compiler's knowledge, and they stay as they are spelt. Those that depend on the type of elements take it
 * as their first argument: STEPC_LANES(T). No #if inside functions; it stands in such a header. */
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
