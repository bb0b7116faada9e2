/* The machine that a text is for: its row, and what the command line says otherwise. */
#include "emit/emit_internal.h"

bool emits_plain(const struct emit_options *o)
{
    return o->simd == SIMD_NONE;
}

struct tune emit_machine(const struct emission *e)
{
    const struct emit_options *const o = e->options;
    return (struct tune){.arena = e->arena, .row = o->target ? o->target : &targets[0],
                         .has_vectors = !emits_plain(o), .small = o->small};
}
