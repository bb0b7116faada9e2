#include "cmd/run_data.h"

#include "base/str.h"
#include "cmd/feeds.h"
#include "cmd/files.h"
#include "stepc_random.h"
#include <string.h>

/* Permutations have a random stream of their own: nodes are numbered from 0. */
#define SHUFFLE_STREAM 0xFFFFFFFFu

/* ---- reading ----------------------------------------------------------------------------------------------------- */

const struct data_set *data_find(const struct data *d, const char *name)
{
    vec_each_ptr(const struct data_set, set, &d->list)
        if (str_equal(set->name, name))
            return set;
    return NULL;
}

/* All but the leading axis must be as declared, where it is declared. */
static bool check_type(struct session *s, const struct model_value_info *vi, const char *text, const struct tensor *t)
{
    const struct model_type *type = &vi->type;
    struct arena *a = &s->arena;
    if (t->shape.rank == 0 || (type->has_shape && type->dims.count == 0))
        return diag_error(&s->diag, NULL, "%s: %s has no leading axis that could count samples", text,
                          t->shape.rank == 0 ? "the file" : "the input");
    bool fits = !type->has_shape || type->dims.count == (size_t)t->shape.rank;
    for (size_t k = 1; fits && type->has_shape && k < type->dims.count; k++)
        fits = type->dims.data[k].value < 0 || type->dims.data[k].value == t->shape.dim[k];
    if (!fits)
        return diag_error(&s->diag, NULL, "%s: the file holds %s, but input '%s' is %s, a batch first", text,
                          shape_text(a, &t->shape), vi->name, model_dims_text(a, type->dims.data, type->dims.count));
    if (t->shape.dim[0] > INT32_MAX || shape_count_range(&t->shape, 1, t->shape.rank) == 0 || t->dtype == DTYPE_STRING)
        return diag_error(&s->diag, NULL, "%s: %s %s is no data set", text, dtype_name(t->dtype),
                          shape_text(a, &t->shape));
    return true;
}

static bool read_set(struct session *s, const struct model *m, const char *option, const char *pair, struct data *out)
{
    const char *path, *inner, *text = arena_printf(&s->arena, "--%s %s", option, pair);
    struct data_set set = {0};
    struct tensor *t;
    if (!file_pair(&s->arena, m, pair, &set.name, &path))
        return diag_usage(&s->diag, "%s: expected NAME=FILE", text);
    const struct model_value_info *vi = feeds_find_input(m, set.name);
    if (!vi)
        return diag_error(&s->diag, &LOC_FILE(m->file), "%s: the model has no input '%s'", text, set.name);
    if (data_find(out, set.name))
        return diag_usage(&s->diag, "%s: input '%s' has its data already", text, set.name);
    if (!tensor_file_read(&s->diag, &s->arena, path, &t, &inner) || !feeds_convert(s, vi, text, &t) ||
        !check_type(s, vi, text, t))
        return false;
    if (out->list.count && out->samples != t->shape.dim[0])
        return diag_error(&s->diag, NULL, "%s: the file holds %lld samples, '%s' has %lld", text,
                          (long long)t->shape.dim[0], out->list.data[0].name, (long long)out->samples);
    out->samples = t->shape.dim[0];
    set.tensor = t;
    set.batch_shape = t->shape;
    vec_push(&s->arena, &out->list, set);
    return true;
}

/* ---- the batch --------------------------------------------------------------------------------------------------- */

/* What the model or --dim says about the leading size of an input; 0: nothing. */
static int64_t declared_batch(const struct model *m, const char *input, const struct import_options *import)
{
    const struct model_type *type = &feeds_find_input(m, input)->type;
    if (!type->has_shape)
        return 0;
    const struct model_dim *dim = &type->dims.data[0];
    if (dim->value >= 0)
        return dim->value;
    const int64_t *size = dim->param[0] && import->dims ? map_get(import->dims, dim->param) : NULL;
    return size ? *size : 0;
}

static bool settle_batch(struct session *s, const struct model *m, const char *option, int64_t wanted,
                         const struct import_options *import, struct data *d)
{
    d->batch = wanted;
    vec_each_ptr(const struct data_set, set, &d->list) {
        const char *name = set->name;
        const bool is_open = wanted > 0 && feeds_have_range(m, name, import);
        const int64_t declared = is_open ? 0 : declared_batch(m, name, import);
        if (declared && d->batch && declared != d->batch)
            return diag_error(&s->diag, &LOC_FILE(m->file), "input '%s' takes batches of %lld, not of %lld", name,
                              (long long)declared, (long long)d->batch);
        if (declared)
            d->batch = declared;
    }
    if (d->batch == 0)
        return diag_error(&s->diag, &LOC_FILE(m->file), "the model leaves the size of a batch open; give --batch N");
    d->batches = d->samples / d->batch;
    if (d->batches == 0)
        return diag_error(&s->diag, NULL, "--%s: %lld samples do not fill one batch of %lld", option,
                          (long long)d->samples, (long long)d->batch);
    return true;
}

bool data_read(struct session *s, const struct model *m, const char *option, str_list files, int64_t batch,
               struct import_options *import, struct data *out)
{
    struct map *shapes = feeds_writable_map(&s->arena, &import->shapes);
    bool ok = true;
    *out = (struct data){.samples = 0};
    vec_each(const char *, file, &files)
        ok &= read_set(s, m, option, file, out);
    if (!ok || files.count == 0)
        return ok;
    if (!settle_batch(s, m, option, batch, import, out))
        return false;
    vec_each_ptr(struct data_set, set, &out->list) {
        const struct shape *known = map_get(shapes, set->name);
        set->batch_shape.dim[0] = out->batch;
        if (known && !shape_equal(known, &set->batch_shape))
            return diag_error(&s->diag, NULL, "--%s: a batch of '%s' is %s, elsewhere %s", option, set->name,
                              shape_text(&s->arena, &set->batch_shape), shape_text(&s->arena, known));
        if (!feeds_have_range(m, set->name, import))
            map_set(shapes, set->name, &set->batch_shape);
    }
    return true;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

void data_order(const struct data *d, const uint64_t *shuffle_seed, int64_t epoch, int64_t *order)
{
    for (int64_t i = 0; i < d->samples; i++)
        order[i] = i;
    for (int64_t i = d->samples - 1; shuffle_seed && i > 0; i--) {
        uint32_t word[4];
        stepc_philox(*shuffle_seed, (uint64_t)epoch, SHUFFLE_STREAM, (uint32_t)i, word);
        /* 64 random bits against at most 2^31 samples: the remainder's bias is below 2^-33. */
        const int64_t j = (int64_t)(((uint64_t)word[0] << 32 | word[1]) % (uint64_t)(i + 1));
        const int64_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

const struct tensor *data_batch(const struct data *d, const char *name, const int64_t *order, int64_t batch,
                                struct arena *a)
{
    const struct data_set *set = data_find(d, name);
    if (!set)
        return NULL;
    struct tensor *t = tensor_new(a, set->tensor->dtype, &set->batch_shape);
    const size_t row = tensor_bytes(t) / (size_t)d->batch;
    for (int64_t i = 0; i < d->batch; i++)
        memcpy((char *)t->data + (size_t)i * row,
               (const char *)set->tensor->data + (size_t)order[batch * d->batch + i] * row, row);
    return t;
}
