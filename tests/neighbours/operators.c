/* What stands beside the samples: each model of a sample with one thing changed, and what stepc says of it.
 *   neighbours_operators [--check CC] FOLDER [PATTERN...]: writes FOLDER/OPERATOR.txt
 *
 * A change is a dimension more or one that is larger, another type, an operand or a result more or less, an attribute
 * that is next to what it was, another text or left out, a constant that is next to what it was or that comes from the
 * caller, a version of the operator. A line each: what was changed, and the shapes of the results or the errors. That
 * shows every condition that an operator asks of its inputs.
 *
 * --check: the accepted ones must stand all checks of test_ops, too, compiled by CC (tests/quick_cc: half an hour);
 * those that do not are printed. What is drawn for them may be an index out of range or beside a kink: a person reads
 * them. */
#include "base/str.h"
#include "change.h"
#include "graph/op_def.h"
#include "sample.h"

#include <stdio.h>
#include <string.h>

#define MOST_PRINTED 8 /* elements of a known result */

/* Attributes that the sample does not give: beside their default. */
static void change_default(struct change *c, struct model_node *n, const struct op_attr *a)
{
    if (a->type == ATTR_INT)
        for (int64_t by = -1; by <= 1; by += 2)
            if (change_here(c, "%s: %lld", a->name, (long long)(a->int_default + by)))
                model_set_int(c->arena, n, a->name, a->int_default + by);
    if (a->type == ATTR_FLOAT && change_here(c, "%s: negative", a->name))
        model_set_float(c->arena, n, a->name, (float)-a->float_default - 1);
    for (size_t i = 0; a->type == ATTR_STRING && change_texts[i]; i++)
        if (change_here(c, "%s: %s", a->name, change_texts[i]))
            model_set_string(c->arena, n, a->name, change_texts[i]);
    if (a->type == ATTR_INTS && change_here(c, "%s: two elements", a->name))
        model_set_ints(c->arena, n, a->name, (const int64_t[]){1, 1}, 2);
}

static void change_node(struct change *c, struct model_node *n, const struct op_def *def)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (change_here(c, "input %zu: left out", i))
            n->inputs.data[i] = "";
    if (n->inputs.count > 0 && change_here(c, "without its last input"))
        n->inputs.count--;
    if (n->inputs.count > 0 && change_here(c, "an input more"))
        vec_push(c->arena, &n->inputs, n->inputs.data[0]);
    if (change_here(c, "an output more"))
        vec_push(c->arena, &n->outputs, "another_output");
    if (change_here(c, "neither inputs nor outputs"))
        n->inputs.count = n->outputs.count = 0;
    for (const struct op_attr *a = def->attrs; a && a->name; a++)
        if (!model_find_attr(&n->attrs, a->name))
            change_default(c, n, a);
}

static void make_change(struct change *c, struct model *m, const struct op_def *def)
{
    struct model_graph *const g = m->graph;
    for (const struct op_version *v = def->versions; v->since > 0; v++)
        vec_each_ptr(struct model_opset, o, &m->opsets)
            if (str_equal(o->domain, def->domain ? def->domain : DOMAIN_ONNX) && change_here(c, "version %d", v->since))
                o->version = v->since;
    for (size_t i = 0; i < g->inputs.count; i++)
        change_input(c, g->inputs.data[i]);
    for (size_t i = 0; i < g->nodes.count && c->name == NULL; i++) {
        struct model_node *const n = g->nodes.data[i];
        if (op_find(n->domain, n->op_type) == def)
            change_node(c, n, def);
        for (size_t k = n->attrs.count; k-- > 0 && c->name == NULL;)
            change_attr(c, n, k);
        if (c->name == NULL)
            change_constant(c, g, i);
    }
    for (size_t i = 0; i < g->outputs.count; i++)
        g->outputs.data[i]->type.has_shape = false;
}

/* ---- what is said of it ------------------------------------------------------------------------------------------ */

struct run {
    const struct op_def *def;
    FILE *out;
    const char *cc; /* of --check, or NULL */
};

