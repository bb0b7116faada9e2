#include "cmd/compare_dump.h"

#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "engine/pipeline.h"
#include "interp/interp.h"
#include "train/combine.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct dump_file {
    const char *stem, *path;
    bool used;
};

enum line_kind { LINE_START, LINE_TENSOR, LINE_GRADIENT, LINE_UPDATE };

struct dump_line {
    enum line_kind kind;
    const char *name;
    const char *parameter; /* LINE_GRADIENT: whose */
    const char *remark;    /* "" or what is odd about the shapes */
    double distance;       /* relative L2; infinite where the two cannot be compared */
};

struct dump_comparison {
    struct session *s;
    const struct model *m;
    const struct dump_options *o;
    VEC(struct dump_file) files;
    struct map parameters; /* name of a gradient -> name of its parameter */
    struct program *program;
    const struct entry *entry;
    struct interp *interp;
    const struct tensor **inputs;
    VEC(struct interp_fetch) fetches; /* values to be compared, in the order of the graph */
    VEC(struct dump_line) lines;
};

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static int by_stem(const void *a, const void *b)
{
    const struct dump_file *x = a, *y = b;
    return strcmp(x->stem, y->stem);
}

static bool list_files(struct dump_comparison *c)
{
    struct arena *a = &c->s->arena;
    DIR *d = opendir(c->o->folder);
    if (!d)
        return diag_error(&c->s->diag, NULL, "--against %s: not a folder that can be read", c->o->folder);
    for (struct dirent *e; (e = readdir(d));) {
        const size_t n = strlen(e->d_name);
        const size_t ending = str_ends_with(e->d_name, ".npy") ? 4 : str_ends_with(e->d_name, ".pb") ? 3 : 0;
        if (ending)
            vec_push(a, &c->files,
                     ((struct dump_file){.stem = arena_strndup(a, e->d_name, n - ending),
                                         .path = path_join(a, c->o->folder, e->d_name)}));
    }
    closedir(d);
    if (c->files.count == 0)
        return diag_error(&c->s->diag, NULL, "--against %s: there are no .npy or .pb files", c->o->folder);
    qsort(c->files.data, c->files.count, sizeof *c->files.data, by_stem);
    return true;
}

