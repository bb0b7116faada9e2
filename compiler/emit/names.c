#include "emit/names.h"

#include "base/str.h"
#include <ctype.h>
#include <string.h>

/* Words of C99, C11, C23 and C++, names of the headers that emitted files include, and what emitted files use themselves. */
static const char *const reserved[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for",
    "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
    "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "bool", "true", "false", "nullptr", "constexpr",
    "alignas", "alignof", "static_assert", "thread_local", "typeof", "asm", "and", "and_eq", "bitand", "bitor", "catch", "class",
    "compl", "concept", "const_cast", "delete", "dynamic_cast", "explicit", "export", "friend", "mutable", "namespace", "new",
    "noexcept", "not", "not_eq", "operator", "or", "or_eq", "private", "protected", "public", "reinterpret_cast", "requires",
    "static_cast", "template", "this", "throw", "try", "typeid", "typename", "using", "virtual", "wchar_t", "xor", "xor_eq",
    "memcpy", "memset", "memmove", "memcmp", "strlen", "strcpy", "NULL", "offsetof", "size_t", "ptrdiff_t", "int8_t", "int16_t",
    "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t", "intptr_t", "main", "errno", "exp", "log",
    "pow", "sqrt", "tanh", "sin", "cos", "tan", "floor", "ceil", "round", "fabs", "abs", "div", "exit", "free", "malloc", "y0",
    "y1", "yn", "j0", "j1", "jn", "gamma", "index", "rindex", "time", "signal", "remove", "rename", "read", "write", "linux",
    "unix", "erf", "erfc", "sinh", "cosh", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "exp2", "exp10", "expm1",
    "log2", "log10", "log1p", "logb", "cbrt", "hypot", "fmin", "fmax", "fmod", "fdim", "fma", "trunc", "rint", "nearbyint", "lround",
    "lrint", "ldexp", "frexp", "modf", "scalb", "scalbn", "significand", "remainder", "drem", "copysign", "nextafter", "lgamma",
    "tgamma", "finite", "signbit", "isnan", "isinf", "isfinite", "isnormal", "isgreater", "isless", "conj", "creal", "cimag", "cabs",
    "carg", "labs", "llabs", "imaxabs", "ffs", "alloca", "calloc", "realloc", "abort", "printf", "fprintf", "sprintf", "snprintf",
    "scanf", "puts", "putchar", "fputs", "fputc", "fwrite", "strcat", "strchr", "strcmp", "strncmp", "strncpy", "strstr", "strdup",
    "bcmp", "bcopy", "bzero", "mempcpy", "stpcpy", "toupper", "tolower", "isalpha", "isdigit", "isspace", "fork", "execl",
    "state", "arena", "seed", "in", "out", "status", "inputs", "outputs"};

static bool is_reserved(const char *s)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (*s == *reserved[i] && !strcmp(s, reserved[i]))
            return true;
    return str_starts_with(s, "stepc_") || str_starts_with(s, "STEPC_");
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
