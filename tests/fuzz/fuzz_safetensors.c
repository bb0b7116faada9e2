/* libFuzzer on the reader of .safetensors: what is accepted must also be written, and read again as the same.
 *   fuzz_safetensors -max_total_time=60 CORPUS */
#include "model/safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void round_trip(struct diag *d, struct arena *a, const named_tensors *tensors)
{
    named_tensors again;
    unsigned char *first, *second;
    size_t first_size, second_size;
    if (!safetensors_encode(d, a, "again", tensors, &first, &first_size) ||
        !safetensors_parse(d, a, "again", first, first_size, &again) || again.count != tensors->count ||
        !safetensors_encode(d, a, "again", &again, &second, &second_size) || first_size != second_size ||
        memcmp(first, second, first_size) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    named_tensors tensors;
    const bool ok = safetensors_parse(&d, &a, "fuzz.safetensors", bytes, size, &tensors);
    if (ok == (d.errors > 0)) /* refused without a reason, or accepted with one */
        abort();
    if (ok)
        round_trip(&d, &a, &tensors);
    arena_free(&a);
    return 0;
}
