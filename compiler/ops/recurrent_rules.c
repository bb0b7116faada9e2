#include "ops/recurrent_rules.h"

#include "base/str.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- activations ------------------------------------------------------------------------------------------------- */

enum activation_form {
    FORM_OPERATOR, /* an operator of ONNX with these attributes */
    FORM_AFFINE,   /* alpha x + beta */
    FORM_SCALED    /* alpha tanh(beta x) */
};

struct activation_function {
    const char *name;
    enum activation_form form;
    bool has_alpha, has_beta; /* it takes the next number of the lists */
    double alpha, beta;
};

static const struct activation_function kinds[] = {
    {"Relu", FORM_OPERATOR, false, false, 0, 0},
    {"Tanh", FORM_OPERATOR, false, false, 0, 0},
    {"Sigmoid", FORM_OPERATOR, false, false, 0, 0},
    {"Affine", FORM_AFFINE, true, true, 1, 0},
    {"LeakyRelu", FORM_OPERATOR, true, false, 0.01, 0},
    {"ThresholdedRelu", FORM_OPERATOR, true, false, 1, 0},
    {"ScaledTanh", FORM_SCALED, true, true, 1, 1},
    {"HardSigmoid", FORM_OPERATOR, true, true, 0.2, 0.5},
    {"Elu", FORM_OPERATOR, true, false, 1, 0},
    {"Softsign", FORM_OPERATOR, false, false, 0, 0},
    {"Softplus", FORM_OPERATOR, false, false, 0, 0},
};

/* Exporters write small and capital letters. */
static bool is_same_name(const char *x, const char *y)
{
    while (*x && tolower((unsigned char)*x) == tolower((unsigned char)*y))
        x++, y++;
    return *x == *y;
}

