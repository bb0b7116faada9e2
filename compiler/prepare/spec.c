#include "prepare/spec.h"

#include "base/str.h"
#include <math.h>
#include <string.h>

/* What other tools call it. Of the words that mean it here, those count that are there. */
static const struct {
    const char *word, *here[4];
} synonyms[] = {{"mae", {"l1"}},
                {"l2", {"mse"}},
                {"smooth-l1", {"huber"}},
                {"smoothl1", {"huber"}},
                {"cross-entropy", {"softmax-cross-entropy"}},
                {"crossentropy", {"softmax-cross-entropy"}},
                {"ce", {"softmax-cross-entropy"}},
                {"categorical-crossentropy", {"softmax-cross-entropy"}},
                {"sparse-categorical-crossentropy", {"softmax-cross-entropy"}},
                {"binary-crossentropy", {"bce"}},
                {"bce-with-logits", {"bce-logits"}},
                {"bcewithlogits", {"bce-logits"}},
                {"eps", {"epsilon"}},
                {"betas", {"beta1", "beta2", "alpha", "beta"}},
                {"beta1", {"alpha"}},
                {"beta2", {"beta"}},
                {"beta_1", {"beta1", "alpha"}},
                {"beta_2", {"beta2", "beta"}},
                {"momentum", {"alpha", "beta1"}},
                {"mu", {"alpha", "beta1"}},
                {"dampening", {"beta"}},
                {"rho", {"alpha"}},
                {"l2", {"norm_coefficient"}},
                {"weight_decay", {"norm_coefficient"}},
                {"lr", {"learning_rate"}},
                {"lr_decay", {"decay_factor"}},
                {"initial_accumulator_value", {"initial_accumulator"}}};

static const char *synonym(struct arena *a, const char *word, const char *const *names, size_t count)
{
    struct strbuf text = {.arena = a};
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        for (size_t k = 0; k < 4 && str_equal(synonyms[i].word, word) && synonyms[i].here[k]; k++)
            for (size_t j = 0; j < count; j++)
                if (str_equal(names[j], synonyms[i].here[k]))
                    strbuf_addf(&text, "%s'%s'", text.length > 0 ? " and " : "", names[j]);
    return text.length > 0 ? strbuf_text(&text) : NULL;
}

/* "did you mean 'x'?", or "`otherwise`: a, b, c" */
static const char *advice(struct arena *a, const char *name, const char *const *names, size_t count,
                          const char *otherwise)
{
    const char *const here = synonym(a, name, names, count);
    if (here)
        return arena_printf(a, "here it is %s", here);
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

static spec_list *list_field(void *fields, const struct spec_key *k)
{
    return (spec_list *)(void *)((char *)fields + k->field);
}

/* What stands in front of ':' in `text`, which is being parsed. */
struct parsed {
    struct diag *diag;
    struct arena *arena;
    const char *option, *text;
    const struct spec_rule *rule;
    void *fields;
};

static bool set_value(const struct parsed *s, const struct spec_key *k, const char *value)
{
    double x;
    if (!str_to_double(value, &x) || !(x >= k->low && (k->open ? x < k->high : x <= k->high)) ||
        (k->whole && x != floor(x)))
        return diag_error(s->diag, NULL, "%s %s: %s=%s: expected a %snumber %s", s->option, s->rule->name, k->name,
                          value, k->whole ? "whole " : "", range(s->diag->arena, k));
    if (k->list)
        vec_push(s->arena, list_field(s->fields, k), x);
    else
        *spec_field(s->fields, k) = x;
    return true;
}

/* What is no key of anything, but an option. */
static const char *option_instead(const char *name)
{
    static const char *const words[] = {"lr", "learning_rate", "learning-rate"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_equal(name, words[i]))
            return "--learning-rate gives it";
    return NULL;
}

static const char *optimizer_instead(const char *name)
{
    return str_equal(name, "momentum")   ? "there is --optimizer momentum:alpha=F"
           : str_equal(name, "nesterov") ? "there is --optimizer nesterov:alpha=F"
           : str_equal(name, "amsgrad")  ? "there is --optimizer amsgrad"
                                         : NULL;
}

/* NULL after an error. */
static const struct spec_key *find_key(const struct parsed *s, const char *name)
{
    const char *names[SPEC_KEYS];
    size_t count = 0;
    for (const struct spec_key *k = s->rule->keys; k->name; k++) {
        names[count++] = k->name;
        if (str_equal(name, k->name))
            return k;
    }
    const bool is_optimizer = str_equal(s->option, "--optimizer");
    const char *own = is_optimizer ? option_instead(name) : NULL;
    if (!own && is_optimizer && !synonym(s->diag->arena, name, names, count))
        own = optimizer_instead(name);
    if (own)
        (void)diag_error(s->diag, NULL, "%s %s: no key '%s'; %s", s->option, s->rule->name, name, own);
    else
        (void)diag_error(s->diag, NULL, "%s %s: no key '%s'; %s", s->option, s->rule->name, name,
                         advice(s->diag->arena, name, names, count, "it has"));
    return NULL;
}

/* KEY=NUMBER, or a further number of the list *open. */
static bool set_pair(const struct parsed *s, const char *pair, const struct spec_key **open)
{
    const char *const equals = strchr(pair, '=');
    if (!equals && *open)
        return set_value(s, *open, pair);
    if (!equals)
        return diag_error(s->diag, NULL, "%s %s: '%s': expected key=value", s->option, s->text, pair);
    const struct spec_key *const k = find_key(s, arena_strndup(s->arena, pair, (size_t)(equals - pair)));
    *open = k && k->list ? k : NULL;
    return k && set_value(s, k, equals + 1);
}

static bool set_keys(const struct parsed *s)
{
    bool ok = true;
    const struct spec_key *open = NULL;
    for (const char *p = s->text + strcspn(s->text, ":"); *p != '\0';) {
        p++; /* ':' or ',' */
        const size_t n = strcspn(p, ",");
        ok = set_pair(s, arena_strndup(s->arena, p, n), &open) && ok;
        p += n;
    }
    return ok;
}

static bool is_missing(void *fields, const struct spec_key *k)
{
    return k->required && (k->list ? list_field(fields, k)->count == 0 : isnan(*spec_field(fields, k)));
}

bool spec_parse_keys(struct diag *d, struct arena *a, const char *option, const struct spec_rule *rule,
                     const char *text, void *fields)
{
    for (const struct spec_key *k = rule->keys; k->name; k++)
        if (!k->list)
            *spec_field(fields, k) = k->required ? NAN : k->usual;
    if (!set_keys(&(struct parsed){d, a, option, text, rule, fields}))
        return false;
    for (const struct spec_key *k = rule->keys; k->name; k++)
        if (is_missing(fields, k))
            return diag_error(d, NULL, "%s %s: give %s=N", option, rule->name, k->name);
    return true;
}

bool spec_parse(struct diag *d, struct arena *a, const struct spec_table *t, const char *text, size_t *rule,
                void *fields)
{
    const char **names = arena_array(a, const char *, t->count);
    for (size_t i = 0; i < t->count; i++)
        names[i] = t->rules[i].name;
    return spec_name(d, t->option, t->noun, arena_strndup(a, text, strcspn(text, ":")), names, t->count, rule) &&
           spec_parse_keys(d, a, t->option, &t->rules[*rule], text, fields);
}
