/* NonMaxSuppression: of boxes that overlap, those with the greatest scores. boxes [batch, spatial, 4], scores [batch,
 * class, spatial]. For each batch and class, until max_output_boxes_per_class are taken or none is left:
 *   the box with the greatest score that is left (of equal ones the first) is taken, and the boxes whose
 *   intersection over union with it is more than iou_threshold go
 * Boxes whose score is not more than score_threshold, if that is given, or is no number, never count. y is [taken, 3]:
 * batch, class and box, in that order. A box is two opposite corners (y, x, y, x), or with center_point_box = 1 its
 * center and size (x, y, width, height). A box without area overlaps with nothing. All is computed in float.
 *
 * How many are taken is a shape. Where everything is known when a model is compiled, y is a constant. Else y has room
 * for all that may be taken, and a count (graph/bounded.h); stepc.Suppression chooses, and the number of boxes for each
 * class must be known. Spec: ONNX NonMaxSuppression-10, -11 (the same). */
#include "graph/region.h"
#include "ops/op.h"

#include <stdlib.h>

enum { BOXES, SCORES, MOST, IOU, LEAST, OPERANDS };
enum { MOST_WORK = 1 << 30 };

static const struct op_attr attrs[] = {{.name = "center_point_box", .type = ATTR_INT}, {0}};
static const struct op_version versions[] = {{.since = 10}, {.since = 11}, {0}};
#define FLOATS(label, marks) {.name = (label), .dtypes = DTYPE_BIT(DTYPE_FLOAT), .flags = (marks)}
static const struct op_param inputs[] = {
    FLOATS("boxes", PARAM_NOT_DIFF),
    FLOATS("scores", PARAM_NOT_DIFF),
    {.name = "max_output_boxes_per_class", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    FLOATS("iou_threshold", PARAM_OPTIONAL | PARAM_NOT_DIFF),
    FLOATS("score_threshold", PARAM_OPTIONAL | PARAM_NOT_DIFF),
    {0}};
static const struct op_param outputs[] = {
    {.name = "selected_indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* Two corners, the lower one first. */
struct box {
    float low[2], high[2];
};

static struct box box_at(const double *x, bool by_center)
{
    struct box b;
    for (int d = 0; d < 2; d++) {
        const float p = (float)x[d], q = (float)x[2 + d], half = (float)(q / 2.0f);
        const float first = by_center ? (float)(p - half) : p, second = by_center ? (float)(p + half) : q;
        b.low[d] = first < second ? first : second;
        b.high[d] = first < second ? second : first;
    }
    return b;
}

static float area_of(const struct box *b)
{
    return (float)((float)(b->high[0] - b->low[0]) * (float)(b->high[1] - b->low[1]));
}

static bool overlaps(const struct box *a, const struct box *b, float threshold)
{
    struct box both;
    for (int d = 0; d < 2; d++) {
        both.low[d] = a->low[d] > b->low[d] ? a->low[d] : b->low[d];
        both.high[d] = a->high[d] < b->high[d] ? a->high[d] : b->high[d];
        if (!(both.low[d] < both.high[d]))
            return false;
    }
    const float common = area_of(&both), area = area_of(a), other = area_of(b);
    return area > 0 && other > 0 && (float)(common / (float)((float)(area + other) - common)) > threshold;
}

struct box_candidate {
    float score;
    int64_t number;
};

static int by_score(const void *a, const void *b)
{
    const struct box_candidate *const x = a, *const y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* The inputs; a threshold or number that is omitted has its default. */
struct suppression {
    const struct eval_tensor *boxes, *scores;
    int64_t most;
    float iou, least;
    bool has_least, by_center;
};

/* Boxes of one batch and class, in room for all of them; returns how many. */
static int64_t choose(const struct suppression *in, int64_t batch, int64_t class, struct box_candidate *left)
{
    const int64_t classes = in->scores->shape.dim[1], spatial = in->boxes->shape.dim[1];
    const double *const score = in->scores->f + (batch * classes + class) * spatial;
    const double *const boxes = in->boxes->f + batch * spatial * 4;
    int64_t count = 0, taken = 0;
    for (int64_t k = 0; k < spatial; k++)
        if (in->has_least ? (float)score[k] > in->least : score[k] == score[k])
            left[count++] = (struct box_candidate){(float)score[k], k};
    qsort(left, (size_t)count, sizeof *left, by_score);
    for (int64_t k = 0; k < count && taken < in->most; k++) {
        const struct box b = box_at(boxes + left[k].number * 4, in->by_center);
        bool stays = true;
        for (int64_t j = 0; j < taken && stays; j++) {
            const struct box before = box_at(boxes + left[j].number * 4, in->by_center);
            stays = !overlaps(&before, &b, in->iou);
        }
        if (stays)
            left[taken++] = left[k];
    }
    return taken;
}

/* All rows; returns how many. y: where they go, NULL: they are only counted. */
static int64_t choose_all(const struct suppression *in, struct arena *a, int64_t *y)
{
    struct box_candidate *const left = arena_array(a, struct box_candidate, (size_t)in->boxes->shape.dim[1]);
    int64_t rows = 0;
    for (int64_t batch = 0; batch < in->scores->shape.dim[0]; batch++)
        for (int64_t class = 0; class < in->scores->shape.dim[1]; class++) {
            const int64_t taken = choose(in, batch, class, left);
            for (int64_t k = 0; k < taken && y != NULL; k++) {
                int64_t *const row = y + (rows + k) * 3;
                row[0] = batch, row[1] = class, row[2] = left[k].number;
            }
            rows += taken;
        }
    return rows;
}

static struct suppression choice_of(const struct node *n, const struct eval_tensor *const *in)
{
    return (struct suppression){.boxes = in[BOXES],
                                .scores = in[SCORES],
                                .most = in[MOST] != NULL ? in[MOST]->i[0] : 0,
                                .iou = in[IOU] != NULL ? (float)in[IOU]->f[0] : 0,
                                .least = in[LEAST] != NULL ? (float)in[LEAST]->f[0] : 0,
                                .has_least = in[LEAST] != NULL,
                                .by_center = op_attr_int(n, "center_point_box") != 0};
}

/* The inputs of a node that are known, in the arena. */
static void read_known(const struct node *n, struct arena *a, const struct eval_tensor **in)
{
    for (size_t i = 0; i < OPERANDS; i++) {
        struct value *const v = node_input(n, i);
        in[i] = v != NULL ? eval_from_tensor(a, value_known(v)) : NULL;
    }
}

/* ---- inference --------------------------------------------------------------------------------------------------- */

static bool check_shapes(struct infer_ctx *c)
{
    const struct shape *const boxes = infer_shape(c, BOXES), *const scores = infer_shape(c, SCORES);
    const int64_t form = op_attr_int(c->node, "center_point_box");
    struct arena *const a = c->diag->arena;
    if (form != 0 && form != 1)
        return infer_error(c, "attribute 'center_point_box' is %lld, expected 0 or 1", (long long)form);
    if (boxes->rank != 3 || boxes->dim[2] != 4)
        return infer_error(c, "input 0 '%s' has shape %s, expected [batch, boxes, 4]", infer_in(c, BOXES)->name,
                           shape_text(a, boxes));
    if (scores->rank != 3 || scores->dim[0] != boxes->dim[0] || scores->dim[2] != boxes->dim[1])
        return infer_error(c, "input 1 '%s' has shape %s, expected [%lld, classes, %lld] as input 0",
                           infer_in(c, SCORES)->name, shape_text(a, scores), (long long)boxes->dim[0],
                           (long long)boxes->dim[1]);
    for (int i = MOST; i < OPERANDS; i++)
        if (infer_in(c, i) != NULL && shape_count(infer_shape(c, i)) != 1)
            return infer_error(c, "input %d '%s' (%s) has shape %s, expected a scalar", i, infer_in(c, i)->name,
                               inputs[i].name, shape_text(a, infer_shape(c, i)));
    return true;
}

/* Comparisons that the choice may take. */
static double work_of(const struct suppression *in)
{
    const struct shape *const s = &in->scores->shape;
    const double spatial = (double)s->dim[2], most = in->most > 0 ? (double)in->most : 0;
    const double of_class = spatial * (most < spatial ? most : spatial);
    return (double)s->dim[0] * (double)s->dim[1] * (of_class > 1 ? of_class : 1); /* it is visited */
}

static bool nms_infer(struct infer_ctx *c)
{
    const struct eval_tensor *in[OPERANDS];
    struct arena scratch = {0};
    if (!check_shapes(c))
        return false;
    for (int i = 0; i < OPERANDS; i++)
        if (infer_in(c, i) != NULL && infer_known(c, i) == NULL)
            return false;
    read_known(c->node, &scratch, in);
    const struct suppression choice = choice_of(c->node, in);
    const bool small = work_of(&choice) <= MOST_WORK;
    const int64_t rows = small ? choose_all(&choice, &scratch, NULL) : 0;
    arena_free(&scratch);
    if (!small)
        return infer_unsupported(c, "choosing takes more than %d comparisons of boxes", MOST_WORK);
    return infer_out(c, 0, DTYPE_INT64, &SHAPE(rows, 3));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static bool nms_expand(struct expand_ctx *c)
{
    const struct eval_tensor *in[OPERANDS];
    struct arena scratch = {0};
    struct value *const y = node_output(c->node, 0);
    read_known(c->node, &scratch, in);
    const struct suppression choice = choice_of(c->node, in);
    struct eval_tensor *const rows = eval_tensor_new(&scratch, DTYPE_INT64, &y->shape);
    choose_all(&choice, &scratch, rows->i);
    const bool ok = expand_out(c, 0, build_constant(c->b, eval_to_tensor(c->b->graph->arena, rows)));
    arena_free(&scratch);
    return ok;
}

static bool nms_eval(struct eval_ctx *c)
{
    const struct eval_tensor *in[OPERANDS];
    for (int i = 0; i < OPERANDS; i++)
        in[i] = eval_has(c, i) ? eval_input(c, i) : NULL;
    const struct suppression choice = choice_of(c->node, in);
    if (eval_wants(c, 0))
        choose_all(&choice, c->scratch, eval_out_i(c, 0));
    return true;
}

/* ---- by data ----------------------------------------------------------------------------------------------------- */

/* Rows of the result are the boxes that stepc.Suppression has taken, in their order. */
static bool nms_by_data(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    struct value *const boxes = node_input(n, BOXES), *const scores = node_input(n, SCORES);
    bool known = true;
    for (int i = 0; i < OPERANDS; i++)
        known = known && bounded_is_known(c, i);
    if (known || boxes == NULL || scores == NULL || node_input(n, MOST) == NULL || !bounded_is_known(c, MOST) ||
        boxes->dtype != DTYPE_FLOAT || scores->dtype != DTYPE_FLOAT || boxes->shape.rank != 3 ||
        scores->shape.rank != 3 || boxes->shape.dim[2] != 4 || boxes->shape.dim[0] != scores->shape.dim[0] ||
        boxes->shape.dim[1] != scores->shape.dim[2] || shape_count(&scores->shape) == 0)
        return true;
    for (int i = 0; i < OPERANDS; i++)
        if (bounded_in(c, i) != NULL)
            return bounded_refuse(c, i, "NonMaxSuppression needs a fixed number of boxes");
    const struct tensor *const limit = value_known(n->inputs.data[MOST]);
    const int64_t spatial = boxes->shape.dim[1], classes = scores->shape.dim[1];
    const int64_t said = limit->count == 1 ? tensor_get_int(limit, 0) : 0, most = said < spatial ? said : spatial;
    if (most < 1)
        return true;
    struct value *const in[] = {boxes, scores, node_input(n, IOU), node_input(n, LEAST)};
    const struct attr *const how = ATTRS(attr_int("most", most),
                                         attr_int("center_point_box", op_attr_int(n, "center_point_box")));
    struct value *taken = build_value(c->b, "stepc.Suppression", how, in, sizeof in / sizeof *in);
    taken = build_reshape(c->b, taken, &SHAPE_OF(shape_elements(&taken->shape)));
    struct value *const places = bounded_places(c, build(c, "GreaterOrEqual", taken, build_int(c->b, 0)));
    if (places == NULL)
        return false;
    struct value *const line = build(c, "Div", places, build_int(c->b, most));
    struct value *columns[] = {build(c, "Div", line, build_int(c->b, classes)),
                               build(c, "Mod", line, build_int(c->b, classes)), build(c, "Gather", taken, places)};
    for (int k = 0; k < 3; k++)
        columns[k] = build(c, "Unsqueeze", columns[k], build_ints(c->b, (int64_t[]){1}, 1));
    return bounded_become(c, "Concat", ATTRS(attr_int("axis", 1)), columns, 3) && bounded_out(c, 0, places->bounded, 0);
}

#define BOXES_OF(shape, numbers) "b = Constant <value = float" shape " {" numbers "}> () "
#define SIX BOXES_OF("[1,6,4]", "0,0,1,1, 0,0.1,1,1.1, 0,-0.1,1,0.9, 0,10,1,11, 0,10.1,1,11.1, 0,100,1,101")
#define SCORES_OF(shape, numbers) "s = Constant <value = float" shape " {" numbers "}> () "
#define LIMITS                                                                                                         \
    "m = Constant <value_int = 3> () i = Constant <value_floats = [0.5]> () t = Constant <value_float = 0.0> () "
static const struct op_sample samples[] = {
    {.text = "g () => (int64[3,3] y) { " SIX SCORES_OF("[1,1,6]", "0.9,0.75,0.6,0.95,0.5,0.3") LIMITS
             "y = NonMaxSuppression(b, s, m, i, t) }"},
    /* equal scores; a threshold of 0, at which whatever overlaps goes; corners in any order */
    {.text = "g () => (int64[2,3] y) { " BOXES_OF("[1,3,4]", "1,1,0,0, 0,0.5,1,1.5, 2,2,1,1")
             SCORES_OF("[1,1,3]", "0.5,0.5,0.5") "m = Constant <value_ints = [9]> () y = NonMaxSuppression(b, s, m) }",
     .opset = 10},
    {.text = "g () => (int64[5,3] y) { " BOXES_OF("[2,2,4]", "0,0,1,1, 0,0,1,1, 0,0,1,1, 5,5,1,1")
             SCORES_OF("[2,2,2]", "1,2,nan,3,-1,0.1,0.2,0.3") LIMITS
             "y = NonMaxSuppression <center_point_box = 1> (b, s, m, i, t) }"},
    /* boxes without area, a limit of none */
    {.text = "g () => (int64[2,3] y) { " BOXES_OF("[1,2,4]", "0,0,0,1, 0,0,0,1") SCORES_OF("[1,1,2]", "1,2")
             LIMITS "y = NonMaxSuppression(b, s, m, i, t) }"},
    {.text = "g () => (int64[0,3] y) { " SIX SCORES_OF("[1,1,6]", "0.9,0.75,0.6,0.95,0.5,0.3")
             "y = NonMaxSuppression(b, s) }"},
    {.text = "g (float[2,9,4] b, float[2,2,9] s) => (int64[3] y) { " LIMITS "n = NonMaxSuppression(b, s, m, i, t) a = "
             "Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (n, a) }",
     .no_gradient = true},
    {.text = "g (float[1,6,4] b, float[1,1,6] s) => (int64[3,3] y) { " LIMITS "y = NonMaxSuppression(b, s, m, i, t) }",
     .error = "how many elements output 'y' has along axis 0 follows from data"},
    {.text = "g (float[1,6] b, float[1,1,6] s) => (int64[3,3] y) { y = NonMaxSuppression(b, s) }",
     .error = "input 0 'b' has shape [1,6], expected [batch, boxes, 4]"},
    {.text = "g (float[1,6,4] b, float[1,2,5] s) => (int64[3,3] y) { y = NonMaxSuppression(b, s) }",
     .error = "input 1 's' has shape [1,2,5], expected [1, classes, 6] as input 0"},
    {.text = "g (float[1,6,4] b, float[1,2,6] s, int64[2] m) => (int64[3,3] y) { y = NonMaxSuppression(b, s, m) }",
     .error = "input 2 'm' (max_output_boxes_per_class) has shape [2], expected a scalar"},
    {.text = "g (float[1,6,4] b, float[1,2,6] s) => (int64[3,3] y) "
             "{ y = NonMaxSuppression <center_point_box = 2> (b, s) }",
     .error = "attribute 'center_point_box' is 2, expected 0 or 1"},
    {.text = "g () => (int64[N,3] y) { b = Constant <value = float[1000000000,0,4] {}> () "
             "s = Constant <value = float[1000000000,8000000,0] {}> () m = Constant <value_int = 3> () "
             "y = NonMaxSuppression(b, s, m) }",
     .error = "choosing takes more than 1073741824 comparisons of boxes"},
    {0}};

/* ---- Suppression: for each batch and class the boxes taken, -1 behind the last ----------------------------------- */

static const struct op_attr taken_attrs[] = {{.name = "center_point_box", .type = ATTR_INT},
                                             {.name = "most", .type = ATTR_INT, .required = true},
                                             {0}};
static const struct op_version taken_versions[] = {{.since = 1}, {0}};
static const struct op_param taken_inputs[] = {FLOATS("boxes", PARAM_NOT_DIFF),
                                               FLOATS("scores", PARAM_NOT_DIFF),
                                               FLOATS("iou_threshold", PARAM_OPTIONAL | PARAM_NOT_DIFF),
                                               FLOATS("score_threshold", PARAM_OPTIONAL | PARAM_NOT_DIFF),
                                               {0}};

static bool taken_infer(struct infer_ctx *c)
{
    const struct shape *const scores = infer_shape(c, SCORES);
    if (scores->rank != 3 || infer_rank(c, BOXES) != 3)
        return infer_error(c, "inputs 0 and 1 do not have rank 3");
    const struct size most = op_attr_size(c->node, "most");
    return infer_out(c, 0, DTYPE_INT64, &SHAPE_OF(shape_size(scores, 0), shape_size(scores, 1), most));
}

static bool taken_eval(struct eval_ctx *c)
{
    const struct suppression choice = {.boxes = eval_input(c, BOXES),
                                       .scores = eval_input(c, SCORES),
                                       .most = op_attr_int(c->node, "most"),
                                       .iou = eval_has(c, 2) ? (float)eval_f(c, 2)[0] : 0,
                                       .least = eval_has(c, 3) ? (float)eval_f(c, 3)[0] : 0,
                                       .has_least = eval_has(c, 3),
                                       .by_center = op_attr_int(c->node, "center_point_box") != 0};
    const int64_t batch = choice.scores->shape.dim[0], classes = choice.scores->shape.dim[1];
    struct box_candidate *const left =
        arena_array(c->scratch, struct box_candidate, (size_t)choice.boxes->shape.dim[1]);
    int64_t *y = eval_out_i(c, 0);
    for (int64_t line = 0; y != NULL && line < batch * classes; line++, y += choice.most) {
        const int64_t taken = choose(&choice, line / classes, line % classes, left);
        for (int64_t k = 0; k < choice.most; k++)
            y[k] = k < taken ? left[k].number : -1;
    }
    return true;
}

/* Corners of the boxes, [batch,1,spatial] each, the lower one first. */
struct corners {
    struct value *low[2], *high[2], *area;
};

static struct value *area_in(struct expand_ctx *c, struct value *const *low, struct value *const *high)
{
    return build(c, "Mul", build(c, "Sub", high[0], low[0]), build(c, "Sub", high[1], low[1]));
}

static struct corners corners_of(struct expand_ctx *c)
{
    struct value *const boxes = expand_in(c, BOXES);
    const struct shape plane =
        SHAPE_OF(shape_size(&boxes->shape, 0), size_constant(1), shape_size(&boxes->shape, 1));
    const bool by_center = op_attr_int(c->node, "center_point_box") != 0;
    struct value *x[4];
    struct corners y;
    for (int64_t k = 0; k < 4; k++)
        x[k] = build_reshape(c->b,
                             build(c, "Slice", boxes, build_ints(c->b, &k, 1), build_ints(c->b, &(int64_t){k + 1}, 1),
                                   build_ints(c->b, (int64_t[]){2}, 1)),
                             &plane);
    for (int d = 0; d < 2; d++) {
        struct value *first = x[d], *second = x[2 + d];
        if (by_center) {
            struct value *const half = build(c, "Div", second, build_like(c, second, 2));
            second = build(c, "Add", first, half);
            first = build(c, "Sub", first, half);
        }
        struct value *const in_order = build(c, "Less", first, second);
        y.low[d] = build(c, "Where", in_order, first, second);
        y.high[d] = build(c, "Where", in_order, second, first);
    }
    y.area = area_in(c, y.low, y.high);
    return y;
}

/* Of each line the element that is_taken shows. */
static struct value *of_taken(struct expand_ctx *c, struct value *is_taken, struct value *x)
{
    return build_reduce_sum(c->b, build(c, "Where", is_taken, x, build_like(c, x, 0)), (const int[]){2}, 1, true);
}

/* Which boxes overlap too much with the one taken? In the arithmetic of overlaps(). */
static struct value *too_near(struct expand_ctx *c, struct value *is_taken, const struct corners *x, struct value *iou)
{
    struct value *low[2], *high[2], *meets[2];
    for (int d = 0; d < 2; d++) {
        struct value *const l = of_taken(c, is_taken, x->low[d]), *const h = of_taken(c, is_taken, x->high[d]);
        low[d] = build(c, "Where", build(c, "Greater", l, x->low[d]), l, x->low[d]);
        high[d] = build(c, "Where", build(c, "Less", h, x->high[d]), h, x->high[d]);
        meets[d] = build(c, "Less", low[d], high[d]);
    }
    struct value *const common = area_in(c, low, high), *const area = of_taken(c, is_taken, x->area);
    struct value *const none = build_like(c, area, 0);
    struct value *const ratio = build(c, "Div", common, build(c, "Sub", build(c, "Add", area, x->area), common));
    struct value *const have_area =
        build(c, "And", build(c, "Greater", area, none), build(c, "Greater", x->area, none));
    struct value *const covers = build(c, "And", have_area, build(c, "Greater", ratio, iou));
    return build(c, "And", build(c, "And", meets[0], meets[1]), covers);
}

/* One box of each line is taken in each step of a loop: the first of those with the greatest score. What is taken, and
 * what is too near to it, has a score of -inf from then on; the others have a finite one. */
static bool taken_expand(struct expand_ctx *c)
{
    struct value *const scores = expand_in(c, SCORES), *const least = expand_in(c, 3), *iou = expand_in(c, 2);
    const struct shape lines = scores->shape;
    const struct size one = size_constant(1), most = op_attr_size(c->node, "most");
    struct builder *const outer = c->b;
    struct value *const counts = least != NULL ? build(c, "Greater", scores, build_reshape(outer, least, &SHAPE_SCALAR))
                                               : build(c, "Equal", scores, scores);
    struct value *const start = build(c, "Where", counts,
                                      build(c, "Max", scores, bounded_least(outer, DTYPE_FLOAT, true)),
                                      bounded_least(outer, DTYPE_FLOAT, false));
    const struct corners x = corners_of(c);
    iou = iou != NULL ? build_reshape(outer, iou, &SHAPE_SCALAR) : build_scalar(outer, DTYPE_FLOAT, 0);

    struct region *const r = region_new(outer->graph, most, false);
    struct builder inner = {.graph = region_graph(r), .loc = outer->loc, .prefix = ""};
    struct value *const in[] = {start, x.low[0], x.low[1], x.high[0], x.high[1], x.area, iou};
    struct value *const left = region_state(r, "left", DTYPE_FLOAT, &lines);
    struct corners own;
    struct value **const to[] = {&own.low[0], &own.low[1], &own.high[0], &own.high[1], &own.area};
    static const char *const names[] = {"low_0", "low_1", "high_0", "high_1", "area"};
    for (size_t k = 0; k < sizeof to / sizeof *to; k++)
        *to[k] = region_input(r, names[k], DTYPE_FLOAT, &in[1 + k]->shape, false);
    struct value *const limit = region_input(r, "iou", DTYPE_FLOAT, &SHAPE_SCALAR, false);

    c->b = &inner;
    struct value *const gone = bounded_least(&inner, DTYPE_FLOAT, false);
    struct value *const best = build_with(c, "ReduceMax", ATTRS(attr_int("keepdims", 1)), left,
                                          build_ints(&inner, (int64_t[]){2}, 1));
    struct value *const place = build_with(c, "ArgMax", ATTRS(attr_int("axis", 2), attr_int("keepdims", 1)), left);
    struct value *const is_taken =
        build(c, "Equal", build_counter(&inner, DTYPE_INT64, 0, &SHAPE_OF(one, one, shape_size(&lines, 2))), place);
    struct value *const goes = build(c, "Or", is_taken, too_near(c, is_taken, &own, limit));
    region_carry(r, 0, build(c, "Where", goes, gone, left));
    region_stack(r, "taken", build(c, "Where", build(c, "Greater", best, gone), place, build_int(&inner, -1)));
    c->b = outer;
    outer->failed |= inner.failed;

    const char *const made[] = {arena_printf(outer->graph->arena, "%sleft", outer->prefix),
                                arena_printf(outer->graph->arena, "%staken", outer->prefix)};
    struct value *const y = build_region(outer, r, in, sizeof in / sizeof *in, made, 2)->outputs.data[1];
    return expand_out(c, 0, build_reshape(outer, build_transpose(outer, y, (const int[]){1, 2, 0, 3}),
                                          &SHAPE_OF(shape_size(&lines, 0), shape_size(&lines, 1), most)));
}

static const struct op_sample taken_samples[] = {
    {.text = "g (float[1,6,4] b, float[1,1,6] s) => (int64[1,1,3] y) { y = stepc.Suppression <most = 3> (b, s) }",
     .no_gradient = true},
    {.text = "g (float[2,9,4] b, float[2,3,9] s, float[1] i, float t) => (int64[2,3,9] y) { y = stepc.Suppression "
             "<most = 9, center_point_box = 1> (b, s, i, t) }",
     .feed = "unit",
     .no_gradient = true},
    {0}};

const struct op_def op_defs_non_max_suppression[] = {
    {.name = "NonMaxSuppression", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = nms_infer, .grad = grad_none, .expand = nms_expand, .eval = nms_eval,
     .sized_by_data = nms_by_data, .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "Suppression", .versions = taken_versions, .inputs = taken_inputs,
     .outputs = outputs, .attrs = taken_attrs, .infer = taken_infer, .grad = grad_none, .expand = taken_expand,
     .eval = taken_eval, .samples = taken_samples},
    {0}};
