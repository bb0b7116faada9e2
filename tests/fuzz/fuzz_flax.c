/* libFuzzer on files of flax.serialization. What is accepted goes into a small training model and out again.
 *   fuzz_flax -max_total_time=60 CORPUS tests/foreign */
#include "small_net.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct checkpoint c;
    const bool ok = checkpoint_parse(&d, &a, "a.msgpack", bytes, size, &c);
    if (ok == (d.errors > 0))
        abort();
    if (ok)
        fill(&d, &a, &c, size % 2 == 0);
    arena_free(&a);
    return 0;
}
