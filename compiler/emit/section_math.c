/* What kernels stand on: the register tiles of templates/ and the elementary functions of runtime/, each only where
 * used. */
#include "emit/emit_internal.h"

#include "base/str.h"
#include <string.h>

/* Marks the used functions; names that are no function of the runtime are the emitter's own. */
bool *used_helpers(struct emission *e)
{
    bool *used = arena_array(e->arena, bool, template_table.helper_count + 1);
    for (size_t i = 0; i < e->helpers.count; i++)
        if (template_find_helper(&template_table, e->helpers.entries[i].key))
            template_use_helper(&template_table, e->helpers.entries[i].key, used);
    return used;
}

/* A function of many lines is worth a call where size counts: it would be copied to each of its places. */
static void write_helper(struct emission *e, const char *text)
{
    static const char inlined[] = "static inline ";
    enum { MANY = 8 };
    int lines = 0;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    if (e->options->small && lines > MANY && str_starts_with(text, inlined))
        strbuf_addf(&e->c.text, "static STEPC_NOINLINE %s", text + strlen(inlined));
    else
        strbuf_add(&e->c.text, text);
}

static void write_helpers(struct emission *e, const bool *used)
{
    bool any = false;
    for (size_t i = 0; i < template_table.helper_count; i++) {
        const struct template_helper *h = &template_table.helpers[i];
        if (!used[i])
            continue;
        if (any)
            write_blank(&e->c);
        else
            write_section(&e->c, "elementary functions");
        any = true;
        if (h->comment)
            strbuf_addf(&e->c.text, "%s\n", h->comment);
        write_helper(e, target_is_named(e->options->target) ? keep_form(e->arena, h->text, e->options) : h->text);
    }
}

/* Shares write different elements: however many threads run them, the bits are the same. */
static void write_shares(struct emission *e)
{
    static const char *const lines[] = {"/* The shares of a large kernel write different elements: with -fopenmp "
                                        "threads run them side by side, as many as",
                                        " * OMP_NUM_THREADS allows; the results are the same bits. */",
                                        "#if defined(_OPENMP)",
                                        "#include <omp.h>",
                                        "#define STEPC_PRAGMA(...) _Pragma(#__VA_ARGS__)",
                                        "#define STEPC_SHARES(n) \\",
                                        "    STEPC_PRAGMA(omp parallel for schedule(static) "
                                        "num_threads(omp_get_max_threads() < n ? omp_get_max_threads() : n))",
                                        "#else",
                                        "#define STEPC_SHARES(n)",
                                        "#endif"};
    write_section(&e->c, "threads");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        write_line(&e->c, "%s", lines[i]);
}

/* The form with vectors of a named machine is the only one. */
static void write_compiler_check(struct emission *e)
{
    if (!target_is_named(e->options->target) || e->options->target->vector_bytes == 0 || e->options->simd == SIMD_NONE)
        return;
    write_line(&e->c, "#if !defined(__GNUC__) || defined(STEPC_EXCESS_PRECISION)");
    write_line(&e->c,
               "#error \"this file is for GCC and Clang for %s; stepc compile without --machine makes one for others\"",
               e->options->target->name);
    write_line(&e->c, "#endif");
    write_blank(&e->c);
}

void section_math(struct emission *e)
{
    bool *used = used_helpers(e);
    if (e->has_shares)
        write_shares(e);
    if (e->sections.count > 0) {
        write_section(&e->c, "registers");
        struct strbuf text = {.arena = e->arena};
        template_add_sections(e->arena, &template_table, e->sections.data, e->sections.count, &text, used);
        write_compiler_check(e);
        strbuf_add(&e->c.text, keep_form_of_sections(e->arena, strbuf_text(&text), e->options));
    }
    write_helpers(e, used);
    if (e->shared_pieces.count == 0)
        return;
    write_section(&e->c, "shared by kernels");
    for (size_t i = 0; i < e->shared_pieces.count; i++) {
        if (i > 0)
            write_blank(&e->c);
        strbuf_add(&e->c.text, e->shared_pieces.entries[i].value);
    }
}
