/* SPDX-License-Identifier: 0BSD */
/* The headers stepc_*_body.h that follow are for elements of this type. No guard: each type is set many times. */
#undef STEPC_T
#undef STEPC_OF
#define STEPC_T float
#define STEPC_OF(name) stepc_##name
