#include "model/weights.h"

#include "base/map.h"
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The part of the name that the `*` stands for, or NULL if the pattern does not match. */
static const char *matched_part(struct arena *a, const char *pattern, const char *name)
{
    const char *const star = strchr(pattern, '*');
    if (!star)
        return str_equal(pattern, name) ? "" : NULL;
    const size_t before = (size_t)(star - pattern), after = strlen(star + 1), n = strlen(name);
    if (n < before + after || strncmp(pattern, name, before) != 0 || !str_ends_with(name, star + 1))
        return NULL;
    return arena_strndup(a, name + before, n - before - after);
}

const char *weights_renamed(struct arena *a, const struct weight_options *o, const char *name, bool *used)
{
    for (size_t i = 0; i < o->renames.count; i++) {
        const char *const part = matched_part(a, o->renames.data[i].in_model, name);
        const char *const to = o->renames.data[i].in_file, *const star = strchr(to, '*');
        if (part && used)
            used[i] = true;
        if (part)
            return star ? arena_printf(a, "%.*s%s%s", (int)(star - to), to, part, star + 1) : to;
    }
    return name;
}

static bool is_transposed(const struct weight_options *o, const char *name)
{
    vec_each(const char *, pattern, &o->transpose)
        if (str_glob(pattern, name))
            return true;
    return false;
}

void weights_as_noted(struct arena *a, const struct model *m, bool squares, const struct weight_options *o,
                      struct weight_options *out)
{
    struct map listed = {.arena = a};
    *out = *o;
    out->transpose = (str_list){0};
    vec_each(const char *, pattern, &o->transpose)
        vec_push(a, &out->transpose, pattern);
    vec_each_ptr(const struct model_pair, p, &m->metadata)
        for (const char *at = p->value; str_equal(p->key, METADATA_TRANSPOSED) && *at != '\0';) {
            const size_t n = strcspn(at, "\n");
            map_set(&listed, arena_strndup(a, at, n), NULL);
            at += n + (at[n] == '\n');
        }
    vec_each(const struct model_initializer *, x, &m->graph->initializers)
        if (map_has(&listed, x->name) && x->tensor->shape.rank >= 2 &&
            (x->tensor->shape.rank > 2 || !squares || x->tensor->shape.dim[0] == x->tensor->shape.dim[1]))
            vec_push(a, &out->transpose, x->name);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Between floating types values round; between integer types each must fit. */
static bool can_convert(const struct tensor *t, enum dtype to)
{
    if (dtype_is_float(t->dtype) || dtype_is_float(to))
        return dtype_is_float(t->dtype) && dtype_is_float(to);
    if (t->dtype == DTYPE_STRING || to == DTYPE_STRING)
        return false;
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t x = tensor_get_int(t, i);
        const bool sign_kept = x >= 0 || dtype_is_signed(to) == dtype_is_signed(t->dtype);
        if (dtype_wrap(to, x) != x || !sign_kept)
            return false;
    }
    return true;
}

/* ---- from the model ---------------------------------------------------------------------------------------------- */

void weights_list(struct arena *a, const struct model *m, const struct weight_options *o, named_tensors *out)
{
    vec_each(const struct model_initializer *, x, &m->graph->initializers) {
        if (!dtype_is_float(x->tensor->dtype))
            continue;
        const bool transposes = x->tensor->shape.rank == 2 && is_transposed(o, x->name);
        const struct tensor *const t = transposes ? tensor_transposed(a, x->tensor) : x->tensor;
        vec_push(a, out, ((struct named_tensor){weights_renamed(a, o, x->name, NULL), t}));
    }
}

/* ---- into the model ---------------------------------------------------------------------------------------------- */

struct setter {
    struct diag *diag;
    struct arena *arena;
    const char *path;
    const struct weight_options *options;
    struct strbuf *report;
    struct map tensors, used; /* by name in the file; those that an initializer asked for */
    bool ok;
    size_t set;
};

