#ifndef STEPC_POSIX_ONLY /* which its test says */
#undef _XOPEN_SOURCE
#define _DEFAULT_SOURCE /* all names that the system has */
#define _DARWIN_C_SOURCE
#endif
#include "base/pages.h"

#include "base/checked.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t system_memory(void)
{
#ifdef _SC_PHYS_PAGES
    const long pages = sysconf(_SC_PHYS_PAGES);
    size_t bytes;
    if (pages > 0 && checked_mul_size((size_t)pages, page_size(), &bytes))
        return bytes;
#endif
    return SIZE_MAX;
}

/* Zeroed memory of its own. A system that does not name it so has it behind a file. */
static void *map(size_t length, int protection)
{
#ifdef MAP_ANONYMOUS
    void *const at = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
    const int zeros = open("/dev/zero", O_RDWR);
    if (zeros < 0)
        return NULL;
    void *const at = mmap(NULL, length, protection, MAP_PRIVATE, zeros, 0);
    close(zeros);
#endif
    return at == MAP_FAILED ? NULL : at;
}

void *pages_reserve(size_t length)
{
    return map(length, PROT_NONE);
}

bool pages_open(void *at, size_t length)
{
    return mprotect(at, length, PROT_READ | PROT_WRITE) == 0;
}

void pages_release(void *at, size_t length)
{
    munmap(at, length);
}

#ifdef MADV_HUGEPAGE
void *pages_large(size_t length)
{
    size_t with_slack;
    if (!checked_add_size(length, PAGES_LARGE, &with_slack))
        return NULL;
    unsigned char *const all = map(with_slack, PROT_READ | PROT_WRITE);
    if (all == NULL)
        return NULL;
    const size_t before = (size_t)(-(uintptr_t)all & (PAGES_LARGE - 1)), behind = with_slack - before - length;
    if (before > 0)
        munmap(all, before);
    if (behind > 0)
        munmap(all + before + length, behind);
    (void)madvise(all + before, length, MADV_HUGEPAGE); /* refused: small pages serve as well */
    return all + before;
}
#else
void *pages_large(size_t length)
{
    (void)length;
    return NULL;
}
#endif
