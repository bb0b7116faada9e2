/* The report: layered drawings, text for readers and for markup, and what the report says of programs
 * compiled from text. */
#include "fixture.h"
#include "report/draw_memory.h"
#include "report/layers.h"
#include "report/line_plot.h"
#include "report/markup.h"
#include "report/picture.h"
#include "report/report_internal.h"
#include "engine/pipeline.h"
#include "model/model.h"
#include "suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- text -------------------------------------------------------------------------------------------------------- */

static const char *markup(const char *text)
{
    return markup_text(&arena, text);
}

START_TEST(markup_holds_no_markup_of_names)
{
    ck_assert_str_eq(markup("<a href=\"x\" id='y'>&"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
    ck_assert_str_eq(markup("\x1b[1m\t\xc2\x85\xef\xbf\xbe|\xc3\xa4"),
                     "\\x1B[1m\\x09\\xC2\\x85\\xEF\\xBF\\xBE|\xc3\xa4");
}
END_TEST

START_TEST(numbers_for_readers)
{
    ck_assert_str_eq(readable_grouped(&arena, 0), "0");
    ck_assert_str_eq(readable_grouped(&arena, 1234567), "1,234,567");
    ck_assert_str_eq(readable_grouped(&arena, -123), "-123");
    ck_assert_str_eq(readable_bytes(&arena, 1023), "1023 B");
    ck_assert_str_eq(readable_bytes(&arena, 9472), "9.2 KiB");
    ck_assert_str_eq(readable_bytes(&arena, 200 << 20), "200 MiB");
    ck_assert_str_eq(readable_count(&arena, 333716), "334 k");
}
END_TEST

START_TEST(names_are_cut_between_characters)
{
    ck_assert_str_eq(readable_shortened(&arena, "h\xc3\xa4user", 6), "h\xc3\xa4user");
    ck_assert_str_eq(readable_shortened(&arena, "h\xc3\xa4user", 3), "h\xc3\xa4\xe2\x80\xa6");
    ck_assert_str_eq(readable_shortened(&arena, "h\xc3\xa4user", 2), "h\xe2\x80\xa6");
}
END_TEST

/* ---- layered drawings -------------------------------------------------------------------------------------------- */

/* A graph of `count` boxes, each joined to some before it. */
static struct layout random_layout(unsigned seed, size_t count, int longest, int widest)
{
    struct layout l = {.arena = &arena, .node_count = count, .longest = longest, .widest = widest};
    l.nodes = arena_array(&arena, struct layout_node, count + 1);
    l.edges = arena_array(&arena, struct layout_edge, 3 * count + 1);
    srand(seed);
    for (size_t i = 0; i < count; i++) {
        l.nodes[i] = (struct layout_node){.width = 20 + rand() % 200, .height = 20 + rand() % 40,
                                          .late = rand() % 5 == 0};
        for (int k = rand() % 4; k > 0 && i > 0; k--)
            l.edges[l.edge_count++] = (struct layout_edge){.from = rand() % (int)i, .to = (int)i};
    }
    layers_assign(&l);
    layers_place(&l);
    return l;
}

static bool overlap(const struct layout_node *a, const struct layout_node *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

START_TEST(boxes_do_not_overlap_and_arrows_go_down)
{
    const struct layout l = random_layout((unsigned)_i, 1 + 17 * (size_t)_i, _i % 3 * 3, _i % 2 * 4);
    for (size_t i = 0; i < l.node_count; i++) {
        const struct layout_node *n = &l.nodes[i];
        ck_assert(n->x >= -0.01 && n->y >= 0 && n->x + n->width <= l.width + 0.01 &&
                  n->y + n->height <= l.height + 0.01);
        for (size_t j = 0; j < i; j++)
            ck_assert(!overlap(n, &l.nodes[j]));
    }
    for (size_t i = 0; i < l.edge_count; i++) {
        const struct layout_edge *e = &l.edges[i];
        const int layers = l.nodes[e->to].layer - l.nodes[e->from].layer;
        double y = l.nodes[e->from].y + l.nodes[e->from].height;
        ck_assert_int_ge(layers, 1);
        ck_assert(e->cut == (l.longest > 0 && layers > l.longest));
        ck_assert_uint_eq(e->bends.count, e->cut ? 0 : 2 * (size_t)(layers - 1));
        for (size_t k = 0; k < e->bends.count; k++) {
            ck_assert(e->bends.data[k].y >= y);
            y = e->bends.data[k].y;
        }
        ck_assert(e->cut || l.nodes[e->to].y >= y);
    }
}
END_TEST

START_TEST(layers_hold_no_more_than_fits)
{
    const struct layout l = random_layout(7, 300, 0, 4);
    int *boxes = arena_array(&arena, int, 301);
    for (size_t i = 0; i < l.node_count; i++)
        if (!l.nodes[i].late)
            boxes[l.nodes[i].layer]++;
    bool sources[300] = {false};
    for (size_t i = 0; i < l.edge_count; i++)
        sources[l.edges[i].to] = true;
    for (size_t i = 0; i < l.node_count; i++)
        boxes[l.nodes[i].layer] -= !l.nodes[i].late && !sources[i]; /* they move down to their readers */
    for (int k = 0; k < 300; k++)
        ck_assert_int_le(boxes[k], 4);
}
END_TEST

START_TEST(drawings_are_the_same_again)
{
    const struct layout a = random_layout(3, 120, 5, 3), b = random_layout(3, 120, 5, 3);
    for (size_t i = 0; i < a.node_count; i++)
        ck_assert(a.nodes[i].x == b.nodes[i].x && a.nodes[i].y == b.nodes[i].y);
}
END_TEST

/* `edges` are pairs of numbers below `count`. */
static struct layout layout_of(size_t count, const int *edges, size_t edge_count)
{
    struct layout l = {.arena = &arena, .node_count = count, .edge_count = edge_count};
    l.nodes = arena_array(&arena, struct layout_node, count + 1);
    l.edges = arena_array(&arena, struct layout_edge, edge_count + 1);
    for (size_t i = 0; i < count; i++)
        l.nodes[i] = (struct layout_node){.width = 40, .height = 20};
    for (size_t i = 0; i < edge_count; i++)
        l.edges[i] = (struct layout_edge){.from = edges[2 * i], .to = edges[2 * i + 1]};
    return l;
}

static double middle(const struct layout *l, int node)
{
    return l->nodes[node].x + l->nodes[node].width / 2;
}

/* Arrows between two layers only. */
static int crossings(const struct layout *l)
{
    int n = 0;
    for (size_t i = 0; i < l->edge_count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct layout_edge *a = &l->edges[i], *b = &l->edges[j];
            const double above = middle(l, a->from) - middle(l, b->from), below = middle(l, a->to) - middle(l, b->to);
            n += l->nodes[a->from].layer == l->nodes[b->from].layer && above * below < 0;
        }
    return n;
}

/* A box, two of other sizes below it, one below both: every box stands in the middle of those that it is joined to. */
START_TEST(a_drawing_by_hand)
{
    struct layout l = layout_of(4, (const int[]){0, 1, 0, 2, 1, 3, 2, 3}, 4);
    const struct layout_node sizes[] = {{.width = 100, .height = 20},
                                        {.width = 40, .height = 30},
                                        {.width = 60, .height = 10},
                                        {.width = 50, .height = 20}};
    static const double x[] = {4, 0, 58, 29}, y[] = {0, 54, 64, 118};
    memcpy(l.nodes, sizes, sizeof sizes);
    layers_assign(&l);
    layers_place(&l);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(l.nodes[i].x, x[i], 0.01);
        ck_assert_double_eq_tol(l.nodes[i].y, y[i], 0.01);
    }
    ck_assert_double_eq_tol(l.width, 118, 0.01);
    ck_assert_double_eq_tol(l.height, 138, 0.01);
}
END_TEST

/* Four boxes, each joined to one of the four below, in any order; two of them to their children. */
START_TEST(arrows_do_not_cross_without_need)
{
    int to[4];
    for (int k = 0; k < 4 * 4 * 4 * 4; k++) {
        bool taken[4] = {false}, is_order = true;
        for (int i = 0, rest = k; i < 4; i++, rest /= 4) {
            to[i] = rest % 4;
            is_order = is_order && !taken[to[i]];
            taken[to[i]] = true;
        }
        if (!is_order)
            continue;
        struct layout l = layout_of(8, (const int[]){0, 4 + to[0], 1, 4 + to[1], 2, 4 + to[2], 3, 4 + to[3]}, 4);
        layers_assign(&l);
        layers_place(&l);
        ck_assert_int_eq(crossings(&l), 0);
        for (int i = 0; i < 4; i++)
            ck_assert_double_eq_tol(middle(&l, i), middle(&l, 4 + to[i]), 0.5);
        l = layout_of(6, (const int[]){0, 2 + to[0], 0, 2 + to[1], 1, 2 + to[2], 1, 2 + to[3]}, 4);
        layers_assign(&l);
        layers_place(&l);
        ck_assert_int_eq(crossings(&l), 0);
    }
}
END_TEST

/* A source moves down to just above its first reader, and what is late; the first box of the list like any other. */
START_TEST(sources_stand_above_their_readers)
{
    for (int source = 0; source < 3; source++) {
        const int chain[][2] = {{1, 2}, {0, 2}, {0, 1}}; /* two boxes, one reading the other, and the source */
        const int above = chain[source][0], below = chain[source][1];
        struct layout l = layout_of(4, (const int[]){above, below, below, 3, source, 3}, 3);
        layers_assign(&l);
        ck_assert_int_eq(l.nodes[above].layer, 0);
        ck_assert_int_eq(l.nodes[below].layer, 1);
        ck_assert_int_eq(l.nodes[3].layer, 2);
        ck_assert_int_eq(l.nodes[source].layer, 1);
    }
}
END_TEST

/* ---- curves ------------------------------------------------------------------------------------------------------ */

/* Of one curve. The plot reaches from 76 to 696 across, and from 348 up to 44. */
static const char *plot_of(const double *x, const double *y, size_t count)
{
    const struct plot_curve curve = {.name = "c", .x = x, .y = y, .count = count};
    return line_plot_svg(&arena, &(struct line_plot){.title = "t", .x_label = "step", .curves = &curve, .count = 1});
}

/* "0 2 4", the numbers at one of the axes. */
static const char *ticks(const char *svg, const char *anchor)
{
    struct strbuf b = {.arena = &arena};
    for (const char *at = svg; (at = strstr(at, anchor)) != NULL;) {
        at = strchr(at, '>') + 1;
        if (strchr("-.0123456789", *at))
            strbuf_addf(&b, "%s%.*s", b.length > 0 ? " " : "", (int)(strchr(at, '<') - at), at);
    }
    return strbuf_text(&b);
}

#define ACROSS(svg) ticks(svg, "text-anchor=\"middle\"")
#define UPWARDS(svg) ticks(svg, "text-anchor=\"end\"")

START_TEST(points_stand_where_the_axes_say)
{
    const char *svg = plot_of((const double[]){0, 5, 10}, (const double[]){-1, 1, 3}, 3);
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M76.0 348.0L386.0 196.0L696.0 44.0\""));
    ck_assert_ptr_nonnull(strstr(svg, "<line x1=\"324.0\" y1=\"348\" x2=\"324.0\" y2=\"353\" stroke=\"#888\"/>\n"
                                      "<text x=\"324.0\" y=\"368.0\" text-anchor=\"middle\">4</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "<line x1=\"76\" y1=\"196.0\" x2=\"696\" y2=\"196.0\" stroke=\"#ddd\"/>\n"
                                      "<text x=\"68.0\" y=\"200.0\" text-anchor=\"end\">1</text>"));
    svg = plot_of((const double[]){1, 2, 3}, (const double[]){1, 10, 1000}, 3);
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M76.0 348.0L386.0 246.7L696.0 44.0\""));
    ck_assert_str_eq(UPWARDS(svg), "1 10 100 1000");
    svg = plot_of((const double[]){1}, (const double[]){4}, 1); /* half as much room on both sides */
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M386.0 196.0\""));
    ck_assert_str_eq(UPWARDS(svg), "2 3 4 5 6");
}
END_TEST

