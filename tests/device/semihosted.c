/* What newlib's start-up code leaves to the board: vectors, and the floating-point unit, which is off after reset. */
#include <stdint.h>

extern uint32_t __stack[];
extern void _start(void); /* newlib's: memory, files and arguments through the debugger, main(), exit() */
void board_start(void);

void board_start(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    _start();
}

static void fault(void)
{
    static const uint32_t exit_with[2] = {0x20026u, 99u};
    register uint32_t r0 __asm__("r0") = 0x20u; /* SYS_EXIT_EXTENDED */
    register const uint32_t *r1 __asm__("r1") = exit_with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    for (;;) {
    }
}

typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler handlers[6];
} vectors = {__stack, {board_start, fault, fault, fault, fault, fault}};
