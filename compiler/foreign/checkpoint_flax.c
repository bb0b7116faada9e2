/* What is what in a file of flax.serialization.to_bytes: a tree of maps with arrays at its ends. A TrainState has
 * `params`, `opt_state` and `step`; what an optimizer of optax keeps stands in maps by the names of its fields, each a
 * tree like that of the parameters. Which optimizer it was is not in it.
 * Spec: flax/serialization.py, flax/training/train_state.py, optax/_src/transform.py. */
#include "foreign/bundle.h"
#include "foreign/checkpoint_internal.h"
#include "foreign/msgpack.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

#define CHUNKED "__msgpack_chunked_array__"

enum {
    MOST_VALUES = 4 << 20, /* an honest file has some thousand */
    MOST_NAME = 1024,
    MOST_NAMES = 16 << 20, /* bytes of all names, and as many times the file as follows: they share beginnings */
    MOST_NAMES_TIMES = 4,
    MOST_CHUNKS = 1000, /* of 1 GiB */
    NDARRAY = 1,
    SCALAR = 3 /* of numpy: an array of rank 0 */
};

struct flax {
    struct checkpoint_reader *r;
    struct arena *arena;
    size_t left;           /* values */
    size_t names_left;     /* bytes that names may still take */
    struct map names;      /* of tensors */
    struct map parameters; /* path in the optimizer's tree -> index + 1 */
    const char *base;      /* what stands in front of `opt_state`: "", "model/" */
    bool has_squares;      /* it scales by a mean of squares without counting: RMSprop */
};

static bool is_map(const struct msgpack_value *v)
{
    return v && v->kind == MSGPACK_MAP;
}

static void add_rest(struct flax *f, const char *name, const char *what)
{
    vec_push(f->arena, &f->r->to->rest, arena_printf(f->arena, "'%s' (%s)", name, what));
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum dtype dtype;
} types[] = {
    {"float32", DTYPE_FLOAT},
    {"float64", DTYPE_DOUBLE},
    {"float16", DTYPE_FLOAT16},
    {"bfloat16", DTYPE_BFLOAT16},
    {"int64", DTYPE_INT64},
    {"int32", DTYPE_INT32},
    {"int16", DTYPE_INT16},
    {"int8", DTYPE_INT8},
    {"uint64", DTYPE_UINT64},
    {"uint32", DTYPE_UINT32},
    {"uint16", DTYPE_UINT16},
    {"uint8", DTYPE_UINT8},
    {"bool", DTYPE_BOOL},
    {"complex64", DTYPE_COMPLEX64},
    {"complex128", DTYPE_COMPLEX128},
    {"float8_e5m2", DTYPE_FLOAT8E5M2},
    {"float8_e4m3fn", DTYPE_FLOAT8E4M3FN},
};

static bool find_type(const struct msgpack_value *v, enum dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (v->size == strlen(types[i].name) && memcmp(v->bytes, types[i].name, v->size) == 0) {
            *out = types[i].dtype;
            return true;
        }
    return false;
}

static bool add_dim(const struct msgpack_value *v, struct shape *s)
{
    if (v->kind != MSGPACK_INT || v->i < 0 || s->rank == SHAPE_MAX_RANK)
        return false;
    s->dim[s->rank++] = v->i;
    return true;
}

static bool wrong_array(struct flax *f, const char *name, const char *text)
{
    return diag_error(f->r->diag, &f->r->loc, "array '%s' %s", name, text);
}

