#include "devices/devices.h"

#include "devices/follow_internal.h"
#include "graph/op_def.h"
#include "train/combine.h"

static void note_annotated(void *to, const struct model_node *n)
{
    *(bool *)to = *(bool *)to || n->devices.count > 0;
}

bool model_has_devices(const struct model *m)
{
    bool any = m->configurations.count > 0;
    model_each_node(m->graph, note_annotated, &any);
    vec_each(const struct model_training *, t, &m->training) {
        model_each_node(t->initialization, note_annotated, &any);
        model_each_node(t->algorithm, note_annotated, &any);
    }
    return any;
}

struct program *devices_program(struct arena *a, const struct model *m, const struct import_options *import)
{
    struct diag unheard = {.arena = a};
    struct program *p;
    return combine_program(&unheard, a, m, import, "model", NULL, &p) ? p : NULL;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* A Gradient goes back through the stages: what it gives is of none. */
static void follow_stage(struct follower *f, const struct node *n)
{
    const struct model_node_devices *const entry = entry_of(f, n->placed);
    int stage = -1;
    const struct value *from = NULL;
    for (size_t i = 0; i < n->inputs.count && !n->def->is_structural; i++)
        if (n->inputs.data[i] && f->stages[n->inputs.data[i]->id] > stage) {
            from = n->inputs.data[i];
            stage = f->stages[from->id];
        }
    if (entry && entry->has_stage) {
        if (entry->stage < stage)
            f->ok = diag_error(f->diag, &n->loc, "pipeline_stage is %d, but its input '%s' comes from stage %d",
                               (int)entry->stage, from->name, stage);
        stage = entry->stage;
    }
    for (size_t o = 0; o < n->outputs.count; o++)
        if (n->outputs.data[o])
            f->stages[n->outputs.data[o]->id] = stage;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void add_text(struct follower *f, const char *before, const struct value *v, const struct shards *s, bool moved)
{
    if (f->options->table)
        strbuf_addf(f->options->table, "%s %s %s%s", before, v->name, shards_text(f->arena, &f->pool, s),
                    moved ? " (moved)" : "");
}

bool refuse_to_execute(struct follower *f, const struct loc *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *const text = arena_vprintf(f->diag->arena, format, args);
    va_end(args);
    return f->ok = diag_unsupported(f->diag, at, "%s (%s)", text, f->options->way_out);
}

void note_move(struct follower *f, const struct node *n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *const text = arena_vprintf(f->diag->arena, format, args);
    va_end(args);
    if (f->executes)
        refuse_to_execute(f, &n->loc, "%s, and nothing but sums is moved between the devices of '%s'", text,
                          f->configuration->name);
    else
        diag_warning(f->diag, &n->loc, "%s", text);
}

static void begin_line(struct follower *f, const struct node *n)
{
    const struct model_node_devices *const entry = entry_of(f, n->placed);
    if (!f->options->table)
        return;
    strbuf_addf(f->options->table, "  %s%s%s%s", op_display_name(n->def), n->name[0] ? " '" : "", n->name,
                n->name[0] ? "'" : "");
    if (entry && entry->has_stage)
        strbuf_addf(f->options->table, ", stage %d", (int)entry->stage);
}

/* Operands as they are, or as the node wants them. */
static void find_operands(struct follower *f, const struct node *n, const struct shards **in)
{
    const char *before = ":";
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const v = n->inputs.data[i];
        bool stated;
        if (!v)
            continue;
        const struct shards *const there = f->of[v->id], *const own = stated_shards(f, n->placed, v, false, &stated);
        in[i] = stated ? own : there;
        const bool moved = there && own && !shards_suffice(&f->pool, there, own);
        if (moved && f->executes)
            note_move(f, n, "'%s' is read as %s, but is %s: it has to be moved", v->name,
                      shards_text(f->diag->arena, &f->pool, own), shards_text(f->diag->arena, &f->pool, there));
        add_text(f, before, v, in[i], moved);
        before = ";";
    }
}

static void follow_node(struct follower *f, const struct node *n, follow_visit visit)
{
    struct arena scratch = {0};
    const struct shards **const in = arena_array(&scratch, const struct shards *, n->inputs.count + 1);
    const struct shards **const out = arena_array(&scratch, const struct shards *, n->outputs.count + 1);
    begin_line(f, n);
    follow_stage(f, n);
    find_operands(f, n, in);
    combine_shards(f, n, in, out);
    const char *before = " ->";
    for (size_t o = 0; o < n->outputs.count; o++) {
        const struct value *const v = n->outputs.data[o];
        bool stated;
        if (!v)
            continue;
        const struct shards *const own = stated_shards(f, n->placed, v, true, &stated);
        const bool moved = own && out[o] && !shards_suffice(&f->pool, out[o], own);
        if (moved)
            note_move(f, n, "'%s' is stated to be %s, but what its inputs give is %s: it has to be moved", v->name,
                      shards_text(f->diag->arena, &f->pool, own), shards_text(f->diag->arena, &f->pool, out[o]));
        f->of[v->id] = stated ? own : out[o];
        add_text(f, before, v, f->of[v->id], moved);
        before = ";";
    }
    if (f->options->table)
        strbuf_add(f->options->table, "\n");
    if (visit)
        visit(f, n, in);
    arena_free(&scratch);
}

/* Values that no node gives are whole, where each device can have them. */
static void begin_values(struct follower *f, const struct graph *g)
{
    f->of = arena_array(f->arena, const struct shards *, (size_t)g->value_count);
    f->sums = arena_array(f->arena, unsigned char, (size_t)g->value_count);
    f->read = arena_array(f->arena, unsigned char, (size_t)g->value_count);
    f->stages = arena_array(f->arena, int, (size_t)g->value_count);
    for (int i = 0; i < g->value_count; i++)
        f->stages[i] = -1;
    graph_each_node(g, n)
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct value *const v = n->inputs.data[i];
            if (v && v->kind != VALUE_RESULT)
                f->of[v->id] = shards_everywhere(&f->pool, v->shape.rank);
        }
}

