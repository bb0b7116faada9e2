/* libFuzzer on checkpoints of TensorFlow: two bytes say how long the index is, behind which the only data file stands;
 * or all of it is the index, of a checkpoint whose data file is it again. Checksums are not looked at, since no fuzzer
 * finds them; those of a whole index are, too. What is accepted goes into a small training model and out again.
 *   fuzz_tensorflow -max_total_time=60 CORPUS tests/foreign/keras tests/foreign/saver */
#include "foreign/checkpoint_internal.h"
#include "small_net.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

struct part {
    const unsigned char *bytes;
    size_t size;
};

/* Of its own, so that sanitizers see one byte more. */
static struct part copied(const unsigned char *bytes, size_t size)
{
    unsigned char *const copy = malloc(size > 0 ? size : 1);
    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, bytes, size);
    return (struct part){copy, size};
}

static void read_one(struct part index, struct part data, bool unchecked, bool partial)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct checkpoint c = {.path = "c", .steps = NAN, .most_steps = NAN, .epochs = NAN};
    struct checkpoint_reader r = {.diag = &d, .arena = &a, .loc = LOC_FILE("c.index"), .to = &c};
    struct bundle b;
    bool ok = bundle_open(&d, &a, "c.index", index.bytes, index.size, unchecked, &b);
    for (size_t i = 0; ok && i < b.shards; i++)
        ok = !b.used[i] || bundle_fill(&b, "c.data", i, data.bytes, data.size);
    ok = ok && checkpoint_add_bundle(&r, &b);
    if (ok == (d.errors > 0))
        abort();
    if (ok)
        fill(&d, &a, &c, partial);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    const size_t length = size < 2 ? 0 : (size_t)(bytes[0] | bytes[1] << 8);
    const struct part whole = copied(bytes, size);
    read_one(whole, whole, false, false);
    read_one(whole, whole, true, false);
    if (size >= 2 && length <= size - 2) {
        const struct part index = copied(bytes + 2, length), data = copied(bytes + 2 + length, size - 2 - length);
        read_one(index, data, true, size % 2 == 0);
        free((void *)(uintptr_t)index.bytes);
        free((void *)(uintptr_t)data.bytes);
    }
    free((void *)(uintptr_t)whole.bytes);
    return 0;
}
