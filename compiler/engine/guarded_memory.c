#include "engine/guarded_memory.h"

#include "base/pages.h"
#include <stdint.h>
#include <string.h>

enum { GUARD = 1 << 20, ALIGN = 64, ANYTHING = 0xA5 };

static size_t round_up(size_t bytes, size_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

void guarded_memory_release(struct guarded_memory *m)
{
    if (m->pages)
        pages_release(m->pages, m->length);
    *m = (struct guarded_memory){0};
}

bool guarded_memory_new(size_t bytes, struct guarded_memory *out)
{
    const size_t page = page_size(), guard = round_up(GUARD, page);
    if (bytes > SIZE_MAX / 2 || bytes > system_memory())
        return false;
    const size_t used = round_up(bytes ? bytes : 1, ALIGN), inner = round_up(used, page);
    struct guarded_memory m = {.length = inner + 2 * guard};
    m.pages = pages_reserve(m.length);
    if (!m.pages)
        return false;
    unsigned char *const open = (unsigned char *)m.pages + guard;
    if (!pages_open(open, inner))
        return guarded_memory_release(&m), false;
    m.data = open + inner - used;
    memset(open, ANYTHING, inner);
    *out = m;
    return true;
}