/* Names of tensors may hold '/' and worse: as file names they are written with '_'. */
static const char *file_stem(struct arena *a, const char *name)
{
    char *stem = arena_strdup(a, name);
    for (char *p = stem; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
            *p = '_';
    return stem;
}

static struct dump_file *find_file(struct dump_comparison *c, const char *name)
{
    const struct dump_file key = {.stem = file_stem(&c->s->arena, name)};
    return bsearch(&key, c->files.data, c->files.count, sizeof key, by_stem);
}

static bool read_file(struct dump_comparison *c, struct dump_file *f, struct tensor **out)
{
    const char *inner;
    struct stat st;
    f->used = true;
    if (stat(f->path, &st) == 0 && !S_ISREG(st.st_mode)) /* opening a FIFO would wait */
        return diag_error(&c->s->diag, NULL, "%s: not a regular file", f->path);
    if (!tensor_file_read(&c->s->diag, &c->s->arena, f->path, out, &inner))
        return false;
    if ((*out)->dtype == DTYPE_STRING)
        return diag_error(&c->s->diag, NULL, "%s: strings cannot be compared", f->path);
    return true;
}

/* By value into another dtype: frameworks count in double and int64 where the model says float and int32. */
static const struct tensor *converted(struct arena *a, const struct tensor *t, enum dtype to)
{
    return t->dtype == to || dtype_is_float(t->dtype) != dtype_is_float(to) ? t : tensor_cast(a, t, to);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* What the model calls the gradients: Gradient's outputs belong to the names in xs. */
static void name_gradients(struct dump_comparison *c)
{
    c->parameters.arena = &c->s->arena;
    vec_each(const struct model_training *, t, &c->m->training)
        for (size_t i = 0; t->algorithm && i < t->algorithm->nodes.count; i++) {
            const struct model_node *n = t->algorithm->nodes.data[i];
            const struct model_attr *xs = str_equal(n->op_type, "Gradient") ? model_find_attr(&n->attrs, "xs") : NULL;
            for (size_t x = 0; xs && x < xs->strings.count && x < n->outputs.count; x++)
                map_set(&c->parameters, n->outputs.data[x], (void *)(uintptr_t)xs->strings.data[x].data);
        }
}

/* Tensors of the dump that are inputs of the model settle its open sizes. */
static bool read_fed(struct dump_comparison *c, const struct model_graph *g, struct map *fed)
{
    for (size_t i = 0; g && i < g->inputs.count; i++) {
        const struct model_value_info *vi = g->inputs.data[i];
        struct dump_file *f = find_file(c, vi->name);
        struct tensor *t;
        if (!f || map_has(fed, vi->name) || model_find_initializer(c->m->graph, vi->name))
            continue;
        if (!read_file(c, f, &t))
            return false;
        map_set(fed, vi->name, (void *)(uintptr_t)converted(&c->s->arena, t, vi->type.elem));
    }
    return true;
}

static bool make_program(struct dump_comparison *c, struct map *fed)
{
    struct pipeline_options p = {.name = "model", .import = c->o->import};
    const char *const entry = c->o->entry ? c->o->entry : default_entry(c->m);
    fed->arena = &c->s->arena;
    if (!read_fed(c, c->m->graph, fed))
        return false;
    vec_each(const struct model_training *, t, &c->m->training)
        if (!read_fed(c, t->algorithm, fed))
            return false;
    p.import.fed = fed;
    p.entries = entry;
    if (!pipeline_program(&c->s->diag, &c->s->arena, c->m, &p, &c->program))
        return false;
    c->entry = program_entry(c->program, entry);
    if (!c->entry)
        return diag_error(&c->s->diag, &LOC_FILE(c->m->file),
                          "the model has no single entry '%s'; give --entry NAME", entry);
    return true;
}

static bool find_inputs(struct dump_comparison *c, const struct map *fed)
{
    const struct graph *g = c->entry->graph;
    bool ok = true;
    c->inputs = arena_array(&c->s->arena, const struct tensor *, g->inputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *v = g->inputs.data[i];
        c->inputs[i] = map_get(fed, v->name);
        if (!c->inputs[i])
            ok = diag_error(&c->s->diag, &LOC_FILE(c->m->file),
                            "the dump has no %s.npy for input '%s' %s%s", file_stem(&c->s->arena, v->name),
                            v->name, dtype_name(v->dtype), shape_text(&c->s->arena, &v->shape));
    }
    return ok;
}

/* ---- distances --------------------------------------------------------------------------------------------------- */

/* Fetched by `stepc run`, a tensor of one step has a leading axis of 1. */
static void drop_step_axis(struct tensor *want, const struct shape *got)
{
    if (want->shape.rank != got->rank + 1 || want->shape.dim[0] != 1)
        return;
    want->shape.rank--;
    memmove(want->shape.dim, want->shape.dim + 1, (size_t)want->shape.rank * sizeof *want->shape.dim);
}

/* |a - b| / |b|, Euclidean; NaN at the same place counts as equal. Element i of a against element at(i) of b. */
static double distance(const struct tensor *a, const struct tensor *b, bool transposed)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t columns = transposed ? a->shape.dim[1] : 1, rows = transposed ? a->shape.dim[0] : 1;
        const int64_t at = transposed ? i % columns * rows + i / columns : i;
        const double x = tensor_get_double(a, i), y = tensor_get_double(b, at);
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        difference += (x - y) * (x - y);
    }
    for (int64_t i = 0; i < b->count; i++) {
        const double y = tensor_get_double(b, i);
        size += isfinite(y) ? y * y : 0;
    }
    if (difference == 0)
        return 0;
    return size == 0 || isnan(difference) ? INFINITY : sqrt(difference / size);
}

