#include "tree/tree.h"

#include "base/str.h"

const struct loop_kind_row loop_kinds[] = {
#define LOOP_KIND(kind, macro, header, use) [LOOP_##kind] = {#kind, macro, header, USE_##use},
#include "tree/loop_kinds.def"
#undef LOOP_KIND
};

bool loop_kind_find(const char *macro, enum loop_kind *kind)
{
    for (size_t i = 0; i < sizeof loop_kinds / sizeof *loop_kinds; i++)
        if (loop_kinds[i].macro && str_equal(loop_kinds[i].macro, macro)) {
            *kind = (enum loop_kind)i;
            return true;
        }
    return false;
}
