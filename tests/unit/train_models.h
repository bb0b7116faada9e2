/* For the tests of combination and differentiation: building models in memory, running them in double. */
#ifndef STEPC_TESTS_TRAIN_MODELS_H
#define STEPC_TESTS_TRAIN_MODELS_H

#include "base/str.h"
#include "interp/interp.h"
#include "train/adjoint.h"
#include "train/combine.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct diag diag;
static struct import_options options;
static struct program *program;

static inline void setup(void)
{
    diag = (struct diag){.arena = &arena};
    options = (struct import_options){0};
    program = NULL;
}

static inline void teardown(void)
{
    arena_free(&arena);
}

/* ---- building models --------------------------------------------------------------------------------------------- */

#define TRAINING "ai.onnx.preview.training"

static inline struct model *new_model(void)
{
    struct model *const m = arena_new(&arena, struct model);
    m->file = "test.onnx";
    m->ir_version = 10;
    m->graph = model_graph_new(&arena, "net");
    vec_push(&arena, &m->opsets, ((struct model_opset){"", 17}));
    vec_push(&arena, &m->opsets, ((struct model_opset){TRAINING, 1}));
    return m;
}

static inline struct model_training *add_training(struct model *m, const char *algorithm)
{
    struct model_training *const t = arena_new(&arena, struct model_training);
    t->loc = LOC_FILE(m->file);
    if (algorithm != NULL)
        t->algorithm = model_graph_new(&arena, algorithm);
    vec_push(&arena, &m->training, t);
    return t;
}

/* "a b" -> {"a", "b", NULL}; "-" stands for an omitted operand. */
static inline const char *const *words(const char *text)
{
    VEC(const char *) list = {0};
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        const char *const word = arena_strndup(&arena, text, length);
        vec_push(&arena, &list, strcmp(word, "-") == 0 ? "" : word);
        text += length;
        text += strspn(text, " ");
    }
    vec_push(&arena, &list, NULL);
    return list.data;
}

/* op(g, "y", "Mul", "a b") */
static inline struct model_node *op(struct model_graph *g, const char *outputs, const char *type, const char *inputs)
{
    static const char *const training[] = {"Gradient", "GraphCall", "Momentum", "Adagrad", "Adam"};
    const char *domain = "";
    for (size_t i = 0; i < sizeof training / sizeof *training; i++)
        domain = strcmp(type, training[i]) == 0 ? TRAINING : domain;
    return model_add_node(&arena, g, domain, type, words(inputs), words(outputs));
}

static inline struct model_node *gradient(struct model_graph *g, const char *outputs, const char *xs, const char *zs,
                                          const char *y, const char *inputs)
{
    struct model_node *const n = op(g, outputs, "Gradient", inputs);
    const char *const *const x = words(xs), *const *const z = words(zs);
    size_t count = 0;
    while (x[count] != NULL)
        count++;
    model_set_strings(&arena, n, "xs", x, count);
    for (count = 0; z[count] != NULL;)
        count++;
    if (count > 0)
        model_set_strings(&arena, n, "zs", z, count);
    model_set_string(&arena, n, "y", y);
    return n;
}

/* A double tensor: dims end with -1; values repeat. */
static inline struct tensor *doubles(const struct shape *shape, const double *values, size_t count)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_DOUBLE, shape);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, values[(size_t)i % count]);
    return t;
}
#define DOUBLES(shape, ...)                                                                                            \
    doubles(&(shape), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#define SCALAR(x) DOUBLES(SHAPE_SCALAR, x)

static inline void input(struct model_graph *g, const char *name, enum dtype dtype, const char *dims)
{
    struct model_dim list[SHAPE_MAX_RANK];
    size_t rank = 0;
    for (const char *const *w = words(dims); *w != NULL; w++, rank++) {
        const bool number = (*w)[0] >= '0' && (*w)[0] <= '9';
        list[rank] = (struct model_dim){number ? atoi(*w) : -1, number ? "" : *w, ""};
    }
    model_add_value(&arena, g, 0, name, dtype, list, rank);
}

/* An output that declares its dtype only. */
static inline void output(struct model_graph *g, const char *names)
{
    for (const char *const *w = words(names); *w != NULL; w++) {
        model_add_value(&arena, g, 1, *w, DTYPE_DOUBLE, NULL, 0);
        struct model_value_info *const vi = g->outputs.data[g->outputs.count - 1];
        vi->type.has_shape = false;
        vi->type.elem = DTYPE_UNDEFINED;
    }
}

static inline void update(struct model_training *t, const char *key, const char *value)
{
    vec_push(&arena, &t->update_binding, ((struct model_pair){key, value}));
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static inline bool combine(const struct model *m)
{
    if (!combine_program(&diag, &arena, m, &options, "test", NULL, &program))
        return false;
    bool ok = true;
    for (size_t i = 0; i < program->entries.count; i++) {
        graph_verify(program->entries.data[i].graph, "combine");
        ok = adjoint_expand(program->entries.data[i].graph) && ok;
        if (ok)
            graph_verify(program->entries.data[i].graph, "adjoint");
    }
    return ok;
}

static inline void print_messages(void)
{
    diag_print(&diag, stderr);
}

static inline void must_combine(const struct model *m)
{
    const bool ok = combine(m);
    if (!ok)
        print_messages();
    ck_assert(ok);
}

static inline bool has_message(const char *part)
{
    for (size_t i = 0; i < diag.messages.count; i++)
        if (strstr(diag.messages.data[i].text, part) != NULL)
            return true;
    print_messages();
    return false;
}

static inline struct interp *start(void)
{
    struct interp *const s = interp_new(&arena, program, ARITHMETIC_DOUBLE);
    ck_assert(interp_init(s, 1, &diag));
    return s;
}

/* Runs an entry on inputs in order and gives one of its values. */
static inline const struct tensor *run(struct interp *s, const char *entry, const char *fetch,
                                       const struct tensor *const *inputs)
{
    struct interp_fetch f = {.name = fetch};
    const struct entry *const e = program_entry(program, entry);
    ck_assert_ptr_nonnull(e);
    const bool ok = interp_run(s, e, inputs, NULL, &f, 1, &arena, &diag);
    if (!ok)
        print_messages();
    ck_assert(ok);
    return f.tensor;
}
#define INPUTS(...) ((const struct tensor *const[]){__VA_ARGS__})

static inline void expect(const struct tensor *t, const double *values, size_t count)
{
    ck_assert_int_eq(t->count, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        ck_assert_double_eq_tol(tensor_get_double(t, (int64_t)i), values[i], 1e-12);
}
#define EXPECT(t, ...)                                                                                                 \
    expect((t), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

#endif
