/* Which group a trained tensor belongs to. Groups may overlap: each value is that of the last group that has the tensor
 * and says it. */
#include "prepare/groups.h"

#include "prepare/prepare_internal.h"
#include "prepare/spec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { MOST_NAMED = 6 };

#define AMOUNT(name)                                                                                                   \
    {                                                                                                                  \
#name, offsetof(struct group, name), .usual = NAN, .high = HUGE_VAL, .open = true                              \
    }

bool group_parse(struct diag *d, struct arena *a, const char *text, group_list *out)
{
    const char *const colon = strrchr(text, ':');
    struct group g = {.title = text, .file = text[0] == '@' ? text + 1 : NULL};
    if (!g.file) {
        if (!colon || colon == text || !strchr(colon, '='))
            return diag_error(d, NULL, "--group %s: expected GLOB:learning_rate=N,weight_decay=N, or one of both",
                              text);
        const struct spec_rule rule = {arena_strndup(a, text, (size_t)(colon - text)),
                                       {AMOUNT(learning_rate), AMOUNT(weight_decay)}};
        vec_push(a, &g.names, rule.name);
        if (!spec_parse_keys(d, a, "--group", &rule, colon, &g))
            return false;
    }
    vec_push(a, out, g);
    return true;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

/* listed: the initializer that the pattern is a framework's name of; NULL: of none. */
static bool is_named(const char *pattern, const char *listed, const struct trainable *t)
{
    return str_glob(pattern, t->name) || (listed && str_equal(listed, t->name));
}

static bool gather(struct preparer *p, const char *pattern, size_t number, const struct group *g)
{
    const char *const listed = find_listed(p->model->graph, pattern);
    bool found = false;
    vec_each_ptr (struct trainable, t, &p->trainables) {
        if (!is_named(pattern, listed, t))
            continue;
        found = true;
        if (!isnan(g->learning_rate)) {
            t->rate_group = number;
            t->learning_rate = g->learning_rate;
        }
        if (!isnan(g->weight_decay))
            t->weight_decay = g->weight_decay;
    }
    return found;
}

static const char *trainable_suggestion(struct preparer *p, const char *name)
{
    const char **const names = arena_array(p->arena, const char *, p->trainables.count);
    if (model_find_initializer(p->model->graph, name))
        return ": it is not trained";
    for (size_t i = 0; i < p->trainables.count; i++)
        names[i] = p->trainables.data[i].name;
    const char *const close = str_closest(name, names, p->trainables.count);
    return close ? arena_printf(p->arena, "; did you mean '%s'?", close) : "";
}

static bool gather_all(struct preparer *p, size_t number, const struct group *g)
{
    str_list missing = {0};
    bool found = g->names.count == 0;
    vec_each (const char *, pattern, &g->names)
        if (!gather(p, pattern, number, g))
            vec_push(p->arena, &missing, pattern);
    vec_each (const char *, pattern, &g->later)
        found = gather(p, pattern, number, g) || found;
    if (missing.count == g->names.count && !found)
        return diag_error(p->diag, &p->loc, "--group %s: no trained tensor has %s%s", g->title,
                          missing.count > 1                ? "any of its names"
                          : strpbrk(missing.data[0], "*?") ? "a name that matches"
                                                           : "that name",
                          missing.count > 1 ? "; --names-from gives initializers the names of a checkpoint"
                                            : trainable_suggestion(p, missing.data[0]));
    if (missing.count > 0 && !p->silent)
        diag_warning(p->diag, &p->loc, "--group %s: no trained tensor is called %s", g->title,
                     names_text(p->arena, &missing, MOST_NAMED));
    return true;
}

bool choose_groups(struct preparer *p)
{
    bool ok = true;
    for (size_t i = 0; i < p->options->groups.count; i++)
        ok = gather_all(p, i + 1, &p->options->groups.data[i]) && ok;
    return ok;
}

static const char *amount_text(struct arena *a, const char *name, double x)
{
    return isnan(x) ? "" : arena_printf(a, " %s %g", name, x);
}

static size_t count_members(const struct preparer *p, const struct group *g)
{
    bool *const is_member = arena_array(p->arena, bool, p->trainables.count);
    const str_list *const lists[] = {&g->names, &g->later};
    size_t count = 0;
    for (size_t i = 0; i < 2; i++)
        vec_each(const char *, pattern, lists[i]) {
            const char *const listed = find_listed(p->model->graph, pattern);
            vec_each_ptr(const struct trainable, t, &p->trainables)
                is_member[t_at] = is_member[t_at] || is_named(pattern, listed, t);
        }
    for (size_t i = 0; i < p->trainables.count; i++)
        count += is_member[i];
    return count;
}

/* A line each: what the group says, and how many tensors it has. */
void say_groups(struct preparer *p)
{
    vec_each_ptr (const struct group, g, &p->options->groups) {
        const size_t count = count_members(p, g);
        const char *const names = g->names.count > 0 ? names_text(p->arena, &g->names, MOST_NAMED) : g->title;
        say(p, "group %zu, %s:%s%s, %zu tensor%s", g_at + 1, names,
            amount_text(p->arena, "learning rate", g->learning_rate),
            amount_text(p->arena, "weight decay", g->weight_decay), count, str_plural(count));
    }
}