/* (shape, name of the type, bytes), packed once more. *out: NULL for a type that is not read, which is listed. */
static bool read_array(struct flax *f, const char *name, const struct msgpack_value *v, struct tensor **out)
{
    struct msgpack_value *parts;
    struct shape shape = {.rank = 0};
    enum dtype dtype = DTYPE_UNDEFINED;
    int64_t count;
    size_t bytes;
    *out = NULL;
    if (!msgpack_parse(f->r->diag, f->arena, &f->r->loc, v->bytes, v->size, &f->left, &parts))
        return false;
    if (parts->kind != MSGPACK_LIST || parts->items.count != 3)
        return wrong_array(f, name, "is no shape, type and bytes");
    const struct msgpack_value *const dims = parts->items.data[0], *const type = parts->items.data[1],
                                      *const content = parts->items.data[2];
    if (dims->kind != MSGPACK_LIST || (type->kind != MSGPACK_TEXT && type->kind != MSGPACK_BYTES) ||
        (content->kind != MSGPACK_BYTES && content->kind != MSGPACK_TEXT))
        return wrong_array(f, name, "is no shape, type and bytes");
    for (size_t i = 0; i < dims->items.count; i++)
        if (!add_dim(dims->items.data[i], &shape))
            return wrong_array(f, name, "has a shape that is no list of at most 12 sizes");
    if (!find_type(type, &dtype)) {
        add_rest(f, name, "of a type that is not read");
        return true;
    }
    if (!shape_count_checked(&shape, &count) || !checked_mul_size((size_t)count, dtype_size(dtype), &bytes) ||
        bytes != content->size)
        return diag_error(f->r->diag, &f->r->loc, "array '%s' %s%s does not fit its %zu bytes", name, dtype_name(dtype),
                          shape_text(f->arena, &shape), content->size);
    *out = tensor_new(f->arena, dtype, &shape);
    if (bytes > 0)
        memcpy((*out)->data, content->bytes, bytes);
    tensor_to_native(*out);
    return true;
}

/* Item number i of a tuple, which flax has as a map of "0", "1"... */
static const struct msgpack_value *item(const struct msgpack_value *tuple, size_t i)
{
    char key[32];
    snprintf(key, sizeof key, "%zu", i);
    return msgpack_get(tuple, key);
}

/* Arrays above 1 GiB: {shape: (...), chunks: (flat arrays...)} */
static bool read_chunks(struct flax *f, const char *name, const struct msgpack_value *v, struct tensor **out)
{
    const struct msgpack_value *const dims = msgpack_get(v, "shape"), *const chunks = msgpack_get(v, "chunks");
    struct shape shape = {.rank = 0};
    VEC(struct tensor *) parts = {0};
    int64_t count, sum = 0;
    *out = NULL;
    if (!is_map(dims) || !is_map(chunks) || dims->items.count > 2 * SHAPE_MAX_RANK || chunks->items.count < 2 ||
        chunks->items.count > 2 * MOST_CHUNKS)
        return wrong_array(f, name, "is in chunks, but has no shape or no chunks");
    for (size_t i = 0; i < dims->items.count / 2; i++)
        if (!item(dims, i) || !add_dim(item(dims, i), &shape))
            return wrong_array(f, name, "has a shape that is no list of at most 12 sizes");
    for (size_t i = 0; i < chunks->items.count / 2; i++) {
        const struct msgpack_value *const chunk = item(chunks, i);
        struct tensor *t;
        if (!chunk || chunk->kind != MSGPACK_EXTENSION || chunk->type != NDARRAY)
            return wrong_array(f, name, "has a chunk that is no array");
        if (!read_array(f, name, chunk, &t))
            return false;
        if (!t || t->shape.rank != 1 || t->dtype != (parts.count > 0 ? parts.data[0]->dtype : t->dtype))
            return wrong_array(f, name, "has chunks of different kinds");
        sum += t->count;
        vec_push(f->arena, &parts, t);
    }
    if (!shape_count_checked(&shape, &count) || count != sum)
        return wrong_array(f, name, "has chunks that do not fit its shape");
    *out = tensor_new(f->arena, parts.data[0]->dtype, &shape);
    size_t at = 0;
    vec_each(struct tensor *, t, &parts) {
        if (t->count > 0)
            memcpy((unsigned char *)(*out)->data + at, t->data, tensor_bytes(t));
        at += tensor_bytes(t);
    }
    return true;
}

static bool is_array(const struct msgpack_value *v)
{
    return (v->kind == MSGPACK_EXTENSION && (v->type == NDARRAY || v->type == SCALAR)) || msgpack_get(v, CHUNKED);
}

