/* What RNN, GRU and LSTM share: their sizes, their activations, and plain evaluation. */
#ifndef STEPC_OPS_RECURRENT_RULES_H
#define STEPC_OPS_RECURRENT_RULES_H

#include "ops/op.h"

enum { RECURRENT_X, RECURRENT_W, RECURRENT_R, RECURRENT_B, RECURRENT_LENGTHS, RECURRENT_H, RECURRENT_C, RECURRENT_P };
enum { RECURRENT_MOST_DIRECTIONS = 2, RECURRENT_MOST_FUNCTIONS = 3 };

enum cell { CELL_RNN, CELL_GRU, CELL_LSTM };

struct gate_activation {
    const struct activation_function *kind; /* NULL: the attribute names none that there is */
    double alpha, beta;
};

struct recurrent {
    enum cell cell;
    int gates, functions;                 /* of one direction */
    struct size steps, batch;
    int64_t width, hidden;
    int directions;
    bool first_backwards;                 /* `reverse`: the only direction */
    bool batch_first;                     /* layout 1 */
    bool reset_behind;                    /* GRU, linear_before_reset: r multiplies what the product gives */
    bool coupled;                         /* LSTM, input_forget: f = 1 - i */
    bool clips;
    double clip;
    struct gate_activation activations[RECURRENT_MOST_DIRECTIONS][RECURRENT_MOST_FUNCTIONS];
    const char *unknown;                  /* the name of an activation that there is not, or NULL */
};

/* Of a node whose X, W and R have rank 3. */
struct recurrent recurrent_of(const struct node *n);
bool recurrent_is_backwards(const struct recurrent *r, int direction);
/* f(x) as a value of the graph. */
struct value *recurrent_activate(struct builder *b, const struct recurrent *r, const struct gate_activation *f,
                                 struct value *x);
/* Plain evaluation, for .eval. */
bool recurrent_eval(struct eval_ctx *c);

#endif