/* Ticks are 1, 2 or 5 times a power of ten apart; steps are whole. */
static const struct {
    double low, high;
    const char *across, *upwards;
} tick_cases[] = {
    {0, 5.9, "0 1 2 3 4 5", "0 1 2 3 4 5"},
    {0, 6, "0 1 2 3 4 5 6", "0 1 2 3 4 5 6"},
    {0, 6.1, "0 2 4 6", "0 2 4 6"},
    {0, 12.1, "0 5 10", "0 5 10"},
    {0, 30.1, "0 10 20 30", "0 10 20 30"},
    {0, 60.1, "0 20 40 60", "0 20 40 60"},
    {-3, 2.9, "-3 -2 -1 0 1 2", "-3 -2 -1 0 1 2"},
    {0, 1, "0 1", "0 0.2 0.4 0.6 0.8 1"},
    {0, 0.0045, "0", "0 0.001 0.002 0.003 0.004"},
    {100, 700, "100 200 300 400 500 600 700", "100 200 300 400 500 600 700"},
};

START_TEST(ticks_are_round)
{
    const double ends[] = {tick_cases[_i].low, tick_cases[_i].high};
    const char *const svg = plot_of(ends, ends, 2);
    ck_assert_str_eq(ACROSS(svg), tick_cases[_i].across);
    ck_assert_str_eq(UPWARDS(svg), tick_cases[_i].upwards);
}
END_TEST

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static const struct report *report_of(const char *body)
{
    const char *const text =
        arena_printf(&arena,
                     "< ir_version: 10, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1] >\n%s", body);
    const struct pipeline_options pipeline = {.name = "m"};
    struct model *m;
    struct program *p;
    struct plan **plans;
    struct emitted code;
    if (!model_read_text(&diag, &arena, "m.onnxtxt", text, strlen(text), &m) ||
        !pipeline_canonical(&diag, &arena, m, &pipeline, &p) || !pipeline_plans(&diag, &arena, p, &pipeline, &plans)) {
        diag_print(&diag, stderr);
        ck_abort_msg("the model is not compiled");
    }
    const struct emit_options emit = {.name = "m", .model_file = "", .options_text = "", .without_data = true};
    ck_assert(emit_program(&diag, &arena, p, plans, &emit, &code));
    const struct report_code sizes = {.state_bytes = code.state_bytes,
                                      .arena_bytes = code.arena_bytes,
                                      .constant_bytes = code.constant_bytes,
                                      .calls = (const char *const *const *)code.calls,
                                      .options_text = ""};
    return report_gather(&arena, p, plans, &sizes);
}

