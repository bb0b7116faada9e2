#include "prepare/names.h"

#include "foreign/checkpoint.h"
#include "foreign/kernels.h"
#include "model/weights.h"
#include "prepare/prepare_internal.h"
#include <string.h>

enum { MOST_NAMED = 8, LSTM_GATES = 4, GRU_GATES = 3, MOST_PIECES = 4 };

/* Block i of ONNX's is block order[i] of PyTorch's. LSTM: i o f c and i f g o; GRU: z r h and r z n. */
static const int lstm_order[LSTM_GATES] = {0, 3, 1, 2};
static const int gru_order[GRU_GATES] = {1, 0, 2};

/* ---- content ----------------------------------------------------------------------------------------------------- */

/* Files of half precision hold what float weights were rounded from: only what is exactly equal counts. */
static bool same_number(const struct tensor *a, int64_t i, const struct tensor *b, int64_t k)
{
    return tensor_get_double(a, i) == tensor_get_double(b, k);
}

static bool same_as_it_stands(const struct tensor *a, const struct tensor *b)
{
    if (!shape_equal(&a->shape, &b->shape))
        return false;
    for (int64_t i = 0; i < a->count; i++)
        if (!same_number(a, i, b, i))
            return false;
    return true;
}

static bool same_transposed(const struct tensor *a, const struct tensor *b)
{
    const int64_t rows = a->shape.dim[0], columns = a->shape.dim[1];
    if (a->shape.rank != 2 || b->shape.rank != 2 || rows != b->shape.dim[1] || columns != b->shape.dim[0])
        return false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            if (!same_number(a, i * columns + k, b, k * rows + i))
                return false;
    return true;
}

/* As ONNX has the kernel that TensorFlow or flax wrote. */
static bool same_laid_out(const struct tensor *a, const struct tensor *b)
{
    struct arena scratch = {0};
    const struct tensor *const t = kernel_laid_out(&scratch, &a->shape, b);
    const bool same = t && same_as_it_stands(a, t);
    arena_free(&scratch);
    return same;
}

/* How `a` follows from the file's `b`, for the report; NULL: not at all. */
static const char *relation(const struct tensor *a, const struct tensor *b)
{
    if (!dtype_is_float(b->dtype) || a->count != b->count)
        return NULL;
    if (same_as_it_stands(a, b))
        return "";
    if (same_laid_out(a, b))
        return ", laid out as ONNX has kernels";
    return same_transposed(a, b) ? ", transposed" : NULL;
}

/* ---- recurrent layers -----------------------------------------------------------------------------------------------
 * ONNX stacks the directions, and puts both biases of a layer into one tensor:  W [directions, gates * hidden, inputs],
 * B [directions, 2 * gates * hidden]. PyTorch has a tensor for each.
 */

struct piece {
    const struct tensor *of;
    int64_t from, rows, columns; /* elements from .. from + rows * columns */
};

static bool same_piece(const struct piece *p, const struct tensor *b, const int *order, int gates)
{
    const int64_t rows = b->shape.rank > 0 ? b->shape.dim[0] : 1, block = p->rows / gates * p->columns;
    if (!dtype_is_float(b->dtype) || b->count != p->rows * p->columns || rows != p->rows || rows % gates != 0)
        return false;
    for (int g = 0; g < gates; g++)
        for (int64_t i = 0; i < block; i++)
            if (!same_number(p->of, p->from + g * block + i, b, (order ? order[g] : g) * block + i))
                return false;
    return true;
}

static bool is_uniform_piece(const struct piece *p)
{
    for (int64_t i = 1; i < p->rows * p->columns; i++)
        if (!same_number(p->of, p->from, p->of, p->from + i))
            return false;
    return true;
}

static const char *find_piece(const struct piece *p, const named_tensors *tensors, bool *reordered)
{
    for (size_t i = 0; !is_uniform_piece(p) && i < tensors->count; i++) {
        const struct tensor *const b = tensors->data[i].tensor;
        const bool as_it_stands = same_piece(p, b, NULL, 1);
        if (!as_it_stands && !same_piece(p, b, lstm_order, LSTM_GATES) && !same_piece(p, b, gru_order, GRU_GATES))
            continue;
        *reordered = *reordered || !as_it_stands;
        return tensors->data[i].name;
    }
    return NULL;
}

