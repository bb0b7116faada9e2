#include "model/safetensors.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/str.h"
#include "model/model_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MOST_HEADER = 100 << 20 }; /* the bound of the format's own reader */

static const struct {
    const char *name;
    enum dtype dtype;
} types[] = {
    {"F64", DTYPE_DOUBLE}, {"F32", DTYPE_FLOAT},            {"F16", DTYPE_FLOAT16},        {"BF16", DTYPE_BFLOAT16},
    {"I64", DTYPE_INT64},  {"I32", DTYPE_INT32},            {"I16", DTYPE_INT16},          {"I8", DTYPE_INT8},
    {"U64", DTYPE_UINT64}, {"U32", DTYPE_UINT32},           {"U16", DTYPE_UINT16},         {"U8", DTYPE_UINT8},
    {"BOOL", DTYPE_BOOL},  {"F8_E4M3", DTYPE_FLOAT8E4M3FN}, {"F8_E5M2", DTYPE_FLOAT8E5M2},
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct header_parser {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    const unsigned char *values;
    size_t size; /* of the values */
};

/* Where one tensor's values lie, to find holes. */
struct tensor_span {
    size_t begin, end;
    const char *name;
};
typedef VEC(struct tensor_span) span_list;

static bool find_type(struct header_parser *p, const char *name, const json_t *tensor, enum dtype *out)
{
    const char *const text = json_string_value(json_object_get(tensor, "dtype"));
    for (size_t i = 0; text && i < TYPES; i++)
        if (str_equal(types[i].name, text)) {
            *out = types[i].dtype;
            return true;
        }
    return diag_error(p->diag, &p->loc, "tensor '%s': dtype '%s' is none that can be read", name,
                      text ? arena_strdup(p->arena, text) : "");
}

static bool find_shape(struct header_parser *p, const char *name, const json_t *tensor, struct shape *out)
{
    const json_t *const list = json_object_get(tensor, "shape");
    const size_t rank = json_array_size(list);
    *out = (struct shape){.rank = 0};
    if (!json_is_array(list) || rank > SHAPE_MAX_RANK)
        return diag_error(p->diag, &p->loc, "tensor '%s': its shape is no list of at most %d numbers", name,
                          SHAPE_MAX_RANK);
    out->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *const x = json_array_get(list, i);
        if (!json_is_integer(x) || json_integer_value(x) < 0)
            return diag_error(p->diag, &p->loc, "tensor '%s': dimension %zu is no size", name, i);
        out->dim[i] = json_integer_value(x);
    }
    return true;
}

static bool find_span(struct header_parser *p, const char *name, const json_t *tensor, struct tensor_span *out)
{
    const json_t *const list = json_object_get(tensor, "data_offsets");
    const json_t *const first = json_array_get(list, 0), *const last = json_array_get(list, 1);
    if (json_array_size(list) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
        json_integer_value(first) < 0 || json_integer_value(last) < json_integer_value(first))
        return diag_error(p->diag, &p->loc, "tensor '%s': data_offsets are no two ascending numbers", name);
    if ((uint64_t)json_integer_value(last) > p->size)
        return diag_error(p->diag, &p->loc, "tensor '%s': its values end at byte %lld, but the file holds %zu", name,
                          (long long)json_integer_value(last), p->size);
    *out = (struct tensor_span){(size_t)json_integer_value(first), (size_t)json_integer_value(last), name};
    return true;
}

static bool read_one_tensor(struct header_parser *p, const char *name, const json_t *json, named_tensors *out,
                            span_list *spans)
{
    enum dtype dtype = DTYPE_UNDEFINED;
    struct shape shape;
    struct tensor_span span;
    int64_t count;
    size_t bytes = 0;
    if (!json_is_object(json))
        return diag_error(p->diag, &p->loc, "tensor '%s': no description", name);
    if (!find_type(p, name, json, &dtype) || !find_shape(p, name, json, &shape) || !find_span(p, name, json, &span))
        return false;
    if (!shape_count_checked(&shape, &count) || !checked_mul_size((size_t)count, dtype_size(dtype), &bytes) ||
        bytes != span.end - span.begin)
        return diag_error(p->diag, &p->loc, "tensor '%s' %s%s does not fit its %zu bytes", name, dtype_name(dtype),
                          shape_text(p->arena, &shape), span.end - span.begin);
    struct tensor *const t = tensor_new(p->arena, dtype, &shape);
    copy_little_endian(t->data, p->values + span.begin, (size_t)count, dtype_size(dtype));
    for (size_t i = 0; dtype == DTYPE_BOOL && i < bytes; i++)
        ((unsigned char *)t->data)[i] = ((unsigned char *)t->data)[i] != 0;
    vec_push(p->arena, out, ((struct named_tensor){name, t}));
    vec_push(p->arena, spans, span);
    return true;
}

