/* What is left out of the text without vectors: hints that only help vectors. */
#include "emit/emit_internal.h"

#include "base/str.h"

bool emits_plain(const struct emit_options *o)
{
    return o->simd == SIMD_NONE;
}

/* As runtime/kernels/stepc_registers.h and runtime/stepc.h explain them. */
static const char *const vector_hints[] = {
    "STEPC_LANE_LOOP",  "STEPC_WIDE_LOOP", "STEPC_WHOLE_LOOP", "STEPC_SHORT_LOOP", "STEPC_SHORT_ROWS",
    "STEPC_SHORT_ROW",  "STEPC_SUM_LOOP",  "STEPC_ROW_LOOP",   "STEPC_SUM_LANES",  "STEPC_SELECT_LOOP",
    "STEPC_APART_LOOP", "STEPC_REST_LOOP", "STEPC_RESTS_LOOP"};

/* Without vectors, only writing loops out gains something, and costs instructions. */
const char *loop_hint(const struct emit_options *o, const char *macro)
{
    bool is_idle = macro && o->small && str_starts_with(macro, "STEPC_UNROLL");
    for (size_t i = 0; macro && i < sizeof vector_hints / sizeof *vector_hints; i++)
        is_idle |= str_equal(vector_hints[i], macro);
    return is_idle && emits_plain(o) ? NULL : macro;
}
