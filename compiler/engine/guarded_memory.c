#include "engine/guarded_memory.h"

#include "base/arena.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 1 << 20, ALIGN = 64, ANYTHING = 0xA5 };

static size_t round_up(size_t bytes, size_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

void guarded_memory_release(struct guarded_memory *m)
{
    if (m->pages && m->pages != MAP_FAILED)
        munmap(m->pages, m->length);
    *m = (struct guarded_memory){0};
}

bool guarded_memory_new(size_t bytes, struct guarded_memory *out)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), guard = round_up(GUARD, page);
    if (bytes > SIZE_MAX / 2 || bytes > system_memory())
        return false;
    const size_t used = round_up(bytes ? bytes : 1, ALIGN), inner = round_up(used, page);
    struct guarded_memory m = {.length = inner + 2 * guard};
    m.pages = mmap(NULL, m.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *const open = (unsigned char *)m.pages + guard;
    if (m.pages == MAP_FAILED || mprotect(open, inner, PROT_READ | PROT_WRITE) != 0)
        return guarded_memory_release(&m), false;
    m.data = open + inner - used;
    memset(open, ANYTHING, inner);
    *out = m;
    return true;
}
