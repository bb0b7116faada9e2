/* For the tests of checkpoints whose values go into a model: a small model, and checkpoints made up for it. */
#ifndef STEPC_TESTS_FILL_CHECKPOINTS_H
#define STEPC_TESTS_FILL_CHECKPOINTS_H

#include "base/diag.h"
#include "foreign/fill_internal.h"
#include "foreign/give.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

static struct arena arena;
static struct diag diag;
static struct strbuf report;

static inline void begin(void)
{
    arena = (struct arena){0};
    diag = (struct diag){.arena = &arena};
    report = (struct strbuf){.arena = &arena};
}

static inline void end(void)
{
    arena_free(&arena);
}

static inline struct model *read_model(const char *metadata, const char *algorithm)
{
    struct model *m;
    const char *const text =
        arena_printf(&arena,
                     "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]%s>\n"
                     "net (float[1,2] x) => (float[1,3] y)\n"
                     "<float[2,3] w = {1,2,3,4,5,6}, float[3] b = {0,0,0}, float[3] c = {0,0,0}>\n"
                     "{ p = MatMul(x, w) q = Add(p, b) y = Add(q, c) }\n%s",
                     metadata, algorithm);
    ck_assert_msg(model_read_text(&diag, &arena, "net.onnxtxt", text, strlen(text), &m), "%s", diag_first_error(&diag));
    return m;
}

/* As prepare writes it, as far as fill looks at it: one rate for w, another for b. */
static const char adam[] =
    "@training_info { algorithm: train () => (float[2,3] w1, float[3] b1, float[2,3] m1, float[3] n1, int64 s1, float "
    "r1,\n"
    "float r2)\n"
    "<float[2,3] \"w.m\" = {0,0,0,0,0,0}, float[2,3] \"w.v\" = {0,0,0,0,0,0}, float[3] \"b.m\" = {0,0,0},\n"
    " float[3] \"b.v\" = {0,0,0}, int64 step_count = {3}, float learning_rate = {1}, float \"learning_rate.2\" = {1},\n"
    " float beta1_2 = {0.9}, float epsilon = {0.5}>\n"
    "{ m1 = Mul(\"w.m\", beta1_2) scheduled_rate = Identity(learning_rate) a = Mul(m1, scheduled_rate)\n"
    "  a1 = Add(a, epsilon) w1 = Sub(w, a1) n1 = Mul(\"b.m\", \"learning_rate.2\") b1 = Sub(b, n1)\n"
    "  s1 = Identity(step_count) r1 = Identity(learning_rate) r2 = Identity(\"learning_rate.2\") }\n"
    "  update_binding: [\"w\" : \"w1\", \"b\" : \"b1\", \"w.m\" : \"m1\", \"w.v\" : \"m1\", \"b.m\" : \"n1\", \"b.v\" "
    ": \"n1\",\n"
    "    \"step_count\" : \"s1\", \"learning_rate\" : \"r1\", \"learning_rate.2\" : \"r2\"] }\n";

static inline const struct tensor *numbers(const struct shape *shape, double first)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, shape);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, first + (double)i);
    return t;
}

static inline void add_weight(struct checkpoint *c, const char *name, const struct shape *shape, double first)
{
    vec_push(&arena, &c->weights, ((struct named_tensor){name, numbers(shape, first)}));
}

static inline void add_parameter(struct checkpoint *c, const char *name, size_t group, const struct shape *shape,
                                 double first)
{
    struct checkpoint_parameter p = {.name = name, .group = group, .steps = 7};
    vec_push(&arena, &p.state, ((struct named_tensor){"exp_avg", numbers(shape, first)}));
    vec_push(&arena, &p.state, ((struct named_tensor){"exp_avg_sq", numbers(shape, first + 100)}));
    vec_push(&arena, &c->parameters, p);
    while (c->groups.count <= group)
        vec_push(&arena, &c->groups, ((struct checkpoint_group){0}));
    c->groups.data[group].count++;
    c->has_optimizer = true;
}

static inline void add_number(struct checkpoint *c, size_t group, const char *key, double x)
{
    vec_push(&arena, &c->groups.data[group].numbers, ((struct checkpoint_number){key, x}));
}

static inline struct checkpoint empty(void)
{
    return (struct checkpoint){.path = "c.pt", .ordered = true, .steps = NAN, .most_steps = NAN};
}

static const struct shape three = SHAPE(3), two_three = SHAPE(2, 3), three_two = SHAPE(3, 2), four = SHAPE(4),
                          square = SHAPE(3, 3), scalar = {.rank = 0};

/* w [2,3] of the model is [3,2] in the file; b and c. */
static inline struct checkpoint make_checkpoint(void)
{
    struct checkpoint c = empty();
    add_weight(&c, "w", &three_two, 1);
    add_weight(&c, "b", &three, 10);
    add_weight(&c, "c", &three, 20);
    return c;
}

static inline bool fill_with(struct model *m, struct checkpoint *c, const struct fill_options *o, struct filled *out)
{
    *out = (struct filled){.set.arena = &arena};
    return checkpoint_fill(&diag, &arena, m, c, o, &report, out);
}

static inline double value(const struct filled *f, const char *name, int64_t i)
{
    const struct tensor *const t = map_get(&f->set, name);
    ck_assert_msg(t, "'%s' is not set", name);
    return tensor_get_double(t, i);
}

static inline bool said(const char *text)
{
    vec_each_ptr(const struct diag_message, m, &diag.messages)
        if (strstr(m->text, text))
            return true;
    return strstr(strbuf_text(&report), text) != NULL;
}

#define assert_said(text) ck_assert_msg(said(text), "no '%s' in\n%s", text, strbuf_text(&report))

#endif
