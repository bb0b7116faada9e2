/* base/traceback.h: where the user wrote a node, from the notes of PyTorch's exporters, and its line in messages. */
#include "base/diag.h"
#include "base/traceback.h"
#include "base/str.h"
#include "model/model.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define TORCH "/usr/lib/python3/dist-packages/torch/"

static const struct {
    const char *trace, *scopes, *line; /* line: what diag_print() adds */
} cases[] = {
    /* PyTorch's newer exporter: the innermost frame is the last */
    {"File \"/x/train.py\", line 9, in forward\n    return self.head(x)\n"
     "File \"/x/model.py\", line 41, in forward\n    x = x[mask]\n",
     NULL, "    written at model.py:41: x = x[mask]\n"},
    /* with frames of PyTorch inside and outside, and marks below the code */
    {"  File \"" TORCH "nn/modules/module.py\", line 1553, in _call_impl\n    return forward_call(*args, **kwargs)\n"
     "  File \"C:\\\\work\\\\net.py\", line 7, in forward\n    y = self.f(x)\n        ~~~~~~^^^\n"
     "  File \"" TORCH "nn/modules/linear.py\", line 114, in forward\n    return F.linear(x)\n",
     "['', 'layer1', 'layer1.0.f', 'linear']", "    written in module 'layer1.0.f' at net.py:7: y = self.f(x)\n"},
    /* the older exporter: the innermost frame is the first, and there is no code */
    {TORCH "nn/modules/linear.py(114): forward\n" TORCH "nn/modules/module.py(1182): _slow_forward\n"
     "/home/x (old)/model.py(6): forward\n" TORCH "onnx/utils.py(504): export\n/home/x/main.py(8): <module>\n",
     NULL, "    written at model.py:6\n"},
    /* a script: the line above the mark */
    {"  File \"model.py\", line 12\n    def forward(self, x):\n        y = x + 1\n        return torch.relu(y)\n"
     "               ~~~~~~~~~~ <--- HERE\n",
     NULL, "    written at model.py:12: return torch.relu(y)\n"},
    /* only an installed package of others, told from its name on */
    {"/opt/lib/python3.11/site-packages/timm/layers/mlp.py(33): forward\n"
     "/opt/lib/python3.11/site-packages/torch/nn/modules/module.py(1): _call_impl\n"
     "/opt/lib/python3.11/runpy.py(86): _run_code\n/x/stepc/examples/pytorch/export.py(40): export\n",
     NULL, "    written at timm/layers/mlp.py:33\n"},
    {"/home/me/torch/model.py(3): forward\n", NULL, "    written at model.py:3\n"},
    {NULL, "['', 'head', 'linear']", "    written in module 'head'\n"},
    /* nothing of the user, nothing at all */
    {TORCH "nn/functional.py(1457): relu\n<frozen runpy>(1): f\n", NULL, ""},
    {"", "", ""},
    {"a doc string (2019): of somebody\n    about \"it\"", "['', 'linear']", ""},
    {"<ipython-input-3-0a1b>(5): forward\n<string>(1): g\n", NULL, "    written at <ipython-input-3-0a1b>:5\n"},
    {"File \"\", line 1\n", "['']", ""},
    {"File \"x.py\", line \n    y = x\n", "['a", ""},
    {"File \"x.py", "'a' 'b", ""},
    /* text of an enemy */
    {"File \"/x/a\x1b[2Jb.py\", line 3, in f\n    x\x07 = \xff\r\nnode 'a': error: forged\n", NULL,
     "    written at a\\x1B[2Jb.py:3: x\\x07 = \\xFF\n"},
};

static const char *printed(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const f = open_memstream(&text, &size);
    diag_print(&diag, f);
    fclose(f);
    const char *const copy = arena_strdup(&arena, text);
    free(text);
    return copy;
}

START_TEST(line_of_the_user_stands_below)
{
    const struct loc at = {.file = "m.onnx", .node = "a", .op = "Add", .index = 2, .trace = cases[_i].trace,
                           .scopes = cases[_i].scopes};
    diag_error(&diag, &at, "bad");
    ck_assert_str_eq(printed(), arena_printf(&arena, "m.onnx: node 'a' (Add, #2): error: bad\n%s", cases[_i].line));
}
END_TEST

START_TEST(notes_have_none)
{
    const struct loc at = {.node = "a", .index = 2, .trace = cases[0].trace};
    diag_note(&diag, &at, "so");
    ck_assert_str_eq(printed(), "node 'a' (#2): note: so\n");
}
END_TEST