static const struct report_entry *entry_named(const struct report *r, const char *name)
{
    for (size_t i = 0; i < r->entries.count; i++)
        if (str_equal(r->entries.data[i].name, name))
            return &r->entries.data[i];
    ck_abort_msg("no entry '%s'", name);
    return NULL;
}

START_TEST(multiply_adds_count_two)
{
    const struct report_entry *e =
        entry_named(report_of("g (float[5,7] a, float[7,3] b) => (float[5,3] c) { c = MatMul(a, b) }"), "infer");
    ck_assert_int_eq(e->called, 1);
    ck_assert_int_eq(e->flops, 2 * 5 * 7 * 3);
    ck_assert_int_eq(e->bytes, 4 * (5 * 7 + 7 * 3 + 5 * 3));
    ck_assert(e->flops_known);
}
END_TEST

START_TEST(convolutions_count_their_windows)
{
    const struct report_entry *e = entry_named(
        report_of("g (float[2,4,9,9] x, float[6,2,3,3] w) => (float[2,6,7,7] y) { y = Conv<group = 2>(x, w) }"),
        "infer");
    ck_assert_int_eq(e->flops, 2 * (2 * 6 * 7 * 7) * (2 * 3 * 3));
}
END_TEST

/* Fifty steps, each a product, three sums and three times tanh, which are stored as the state and as y; in front of
 * them the product of all rows of x. */
