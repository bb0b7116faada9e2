/* A long entry in parts: functions of some steps each, which declare their own pointers, named by what they begin with.
 *
 *                                       digits_step_from_hidden(state, in) { compute_hidden(..); compute_logits(..); }
 *   digits_step(state, arena, in)       digits_step_from_update_fc1(state) { update_fc1(..); }
 *   { compute_hidden(..);            -> digits_step(state, arena, in)
 *     compute_logits(..);               { digits_step_from_hidden(state, in);
 *     update_fc1(..); }                   digits_step_from_update_fc1(state); } */
#include "emit/entry.h"

#include "base/str.h"
#include <string.h>

enum { LINES_MOST = 52, LINES_OF_PART = 45 };

static int lines_of(struct entry_steps *l, size_t first, size_t end)
{
    struct writer aside = {.text = {.arena = l->arena}, .depth = 1};
    print_entry_steps(l, first, end, &aside);
    return aside.lines;
}

static bool calls_kernel(const struct entry_step *s)
{
    return s->kind == STEP_RUN || s->kind == STEP_CHECK;
}

/* "compute_hidden() to update_fc1()" */
static const char *kernels_of(const struct entry_steps *l, size_t first, size_t end)
{
    const struct entry_step *low = NULL, *high = NULL;
    for (size_t i = first; i < end; i++) {
        const struct entry_step *const s = &l->steps.data[i];
        if (!calls_kernel(s))
            continue;
        low = low == NULL ? s : low;
        high = s;
    }
    return low == NULL   ? "values"
           : low == high ? arena_printf(l->arena, "%s()", low->name)
                         : arena_printf(l->arena, "%s() to %s()", low->name, high->name);
}

/* "digits_step_from_hidden" */
static const char *name_of_part(const struct entry_steps *l, const struct entry_function *f, size_t first, size_t end)
{
    const char *const verb = "compute_";
    while (first + 1 < end && !calls_kernel(&l->steps.data[first]))
        first++;
    const struct entry_step *const s = &l->steps.data[first];
    const char *const kernel = calls_kernel(s) ? s->name : "values";
    const char *const made = s->made ? s->made : str_starts_with(kernel, verb) ? kernel + strlen(verb) : kernel;
    return name_in(f->file, arena_printf(l->arena, "%s_%s_from_%s", f->model, f->entry, made));
}

/* "digits_step_from_hidden(state);", and what it returns if it may fail. The first of those declares `status`. */
static void print_part_call(struct writer *body, const char *name, const text_list *args, bool may_fail,
                            bool *has_status)
{
    const char *const head = !may_fail ? "" : *has_status ? "status = " : "stepc_status status = ";
    write_list(body, arena_printf(body->text.arena, "%s%s(", head, name), args->data, args->count, ");");
    if (!may_fail)
        return;
    *has_status = true;
    write_line(body, "if (status != STEPC_OK)");
    write_line(body, "    return status;");
}

/* Parameters, with their types, and arguments of a function that uses these. */
static void list_uses(struct arena *a, const struct entry_function *f, unsigned uses, text_list *params,
                      text_list *args)
{
    const struct {
        unsigned bit;
        const char *type, *name;
    } all[] = {{USES_STATE, arena_printf(a, "%s%s_state *", f->mutates ? "" : "const ", f->model), "state"},
               {USES_ARENA, arena_printf(a, "%s_arena *", f->model), "arena"},
               {USES_SEED, "uint64_t ", "seed"},
               {USES_IN, arena_printf(a, "const %s_%s_inputs *", f->model, f->entry), "in"},
               {USES_OUT, arena_printf(a, "const %s_%s_outputs *", f->model, f->entry), "out"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!(uses & all[i].bit))
            continue;
        vec_push(a, params, arena_printf(a, "%s%s", all[i].type, all[i].name));
        vec_push(a, args, all[i].name);
    }
}

/* Steps first .. end - 1. */
static void print_part(struct entry_steps *l, const struct entry_function *f, size_t first, size_t end,
                       const char *name, bool *has_status, struct writer *w, struct writer *body)
{
    struct arena *const a = l->arena;
    text_list params = {0}, args = {0};
    unsigned uses = 0;
    bool may_fail = false;
    for (size_t i = first; i < end; i++) {
        uses |= l->steps.data[i].uses;
        may_fail |= l->steps.data[i].kind == STEP_CHECK;
    }
    list_uses(a, f, uses, &params, &args);
    if (params.count == 0)
        vec_push(a, &params, "void");
    write_comment(w, arena_printf(a, "%s_%s(): %s.", f->model, f->entry, kernels_of(l, first, end)));
    write_list(w, arena_printf(a, "static %s %s(", may_fail ? "stepc_status" : "void", name), params.data,
               params.count, ")");
    write_line(w, "{");
    w->depth++;
    print_entry_steps(l, first, end, w);
    if (may_fail)
        write_line(w, "return STEPC_OK;");
    write_close(w, "");
    write_blank(w);
    print_part_call(body, name, &args, may_fail, has_status);
}

/* Parts have about as many lines each. */
void print_entry_parts(struct entry_steps *l, const struct entry_function *f, struct writer *functions,
                       struct writer *body)
{
    const size_t count = l->steps.count;
    const int lines = lines_of(l, 0, count), parts = (lines + LINES_OF_PART - 1) / LINES_OF_PART;
    if (lines <= LINES_MOST) {
        print_entry_steps(l, 0, count, body);
        return;
    }
    const int most = lines / parts + lines / parts / 5;
    bool has_status = false;
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && lines_of(l, first, end + 1) <= most)
            end++;
        const char *const name = name_of_part(l, f, first, end);
        print_part(l, f, first, end, name, &has_status, functions, body);
    }
}
