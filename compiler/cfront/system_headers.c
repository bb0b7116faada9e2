/* The stand-ins for the C library's headers. libclang's own stdint.h and stddef.h live in its resource folder, which is
 * not there on every machine that has the library, and the host's headers say nothing about other targets. */
#include "cfront/cfront_internal.h"

static const char stddef_h[] =
    "#ifndef STEPC_V_STDDEF_H\n"
    "#define STEPC_V_STDDEF_H\n"
    "typedef __SIZE_TYPE__ size_t;\n"
    "typedef __PTRDIFF_TYPE__ ptrdiff_t;\n"
    "#ifndef __cplusplus\n"
    "typedef __WCHAR_TYPE__ wchar_t;\n"
    "#endif\n"
    "#define NULL ((void *)0)\n"
    "#define offsetof(type, member) __builtin_offsetof(type, member)\n"
    "#endif\n";

#define EXACT_INTEGER(n)                                                                                               \
    "typedef __INT" #n "_TYPE__ int" #n "_t;\n"                                                                        \
    "typedef __UINT" #n "_TYPE__ uint" #n "_t;\n"

static const char stdint_h[] =
    "#ifndef STEPC_V_STDINT_H\n"
    "#define STEPC_V_STDINT_H\n"
    EXACT_INTEGER(8) EXACT_INTEGER(16) EXACT_INTEGER(32) EXACT_INTEGER(64)
    "typedef __INTPTR_TYPE__ intptr_t;\n"
    "typedef __UINTPTR_TYPE__ uintptr_t;\n"
    "typedef __INTMAX_TYPE__ intmax_t;\n"
    "typedef __UINTMAX_TYPE__ uintmax_t;\n"
    "#define STEPC_V_PASTE(v, suffix) v##suffix\n"
    "#define STEPC_V_CONSTANT(v, suffix) STEPC_V_PASTE(v, suffix)\n"
    "#define INT8_C(v) STEPC_V_CONSTANT(v, __INT8_C_SUFFIX__)\n"
    "#define INT16_C(v) STEPC_V_CONSTANT(v, __INT16_C_SUFFIX__)\n"
    "#define INT32_C(v) STEPC_V_CONSTANT(v, __INT32_C_SUFFIX__)\n"
    "#define INT64_C(v) STEPC_V_CONSTANT(v, __INT64_C_SUFFIX__)\n"
    "#define UINT8_C(v) STEPC_V_CONSTANT(v, __UINT8_C_SUFFIX__)\n"
    "#define UINT16_C(v) STEPC_V_CONSTANT(v, __UINT16_C_SUFFIX__)\n"
    "#define UINT32_C(v) STEPC_V_CONSTANT(v, __UINT32_C_SUFFIX__)\n"
    "#define UINT64_C(v) STEPC_V_CONSTANT(v, __UINT64_C_SUFFIX__)\n"
    "#define INT8_MAX __INT8_MAX__\n"
    "#define INT16_MAX __INT16_MAX__\n"
    "#define INT32_MAX __INT32_MAX__\n"
    "#define INT64_MAX __INT64_MAX__\n"
    "#define INT8_MIN (-__INT8_MAX__ - 1)\n"
    "#define INT16_MIN (-__INT16_MAX__ - 1)\n"
    "#define INT32_MIN (-__INT32_MAX__ - 1)\n"
    "#define INT64_MIN (-__INT64_MAX__ - 1)\n"
    "#define UINT8_MAX __UINT8_MAX__\n"
    "#define UINT16_MAX __UINT16_MAX__\n"
    "#define UINT32_MAX __UINT32_MAX__\n"
    "#define UINT64_MAX __UINT64_MAX__\n"
    "#define SIZE_MAX __SIZE_MAX__\n"
    "#define PTRDIFF_MAX __PTRDIFF_MAX__\n"
    "#endif\n";

static const char string_h[] =
    "#ifndef STEPC_V_STRING_H\n"
    "#define STEPC_V_STRING_H\n"
    "#include <stddef.h>\n"
    "void *memcpy(void *restrict to, const void *restrict from, size_t size);\n"
    "void *memset(void *to, int byte, size_t size);\n"
    "#endif\n";

const struct cfront_file cfront_system_headers[] = {{CFRONT_SYSTEM_DIR "/stddef.h", stddef_h},
                                                    {CFRONT_SYSTEM_DIR "/stdint.h", stdint_h},
                                                    {CFRONT_SYSTEM_DIR "/string.h", string_h},
                                                    {NULL, NULL}};