START_TEST(steps_count_as_often_as_they_are_taken)
{
    const struct report_entry *e =
        entry_named(report_of("g (float[50,1,4] x, float[1,3,4] w, float[1,3,3] r) => (float[50,1,1,3] y) "
                              "{ y = RNN<hidden_size = 3>(x, w, r) }"),
                    "infer");
    ck_assert_int_eq(e->flops, 50 * (2 * 3 * 4) + 50 * (2 * 3 * 3 + 3 + 3));
    /* r is transposed; x w; and r, h and a row of that give a row of y and the state, which is copied */
    ck_assert_int_eq(e->bytes, 4 * (9 + 9 + 200 + 12 + 150 + 50 * (9 + 3 + 3 + 3 + 3 + 3 + 3)));
    ck_assert(e->flops_known);
}
END_TEST

START_TEST(only_elements_that_are_read_count)
{
    const struct report_entry *e = entry_named(
        report_of("g (float[100,8] x) => (float[2,8] y) <int64[1] b = {10}, int64[1] e = {12}, int64[1] axis = {0}> "
                  "{ part = Slice(x, b, e, axis) y = Exp(part) }"),
        "infer");
    ck_assert_int_eq(e->called, 1);
    ck_assert_int_eq(e->kernels.data[0].bytes_read, 2 * 8 * 4);
    ck_assert_int_eq(e->kernels.data[0].bytes_written, 2 * 8 * 4);
    ck_assert_int_eq(e->flops, 16);
}
END_TEST

START_TEST(nodes_of_a_kernel_are_said_once)
{
    const struct report_entry *e = entry_named(report_of("g (float[8] x, float[8] w) => (float[8] y) { a = Mul(x, w) b "
                                                         "= Mul(a, w) [sine] c = Sin(b) d = Sub(c, w) y = Mul(d, x) }"),
                                               "infer");
    ck_assert_int_eq(e->called, 1);
    ck_assert_str_eq(e->kernels.data[0].about, "Mul x3, Sub; Sin \"sine\"");
}
END_TEST

