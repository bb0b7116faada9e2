/* What --dispatch adds to the source file: it includes itself once for each level of the processor above the first, and
 * each entry calls the code of the highest level that the processor has. runtime/kernels/stepc_levels.h and what it
 * includes say how a level is opened for the C compiler; where that cannot be, the file is compiled once.
 *
 *   constants                  once
 *   #include of itself         kernels and entries of levels 4 and 3: static functions with names of their own
 *   kernels and entries        of level 1, or where there are no levels the only ones
 *   entries that choose        once, where there are levels
 *   the model                  once */
#include "emit/emit_internal.h"

#include "base/map.h"
#include "base/str.h"

static const struct {
    unsigned bit;
    int number;
    const char *condition; /* is it above the options of the C compiler? NULL: always, where there are levels */
} levels[] = {{LEVEL_4, 4, NULL}, {LEVEL_3, 3, "!defined(__AVX__)"}};
enum { LEVELS = sizeof levels / sizeof *levels };

/* An entry `train` is train_v3 on level 3: no other may be called so. */
static void check_entries(struct emission *e)
{
    const struct program *const p = e->program;
    static const char *const ends[] = {"_v1", "_v3", "_v4"};
    struct map names = {.arena = e->arena};
    for (size_t i = 0; i < p->entries.count; i++)
        map_set(&names, p->entries.data[i].name, &p->entries.data[i]);
    for (size_t i = 0; i < p->entries.count * 3; i++) {
        const char *const name = p->entries.data[i / 3].name;
        const char *const on_level = arena_printf(e->arena, "%s%s", name, ends[i % 3]);
        if (map_has(&names, on_level))
            diag_error(e->diag, &LOC_FILE(p->model->file),
                       "--dispatch: entry '%s' is called as entry '%s' is on a level; rename one of them", on_level,
                       name);
    }
}

void levels_begin(struct emission *e)
{
    struct writer *const c = &e->c;
    check_entries(e);
    write_blank(c);
    write_comment(c, "This file is compiled several times in one run of the compiler: below the constants it includes "
                     "itself for each level of the processor above what the compiler's options say, with the level's "
                     "vectors and instructions. Its functions have names of their own on each (compute_hidden_v3). At "
                     "the end each entry calls the code of the highest level that the processor has. Where a compiler "
                     "or processor has no such levels, all this is left out.");
    write_runtime_header(e, "kernels/stepc_levels.h");
    write_line(c, "#if !defined(STEPC_LEVEL)");
}

static void write_name(struct emission *e, const char *name)
{
    write_line(&e->c, "#define %s(...) STEPC_LEVEL_NAME(%s)(__VA_ARGS__)", name, name);
}

static const char *entry_function(struct emission *e, size_t i)
{
    return arena_printf(e->arena, "%s_%s", e->name, e->program->entries.data[i].name);
}

/* All functions of the file that know the level, in the order in which they stand. */
static void write_names(struct emission *e)
{
    for (size_t i = 0; i < e->shared_pieces.count; i++)
        write_name(e, e->shared_pieces.entries[i].key);
    for (size_t i = 0; i < e->functions.count; i++) {
        const struct kernel_function *const f = e->functions.data[i];
        for (size_t k = 0; k < f->functions.count; k++)
            write_name(e, f->functions.data[k]->name);
    }
    if (map_has(&e->helpers, COPY_CONSTANT))
        write_name(e, COPY_CONSTANT);
    for (size_t i = 0; i < e->program->entries.count; i++)
        for (size_t k = 0; k < e->entry_parts[i].functions.count; k++)
            write_name(e, e->entry_parts[i].functions.data[k]->name);
    for (size_t i = 0; i < e->program->entries.count; i++)
        write_name(e, entry_function(e, i));
}

