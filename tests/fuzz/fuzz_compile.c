/* libFuzzer on the whole way from text to C: what is read is imported, differentiated, lowered, planned and emitted.
 *   fuzz_compile -max_total_time=600 -timeout=20 -rss_limit_mb=2048 -dict=tests/fuzz/text.dict CORPUS
 *                (seeds: tests/errors/valid, tests/models)
 * A model that says nothing wrong may be large in tensors; its text, and the time and memory it takes, may
 * not grow with them. */
#include "base/str.h"
#include "engine/pipeline.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 16 << 20, MOST_STORED = 1 << 16 /* bytes of a model whose text is judged */ };

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct model *m;
    struct program *p;
    struct emitted text;
    const struct pipeline_options o = {.name = "fuzz", .simd = size % 2 ? SIMD_NONE : SIMD_AUTO, .small = size % 3 == 0,
                                       .import.provisional_dim = 2};
    const struct emit_options emit = {.file_stem = "fuzz", .model_file = "fuzz.onnx", .options_text = ""};
    if (model_read_text(&d, &a, "/nonexistent/fuzz.onnxtxt", (const char *)bytes, size, &m)) {
        const bool ok = pipeline_compile(&d, &a, m, &o, &emit, &text, &p);
        if (!ok && d.errors == 0) /* refused without a reason */
            abort();
        if (ok && size < MOST_STORED && strlen(text.source) > MOST_TEXT)
            abort();
    }
    arena_free(&a);
    return 0;
}
