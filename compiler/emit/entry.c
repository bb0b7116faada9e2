#include "emit/entry.h"

#include <inttypes.h>
#include <string.h>

/* ---- building ---------------------------------------------------------------------------------------------------- */

static bool same_guard(struct guard a, struct guard b)
{
    for (int i = 0; i < a.count && a.count == b.count; i++)
        if (a.output[i] != b.output[i])
            return false;
    return a.count == b.count;
}

void entry_add_step(struct entry_steps *l, struct entry_step s)
{
    const struct entry_step *const before = l->steps.count ? &l->steps.data[l->steps.count - 1] : NULL;
    s.block = before == NULL ? 0 : same_guard(before->guard, s.guard) ? before->block : before->block + 1;
    s.uses = l->uses | (s.guard.count > 0 ? USES_OUT : 0);
    s.pointers = l->pointers;
    l->uses = 0;
    l->pointers = (entry_pointers){0};
    vec_push(l->arena, &l->steps, s);
}

void entry_use_pointer(struct entry_steps *l, struct entry_pointer *p)
{
    vec_push(l->arena, &l->pointers, p);
}

text_list entry_guard(const struct entry_steps *l, struct guard guard)
{
    text_list conditions = {0};
    for (int i = 0; i < guard.count; i++)
        vec_push(l->arena, &conditions, l->outputs[guard.output[i]]);
    return conditions;
}

/* ---- pointers ---------------------------------------------------------------------------------------------------- */

/* What is declared in front of each step of a range, counted from its first: in its block, or before that is opened. */
struct declarations {
    const struct entry_pointer **inside, **before;
};

/* Of steps first .. end - 1, of which some are printed. */
struct step_range {
    const struct entry_steps *l;
    size_t first, end;
};

static bool begins_block(const struct step_range *r, size_t step)
{
    return step == r->first || r->l->steps.data[step - 1].block != r->l->steps.data[step].block;
}

static bool ends_block(const struct step_range *r, size_t step)
{
    return step + 1 == r->end || r->l->steps.data[step + 1].block != r->l->steps.data[step].block;
}

/* Pointers that steps name, in the order of the first of these. */
static entry_pointers named_pointers(const struct step_range *r)
{
    entry_pointers all = {0};
    for (size_t i = r->first; i < r->end; i++)
        vec_each(struct entry_pointer *, p, &r->l->steps.data[i].pointers) {
            if (!p->place)
                continue;
            if (!p->is_named) {
                p->is_named = true;
                p->first = i;
                vec_push(r->l->arena, &all, p);
            }
            p->last = i;
        }
    vec_each(struct entry_pointer *, p, &all)
        p->is_named = false;
    return all;
}

static struct declarations place_pointers(const struct step_range *r)
{
    struct arena *const a = r->l->arena;
    const size_t count = r->end - r->first;
    size_t *const begin = arena_array(a, size_t, count + 1); /* of each step's block */
    struct declarations d = {arena_array(a, const struct entry_pointer *, count + 1),
                             arena_array(a, const struct entry_pointer *, count + 1)};
    const entry_pointers all = named_pointers(r);
    for (size_t i = 0; i < count; i++)
        begin[i] = begins_block(r, r->first + i) ? i : begin[i - 1];
    for (size_t i = all.count; i-- > 0;) {
        struct entry_pointer *const p = all.data[i];
        const struct entry_step *const first = &r->l->steps.data[p->first], *const last = &r->l->steps.data[p->last];
        const bool is_inside = first->guard.count == 0 || first->block == last->block;
        const size_t step = p->first - r->first;
        const struct entry_pointer **const at = is_inside ? &d.inside[step] : &d.before[begin[step]];
        p->next = *at;
        *at = p;
    }
    return d;
}

static void print_pointers(const struct entry_steps *l, const struct entry_pointer *p, struct guard guard,
                           struct writer *w)
{
    struct arena *const a = l->arena;
    for (; p; p = p->next) {
        text_list words = {0};
        vec_push(a, &words, arena_printf(a, "%s *const %s =", p->type, p->name));
        if (p->wanted && guard.count == 1 && guard.output[0] == p->wanted_output) {
            vec_push(a, &words, arena_printf(a, "%s;", p->wanted));
        } else if (p->wanted) {
            vec_push(a, &words, arena_printf(a, "%s != NULL", p->wanted));
            vec_push(a, &words, arena_printf(a, "? %s", p->wanted));
            vec_push(a, &words, arena_printf(a, ": %s;", p->place));
        } else {
            vec_push(a, &words, arena_printf(a, "%s;", p->place));
        }
        write_words(w, words.data, words.count, p->about);
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* What a port may ask for in front of each kernel. */
static void print_trace(const struct entry_steps *l, const struct entry_step *s, struct writer *w)
{
    if (l->traces)
        write_line(w, "STEPC_TRACE(%d, \"%s\");", s->kernel, s->name);
}

static void print_call(struct writer *w, const struct entry_step *s)
{
    write_list(w, arena_printf(w->text.arena, "%s(", s->name), s->arguments.data, s->arguments.count, ");");
}

void print_entry_check(struct writer *w, const struct entry_step *s)
{
    struct arena *const a = w->text.arena;
    write_list(w, arena_printf(a, "if (%s(", s->name), s->arguments.data, s->arguments.count, ") != STEPC_OK)");
    write_line(w, "    return %s;", s->status);
}

static void print_set(struct writer *w, const char *target, const char *value)
{
    struct arena *const a = w->text.arena;
    write_words(w, (const char *const[]){arena_printf(a, "%s =", target), arena_printf(a, "%s;", value)}, 2, NULL);
}

static void print_step(const struct entry_steps *l, struct writer *w, const struct entry_step *s)
{
    struct arena *const a = w->text.arena;
    switch (s->kind) {
    case STEP_RUN:
        print_trace(l, s, w);
        print_call(w, s);
        return;
    case STEP_CHECK:
        print_trace(l, s, w);
        print_entry_check(w, s);
        return;
    case STEP_CALL: print_call(w, s); return;
    case STEP_SET: print_set(w, s->target, s->value); return;
    case STEP_FILL:
        write_line(w, "for (%s i = 0; i < %" PRId64 "; i++)", s->count < INT16_MAX ? "int" : "int32_t", s->count);
        w->depth++;
        print_set(w, arena_printf(a, "%s[i]", s->target), s->value);
        w->depth--;
        return;
    }
}

void print_entry_steps(struct entry_steps *l, size_t first, size_t end, struct writer *w)
{
    const struct step_range r = {l, first, end};
    const struct declarations d = place_pointers(&r);
    for (size_t i = first; i < end; i++) {
        const struct entry_step *const s = &l->steps.data[i];
        const bool begins = begins_block(&r, i), ends = ends_block(&r, i);
        const bool is_simple = s->kind != STEP_CHECK && (s->kind != STEP_RUN || !l->traces);
        const bool is_bare = begins && ends && !d.inside[i - first] && is_simple; /* one statement: no braces */
        const text_list guard = entry_guard(l, s->guard);
        print_pointers(l, d.before[i - first], (struct guard){0}, w);
        if (guard.count > 0 && begins) {
            write_alternatives(w, "if (", guard.data, guard.count, is_bare ? ")" : ") {");
            w->depth++;
        }
        print_pointers(l, d.inside[i - first], s->guard, w);
        print_step(l, w, s);
        if (guard.count > 0 && ends && is_bare)
            w->depth--;
        else if (guard.count > 0 && ends)
            write_close(w, "");
    }
}
