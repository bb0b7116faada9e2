#include "cmd/feeds.h"

#include "base/str.h"
#include "cmd/files.h"
#include <string.h>

const struct model_value_info *feeds_find_input(const struct model *m, const char *name)
{
    const struct model_value_info *vi = model_find_value(&m->graph->inputs, name);
    for (size_t i = 0; i < m->training.count && !vi; i++)
        if (m->training.data[i]->algorithm)
            vi = model_find_value(&m->training.data[i]->algorithm->inputs, name);
    return vi;
}

static bool is_numeric(enum dtype d)
{
    return d != DTYPE_UNDEFINED && (DTYPES_ALL & DTYPE_BIT(d)) != 0;
}

bool feeds_convert(struct session *s, const struct model_value_info *vi, const char *text, struct tensor **t)
{
    const enum dtype from = (*t)->dtype, to = vi->type.elem;
    int64_t lost = 0;
    if (to == DTYPE_UNDEFINED || from == to)
        return true;
    if (!is_numeric(from) || !is_numeric(to))
        return diag_error(&s->diag, NULL, "%s: the file holds %s, but input '%s' is %s", text, dtype_name(from),
                          vi->name, dtype_name(to));
    struct tensor *const converted = tensor_convert(&s->arena, *t, to, &lost);
    if (!converted)
        return diag_error(&s->diag, NULL,
                          "%s: the file holds %s, but input '%s' is %s, and element %lld, %.9g, is no %s", text,
                          dtype_name(from), vi->name, dtype_name(to), (long long)lost, tensor_get_double(*t, lost),
                          dtype_name(to));
    diag_note(&s->diag, NULL, "%s: %s is converted to %s, which input '%s' is; every number has kept its value", text,
              dtype_name(from), dtype_name(to), vi->name);
    *t = converted;
    return true;
}

static bool read_feed(struct session *s, const struct model *m, const char *text, struct feed *f)
{
    const char *path, *inner;
    struct tensor *t;
    if (!file_pair(&s->arena, m, text, &f->name, &path))
        return diag_usage(&s->diag, "--feed %s: expected NAME=FILE", text);
    const struct model_value_info *vi = feeds_find_input(m, f->name);
    if (!vi)
        return diag_error(&s->diag, &LOC_FILE(m->file), "--feed %s: the model has no input '%s'", text, f->name);
    if (!tensor_file_read(&s->diag, &s->arena, path, &t, &inner) ||
        !feeds_convert(s, vi, arena_printf(&s->arena, "--feed %s", text), &t))
        return false;
    f->tensor = t;
    f->slice = t->shape;
    f->sliced = vi->type.has_shape && (int)vi->type.dims.count == t->shape.rank - 1;
    if (f->sliced && t->shape.dim[0] == 0)
        return diag_error(&s->diag, NULL, "--feed %s: the file holds %s, which is 0 steps of input '%s'", text,
                          shape_text(&s->arena, &t->shape), f->name);
    if (f->sliced) {
        f->slice.rank--;
        memmove(f->slice.dim, t->shape.dim + 1, (size_t)f->slice.rank * sizeof *f->slice.dim);
    }
    return true;
}

struct map *feeds_writable_map(struct arena *a, const struct map **m)
{
    if (!*m) {
        struct map *made = arena_new(a, struct map);
        made->arena = a;
        *m = made;
    }
    return (struct map *)(uintptr_t)*m;
}

bool feeds_have_range(const struct model *m, const char *name, const struct import_options *import)
{
    const struct model_type *const t = &feeds_find_input(m, name)->type;
    return import->range && t->has_shape && model_type_has(t, import->range->name);
}

const struct feed *feeds_find(const struct feeds *f, const char *name)
{
    vec_each_ptr(const struct feed, feed, &f->list)
        if (str_equal(feed->name, name))
            return feed;
    return NULL;
}

bool feeds_read(struct session *s, const struct model *m, str_list files, struct import_options *import,
                struct feeds *out)
{
    struct map *shapes = feeds_writable_map(&s->arena, &import->shapes),
               *fed = feeds_writable_map(&s->arena, &import->fed);
    bool ok = true;
    *out = (struct feeds){.steps = 0};
    for (size_t i = 0; i < files.count; i++) {
        struct feed f = {0};
        if (!read_feed(s, m, files.data[i], &f)) {
            ok = false;
            continue;
        }
        if (feeds_find(out, f.name)) {
            ok = diag_usage(&s->diag, "--feed %s: input '%s' is fed already", files.data[i], f.name);
            continue;
        }
        struct shape *shape = arena_new(&s->arena, struct shape);
        *shape = f.slice;
        const bool has_range = feeds_have_range(m, f.name, import); /* each step says its size */
        if (f.sliced && !has_range)
            map_set(shapes, f.name, shape);
        else if (!has_range)
            map_set(fed, f.name, (void *)(uintptr_t)f.tensor);
        if (f.sliced && out->steps && f.tensor->shape.dim[0] != out->steps)
            ok = diag_error(&s->diag, NULL, "feed '%s' has %lld steps, another has %lld", f.name,
                            (long long)f.tensor->shape.dim[0], (long long)out->steps);
        if (f.sliced)
            out->steps = f.tensor->shape.dim[0];
        vec_push(&s->arena, &out->list, f);
    }
    return ok;
}

static const struct tensor *slice_of(struct arena *a, const struct feed *f, int64_t step)
{
    if (!f->sliced)
        return f->tensor;
    struct tensor *t = arena_new(a, struct tensor);
    *t = *f->tensor;
    t->shape = f->slice;
    t->count = shape_count(&f->slice);
    t->data = (char *)f->tensor->data + (size_t)step * tensor_bytes(t);
    return t;
}

const struct tensor *feeds_tensor(const struct feeds *f, const char *name, int64_t step, struct arena *a)
{
    const struct feed *const feed = feeds_find(f, name);
    return feed ? slice_of(a, feed, step) : NULL;
}
