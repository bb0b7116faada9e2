/* Which identifiers mean something to C or C++ already, or to an emitted file: names from a model must be others,
 * wherever they stand, since a macro also replaces members. tests/emitted/names holds this against the headers of
 * the compilers at hand. */
#include "emit/names.h"

#include "base/str.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words of C99, C11, C23 and C++; what the standard headers define and declare, but for the patterns below, and
 * those that emitted files include in GNU mode as well; what compilers define by themselves; what emitted files use.
 * In the order of strcmp(). */
static const char *const words[] = {
    "AVR", "BITINT_MAXWIDTH", "BUFSIZ", "CLOCKS_PER_SEC", "CMPLX", "CMPLXF", "CMPLXL", "DECIMAL_DIG", "E2BIG",
    "EACCES", "EADDRINUSE", "EADDRNOTAVAIL", "EADV", "EAFNOSUPPORT", "EAGAIN", "EALREADY", "EBADE", "EBADF", "EBADFD",
    "EBADMSG", "EBADR", "EBADRQC", "EBADSLT", "EBFONT", "EBUSY", "ECANCELED", "ECHILD", "ECHRNG", "ECOMM",
    "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EDEADLK", "EDEADLOCK", "EDESTADDRREQ", "EDOM", "EDOTDOT", "EDQUOT",
    "EEXIST", "EFAULT", "EFBIG", "EHOSTDOWN", "EHOSTUNREACH", "EHWPOISON", "EIDRM", "EILSEQ", "EINPROGRESS", "EINTR",
    "EINVAL", "EIO", "EISCONN", "EISDIR", "EISNAM", "EKEYEXPIRED", "EKEYREJECTED", "EKEYREVOKED", "EL2HLT",
    "EL2NSYNC", "EL3HLT", "EL3RST", "ELIBACC", "ELIBBAD", "ELIBEXEC", "ELIBMAX", "ELIBSCN", "ELNRNG", "ELOOP",
    "EMEDIUMTYPE", "EMFILE", "EMLINK", "EMSGSIZE", "EMULTIHOP", "ENAMETOOLONG", "ENAVAIL", "ENETDOWN", "ENETRESET",
    "ENETUNREACH", "ENFILE", "ENOANO", "ENOBUFS", "ENOCSI", "ENODATA", "ENODEV", "ENOENT", "ENOEXEC", "ENOKEY",
    "ENOLCK", "ENOLINK", "ENOMEDIUM", "ENOMEM", "ENOMSG", "ENONET", "ENOPKG", "ENOPROTOOPT", "ENOSPC", "ENOSR",
    "ENOSTR", "ENOSYS", "ENOTBLK", "ENOTCONN", "ENOTDIR", "ENOTEMPTY", "ENOTNAM", "ENOTRECOVERABLE", "ENOTSOCK",
    "ENOTSUP", "ENOTTY", "ENOTUNIQ", "ENXIO", "EOF", "EOPNOTSUPP", "EOVERFLOW", "EOWNERDEAD", "EPERM", "EPFNOSUPPORT",
    "EPIPE", "EPROTO", "EPROTONOSUPPORT", "EPROTOTYPE", "ERANGE", "EREMCHG", "EREMOTE", "EREMOTEIO", "ERESTART",
    "ERFKILL", "EROFS", "ESHUTDOWN", "ESOCKTNOSUPPORT", "ESPIPE", "ESRCH", "ESRMNT", "ESTALE", "ESTRPIPE", "ETIME",
    "ETIMEDOUT", "ETOOMANYREFS", "ETXTBSY", "EUCLEAN", "EUNATCH", "EUSERS", "EWOULDBLOCK", "EXDEV", "EXFULL",
    "EXIT_FAILURE", "EXIT_SUCCESS", "FILENAME_MAX", "FOPEN_MAX", "HAVE_INITFINI_ARRAY", "HUGE_VAL", "HUGE_VALF",
    "HUGE_VALL", "I", "INFINITY", "L_tmpnam", "MATH_ERREXCEPT", "MATH_ERRNO", "MB_CUR_MAX", "MB_LEN_MAX", "NAN",
    "NULL", "ONCE_FLAG_INIT", "PPC", "RAND_MAX", "SEEK_CUR", "SEEK_END", "SEEK_SET", "SIGABRT", "SIGALRM", "SIGBUS",
    "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE",
    "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMIN", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS",
    "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH",
    "SIGXCPU", "SIGXFSZ", "SIG_DFL", "SIG_ERR", "SIG_IGN", "TIME_UTC", "TMP_MAX", "TSS_DTOR_ITERATIONS", "WEOF",
    "abort", "abs", "acos", "acosf", "acosh", "acoshf", "acoshl", "acosl", "alignas", "aligned_alloc", "alignof",
    "alloca", "and", "and_eq", "arena", "asctime", "asin", "asinf", "asinh", "asinhf", "asinhl", "asinl", "asm",
    "assert", "at_quick_exit", "atan", "atan2", "atan2f", "atan2l", "atanf", "atanh", "atanhf", "atanhl", "atanl",
    "atexit", "atof", "atoi", "atol", "atoll", "auto", "bcmp", "bcopy", "bitand", "bitor", "bool", "break", "bsearch",
    "btowc", "bzero", "c16rtomb", "c32rtomb", "cabs", "cabsf", "cabsl", "cacos", "cacosf", "cacosh", "cacoshf",
    "cacoshl", "cacosl", "call", "call_once", "calloc", "carg", "cargf", "cargl", "case", "casin", "casinf", "casinh",
    "casinhf", "casinhl", "casinl", "catan", "catanf", "catanh", "catanhf", "catanhl", "catanl", "catch", "cbrt",
    "cbrtf", "cbrtl", "ccos", "ccosf", "ccosh", "ccoshf", "ccoshl", "ccosl", "ceil", "ceilf", "ceill", "cexp",
    "cexpf", "cexpl", "char", "char16_t", "char32_t", "char8_t", "check", "cimag", "cimagf", "cimagl", "class",
    "clearerr", "clock", "clog", "clogf", "clogl", "cnd_broadcast", "cnd_destroy", "cnd_init", "cnd_signal",
    "cnd_timedwait", "cnd_wait", "co_await", "co_return", "co_yield", "compl", "complex", "concept", "conj", "conjf",
    "conjl", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "copy", "copysign",
    "copysignf", "copysignl", "cos", "cosf", "cosh", "coshf", "coshl", "cosl", "cpow", "cpowf", "cpowl", "cproj",
    "cprojf", "cprojl", "creal", "crealf", "creall", "csin", "csinf", "csinh", "csinhf", "csinhl", "csinl", "csqrt",
    "csqrtf", "csqrtl", "ctan", "ctanf", "ctanh", "ctanhf", "ctanhl", "ctanl", "ctime", "dadd", "ddiv", "decltype",
    "default", "delete", "dfma", "difftime", "div", "dmul", "do", "double", "drem", "dsqrt", "dsub", "dynamic_cast",
    "else", "enum", "erf", "erfc", "erfcf", "erfcl", "erff", "erfl", "errno", "execl", "exit", "exp", "exp10", "exp2",
    "exp2f", "exp2l", "expf", "expl", "explicit", "explicit_bzero", "expm1", "expm1f", "expm1l", "export", "extern",
    "fabs", "fabsf", "fabsl", "fadd", "false", "fclose", "fdim", "fdimf", "fdiml", "fdiv", "feclearexcept",
    "fegetenv", "fegetexceptflag", "fegetround", "feholdexcept", "feof", "feraiseexcept", "ferror", "fesetenv",
    "fesetexceptflag", "fesetround", "fetestexcept", "feupdateenv", "fflush", "ffma", "ffs", "ffsl", "ffsll", "fgetc",
    "fgetpos", "fgets", "fgetwc", "fgetws", "finite", "float", "floor", "floorf", "floorl", "fls", "flsl", "flsll",
    "fma", "fmaf", "fmal", "fmax", "fmaxf", "fmaximum", "fmaximum_mag", "fmaximum_mag_num", "fmaximum_num", "fmaxl",
    "fmin", "fminf", "fminimum", "fminimum_mag", "fminimum_mag_num", "fminimum_num", "fminl", "fmod", "fmodf",
    "fmodl", "fmul", "fopen", "for", "fork", "fortran", "fpclassify", "fprintf", "fputc", "fputs", "fputwc", "fputws",
    "fread", "free", "freopen", "frexp", "frexpf", "frexpl", "friend", "fromfp", "fromfpx", "fscanf", "fseek",
    "fsetpos", "fsqrt", "fsub", "ftell", "fwide", "fwprintf", "fwrite", "fwscanf", "gamma", "getc", "getchar",
    "getenv", "getwc", "getwchar", "gmtime", "goto", "hpux", "hypot", "hypotf", "hypotl", "i386", "if", "ilogb",
    "ilogbf", "ilogbl", "imaginary", "imaxabs", "imaxdiv", "in", "index", "inline", "inputs", "int", "int16_t",
    "int32_t", "int64_t", "int8_t", "int_fast16_t", "int_fast32_t", "int_fast64_t", "int_fast8_t", "int_least16_t",
    "int_least32_t", "int_least64_t", "int_least8_t", "intmax_t", "intptr_t", "isalnum", "isalpha", "isblank",
    "iscanonical", "iscntrl", "isdigit", "iseqsig", "isfinite", "isgraph", "isgreater", "isgreaterequal", "isinf",
    "isless", "islessequal", "islessgreater", "islower", "isnan", "isnormal", "isprint", "ispunct", "issignaling",
    "isspace", "issubnormal", "isunordered", "isupper", "iswalnum", "iswalpha", "iswblank", "iswcntrl", "iswctype",
    "iswdigit", "iswgraph", "iswlower", "iswprint", "iswpunct", "iswspace", "iswupper", "iswxdigit", "isxdigit",
    "iszero", "j0", "j1", "jn", "kill_dependency", "labs", "ldexp", "ldexpf", "ldexpl", "ldiv", "lgamma", "lgammaf",
    "lgammal", "linux", "llabs", "lldiv", "llogb", "llrint", "llrintf", "llrintl", "llround", "llroundf", "llroundl",
    "locale_t", "localeconv", "localtime", "log", "log10", "log10f", "log10l", "log1p", "log1pf", "log1pl", "log2",
    "log2f", "log2l", "logb", "logbf", "logbl", "logf", "logl", "long", "longjmp", "lrint", "lrintf", "lrintl",
    "lround", "lroundf", "lroundl", "main", "malloc", "math_errhandling", "max_align_t", "mblen", "mbrlen",
    "mbrtoc16", "mbrtoc32", "mbrtowc", "mbsinit", "mbsrtowcs", "mbstowcs", "mbtowc", "memccpy", "memchr", "memcmp",
    "memcpy", "memmove", "mempcpy", "memset", "mips", "mktime", "modf", "modff", "modfl", "mtx_destroy", "mtx_init",
    "mtx_lock", "mtx_timedlock", "mtx_trylock", "mtx_unlock", "mutable", "namespace", "nan", "nanf", "nanl",
    "nearbyint", "nearbyintf", "nearbyintl", "new", "nextafter", "nextafterf", "nextafterl", "nextdown", "nexttoward",
    "nexttowardf", "nexttowardl", "nextup", "noexcept", "noreturn", "not", "not_eq", "nullptr", "nullptr_t",
    "offsetof", "operator", "or", "or_eq", "out", "outputs", "perror", "pow", "powf", "powl", "printf", "private",
    "protected", "ptrdiff_t", "public", "putc", "putchar", "puts", "putwc", "putwchar", "qsort", "quick_exit",
    "raise", "rand", "read", "realloc", "register", "reinterpret_cast", "remainder", "remainderf", "remainderl",
    "remove", "remquo", "remquof", "remquol", "rename", "requires", "restrict", "return", "rewind", "rindex", "rint",
    "rintf", "rintl", "round", "roundeven", "roundf", "roundl", "scalb", "scalbln", "scalblnf", "scalblnl", "scalbn",
    "scalbnf", "scalbnl", "scanf", "seed", "setbuf", "setjmp", "setlocale", "setvbuf", "short", "signal", "signbit",
    "signed", "significand", "sin", "sinf", "sinh", "sinhf", "sinhl", "sinl", "size_t", "sizeof", "snprintf", "sparc",
    "sprintf", "sqrt", "sqrtf", "sqrtl", "srand", "sscanf", "state", "static", "static_assert", "static_cast",
    "status", "stderr", "stdin", "stdout", "stpcpy", "stpncpy", "strcasecmp", "strcasecmp_l", "strcat", "strchr",
    "strcmp", "strcoll", "strcoll_l", "strcpy", "strcspn", "strdup", "strerror", "strerror_l", "strerror_r",
    "strftime", "strlcat", "strlcpy", "strlen", "strlwr", "strncasecmp", "strncasecmp_l", "strncat", "strncmp",
    "strncpy", "strndup", "strnlen", "strnstr", "strpbrk", "strrchr", "strsep", "strsignal", "strspn", "strstr",
    "strtod", "strtof", "strtoimax", "strtok", "strtok_r", "strtol", "strtold", "strtoll", "strtoul", "strtoull",
    "strtoumax", "struct", "strupr", "strxfrm", "strxfrm_l", "sun", "switch", "swprintf", "swscanf", "system", "tan",
    "tanf", "tanh", "tanhf", "tanhl", "tanl", "template", "tgamma", "tgammaf", "tgammal", "this", "thrd_create",
    "thrd_current", "thrd_detach", "thrd_equal", "thrd_exit", "thrd_join", "thrd_sleep", "thrd_yield", "thread_local",
    "throw", "time", "timespec_get", "timingsafe_bcmp", "timingsafe_memcmp", "tmpfile", "tmpnam", "tolower",
    "toupper", "towctrans", "towlower", "towupper", "true", "trunc", "truncf", "truncl", "try", "tss_create",
    "tss_delete", "tss_get", "tss_set", "typedef", "typeid", "typename", "typeof", "typeof_unqual", "ufromfp",
    "ufromfpx", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "uint_fast16_t", "uint_fast32_t", "uint_fast64_t",
    "uint_fast8_t", "uint_least16_t", "uint_least32_t", "uint_least64_t", "uint_least8_t", "uintmax_t", "uintptr_t",
    "ungetc", "ungetwc", "union", "unix", "unreachable", "unsigned", "using", "va_arg", "va_copy", "va_end",
    "va_start", "vax", "vfprintf", "vfscanf", "vfwprintf", "vfwscanf", "virtual", "void", "volatile", "vprintf",
    "vscanf", "vsnprintf", "vsprintf", "vsscanf", "vswprintf", "vswscanf", "vwprintf", "vwscanf", "wchar_t",
    "wcrtomb", "wcscat", "wcschr", "wcscmp", "wcscoll", "wcscpy", "wcscspn", "wcsftime", "wcslen", "wcsncat",
    "wcsncmp", "wcsncpy", "wcspbrk", "wcsrchr", "wcsrtombs", "wcsspn", "wcsstr", "wcstod", "wcstof", "wcstoimax",
    "wcstok", "wcstol", "wcstold", "wcstoll", "wcstombs", "wcstoul", "wcstoull", "wcstoumax", "wcsxfrm", "wctob",
    "wctomb", "wctrans", "wctype", "while", "wmemchr", "wmemcmp", "wmemcpy", "wmemmove", "wmemset", "wprintf",
    "write", "wscanf", "xor", "xor_eq", "y0", "y1", "yn"};

