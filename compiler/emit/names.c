#include "emit/names.h"

#include "base/str.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words of C99, C11, C23 and C++, names of the headers that emitted files include, and what emitted files use themselves. In the order of
 * strcmp(). */
static const char *const reserved[] = {
    "NULL", "abort", "abs", "acos", "acosh", "alignas", "alignof", "alloca", "and", "and_eq", "arena", "asin", "asinh", "asm",
    "atan", "atan2", "atanh", "auto", "bcmp", "bcopy", "bitand", "bitor", "bool", "break", "bzero", "cabs", "calloc", "carg",
    "case", "catch", "cbrt", "ceil", "char", "cimag", "class", "compl", "concept", "conj", "const", "const_cast", "constexpr",
    "continue", "copysign", "cos", "cosh", "creal", "default", "delete", "div", "do", "double", "drem", "dynamic_cast", "else",
    "enum", "erf", "erfc", "errno", "execl", "exit", "exp", "exp10", "exp2", "explicit", "expm1", "export", "extern", "fabs",
    "false", "fdim", "ffs", "finite", "float", "floor", "fma", "fmax", "fmin", "fmod", "for", "fork", "fprintf", "fputc",
    "fputs", "free", "frexp", "friend", "fwrite", "gamma", "goto", "hypot", "if", "imaxabs", "in", "index", "inline", "inputs",
    "int", "int16_t", "int32_t", "int64_t", "int8_t", "intptr_t", "isalpha", "isdigit", "isfinite", "isgreater", "isinf",
    "isless", "isnan", "isnormal", "isspace", "j0", "j1", "jn", "labs", "ldexp", "lgamma", "linux", "llabs", "log", "log10",
    "log1p", "log2", "logb", "long", "lrint", "lround", "main", "malloc", "memcmp", "memcpy", "memmove", "mempcpy", "memset",
    "modf", "mutable", "namespace", "nearbyint", "new", "nextafter", "noexcept", "not", "not_eq", "nullptr", "offsetof",
    "operator", "or", "or_eq", "out", "outputs", "pow", "printf", "private", "protected", "ptrdiff_t", "public", "putchar",
    "puts", "read", "realloc", "register", "reinterpret_cast", "remainder", "remove", "rename", "requires", "restrict",
    "return", "rindex", "rint", "round", "scalb", "scalbn", "scanf", "seed", "short", "signal", "signbit", "signed",
    "significand", "sin", "sinh", "size_t", "sizeof", "snprintf", "sprintf", "sqrt", "state", "static", "static_assert",
    "static_cast", "status", "stpcpy", "strcat", "strchr", "strcmp", "strcpy", "strdup", "strlen", "strncmp", "strncpy",
    "strstr", "struct", "switch", "tan", "tanh", "template", "tgamma", "this", "thread_local", "throw", "time", "tolower",
    "toupper", "true", "trunc", "try", "typedef", "typeid", "typename", "typeof", "uint16_t", "uint32_t", "uint64_t", "uint8_t",
    "uintptr_t", "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "write", "xor",
    "xor_eq", "y0", "y1", "yn"};

static int compare(const void *word, const void *entry)
{
    return strcmp(word, *(const char *const *)entry);
}

static bool is_reserved(const char *s)
{
    return bsearch(s, reserved, sizeof reserved / sizeof *reserved, sizeof *reserved, compare) != NULL || str_starts_with(s, "stepc_") ||
           str_starts_with(s, "STEPC_");
}

const char *name_mangle(struct arena *a, const char *wish)
{
    enum { LONGEST = 48 }; /* C99 promises 63 significant characters, prefixes and suffixes included */
    char *const text = arena_array(a, char, strlen(wish) + 1);
    size_t n = 0;
    for (const char *p = wish; *p; p++) {
        const bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (plain)
            text[n++] = *p;
        else if (n > 0 && text[n - 1] != '_') /* runs of other characters become one underscore */
            text[n++] = '_';
    }
    while (n > 0 && text[n - 1] == '_')
        n--;
    text[n < LONGEST ? n : LONGEST] = '\0';
    if (*text == '\0')
        return "v";
    if (*text >= '0' && *text <= '9')
        return arena_printf(a, "v%s", text);
    return is_reserved(text) ? arena_printf(a, "%s_", text) : text;
}

const char *name_in(struct name_scope *s, const char *wish)
{
    struct arena *a = s->taken.arena;
    const char *base = name_mangle(a, wish), *name = base;
    intptr_t number = (intptr_t)map_get(&s->taken, base);
    while (map_has(&s->taken, name))
        name = arena_printf(a, "%s_%d", base, (int)(++number + 1));
    map_set(&s->taken, base, (void *)number);
    if (name != base)
        map_set(&s->taken, name, NULL);
    return name;
}

const char *name_upper(struct arena *a, const char *identifier)
{
    char *s = arena_strdup(a, identifier);
    for (char *p = s; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return s;
}