bool is_followed(const struct entry *e, const struct model_devices *x)
{
    const struct follower f = {.configuration = x};
    if (e->kind == ENTRY_STEP && e->training < 0)
        return false;
    graph_each_node(e->graph, n)
        if (entry_of(&f, n->placed))
            return true;
    return false;
}

bool sees_samples(const struct graph *g)
{
    for (size_t i = 0; i < g->inputs.count; i++)
        if (g->inputs.data[i]->shape.rank > 0)
            return true;
    return false;
}

bool devices_follow(struct diag *d, const struct program *p, const struct devices_options *o, follow_visit visit)
{
    bool ok = true;
    vec_each_ptr(const struct model_devices, x, &p->model->configurations) {
        if (o->configuration && !str_equal(o->configuration, x->name))
            continue;
        if (x->count > MOST_DEVICES) {
            diag_warning(d, &LOC_FILE(p->model->file),
                         "device configuration '%s' has %d devices: above %d nothing is followed", x->name,
                         (int)x->count, MOST_DEVICES);
            continue;
        }
        vec_each_ptr(const struct entry, e, &p->entries) {
            struct arena a = {0};
            struct follower f = {.diag = d, .arena = &a, .model = p->model, .configuration = x, .options = o,
                                 .executes = o->way_out && sees_samples(e->graph), .ok = true};
            if (!is_followed(e, x))
                continue;
            if (o->table)
                strbuf_addf(o->table, "%s on the %d devices of '%s':\n", e->name, (int)x->count, x->name);
            f.pool = shard_pool_new(&a, (int)x->count);
            begin_values(&f, e->graph);
            graph_each_node(e->graph, n)
                follow_node(&f, n, visit);
            ok = f.ok && ok;
            arena_free(&a);
        }
    }
    return ok;
}

bool devices_check(struct diag *d, const struct program *p, const struct devices_options *o)
{
    return devices_follow(d, p, o, NULL);
}