static void write_level(struct emission *e, size_t i)
{
    struct writer *const c = &e->c;
    if (levels[i].condition)
        write_line(c, "#if %s", levels[i].condition);
    write_line(c, "#define STEPC_LEVEL %d", levels[i].number);
    write_line(c, "#include \"%s.c\"", e->stem);
    if (levels[i].condition)
        write_line(c, "#endif");
}

void levels_include(struct emission *e)
{
    struct writer *const c = &e->c;
    write_section(c, "levels");
    write_line(c, "#if defined(STEPC_LEVELS)");
    write_names(e);
    write_blank(c);
    for (size_t i = 0; i < LEVELS; i++)
        if (e->options->levels & levels[i].bit)
            write_level(e, i);
    write_line(c, "#define STEPC_LEVEL 1");
    write_line(c, "#endif");
    write_line(c, "#endif");
    write_blank(c);
    write_line(c, "#if defined(STEPC_LEVEL)");
    write_runtime_header(e, "kernels/stepc_level_begin.h");
    write_line(c, "#endif");
}

/* digits_step_v3(state, arena, in, out): what the entry is called on a level, which the preprocessor knows. */
static const struct expr *level_call(struct emission *e, const struct tree_function *entry, int level)
{
    struct arena *const a = e->arena;
    struct tree_function *const on_level = arena_copy(a, entry, sizeof *entry, alignof(struct tree_function));
    const struct expr **const args = arena_array(a, const struct expr *, entry->params.count + 1);
    on_level->name = arena_printf(a, "%s_v%d", entry->name, level);
    for (size_t i = 0; i < entry->params.count; i++) {
        const struct tree_var *const v = entry->params.data[i];
        args[i] = v->kind == VAR_POINTER ? tree_whole(a, v) : tree_read(a, v);
    }
    return tree_call_function(a, on_level, args, entry->params.count);
}

static void write_choice(struct emission *e, size_t i)
{
    struct arena *const a = e->arena;
    const struct tree_function *const entry = e->entry_functions[i];
    struct tree_function *const f = arena_copy(a, entry, sizeof *entry, alignof(struct tree_function));
    struct tree_builder b = tree_builder(a, &f->body);
    const struct tree_var *const level = tree_var(a, VAR_VALUE, DTYPE_INDEX, "int", "level");
    struct expr_scope s = {.e = e, .arena = a};
    f->body = (stmt_list){0};
    tree_declare(&b, level, tree_call(a, DTYPE_INDEX, CALL_NAMED, "stepc_level", NULL, 0));
    for (size_t l = 0; l < LEVELS; l++) {
        const struct expr *const args[] = {tree_read(a, level), level_call(e, entry, levels[l].number)};
        const char *const macro = arena_printf(a, "STEPC_ON_LEVEL_%d", levels[l].number);
        if (e->options->levels & levels[l].bit)
            tree_run(&b, tree_call(a, DTYPE_INDEX, CALL_NAMED, macro, args, 2));
    }
    tree_return(&b, level_call(e, entry, 1));
    write_line(&e->c, "#undef %s", entry->name);
    verify_function(e, f->name, f);
    print_function(&s, &e->c, f);
}

void levels_choose(struct emission *e)
{
    struct writer *const c = &e->c;
    write_blank(c);
    write_line(c, "#if !defined(STEPC_LEVEL) || STEPC_LEVEL == 1 /* once: behind the other levels */");
    write_section(c, "the level of this processor");
    write_line(c, "#if defined(STEPC_LEVEL)");
    for (size_t i = 0; i < e->program->entries.count; i++) {
        write_choice(e, i);
        if (i + 1 < e->program->entries.count)
            write_blank(c);
    }
    write_line(c, "#endif");
}

void levels_end(struct emission *e)
{
    struct writer *const c = &e->c;
    if (!e->options->levels)
        return;
    write_line(c, "#endif");
    write_blank(c);
    write_line(c, "#if defined(STEPC_LEVEL)");
    write_runtime_header(e, "kernels/stepc_level_end.h");
    write_line(c, "#endif");
}
