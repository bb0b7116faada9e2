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
    struct strbuf b = {.arena = a};
    for (const char *p = wish; *p; p++) {
        const bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (plain)
            strbuf_add_n(&b, p, 1);
        else if (b.length > 0 && b.text[b.length - 1] != '_') /* runs of other characters become one underscore */
            strbuf_add(&b, "_");
    }
    while (b.length > 0 && b.text[b.length - 1] == '_')
        b.text[--b.length] = '\0';
    const char *text = strbuf_text(&b);
    if (b.length > 48) /* C99 promises 63 significant characters, prefixes and suffixes included */
        text = arena_strndup(a, text, 48);
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