static void compare_tensor(struct dump_comparison *c, struct dump_line line, const struct tensor *got,
                           const struct tensor *want)
{
    struct arena *a = &c->s->arena;
    line.remark = "";
    if (got->count == want->count && (got->count == 1 || shape_equal(&got->shape, &want->shape))) {
        line.distance = distance(got, want, false);
    } else if (shape_is_transposed(&got->shape, &want->shape)) {
        line.distance = distance(got, want, true);
        line.remark = "  (transposed in the dump)";
    } else {
        line.distance = INFINITY;
        line.remark = arena_printf(a, "  (shape %s, in the dump %s)", shape_text(a, &got->shape),
                                   shape_text(a, &want->shape));
    }
    vec_push(a, &c->lines, line);
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* Variables start from the dump's weights: a wrong start is one finding, not a reason for everything
 * after it to differ. */
static bool set_variables(struct dump_comparison *c)
{
    struct arena *a = &c->s->arena;
    c->interp = interp_new(a, c->program, ARITHMETIC_DOUBLE);
    if (!interp_init(c->interp, 0, &c->s->diag))
        return false;
    for (size_t i = 0; i < c->program->variables.count; i++) {
        const struct variable *v = c->program->variables.data[i];
        struct dump_file *f = find_file(c, v->name);
        struct tensor *t, *own = c->interp->variables[i];
        if (!f)
            continue;
        if (!read_file(c, f, &t))
            return false;
        const struct tensor *start = converted(a, t, v->dtype);
        compare_tensor(c, (struct dump_line){.kind = LINE_START, .name = v->name}, own, start);
        const bool transposed =
            !shape_equal(&own->shape, &start->shape) && shape_is_transposed(&own->shape, &start->shape);
        for (int64_t k = 0; start->dtype == own->dtype && start->count == own->count && k < own->count; k++) {
            const int64_t at = transposed ? k % own->shape.dim[1] * own->shape.dim[0] + k / own->shape.dim[1] : k;
            memcpy((char *)own->data + (size_t)k * dtype_size(own->dtype),
                   (const char *)start->data + (size_t)at * dtype_size(own->dtype), dtype_size(own->dtype));
        }
    }
    return true;
}

/* The dump's file for a value of the graph; *parameter: whose gradient it is, or NULL. */
static struct dump_file *file_of(struct dump_comparison *c, const struct value *v, const char **parameter)
{
    struct arena *a = &c->s->arena;
    *parameter = map_get(&c->parameters, v->name);
    struct dump_file *f = find_file(c, v->name);
    if (!f && *parameter)
        f = find_file(c, arena_printf(a, "%s.gradient", *parameter));
    if (!f && *parameter)
        f = find_file(c, arena_printf(a, "d_%s", *parameter));
    return f;
}

static bool run_and_compare(struct dump_comparison *c)
{
    struct arena *a = &c->s->arena;
    VEC(struct dump_file *) files = {0};
    str_list parameters = {0};
    graph_each_node(c->entry->graph, n)
        vec_each(const struct value *, v, &n->outputs) {
            const char *parameter = NULL;
            struct dump_file *f = v ? file_of(c, v, &parameter) : NULL;
            if (!f)
                continue;
            vec_push(a, &c->fetches, ((struct interp_fetch){.name = v->name}));
            vec_push(a, &files, f);
            vec_push(a, &parameters, parameter);
        }
    if (!interp_run(c->interp, c->entry, c->inputs, NULL, c->fetches.data, c->fetches.count, a, &c->s->diag))
        return false;
    for (size_t i = 0; i < c->fetches.count; i++) {
        struct tensor *want;
        if (!read_file(c, files.data[i], &want))
            return false;
        drop_step_axis(want, &c->fetches.data[i].tensor->shape);
        const struct dump_line line = {.kind = parameters.data[i] ? LINE_GRADIENT : LINE_TENSOR,
                                       .name = c->fetches.data[i].name, .parameter = parameters.data[i]};
        compare_tensor(c, line, c->fetches.data[i].tensor, want);
    }
    return true;
}

/* What the step has left in its variables, as `stepc expand` calls it. Where a node's result has that name, it has been
 * compared. */
static bool compare_updates(struct dump_comparison *c)
{
    vec_each_ptr(const struct binding, b, &c->entry->graph->bindings) {
        const struct variable *const v = b->variable;
        struct dump_file *const f = find_file(c, arena_printf(&c->s->arena, "%s.new", v->name));
        const struct tensor *const got = c->interp->variables[v->index];
        struct tensor *want;
        if (!f || f->used)
            continue;
        if (!read_file(c, f, &want))
            return false;
        drop_step_axis(want, &got->shape);
        compare_tensor(c, (struct dump_line){.kind = LINE_UPDATE, .name = v->name}, got, want);
    }
    return true;
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static bool differs(const struct dump_comparison *c, const struct dump_line *l)
{
    return !(l->distance <= c->o->rtol);
}

static void print_first(const struct dump_comparison *c, enum line_kind kind, const char *what)
{
    vec_each_ptr(const struct dump_line, l, &c->lines) {
        if (l->kind != kind || !differs(c, l))
            continue;
        print_text("first %s: '%s', relative distance %.3g%s\n", what, l->parameter ? l->parameter : l->name,
                   l->distance, l->remark);
        return;
    }
}

/* False if something differs, or nothing could be compared. */
static bool report(struct dump_comparison *c)
{
    static const char *const kinds[] = {[LINE_START] = "start", [LINE_TENSOR] = "tensor",
                                        [LINE_GRADIENT] = "gradient", [LINE_UPDATE] = "update"};
    size_t different = 0, compared = 0;
    print_first(c, LINE_GRADIENT, "parameter whose gradient differs");
    print_first(c, LINE_TENSOR, "tensor that differs");
    print_first(c, LINE_UPDATE, "variable whose value after the step differs");
    print_first(c, LINE_START, "variable that the dump starts from another value (the step was run from the dump's)");
    vec_each_ptr(const struct dump_line, l, &c->lines) {
        different += differs(c, l);
        compared += l->kind != LINE_START;
        if (!c->o->quiet || differs(c, l))
            print_text("%-6s %-9s %-40s %.3g%s\n", differs(c, l) ? "DIFFER" : "same", kinds[l->kind], l->name,
                       l->distance, l->remark);
    }
    vec_each_ptr(const struct dump_file, f, &c->files)
        if (!f->used && !c->o->quiet)
            print_text("unused %s\n", f->path);
    print_text("%zu compared, %zu differ\n", c->lines.count, different);
    if (compared == 0)
        return diag_error(&c->s->diag, NULL, "--against %s: no tensor that entry '%s' computes is there", c->o->folder,
                          c->entry->name);
    return different == 0;
}

bool compare_dump(struct session *s, const struct model *m, const struct dump_options *o)
{
    struct dump_comparison c = {.s = s, .m = m, .o = o};
    struct map fed = {0};
    if (!list_files(&c))
        return false;
    name_gradients(&c);
    return make_program(&c, &fed) && find_inputs(&c, &fed) && set_variables(&c) && run_and_compare(&c) &&
           compare_updates(&c) && report(&c);
}
