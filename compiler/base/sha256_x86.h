/* SHA-256 by the instructions that x86 processors have for it: models are tens of megabytes, and each compilation
 * begins with their digest. 2 cycles a byte in the place of 14. */
#ifndef STEPC_BASE_SHA256_X86_H
#define STEPC_BASE_SHA256_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Has this processor got them? Elsewhere false. */
bool sha256_x86_available(void);
/* Takes whole blocks of 64 bytes into the state. Only where they are available. */
void sha256_x86_blocks(uint32_t state[8], const unsigned char *p, size_t blocks);

#endif
