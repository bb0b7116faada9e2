/* SPDX-License-Identifier: 0BSD */
/* The end of what stepc_level_begin.h begins. */

#if STEPC_LEVEL >= 3 && defined(__clang__)
#pragma clang attribute pop
#elif STEPC_LEVEL >= 3
#pragma GCC pop_options
#endif
#if defined(STEPC_LEVEL_ADDS_AVX)
#undef STEPC_LEVEL_ADDS_AVX
#undef __AVX__
#undef __AVX2__
#undef __FMA__
#endif
#if STEPC_LEVEL >= 4
#undef __AVX512F__
#endif
#undef STEPC_LEVEL
