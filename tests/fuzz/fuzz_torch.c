/* libFuzzer on checkpoints of frameworks: zip archives as they are (.pt, .npz); anything else is the pickle of an
 * archive with a few storages. What is accepted goes into a small training model and out again.
 *   fuzz_torch -max_total_time=60 -dict=torch.dict CORPUS tests/foreign */
#include "../unit/archive.h"
#include "small_net.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

/* As many floats as tests/foreign/seed.pkl asks for. */
#define STORAGE(key, count)                                                                                            \
    {                                                                                                                  \
        .name = "n/data/" key, .bytes = (const char *)values, .size = (count) * sizeof(float)                          \
    }

static void read_one(const char *path, const unsigned char *bytes, size_t size)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct checkpoint c;
    const bool ok = checkpoint_parse(&d, &a, path, bytes, size, &c);
    if (ok == (d.errors > 0))
        abort();
    if (ok)
        fill(&d, &a, &c, size % 2 == 0);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    if (size >= 2 && memcmp(bytes, "PK", 2) == 0) {
        read_one("a.pt", bytes, size);
        read_one("a.npz", bytes, size);
        return 0;
    }
    struct arena a = {0};
    struct strbuf file = {.arena = &a};
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    struct entry_text entries[] = {
        {.name = "n/data.pkl", .bytes = (const char *)bytes, .size = size},
        STORAGE("0", 6),
        STORAGE("1", 3),
        STORAGE("2", 1),
        STORAGE("3", 6),
        STORAGE("4", 6),
        STORAGE("5", 1),
        STORAGE("6", 3),
        STORAGE("7", 3),
    };
    put_archive(&file, entries, sizeof entries / sizeof *entries, false);
    unsigned char *const exact = malloc(file.length); /* sanitizers see one byte more */
    if (!exact)
        return 0;
    memcpy(exact, file.text, file.length);
    read_one("a.pt", exact, file.length);
    free(exact);
    arena_free(&a);
    return 0;
}