static int compare(const void *word, const void *entry)
{
    return strcmp(word, *(const char *const *)entry);
}

/* ---- families of names ------------------------------------------------------------------------------------------- */

/* Does it begin, or end, with one of these? */
static bool has_any(const char *s, bool (*has)(const char *s, const char *part), const char *const *parts)
{
    while (*parts && !has(s, *parts))
        parts++;
    return *parts != NULL;
}

/* Limits and formats of number types, and what only emitted files have: STEP_H_AT. */
static bool is_family_of_macros(const char *s)
{
    static const char *const beginnings[] = {"ATOMIC_", "DBL_", "DEC128_", "DEC32_", "DEC64_", "DEC_",
                                             "FE_",     "FLT",  "FP_",     "LC_",    "LDBL_",  NULL};
    static const char *const types[] = {"BOOL_",   "CHAR_",   "INT",         "LLONG_", "LONG_",  "PTRDIFF_", "SCHAR_",
                                        "SHRT_",   "SIG_ATOMIC_", "SIZE_",   "SSIZE_", "UCHAR_", "UINT",     "ULLONG_",
                                        "ULONG_",  "USHRT_",  "WCHAR_",      "WINT_",  NULL};
    static const char *const limits[] = {"_BIT", "_C", "_MAX", "_MIN", "_WIDTH", NULL};
    return has_any(s, str_starts_with, beginnings) || str_ends_with(s, "_AT") ||
           (has_any(s, str_starts_with, types) && has_any(s, str_ends_with, limits));
}

/* PRIdFAST16, PRIX8 and the like. */
static bool is_format(const char *s)
{
    return str_starts_with(s, "PRIX") ||
           ((str_starts_with(s, "PRI") || str_starts_with(s, "SCN")) && islower((unsigned char)s[3]));
}

/* Of the runtime, in any case since a prefix is also written in capitals; of atomic operations and of OpenMP. */
static bool is_of_a_library(const char *s)
{
    static const char stepc[] = "stepc";
    size_t n = 0;
    while (stepc[n] && tolower((unsigned char)s[n]) == stepc[n])
        n++;
    return (!stepc[n] && (s[n] == '_' || !s[n])) || str_starts_with(s, "atomic_") || str_starts_with(s, "omp_");
}

static bool has_small_letter(const char *s)
{
    while (*s && !islower((unsigned char)*s))
        s++;
    return *s != '\0';
}

bool name_is_reserved(const char *s)
{
    const bool is_word = bsearch(s, words, sizeof words / sizeof *words, sizeof *words, compare) != NULL;
    return is_word || is_format(s) || is_of_a_library(s) || (!has_small_letter(s) && is_family_of_macros(s));
}
