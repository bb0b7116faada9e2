/* stepc run: init, then an entry for some steps, interpreted or generated. */
#include "base/hash.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/feeds.h"
#include "train/combine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct option_spec specs[] = {
    {"engine", 0, OPTION_TEXT, "interpreted|generated", "who computes (default: interpreted)"},
    {"arithmetic", 0, OPTION_TEXT, "double|same", "of the interpreter: same gives the bits of --reproducible code"},
    {"reproducible", 0, OPTION_FLAG, NULL, "generated code without contraction"},
    {"entry", 0, OPTION_TEXT, "NAME", "entry to run (default: step if there is one, else infer)"},
    {"steps", 0, OPTION_TEXT, "N", "how often (default: as many as the feeds hold)"},
    {"seed", 0, OPTION_TEXT, "S", "seed given to init() (default 0)"},
    {"cc", 0, OPTION_TEXT, "\"CC FLAGS\"", "C compiler of the generated engine (default: $CC or cc, -O2)"},
    {"feed", 0, OPTION_LIST, "NAME=FILE", ".pb or .npy; one leading axis more than declared: a slice per step"},
    {"fetch", 0, OPTION_LIST, "NAME=FILE", "write an output or any tensor (stacked over steps), or a variable (after the last)"},
    {"csv", 0, OPTION_TEXT, "FILE", "scalar outputs of every step as a table"},
    {"hash", 0, OPTION_FLAG, NULL, "print a SHA-256 of all outputs and variables"},
    {"quiet", 0, OPTION_FLAG, NULL, "print nothing"},
    {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

struct fetch {
    const char *name, *path;
    int output;                  /* index among the entry's outputs, or -1 */
    const struct variable *variable;
    struct tensor *stacked;
};

struct run {
    struct session *s;
    const struct options *o;
    struct model *m;
    struct feeds feeds;
    struct engine *engine;
    const struct entry *entry;
    VEC(struct fetch) fetches;
    int64_t steps;
    FILE *csv;
    struct sha256 hash;
};

/* ---- options ------------------------------------------------------------------------------------------------------ */

static bool read_engine_options(struct run *r, struct engine_options *e)
{
    const char *kind = option_text(r->o, "engine"), *arithmetic = option_text(r->o, "arithmetic");
    if (kind && !str_equal(kind, "interpreted") && !str_equal(kind, "generated"))
        return diag_error(&r->s->diag, NULL, "--engine %s: expected interpreted or generated", kind);
    if (arithmetic && !str_equal(arithmetic, "double") && !str_equal(arithmetic, "same"))
        return diag_error(&r->s->diag, NULL, "--arithmetic %s: expected double or same", arithmetic);
    e->kind = str_equal(kind, "generated") ? ENGINE_GENERATED : ENGINE_INTERPRETED;
    e->arithmetic = str_equal(arithmetic, "same") ? ARITHMETIC_SAME : ARITHMETIC_DOUBLE;
    e->reproducible = option_given(r->o, "reproducible");
    e->cc = option_text(r->o, "cc");
    return true;
}

static const char *default_entry(const struct model *m)
{
    for (size_t i = 0; i < m->training.count; i++)
        if (m->training.data[i]->update_binding.count)
            return "step";
    return "infer";
}

static bool read_fetches(struct run *r)
{
    const text_list list = option_list(r->o, "fetch");
    bool ok = true;
    for (size_t i = 0; i < list.count; i++) {
        struct fetch f = {.output = -1};
        if (option_pair(&r->s->arena, list.data[i], &f.name, &f.path))
            vec_push(&r->s->arena, &r->fetches, f);
        else
            ok = diag_error(&r->s->diag, NULL, "--fetch %s: expected NAME=FILE", list.data[i]);
    }
    return ok;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static bool resolve_fetches(struct run *r)
{
    bool ok = true;
    for (size_t i = 0; i < r->fetches.count; i++) {
        struct fetch *f = &r->fetches.data[i];
        for (size_t j = 0; j < r->entry->graph->outputs.count; j++)
            if (str_equal(r->entry->graph->outputs.data[j].name, f->name))
                f->output = (int)j;
        f->variable = f->output < 0 ? program_variable(engine_program(r->engine), f->name) : NULL;
        if (f->output < 0 && !f->variable)
            ok = diag_error(&r->s->diag, &LOC_FILE(r->m->file), "there is no output, tensor or variable '%s' to fetch", f->name);
    }
    return ok;
}

static bool open_engine(struct run *r, const char *path)
{
    struct engine_options e = {.kind = ENGINE_INTERPRETED};
    struct arena *a = &r->s->arena;
    if (!read_engine_options(r, &e) || !read_fetches(r) || !read_import_options(r->s, r->o, &e.pipeline.import) ||
        !model_read(&r->s->diag, a, path, &r->m) || !feeds_read(r->s, r->m, option_list(r->o, "feed"), &e.pipeline.import, &r->feeds))
        return false;
    const char *entry = option_text(r->o, "entry") ? option_text(r->o, "entry") : default_entry(r->m);
    const char **names = arena_array(a, const char *, r->fetches.count + 1);
    for (size_t i = 0; i < r->fetches.count; i++)
        names[i] = r->fetches.data[i].name;
    e.pipeline.entries = arena_printf(a, "init,%s", entry);
    e.pipeline.fetch = names;
    e.pipeline.fetch_count = r->fetches.count;
    e.pipeline.fetch_entry = entry;
    if (!engine_open(&r->s->diag, a, r->m, &e, &r->engine))
        return false;
    r->entry = program_entry(engine_program(r->engine), entry);
    if (!r->entry)
        return diag_error(&r->s->diag, &LOC_FILE(r->m->file), "the model has no entry '%s'", entry);
    return resolve_fetches(r);
}

/* ---- the steps ---------------------------------------------------------------------------------------------------- */

static void keep_fetches(struct run *r, struct tensor *const *outputs, int64_t step)
{
    for (size_t i = 0; i < r->fetches.count; i++) {
        struct fetch *f = &r->fetches.data[i];
        if (f->output < 0)
            continue;
        const struct tensor *t = outputs[f->output];
        if (!f->stacked) {
            struct shape s = {.rank = t->shape.rank + 1, .dim = {r->steps}};
            memcpy(s.dim + 1, t->shape.dim, (size_t)t->shape.rank * sizeof *s.dim);
            f->stacked = tensor_new(&r->s->arena, t->dtype, &s);
        }
        memcpy((char *)f->stacked->data + (size_t)step * tensor_bytes(t), t->data, tensor_bytes(t));
    }
}

static void print_scalars(struct run *r, struct tensor *const *outputs, int64_t step, FILE *to, const char *separator, bool with_names)
{
    fprintf(to, with_names ? "step %lld" : "%lld", (long long)step);
    for (size_t i = 0; i < r->entry->graph->outputs.count; i++) {
        if (outputs[i]->count != 1)
            continue;
        fputs(separator, to);
        if (with_names)
            fprintf(to, "%s ", r->entry->graph->outputs.data[i].name);
        if (dtype_is_float(outputs[i]->dtype))
            fprintf(to, outputs[i]->dtype == DTYPE_DOUBLE ? "%.17g" : "%.9g", tensor_get_double(outputs[i], 0));
        else
            fprintf(to, "%lld", (long long)tensor_get_int(outputs[i], 0));
    }
    fputc('\n', to);
}

static void hash_tensor(struct run *r, const struct tensor *t)
{
    sha256_add(&r->hash, t->data, tensor_bytes(t));
}

static bool one_step(struct run *r, int64_t step)
{
    struct arena a = {0};
    const struct tensor **inputs;
    struct tensor **outputs = arena_array(&a, struct tensor *, r->entry->graph->outputs.count + 1);
    bool ok = feeds_inputs(r->s, &r->feeds, r->entry, step, &a, &inputs) && engine_run(r->engine, r->entry, inputs, outputs, &a);
    if (ok) {
        keep_fetches(r, outputs, step);
        if (!option_given(r->o, "quiet") && r->fetches.count == 0)
            print_scalars(r, outputs, step, stdout, "  ", true);
        if (r->csv)
            print_scalars(r, outputs, step, r->csv, ",", false);
        for (size_t i = 0; i < r->entry->graph->outputs.count; i++)
            hash_tensor(r, outputs[i]);
    }
    arena_free(&a);
    return ok;
}

static void show_progress(int64_t done, int64_t all)
{
    enum { WIDTH = 40 };
    if (!isatty(2) || all < 2)
        return;
    const int filled = (int)(done * WIDTH / all);
    fprintf(stderr, "\r[%.*s%*s] %lld/%lld%s", filled, "########################################", WIDTH - filled, "", (long long)done,
            (long long)all, done == all ? "\n" : "");
}

static bool write_fetches(struct run *r)
{
    bool ok = true;
    for (size_t i = 0; i < r->fetches.count; i++) {
        struct fetch *f = &r->fetches.data[i];
        struct tensor *t = f->variable ? engine_read(r->engine, f->variable, &r->s->arena) : f->stacked;
        ok &= tensor_file_write(&r->s->diag, f->path, f->name, t);
    }
    return ok;
}

static void print_hash(struct run *r)
{
    const struct program *p = engine_program(r->engine);
    unsigned char digest[32];
    for (size_t i = 0; i < p->variables.count; i++)
        hash_tensor(r, engine_read(r->engine, p->variables.data[i], &r->s->arena));
    sha256_end(&r->hash, digest);
    for (int i = 0; i < 32; i++)
        printf("%02x", digest[i]);
    putchar('\n');
}

static bool run_steps(struct run *r, long long steps, long long seed)
{
    if (r->feeds.steps && steps > r->feeds.steps)
        return diag_error(&r->s->diag, NULL, "--steps %lld: the feeds hold %lld", steps, (long long)r->feeds.steps);
    r->steps = steps > 0 ? steps : r->feeds.steps ? r->feeds.steps : 1;
    sha256_begin(&r->hash);
    if (!engine_init(r->engine, (uint64_t)seed))
        return false;
    const bool progress = option_given(r->o, "quiet") || r->fetches.count > 0;
    for (int64_t i = 0; i < r->steps; i++) {
        if (!one_step(r, i))
            return false;
        if (progress && !option_given(r->o, "quiet"))
            show_progress(i + 1, r->steps);
    }
    if (option_given(r->o, "hash"))
        print_hash(r);
    return write_fetches(r);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o))
        return EXIT_USAGE;
    const char *path = single_argument(self, &o, "MODEL");
    long long steps, seed;
    if (!path || !option_count(&o, "steps", 0, &steps) || !option_count(&o, "seed", 0, &seed))
        return EXIT_USAGE;
    struct run r = {.s = &s, .o = &o};
    bool ok = open_engine(&r, path);
    const char *csv = option_text(&o, "csv");
    if (ok && csv && !(r.csv = fopen(csv, "w")))
        ok = diag_error(&s.diag, NULL, "%s: cannot be written", csv);
    ok = ok && run_steps(&r, steps, seed);
    if (r.csv && fclose(r.csv) != 0)
        ok = diag_error(&s.diag, NULL, "%s: cannot be written", csv);
    if (r.engine)
        engine_close(r.engine);
    return session_end(&s, ok);
}

const struct command command_run = {
    .name = "run",
    .arguments = "MODEL [options]",
    .summary = "run an entry on data: interpreted, or generated and compiled",
    .example = "stepc run digits_train.onnx --feed x=x.npy --feed target=labels.npy --steps 100",
    .options = tables,
    .run = run,
};
