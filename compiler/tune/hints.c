/* Loops whose kind gains nothing on this machine become plain ones: for the compiler they are, and a reader has one
 * word less. Without vectors only writing loops out gains something, and costs instructions. */
#include "tune/tune.h"

static bool is_of_use(const struct tune *t, enum loop_use use)
{
    switch (use) {
    case USE_ANYWHERE: return true;
    case USE_WITH_VECTORS: return t->has_vectors;
    case USE_UNLESS_SMALL: return t->has_vectors || !t->small;
    }
    UNREACHABLE("use of a kind of loops: %d", (int)use);
}

static bool make_plain(const struct tune *t, struct stmt *s, struct tree_builder *b)
{
    (void)b;
    if (s->kind == STMT_LOOP && !is_of_use(t, loop_kinds[s->loop].use))
        s->loop = LOOP_PLAIN;
    return false;
}

void tune_hints(const struct tune *t, stmt_list *body)
{
    tune_replace(t, body, make_plain);
}
