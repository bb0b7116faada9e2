#include "engine/engine.h"

#include "base/pages.h"
#include "engine/guarded_memory.h"
#include "engine/shared_object.h"
#include "interp/interp.h"
#include "stepc.h"
#include "train/combine.h"
#include <inttypes.h>
#include <string.h>

struct other {
    int64_t count;
    struct interp *interp;
};

struct engine {
    struct arena *arena;
    struct diag *diag;
    struct program *program;
    enum engine_kind kind;
    struct interp *interp;
    /* of a program with a range that is interpreted: how it was opened, and the same for other counts */
    const struct engine_options *options;
    VEC(struct other) others;
    struct shared_object so;
    const stepc_model *model;
    struct guarded_memory state, work; /* generated: memory that a user would own */
    uint64_t seed;
};

const struct program *engine_program(const struct engine *e)
{
    return e->program;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool get_memory(struct engine *e, const char *what, size_t bytes, struct guarded_memory *out)
{
    return guarded_memory_new(bytes, out) ||
           diag_error(e->diag, &LOC_FILE(e->program->model->file), "the %s takes %zu bytes; this machine has %zu", what,
                      bytes, system_memory());
}

/* The interpreter holds every element in eight bytes. */
static bool fits_memory(struct diag *d, struct arena *a, const struct loc *at, const struct value *v)
{
    const int64_t count = shape_count(&v->shape);
    if (count <= 0 || (uint64_t)count <= system_memory() / sizeof(double))
        return true;
    return diag_error(d, at, "'%s' %s takes %" PRIu64 " bytes; this machine has %zu", v->name, shape_text(a, &v->shape),
                      (uint64_t)count * sizeof(double), system_memory());
}

bool engine_fits_memory(struct diag *d, struct arena *a, const struct program *p)
{
    bool ok = true;
    for (size_t i = 0; i < p->entries.count; i++) {
        const struct graph *const g = p->entries.data[i].graph;
        for (size_t k = 0; k < g->inputs.count; k++)
            ok &= fits_memory(d, a, &g->loc, g->inputs.data[k]);
        graph_each_node(g, n)
            for (size_t o = 0; o < n->outputs.count; o++)
                ok &= !n->outputs.data[o] || fits_memory(d, a, &n->loc, n->outputs.data[o]);
    }
    return ok;
}

/* Lowers, emits, compiles and loads. */
static bool start_generated(struct engine *e, const struct engine_options *o)
{
    struct emit_options emit = {.file_stem = SHARED_OBJECT_STEM, .model_file = "model", .options_text = "",
                                .reproducible = o->reproducible,
                                .target = o->pipeline.target, .simd = o->pipeline.simd, .small = o->pipeline.small};
    struct emitted text;
    struct plan **plans;
    emit.name = e->program->name;
    if (!pipeline_plans(e->diag, e->arena, e->program, &o->pipeline, &plans) ||
        !emit_program(e->diag, e->arena, e->program, plans, &emit, &text) ||
        !pipeline_fits_ram(e->diag, e->arena, e->program, plans, &text, o->pipeline.ram) ||
        !shared_object_build(e->diag, e->arena, e->program->name, &text, o->cc, o->reproducible, o->native,
                             &e->so))
        return false;
    e->model = e->so.model;
    return get_memory(e, "state", e->model->state_bytes, &e->state) &&
           get_memory(e, "arena", e->model->arena_bytes, &e->work);
}

bool engine_open_program(struct diag *d, struct arena *a, struct program *p, const struct engine_options *o,
                         struct engine **out)
{
    struct engine *e = arena_new(a, struct engine);
    e->arena = a;
    e->diag = d;
    e->kind = o->kind;
    e->program = p;
    *out = e;
    if (o->kind == ENGINE_INTERPRETED && engine_fits_memory(d, a, p)) {
        e->interp = interp_new(a, p, o->arithmetic);
    } else if (o->kind == ENGINE_INTERPRETED || !start_generated(e, o)) {
        engine_close(e);
        return false;
    }
    return true;
}

static bool make_program(struct diag *d, struct arena *a, const struct model *m, const struct engine_options *o,
                         const struct pipeline_options *how, struct program **out)
{
    const bool as_written = o->kind == ENGINE_INTERPRETED && o->arithmetic == ARITHMETIC_DOUBLE;
    return as_written ? pipeline_program(d, a, m, how, out) : pipeline_canonical(d, a, m, how, out);
}

bool engine_open(struct diag *d, struct arena *a, const struct model *m, const struct engine_options *o,
                 struct engine **out)
{
    struct program *p;
    *out = arena_new(a, struct engine); /* an empty one can be closed */
    if (!make_program(d, a, m, o, &o->pipeline, &p) || !engine_open_program(d, a, p, o, out))
        return false;
    (*out)->options = arena_copy(a, o, sizeof *o, alignof(struct engine_options));
    return true;
}

void engine_close(struct engine *e)
{
    shared_object_close(&e->so);
    guarded_memory_release(&e->state);
    guarded_memory_release(&e->work);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool report_status(struct engine *e, const char *entry, stepc_status status)
{
    return diag_error(e->diag, &LOC_FILE(e->program->model->file), "%s() returned an error: %s", entry,
                      stepc_status_text(status));
}

bool engine_init(struct engine *e, uint64_t seed)
{
    e->seed = seed;
    if (e->kind == ENGINE_INTERPRETED)
        return interp_init(e->interp, seed, e->diag);
    const stepc_entry *init = stepc_find_entry(e->model, "init");
    if (!init)
        return true;
    const stepc_status status = init->call(e->state.data, e->work.data, seed, NULL, NULL);
    return status == STEPC_OK || report_status(e, "init", status);
}

/* What the first input that depends on the count says; the highest where none does. Others are held against it. */
static bool find_count(struct engine *e, const struct entry *entry, const struct tensor *const *inputs, int64_t *count)
{
    const struct size_range *const r = e->program->range;
    const struct graph *const g = entry->graph;
    *count = -1;
    size_t i = 0;
    for (; r && *count < 0 && i < g->inputs.count; i++)
        *count = inputs[i] ? value_count_of(g->inputs.data[i], &inputs[i]->shape) : -1;
    if (r && *count >= 0 && (*count < r->low || *count > r->high))
        return diag_error(e->diag, &LOC_FILE(e->program->model->file),
                          "input '%s' is fed shape %s, which is a '%s' of %" PRId64 "; it is from %" PRId64
                          " to %" PRId64,
                          g->inputs.data[i - 1]->name, shape_text(e->arena, &inputs[i - 1]->shape), r->name, *count,
                          r->low, r->high);
    *count = r && *count < 0 ? r->high : *count;
    return true;
}

static bool run_generated(struct engine *e, const struct entry *entry, const struct tensor *const *inputs,
                          int64_t count, const bool *wanted, struct tensor **outputs, struct arena *a)
{
    const struct graph *g = entry->graph;
    const stepc_entry *found = stepc_find_entry(e->model, entry->name);
    const size_t counts = entry->takes_count ? 1 : 0;
    const int32_t samples = (int32_t)count;
    if (!found || found->input_count != g->inputs.count + counts || found->output_count != g->outputs.count)
        UNREACHABLE("the generated model describes entry '%s' differently", entry->name);
    const void **in = arena_array(a, const void *, g->inputs.count + 1);
    void **out = arena_array(a, void *, g->outputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++)
        in[i] = inputs[i]->data;
    if (counts > 0)
        in[g->inputs.count] = &samples;
    for (size_t i = 0; i < g->outputs.count; i++) {
        const struct value *v = g->outputs.data[i].value;
        const struct shape shape = value_shape_at(v, count);
        outputs[i] = tensor_new(a, v->dtype, &shape);
        out[i] = !wanted || wanted[i] ? outputs[i]->data : NULL;
    }
    if (wanted && e->model->arena_bytes > 0)
        memset(e->work.data, 0xff, e->model->arena_bytes);
    const stepc_status status = found->call(e->state.data, e->work.data, e->seed, in, out);
    return status == STEPC_OK || report_status(e, entry->name, status);
}

static bool program_for(struct engine *e, int64_t count, struct program **out)
{
    const struct model *const m = e->program->model;
    if (!e->options)
        return diag_error(e->diag, &LOC_FILE(m->file), "the program at hand is for '%s' = %" PRId64,
                          e->program->range->name, e->program->range->high);
    const struct pipeline_options at = pipeline_at(e->arena, &e->options->pipeline, count);
    return make_program(e->diag, e->arena, m, e->options, &at, out);
}

bool engine_program_for(struct engine *e, const struct entry *entry, const struct tensor *const *inputs,
                        struct program **out)
{
    int64_t count;
    *out = e->program;
    return find_count(e, entry, inputs, &count) &&
           (!e->program->range || count == e->program->range->high || program_for(e, count, out));
}

/* The interpreter of the program for one count. All share what changes. */
static bool interpreter_at(struct engine *e, int64_t count, struct interp **out)
{
    *out = e->interp;
    if (!e->program->range || count == e->program->range->high)
        return true;
    size_t i = 0;
    while (i < e->others.count && e->others.data[i].count != count)
        i++;
    struct program *p;
    if (i == e->others.count && !program_for(e, count, &p))
        return false;
    if (i == e->others.count) {
        struct interp *const made = interp_new(e->arena, p, e->options->arithmetic);
        made->variables = e->interp->variables;
        made->counters = e->interp->counters;
        vec_push(e->arena, &e->others, ((struct other){count, made}));
    }
    *out = e->others.data[i].interp;
    (*out)->seed = e->interp->seed;
    return true;
}

bool engine_run_some(struct engine *e, const struct entry *entry, const struct tensor *const *inputs,
                     const bool *wanted, struct tensor **outputs, struct arena *a)
{
    const struct loc at = LOC_FILE(e->program->model->file);
    int64_t count;
    bool ok = true;
    if (!find_count(e, entry, inputs, &count))
        return false;
    for (size_t i = 0; i < entry->graph->inputs.count; i++) {
        const struct shape shape = value_shape_at(entry->graph->inputs.data[i], count);
        ok &= interp_check_input(e->diag, &at, entry->graph->inputs.data[i], inputs[i], &shape);
    }
    if (!ok || e->kind == ENGINE_GENERATED)
        return ok && run_generated(e, entry, inputs, count, wanted, outputs, a);
    struct interp *at_count;
    return interpreter_at(e, count, &at_count) &&
           interp_run(at_count, &at_count->program->entries.data[entry - e->program->entries.data], inputs, outputs,
                      NULL, 0, a, e->diag);
}

bool engine_run(struct engine *e, const struct entry *entry, const struct tensor *const *inputs,
                struct tensor **outputs, struct arena *a)
{
    return engine_run_some(e, entry, inputs, NULL, outputs, a);
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

struct tensor *engine_read(struct engine *e, const struct variable *v, struct arena *a)
{
    struct tensor *t = tensor_new(a, v->dtype, &v->shape);
    if (e->kind == ENGINE_INTERPRETED)
        memcpy(t->data, e->interp->variables[v->index]->data, tensor_bytes(t));
    else if (t->count > 0)
        stepc_read_variable(stepc_find_variable(e->model, v->name), e->state.data, t->data);
    return t;
}

void engine_write(struct engine *e, const struct variable *v, const struct tensor *t)
{
    if (e->kind == ENGINE_INTERPRETED)
        memcpy(e->interp->variables[v->index]->data, t->data, tensor_bytes(t));
    else if (t->count > 0)
        stepc_write_variable(stepc_find_variable(e->model, v->name), e->state.data, t->data);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

uint64_t engine_seed(const struct engine *e)
{
    return e->seed;
}

void engine_set_seed(struct engine *e, uint64_t seed)
{
    e->seed = seed;
    if (e->kind == ENGINE_INTERPRETED) {
        e->interp->seed = seed;
        return;
    }
    const stepc_variable_info *v = stepc_find_variable(e->model, "stepc.random_seed");
    if (v)
        stepc_write_variable(v, e->state.data, &seed);
}

const char *engine_counter_name(struct arena *a, const struct program *p, size_t counter)
{
    return arena_printf(a, "stepc.%s", counter_name(a, p, counter));
}

static const stepc_variable_info *find_counter(const struct engine *e, size_t counter)
{
    struct arena a = {0};
    const stepc_variable_info *v = stepc_find_variable(e->model, engine_counter_name(&a, e->program, counter));
    arena_free(&a);
    return v;
}

uint64_t engine_counter(const struct engine *e, size_t counter)
{
    uint64_t x = 0;
    if (e->kind == ENGINE_INTERPRETED)
        return e->interp->counters[counter];
    const stepc_variable_info *v = find_counter(e, counter);
    if (v)
        stepc_read_variable(v, e->state.data, &x);
    return x;
}

void engine_set_counter(struct engine *e, size_t counter, uint64_t x)
{
    if (e->kind == ENGINE_INTERPRETED) {
        e->interp->counters[counter] = x;
        return;
    }
    const stepc_variable_info *v = find_counter(e, counter);
    if (v)
        stepc_write_variable(v, e->state.data, &x);
}