/* The first piece of a weight or bias of a recurrent layer, and into how many such it falls; 0: it is none. */
static int64_t cut(const struct tensor *t, struct piece *first)
{
    const struct shape *const s = &t->shape;
    if (s->rank == 3 && s->dim[0] <= 2) {
        *first = (struct piece){t, 0, s->dim[1], s->dim[2]};
        return s->dim[0];
    }
    if (s->rank != 2 || s->dim[0] > 2 || s->dim[1] % 2 != 0)
        return 0;
    *first = (struct piece){t, 0, s->dim[1] / 2, 1};
    return 2 * s->dim[0];
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void rename_initializer(struct edit *e, struct model_initializer *init, const char *name)
{
    struct model_graph *const g = e->model->graph;
    const char *const old = init->name;
    rename_reads_within(g, old, name);
    rename_values(&g->inputs, old, name);
    rename_values(&g->value_infos, old, name);
    init->name = name;
    map_set(&e->names, name, NULL);
}

static bool is_wanted(const struct edit *e, const struct model_initializer *init)
{
    return is_anonymous(init->name) && dtype_is_float(init->tensor->dtype) && init->tensor->shape.rank > 0 &&
           init->tensor->count > 0 && !edit_is_output(e, init->name);
}

/* The first tensor of that content whose name is free. A repeated number is no content to go by. */
static bool find_name(struct edit *e, struct model_initializer *init, const named_tensors *tensors,
                      struct strbuf *transposed)
{
    const bool repeats = is_uniform_piece(&(struct piece){init->tensor, 0, init->tensor->count, 1});
    for (size_t i = 0; !repeats && i < tensors->count; i++) {
        const struct named_tensor *const t = &tensors->data[i];
        const char *const how = relation(init->tensor, t->tensor);
        if (!how || t->name[0] == '\0' || map_has(&e->names, t->name))
            continue;
        edit_changed(e, "names of initializers");
        edit_say(e, "'%s' is '%s'%s", init->name, t->name, how);
        rename_initializer(e, init, arena_strdup(e->arena, t->name));
        if (how[0] != '\0')
            strbuf_addf(transposed, "%s%s", transposed->length > 0 ? "\n" : "", t->name);
        return true;
    }
    return false;
}

/* Weights and biases of recurrent layers get the name of their first piece. */
static bool find_pieces(struct edit *e, struct model_initializer *init, const named_tensors *tensors)
{
    struct piece p;
    const int64_t count = cut(init->tensor, &p);
    bool reordered = false;
    const char *names[MOST_PIECES];
    for (int64_t i = 0; i < count; i++, p.from += p.rows * p.columns) {
        names[i] = find_piece(&p, tensors, &reordered);
        if (!names[i])
            return false;
    }
    if (count == 0 || names[0][0] == '\0' || map_has(&e->names, names[0]))
        return false;
    edit_changed(e, "names of initializers");
    edit_say(e, "'%s' is %s%s", init->name, names_text(e->arena, &(str_list){names, (size_t)count, 0}, MOST_PIECES),
             reordered ? ", gates reordered" : "");
    rename_initializer(e, init, arena_strdup(e->arena, names[0]));
    return true;
}

void name_from_tensors(struct edit *e, const char *path, const named_tensors *tensors)
{
    const struct model_graph *const g = e->model->graph;
    str_list nameless = {0};
    struct strbuf transposed = {.arena = e->arena};
    for (size_t i = 0; i < g->initializers.count; i++)
        if (is_wanted(e, g->initializers.data[i]) && !find_name(e, g->initializers.data[i], tensors, &transposed) &&
            !find_pieces(e, g->initializers.data[i], tensors))
            vec_push(e->arena, &nameless, g->initializers.data[i]->name);
    if (transposed.length > 0)
        vec_push(e->arena, &e->model->metadata,
                 ((struct model_pair){METADATA_TRANSPOSED, strbuf_text(&transposed)}));
    if (nameless.count > 0)
        diag_warning(e->diag, &e->loc, "names from %s: no tensor has the content of %s, which keep%s %s", path,
                     names_text(e->arena, &nameless, MOST_NAMED), nameless.count == 1 ? "s" : "",
                     nameless.count == 1 ? "its name" : "their names");
}

bool name_initializers(struct edit *e, const char *path)
{
    struct checkpoint c;
    if (!checkpoint_read(e->diag, e->arena, path, e->model, &c))
        return false;
    name_from_tensors(e, path, &c.weights);
    return true;
}
