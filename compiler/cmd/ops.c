/* stepc ops: the table of operators. */
#include "cmd/cmd.h"
#include "graph/op_def.h"
#include "train/adjoint.h"

#include <stdio.h>

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
    return d->grad ? "yes" : d->expand ? "by expansion" : "-";
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o))
        return EXIT_USAGE;
    const bool markdown = option_given(&o, "markdown");
    const char *format = markdown ? "| %s | %s | %s | %s |\n" : "%-36s %-34s %-13s %s\n";
    printf(format, "operator", "versions", "gradient", "lowering");
    if (markdown)
        printf("|---|---|---|---|\n");
    for (size_t f = 0; op_table[f]; f++)
        for (const struct op_def *d = op_table[f]; d->name; d++) {
            char versions[128], name[96];
            print_versions(d, versions, sizeof versions);
            snprintf(name, sizeof name, "%s%s%s", d->domain ? d->domain : "", d->domain ? "." : "", d->name);
            printf(format, name, versions, gradient_of(d), d->lower ? "kernel" : d->expand ? "by expansion" : "-");
        }
    return session_end(&s, true);
}

const struct command command_ops = {.name = "ops",
                                    .arguments = "[--markdown]",
                                    .summary = "table of operators: versions, gradient, lowering",
                                    .example = "stepc ops --markdown",
                                    .options = tables,
                                    .run = run};