static const char trained[] =
    "net (float[4,8] x) => (float[4,1] y) <float[8,1] w = {1,2,3,4,5,6,7,8}, float[1] b = {0.5}, "
    "float[2] unused = {1,2}> { xw = MatMul(x, w) y = Add(xw, b) }\n"
    "@training_info { algorithm: train (float[4,1] t) => (float loss, float[8,1] w_new, float[8,1] v_new) "
    "<float[8,1] v = {0,0,0,0,0,0,0,0}, float rate = {0.25}, int64 step = {1}> {"
    " d = Sub(y, t) s = Mul(d, d) loss = ReduceMean<keepdims = 0>(s)"
    " w_grad = ai.onnx.preview.training.Gradient<xs = [\"w\"], zs = [\"x\", \"t\"], y = \"loss\">(w, x, t)"
    " w_new, v_new = "
    "ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 1.0, mode = \"standard\", norm_coefficient = 0.0>(rate, "
    "step, w, w_grad, v) } update_binding: [\"w\" : \"w_new\", \"v\" : \"v_new\"] }";

START_TEST(says_what_is_trained_and_how)
{
    const struct report *r = report_of(trained);
    ck_assert_uint_eq(r->trainings.count, 1);
    const struct report_training *t = &r->trainings.data[0];
    ck_assert_str_eq(t->entry, "step");
    ck_assert_str_eq(t->loss, "loss");
    ck_assert_str_eq(t->loss_text, "ReduceMean<keepdims=0>(s)");
    ck_assert_str_eq(t->optimizer, "Momentum<alpha=0.9, beta=1, mode=standard, norm_coefficient=0>");
    ck_assert_str_eq(t->rate, "0.25");
    ck_assert_uint_eq(t->trains.count, 1);
    ck_assert_str_eq(t->trains.data[0], "w");
    ck_assert_int_eq(r->roles[REPORT_WEIGHT].elements, 8);
    ck_assert_int_eq(r->roles[REPORT_OPTIMIZER].elements, 8);
    ck_assert_int_eq(r->roles[REPORT_FROZEN].elements, 3);
    ck_assert_int_eq(r->state_bytes, 2 * 8 * 4);
}
END_TEST

/* The rate may stand in the model's graph, for all of its entries. */
START_TEST(says_the_rate_of_the_model)
{
    char *const text = arena_strdup(&arena, trained), *const own = strstr(text, "float rate = {0.25}, ");
    memset(own, ' ', strlen("float rate = {0.25}, "));
    const char *const weights = "float[1] b = {0.5}, ", *const at = strstr(text, weights);
    const struct report *r =
        report_of(arena_printf(&arena, "%.*sfloat rate = {0.125}, %s", (int)(at - text), text, at));
    ck_assert_str_eq(r->trainings.data[0].rate, "0.125");
}
END_TEST

/* From `begin` to the first `end` behind it. */
static const char *piece(const char *text, const char *begin, const char *end)
{
    const char *const from = strstr(text, begin), *const to = from ? strstr(from, end) : NULL;
    ck_assert_msg(to != NULL, "no %s ... %s", begin, end);
    return arena_strndup(&arena, from, (size_t)(to - from));
}

#define CARD(number, text) "<div class=\"card\"><b>" number "</b>" text "</div>\n"
#define LEGEND(kind, text) "<span><i class=\"" kind "\"></i>" text "</span>\n"
#define ROW(what, name, shape, bytes)                                                                                  \
    "<tr><td>" what "</td><td><code>" name "</code></td><td>float</td><td>" shape "</td><td class=\"n\">" bytes        \
    "</td></tr>\n"

/* The bar of a kernel is as long as its part of the largest number of operations. */
static void check_shares(const char *html, const struct report_entry *e)
{
    int64_t most = 0;
    vec_each_ptr(const struct report_kernel, k, &e->kernels)
        most = k->flops > most ? k->flops : most;
    for (size_t i = 0; i < e->kernels.count; i++) {
        const struct report_kernel *const k = &e->kernels.data[i];
        const char *const row = piece(html, arena_printf(&arena, "<tr id=\"step-%zu\"", i), "</tr>");
        const char *const bar = arena_printf(&arena, "<span class=\"share\" style=\"width:%.1f%%\"></span>",
                                             (double)k->flops / (double)most * 100);
        ck_assert_msg(k->flops > 0 ? strstr(row, bar) != NULL : strstr(row, "class=\"share\"") == NULL, "%s", row);
    }
}

