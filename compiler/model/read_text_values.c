/* The leaves of the text syntax: words and numbers, types, tensors. */
#include "model/parse_text.h"

#include "base/str.h"
#include "model/model_internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

bool text_accept(struct text_parser *p, char mark)
{
    if (!lexer_is(&p->lex, mark))
        return false;
    lexer_advance(&p->lex);
    return true;
}

bool text_expect(struct text_parser *p, char mark)
{
    return text_accept(p, mark) || lexer_error(&p->lex, "expected '%c', found %s", mark, lexer_describe(&p->lex));
}

bool text_id(struct text_parser *p, const char *what, const char **out)
{
    if (p->lex.token.kind != TOKEN_NAME)
        return lexer_error(&p->lex, "expected %s, found %s", what, lexer_describe(&p->lex));
    *out = p->lex.token.text;
    lexer_advance(&p->lex);
    return true;
}

bool text_is_name(const struct text_parser *p)
{
    return p->lex.token.kind == TOKEN_NAME || p->lex.token.kind == TOKEN_STRING;
}

bool text_name(struct text_parser *p, const char *what, const char **out)
{
    if (!text_is_name(p))
        return lexer_error(&p->lex, "expected %s, found %s", what, lexer_describe(&p->lex));
    const char *const fault = text_fault(p->arena, (const unsigned char *)p->lex.token.text, p->lex.token.size);
    if (fault)
        return lexer_error(&p->lex, "%s %s", what, fault);
    *out = p->lex.token.text;
    lexer_advance(&p->lex);
    return true;
}

bool text_string(struct text_parser *p, const char *what, const char **out)
{
    if (p->lex.token.kind != TOKEN_STRING)
        return lexer_error(&p->lex, "expected %s as a string, found %s", what, lexer_describe(&p->lex));
    return text_name(p, what, out);
}

bool text_int(struct text_parser *p, int64_t *out)
{
    long long x;
    if (p->lex.token.kind != TOKEN_INT)
        return lexer_error(&p->lex, "expected a whole number, found %s", lexer_describe(&p->lex));
    if (!str_to_int64(p->lex.token.text, &x))
        return lexer_error(&p->lex, "%s does not fit 64 bits", lexer_describe(&p->lex));
    *out = x;
    lexer_advance(&p->lex);
    return true;
}

bool text_number(struct text_parser *p, bool single, double *out)
{
    const enum token_kind k = p->lex.token.kind;
    const char *const text = p->lex.token.text;
    const bool special = (k == TOKEN_NAME || k == TOKEN_FLOAT) && text_special_number(text, out);
    if (!special && k != TOKEN_INT && k != TOKEN_FLOAT)
        return lexer_error(&p->lex, "expected a number, found %s", lexer_describe(&p->lex));
    if (!special && !str_to_double(text, out)) {
        char *end;
        strtod(text, &end); /* whole, but refused: out of range */
        return lexer_error(&p->lex, *end ? "'%s' is no number" : "the number %.40s does not fit double", text);
    }
    if (!special && single && isinf(dtype_round(DTYPE_FLOAT, *out)))
        return lexer_error(&p->lex, "%s does not fit float", lexer_describe(&p->lex));
    lexer_advance(&p->lex);
    return true;
}

