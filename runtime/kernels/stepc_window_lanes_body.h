/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_lanes.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2
typedef STEPC_T STEPC_OF(window_vec) __attribute__((vector_size(STEPC_VECTOR_BYTES)));
/* a window_vec anywhere */
typedef STEPC_T STEPC_OF(window_vec_at)
    __attribute__((vector_size(STEPC_VECTOR_BYTES), aligned(sizeof(STEPC_T)), may_alias));
#endif