static const struct activation_function *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_same_name(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

struct value *recurrent_activate(struct builder *b, const struct recurrent *r, const struct gate_activation *f,
                                 struct value *x)
{
    const struct activation_function *const k = f->kind;
    if (r->clips) {
        struct value *const limits[] = {x, build_scalar(b, x->dtype, -r->clip), build_scalar(b, x->dtype, r->clip)};
        x = build_value(b, "Clip", NULL, limits, 3);
    }
    if (k->form == FORM_OPERATOR) {
        struct attr attrs[3] = {{0}};
        int count = 0;
        if (k->has_alpha)
            attrs[count++] = attr_float("alpha", f->alpha);
        if (k->has_beta)
            attrs[count++] = attr_float("beta", f->beta);
        return build_value(b, k->name, attrs, &x, 1);
    }
    struct value *const alpha = build_scalar(b, x->dtype, f->alpha), *const beta = build_scalar(b, x->dtype, f->beta);
    if (k->form == FORM_AFFINE) {
        struct value *const product = build_value(b, "Mul", NULL, (struct value *const[]){x, alpha}, 2);
        return build_value(b, "Add", NULL, (struct value *const[]){product, beta}, 2);
    }
    struct value *const inner = build_value(b, "Mul", NULL, (struct value *const[]){x, beta}, 2);
    struct value *const tanh = build_value(b, "Tanh", NULL, &inner, 1);
    return build_value(b, "Mul", NULL, (struct value *const[]){tanh, alpha}, 2);
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

static enum cell cell_of(const struct node *n)
{
    return str_equal(n->def->name, "RNN") ? CELL_RNN : str_equal(n->def->name, "GRU") ? CELL_GRU : CELL_LSTM;
}

static double next_number(const struct attr *list, size_t *at, double otherwise)
{
    return list && *at < list->count ? list->floats[(*at)++] : otherwise;
}

/* All directions have the same functions unless the node names them; alphas and betas are handed out in order to those
 * that take one. */
static void find_activations(struct recurrent *r, const struct node *n)
{
    static const char *const usual[][RECURRENT_MOST_FUNCTIONS] = {
        [CELL_RNN] = {"Tanh"}, [CELL_GRU] = {"Sigmoid", "Tanh"}, [CELL_LSTM] = {"Sigmoid", "Tanh", "Tanh"}};
    const struct attr *const names = node_attr(n, "activations"), *const alphas = node_attr(n, "activation_alpha"),
                      *const betas = node_attr(n, "activation_beta");
    size_t alpha = 0, beta = 0;
    for (int d = 0; d < r->directions; d++)
        for (int f = 0; f < r->functions; f++) {
            const size_t i = (size_t)(d * r->functions + f);
            const char *const name = names && i < names->count ? names->strings[i] : usual[r->cell][f];
            struct gate_activation *const a = &r->activations[d][f];
            a->kind = find_kind(name);
            if (a->kind == NULL) {
                r->unknown = name;
                continue;
            }
            a->alpha = a->kind->has_alpha ? next_number(alphas, &alpha, a->kind->alpha) : 0;
            a->beta = a->kind->has_beta ? next_number(betas, &beta, a->kind->beta) : 0;
        }
}

struct recurrent recurrent_of(const struct node *n)
{
    static const int gates[] = {[CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4};
    static const int functions[] = {[CELL_RNN] = 1, [CELL_GRU] = 2, [CELL_LSTM] = 3};
    const struct shape *const x = &node_input(n, RECURRENT_X)->shape, *const w = &node_input(n, RECURRENT_R)->shape;
    const char *const direction = op_attr_string(n, "direction");
    struct recurrent r = {.cell = cell_of(n), .width = x->dim[2], .hidden = w->dim[2]};
    r.batch_first = op_attr_int(n, "layout") == 1;
    r.steps = shape_size(x, r.batch_first ? 1 : 0);
    r.batch = shape_size(x, r.batch_first ? 0 : 1);
    r.gates = gates[r.cell];
    r.functions = functions[r.cell];
    r.directions = str_equal(direction, "bidirectional") ? 2 : 1;
    r.first_backwards = str_equal(direction, "reverse");
    r.reset_behind = r.cell == CELL_GRU && op_attr_int(n, "linear_before_reset") != 0;
    r.coupled = r.cell == CELL_LSTM && op_attr_int(n, "input_forget") != 0;
    r.clips = node_attr(n, "clip") != NULL;
    r.clip = r.clips ? node_attr(n, "clip")->f : 0;
    find_activations(&r, n);
    return r;
}

bool recurrent_is_backwards(const struct recurrent *r, int direction)
{
    return direction == 1 || r->first_backwards;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

struct cell_eval {
    struct eval_ctx *c;
    struct recurrent r;
    int direction;
    int64_t sample;
    double *h, *cell, *next_h, *next_cell; /* [hidden] */
    double *from_x, *from_h;               /* [gates * hidden]: products with biases; LSTM: without peepholes */
};

static double rounded(const struct cell_eval *s, double x)
{
    return eval_round_to(s->c, eval_input(s->c, RECURRENT_X)->dtype, x);
}

static double activate(const struct cell_eval *s, int function, double x)
{
    const struct gate_activation *const f = &s->r.activations[s->direction][function];
    const enum dtype d = eval_input(s->c, RECURRENT_X)->dtype;
    const char *const name = f->kind->name;
    if (s->r.clips && !isnan(x))
        x = fmax(fmin(x, s->r.clip), -s->r.clip);
    if (str_equal(name, "Tanh"))
        return eval_math(s->c, d, MATH_TANH, x);
    if (str_equal(name, "Sigmoid"))
        return eval_math(s->c, d, MATH_SIGMOID, x);
    if (str_equal(name, "Relu"))
        return x > 0 || isnan(x) ? x : 0;
    if (str_equal(name, "LeakyRelu"))
        return x < 0 ? rounded(s, f->alpha * x) : x;
    if (str_equal(name, "ThresholdedRelu"))
        return x > f->alpha || isnan(x) ? x : 0;
    if (str_equal(name, "HardSigmoid"))
        return fmax(0, fmin(1, rounded(s, rounded(s, f->alpha * x) + f->beta)));
    if (str_equal(name, "Elu"))
        return x < 0 ? rounded(s, f->alpha * eval_math(s->c, d, MATH_EXPM1, x)) : x;
    if (str_equal(name, "Softsign"))
        return rounded(s, x / rounded(s, 1 + fabs(x)));
    if (str_equal(name, "Softplus"))
        return eval_math(s->c, d, MATH_SOFTPLUS, x);
    if (str_equal(name, "Affine"))
        return rounded(s, rounded(s, f->alpha * x) + f->beta);
    return rounded(s, f->alpha * eval_math(s->c, d, MATH_TANH, rounded(s, f->beta * x)));
}

/* Row g * hidden + j of direction d of a tensor [directions, gates * hidden, columns]. */
static const double *row_of(const struct cell_eval *s, int input, int64_t row, int64_t columns)
{
    return eval_f(s->c, input) + (s->direction * s->r.gates * s->r.hidden + row) * columns;
}

static double bias_of(const struct cell_eval *s, int64_t row, bool of_h)
{
    const int64_t rows = s->r.gates * s->r.hidden;
    if (!eval_has(s->c, RECURRENT_B))
        return 0;
    return eval_f(s->c, RECURRENT_B)[s->direction * 2 * rows + (of_h ? rows : 0) + row];
}

static double product(const struct cell_eval *s, int input, int64_t row, const double *x, int64_t count)
{
    return eval_dot(s->c, count, EVAL_TERMS_OF_PRODUCT, x, 1, row_of(s, input, row, count), 1);
}

static double gate(const struct cell_eval *s, int g, int64_t j)
{
    return rounded(s, s->from_x[g * s->r.hidden + j] + s->from_h[g * s->r.hidden + j]);
}

static double mixed(const struct cell_eval *s, double x, double a, double y, double b)
{
    return rounded(s, rounded(s, x * a) + rounded(s, y * b));
}

/* z, r, h: h' = (1 - z) g(..) + z h */
static void gru_step(struct cell_eval *s, double *reset_h)
{
    enum { Z, R, N };
    const int64_t hidden = s->r.hidden;
    for (int64_t j = 0; j < hidden; j++)
        reset_h[j] = rounded(s, activate(s, 0, gate(s, R, j)) * s->h[j]);
    for (int64_t j = 0; j < hidden; j++) {
        const int64_t row = N * hidden + j;
        const double z = activate(s, 0, gate(s, Z, j)), r = activate(s, 0, gate(s, R, j));
        const double from_h = s->r.reset_behind
                                  ? rounded(s, r * s->from_h[row])
                                  : rounded(s, product(s, RECURRENT_R, row, reset_h, hidden) + bias_of(s, row, true));
        const double n = activate(s, 1, rounded(s, s->from_x[row] + from_h));
        s->next_h[j] = mixed(s, rounded(s, 1 - z), n, z, s->h[j]);
    }
}

static double peephole(const struct cell_eval *s, int which, int64_t j, double x, double cell)
{
    if (!eval_has(s->c, RECURRENT_P))
        return x;
    const double p = eval_f(s->c, RECURRENT_P)[(s->direction * 3 + which) * s->r.hidden + j];
    return rounded(s, x + rounded(s, p * cell));
}

/* i, o, f, c: c' = f c + i g(..), h' = o h(c') */
static void lstm_step(struct cell_eval *s)
{
    enum { I, O, F, C };
    for (int64_t j = 0; j < s->r.hidden; j++) {
        const double i = activate(s, 0, peephole(s, I, j, gate(s, I, j), s->cell[j]));
        const double f = s->r.coupled ? rounded(s, 1 - i)
                                      : activate(s, 0, peephole(s, F, j, gate(s, F, j), s->cell[j]));
        const double next = mixed(s, f, s->cell[j], i, activate(s, 1, gate(s, C, j)));
        const double o = activate(s, 0, peephole(s, O, j, gate(s, O, j), next));
        s->next_cell[j] = next;
        s->next_h[j] = rounded(s, o * activate(s, 2, next));
    }
}

static void run_step(struct cell_eval *s, int64_t t, double *reset_h)
{
    const struct recurrent *const r = &s->r;
    const int64_t place = r->batch_first ? s->sample * r->steps.most + t : t * r->batch.most + s->sample;
    const double *const x = eval_f(s->c, RECURRENT_X) + place * r->width;
    for (int64_t row = 0; row < r->gates * r->hidden; row++) {
        s->from_x[row] = rounded(s, product(s, RECURRENT_W, row, x, r->width) + bias_of(s, row, false));
        s->from_h[row] = rounded(s, product(s, RECURRENT_R, row, s->h, r->hidden) + bias_of(s, row, true));
    }
    if (r->cell == CELL_GRU)
        gru_step(s, reset_h);
    else if (r->cell == CELL_LSTM)
        lstm_step(s);
    else
        for (int64_t j = 0; j < r->hidden; j++)
            s->next_h[j] = activate(s, 0, gate(s, 0, j));
    memcpy(s->h, s->next_h, (size_t)r->hidden * sizeof *s->h);
    memcpy(s->cell, s->next_cell, (size_t)r->hidden * sizeof *s->cell);
}

/* Where the sample's row of a state [directions, batch, hidden] is, or with layout 1 [batch, directions, hidden]. */
static int64_t state_place(const struct cell_eval *s)
{
    const struct recurrent *const r = &s->r;
    return (r->batch_first ? s->sample * r->directions + s->direction : s->direction * r->batch.most + s->sample) *
           r->hidden;
}

static void begin_state(const struct cell_eval *s, int input, double *state)
{
    for (int64_t j = 0; j < s->r.hidden; j++)
        state[j] = eval_has(s->c, input) ? eval_f(s->c, input)[state_place(s) + j] : 0;
}

static void end_state(const struct cell_eval *s, int output, const double *state)
{
    if (eval_wants(s->c, output))
        memcpy(eval_out_f(s->c, output) + state_place(s), state, (size_t)s->r.hidden * sizeof *state);
}

/* Y [steps, directions, batch, hidden], or with layout 1 [batch, steps, directions, hidden]. */
static void store_step(const struct cell_eval *s, int64_t t)
{
    const struct recurrent *const r = &s->r;
    const int64_t place = r->batch_first ? (s->sample * r->steps.most + t) * r->directions + s->direction
                                         : (t * r->directions + s->direction) * r->batch.most + s->sample;
    if (eval_wants(s->c, 0))
        memcpy(eval_out_f(s->c, 0) + place * r->hidden, s->h, (size_t)r->hidden * sizeof *s->h);
}

static void run_sample(struct cell_eval *s, double *reset_h)
{
    const struct recurrent *const r = &s->r;
    const int64_t *const lengths = eval_i(s->c, RECURRENT_LENGTHS), steps = r->steps.most;
    const int64_t length = lengths != NULL ? lengths[s->sample] : steps;
    begin_state(s, RECURRENT_H, s->h);
    begin_state(s, RECURRENT_C, s->cell);
    for (int64_t i = 0; i < r->steps.most; i++) {
        const int64_t t = recurrent_is_backwards(r, s->direction) ? r->steps.most - 1 - i : i;
        if (t >= length)
            continue; /* Y is 0 there */
        run_step(s, t, reset_h);
        store_step(s, t);
    }
    end_state(s, 1, s->h);
    end_state(s, 2, s->cell);
}

bool recurrent_eval(struct eval_ctx *c)
{
    struct cell_eval s = {.c = c, .r = recurrent_of(c->node)};
    const size_t hidden = (size_t)s.r.hidden, rows = hidden * (size_t)s.r.gates;
    s.h = arena_array(c->scratch, double, hidden);
    s.cell = arena_array(c->scratch, double, hidden);
    s.next_h = arena_array(c->scratch, double, hidden);
    s.next_cell = arena_array(c->scratch, double, hidden);
    s.from_x = arena_array(c->scratch, double, rows);
    s.from_h = arena_array(c->scratch, double, rows);
    double *const reset_h = arena_array(c->scratch, double, hidden);
    for (s.direction = 0; s.direction < s.r.directions; s.direction++)
        for (s.sample = 0; s.sample < s.r.batch.most; s.sample++)
            run_sample(&s, reset_h);
    return true;
}
