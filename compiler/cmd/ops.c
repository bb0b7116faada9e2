/* stepc ops: the table of operators. */
#include "base/clean.h"
#include "cmd/cmd.h"
#include "base/str.h"
#include "graph/op_def.h"
#include "train/adjoint.h"

#include <stdio.h>
#include <strings.h>

static const struct option_spec specs[] = {{"markdown", 0, OPTION_FLAG, NULL, "as a Markdown table"}, {0}};
static const struct option_spec *const tables[] = {specs, NULL};

static void print_versions(const struct op_def *d, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (const struct op_version *v = d->versions; v && v->since && used + 8 < size; v++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", used ? ", " : "", v->since);
}

static const char *gradient_of(const struct op_def *d)
{
    if (d->grad == grad_none)
        return "none";
    if (d->grad == grad_undefined)
        return "refused";
    return d->grad ? "yes" : d->expand || d->is_control ? "by expansion" : "-";
}

/* Control flow is decided when a model is imported. */
static const char *lowering_of(const struct op_def *d)
{
    return d->lower ? "kernel" : d->expand ? "by expansion" : d->is_control ? "at import" : "-";
}

static const char *full_name(struct arena *a, const struct op_def *d)
{
    return d->domain ? arena_printf(a, "%s.%s", d->domain, d->name) : d->name;
}

/* Without names on the command line, every row. */
static bool is_wanted(const str_list *wanted, const struct op_def *d, const char *name)
{
    return wanted->count == 0 || str_list_has(wanted, name) || str_list_has(wanted, d->name);
}

static bool check_wanted(struct session *s, const str_list *wanted)
{
    str_list names = {0};
    bool ok = true;
    for (size_t f = 0; op_table[f]; f++)
        for (const struct op_def *d = op_table[f]; d->name; d++) {
            vec_push(&s->arena, &names, d->name);
            if (d->domain)
                vec_push(&s->arena, &names, full_name(&s->arena, d));
        }
    for (size_t i = 0; i < wanted->count; i++) {
        if (str_list_has(&names, wanted->data[i]))
            continue;
        const char *other_case = NULL; /* names of operators resemble each other too much for more */
        for (size_t j = 0; j < names.count && !other_case; j++)
            other_case = strcasecmp(names.data[j], wanted->data[i]) == 0 ? names.data[j] : NULL;
        ok = diag_error(&s->diag, NULL, "operator '%s' is not supported%s%s%s", wanted->data[i],
                        other_case ? "; did you mean '" : "", other_case ? other_case : "", other_case ? "'?" : "");
    }
    return ok;
}

static int run(struct session *s, const struct options *o)
{
    if (!check_wanted(s, &o->arguments))
        return EXIT_BAD;
    const bool markdown = option_given(o, "markdown");
    const char *format = markdown ? "| %s | %s | %s | %s |\n" : "%-36s %-40s %-13s %s\n";
    print_text(format, "operator", "versions", "gradient", "lowering");
    if (markdown)
        print_text("|---|---|---|---|\n");
    for (size_t f = 0; op_table[f]; f++)
        for (const struct op_def *d = op_table[f]; d->name; d++) {
            char versions[128];
            const char *name = full_name(&s->arena, d);
            if (!is_wanted(&o->arguments, d, name))
                continue;
            print_versions(d, versions, sizeof versions);
            print_text(format, name, versions, gradient_of(d), lowering_of(d));
        }
    return EXIT_DONE;
}

const struct command command_ops = {.name = "ops",
                                    .arguments = "[OPERATOR...] [--markdown]",
                                    .summary = "table of operators: versions, gradient, lowering",
                                    .example = "stepc ops Gemm Softmax",
                                    .options = tables,
                                    .run = run};
