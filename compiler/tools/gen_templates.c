/* Build-time tool: kernel templates and runtime headers, parsed with libclang, into tables of C data: templates as
 * statement trees, headers by the names of their functions. templates/template.h explains the language.
 *
 *   gen_templates [--table NAME] [--include DIR]... [--helpers HEADER]... [--section HEADER]... -o OUT.c
 *                 [TEMPLATE.c]...
 *
 *   --table    the C name of the table (template), which gets _trees behind it
 *   --include  searched for "..." headers
 *   --helpers  a runtime header of functions
 *   --section  a runtime header of kernels
 *
 * Headers come before headers that need them. */
#include "tools/gen_templates.h"

#include "base/file.h"
#include <string.h>

struct template_options {
    const char *table, *out;
    VEC(const char *) include_dirs, helpers, sections, templates;
};

static bool read_options(struct arena *a, int argc, char **argv, struct template_options *o)
{
    o->table = "template";
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (word[0] != '-') {
            vec_push(a, &o->templates, word);
            continue;
        }
        if (++i == argc)
            return false;
        if (!strcmp(word, "--table"))
            o->table = argv[i];
        else if (!strcmp(word, "-o"))
            o->out = argv[i];
        else if (!strcmp(word, "--include"))
            vec_push(a, &o->include_dirs, argv[i]);
        else if (!strcmp(word, "--helpers"))
            vec_push(a, &o->helpers, argv[i]);
        else if (!strcmp(word, "--section"))
            vec_push(a, &o->sections, argv[i]);
        else
            return false;
    }
    vec_push(a, &o->include_dirs, NULL);
    return o->out != NULL;
}

static bool generate(struct gen *g, const struct template_options *o)
{
    bool ok = true;
    for (size_t i = 0; i < o->helpers.count; i++)
        ok &= read_helpers(g, o->helpers.data[i]);
    for (size_t i = 0; i < o->sections.count; i++)
        add_kernel_header(g, o->sections.data[i]);
    for (size_t i = 0; i < o->templates.count; i++)
        ok &= read_template(g, o->templates.data[i]);
    if (!ok)
        return false;
    struct strbuf out = {.arena = g->arena};
    write_trees(g, &out, arena_printf(g->arena, "%s_trees", o->table));
    return file_write(g->diag, o->out, strbuf_text(&out), out.length);
}

int main(int argc, char **argv)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct template_options o = {0};
    if (!read_options(&a, argc, argv, &o)) {
        fprintf(stderr,
                "usage: gen_templates [--table NAME] [--include DIR]... [--helpers HEADER]... [--section HEADER]... "
                "-o OUT.c [TEMPLATE.c]...\n");
        return 2;
    }
    struct gen g = {.arena = &a, .diag = &d, .include_dirs = o.include_dirs.data};
    const bool ok = generate(&g, &o);
    diag_print(&d, stderr);
    arena_free(&a);
    return ok ? 0 : 1;
}
