/* libFuzzer on the reader of the text syntax: what is accepted must also be written as .onnx bytes, and
 * read again as the same.
 *   fuzz_text -max_total_time=60 -dict=tests/fuzz/text.dict CORPUS */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void round_trip(struct diag *d, struct arena *a, const struct model *m)
{
    unsigned char *first, *second;
    size_t first_size, second_size;
    struct model *again;
    if (!model_encode_onnx(d, a, m, &first, &first_size) ||
        !model_read_onnx(d, a, "/nonexistent/fuzz.onnx", first, first_size, &again) ||
        !model_encode_onnx(d, a, again, &second, &second_size) || first_size != second_size ||
        memcmp(first, second, first_size) != 0) {
        diag_print(d, stderr);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct model *m;
    const bool ok = model_read_text(&d, &a, "/nonexistent/fuzz.onnxtxt", (const char *)bytes, size, &m);
    if (ok != (d.messages.count == 0) || d.errors > 1) /* refused with one reason, accepted with none */
        abort();
    if (ok)
        round_trip(&d, &a, m);
    arena_free(&a);
    return 0;
}
