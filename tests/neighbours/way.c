#include "way.h"

#include "base/hash.h"
#include "change.h"

#include <string.h>

static const char *const others[] = {"--optimize size",  "--simd none",  "--simd 16",      "--reproducible",
                                     "--threads 3",      "--blas",       "--dispatch",     "--weights file",
                                     "--weights incbin", "--standalone", "--check-finite", "--trace"};
static const size_t other_count = sizeof others / sizeof *others;

struct way way_usual(const char *name)
{
    return (struct way){
        .pipeline = {.name = name, .threads = 1},
        .emit = {.name = name, .model_file = name, .options_text = "", .weights = WEIGHTS_EMBED}};
}

size_t way_option_count(void)
{
    return other_count;
}

size_t way_count(void)
{
    return other_count + target_count;
}

const char *way_take_option(struct way *w, uint64_t number)
{
    const size_t at = number % way_count();
    if (at >= other_count) {
        const struct target *const t = &targets[at - other_count];
        w->pipeline.target = w->emit.target = t;
        w->pipeline.small = w->emit.small = t->small;
        return arena_printf(w->pipeline.import.dims->arena, "--machine %s", t->name);
    }
    w->pipeline.small = w->emit.small = at == 0;
    w->pipeline.simd = w->emit.simd = at == 1 ? SIMD_NONE : at == 2 ? 16 : SIMD_AUTO;
    w->emit.reproducible = at == 3;
    w->pipeline.threads = at == 4 ? 3 : 1;
    w->pipeline.blas = at == 5;
    w->emit.levels = at == 6 ? LEVEL_3 | LEVEL_4 : 0;
    w->emit.weights = at == 7 ? WEIGHTS_FILE : at == 8 ? WEIGHTS_INCBIN : WEIGHTS_EMBED;
    w->emit.standalone = at == 9;
    w->pipeline.check_finite = w->emit.check_finite = at == 10;
    w->emit.trace = at == 11;
    return others[at];
}

void way_print(FILE *out, struct diag *d, struct arena *a, const struct model *m, const struct way *w)
{
    struct program *p;
    struct emitted text;
    if (pipeline_compile(d, a, m, &w->pipeline, &w->emit, &text, &p)) {
        const uint64_t source = hash_bytes(text.source, strlen(text.source)),
                       header = hash_bytes(text.header, strlen(text.header));
        fprintf(out, "accepted: %016llx %016llx %zu %zu\n", (unsigned long long)source, (unsigned long long)header,
                text.state_bytes, text.arena_bytes);
    } else {
        fputs("refused:\n", out);
    }
    print_messages(out, d);
}