static bool read_tensor(struct flax *f, const char *name, const struct msgpack_value *v, struct tensor **out)
{
    return msgpack_get(v, CHUNKED) ? read_chunks(f, name, v, out) : read_array(f, name, v, out);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* "params" + "/" + key; NULL after an error. */
static const char *joined(struct flax *f, const char *path, const struct msgpack_value *key)
{
    if (key->kind != MSGPACK_TEXT && key->kind != MSGPACK_INT) {
        diag_error(f->r->diag, &f->r->loc, "a key below '%s' is no text", path);
        return NULL;
    }
    const bool is_text = key->kind == MSGPACK_TEXT;
    const char *const text = is_text ? (const char *)key->bytes : arena_printf(f->arena, "%lld", (long long)key->i);
    const size_t length = is_text ? key->size : strlen(text), before = strlen(path);
    if (length > MOST_NAME - before || memchr(text, 0, length)) {
        diag_error(f->r->diag, &f->r->loc, "a key below '%s' has a NUL, or makes a name of more than %d bytes", path,
                   MOST_NAME);
        return NULL;
    }
    if (before + length + 2 > f->names_left) {
        diag_error(f->r->diag, &f->r->loc, "its names are larger than those of an honest one");
        return NULL;
    }
    f->names_left -= before + length + 2;
    return before == 0 ? arena_strndup(f->arena, text, length)
                       : arena_printf(f->arena, "%s/%.*s", path, (int)length, text);
}

static const char *last_of(const char *name)
{
    const char *const slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* A number at an end of the tree, NAN for anything else; arrays of one element, too. */
static bool number_at(struct flax *f, const char *name, const struct msgpack_value *v, double *out)
{
    struct tensor *t;
    *out = NAN;
    if (v->kind == MSGPACK_INT || v->kind == MSGPACK_BOOL)
        *out = (double)v->i;
    else if (v->kind == MSGPACK_FLOAT)
        *out = v->number;
    else if (is_array(v)) {
        if (!read_tensor(f, name, v, &t))
            return false;
        if (t && t->count == 1 && (dtype_is_float(t->dtype) || dtype_is_int(t->dtype)))
            *out = tensor_get_double(t, 0);
    }
    return true;
}

/* ---- the optimizer ----------------------------------------------------------------------------------------------- */

static struct checkpoint_parameter *parameter(struct flax *f, const char *path)
{
    struct checkpoint *const c = f->r->to;
    if (!map_has(&f->parameters, path)) {
        vec_push(f->arena, &c->parameters, ((struct checkpoint_parameter){.name = path, .steps = NAN}));
        c->groups.data[0].count++;
        map_set(&f->parameters, path, (void *)(uintptr_t)c->parameters.count);
    }
    return &c->parameters.data[(size_t)(uintptr_t)map_get(&f->parameters, path) - 1];
}

/* A tree like that of the parameters, below `path` within it. */
static bool add_states(struct flax *f, const char *whole, const char *path, const struct msgpack_value *v,
                       const char *key, double steps)
{
    struct tensor *t;
    if (is_map(v) && !is_array(v)) {
        for (size_t i = 0; i < v->items.count; i += 2) {
            const char *const name = joined(f, path, v->items.data[i]);
            if (!name || !add_states(f, whole, name, v->items.data[i + 1], key, steps))
                return false;
        }
        return true;
    }
    if (v->kind == MSGPACK_NIL)
        return true;
    const char *const name = arena_printf(f->arena, "%s/%s", whole, path);
    if (!is_array(v)) {
        add_rest(f, name, "no array");
        return true;
    }
    if (!read_tensor(f, name, v, &t))
        return false;
    if (!t)
        return true;
    struct checkpoint_parameter *const p = parameter(f, path);
    vec_each_ptr(const struct named_tensor, known, &p->state)
        if (str_equal(known->name, key)) {
            add_rest(f, name, "a second of its kind");
            return true;
        }
    vec_push(f->arena, &p->state, ((struct named_tensor){key, t}));
    p->steps = isnan(p->steps) ? steps : p->steps;
    return true;
}

/* Which fields a state of optax has beside each other: Adam counts, and RMSprop mostly does not. */
struct fields {
    bool counts, means, squares;
};

/* What a field is: PyTorch's key; NULL: none, or no field that has a tree. */
static const char *field_key(const struct flax *f, const struct fields *has, const char *field)
{
    if (str_equal(field, "mu"))
        return has->squares && !has->counts ? "grad_avg" : "exp_avg";
    if (str_equal(field, "nu"))
        return has->means && has->counts ? "exp_avg_sq" : "square_avg";
    if (str_equal(field, "trace"))
        return f->has_squares ? NULL : "momentum_buffer";
    return str_equal(field, "sum_of_squares") ? "sum" : NULL;
}

/* optax.inject_hyperparams */
static bool add_hyperparameters(struct flax *f, const char *path, const struct msgpack_value *v)
{
    static const struct {
        const char *theirs, *key;
    } keys[] = {{"learning_rate", "lr"}, {"b1", "beta1"},          {"b2", "beta2"},
                {"eps", "eps"},          {"momentum", "momentum"}, {"weight_decay", "weight_decay"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct msgpack_value *const x = msgpack_get(v, keys[i].theirs);
        double number;
        if (x && !number_at(f, path, x, &number))
            return false;
        if (x && !isnan(number))
            vec_push(f->arena, &f->r->to->groups.data[0].numbers, ((struct checkpoint_number){keys[i].key, number}));
    }
    return true;
}

static bool add_end(struct flax *f, const char *name, const struct msgpack_value *v)
{
    double x;
    if (v->kind == MSGPACK_NIL)
        return true;
    if (!number_at(f, name, v, &x))
        return false;
    add_rest(f, name, isnan(x) ? "not taken" : arena_printf(f->arena, "%g", x));
    return true;
}

/* A state of optax, or a chain of them. */
static bool add_optimizer(struct flax *f, const char *path, const struct msgpack_value *v)
{
    const struct msgpack_value *const count = msgpack_get(v, "count");
    double steps = NAN;
    if (count && !number_at(f, path, count, &steps))
        return false;
    if (!isnan(steps) && !(f->r->to->steps >= steps))
        f->r->to->steps = steps;
    const struct fields has = {count != NULL, msgpack_get(v, "mu") != NULL, msgpack_get(v, "nu") != NULL};
    f->has_squares = f->has_squares || (has.squares && !(has.counts && has.means));
    for (size_t i = 0; i < v->items.count; i += 2) {
        const struct msgpack_value *const x = v->items.data[i + 1];
        const char *const name = joined(f, path, v->items.data[i]);
        if (!name)
            return false;
        const char *const field = last_of(name), *const key = field_key(f, &has, field);
        const bool is_tree = is_map(x) && !is_array(x);
        bool ok = true;
        if (x == count)
            continue;
        if (key && is_tree)
            ok = add_states(f, name, "", x, key, steps);
        else if (str_equal(field, "hyperparams") && is_tree)
            ok = add_hyperparameters(f, name, x);
        else if (str_equal(field, "trace") && f->has_squares)
            add_rest(f, name, "RMSprop's momentum, which has the learning rate in it");
        else if (is_tree && str_equal(field, "nu_max"))
            add_rest(f, name, "AMSGrad's, which optax corrects by the step before it takes the largest");
        else if (is_tree)
            ok = add_optimizer(f, name, x);
        else
            ok = add_end(f, name, x);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static bool add_weight(struct flax *f, const char *name, const struct msgpack_value *v)
{
    struct tensor *t;
    if (!read_tensor(f, name, v, &t))
        return false;
    if (!t)
        return true;
    if (map_has(&f->names, name))
        return diag_error(f->r->diag, &f->r->loc, "two of its arrays are called '%s'", name);
    map_set(&f->names, name, NULL);
    if (t->count == 1 && dtype_is_int(t->dtype)) {
        if (str_equal(last_of(name), "step") && !(f->r->to->steps >= tensor_get_double(t, 0)))
            f->r->to->steps = tensor_get_double(t, 0);
        else if (!str_equal(last_of(name), "step"))
            add_rest(f, name, arena_printf(f->arena, "%g", tensor_get_double(t, 0)));
        return true;
    }
    vec_push(f->arena, &f->r->to->weights, ((struct named_tensor){name, t}));
    return true;
}

static bool add_tree(struct flax *f, const char *path, const struct msgpack_value *v)
{
    struct checkpoint *const c = f->r->to;
    for (size_t i = 0; i < v->items.count; i += 2) {
        const struct msgpack_value *const x = v->items.data[i + 1];
        const char *const name = joined(f, path, v->items.data[i]);
        double number;
        if (!name)
            return false;
        if (is_array(x)) {
            if (!add_weight(f, name, x))
                return false;
        } else if (is_map(x) && str_equal(last_of(name), "opt_state") && !c->has_optimizer) {
            c->has_optimizer = c->anonymous = true;
            f->base = path[0] == '\0' ? "" : arena_printf(f->arena, "%s/", path);
            vec_push(f->arena, &c->groups, ((struct checkpoint_group){0}));
            if (!add_optimizer(f, name, x))
                return false;
        } else if (is_map(x)) {
            if (!add_tree(f, name, x))
                return false;
        } else if (x->kind == MSGPACK_INT && str_equal(last_of(name), "step")) {
            c->steps = !(c->steps >= (double)x->i) ? (double)x->i : c->steps;
        } else if (x->kind != MSGPACK_NIL) {
            if (!number_at(f, name, x, &number))
                return false;
            add_rest(f, name, isnan(number) ? "no array" : arena_printf(f->arena, "%g", number));
        }
    }
    return true;
}

/* The optimizer has the tree of `params`, or of what stands in it. */
static void name_parameters(struct flax *f)
{
    static const char *const roots[] = {"params/", "params/params/", ""};
    vec_each_ptr(struct checkpoint_parameter, p, &f->r->to->parameters)
        for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
            const char *const name = arena_printf(f->arena, "%s%s%s", f->base, roots[i], p->name);
            if (map_has(&f->names, name)) {
                p->name = name;
                break;
            }
        }
}

/* Without the names of collections, if that leaves no two the same: "Dense_0/kernel" for "params/Dense_0/kernel". */
static void add_other_names(struct flax *f)
{
    static const char *const collections[] = {"params/", "batch_stats/"};
    struct checkpoint *const c = f->r->to;
    struct map seen = {.arena = f->arena};
    str_list others = {0};
    vec_each_ptr(const struct named_tensor, t, &c->weights) {
        const char *name = str_starts_with(t->name, f->base) ? t->name + strlen(f->base) : t->name;
        for (size_t i = 0; i < 2; i++)
            while (str_starts_with(name, collections[i]))
                name += strlen(collections[i]);
        if (name[0] == '\0' || map_has(&seen, name))
            return;
        map_set(&seen, name, NULL);
        vec_push(f->arena, &others, name);
    }
    c->other_names = others;
}

bool checkpoint_add_flax(struct checkpoint_reader *r, const unsigned char *bytes, size_t size)
{
    struct flax f = {.r = r,
                     .arena = r->arena,
                     .left = MOST_VALUES,
                     .names_left =
                         MOST_NAMES + (size < SIZE_MAX / 2 / MOST_NAMES_TIMES ? size * MOST_NAMES_TIMES : SIZE_MAX / 2),
                     .names.arena = r->arena,
                     .parameters.arena = r->arena,
                     .base = ""};
    struct msgpack_value *root;
    if (!msgpack_parse(r->diag, r->arena, &r->loc, bytes, size, &f.left, &root))
        return false;
    if (!is_map(root) || is_array(root))
        return diag_error(r->diag, &r->loc, "no file of flax.serialization.to_bytes: it is no map of names");
    r->to->channels_last = r->to->turned_around = true;
    r->to->other_names = (str_list){0};
    if (!add_tree(&f, "", root))
        return false;
    name_parameters(&f);
    add_other_names(&f);
    return true;
}
