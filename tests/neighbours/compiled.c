/* What is written for samples of operators in other ways than the usual one: for a machine, with an option, with a size
 * that each call says.
 *   neighbours_compiled FOLDER [PATTERN...]: writes FOLDER/OPERATOR.txt
 *
 * Each sample, and its derivative where it has one, is compiled with one option, which its text chooses, so that all
 * options meet each kind of kernel somewhere. Then dimensions of its inputs become a name with a range: all of that
 * size at once, or that one alone. A line each: what was changed, and a hash of the C and of its header, or the errors.
 * tests/costs has the same without options. */
#include "base/hash.h"
#include "base/str.h"
#include "change.h"
#include "engine/pipeline.h"
#include "graph/op_def.h"
#include "sample.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 64  /* a dimension that gets a range */
#define MOST_DIMS 8 /* of a sample, which get one */

struct run {
    const struct op_def *def;
    FILE *out;
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

struct way {
    struct pipeline_options pipeline;
    struct emit_options emit;
};

static const char *take_option(struct way *w, uint64_t number)
{
    static const char *const others[] = {"--optimize size", "--simd none", "--simd 16",     "--reproducible",
                                         "--threads 3",     "--blas",      "--dispatch",    "--weights file",
                                         "--weights incbin", "--standalone", "--check-finite", "--trace"};
    const size_t count = sizeof others / sizeof *others;
    const size_t at = number % (count + target_count);
    if (at >= count) {
        const struct target *const t = &targets[at - count];
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

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Dimensions of inputs of the size `from` are called n, or the one of that number alone, -1: all; how many. */
static int name_dims(struct model *m, int64_t from, int only)
{
    int number = 0, named = 0;
    vec_each(struct model_value_info *, v, &m->graph->inputs)
        for (size_t i = 0; v->type.kind == TYPE_TENSOR && v->type.has_shape && i < v->type.dims.count; i++, number++)
            if ((only < 0 && v->type.dims.data[i].value == from) || only == number) {
                v->type.dims.data[i] = (struct model_dim){.value = -1, .param = "n", .denotation = ""};
                named++;
            }
    return named;
}

/* The size of dimension `number` of all inputs together, -1 behind the last. */
static int64_t size_of(const struct model *m, int number)
{
    vec_each(const struct model_value_info *, v, &m->graph->inputs)
        for (size_t i = 0; v->type.kind == TYPE_TENSOR && v->type.has_shape && i < v->type.dims.count; i++)
            if (number-- == 0)
                return v->type.dims.data[i].value;
    return -1;
}

static void forget_results(struct model *m)
{
    vec_each(struct model_value_info *, v, &m->graph->outputs)
        v->type.has_shape = false;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

static void print_compiled(const struct run *r, struct sample_test *t, const struct model *m, const struct way *w)
{
    struct program *p;
    struct emitted text;
    if (pipeline_compile(&t->diag, &t->arena, m, &w->pipeline, &w->emit, &text, &p)) {
        const uint64_t source = hash_bytes(text.source, strlen(text.source)),
                       header = hash_bytes(text.header, strlen(text.header));
        fprintf(r->out, "accepted: %016llx %016llx %zu %zu\n", (unsigned long long)source, (unsigned long long)header,
                text.state_bytes, text.arena_bytes);
    } else {
        fputs("refused:\n", r->out);
    }
    for (size_t i = 0; i < t->diag.messages.count; i++) {
        fputs("    ", r->out);
        print_message(r->out, &t->diag.messages.data[i]);
        fputc('\n', r->out);
    }
}

/* number -1: an option; otherwise that dimension gets a range, all of its size or it alone. */
static bool tell(const struct run *r, const struct op_sample *sample, bool derived, int number, bool all)
{
    struct sample_test t = {.def = r->def, .sample = sample};
    struct model *m;
    const uint64_t key = hash_bytes(sample->text, strlen(sample->text)) + (derived ? 5 : 0);
    t.diag.arena = &t.arena;
    bool told = sample_read(&t, &m);
    if (told && derived && sample_is_differentiated(&t, m))
        sample_differentiate(&t.arena, m, &(struct derivative_options){.order = 1});
    else if (derived)
        told = false;
    struct map dims = {.arena = &t.arena};
    struct size_range range = {.name = "n"};
    struct way w = {.pipeline = {.name = "sample", .threads = 1, .import = {.dims = &dims}},
                    .emit = {.name = "sample", .model_file = "sample", .options_text = "", .weights = WEIGHTS_EMBED}};
    if (told && number < 0) {
        fprintf(r->out, "%s: ", take_option(&w, key));
    } else if (told) {
        const int64_t size = size_of(m, number);
        told = size > 0 && size <= LONGEST;
        const int named = told ? name_dims(m, size, all ? -1 : number) : 0;
        told = told && (!all || named > 1);
        range.low = 1;
        range.high = size + 2;
        w.pipeline.import.range = &range;
        map_set(&dims, "n", &range.high);
        forget_results(m);
        if (told)
            fprintf(r->out, "dimension %d%s in %lld..%lld: ", number, all ? " and its like" : "",
                    (long long)range.low, (long long)range.high);
    }
    fflush(r->out);
    if (told)
        print_compiled(r, &t, m, &w);
    arena_free(&t.arena);
    return told;
}

static void tell_sample(const struct run *r, const struct op_sample *s)
{
    for (int derived = 0; derived < 2; derived++) {
        if (!tell(r, s, derived, -1, false))
            continue;
        for (int i = 0; i < (derived ? 2 : MOST_DIMS); i++) {
            tell(r, s, derived, i, true);
            if (!derived)
                tell(r, s, derived, i, false);
        }
    }
}

static void tell_operator(FILE *out, const struct op_def *def, const void *none)
{
    const struct run r = {.def = def, .out = out};
    (void)none;
    for (const struct op_sample *s = def->samples; s && s->text; s++) {
        if (s->error)
            continue;
        fprintf(out, "\n%s", s->text);
        fprintf(out, s->opset ? "  (opset %d)\n" : "\n", s->opset);
        tell_sample(&r, s);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: neighbours_compiled FOLDER [PATTERN...]\n");
        return 2;
    }
    return !write_operators(argv[1], argv + 2, tell_operator, NULL);
}
