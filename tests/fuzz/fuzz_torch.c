/* libFuzzer on checkpoints of frameworks: zip archives as they are (.pt, .npz); anything else is the pickle of an
 * archive with a few storages. What is accepted goes into a small training model and out again.
 *   fuzz_torch -max_total_time=60 -dict=torch.dict CORPUS tests/foreign */
#include "../unit/archive.h"
#include "foreign/fill.h"
#include "foreign/give.h"
#include "model/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

/* As many floats as tests/foreign/seed.pkl asks for. */
#define STORAGE(key, count)                                                                                            \
    {                                                                                                                  \
        .name = "n/data/" key, .bytes = (const char *)values, .size = (count) * sizeof(float)                          \
    }

static const char net[] =
    "<ir_version: 8, opset_import: [\"\" : 17], metadata_props: [\"stepc.parameters\" : \"w\nb\"]>\n"
    "m (float[1,2] x) => (float[1,3] y) <float[3,2] w = {1,2,3,4,5,6}, float[3] b = {0,0,0}>\n"
    "{ y = Gemm<transB = 1>(x, w, b) }\n"
    "@training_info { algorithm: t () => (float[3,2] w1, float[3] b1, float[3,2] m1, int64 s1, float r1)\n"
    "<float[3,2] \"w.m\" = {0,0,0,0,0,0}, float[3,2] \"w.v\" = {0,0,0,0,0,0}, int64 step_count = {0},\n"
    "float learning_rate = {1}, float beta1 = {0.9}> {\n"
    "m1 = Mul(\"w.m\", beta1) a = Mul(m1, learning_rate) c = Mul(a, \"w.v\") w1 = Sub(w, c) b1 = Identity(b)\n"
    "s1 = Identity(step_count) r1 = Identity(learning_rate) }\n"
    "update_binding: [\"w\" : \"w1\", \"b\" : \"b1\", \"w.m\" : \"m1\", \"w.v\" : \"m1\", \"step_count\" : \"s1\",\n"
    "\"learning_rate\" : \"r1\"] }\n";

static void fill(struct diag *d, struct arena *a, struct checkpoint *c, bool partial)
{
    struct model *m;
    struct strbuf report = {.arena = a};
    struct fill_options o = {.weights.partial = partial};
    struct filled filled = {.set.arena = a};
    const struct map none = {.arena = a};
    diag_error(d, NULL, "once");
    const size_t before = d->errors;
    if (!model_read_text(d, a, "net.onnxtxt", net, sizeof net - 1, &m))
        abort();
    const bool ok = checkpoint_fill(d, a, m, c, &o, &report, &filled);
    if (ok == (d->errors > before)) /* refused without a reason, or accepted with one */
        abort();
    if (ok && !checkpoint_give(d, a, m, &none, &filled.own, filled.steps, &o.weights, "/dev/null"))
        return; /* names in it that JSON cannot have */
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
