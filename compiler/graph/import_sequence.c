/* Sequences and optional values: import alone knows them, as lists of values. Their lengths, and the positions by
 * which items are taken, must be known then; what is left in the graph are tensors. Spec: ONNX SequenceEmpty-11 ...
 * SplitToSequence-24, Optional-15, OptionalHasElement-18, OptionalGetElement-18. */
#include "graph/import_internal.h"

#include "graph/graph_internal.h"

#include <string.h>

struct sequence *import_as_sequence(struct value *v)
{
    return v != NULL && v->kind == VALUE_SEQUENCE ? (struct sequence *)v : NULL;
}

/* Memory of items that sequences share. */
struct sequence_room {
    size_t used, capacity;
};

struct value *import_new_sequence(const struct importer *im, struct value *const *items, size_t count)
{
    struct arena *const a = im->g->arena;
    struct sequence *const s = arena_new(a, struct sequence);
    s->value = (struct value){.name = "sequence", .kind = VALUE_SEQUENCE};
    s->items = arena_array(a, struct value *, count);
    s->count = count;
    if (count > 0)
        memcpy(s->items, items, count * sizeof *items);
    return &s->value;
}

/* The sequence and one more item. Copied only when the room is full, or when something else was appended before. */
static struct value *append(struct importer *im, const struct sequence *s, struct value *v)
{
    enum { FIRST_ROOM = 8 };
    struct arena *const a = im->g->arena;
    struct sequence *const longer = import_as_sequence(import_new_sequence(im, NULL, 0));
    longer->items = s->items;
    longer->room = s->room;
    if (s->room == NULL || s->room->used != s->count || s->room->used == s->room->capacity) {
        longer->room = arena_new(a, struct sequence_room);
        longer->room->capacity = FIRST_ROOM + 2 * s->count;
        longer->items = arena_array(a, struct value *, longer->room->capacity);
        if (s->count > 0)
            memcpy(longer->items, s->items, s->count * sizeof *s->items);
    }
    longer->items[s->count] = v;
    longer->count = longer->room->used = s->count + 1;
    return &longer->value;
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

static bool give(const struct import_use *u, struct value *v)
{
    return import_define(u, 0, v, u->im->g->value_count);
}

static struct sequence *sequence_in(const struct import_use *u, size_t i)
{
    struct value *v;
    if (!import_resolve_input(u, i, &v))
        return NULL;
    if (import_as_sequence(v) == NULL)
        diag_error(u->diag, &u->loc, "input %zu '%s' is a tensor, expected a sequence", i, u->mn->inputs.data[i]);
    return import_as_sequence(v);
}

static struct value *tensor_in(const struct import_use *u, size_t i)
{
    struct value *v;
    if (!import_resolve_tensor(u, i, &v))
        return NULL;
    if (v == NULL)
        diag_error(u->diag, &u->loc, "input %zu is no tensor, but an optional value that is none", i);
    return v;
}

static bool has_input(const struct import_use *u, size_t i)
{
    return i < u->mn->inputs.count && u->mn->inputs.data[i][0] != '\0';
}

/* Input i as a position in 0 to last; negative ones count from `from`. */
static bool position_in(const struct import_use *u, size_t i, size_t from, size_t last_plus_1, size_t *at)
{
    int64_t x;
    struct value *const v = tensor_in(u, i);
    if (v == NULL || !import_known_number(u, i, "position", v, &x))
        return false;
    const int64_t wrapped = x < 0 ? x + (int64_t)from : x;
    if (wrapped < 0 || wrapped >= (int64_t)last_plus_1)
        return diag_error(u->diag, &u->loc, "position %lld is out of range for a sequence of %zu tensors", (long long)x,
                          from);
    *at = (size_t)wrapped;
    return true;
}

static bool same_type(const struct import_use *u, const struct sequence *s, const struct value *v)
{
    if (s->count == 0 || s->items[0]->dtype == v->dtype)
        return true;
    return diag_error(u->diag, &u->loc, "tensor '%s' is %s, but the sequence is of %s", v->name, dtype_name(v->dtype),
                      dtype_name(s->items[0]->dtype));
}

static int64_t int_attr(const struct import_use *u, const char *name, int64_t otherwise)
{
    const struct model_attr *const a = model_find_attr(&u->mn->attrs, name);
    return a != NULL ? a->i : otherwise;
}

/* ---- the operators ---------------------------------------------------------------------------------------------- */

static bool sequence_empty(const struct import_use *u)
{
    return give(u, import_new_sequence(u->im, NULL, 0));
}

static bool sequence_construct(const struct import_use *u)
{
    struct value *const all = import_new_sequence(u->im, NULL, 0);
    struct sequence *const s = import_as_sequence(all);
    s->items = arena_array(u->arena, struct value *, u->mn->inputs.count);
    for (size_t i = 0; i < u->mn->inputs.count; i++) {
        struct value *const v = tensor_in(u, i);
        if (v == NULL || !same_type(u, s, v))
            return false;
        s->items[s->count++] = v;
    }
    return give(u, all);
}

static bool sequence_insert(const struct import_use *u)
{
    const struct sequence *const s = sequence_in(u, 0);
    struct value *const v = s != NULL ? tensor_in(u, 1) : NULL;
    size_t at = s != NULL ? s->count : 0;
    if (v == NULL || !same_type(u, s, v) || (has_input(u, 2) && !position_in(u, 2, s->count, s->count + 1, &at)))
        return false;
    if (at == s->count)
        return give(u, append(u->im, s, v));
    if (!import_spend(u->im, &u->loc, IMPORT_COPIED, (int64_t)s->count))
        return false;
    struct value **const items = arena_array(u->arena, struct value *, s->count + 1);
    for (size_t i = 0; i <= s->count; i++)
        items[i] = i == at ? v : s->items[i < at ? i : i - 1];
    return give(u, import_new_sequence(u->im, items, s->count + 1));
}

static bool sequence_erase(const struct import_use *u)
{
    const struct sequence *const s = sequence_in(u, 0);
    if (s == NULL)
        return false;
    if (s->count == 0)
        return diag_error(u->diag, &u->loc, "the sequence is empty");
    size_t at = s->count - 1;
    if (has_input(u, 1) && !position_in(u, 1, s->count, s->count, &at))
        return false;
    if (!import_spend(u->im, &u->loc, IMPORT_COPIED, (int64_t)s->count))
        return false;
    struct value **const items = arena_array(u->arena, struct value *, s->count);
    for (size_t i = 0; i + 1 < s->count; i++)
        items[i] = s->items[i < at ? i : i + 1];
    return give(u, import_new_sequence(u->im, items, s->count - 1));
}

static bool sequence_at(const struct import_use *u)
{
    const struct sequence *const s = sequence_in(u, 0);
    size_t at = 0;
    return s != NULL && position_in(u, 1, s->count, s->count, &at) && give(u, s->items[at]);
}

static bool sequence_length(const struct import_use *u)
{
    const struct sequence *const s = sequence_in(u, 0);
    struct builder b = import_builder(u);
    return s != NULL && give(u, build_int(&b, (int64_t)s->count));
}

static bool concat_from_sequence(const struct import_use *u)
{
    const struct sequence *const s = sequence_in(u, 0);
    const int since = u->g->value_count;
    if (s == NULL)
        return false;
    if (s->count == 0)
        return diag_error(u->diag, &u->loc, "the sequence is empty: nothing tells the shape of the result");
    const bool new_axis = int_attr(u, "new_axis", 0) != 0;
    const int64_t axis = int_attr(u, "axis", 0);
    const int rank = s->items[0]->shape.rank + (new_axis ? 1 : 0);
    int at;
    if (!shape_axis(rank, axis, &at))
        return diag_error(u->diag, &u->loc, "axis %lld is out of range for rank %d", (long long)axis, rank);
    if (!import_spend(u->im, &u->loc, IMPORT_PIECES, (int64_t)s->count))
        return false;
    struct builder b = import_builder(u);
    struct value *const v = import_join(&b, s->items, s->count, at, new_axis);
    return !b.failed && import_define(u, 0, v, since);
}

/* Sizes of the pieces of `length` elements: a list, or pieces of one size of which the last may be smaller. */
static bool piece_sizes(const struct import_use *u, struct value *split, int64_t length, const int64_t **sizes,
                        size_t *count)
{
    const char *const what = arena_printf(u->arena, "input 1 '%s' (split)", split->name);
    const struct tensor *const t = known_or_report(u->g, &u->loc, what, split);
    int64_t left = length;
    if (t == NULL)
        return false;
    const int64_t size = t->shape.rank == 0 && dtype_is_int(t->dtype) ? tensor_get_int(t, 0) : 1;
    if (!dtype_is_int(t->dtype) || t->shape.rank > 1 || size < 1)
        return diag_error(u->diag, &u->loc, "input 1 '%s' (split) is no list of integers, nor a positive one",
                          split->name);
    const int64_t n = t->shape.rank == 1 ? t->count : length / size + (length % size != 0);
    if (!import_spend(u->im, &u->loc, IMPORT_PIECES, n))
        return false;
    int64_t *const x = arena_array(u->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        x[i] = t->shape.rank == 1 ? tensor_get_int(t, i) : left < size ? left : size;
        if (x[i] < 0 || x[i] > left)
            return diag_error(u->diag, &u->loc, "the pieces are not the %lld elements of the axis", (long long)length);
        left -= x[i];
    }
    *sizes = x;
    *count = (size_t)n;
    return left == 0 ||
           diag_error(u->diag, &u->loc, "the pieces are not the %lld elements of the axis", (long long)length);
}

/* Do the pieces lose the axis? ONNX disregards keepdims where there is a split; but both exporters of PyTorch write
 * unbind() as a split into pieces of 1 with keepdims = 0, and mean what ONNX Runtime does: a scalar 1 says no more than
 * no split. */
static bool loses_axis(const struct import_use *u, struct value *split)
{
    const struct tensor *const t = split != NULL ? value_known(split) : NULL;
    const bool ones = t != NULL && t->shape.rank == 0 && dtype_is_int(t->dtype) && tensor_get_int(t, 0) == 1;
    return int_attr(u, "keepdims", 1) == 0 && (split == NULL || ones);
}

static bool split_to_sequence(const struct import_use *u)
{
    struct value *const v = tensor_in(u, 0);
    struct value *const split = v != NULL && has_input(u, 1) ? tensor_in(u, 1) : NULL;
    int axis;
    if (v == NULL || (has_input(u, 1) && split == NULL))
        return false;
    if (!shape_axis(v->shape.rank, int_attr(u, "axis", 0), &axis))
        return diag_error(u->diag, &u->loc, "axis %lld is out of range for rank %d", (long long)int_attr(u, "axis", 0),
                          v->shape.rank);
    struct builder b = import_builder(u);
    const int64_t *sizes = NULL;
    const int64_t length = v->shape.dim[axis];
    size_t count = (size_t)length;
    const bool cut_off = loses_axis(u, split);
    if (cut_off ? !import_spend(u->im, &u->loc, IMPORT_PIECES, length)
                : !piece_sizes(u, split != NULL ? split : build_int(&b, 1), length, &sizes, &count))
        return false;
    struct value **const pieces = arena_array(u->arena, struct value *, count);
    import_cut(&b, v, axis, sizes, count, pieces);
    return !b.failed && give(u, import_new_sequence(u->im, pieces, count));
}

/* ---- optional values: one that holds something is that itself --------------------------------------------------- */

static bool optional(const struct import_use *u)
{
    struct value *v = NULL;
    return import_resolve_input(u, 0, &v) && give(u, v != NULL ? v : &import_omitted);
}

static bool optional_has_element(const struct import_use *u)
{
    struct value *v = NULL;
    struct builder b = import_builder(u);
    return import_resolve_input(u, 0, &v) && give(u, build_scalar(&b, DTYPE_BOOL, v != NULL));
}

static bool optional_get_element(const struct import_use *u)
{
    struct value *v = NULL;
    if (!import_resolve_input(u, 0, &v))
        return false;
    return v != NULL ? give(u, v) : diag_error(u->diag, &u->loc, "input 0 '%s' is none", u->mn->inputs.data[0]);
}

import_rule import_sequence_rule(const char *op_type)
{
    static const struct {
        const char *name;
        import_rule rule;
    } rules[] = {{"SequenceEmpty", sequence_empty},
                 {"SequenceConstruct", sequence_construct},
                 {"SequenceInsert", sequence_insert},
                 {"SequenceErase", sequence_erase},
                 {"SequenceAt", sequence_at},
                 {"SequenceLength", sequence_length},
                 {"ConcatFromSequence", concat_from_sequence},
                 {"SplitToSequence", split_to_sequence},
                 {"Optional", optional},
                 {"OptionalHasElement", optional_has_element},
                 {"OptionalGetElement", optional_get_element}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].name, op_type) == 0)
            return rules[i].rule;
    UNREACHABLE("%s is taken apart at import, but no rule does it", op_type);
}
