/* Memory as the system has it, in pages: the one place that asks for more than POSIX.1-2008 (memory that is no file's,
 * large pages, the size of memory), and has another way where the system has it not. */
#ifndef STEPC_BASE_PAGES_H
#define STEPC_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of this machine's memory; SIZE_MAX: it does not say. */
size_t system_memory(void);

size_t page_size(void);

/* Addresses that nobody may touch, whole pages; NULL: there are not so many. pages_open() makes memory of a part. */
void *pages_reserve(size_t length);
bool pages_open(void *at, size_t length);
void pages_release(void *at, size_t length);

/* Zeroed memory in large pages, whose length is a multiple of PAGES_LARGE; NULL: the system has none. */
enum { PAGES_LARGE = 2 << 20 };
void *pages_large(size_t length);

#endif
