/* The little that a test needs from a bare Cortex-M under QEMU. */
#ifndef STEPC_TESTS_PORT_H
#define STEPC_TESTS_PORT_H

#include <stdint.h>

/* Starts the tick counter. Under `-icount shift=0` a tick is exactly 40 instructions. */
void port_init(void);
uint32_t port_ticks(void);

/* Bytes: the deepest the stack has been since reset, and its size. */
uint32_t port_stack_used(void);
uint32_t port_stack_size(void);

/* Writes to the semihosting console. */
void port_put_text(const char *text);
void port_put_number(uint32_t value);
void port_put_hex(uint32_t value); /* 8 digits */

#endif
