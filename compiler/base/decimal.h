/* Floating-point numbers as decimal text: as few digits as read back to the same number. */
#ifndef STEPC_BASE_DECIMAL_H
#define STEPC_BASE_DECIMAL_H

#include <stddef.h>

#define DECIMAL_MAX 32 /* room for any of these texts and its NUL */

/* "0.1", "-1.5e-7", "3", "-0", "inf", "-inf", "nan", "-nan": a whole number has no point, a big one an exponent
 * ("1e9"). A correctly rounding reader gets x back, whether it reads a float directly or by way of a double. The digits
 * are at most 9 for a float, 17 for a double, and the fewest that do (save beside a few powers of two, where one digit
 * more may be written). The same on every machine. Returns the length. */
size_t decimal_float(char text[DECIMAL_MAX], float x);
size_t decimal_double(char text[DECIMAL_MAX], double x);

#endif