START_TEST(a_page_has_the_figures)
{
    const char *html = report_html(report_of(trained));
    ck_assert_str_eq(piece(html, "<div class=\"card\">", "</div>\n<h3>"),
                     CARD("8", "parameters are trained, in 1 tensor") CARD("3", "are frozen, in 2 tensors")
                         CARD("256 B", "of RAM: state 64 + arena 192 bytes")
                             CARD("32 B", "of flash: 32 bytes of constants")
                                 CARD("189", "floating-point operations in one <code>step</code>, 4 kernels"));
    ck_assert_str_eq(
        piece(html, "<div class=\"bar\">", "</div>"),
        "<div class=\"bar\"><span class=\"weight\" style=\"flex:32 1 0\" title=\"weight: 32 bytes\"></span>"
        "<span class=\"optimizer\" style=\"flex:32 1 0\" title=\"optimizer: 32 bytes\"></span>"
        "<span class=\"arena\" style=\"flex:192 1 0\" title=\"arena: 192 bytes\"></span>");
    ck_assert_str_eq(piece(html, "<div class=\"legend\">", "</div>"),
                     "<div class=\"legend\">\n" LEGEND("weight", "weights 32 B")
                         LEGEND("optimizer", "the optimizer&#39;s 32 B")
                             LEGEND("arena", "arena, work memory of the entry that needs most 192 B"));
    ck_assert_str_eq(piece(html, "<h3>What", "<h3>RAM"),
                     "<h3>What <code>step</code> does</h3>\n<dl>\n"
                     "<dt>loss</dt><dd><code>loss = ReduceMean&lt;keepdims=0&gt;(s)</code></dd>\n"
                     "<dt>optimizer</dt><dd><code>Momentum&lt;alpha=0.9, beta=1, mode=standard, norm_coefficient=0&gt;"
                     "</code></dd>\n<dt>learning rate</dt><dd><code>0.25</code></dd>\n"
                     "<dt>gradients of</dt><dd>1 tensor<details><summary>which</summary><code>w</code></details></dd>\n"
                     "</dl>\n");
    ck_assert_str_eq(piece(html, "<tr><td>input", "</table>"),
                     ROW("input", "x", "[4,8]", "128") ROW("input", "t", "[4,1]", "16")
                         ROW("output", "y", "[4,1]", "16") ROW("output", "loss", "[]", "4"));
    ck_assert_str_eq(piece(html, "<tr><td>weight", "</table>"),
                     ROW("weight", "w", "[8,1]", "32") ROW("optimizer", "v", "[8,1]", "32")
                         ROW("frozen", "b", "[1]", "4") ROW("frozen", "unused", "[2]", "8"));
    ck_assert_ptr_nonnull(strstr(html, "<a href=\"#entry-step\">step</a>\n"));
    check_shares(html, entry_named(report_of(trained), "step"));
    html = report_html(report_of("g (float[8] x) => (float[8] y) { y = Neg(x) }"));
    ck_assert_str_eq(piece(html, "<div class=\"card\">", "</div>\n<h3>"),
                     CARD("8 B", "of RAM: state 0 + arena 8 bytes") CARD("0 B", "of flash: 0 bytes of constants")
                         CARD("8", "floating-point operations in one <code>infer</code>, 1 kernel"));
    ck_assert_ptr_nonnull(strstr(html, "<p>The model has none.</p>"));
    ck_assert_ptr_nonnull(strstr(html, "<p>1 kernel, 8 floating-point operations, 64 B moved: 0.12 operations per"));
}
END_TEST

/* Boxes have the colours of their phases, inputs and outputs are ellipses. */
START_TEST(a_graph_for_graphviz)
{
    const char *const dot = report_dot(report_of(trained));
    static const struct {
        const char *box, *style;
    } boxes[] = {{"n0_0 [label=\"x\\n[4,8] float", "shape=ellipse"},
                 {"n0_1 [label=\"0 MatMul\\nw [8,1]", "fillcolor=\"#eef2f7\""},
                 {"n0_3 [label=\"y\\n[4,1] float", "shape=ellipse"},
                 {"n2_2 [label=\"0 compute_xw\\nw", "fillcolor=\"#fbdcc0\""},
                 {"n2_3 [label=\"1 compute_loss", "fillcolor=\"#cfe3f5\""}};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        const char *const line = piece(dot, boxes[i].box, "\n    ");
        ck_assert_msg(strstr(line, arena_printf(&arena, ", %s];", boxes[i].style)) != NULL, "%s", line);
    }
}
END_TEST

