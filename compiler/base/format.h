/* printf into memory, several times as fast for what emitted text is made of: small pieces, a hundred for each node of
 * a model, took vsnprintf() a sixth of the time of compiling it. */
#ifndef STEPC_BASE_FORMAT_H
#define STEPC_BASE_FORMAT_H

#include "base/arena.h"

/* What vsnprintf() does and returns. %c, %d, %u, %ld, %lu, %lld, %llu, %zu and %s, also with a width or a precision
 * given as *, are done here; a text with any other conversion is left to vsnprintf(). */
int format_text(char *out, size_t room, const char *fmt, va_list args) PRINTF_LIKE(3, 0);

#endif