bool text_list(struct text_parser *p, char open, char close, text_rule rule, void *data)
{
    if (!text_expect(p, open))
        return false;
    if (text_accept(p, close))
        return true;
    do
        if (!rule(p, data))
            return false;
    while (text_accept(p, ','));
    return text_expect(p, close);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

bool text_is_type(const struct text_parser *p)
{
    if (p->lex.token.kind != TOKEN_NAME)
        return false;
    if (dtype_from_name(p->lex.token.text) != DTYPE_UNDEFINED)
        return true;
    if (text_is_type_word(p->lex.token.text)) {
        const struct token next = lexer_peek(&p->lex);
        return next.kind == TOKEN_MARK && next.text[0] == '(';
    }
    return false;
}

static bool parse_dim(struct text_parser *p, void *data)
{
    struct model_type *t = data;
    const struct token at = p->lex.token;
    struct model_dim d = {.value = -1, .param = "", .denotation = ""};
    if (t->dims.count == SHAPE_MAX_RANK)
        return lexer_error(&p->lex, "more than %d dimensions", SHAPE_MAX_RANK);
    if (!text_accept(p, '?')) {
        if (text_is_name(p)) {
            if (!text_name(p, "a dimension", &d.param))
                return false;
        } else if (!text_int(p, &d.value)) {
            return false;
        } else if (d.value < 0) {
            return lexer_error_at(&p->lex, &at, "a dimension is negative");
        }
    }
    vec_push(p->arena, &t->dims, d);
    return true;
}

static bool parse_primitive(struct text_parser *p, struct model_type *t)
{
    const char *word = "";
    const struct token at = p->lex.token;
    if (!text_id(p, "an element type", &word))
        return false;
    t->elem = dtype_from_name(word);
    if (t->elem == DTYPE_UNDEFINED)
        return lexer_error_at(&p->lex, &at, "'%s' is no element type", word);
    if (!lexer_is(&p->lex, '['))
        return t->has_shape = true; /* a scalar */
    const struct token next = lexer_peek(&p->lex);
    t->has_shape = !(next.kind == TOKEN_MARK && next.text[0] == ']'); /* float[]: the rank is not known */
    return text_list(p, '[', ']', parse_dim, t);
}

static bool parse_inner_type(struct text_parser *p, struct model_type *t)
{
    t->element = arena_new(p->arena, struct model_type);
    return text_type(p, t->element);
}

static bool parse_composite(struct text_parser *p, struct model_type *t, const char *word)
{
    lexer_advance(&p->lex);
    if (!text_expect(p, '('))
        return false;
    bool ok = true;
    if (!strcmp(word, "seq") || !strcmp(word, "optional")) {
        t->kind = word[0] == 's' ? TYPE_SEQUENCE : TYPE_OPTIONAL;
        ok = parse_inner_type(p, t);
    } else if (!strcmp(word, "map")) {
        struct model_type key = {0};
        t->kind = TYPE_MAP;
        ok = parse_primitive(p, &key) && text_expect(p, ',') && parse_inner_type(p, t);
        t->elem = key.elem;
    } else if (!strcmp(word, "sparse_tensor")) {
        t->kind = TYPE_SPARSE_TENSOR;
        ok = parse_primitive(p, t);
    } else {
        t->kind = TYPE_OPAQUE;
        struct strbuf domain = {.arena = p->arena};
        const char *part = "";
        while (ok && p->lex.token.kind == TOKEN_NAME) {
            ok = text_id(p, "a name", &part);
            strbuf_addf(&domain, "%s%s", domain.length ? "." : "", part);
            if (!text_accept(p, '.'))
                break;
        }
        t->opaque_domain = strbuf_text(&domain);
        if (text_accept(p, ','))
            ok = ok && text_id(p, "a name", &t->opaque_name);
    }
    return ok && text_expect(p, ')');
}

bool text_type(struct text_parser *p, struct model_type *t)
{
    const char *word = p->lex.token.text;
    *t = (struct model_type){.kind = TYPE_TENSOR, .denotation = "", .opaque_domain = "", .opaque_name = ""};
    if (!text_is_type(p))
        return lexer_error(&p->lex, "expected a type, found %s", lexer_describe(&p->lex));
    if (++p->depth > TEXT_MAX_DEPTH)
        return lexer_error(&p->lex, "types or graphs nest more than %d deep", TEXT_MAX_DEPTH);
    const bool ok = dtype_from_name(word) != DTYPE_UNDEFINED ? parse_primitive(p, t) : parse_composite(p, t, word);
    p->depth--;
    return ok;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

struct literals {
    enum dtype dtype;
    VEC(double) floats;
    VEC(int64_t) ints;
    str_list strings;
    VEC(size_t) sizes;
    bool repeated; /* "..." stood behind the last one */
};

static bool is_narrow_float(enum dtype d)
{
    return dtype_is_float(d) && d != DTYPE_FLOAT && d != DTYPE_DOUBLE;
}

/* Narrow floats are written as bit patterns: unsigned numbers of their width. */
static bool parse_integer_literal(struct text_parser *p, enum dtype d, int64_t *out)
{
    const int bits = dtype_bits(d);
    const bool is_signed = !is_narrow_float(d) && dtype_is_signed(d);
    if (p->lex.token.kind != TOKEN_INT)
        return lexer_error(&p->lex, "expected a whole number, found %s", lexer_describe(&p->lex));
    errno = 0;
    const bool minus = p->lex.token.text[0] == '-';
    const unsigned long long size = strtoull(p->lex.token.text + minus, NULL, 10);
    const unsigned long long most = bits == 64 ? (is_signed ? (unsigned long long)INT64_MAX : UINT64_MAX)
                                               : (1ull << (is_signed ? bits - 1 : bits)) - 1;
    if (errno || (minus ? (!is_signed && size > 0) || size > most + 1 : size > most) || (d == DTYPE_BOOL && size > 1))
        return lexer_error(&p->lex, "%s does not fit %s", lexer_describe(&p->lex), dtype_name(d));
    *out = (int64_t)(minus ? 0 - size : size);
    lexer_advance(&p->lex);
    return true;
}

static size_t literal_count(const struct literals *l)
{
    return l->floats.count + l->ints.count + l->strings.count;
}

/* "..." as the last item: the number before it fills what is left. */
static bool parse_repeat(struct text_parser *p, struct literals *l)
{
    l->repeated = dtype_is_float(l->dtype) || dtype_is_int(l->dtype);
    if (!l->repeated || literal_count(l) == 0)
        return lexer_error(&p->lex, "'...' repeats a number that stands before it");
    return text_expect(p, '.') && text_expect(p, '.') && text_expect(p, '.') &&
           (lexer_is(&p->lex, '}') || text_expect(p, '}'));
}

static bool parse_literal(struct text_parser *p, void *data)
{
    struct literals *l = data;
    if (lexer_is(&p->lex, '.'))
        return parse_repeat(p, l);
    if (l->dtype == DTYPE_STRING) {
        if (p->lex.token.kind != TOKEN_STRING)
            return lexer_error(&p->lex, "expected a string, found %s", lexer_describe(&p->lex));
        vec_push(p->arena, &l->strings, p->lex.token.text);
        vec_push(p->arena, &l->sizes, p->lex.token.size);
        lexer_advance(&p->lex);
        return true;
    }
    if (l->dtype == DTYPE_FLOAT || l->dtype == DTYPE_DOUBLE || l->dtype == DTYPE_COMPLEX64 ||
        l->dtype == DTYPE_COMPLEX128) {
        double x = 0;
        if (!text_number(p, l->dtype == DTYPE_FLOAT || l->dtype == DTYPE_COMPLEX64, &x))
            return false;
        vec_push(p->arena, &l->floats, x);
        return true;
    }
    int64_t x = 0;
    if (!parse_integer_literal(p, l->dtype, &x))
        return false;
    vec_push(p->arena, &l->ints, x);
    return true;
}

/* Of element i among the numbers that were written: the last one repeats. */
static size_t place(int64_t i, size_t written)
{
    return (size_t)i < written ? (size_t)i : written - 1;
}

static void store_literals(struct tensor *t, const struct literals *l)
{
    const bool complex_type = t->dtype == DTYPE_COMPLEX64 || t->dtype == DTYPE_COMPLEX128;
    const enum dtype part = t->dtype == DTYPE_COMPLEX64    ? DTYPE_FLOAT
                            : t->dtype == DTYPE_COMPLEX128 ? DTYPE_DOUBLE
                                                           : t->dtype;
    const enum dtype bits =
        is_narrow_float(t->dtype) ? (dtype_bits(t->dtype) == 16 ? DTYPE_UINT16 : DTYPE_UINT8) : t->dtype;
    const int64_t count = complex_type ? 2 * t->count : t->count;
    for (int64_t i = 0; i < count; i++) {
        char *at = t->dtype == DTYPE_STRING ? NULL : (char *)t->data + (size_t)i * dtype_size(part);
        if (t->dtype == DTYPE_STRING) {
            t->strings[i] = l->strings.data[i];
            t->string_lengths[i] = l->sizes.data[i];
        } else if (l->floats.count) {
            dtype_store_double(part, at, l->floats.data[place(i, l->floats.count)]);
        } else {
            dtype_store_int(bits, at, l->ints.data[place(i, l->ints.count)]);
        }
    }
}

bool text_data(struct text_parser *p, const struct model_type *type, struct tensor **out)
{
    struct shape shape = {.rank = (int)type->dims.count};
    struct literals l = {.dtype = type->elem};
    const struct token at = p->lex.token;
    int64_t count;
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = type->dims.data[d].value;
        if (shape.dim[d] < 0)
            return lexer_error(&p->lex, "a tensor with content needs constant dimensions");
    }
    if (type->kind != TYPE_TENSOR || !type->has_shape || !shape_count_checked(&shape, &count))
        return lexer_error(&p->lex, "a tensor with content needs a known shape that fits memory");
    if (lexer_is(&p->lex, '['))
        return lexer_error(&p->lex, "external data in text models is not supported by this version");
    if (!text_list(p, '{', '}', parse_literal, &l))
        return false;
    const size_t got = literal_count(&l);
    const bool complex_type = type->elem == DTYPE_COMPLEX64 || type->elem == DTYPE_COMPLEX128;
    if (complex_type && (got % 2 != 0 || (int64_t)(got / 2) != count))
        return lexer_error_at(&p->lex, &at, "%zu numbers for a tensor of shape %s: a complex element is two", got,
                              shape_text(p->arena, &shape));
    if (l.repeated && (p->repeated += count) > TEXT_MAX_REPEATED)
        return lexer_error_at(&p->lex, &at, "tensors with '...' have more than %d elements together",
                              TEXT_MAX_REPEATED);
    if (!complex_type && (l.repeated ? (int64_t)got > count : (int64_t)got != count))
        return lexer_error_at(&p->lex, &at, "%zu element%s for a tensor of shape %s", got, str_plural(got),
                              shape_text(p->arena, &shape));
    *out = tensor_new(p->arena, type->elem, &shape);
    store_literals(*out, &l);
    return true;
}
