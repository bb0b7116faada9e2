/* The leaves of the text syntax: layout, names, strings, types, tensors. */
#include "model/put_text.h"

#include "base/decimal.h"
#include "model/lex_text.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 100, INDENT = 2, DENSE_MAX = 1 << 26 /* elements of a sparse tensor written out */ };

void text_lose(struct text_writer *w, enum text_loss kind)
{
    if (w->lost[kind].count++ == 0)
        w->lost[kind].first = *w->at;
}

void text_lose_if(struct text_writer *w, bool has, enum text_loss kind)
{
    if (has)
        text_lose(w, kind);
}

bool text_has(const char *s)
{
    return s && *s;
}

/* ---- layout ------------------------------------------------------------------------------------------------------ */

void text_put(struct text_writer *w, const char *s)
{
    strbuf_add(&w->out, s);
}

void text_new_line(struct text_writer *w)
{
    text_put(w, "\n");
    w->line = w->out.length;
    for (int i = 0; i < w->indent * INDENT; i++)
        text_put(w, " ");
}

void text_separate(struct text_writer *w, size_t i)
{
    if (i == 0)
        return;
    text_put(w, ",");
    if (w->out.length - w->line < WIDTH) {
        text_put(w, " ");
        return;
    }
    w->indent += 2;
    text_new_line(w);
    w->indent -= 2;
}

/* ---- names and strings ------------------------------------------------------------------------------------------- */

static bool is_identifier(const char *s)
{
    if (!text_has(s) || (*s >= '0' && *s <= '9'))
        return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_'))
            return false;
    return true;
}

/* Words that can begin something else where a name may stand. */
static bool is_keyword(const char *s)
{
    double ignored;
    return dtype_from_name(s) != DTYPE_UNDEFINED || text_is_type_word(s) || text_special_number(s, &ignored);
}

/* What editors, terminals and version control do not leave alone. Line ends and tabs they mostly do. */
static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

void text_put_quoted(struct text_writer *w, const char *s, size_t size, enum text_loss control)
{
    bool clean = true;
    text_put(w, "\"");
    for (size_t i = 0; i < size;) {
        size_t n = i; /* up to here as it is */
        while (n < size && s[n] != '"' && s[n] != '\\' && !is_control(s[n]) && s[n] != '\n')
            n++;
        strbuf_add_n(&w->out, s + i, n - i);
        if (n < size && s[n] == '\n') {
            text_put(w, "\n");
            w->line = w->out.length;
        } else if (n < size && (s[n] == '"' || s[n] == '\\')) {
            text_put(w, "\\");
            strbuf_add_n(&w->out, s + n, 1);
        } else if (n < size) {
            text_put(w, " ");
            clean = false;
        }
        i = n + 1;
    }
    text_put(w, "\"");
    text_lose_if(w, !clean, control);
}

void text_put_string(struct text_writer *w, const char *s)
{
    text_put_quoted(w, s ? s : "", s ? strlen(s) : 0, LOSS_CONTROL);
}

void text_put_name(struct text_writer *w, const char *s)
{
    if (is_identifier(s) && !is_keyword(s))
        text_put(w, s);
    else
        text_put_quoted(w, s ? s : "", s ? strlen(s) : 0, LOSS_NAME);
}

void text_put_quoted_name(struct text_writer *w, const char *s)
{
    text_put_quoted(w, s ? s : "", s ? strlen(s) : 0, LOSS_NAME);
}

void text_put_identifier(struct text_writer *w, const char *s)
{
    text_lose_if(w, !is_identifier(s), LOSS_IDENTIFIER);
    text_put(w, s);
}

static bool is_dotted(struct arena *a, const char *s)
{
    for (;;) {
        const size_t n = strcspn(s, ".");
        if (!is_identifier(arena_strndup(a, s, n)))
            return false;
        if (!s[n])
            return true;
        s += n + 1;
    }
}

void text_put_domain(struct text_writer *w, const char *s)
{
    text_lose_if(w, !is_dotted(w->out.arena, s), LOSS_IDENTIFIER);
    text_put(w, s);
}

