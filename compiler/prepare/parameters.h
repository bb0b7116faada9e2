/* Which initializers are parameters: what the framework that wrote the file would train. Every rule stands in
 * parameters.c, with its reason; slots.c knows the places of operators, values.h what elements tell, known_names.h what
 * the file or the user says. */
#ifndef STEPC_PREPARE_PARAMETERS_H
#define STEPC_PREPARE_PARAMETERS_H

#include "prepare/prepare_internal.h"

/* A place where a parameter stands. */
struct parameter_slot {
    const char *op;
    size_t input;
    enum trainable_role role;
    enum fan_layout layout;
};

const char *role_name(enum trainable_role role);
/* Is input `input` of n such a place for t? Add and Mul are by what stands on their other side. */
bool find_slot(const struct preparer *p, const struct model_node *n, size_t input, const struct tensor *t,
               struct parameter_slot *out);
/* What computes a value, looking through what only moves elements; NULL: an input or an initializer. */
struct model_node *source_of(const struct preparer *p, const char *name);
/* Does the node give elements of input 0, at most rounded, in another order, shape or number? */
bool only_moves(const struct model_node *n);
/* At most one dimension is not 1: [C], [1,C,1,1]. */
bool is_vector(const struct tensor *t);
bool is_product(const struct model_node *n);
enum fan_layout flipped(enum fan_layout l, int flips);

/* The verdict on one initializer or Constant. */
struct trained_verdict {
    bool trained;
    bool sure;       /* the file or its arithmetic says so; else it is likely */
    bool computed;   /* by the exporter, of what may have been parameters */
    bool moot;       /* nobody would train it: not worth a line */
    const char *why; /* "weight of Gemm 'fc1'", "a mask" */
    enum trainable_role role;
    enum fan_layout layout;
};

/* What the rules look at, once for a model. */
struct rules {
    const struct preparer *p;
    struct map consumers; /* value -> struct reading_list * */
    struct map reached;   /* values through which a gradient of the loss flows; none that is detached */
    struct map initializers; /* name -> struct model_initializer * */
    struct map from_input;   /* inputs of the model, and what constants and moves alone make of them */
    bool from_pytorch, exported;
};

/* loss: the values whose gradients are wanted. */
void rules_begin(struct rules *r, const struct preparer *p, const struct map *loss);
struct trained_verdict judge(struct rules *r, const struct model_initializer *init);
/* What of an initializer has no gradient, though all else is trained; nothing if `trained` is NULL. Such are the row of
 * an embedding that nn.Embedding(padding_idx=...) leaves out of training, of a table that is read by Gather alone
 * (`padding`: is it wanted?), and the second bias of a recurrent layer whose framework has one. */
struct held held_part(struct rules *r, const struct model_initializer *init, bool padding);
/* A Constant node in the place of a weight; false: it is in none. */
bool judge_constant(struct rules *r, const struct model_node *constant, const struct tensor *t,
                    struct trained_verdict *out);
/* Is no initializer a parameter? Then constants in the place of weights are. */
bool keeps_weights_as_constants(struct rules *r);
/* And one of floating numbers that no exporter has filled in? Such a one nobody can want to train. */
bool is_like_weight(struct rules *r, const struct model_node *n, struct trained_verdict *v);

#endif