/* The arena and what is alive at most: one line where they are the same, else two. */
START_TEST(a_plan_says_how_good_it_is)
{
    struct report_entry e = *entry_named(report_of(trained), "step");
    ck_assert_int_eq(e.arena_bytes, e.bound_bytes);
    const char *svg = memory_svg(&arena, &e);
    ck_assert_ptr_nonnull(strstr(svg, "= the lower bound"));
    ck_assert_ptr_null(strstr(svg, "class=\"arena\""));
    ck_assert_ptr_null(strstr(svg, "lower bound 192 B"));
    e.arena_bytes += 64;
    svg = memory_svg(&arena, &e);
    ck_assert_ptr_null(strstr(svg, "= the lower bound"));
    ck_assert_ptr_nonnull(strstr(svg, "class=\"arena\""));
    ck_assert_ptr_nonnull(strstr(svg, "arena 256 B"));
    ck_assert_ptr_nonnull(strstr(svg, "lower bound 192 B"));
}
END_TEST

START_TEST(memory_of_an_entry_adds_up)
{
    const struct report *r = report_of(trained);
    const struct report_entry *e = entry_named(r, "step");
    for (int k = 0; k < (int)e->kernels.count; k++) {
        int64_t alive = 0;
        for (int64_t at = 0; at < e->arena_bytes; at += PLAN_ALIGN) {
            bool used = false;
            for (size_t i = 0; i < e->temporaries.count; i++) {
                const struct report_temporary *t = &e->temporaries.data[i];
                used |= t->first <= k && k <= t->last && t->offset <= at && at < t->offset + t->space;
            }
            alive += used ? PLAN_ALIGN : 0;
        }
        ck_assert_int_eq(alive, e->kernels.data[k].alive);
    }
    ck_assert_int_ge(e->peak, 0);
    ck_assert_int_eq(e->kernels.data[e->peak].alive, e->bound_bytes);
    ck_assert_int_le(e->bound_bytes, e->arena_bytes);
}
END_TEST

START_TEST(json_is_read_back)
{
    const struct report *r = report_of(trained);
    json_error_t error;
    json_t *root = json_loads(report_json(r), 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "schema")), 1);
    const json_t *memory = json_object_get(root, "memory");
    ck_assert_int_eq(json_integer_value(json_object_get(memory, "state_bytes")), 64);
    ck_assert_int_eq(json_integer_value(json_object_get(memory, "ram_bytes")), r->ram_bytes);
    const json_t *parameter = json_array_get(json_object_get(root, "parameters"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(parameter, "name")), "w");
    ck_assert_str_eq(json_string_value(json_object_get(parameter, "role")), "weight");
    ck_assert_uint_eq(json_array_size(json_object_get(root, "entries")), r->entries.count);
    const json_t *step = json_array_get(json_object_get(root, "entries"),
                                        (size_t)(entry_named(r, "step") - r->entries.data));
    const json_t *nodes = json_object_get(json_array_get(json_object_get(step, "kernels"), 0), "nodes");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(nodes, 0), "op")), "MatMul");
    json_decref(root);
}
END_TEST

/* "a b c", or what is no object as it stands. */
static const char *members(json_t *o)
{
    struct strbuf b = {.arena = &arena};
    const char *key;
    json_t *value;
    ck_assert(json_is_object(o));
    json_object_foreach(o, key, value)
        strbuf_addf(&b, "%s%s", b.length > 0 ? " " : "", key);
    return strbuf_text(&b);
}

static const char *plain(const json_t *x)
{
    char *const text = json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *const copy = arena_strdup(&arena, text);
    free(text);
    return copy;
}

static json_t *element(json_t *o, const char *list, size_t i)
{
    json_t *const x = json_array_get(json_object_get(o, list), i);
    ck_assert_msg(x != NULL, "no %s %zu", list, i);
    return x;
}