static void print_refusal(const struct run *r, const struct diag *d)
{
    fputs("refused:", r->out);
    for (size_t i = 0; i < d->messages.count; i++)
        if (d->messages.data[i].severity == DIAG_ERROR) {
            fputc(' ', r->out);
            print_message(r->out, &d->messages.data[i]);
            fputc(';', r->out);
        }
    fputc('\n', r->out);
}

static void print_results(const struct run *r, struct arena *a, const struct graph *g)
{
    fputs("accepted:", r->out);
    for (size_t i = 0; i < g->outputs.count; i++) {
        struct value *const v = g->outputs.data[i].value;
        const struct tensor *const known = value_known(v);
        fprintf(r->out, " %s%s", dtype_name(v->dtype), shape_text(a, &v->shape));
        for (int64_t k = 0; known && known->dtype != DTYPE_STRING && k < known->count && k < MOST_PRINTED; k++)
            fprintf(r->out, "%s%.6g", k == 0 ? " = " : ",", tensor_get_double(known, k));
    }
    fputc('\n', r->out);
}

/* So that the model's text has them. */
static void declare_results(struct arena *a, struct model *m, const struct graph *g)
{
    for (size_t i = 0; i < g->outputs.count; i++) {
        struct model_type *const t = &m->graph->outputs.data[i]->type;
        const struct value *const v = g->outputs.data[i].value;
        t->elem = v->dtype;
        t->has_shape = true;
        t->dims.count = 0;
        for (int d = 0; d < v->shape.rank; d++)
            vec_push(a, &t->dims, ((struct model_dim){.value = v->shape.dim[d], .param = "", .denotation = ""}));
    }
}

/* Everything that test_ops looks at, of the changed model as a sample of its own. */
static void check_neighbour(const struct run *r, const struct op_sample *of, const struct model *m, const char *name)
{
    struct sample_test t = {.def = r->def, .cc = r->cc, .seed = 1};
    struct op_sample sample = *of;
    size_t size;
    t.diag.arena = &t.arena;
    t.sample = &sample;
    sample.error = NULL;
    sample.opset = 0;
    if (!model_encode_text(&t.diag, &t.arena, m, true, &sample.text, &size) || !sample_check(&t))
        printf("%s: %s: %s\n%s\n", op_display_name(r->def), name, t.reason ? t.reason : "not text", of->text);
    fflush(stdout);
    arena_free(&t.arena);
}

/* Is there a change of that number? */
static bool tell(const struct run *r, const struct op_sample *sample, int number)
{
    struct sample_test t = {.def = r->def, .sample = sample};
    struct change c = {.arena = &t.arena, .wanted = number};
    const struct engine_options o = {.kind = ENGINE_INTERPRETED,
                                     .pipeline = {.name = "sample", .entries = "init,infer"}};
    struct model *m;
    struct engine *e;
    t.diag.arena = &t.arena;
    if (!sample_read(&t, &m))
        UNREACHABLE("sample '%s' cannot be read", sample->text);
    make_change(&c, m, r->def);
    if (c.name) {
        fprintf(r->out, "%s: ", c.name);
        fflush(r->out);
        if (!engine_open(&t.diag, &t.arena, m, &o, &e)) {
            print_refusal(r, &t.diag);
        } else {
            const struct graph *const g = program_entry(engine_program(e), "infer")->graph;
            print_results(r, &t.arena, g);
            declare_results(&t.arena, m, g);
            engine_close(e);
            if (r->cc)
                check_neighbour(r, sample, m, c.name);
        }
    }
    arena_free(&t.arena);
    return c.name != NULL;
}

static void tell_all(FILE *out, const struct op_def *def, const void *cc)
{
    const struct run r = {.def = def, .out = out, .cc = cc};
    for (const struct op_sample *s = def->samples; s && s->text; s++) {
        fprintf(out, "\n%s", s->text);
        fprintf(out, s->opset ? "  (opset %d)\n" : "\n", s->opset);
        int i = 0;
        while (tell(&r, s, i))
            i++;
    }
}

int main(int argc, char **argv)
{
    const char *cc = NULL;
    if (argc > 2 && str_equal(argv[1], "--check")) {
        cc = argv[2];
        argv += 2;
        argc -= 2;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: neighbours_operators [--check CC] FOLDER [PATTERN...]\n");
        return 2;
    }
    return !write_operators(argv[1], argv + 2, tell_all, cc);
}
