/* Files may hold anything: nodes that lack their inputs, their outputs or both make no preparation crash. */
#include "prepare/doctor.h"

#include "prepare_models.h"
#include "suite.h"

static const char *const ops[] = {"Identity",
                                  "Cast",
                                  "Add",
                                  "Sub",
                                  "Mul",
                                  "Div",
                                  "Pow",
                                  "Sqrt",
                                  "MatMul",
                                  "Gemm",
                                  "Conv",
                                  "ConvTranspose",
                                  "RNN",
                                  "LSTM",
                                  "GRU",
                                  "Reshape",
                                  "Flatten",
                                  "Transpose",
                                  "Squeeze",
                                  "Unsqueeze",
                                  "Expand",
                                  "Tile",
                                  "Resize",
                                  "Concat",
                                  "Split",
                                  "Slice",
                                  "Gather",
                                  "Constant",
                                  "ConstantOfShape",
                                  "Shape",
                                  "Softmax",
                                  "LogSoftmax",
                                  "Sigmoid",
                                  "Relu",
                                  "BatchNormalization",
                                  "InstanceNormalization",
                                  "LayerNormalization",
                                  "Dropout",
                                  "ReduceMean",
                                  "ReduceSum",
                                  "SoftmaxCrossEntropyLoss",
                                  "NegativeLogLikelihoodLoss",
                                  "QuantizeLinear",
                                  "DequantizeLinear",
                                  "If",
                                  "Loop",
                                  "Scan",
                                  "AffineGrid",
                                  "Attention",
                                  "Einsum",
                                  "Where",
                                  "Clip",
                                  "Exp",
                                  "Log",
                                  "Nonsense"};

/* The node stands in front of all others, or behind them; its outputs are the model's, or there are none. */
static void check(const char *op_type, bool has_inputs, bool has_output, bool at_end)
{
    begin();
    struct model *const m = regression();
    struct model_node *const n = op(m->graph, "lost", op_type, "p b");
    finding_list found = {0};
    if (!has_inputs)
        n->inputs = (str_list){0};
    if (!has_output)
        n->outputs = (str_list){0};
    else
        declare(m->graph, 1, "lost", DTYPE_DOUBLE, "2 1");
    const struct model_pair marks[] = {{"pkg.torch.onnx.class_hierarchy", "['net.Net', 'aten.detach.default']"}};
    vec_push(&arena, &n->metadata, marks[0]);
    if (!at_end) {
        struct model_node **const all = m->graph->nodes.data;
        memmove(all + 1, all, (m->graph->nodes.count - 1) * sizeof *all);
        all[0] = n;
    }
    m->producer_name = "pytorch";
    prepare_with.batch = 3;
    use_optimizer("sgd");
    examine_export(&arena, m, NULL, &found);
    ck_assert(prepare(m) || diag.errors > 0);
}

START_TEST(nodes_that_lack_what_they_need)
{
    for (int k = 0; k < 8; k++)
        if ((k & 3) != 3)
            check(ops[_i], k & 1, k & 2, k & 4);
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, teardown);
    tcase_add_loop_test(all, nodes_that_lack_what_they_need, 0, (int)(sizeof ops / sizeof ops[0]));
    return run_tests("prepare_nodes", all);
}
