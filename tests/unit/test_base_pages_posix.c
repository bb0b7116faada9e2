/* The same where a system has nothing but POSIX.1-2008: this pages.c takes the place of the library's. */
#define STEPC_POSIX_ONLY
#include <sys/mman.h>
#undef MAP_ANONYMOUS /* POSIX.1-2024 has it */
#undef MADV_HUGEPAGE
#include "base/pages.c"

#include "test_base_pages.c"
