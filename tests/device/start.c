/* Start-up without libc start files for the Cortex-M machines of QEMU: vectors, memory set-up, semihosting, ticks and
 * stack measurement. main()'s result becomes QEMU's exit status; any fault ends the run with status 99. */
#include "port.h"

enum { SEMIHOSTING_WRITE0 = 0x04, SEMIHOSTING_EXIT_EXTENDED = 0x20 }; /* plain EXIT knows only 0 and 1 on 32 bit */
#define APPLICATION_EXIT 0x20026u
#define FAULT_STATUS 99u
#define STACK_PAINT 0xC0DEC0DEu
#define TICK_MAX 0x00FFFFFFu

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYST_CONTROL REGISTER(0xE000E010u)
#define SYST_RELOAD REGISTER(0xE000E014u)
#define SYST_CURRENT REGISTER(0xE000E018u)
#define COPROCESSOR_ACCESS REGISTER(0xE000ED88u)

/* From link.ld. */
extern uint32_t __data_load[], __data_start[], __data_end[], __bss_start[], __bss_end[], __stack_limit[], __stack_top[];

int main(void);
void reset_handler(void);
void fault_handler(void);
void tick_handler(void);

static volatile uint32_t tick_wraps;

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void leave(uint32_t status)
{
    const uint32_t block[2] = {APPLICATION_EXIT, status};
    semihosting(SEMIHOSTING_EXIT_EXTENDED, block);
    for (;;) {
    }
}

void port_put_text(const char *text)
{
    semihosting(SEMIHOSTING_WRITE0, text);
}

/* printf would bring a heap for %f and a few kilobytes for the rest. */
static void put_digits(uint32_t value, uint32_t base, int width)
{
    char text[11];
    char *p = text + sizeof text - 1;
    *p = '\0';
    do {
        *--p = "0123456789abcdef"[value % base];
        value /= base;
        width--;
    } while (value > 0 || width > 0);
    port_put_text(p);
}

void port_put_number(uint32_t value)
{
    put_digits(value, 10u, 1);
}

void port_put_hex(uint32_t value)
{
    put_digits(value, 16u, 8);
}

void port_init(void)
{
    SYST_RELOAD = TICK_MAX;
    SYST_CURRENT = 0;
    SYST_CONTROL = 7u; /* processor clock, interrupt on wrap, enabled */
    while (SYST_CURRENT == 0) {
    }
}

uint32_t port_ticks(void)
{
    uint32_t wraps, left;
    do {
        wraps = tick_wraps;
        left = SYST_CURRENT;
    } while (wraps != tick_wraps);
    return (wraps << 24) + (TICK_MAX - left);
}

uint32_t port_stack_size(void)
{
    return (uint32_t)((const char *)__stack_top - (const char *)__stack_limit);
}

uint32_t port_stack_used(void)
{
    const uint32_t *p = __stack_limit;
    while (p < __stack_top && *p == STACK_PAINT)
        p++;
    return (uint32_t)((const char *)__stack_top - (const char *)p);
}

void tick_handler(void)
{
    tick_wraps++;
}

void fault_handler(void)
{
    port_put_text("fault\n");
    leave(FAULT_STATUS);
}

void reset_handler(void)
{
    const uint32_t *from = __data_load;
    uint32_t *stack_pointer;
#if defined(__ARM_FP)
    COPROCESSOR_ACCESS |= 0xFu << 20; /* the floating-point unit is off after reset */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    for (uint32_t *to = __data_start; to < __data_end;)
        *to++ = *from++;
    for (uint32_t *to = __bss_start; to < __bss_end;)
        *to++ = 0;
    __asm__ volatile("mov %0, sp" : "=r"(stack_pointer));
    for (volatile uint32_t *to = __stack_limit; to < stack_pointer - 16;)
        *to++ = STACK_PAINT;
    leave((uint32_t)main());
}

typedef void (*handler)(void);
struct vectors {
    uint32_t *stack;
    handler handlers[15];
};

__attribute__((section(".vectors"), used)) const struct vectors vectors = {
    __stack_top,
    {reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, 0, 0, 0, 0,
     fault_handler, fault_handler, 0, fault_handler, tick_handler},
};
