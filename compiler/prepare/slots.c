/* The places of operators where parameters stand: weights, biases, scales. */
#include "prepare/parameters.h"

static const struct parameter_slot slots[] = {
    {"Gemm", 0, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"Gemm", 1, TRAINABLE_WEIGHT, FAN_IN_OUT},
    {"Gemm", 2, TRAINABLE_BIAS, FAN_NONE},
    {"MatMul", 0, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"MatMul", 1, TRAINABLE_WEIGHT, FAN_IN_OUT},
    {"Conv", 1, TRAINABLE_WEIGHT, FAN_OUT_IN_KERNEL},
    {"Conv", 2, TRAINABLE_BIAS, FAN_NONE},
    {"ConvTranspose", 1, TRAINABLE_WEIGHT, FAN_IN_OUT_KERNEL},
    {"ConvTranspose", 2, TRAINABLE_BIAS, FAN_NONE},
    {"Gather", 0, TRAINABLE_EMBEDDING, FAN_NONE},
    {"BatchNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"BatchNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"InstanceNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"InstanceNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"LayerNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"LayerNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"GroupNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"GroupNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"RMSNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"PRelu", 1, TRAINABLE_OTHER, FAN_NONE}, /* a new start of a slope is no rule's business */
    {"RNN", 1, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"RNN", 2, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"RNN", 3, TRAINABLE_BIAS, FAN_NONE},
    {"GRU", 1, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"GRU", 2, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"GRU", 3, TRAINABLE_BIAS, FAN_NONE},
    {"LSTM", 1, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"LSTM", 2, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"LSTM", 3, TRAINABLE_BIAS, FAN_NONE},
};
enum { SLOTS = sizeof slots / sizeof *slots };

const char *role_name(enum trainable_role role)
{
    static const char *const names[] = {"weight", "embedding", "bias", "scale", "parameter"};
    return names[role];
}

enum fan_layout flipped(enum fan_layout l, int flips)
{
    if (flips % 2 == 0 || (l != FAN_IN_OUT && l != FAN_OUT_IN))
        return l;
    return l == FAN_IN_OUT ? FAN_OUT_IN : FAN_IN_OUT;
}

bool is_vector(const struct tensor *t)
{
    int wide = 0;
    for (int i = 0; i < t->shape.rank; i++)
        wide += t->shape.dim[i] != 1;
    return t->shape.rank > 0 && wide <= 1;
}

bool is_product(const struct model_node *n)
{
    return is_op(n, "MatMul") || is_op(n, "Gemm") || is_op(n, "Conv") || is_op(n, "ConvTranspose");
}

/* ---- normalizations that are spelled out ------------------------------------------------------------------------- */

bool only_moves(const struct model_node *n)
{
    static const char *const ops[] = {"Identity", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice",
                                      "Expand",   "Tile",      "Cast",    "Split",   "Dropout", "Pad",
                                      "QuantizeLinear", "DequantizeLinear"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (is_op(n, ops[i]) && n->inputs.count > 0)
            return true;
    return false;
}

struct model_node *source_of(const struct preparer *p, const char *name)
{
    struct model_node *n = node_of(p, name);
    for (int i = 0; only_moves(n) && i < MOST_MOVES; i++)
        n = node_of(p, n->inputs.data[0]);
    return n;
}

/* Sqrt(v), or 1 / Sqrt(v) */
static bool is_deviation(const struct preparer *p, const char *name)
{
    const struct model_node *const n = source_of(p, name);
    return is_op(n, "Sqrt") ||
           (is_op(n, "Reciprocal") && n->inputs.count == 1 && is_op(source_of(p, n->inputs.data[0]), "Sqrt")) ||
           (is_op(n, "Div") && n->inputs.count == 2 && is_op(source_of(p, n->inputs.data[1]), "Sqrt"));
}

/* (x - mean) / sqrt(variance + epsilon), x * (1 / sqrt(mean of squares)), or an operator that does it: what a scale and
 * a shift stand behind. GroupNorm is exported as an InstanceNormalization between two Reshapes. */
static bool is_normalized(const struct preparer *p, const char *name)
{
    const struct model_node *const n = source_of(p, name);
    if (is_op(n, "InstanceNormalization") || is_op(n, "LayerNormalization") || is_op(n, "GroupNormalization") ||
        is_op(n, "BatchNormalization"))
        return true;
    if (is_op(n, "Div") && n->inputs.count == 2)
        return is_deviation(p, n->inputs.data[1]);
    return is_op(n, "Mul") && n->inputs.count == 2 &&
           (is_deviation(p, n->inputs.data[0]) || is_deviation(p, n->inputs.data[1]));
}

static bool is_scaled(const struct preparer *p, const char *name)
{
    const struct model_node *const n = source_of(p, name);
    return is_op(n, "Mul") && n->inputs.count == 2 &&
           (is_normalized(p, n->inputs.data[0]) || is_normalized(p, n->inputs.data[1]));
}

/* Add and Mul tell a parameter from a constant by what stands on the other side. */
static bool spelled_out_slot(const struct preparer *p, const struct model_node *n, size_t input, const struct tensor *t,
                             struct parameter_slot *out)
{
    if (n->inputs.count != 2 || !is_vector(t))
        return false;
    const char *const other = n->inputs.data[1 - input];
    if (is_op(n, "Add") && (is_product(producer_of(p, other)) || is_scaled(p, other)))
        *out = (struct parameter_slot){"Add", input, TRAINABLE_BIAS, FAN_NONE};
    else if (is_op(n, "Mul") && is_normalized(p, other))
        *out = (struct parameter_slot){"Mul", input, TRAINABLE_SCALE, FAN_NONE};
    else
        return false;
    return true;
}

bool find_slot(const struct preparer *p, const struct model_node *n, size_t input, const struct tensor *t,
                      struct parameter_slot *out)
{
    for (size_t i = 0; i < SLOTS; i++) {
        if (!is_op(n, slots[i].op) || slots[i].input != input)
            continue;
        *out = slots[i];
        if (is_op(n, "Gemm") && attribute_int(n, input == 0 ? "transA" : "transB", 0) != 0)
            out->layout = flipped(out->layout, 1);
        return true;
    }
    return spelled_out_slot(p, n, input, t, out);
}
