/* A long entry in parts: functions of some steps each, which declare their own pointers, named by what they begin with.
 *
 *                                       digits_step_from_hidden(state, in) { compute_hidden(..); compute_logits(..); }
 *   digits_step(state, arena, in)       digits_step_from_update_fc1(state) { update_fc1(..); }
 *   { compute_hidden(..);            -> digits_step(state, arena, in)
 *     compute_logits(..);               { digits_step_from_hidden(state, in);
 *     update_fc1(..); }                   digits_step_from_update_fc1(state); } */
#include "emit/entry.h"

#include "emit/emit_internal.h"
#include <string.h>

enum { LINES_MOST = 52, LINES_OF_PART = 45 };

static int lines_of(const struct entry_steps *l, const struct entry_function *f, size_t first, size_t end)
{
    struct writer aside = {.text = {.arena = l->arena}, .depth = 1};
    stmt_list body = {0};
    struct tree_builder b = tree_builder(l->arena, &body);
    entry_put_steps(l, first, end, &b);
    print_statements(f->scope, &aside, &body);
    return aside.lines;
}

/* "compute_hidden() to update_fc1()" */
static const char *kernels_of(const struct entry_steps *l, size_t first, size_t end)
{
    const struct entry_step *low = NULL, *high = NULL;
    for (size_t i = first; i < end; i++) {
        const struct entry_step *const s = &l->steps.data[i];
        if (!s->kernel)
            continue;
        low = low == NULL ? s : low;
        high = s;
    }
    return low == NULL   ? "values"
           : low == high ? arena_printf(l->arena, "%s()", low->kernel)
                         : arena_printf(l->arena, "%s() to %s()", low->kernel, high->kernel);
}

/* "digits_step_from_hidden" */
static const char *name_of_part(const struct entry_steps *l, const struct entry_function *f, size_t first, size_t end)
{
    const char *const verb = "compute_";
    while (first + 1 < end && !l->steps.data[first].kernel)
        first++;
    const struct entry_step *const s = &l->steps.data[first];
    const char *const kernel = s->kernel ? s->kernel : "values";
    const char *const made = s->made ? s->made : str_starts_with(kernel, verb) ? kernel + strlen(verb) : kernel;
    return name_in(f->file, arena_printf(l->arena, "%s_%s_from_%s", f->model, f->entry, made));
}

static const char *comment_text(struct arena *a, const char *text)
{
    struct writer w = {.text = {.arena = a}};
    write_comment(&w, text);
    return strbuf_text(&w.text);
}

/* Steps first .. end - 1 as a function. */
static struct tree_function *make_part(const struct entry_steps *l, const struct entry_function *f, size_t first,
                                       size_t end)
{
    struct arena *const a = l->arena;
    struct tree_function *const part = arena_new(a, struct tree_function);
    struct tree_builder b = tree_builder(a, &part->body);
    bool may_fail = false;
    for (size_t i = first; i < end; i++)
        may_fail |= l->steps.data[i].may_fail;
    part->name = name_of_part(l, f, first, end);
    part->comment = comment_text(a, arena_printf(a, "%s_%s(): %s.", f->model, f->entry, kernels_of(l, first, end)));
    part->type = may_fail ? "stepc_status" : "void";
    entry_put_steps(l, first, end, &b);
    vec_each(const struct tree_var *, v, f->params)
        if (entry_uses(&part->body, v))
            vec_push(a, &part->params, v);
    if (may_fail)
        tree_return(&b, index_text(a, "STEPC_OK"));
    return part;
}

static const struct expr *call_of(struct arena *a, struct tree_function *part)
{
    const struct expr **const args = arena_array(a, const struct expr *, part->params.count + 1);
    for (size_t i = 0; i < part->params.count; i++) {
        const struct tree_var *const v = part->params.data[i];
        args[i] = v->kind == VAR_POINTER ? tree_address(a, v, index_constant(a, 0)) : tree_read(a, v);
    }
    return tree_call_function(a, part, args, part->params.count);
}

/* What a part returns that may fail goes into `status`, which the first of those declares. */
static void put_call(struct tree_builder *b, struct tree_function *part, const struct tree_var **status)
{
    struct arena *const a = b->arena;
    const struct expr *const call = call_of(a, part);
    if (str_equal(part->type, "void")) {
        tree_run(b, call);
        return;
    }
    if (*status) {
        tree_set(b, tree_read(a, *status), SET_TO, call);
    } else {
        *status = tree_var(a, VAR_CELL, DTYPE_INDEX, "stepc_status", "status");
        tree_declare(b, *status, call);
    }
    entry_put_check(b, tree_read(a, *status), tree_read(a, *status));
}

/* Parts have about as many lines each. */
void entry_put_parts(const struct entry_steps *l, const struct entry_function *f, tree_functions *functions,
                     struct tree_builder *b)
{
    const size_t count = l->steps.count;
    const int lines = lines_of(l, f, 0, count), parts = (lines + LINES_OF_PART - 1) / LINES_OF_PART;
    if (lines <= LINES_MOST) {
        entry_put_steps(l, 0, count, b);
        return;
    }
    const int most = lines / parts + lines / parts / 5;
    const struct tree_var *status = NULL;
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && lines_of(l, f, first, end + 1) <= most)
            end++;
        struct tree_function *const part = make_part(l, f, first, end);
        vec_push(l->arena, functions, part);
        put_call(b, part, &status);
    }
}
