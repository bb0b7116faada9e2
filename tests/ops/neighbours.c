/* What stands beside the samples: each model of a sample with one thing changed, and what stepc says of it.
 *   neighbours [--check CC] FOLDER [PATTERN...]: writes FOLDER/OPERATOR.txt
 *
 * A change is a dimension more or one that is larger, another type, an operand or a result more or less, an attribute
 * that is next to what it was, another text or left out, a constant that is next to what it was or that comes from the
 * caller, a version of the operator. A line each: what was changed, and the shapes of the results or the errors. That
 * shows every condition that an operator asks of its inputs.
 *
 * --check: the accepted ones must stand all checks of test_ops, too, compiled by CC (tests/quick_cc: half an hour);
 * those that do not are printed. What is drawn for them may be an index out of range or beside a kink: a person reads
 * them. */
#include "base/file.h"
#include "base/str.h"
#include "graph/op_def.h"
#include "sample.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ELEMENTS 8 /* of a constant or a list that are changed one by one */

/* The changes are counted as they are come by; one of them is made. */
struct change {
    struct arena *arena;
    int count, wanted;
    const char *name; /* NULL until it was made */
};

static bool here(struct change *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool here(struct change *c, const char *fmt, ...)
{
    char text[256];
    if (c->count++ != c->wanted)
        return false;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->name = arena_strdup(c->arena, text);
    return true;
}

/* ---- one change -------------------------------------------------------------------------------------------------- */

static void change_input(struct change *c, struct model_value_info *v)
{
    struct model_type *const t = &v->type;
    if (t->kind != TYPE_TENSOR)
        return;
    if (here(c, "%s: another type", v->name))
        t->elem = dtype_is_float(t->elem) ? DTYPE_INT32 : DTYPE_FLOAT;
    if (dtype_is_float(t->elem) && here(c, "%s: another width", v->name))
        t->elem = t->elem == DTYPE_DOUBLE ? DTYPE_FLOAT : DTYPE_DOUBLE;
    if (!t->has_shape)
        return;
    if (t->dims.count < SHAPE_MAX_RANK && here(c, "%s: a dimension in front", v->name)) {
        vec_push(c->arena, &t->dims, ((struct model_dim){.value = 1, .param = "", .denotation = ""}));
        for (size_t i = t->dims.count - 1; i > 0; i--)
            t->dims.data[i] = t->dims.data[i - 1];
        t->dims.data[0].value = 1;
    }
    if (t->dims.count > 0 && here(c, "%s: without its first dimension", v->name))
        vec_remove(&t->dims, 0);
    for (size_t i = 0; i < t->dims.count; i++) {
        if (here(c, "%s: dimension %zu one more", v->name, i))
            t->dims.data[i].value++;
        if (t->dims.data[i].value > 0 && here(c, "%s: dimension %zu one less", v->name, i))
            t->dims.data[i].value--;
    }
}

static void change_int(struct change *c, const char *name, int64_t *x)
{
    if (*x < INT64_MAX && here(c, "%s: one more", name))
        ++*x;
    else if (*x > INT64_MIN && here(c, "%s: one less", name))
        --*x;
}

static void change_ints(struct change *c, struct model_attr *a)
{
    for (size_t i = 0; i < a->ints.count && i < MOST_ELEMENTS; i++)
        change_int(c, arena_printf(c->arena, "%s[%zu]", a->name, i), &a->ints.data[i]);
    if (here(c, "%s: an element more", a->name)) {
        const int64_t last = a->ints.count > 0 ? a->ints.data[a->ints.count - 1] : 1;
        vec_push(c->arena, &a->ints, last);
    }
    if (a->ints.count > 0 && here(c, "%s: an element less", a->name))
        a->ints.count--;
}

/* A constant's: floating elements are often scales. */
static void change_tensor(struct change *c, const char *name, struct tensor *t)
{
    if (t->dtype == DTYPE_STRING)
        return;
    for (int64_t i = 0; i < t->count && i < MOST_ELEMENTS; i++) {
        if (here(c, "%s[%lld]: one more", name, (long long)i))
            tensor_set_double(t, i, tensor_get_double(t, i) + 1);
        if (here(c, "%s[%lld]: one less", name, (long long)i))
            tensor_set_double(t, i, tensor_get_double(t, i) - 1);
    }
    if (t->shape.rank == 1 && t->count > 0 && here(c, "%s: an element less", name)) {
        t->shape.dim[0]--;
        t->count--;
    }
}

static void change_attr(struct change *c, struct model_node *n, size_t at)
{
    struct model_attr *const a = n->attrs.data[at];
    switch (a->type) {
    case ATTR_INT: change_int(c, a->name, &a->i); break;
    case ATTR_INTS: change_ints(c, a); break;
    case ATTR_TENSOR: change_tensor(c, n->outputs.data[0], a->t); break;
    case ATTR_FLOAT:
        if (here(c, "%s: negative", a->name))
            a->f = -a->f - 1;
        break;
    case ATTR_STRING:
        if (here(c, "%s: another text", a->name))
            a->s = (struct model_bytes){.data = "other", .size = 5};
        break;
    default: break;
    }
    if (here(c, "%s: left out", a->name))
        vec_remove(&n->attrs, at);
}

/* Attributes that the sample does not give: beside their default. */
static void change_default(struct change *c, struct model_node *n, const struct op_attr *a)
{
    if (a->type == ATTR_INT)
        for (int64_t by = -1; by <= 1; by += 2)
            if (here(c, "%s: %lld", a->name, (long long)(a->int_default + by)))
                model_set_int(c->arena, n, a->name, a->int_default + by);
    if (a->type == ATTR_FLOAT && here(c, "%s: negative", a->name))
        model_set_float(c->arena, n, a->name, (float)-a->float_default - 1);
    if (a->type == ATTR_STRING && here(c, "%s: a text", a->name))
        model_set_string(c->arena, n, a->name, "other");
    if (a->type == ATTR_INTS && here(c, "%s: two elements", a->name))
        model_set_ints(c->arena, n, a->name, (const int64_t[]){1, 1}, 2);
}

static void change_node(struct change *c, struct model_node *n, const struct op_def *def)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (here(c, "input %zu: left out", i))
            n->inputs.data[i] = "";
    if (n->inputs.count > 0 && here(c, "without its last input"))
        n->inputs.count--;
    if (n->inputs.count > 0 && here(c, "an input more"))
        vec_push(c->arena, &n->inputs, n->inputs.data[0]);
    if (here(c, "an output more"))
        vec_push(c->arena, &n->outputs, "another_output");
    if (here(c, "neither inputs nor outputs"))
        n->inputs.count = n->outputs.count = 0;
    for (const struct op_attr *a = def->attrs; a && a->name; a++)
        if (!model_find_attr(&n->attrs, a->name))
            change_default(c, n, a);
}

