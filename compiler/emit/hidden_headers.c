/* Which headers a header of ours would hide, and for whose object that of our file would be taken. Whoever compiles an
 * emitted file has its folder in the search path, in front of the system's: a string.h there is taken for that of the C
 * library, and a stepc.h for the runtime's. */
#include "emit/emit_internal.h"
#include "emit/runtime_text.h"

#include "base/str.h"
#include <string.h>
#include <strings.h>

/* Those of the C standard up to C23; what they and the runtime include in the C libraries and compilers at hand,
 * without a folder in front. tests/cli/hidden_headers.sh holds this against the compilers. */
static const char *const system_headers[] = {
    "_ansi", "_mingw", "_newlib_version", "alloca", "altivec", "arm_acle", "arm_bf16", "arm_cde", "arm_cmse",
    "arm_fp16", "arm_mve", "arm_mve_types", "arm_neon", "arm_neon_sve_bridge", "arm_sme", "arm_sve", "arm_vector_types",
    "assert", "cblas", "complex", "corecrt", "crtdefs", "ctype", "endian", "errno", "features", "features-time64",
    "fenv", "float", "inttypes", "iso646", "limits", "locale", "malloc", "math", "mm3dnow", "mm_malloc", "msa",
    "newlib", "omp", "openblas_config", "pthread", "reent", "riscv_vector", "sal", "sched", "setjmp", "signal",
    "stdalign", "stdarg", "stdatomic", "stdbit", "stdbool", "stdc-predef", "stdckdint", "stddef", "stdint", "stdio",
    "stdlib", "stdnoreturn", "string", "strings", "swprintf", "syslimits", "tgmath", "threads", "time", "uchar",
    "unistd", "vadefs", "vcruntime", "wasm_simd128", "wchar", "wctype", "xlocale"};

/* Some file systems take String.h for string.h. */
static bool is_header(const char *stem, const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    const size_t n = strlen(stem);
    return strncasecmp(name, stem, n) == 0 && (name[n] == '\0' || str_equal(name + n, ".h"));
}

/* immintrin.h, xmmintrin.h and so on; __stddef_size_t.h, __clang_cuda_math.h. */
static bool is_compilers(const char *stem)
{
    static const char end[] = "intrin", *const begins[] = {"__clang", "__std", "__wmmintrin"};
    const size_t n = strlen(stem);
    bool begins_so = false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        begins_so |= strncasecmp(stem, begins[i], strlen(begins[i])) == 0;
    return begins_so ||
           (n >= strlen(end) && strcasecmp(stem + n - strlen(end), end) == 0 && strchr(stem, '_') == NULL);
}

const char *header_hidden(const char *stem)
{
    static const char *const own[] = {"stepc.h", "stepc_blas.h", "checkpoint.h", "stepc_mpi.h", "stepc_mpi_internal.h"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_header(stem, own[i]))
            return "stepc's runtime";
    for (size_t i = 0; i < runtime_file_count; i++)
        if (is_header(stem, runtime_files[i].name))
            return "stepc's runtime";
    for (size_t i = 0; i < sizeof system_headers / sizeof *system_headers; i++)
        if (is_header(stem, system_headers[i]))
            return "the C library or compiler";
    return is_compilers(stem) ? "the C library or compiler" : NULL;
}

bool is_runtime_source(const char *stem)
{
    static const char *const sources[] = {
        "stepc", "checkpoint", "checkpoint_file", "stepc_blas", "stepc_mpi", "stepc_mpi_agree", "stepc_mpi_compare",
        "stepc_mpi_layout", "stepc_mpi_shards", "stepc_mpi_step", "stepc_mpi_sums"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcasecmp(stem, sources[i]) == 0)
            return true;
    return false;
}