/* As docs/inspect.md has it. */
START_TEST(json_has_every_member)
{
    const struct report *const r = report_of(trained);
    json_t *const root = json_loads(report_json(r), 0, NULL);
    json_t *const step = element(root, "entries", (size_t)(entry_named(r, "step") - r->entries.data));
    ck_assert_str_eq(members(root), "schema model memory training parameter_counts parameters entries");
    ck_assert_str_eq(members(json_object_get(root, "model")), "file graph opsets sha256 options");
    ck_assert_str_eq(plain(json_object_get(root, "memory")),
                     "{\"ram_bytes\":256,\"state_bytes\":64,\"arena_bytes\":192,\"flash_bytes\":32}");
    ck_assert_str_eq(plain(json_object_get(root, "training")),
                     "[{\"entry\":\"step\",\"loss\":\"loss\",\"loss_computed_by\":\"ReduceMean<keepdims=0>(s)\","
                     "\"optimizer\":\"Momentum<alpha=0.9, beta=1, mode=standard, norm_coefficient=0>\","
                     "\"learning_rate\":\"0.25\",\"gradients_of\":[\"w\"]}]");
    ck_assert_str_eq(members(json_object_get(root, "parameter_counts")),
                     "weight statistic optimizer counter sum frozen");
    ck_assert_str_eq(plain(json_object_get(json_object_get(root, "parameter_counts"), "frozen")),
                     "{\"tensors\":2,\"elements\":3,\"bytes\":12}");
    ck_assert_str_eq(plain(element(root, "parameters", 0)),
                     "{\"name\":\"w\",\"dtype\":\"float\",\"shape\":[8,1],\"bytes\":32,\"role\":\"weight\"}");
    ck_assert_str_eq(members(step), "name kind inputs outputs calls flops flops_complete bytes arena_bytes "
                                    "arena_lower_bound peak_kernel kernels temporaries");
    ck_assert_str_eq(plain(element(step, "inputs", 0)),
                     "{\"name\":\"x\",\"dtype\":\"float\",\"shape\":[4,8],\"bytes\":128}");
    ck_assert_str_eq(members(element(step, "kernels", 0)), "index function phase updates nodes flops flops_complete "
                                                           "bytes_read bytes_written alive_bytes reads writes");
    ck_assert_str_eq(plain(element(element(step, "kernels", 0), "nodes", 0)),
                     "{\"op\":\"MatMul\",\"name\":null,\"origin\":null}");
    ck_assert_str_eq(plain(element(element(step, "kernels", 0), "reads", 0)), "{\"kind\":\"input\",\"name\":\"x\"}");
    ck_assert_str_eq(members(element(step, "temporaries", 0)),
                     "name dtype shape bytes kind offset first_kernel last_kernel");
    json_decref(root);
}
END_TEST

START_TEST(limits_are_inclusive)
{
    const struct report *r = report_of(trained);
    ck_assert(report_check_limits(&diag, r, "--max-ram", r->ram_bytes, r->flash_bytes));
    ck_assert(report_check_limits(&diag, r, "--max-ram", -1, -1));
    ck_assert_uint_eq(diag.errors, 0);
    ck_assert(!report_check_limits(&diag, r, "--max-ram", r->ram_bytes - 1, r->flash_bytes));
    ck_assert_uint_eq(diag.errors, 1);
    ck_assert(!report_check_limits(&diag, r, "--max-ram", 0, 0));
    ck_assert_uint_eq(diag.errors, 3);
}
END_TEST

START_TEST(what_follows_from_constants_is_not_drawn)
{
    const struct report *r = report_of("g (float[2,6] x) => (float[6,2] y) <int64[1] a = {6}, int64[1] b = {2}> "
                                       "{ shape = Concat<axis = 0>(a, b) r = Reshape(x, shape) y = Exp(r) }");
    const struct picture p = picture_of_model(r);
    ck_assert_uint_eq(p.nodes.count, 4); /* x, Reshape, Exp, y */
    ck_assert_uint_eq(p.edges.count, 3);
    ck_assert_str_eq(p.nodes.data[1].title, "Reshape");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("report");
    TCase *t = tcase_create("report");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, markup_holds_no_markup_of_names);
    tcase_add_test(t, numbers_for_readers);
    tcase_add_test(t, names_are_cut_between_characters);
    tcase_add_loop_test(t, boxes_do_not_overlap_and_arrows_go_down, 0, 20);
    tcase_add_test(t, layers_hold_no_more_than_fits);
    tcase_add_test(t, drawings_are_the_same_again);
    tcase_add_test(t, a_drawing_by_hand);
    tcase_add_test(t, arrows_do_not_cross_without_need);
    tcase_add_test(t, sources_stand_above_their_readers);
    tcase_add_test(t, points_stand_where_the_axes_say);
    tcase_add_loop_test(t, ticks_are_round, 0, sizeof tick_cases / sizeof *tick_cases);
    tcase_add_test(t, multiply_adds_count_two);
    tcase_add_test(t, convolutions_count_their_windows);
    tcase_add_test(t, steps_count_as_often_as_they_are_taken);
    tcase_add_test(t, only_elements_that_are_read_count);
    tcase_add_test(t, nodes_of_a_kernel_are_said_once);
    tcase_add_test(t, says_what_is_trained_and_how);
    tcase_add_test(t, says_the_rate_of_the_model);
    tcase_add_test(t, a_page_has_the_figures);
    tcase_add_test(t, a_graph_for_graphviz);
    tcase_add_test(t, a_plan_says_how_good_it_is);
    tcase_add_test(t, memory_of_an_entry_adds_up);
    tcase_add_test(t, json_is_read_back);
    tcase_add_test(t, json_has_every_member);
    tcase_add_test(t, limits_are_inclusive);
    tcase_add_test(t, what_follows_from_constants_is_not_drawn);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
