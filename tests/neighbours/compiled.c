/* What is written for samples of operators in other ways than the usual one: for a machine, with an option, with a size
 * that each call says or that follows from data.
 *   neighbours_compiled FOLDER [PATTERN...]: writes FOLDER/OPERATOR.txt
 *
 * Each sample, and its derivative where it has one, is compiled with one option, which its text chooses, so that all
 * options meet each kind of kernel somewhere. Then dimensions of its inputs become a name with a range: all of that
 * size at once; and the first or last elements of an input are those that another one chooses. A line each: what was
 * changed, and a hash of the C and of its header, or the errors. tests/costs has the same without options. */
#include "base/hash.h"
#include "base/str.h"
#include "change.h"
#include "graph/bounded.h"
#include "graph/op_def.h"
#include "sample.h"
#include "way.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 64    /* a dimension that gets a range */
#define MOST_DIMS 8   /* of a sample, which get one */
#define MOST_CHOSEN 3 /* inputs of a sample, parts of which are chosen */

struct run {
    const struct op_def *def;
    FILE *out;
};

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Dimensions of inputs of the size `from` are called n. */
static void name_dims(struct model *m, int64_t from)
{
    vec_each(struct model_value_info *, v, &m->graph->inputs)
        for (size_t i = 0; v->type.kind == TYPE_TENSOR && v->type.has_shape && i < v->type.dims.count; i++)
            if (v->type.dims.data[i].value == from)
                v->type.dims.data[i] = (struct model_dim){.value = -1, .param = "n", .denotation = ""};
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

static bool is_first_of_size(const struct model *m, int number)
{
    for (int i = 0; i < number; i++)
        if (size_of(m, i) == size_of(m, number))
            return false;
    return true;
}

/* Nodes read of an input what `choice` chooses along an axis; results have room for one less. */
static void choose(struct arena *a, struct model_graph *g, const struct model_value_info *v, size_t axis,
                   struct map *bounds)
{
    const char *const name = arena_printf(a, "chosen_%s", v->name);
    const int64_t size = v->type.dims.data[axis].value;
    vec_each(struct model_node *, n, &g->nodes)
        for (size_t i = 0; i < n->inputs.count; i++)
            if (str_equal(n->inputs.data[i], v->name))
                n->inputs.data[i] = name;
    struct model_node *const n =
        model_add_node(a, g, "", "Compress", (const char *[]){v->name, "choice", NULL}, (const char *[]){name, NULL});
    model_set_int(a, n, "axis", (int64_t)axis);
    for (size_t i = g->nodes.count - 1; i > 0; i--)
        g->nodes.data[i] = g->nodes.data[i - 1];
    g->nodes.data[0] = n;
    const struct bound_option most = {.most = size > 1 ? size - 1 : 1};
    map_set(bounds, name, arena_copy(a, &most, sizeof most, alignof(struct bound_option)));
}

static bool has_axis(const struct model_value_info *v, bool last)
{
    return v->type.kind == TYPE_TENSOR && v->type.has_shape && v->type.dims.count > (last ? 1 : 0);
}

/* Along the first axis, of all inputs from that number on whose first axis is as long; or along its last axis. */
static bool choose_of(struct arena *a, struct model *m, size_t number, bool last, struct map *bounds)
{
    struct model_graph *const g = m->graph;
    const size_t count = g->inputs.count;
    if (number >= count || !has_axis(g->inputs.data[number], last))
        return false;
    const struct model_type *const t = &g->inputs.data[number]->type;
    const size_t axis = last ? t->dims.count - 1 : 0;
    const struct model_dim length = t->dims.data[axis];
    for (size_t i = number; i < (last ? number + 1 : count); i++)
        if (has_axis(g->inputs.data[i], last) && g->inputs.data[i]->type.dims.data[axis].value == length.value)
            choose(a, g, g->inputs.data[i], axis, bounds);
    model_add_value(a, g, 0, "choice", DTYPE_BOOL, &length, 1);
    return true;
}

static void forget_results(struct model *m)
{
    vec_each(struct model_value_info *, v, &m->graph->outputs)
        v->type.has_shape = false;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

enum kind { OPTION, RANGE, FIRST_CHOSEN, LAST_CHOSEN };

/* The sample, changed; number: of a dimension of the inputs, or of an input. false: there is none. */
static bool tell(const struct run *r, const struct op_sample *sample, bool derived, enum kind kind, int number)
{
    struct sample_test t = {.def = r->def, .sample = sample};
    struct map dims = {.arena = &t.arena}, bounds = {.arena = &t.arena};
    struct size_range range = {.name = "n", .low = 1};
    struct way w = way_usual("sample");
    struct model *m;
    t.diag.arena = &t.arena;
    w.pipeline.import.dims = &dims;
    w.pipeline.import.bounds = &bounds;
    bool told = sample_read(&t, &m) && (!derived || sample_is_differentiated(&t, m));
    if (told && derived)
        sample_differentiate(&t.arena, m, &(struct derivative_options){.order = 1});
    if (told && kind == OPTION) {
        fprintf(r->out, "%s: ",
                way_take_option(&w, hash_bytes(sample->text, strlen(sample->text)) + (derived ? 5 : 0)));
    } else if (told && kind == RANGE) {
        const int64_t size = size_of(m, number);
        told = size > 0 && size <= LONGEST && is_first_of_size(m, number);
        range.high = size + 2;
        map_set(&dims, "n", &range.high);
        w.pipeline.import.range = &range;
        name_dims(m, size);
        if (told)
            fprintf(r->out, "dimensions of %lld in %lld..%lld: ", (long long)size, (long long)range.low,
                    (long long)range.high);
    } else if (told) {
        told = choose_of(&t.arena, m, (size_t)number, kind == LAST_CHOSEN, &bounds);
        if (told)
            fprintf(r->out, "some of the %s axis of input %d: ", kind == FIRST_CHOSEN ? "first" : "last", number);
    }
    if (told && kind != OPTION)
        forget_results(m);
    fflush(r->out);
    if (told)
        way_print(r->out, &t.diag, &t.arena, m, &w);
    arena_free(&t.arena);
    return told;
}

static void tell_sample(const struct run *r, const struct op_sample *s)
{
    for (int derived = 0; derived < 2; derived++) {
        if (!tell(r, s, derived, OPTION, 0))
            continue;
        for (int i = 0; i < (derived ? 2 : MOST_DIMS); i++)
            tell(r, s, derived, RANGE, i);
        for (int i = 0; i < MOST_CHOSEN && !derived; i++) {
            tell(r, s, false, FIRST_CHOSEN, i);
            tell(r, s, false, LAST_CHOSEN, i);
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
