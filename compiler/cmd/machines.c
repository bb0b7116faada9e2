/* The table behind --machine, printed. */
#include "base/clean.h"
#include "cmd/cmd.h"

#include <stdio.h>

static void print_number(int number, const char *unit)
{
    char text[24];
    snprintf(text, sizeof text, number ? "%d%s" : "-", number, unit);
    print_text("  %7s", text);
}

void print_machines(void)
{
    static const char *const heads[] = {"vector", "int", "cache", "second", "first"};
    print_text("The machines of --machine: bytes of a vector; bits of int; first and second cache; what goes first,\n"
               "few cycles or few instructions. '-': none, or not known.\n\n");
    print_text("  %-10s", "");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        print_text("  %7s", heads[i]);
    print_text("\n");
    for (size_t i = 0; i < target_count; i++) {
        const struct target *const t = &targets[i];
        print_text("  %-10s", t->name);
        print_number(t->vector_bytes, "");
        print_number(t->int_bits, "");
        print_number(t->cache_kib[0], "K");
        print_number(t->cache_kib[1], "K");
        print_text("  %7s  %s\n", t->small ? "size" : "speed", t->description);
    }
    print_text("\nexample:\n  stepc compile train.onnx -o firmware.c --dim batch=8 --machine cortex-m4\n");
}
