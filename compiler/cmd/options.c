#include "cmd/options.h"

#include "base/clean.h"
#include "base/str.h"
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { LONG_BASE = 1000 };

static str_list *values_of(struct options *o, const char *name)
{
    str_list *l = map_get(&o->values, name);
    if (!l) {
        l = arena_new(o->arena, str_list);
        map_set(&o->values, name, l);
    }
    return l;
}

static size_t count_specs(const struct option_spec *const *tables)
{
    size_t n = 0;
    for (size_t t = 0; tables[t]; t++)
        for (const struct option_spec *s = tables[t]; s->name; s++)
            n += s->kind != OPTION_GROUP;
    return n;
}

/* What getopt would say, which knows nothing of terminals. It returned `found`. */
static void say_what_is_wrong(int found, char **argv, const struct option *longs)
{
    if (optopt >= LONG_BASE)
        say_text("%s: option '--%s' %s an argument\n", argv[0], longs[optopt - LONG_BASE].name,
                 found == ':' ? "requires" : "doesn't allow");
    else if (optopt == 0)
        say_text("%s: unrecognized option '%s'\n", argv[0], argv[optind - 1]);
    else
        say_text("%s: %s -- '%c'\n", argv[0], found == ':' ? "option requires an argument" : "invalid option", optopt);
}

/* What may have been meant. */
static void suggest_option(const char *command, const char *typed, const struct option_spec *const *specs, size_t count)
{
    const char *names[128], *close = NULL;
    if (typed && str_starts_with(typed, "--") && count <= sizeof names / sizeof *names) {
        for (size_t i = 0; i < count; i++)
            names[i] = specs[i]->name;
        close = str_closest(typed + 2, names, count);
    }
    if (close && !str_equal(close, typed + 2))
        say_text("Did you mean --%s? ", close);
    say_text("Try 'stepc help %s'.\n", command);
}

/* getopt_long() takes the beginning of a name for the name: --optimize for --optimizer, which is another thing. */
static bool is_whole_name(const char *name, char **argv)
{
    const char *const last = argv[optind - 1], *const typed = optarg && optarg == last ? argv[optind - 2] : last;
    return !str_starts_with(typed, "--") || (str_starts_with(typed + 2, name) && strchr("=", typed[2 + strlen(name)]));
}

bool options_parse(struct arena *a, const char *command, const struct option_spec *const *tables, int argc, char **argv,
                   struct options *out)
{
    const size_t count = count_specs(tables);
    struct option *longs = arena_array(a, struct option, count + 1);
    const struct option_spec **specs = arena_array(a, const struct option_spec *, count + 1);
    struct strbuf letters = {.arena = a};
    strbuf_addf(&letters, ":"); /* getopt is silent, and tells what lacks its argument from what is not known */
    *out = (struct options){.arena = a, .values = {.arena = a}};
    size_t n = 0;
    for (size_t t = 0; tables[t]; t++)
        for (const struct option_spec *s = tables[t]; s->name; s++) {
            if (s->kind == OPTION_GROUP)
                continue;
            specs[n] = s;
            longs[n] = (struct option){s->name, s->kind == OPTION_FLAG ? no_argument : required_argument, NULL,
                                       LONG_BASE + (int)n};
            if (s->letter)
                strbuf_addf(&letters, "%c%s", s->letter, s->kind == OPTION_FLAG ? "" : ":");
            n++;
        }
    optind = 0; /* glibc: start anew */
    argv[0] = arena_printf(a, "stepc %s", command);
    for (int c; (c = getopt_long(argc, argv, strbuf_text(&letters), longs, NULL)) != -1;) {
        const struct option_spec *s = NULL;
        for (size_t i = 0; i < n; i++)
            if (c == LONG_BASE + (int)i || (specs[i]->letter && c == specs[i]->letter))
                s = specs[i];
        if (!s) {
            say_what_is_wrong(c, argv, longs);
            suggest_option(command, argv[optind - 1], specs, n);
            return false;
        }
        if (c >= LONG_BASE && !is_whole_name(s->name, argv)) {
            say_text("%s: unrecognized option '%s'\n", argv[0],
                     optarg && optarg == argv[optind - 1] ? argv[optind - 2] : argv[optind - 1]);
            say_text("Did you mean --%s? Try 'stepc help %s'.\n", s->name, command);
            return false;
        }
        str_list *l = values_of(out, s->name);
        if (s->kind == OPTION_TEXT)
            l->count = 0;
        vec_push(a, l, optarg ? optarg : "");
    }
    for (; optind < argc; optind++)
        vec_push(a, &out->arguments, argv[optind]);
    return true;
}

bool option_given(const struct options *o, const char *name)
{
    return map_has(&o->values, name);
}

const char *option_text(const struct options *o, const char *name)
{
    const str_list *l = map_get(&o->values, name);
    return l && l->count ? l->data[l->count - 1] : NULL;
}

str_list option_list(const struct options *o, const char *name)
{
    const str_list *l = map_get(&o->values, name);
    return l ? *l : (str_list){0};
}

const char *choices_text(struct arena *a, const char *const *names)
{
    struct strbuf b = {.arena = a};
    for (size_t i = 0; names[i]; i++)
        strbuf_addf(&b, "%s%s", i == 0 ? "" : names[i + 1] ? ", " : " or ", names[i]);
    return strbuf_text(&b);
}

int option_choice(struct diag *d, const struct options *o, const char *name, const char *const *names, bool *ok)
{
    const char *const text = option_text(o, name);
    for (int i = 0; text && names[i]; i++)
        if (str_equal(text, names[i]))
            return i;
    if (text)
        *ok = diag_usage(d, "--%s %s: expected %s", name, text, choices_text(d->arena, names));
    return 0;
}

bool option_pair(struct arena *a, const char *text, const char **name, const char **value)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text)
        return false;
    *name = arena_strndup(a, text, (size_t)(equals - text));
    *value = equals + 1;
    return true;
}

void options_print(const struct option_spec *const *tables)
{
    for (size_t t = 0; tables[t]; t++)
        for (const struct option_spec *s = tables[t]; s->name; s++) {
            char left[64];
            if (s->kind == OPTION_GROUP) {
                if (t || s != tables[0])
                    print_text("\n");
                print_text("%s\n", s->help);
                continue;
            }
            snprintf(left, sizeof left, "%s%c%s--%s%s%s", s->letter ? "-" : "", s->letter ? s->letter : ' ',
                     s->letter ? ", " : "   ", s->name, s->placeholder ? " " : "",
                     s->placeholder ? s->placeholder : "");
            print_text("  %-36s %s\n", left, s->help);
        }
}
