#include "prepare/spec.h"

#include "base/str.h"
#include <math.h>
#include <string.h>

/* "did you mean 'x'?", or "`otherwise`: a, b, c" */
static const char *advice(struct arena *a, const char *name, const char *const *names, size_t count,
                          const char *otherwise)
{
    const char *const close = str_closest(name, names, count);
    if (close)
        return arena_printf(a, "did you mean '%s'?", close);
    struct strbuf all = {.arena = a};
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
    return arena_printf(a, "%s: %s", otherwise, count ? strbuf_text(&all) : "none");
}

bool spec_name(struct diag *d, const char *option, const char *noun, const char *name, const char *const *names,
               size_t count, size_t *out)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(name, names[i])) {
            *out = i;
            return true;
        }
    return diag_error(d, NULL, "%s %s: no such %s; %s", option, name, noun,
                      advice(d->arena, name, names, count, "there are"));
}

double *spec_field(void *fields, const struct spec_key *k)
{
    return (double *)(void *)((char *)fields + k->field);
}

static const char *range(struct arena *a, const struct spec_key *k)
{
    if (isinf(k->high))
        return arena_printf(a, "from %g", k->low);
    return arena_printf(a, k->open ? "from %g up to, but not, %g" : "from %g to %g", k->low, k->high);
}

static bool set_key(struct diag *d, const char *option, const struct spec_rule *rule, const char *name,
                    const char *value, void *fields)
{
    const char *names[SPEC_KEYS];
    size_t count = 0;
    for (const struct spec_key *k = rule->keys; k->name; k++) {
        names[count++] = k->name;
        if (!str_equal(name, k->name))
            continue;
        double x;
        if (!str_to_double(value, &x) || !(x >= k->low && (k->open ? x < k->high : x <= k->high)) ||
            (k->whole && x != floor(x)))
            return diag_error(d, NULL, "%s %s: %s=%s: expected a %snumber %s", option, rule->name, name, value,
                              k->whole ? "whole " : "", range(d->arena, k));
        *spec_field(fields, k) = x;
        return true;
    }
    return diag_error(d, NULL, "%s %s: no key '%s'; %s", option, rule->name, name,
                      advice(d->arena, name, names, count, "it has"));
}

static bool set_keys(struct diag *d, struct arena *a, const char *option, const struct spec_rule *rule,
                     const char *text, void *fields)
{
    bool ok = true;
    for (const char *p = text + strcspn(text, ":"); *p != '\0';) {
        p++; /* ':' or ',' */
        const size_t n = strcspn(p, ",");
        const char *const pair = arena_strndup(a, p, n), *const equals = strchr(pair, '=');
        if (equals)
            ok = set_key(d, option, rule, arena_strndup(a, pair, (size_t)(equals - pair)), equals + 1, fields) && ok;
        else
            ok = diag_error(d, NULL, "%s %s: '%s': expected key=value", option, text, pair) && ok;
        p += n;
    }
    return ok;
}

bool spec_parse(struct diag *d, struct arena *a, const struct spec_table *t, const char *text, size_t *rule,
                void *fields)
{
    const char **names = arena_array(a, const char *, t->count);
    for (size_t i = 0; i < t->count; i++)
        names[i] = t->rules[i].name;
    if (!spec_name(d, t->option, t->noun, arena_strndup(a, text, strcspn(text, ":")), names, t->count, rule))
        return false;
    const struct spec_rule *const r = &t->rules[*rule];
    for (const struct spec_key *k = r->keys; k->name; k++)
        *spec_field(fields, k) = k->required ? NAN : k->usual;
    if (!set_keys(d, a, t->option, r, text, fields))
        return false;
    for (const struct spec_key *k = r->keys; k->name; k++)
        if (isnan(*spec_field(fields, k)))
            return diag_error(d, NULL, "%s %s: give %s=N", t->option, r->name, k->name);
    return true;
}