static int by_place(const void *x, const void *y)
{
    const struct tensor_span *const a = x, *const b = y;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* What lies between tensors could hide anything, and what overlaps is a forgery. */
static bool check_spans(struct header_parser *p, span_list *spans)
{
    size_t at = 0;
    if (spans->count > 0)
        qsort(spans->data, spans->count, sizeof *spans->data, by_place);
    vec_each_ptr(const struct tensor_span, s, spans) {
        if (s->begin != at)
            return diag_error(p->diag, &p->loc, "tensor '%s': its values begin at byte %zu, %s byte %zu", s->name,
                              s->begin, s->begin < at ? "but those before it end at" : "expected", at);
        at = s->end;
    }
    return at == p->size ||
           diag_error(p->diag, &p->loc, "%zu bytes behind the last tensor belong to none", p->size - at);
}

static bool read_tensors(struct header_parser *p, json_t *root, named_tensors *out)
{
    const char *key;
    json_t *value;
    span_list spans = {0};
    bool ok = true;
    json_object_foreach(root, key, value)
        if (!str_equal(key, "__metadata__"))
            ok = read_one_tensor(p, arena_strdup(p->arena, key), value, out, &spans) && ok;
    return ok && check_spans(p, &spans);
}

bool safetensors_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                       named_tensors *out)
{
    struct header_parser p = {.diag = d, .arena = a, .loc = LOC_FILE(path)};
    json_error_t fault;
    uint64_t length = 0;
    *out = (named_tensors){0};
    for (size_t i = 0; i < LENGTH_BYTES && size >= LENGTH_BYTES; i++)
        length |= (uint64_t)bytes[i] << (8 * i);
    if (size < LENGTH_BYTES || length > MOST_HEADER || length > size - LENGTH_BYTES)
        return diag_error(d, &p.loc, "no .safetensors file: its header does not fit the file");
    json_t *const root = json_loadb((const char *)bytes + LENGTH_BYTES, (size_t)length, JSON_REJECT_DUPLICATES, &fault);
    if (!root)
        return diag_error(d, &p.loc, "the header is no JSON: %s", arena_strdup(a, fault.text));
    p.values = bytes + LENGTH_BYTES + length;
    p.size = size - LENGTH_BYTES - (size_t)length;
    const bool ok =
        json_is_object(root) ? read_tensors(&p, root, out) : diag_error(d, &p.loc, "the header is no JSON object");
    json_decref(root);
    return ok;
}

bool safetensors_read(struct diag *d, struct arena *a, const char *path, named_tensors *out)
{
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const bool ok = file_read(d, &scratch, path, FILE_MAX_BYTES, &bytes, &size) &&
                    safetensors_parse(d, a, path, bytes, size, out);
    arena_free(&scratch);
    return ok;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const char *type_name(enum dtype dtype)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return NULL;
}

static json_t *describe(const struct tensor *t, size_t begin)
{
    json_t *const shape = json_array();
    for (int i = 0; i < t->shape.rank; i++)
        json_array_append_new(shape, json_integer(t->shape.dim[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_name(t->dtype), "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)(begin + tensor_bytes(t)));
}

/* The tensors by size of their elements. */
static named_tensors in_order_of_width(struct arena *a, const named_tensors *tensors)
{
    named_tensors out = {0};
    for (size_t width = 8; width > 0; width /= 2)
        vec_each(const struct named_tensor, x, tensors)
            if (dtype_size(x.tensor->dtype) == width)
                vec_push(a, &out, x);
    return out;
}

static bool check_types(struct diag *d, const char *path, const named_tensors *tensors)
{
    bool ok = true;
    vec_each_ptr(const struct named_tensor, x, tensors)
        if (!type_name(x->tensor->dtype))
            ok = diag_error(d, &LOC_FILE(path), "'%s' is %s, which the format does not have", x->name,
                            dtype_name(x->tensor->dtype));
    return ok;
}

/* The header with what fills it up; NULL after an error. *size: of the values. */
static const char *make_header(struct diag *d, struct arena *a, const char *path, const named_tensors *ordered,
                               size_t *size)
{
    json_t *const root = json_object();
    struct strbuf text = {.arena = a};
    bool ok = true;
    *size = 0;
    for (size_t i = 0; i < ordered->count && ok; i++) {
        const struct named_tensor *const x = &ordered->data[i];
        if (str_equal(x->name, "__metadata__") || json_object_get(root, x->name))
            ok = diag_error(d, &LOC_FILE(path), "'%s' cannot be the name of a tensor there, or not of two", x->name);
        else if (json_object_set_new(root, x->name, describe(x->tensor, *size)) != 0)
            ok = diag_error(d, &LOC_FILE(path), "'%s' cannot be a name in JSON", x->name);
        *size += tensor_bytes(x->tensor);
    }
    char *const json = ok ? json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (!json)
        return NULL;
    strbuf_add(&text, json);
    free(json);
    while (text.length % 8 != 0)
        strbuf_add(&text, " ");
    return strbuf_text(&text);
}

bool safetensors_encode(struct diag *d, struct arena *a, const char *path, const named_tensors *tensors,
                        unsigned char **bytes, size_t *size)
{
    size_t values;
    if (!check_types(d, path, tensors))
        return false;
    const named_tensors ordered = in_order_of_width(a, tensors);
    const char *const header = make_header(d, a, path, &ordered, &values);
    if (!header)
        return false;
    const size_t length = strlen(header);
    *size = LENGTH_BYTES + length + values;
    *bytes = arena_array(a, unsigned char, *size);
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        (*bytes)[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(*bytes + LENGTH_BYTES, header, length);
    unsigned char *to = *bytes + LENGTH_BYTES + length;
    vec_each_ptr(const struct named_tensor, x, &ordered) {
        copy_little_endian(to, x->tensor->data, (size_t)x->tensor->count, dtype_size(x->tensor->dtype));
        to += tensor_bytes(x->tensor);
    }
    return true;
}

bool safetensors_write(struct diag *d, const char *path, const named_tensors *tensors)
{
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const bool ok = safetensors_encode(d, &scratch, path, tensors, &bytes, &size) && file_write(d, path, bytes, size);
    arena_free(&scratch);
    return ok;
}