void text_put_names(struct text_writer *w, const str_list *names)
{
    for (size_t i = 0; i < names->count; i++) {
        text_separate(w, i);
        text_put_name(w, names->data[i]);
    }
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static void put_dims(struct text_writer *w, const struct model_type *t)
{
    if (t->has_shape && t->dims.count == 0)
        return; /* a scalar */
    text_put(w, "[");
    for (size_t i = 0; i < t->dims.count; i++) {
        const struct model_dim *d = &t->dims.data[i];
        text_put(w, i ? "," : "");
        if (d->value >= 0)
            strbuf_addf(&w->out, "%" PRId64, d->value);
        else if (text_has(d->param))
            text_put_name(w, d->param);
        else
            text_put(w, "?");
    }
    text_put(w, "]");
}

static bool has_denotation(const struct model_type *t)
{
    bool found = text_has(t->denotation);
    for (size_t i = 0; i < t->dims.count; i++)
        found = found || text_has(t->dims.data[i].denotation);
    return found || (t->element && has_denotation(t->element));
}

/* Can the grammar say it? Element types may be left open in the message, not in the text. */
static bool is_complete(struct arena *a, const struct model_type *t)
{
    if (t->kind == TYPE_NONE)
        return false;
    if (t->kind == TYPE_OPAQUE)
        return (text_has(t->opaque_domain) ? is_dotted(a, t->opaque_domain) : !text_has(t->opaque_name)) &&
               (!text_has(t->opaque_name) || is_identifier(t->opaque_name));
    const bool has_element = t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE_TENSOR;
    const bool has_elem = t->kind != TYPE_SEQUENCE && t->kind != TYPE_OPTIONAL;
    return (!has_elem || t->elem != DTYPE_UNDEFINED) && (!has_element || (t->element && is_complete(a, t->element)));
}

/* A complete type. */
static void put_type(struct text_writer *w, const struct model_type *t)
{
    if (++w->depth > TEXT_MAX_DEPTH)
        text_lose(w, LOSS_DEPTH);
    switch (t->kind) {
    case TYPE_TENSOR:
        text_put(w, dtype_name(t->elem));
        put_dims(w, t);
        break;
    case TYPE_SPARSE_TENSOR:
        strbuf_addf(&w->out, "sparse_tensor(%s", dtype_name(t->elem));
        put_dims(w, t);
        text_put(w, ")");
        break;
    case TYPE_SEQUENCE:
    case TYPE_OPTIONAL:
        text_put(w, t->kind == TYPE_SEQUENCE ? "seq(" : "optional(");
        put_type(w, t->element);
        text_put(w, ")");
        break;
    case TYPE_MAP:
        strbuf_addf(&w->out, "map(%s, ", dtype_name(t->elem));
        put_type(w, t->element);
        text_put(w, ")");
        break;
    case TYPE_OPAQUE:
        strbuf_addf(&w->out, "opaque(%s%s%s)", t->opaque_domain ? t->opaque_domain : "",
                    text_has(t->opaque_name) ? ", " : "", t->opaque_name ? t->opaque_name : "");
        break;
    case TYPE_NONE:
        break;
    }
    w->depth--;
}

void text_put_value(struct text_writer *w, const struct model_value_info *v)
{
    const struct model_type *t = &v->type;
    text_lose_if(w, text_has(v->doc), LOSS_DOC_VALUE);
    text_lose_if(w, v->metadata.count > 0, LOSS_META_VALUE);
    text_lose_if(w, has_denotation(t), LOSS_DENOTATION);
    if (t->kind != TYPE_NONE && is_complete(w->out.arena, t)) {
        put_type(w, t);
        text_put(w, " ");
    } else if (t->kind != TYPE_NONE) {
        text_lose(w, LOSS_TYPE);
    }
    text_put_name(w, v->name);
}

void text_put_type(struct text_writer *w, const struct model_type *t)
{
    const bool complete = is_complete(w->out.arena, t);
    text_lose_if(w, has_denotation(t), LOSS_DENOTATION);
    text_lose_if(w, !complete, LOSS_BAD_TYPE);
    if (complete)
        put_type(w, t);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* NaN reads back as the platform's own, with either sign. */
static void put_float(struct text_writer *w, float x)
{
    char text[DECIMAL_MAX];
    const float plain = copysignf((float)NAN, x);
    text_lose_if(w, isnan(x) && memcmp(&x, &plain, sizeof x) != 0, LOSS_NAN);
    strbuf_add_n(&w->out, text, decimal_float(text, x));
}

static void put_double(struct text_writer *w, double x)
{
    char text[DECIMAL_MAX];
    const double plain = copysign((double)NAN, x);
    text_lose_if(w, isnan(x) && memcmp(&x, &plain, sizeof x) != 0, LOSS_NAN);
    strbuf_add_n(&w->out, text, decimal_double(text, x));
}

/* Element i, or for complex numbers part i: real, imaginary, real, ... */
static void put_element(struct text_writer *w, const struct tensor *t, int64_t i)
{
    const char *p = t->data;
    uint16_t half;
    float single;
    double wide;
    switch (t->dtype) {
    case DTYPE_STRING:
        text_put_quoted(w, t->strings[i], t->string_lengths[i], LOSS_CONTROL);
        return;
    case DTYPE_FLOAT:
    case DTYPE_COMPLEX64:
        memcpy(&single, p + (size_t)i * sizeof single, sizeof single);
        put_float(w, single);
        return;
    case DTYPE_DOUBLE:
    case DTYPE_COMPLEX128:
        memcpy(&wide, p + (size_t)i * sizeof wide, sizeof wide);
        put_double(w, wide);
        return;
    case DTYPE_UINT64:
        strbuf_addf(&w->out, "%" PRIu64, (uint64_t)tensor_get_int(t, i));
        return;
    default:
        break;
    }
    if (!dtype_is_float(t->dtype)) {
        strbuf_addf(&w->out, "%" PRId64, tensor_get_int(t, i));
    } else if (dtype_size(t->dtype) == sizeof half) { /* bit patterns */
        memcpy(&half, p + (size_t)i * sizeof half, sizeof half);
        strbuf_addf(&w->out, "%u", (unsigned)half);
    } else {
        strbuf_addf(&w->out, "%u", (unsigned)(unsigned char)p[i]);
    }
}

/* A file with training_info is no text of ONNX's own anyway: there, what starts alike is written {0, ...}. */
static bool is_repeated(struct text_writer *w, const struct tensor *t)
{
    enum { FEW = 16 };
    if (!w->repeats || t->count <= FEW || !(dtype_is_float(t->dtype) || dtype_is_int(t->dtype)) ||
        !tensor_is_uniform(t) || t->count > TEXT_MAX_REPEATED - w->repeated)
        return false;
    w->repeated += t->count;
    return true;
}

void text_put_tensor(struct text_writer *w, const char *name, const struct tensor *t)
{
    const bool complex_type = t->dtype == DTYPE_COMPLEX64 || t->dtype == DTYPE_COMPLEX128;
    const int64_t count = complex_type ? 2 * t->count : t->count;
    text_put(w, dtype_name(t->dtype));
    for (int i = 0; i < t->shape.rank; i++)
        strbuf_addf(&w->out, "%s%" PRId64, i ? "," : "[", t->shape.dim[i]);
    text_put(w, t->shape.rank ? "] " : " ");
    if (name) {
        text_put_name(w, name);
        text_put(w, " = ");
    }
    text_put(w, "{");
    const bool repeated = is_repeated(w, t);
    for (int64_t i = 0; i < (repeated ? 1 : count); i++) {
        text_separate(w, (size_t)i);
        put_element(w, t, i);
    }
    text_put(w, repeated ? ", ...}" : "}");
}

struct tensor *text_make_dense(struct text_writer *w, const struct model_sparse *s)
{
    const int64_t *index = s->indices->data;
    const bool linear = s->indices->shape.rank == 1;
    const size_t size = dtype_size(s->values->dtype);
    text_lose(w, LOSS_SPARSE);
    if (shape_count(&s->dims) > DENSE_MAX) {
        text_lose(w, LOSS_DENSE_SIZE);
        return NULL;
    }
    struct tensor *t = tensor_new(w->out.arena, s->values->dtype, &s->dims);
    for (int64_t i = 0; i < t->count && t->strings; i++)
        t->strings[i] = "";
    for (int64_t i = 0; i < s->values->count; i++) {
        int64_t to = linear ? index[i] : 0;
        for (int k = 0; k < s->dims.rank && !linear; k++)
            to = to * s->dims.dim[k] + index[i * s->dims.rank + k];
        if (t->strings) {
            t->strings[to] = s->values->strings[i];
            t->string_lengths[to] = s->values->string_lengths[i];
        } else {
            memcpy((char *)t->data + (size_t)to * size, (char *)s->values->data + (size_t)i * size, size);
        }
    }
    return t;
}

void text_put_float(struct text_writer *w, float x)
{
    const size_t from = w->out.length;
    put_float(w, x);
    if (!strpbrk(w->out.text + from, ".ein")) /* also of inf and nan */
        text_put(w, ".0");
}
