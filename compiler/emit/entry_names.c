/* What entries, their arguments and counters of random numbers are called in the text. */
#include "emit/emit_internal.h"

int entry_index(const struct emission *e, const struct entry *entry)
{
    return (int)(entry - e->program->entries.data);
}

const char *input_name(struct emission *e, const struct entry *entry, size_t i)
{
    return e->input_names[entry_index(e, entry)][i];
}

const char *output_name(struct emission *e, const struct entry *entry, size_t i)
{
    return e->output_names[entry_index(e, entry)][i];
}

bool has_inputs(const struct emission *e, const struct entry *entry)
{
    return entry->graph->inputs.count > 0 || weights_is_input(e, entry) || entry->takes_count;
}

const char *count_name(const struct emission *e, const struct entry *entry)
{
    return e->count_names[entry_index(e, entry)];
}

bool entry_mutates(const struct entry *entry)
{
    return entry->kind == ENTRY_INIT || entry->kind == ENTRY_STEP;
}

void write_entry_head(struct emission *e, struct writer *w, const struct entry *entry, const char *after)
{
    print_head(e->arena, w, e->entry_functions[entry_index(e, entry)], after);
}

/* Whose counter it is, where there are several. */
const char *counter_name(struct arena *a, const struct program *p, size_t i)
{
    return p->counters.count > 1 ? arena_printf(a, "random_counter_%s", p->counters.data[i]) : "random_counter";
}

const char *counter_member(const struct emission *e, size_t i)
{
    return counter_name(e->arena, e->program, i);
}

void name_entry_arguments(struct emission *e)
{
    const size_t count = e->program->entries.count;
    e->input_names = arena_array(e->arena, const char **, count + 1);
    e->output_names = arena_array(e->arena, const char **, count + 1);
    e->count_names = arena_array(e->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct graph *g = e->program->entries.data[i].graph;
        struct name_scope in = {.taken = {.arena = e->arena}}, out = {.taken = {.arena = e->arena}};
        e->input_names[i] = arena_array(e->arena, const char *, g->inputs.count + 1);
        e->output_names[i] = arena_array(e->arena, const char *, g->outputs.count + 1);
        reserve_prefix_macros(e, &in);
        reserve_prefix_macros(e, &out);
        if (e->weights.kind == WEIGHTS_FILE)
            map_set(&in.taken, "weights", NULL);
        for (size_t j = 0; j < g->inputs.count; j++)
            e->input_names[i][j] = name_in(&in, g->inputs.data[j]->name);
        if (e->program->range)
            e->count_names[i] = name_in(&in, e->program->range->name);
        for (size_t j = 0; j < g->outputs.count; j++)
            e->output_names[i][j] = name_in(&out, g->outputs.data[j].name);
    }
}