static void mismatch(struct setter *s, const struct model_initializer *x, const char *text)
{
    if (s->options->partial)
        diag_warning(s->diag, &x->loc, "initializer '%s': %s", x->name, text);
    else
        s->ok = diag_error(s->diag, &x->loc, "initializer '%s': %s", x->name, text);
}

static const char *type_text(struct arena *a, const struct tensor *t)
{
    return arena_printf(a, "%s%s", dtype_name(t->dtype), shape_text(a, &t->shape));
}

/* In the shape of the model; NULL after a message. */
static const struct tensor *transpose_to_shape(struct setter *s, const struct model_initializer *x, const char *name,
                                               const struct tensor *t)
{
    struct arena *const a = s->arena;
    const bool fits_transposed = shape_is_transposed(&t->shape, &x->tensor->shape),
               forced = is_transposed(s->options, x->name);
    if (fits_transposed && (forced || !shape_equal(&t->shape, &x->tensor->shape))) {
        strbuf_addf(s->report, "transposed: '%s' %s from %s%s\n", x->name, shape_text(a, &x->tensor->shape),
                    shape_text(a, &t->shape), forced ? "" : ", since only that fits");
        return tensor_transposed(a, t);
    }
    if (shape_equal(&t->shape, &x->tensor->shape) && !(forced && t->shape.rank == 2))
        return t;
    mismatch(s, x,
             arena_printf(a, "it is %s, but '%s' of %s is %s", type_text(a, x->tensor), name, s->path,
                          type_text(a, t)));
    return NULL;
}

static void set_one(struct setter *s, struct model_initializer *x)
{
    const char *const name = weights_renamed(s->arena, s->options, x->name, NULL);
    const struct tensor *t = map_get(&s->tensors, name);
    if (!t) {
        if (dtype_is_float(x->tensor->dtype) && x->tensor->count > 1)
            mismatch(s, x, arena_printf(s->arena, "%s has no tensor '%s'", s->path, name));
        return;
    }
    map_set(&s->used, name, NULL);
    t = transpose_to_shape(s, x, name, t);
    if (!t)
        return;
    if (t->dtype != x->tensor->dtype && !can_convert(t, x->tensor->dtype)) {
        mismatch(s, x,
                 arena_printf(s->arena, "it is %s, and '%s' of %s is %s, which does not convert",
                              type_text(s->arena, x->tensor), name, s->path, type_text(s->arena, t)));
        return;
    }
    if (t->dtype != x->tensor->dtype)
        strbuf_addf(s->report, "converted: '%s' from %s to %s\n", x->name, dtype_name(t->dtype),
                    dtype_name(x->tensor->dtype));
    if (t->dtype == x->tensor->dtype) {
        x->tensor = tensor_new(s->arena, t->dtype, &t->shape);
        memcpy(x->tensor->data, t->data, tensor_bytes(t)); /* NaNs keep their bits */
    } else
        x->tensor = tensor_cast(s->arena, t, x->tensor->dtype);
    x->external_location = NULL;
    s->set++;
}

bool weights_set(struct diag *d, struct arena *a, struct model *m, const char *path, const named_tensors *tensors,
                 const struct weight_options *o, struct strbuf *report)
{
    struct setter s = {.diag = d, .arena = a, .path = path, .options = o, .report = report, .tensors.arena = a,
                       .used.arena = a, .ok = true};
    vec_each_ptr(const struct named_tensor, t, tensors)
        map_set(&s.tensors, t->name, (void *)(uintptr_t)t->tensor);
    vec_each(struct model_initializer *, x, &m->graph->initializers)
        set_one(&s, x);
    vec_each_ptr(const struct named_tensor, t, tensors)
        if (!map_has(&s.used, t->name))
            diag_warning(d, &LOC_FILE(path), "'%s' %s fits no initializer of the model by name", t->name,
                         type_text(a, t->tensor));
    if (s.ok && s.set == 0)
        return diag_error(d, &LOC_FILE(path), "none of its %zu tensors has the name of an initializer of %s",
                          tensors->count, m->file);
    strbuf_addf(report, "set: %zu initializers\n", s.set);
    return s.ok;
}