START_TEST(long_lines_are_cut)
{
    char *const trace = arena_array(&arena, char, 70000);
    strcpy(trace, "File \"/x/model.py\", line 1, in f\n");
    memset(trace + strlen(trace), 'x', 60000);
    const struct loc at = {.node = "a", .index = 0, .trace = trace};
    diag_warning(&diag, &at, "odd");
    const char *const text = printed();
    ck_assert(str_starts_with(strchr(text, '\n'), "\n    written at model.py:1: xxxx"));
    ck_assert(str_ends_with(text, "xxxx...\n"));
    ck_assert_uint_lt(strlen(text), 250);
}
END_TEST

/* Characters, not bytes; what fits exactly is whole. */
START_TEST(so_many_columns_fit)
{
    static const char *const letters[] = {"x", "\xc3\xa4"};
    for (size_t i = 0; i < 2; i++)
        for (size_t extra = 0; extra < 2; extra++) {
            struct strbuf code = {.arena = &arena}, trace = {.arena = &arena}, line = {.arena = &arena};
            diag = (struct diag){.arena = &arena};
            for (size_t k = 0; k < 120; k++)
                strbuf_add(&code, letters[i]);
            strbuf_addf(&trace, "File \"/x/model.py\", line 1, in f\n    %s%s\n", strbuf_text(&code),
                        extra ? letters[i] : "");
            strbuf_addf(&line, "node 'a' (#1): warning: odd\n    written at model.py:1: %s%s\n", strbuf_text(&code),
                        extra ? "..." : "");
            const struct loc at = {.node = "a", .index = 1, .trace = strbuf_text(&trace)};
            diag_warning(&diag, &at, "odd");
            ck_assert_str_eq(printed(), strbuf_text(&line));
        }
}
END_TEST

/* A node of that kind, written and read again, with an If around a node that says nothing itself. */
START_TEST(model_files_keep_it)
{
    static const char *const in[] = {"x", NULL}, *const out[] = {"y", NULL}, *const inner_out[] = {"z", NULL};
    struct model m = {.file = "m.onnx", .ir_version = 8, .producer_name = "", .producer_version = "", .domain = "",
                      .doc = "", .graph = model_graph_new(&arena, "g")};
    vec_push(&arena, &m.opsets, ((struct model_opset){"", 18}));
    struct model_node *const n = model_add_node(&arena, m.graph, "", "If", in, out);
    const struct model_pair trace = {"pkg.torch.onnx.stack_trace", cases[0].trace},
                            scopes = {"pkg.torch.onnx.name_scopes", "['', 'head', 'If']"};
    vec_push(&arena, &n->metadata, trace);
    vec_push(&arena, &n->metadata, scopes);
    struct model_attr *const attr = arena_new(&arena, struct model_attr);
    *attr = (struct model_attr){.name = "then_branch", .doc = "", .ref = "", .type = ATTR_GRAPH,
                                .g = model_graph_new(&arena, "inner")};
    model_add_node(&arena, attr->g, "", "Neg", in, inner_out);
    vec_push(&arena, &n->attrs, attr);
    struct model_node *const old = model_add_node(&arena, m.graph, "", "Relu", in, inner_out);
    old->doc = "/x/old.py(2): forward\n";

    unsigned char *bytes;
    size_t size;
    struct model *read;
    ck_assert(model_encode_onnx(&diag, &arena, &m, &bytes, &size));
    ck_assert(model_read_onnx(&diag, &arena, "m.onnx", bytes, size, &read));
    const struct model_node *const nodes[] = {read->graph->nodes.data[0],
                                              read->graph->nodes.data[0]->attrs.data[0]->g->nodes.data[0]};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(nodes[i]->loc.trace, cases[0].trace);
        ck_assert_str_eq(nodes[i]->loc.scopes, scopes.value);
    }
    ck_assert_str_eq(read->graph->nodes.data[1]->loc.trace, old->doc);
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("traceback");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, line_of_the_user_stands_below, 0, sizeof cases / sizeof *cases);
    tcase_add_test(t, notes_have_none);
    tcase_add_test(t, long_lines_are_cut);
    tcase_add_test(t, so_many_columns_fit);
    tcase_add_test(t, model_files_keep_it);
    return run_tests("model_traceback", t);
}