/* Its value is an input of the model then: sizes may follow from data. */
static void change_constant(struct change *c, struct model_graph *g, size_t at)
{
    const struct model_node *const n = g->nodes.data[at];
    struct model_dim dims[SHAPE_MAX_RANK];
    if (!str_equal(n->op_type, "Constant") || n->attrs.count != 1)
        return;
    const struct model_attr *const value = n->attrs.data[0];
    enum dtype dtype = value->type == ATTR_INT || value->type == ATTR_INTS ? DTYPE_INT64 : DTYPE_FLOAT;
    struct shape shape = SHAPE_SCALAR;
    switch (value->type) {
    case ATTR_TENSOR:
        dtype = value->t->dtype;
        shape = value->t->shape;
        break;
    case ATTR_INTS: shape = SHAPE((int64_t)value->ints.count); break;
    case ATTR_FLOATS: shape = SHAPE((int64_t)value->floats.count); break;
    case ATTR_INT:
    case ATTR_FLOAT: break;
    default: return;
    }
    if (!here(c, "%s: from the caller", n->outputs.data[0]))
        return;
    for (int d = 0; d < shape.rank; d++)
        dims[d] = (struct model_dim){.value = shape.dim[d], .param = "", .denotation = ""};
    model_add_value(c->arena, g, 0, n->outputs.data[0], dtype, dims, (size_t)shape.rank);
    vec_remove(&g->nodes, at);
}

static void make_change(struct change *c, struct model *m, const struct op_def *def)
{
    struct model_graph *const g = m->graph;
    for (const struct op_version *v = def->versions; v->since > 0; v++)
        vec_each_ptr(struct model_opset, o, &m->opsets)
            if (str_equal(o->domain, def->domain ? def->domain : DOMAIN_ONNX) && here(c, "version %d", v->since))
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
        if (d->messages.data[i].severity == DIAG_ERROR)
            fprintf(r->out, " %s;", d->messages.data[i].text);
    fputc('\n', r->out);
}

static void print_results(const struct run *r, struct arena *a, const struct graph *g)
{
    fputs("accepted:", r->out);
    for (size_t i = 0; i < g->outputs.count; i++) {
        struct value *const v = g->outputs.data[i].value;
        const struct tensor *const known = value_known(v);
        fprintf(r->out, " %s%s", dtype_name(v->dtype), shape_text(a, &v->shape));
        for (int64_t k = 0; known && known->dtype != DTYPE_STRING && k < known->count && k < MOST_ELEMENTS; k++)
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

static void tell_all(const struct run *r)
{
    for (const struct op_sample *s = r->def->samples; s && s->text; s++) {
        fprintf(r->out, "\n%s", s->text);
        fprintf(r->out, s->opset ? "  (opset %d)\n" : "\n", s->opset);
        int i = 0;
        while (tell(r, s, i))
            i++;
    }
}

/* In a process of its own: whatever one does is not done to the others. */
static bool write_operator(const struct op_def *def, const char *folder, const char *cc)
{
    struct arena a = {0};
    const char *const path = arena_printf(&a, "%s/%s.txt", folder, op_display_name(def));
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        struct run r = {.def = def, .out = fopen(path, "w"), .cc = cc};
        if (!r.out)
            _exit(1);
        tell_all(&r);
        _exit(fclose(r.out) != 0);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    if (status != 0)
        printf("%s: ends with %d; what it was at stands at the end of %s\n", op_display_name(def), status, path);
    arena_free(&a);
    return status == 0;
}

int main(int argc, char **argv)
{
    const char *cc = NULL;
    bool ok = true;
    if (argc > 2 && str_equal(argv[1], "--check")) {
        cc = argv[2];
        argv += 2;
        argc -= 2;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: neighbours [--check CC] FOLDER [PATTERN...]\n");
        return 2;
    }
    for (const struct op_def *const *file = op_table; *file; file++)
        for (const struct op_def *def = *file; def->name; def++) {
            bool wanted = argc == 2;
            for (int i = 2; i < argc; i++)
                wanted |= str_glob(argv[i], op_display_name(def));
            if (wanted && !def->is_structural)
                ok &= write_operator(def, argv[1], cc);
        }
    return !ok;
}
