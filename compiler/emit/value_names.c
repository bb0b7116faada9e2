/* What locals of kernels wish to be called:
 *
 *   a value of the model     as the model calls it; new_v for "fc1.weight.v.new"
 *   an element               x_i, of a window by its position: nw, center
 *   any other                by its operation: sum, product, root */
#include "emit/emit_internal.h"

#include "base/str.h"
#include <string.h>

enum { LONGEST = 18 };

/* ---- values of the model ----------------------------------------------------------------------------------------- */

/* The part of a name behind the last point, slash or the like. */
static const char *last_part(const char *name, size_t length)
{
    size_t at = length;
    while (at > 0 && name[at - 1] != '.' && name[at - 1] != '/' && name[at - 1] != ':')
        at--;
    return name + at;
}

static bool is_param(const struct expr_scope *s, const char *name)
{
    for (size_t i = 0; i < s->params->count; i++)
        if (!s->params->data[i].is_local && str_equal(s->params->data[i].name, name))
            return true;
    return false;
}

static const char *short_name(const struct emission *e, const char *word)
{
    const char *const name = name_of_local(e, word);
    return strlen(name) <= LONGEST ? name : name_of_local(e, last_part(word, strlen(word)));
}

static const char *model_wish(const struct expr_scope *s, const char *word)
{
    struct arena *const a = s->arena;
    const size_t length = strlen(word);
    if (str_ends_with(word, ".new")) { /* what becomes of a variable */
        const char *const variable = arena_strndup(a, word, length - strlen(".new"));
        return arena_printf(a, "new_%s", name_mangle(a, last_part(variable, strlen(variable))));
    }
    const char *const shorter = short_name(s->e, word);
    return is_param(s, shorter) ? arena_printf(a, "%s_i", shorter) : shorter;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static bool is_of_window(const struct access *a, const struct access *b)
{
    return a->buffer == b->buffer && a->term_count == 0 && b->term_count == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

/* Rows and columns of a window, and where one element of it is. */
struct window_position {
    int64_t row, column, rows, columns;
};

/* Where `at` elements behind the window's first are, as lines of so many columns. */
static bool find_position(const struct access *x, const struct expr *const *all, size_t count,
                          struct window_position *w)
{
    const struct shape *const shape = &x->buffer->shape;
    const int64_t line = shape->rank > 1 ? shape->dim[shape->rank - 1] : 0;
    int64_t first = x->offset, last = x->offset;
    int members = 0;
    for (size_t i = 0; i < count; i++) {
        const struct access *const a = all[i]->op == EXPR_LOAD ? all[i]->access : NULL;
        if (!a || !is_of_window(a, x))
            continue;
        members++;
        first = a->offset < first ? a->offset : first;
        last = a->offset > last ? a->offset : last;
    }
    if (members < 2 || line < 2)
        return false;
    *w = (struct window_position){.row = (x->offset - first) / line, .column = (x->offset - first) % line,
                         .rows = (last - first) / line + 1, .columns = (last - first) % line + 1};
    return w->rows * w->columns == members && w->column < w->columns;
}

/* On a plane as on a map: nw is above and left. */
static const char *position_wish(struct arena *a, const struct window_position *w)
{
    static const char *const rows[][3] = {{"", "", ""}, {"n", "s", ""}, {"n", "", "s"}};
    static const char *const columns[][3] = {{"", "", ""}, {"w", "e", ""}, {"w", "", "e"}};
    static const char *const along_line[][3] = {{"left", "right", ""}, {"left", "center", "right"}};
    if (w->rows > 3 || w->columns > 3)
        return arena_printf(a, "r%dc%d", (int)w->row, (int)w->column);
    if (w->rows == 1)
        return along_line[w->columns - 2][w->column];
    const char *const row = rows[w->rows - 1][w->row], *const column = columns[w->columns - 1][w->column];
    return *row || *column ? arena_printf(a, "%s%s", row, column) : "center";
}

static const char *element_wish(const struct expr_scope *s, const struct access *x, const struct expr *const *all,
                                size_t count)
{
    struct window_position w;
    const struct kernel_param *const p = find_param(s, x->buffer);
    if (find_position(x, all, count, &w))
        return position_wish(s->arena, &w);
    if (s->knows_model && p->replaces == x->buffer) /* the parameter is called after what is made there */
        return arena_printf(s->arena, "%s_i", short_name(s->e, x->buffer->name));
    return arena_printf(s->arena, "%s_i", strlen(p->name) <= LONGEST ? p->name : "x");
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static bool counts_loads(const struct expr *e, void *count)
{
    *(int *)count += e->op == EXPR_LOAD;
    return false;
}

/* x == x ? (y < x ? x : y) : x, as maxima are that keep a NaN; of how many elements? */
static const char *greatest_wish(const struct expr_scope *s, const struct expr *x)
{
    static const char *const numbers[] = {"two", "three", "four", "five", "six", "seven", "eight", "nine"};
    const struct expr *const c = x->op == EXPR_SELECT ? x->arg[0] : NULL;
    int loads = 0;
    if (!c || c->op != EXPR_EQ || c->arg[0] != c->arg[1] || c->arg[0] != x->arg[2])
        return NULL;
    expr_any(x, counts_loads, &loads);
    return loads < 2 || loads > 9 ? "greatest" : arena_printf(s->arena, "greatest_of_%s", numbers[loads - 2]);
}

static const char *operation_wish(const struct expr_scope *s, const struct expr *x, const struct expr *const *all,
                                  size_t count)
{
    static const char *const words[] = {
        [EXPR_NEG] = "negative", [EXPR_NOT] = "is_not",       [EXPR_BITS] = "bits",    [EXPR_ADD] = "sum",
        [EXPR_SUB] = "difference", [EXPR_MUL] = "product",    [EXPR_DIV] = "quotient", [EXPR_MOD] = "rest",
        [EXPR_POW] = "power",    [EXPR_AND] = "both",         [EXPR_OR] = "either",    [EXPR_XOR] = "differs",
        [EXPR_SHL] = "shifted",  [EXPR_SHR] = "shifted",      [EXPR_LT] = "is_less",   [EXPR_LE] = "is_at_most",
        [EXPR_EQ] = "is_equal",  [EXPR_SELECT] = "chosen",    [EXPR_UNIFORM] = "drawn", [EXPR_NORMAL] = "drawn"};
    if (x->op == EXPR_CAST) {
        const char *const from = value_wish(s, x->arg[0], all, count);
        return arena_printf(s->arena, "%s_as_%s", from, dtype_name(x->dtype));
    }
    const char *const greatest = greatest_wish(s, x);
    if (greatest)
        return greatest;
    if (x->op == EXPR_MATH)
        return x->fn == EXPR_FN_SQRT ? "root" : arena_printf(s->arena, "%s_x", expr_fn_name(x->fn));
    const char *const word = (size_t)x->op < sizeof words / sizeof *words ? words[x->op] : NULL;
    return word ? word : "value";
}

const char *value_wish(const struct expr_scope *s, const struct expr *x, const struct expr *const *all, size_t count)
{
    if (x->op == EXPR_LOAD && find_param(s, x->access->buffer)->by_value)
        return find_param(s, x->access->buffer)->name;
    if (x->op == EXPR_LOAD)
        return element_wish(s, x->access, all, count);
    return x->word && s->knows_model ? model_wish(s, x->word) : operation_wish(s, x, all, count);
}

const char *store_wish(const struct expr_scope *s, const struct store *store)
{
    const struct kernel_param *const p = find_param(s, store->to.buffer);
    if (store->value->word && s->knows_model)
        return model_wish(s, store->value->word);
    return p->is_local ? p->name : arena_printf(s->arena, p->by_value ? "new_%s" : "%s_i", p->name);
}
