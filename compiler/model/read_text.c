/* The ONNX text syntax with the @training_info extension: recursive descent over the grammar of training-ir section 17, one
 * function per rule, in the order of the grammar from the leaves up. */
#include "model/model.h"

#include "base/hash.h"
#include "base/str.h"
#include "model/lex_text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32 /* of graphs in attributes of nodes of graphs ..., and of types */

struct parser {
    struct lexer lex;
    struct arena *arena;
    struct model *model;
    const char *graph; /* name of the graph at hand, for locations */
    int depth;
};

static bool parse_graph(struct parser *p, struct model_graph **out);

/* ---- tokens ------------------------------------------------------------------------------------------------------- */

static bool accept(struct parser *p, char mark)
{
    if (!lexer_is(&p->lex, mark))
        return false;
    lexer_advance(&p->lex);
    return true;
}

static bool expect(struct parser *p, char mark)
{
    return accept(p, mark) || lexer_error(&p->lex, "expected '%c', found %s", mark, lexer_describe(&p->lex));
}

static bool is_word(const struct parser *p, const char *word)
{
    return p->lex.token.kind == TOKEN_NAME && !strcmp(p->lex.token.text, word);
}

static bool parse_id(struct parser *p, const char *what, const char **out)
{
    if (p->lex.token.kind != TOKEN_NAME)
        return lexer_error(&p->lex, "expected %s, found %s", what, lexer_describe(&p->lex));
    *out = p->lex.token.text;
    lexer_advance(&p->lex);
    return true;
}

static bool is_name(const struct parser *p)
{
    return p->lex.token.kind == TOKEN_NAME || p->lex.token.kind == TOKEN_STRING;
}

static bool parse_text(struct parser *p, const char *what, const char **out)
{
    if (!is_name(p))
        return lexer_error(&p->lex, "expected %s, found %s", what, lexer_describe(&p->lex));
    if (strlen(p->lex.token.text) != p->lex.token.size)
        return lexer_error(&p->lex, "%s must not hold a NUL byte", what);
    *out = p->lex.token.text;
    lexer_advance(&p->lex);
    return true;
}

static bool parse_string(struct parser *p, const char *what, const char **out)
{
    if (p->lex.token.kind != TOKEN_STRING)
        return lexer_error(&p->lex, "expected %s as a string, found %s", what, lexer_describe(&p->lex));
    return parse_text(p, what, out);
}

static bool parse_int(struct parser *p, int64_t *out)
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

/* inf, infinity and nan in any case. */
static bool special_number(const char *text, double *out)
{
    const bool minus = *text == '-';
    char low[16];
    const char *word = text + minus;
    if (strlen(word) >= sizeof low)
        return false;
    for (size_t i = 0; i <= strlen(word); i++)
        low[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
    const bool infinite = !strcmp(low, "inf") || !strcmp(low, "infinity");
    if (!infinite && strcmp(low, "nan") != 0)
        return false;
    *out = infinite ? (minus ? -INFINITY : INFINITY) : NAN;
    return true;
}

static bool parse_number(struct parser *p, double *out)
{
    const enum token_kind k = p->lex.token.kind;
    const bool special = (k == TOKEN_NAME || k == TOKEN_FLOAT) && special_number(p->lex.token.text, out);
    if (!special && ((k != TOKEN_INT && k != TOKEN_FLOAT) || !str_to_double(p->lex.token.text, out)))
        return lexer_error(&p->lex, "expected a number, found %s", lexer_describe(&p->lex));
    lexer_advance(&p->lex);
    return true;
}

/* "[" item, item ... "]" or the like, by a callback per item. */
typedef bool (*item_rule)(struct parser *p, void *data);

static bool parse_list(struct parser *p, char open, char close, item_rule rule, void *data)
{
    if (!expect(p, open))
        return false;
    if (accept(p, close))
        return true;
    do
        if (!rule(p, data))
            return false;
    while (accept(p, ','));
    return expect(p, close);
}

/* ---- types -------------------------------------------------------------------------------------------------------- */

static bool is_type(const struct parser *p)
{
    static const char *const words[] = {"seq", "optional", "map", "sparse_tensor", "opaque"};
    if (p->lex.token.kind != TOKEN_NAME)
        return false;
    if (dtype_from_name(p->lex.token.text) != DTYPE_UNDEFINED)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(p->lex.token.text, words[i])) {
            const struct token next = lexer_peek(&p->lex);
            return next.kind == TOKEN_MARK && next.text[0] == '(';
        }
    return false;
}

static bool parse_dim(struct parser *p, void *data)
{
    struct model_type *t = data;
    struct model_dim d = {.value = -1, .param = "", .denotation = ""};
    if (t->dims.count == SHAPE_MAX_RANK)
        return lexer_error(&p->lex, "more than %d dimensions", SHAPE_MAX_RANK);
    if (!accept(p, '?')) {
        if (is_name(p)) {
            if (!parse_text(p, "a dimension", &d.param))
                return false;
        } else if (!parse_int(p, &d.value)) {
            return false;
        } else if (d.value < 0) {
            return lexer_error(&p->lex, "a dimension is negative");
        }
    }
    vec_push(p->arena, &t->dims, d);
    return true;
}

static bool parse_primitive(struct parser *p, struct model_type *t)
{
    const char *word = "";
    if (!parse_id(p, "an element type", &word))
        return false;
    t->elem = dtype_from_name(word);
    if (t->elem == DTYPE_UNDEFINED)
        return lexer_error(&p->lex, "'%s' is no element type", word);
    if (!lexer_is(&p->lex, '['))
        return t->has_shape = true; /* a scalar */
    const struct token next = lexer_peek(&p->lex);
    t->has_shape = !(next.kind == TOKEN_MARK && next.text[0] == ']'); /* float[]: the rank is not known */
    return parse_list(p, '[', ']', parse_dim, t);
}

static bool parse_type(struct parser *p, struct model_type *t);

static bool parse_inner_type(struct parser *p, struct model_type *t)
{
    t->element = arena_new(p->arena, struct model_type);
    return parse_type(p, t->element);
}

static bool parse_composite(struct parser *p, struct model_type *t, const char *word)
{
    lexer_advance(&p->lex);
    if (!expect(p, '('))
        return false;
    bool ok = true;
    if (!strcmp(word, "seq") || !strcmp(word, "optional")) {
        t->kind = word[0] == 's' ? TYPE_SEQUENCE : TYPE_OPTIONAL;
        ok = parse_inner_type(p, t);
    } else if (!strcmp(word, "map")) {
        struct model_type key = {0};
        t->kind = TYPE_MAP;
        ok = parse_primitive(p, &key) && expect(p, ',') && parse_inner_type(p, t);
        t->elem = key.elem;
    } else if (!strcmp(word, "sparse_tensor")) {
        t->kind = TYPE_SPARSE_TENSOR;
        ok = parse_primitive(p, t);
    } else {
        t->kind = TYPE_OPAQUE;
        struct strbuf domain = {.arena = p->arena};
        const char *part = "";
        while (ok && p->lex.token.kind == TOKEN_NAME) {
            ok = parse_id(p, "a name", &part);
            strbuf_addf(&domain, "%s%s", domain.length ? "." : "", part);
            if (!accept(p, '.'))
                break;
        }
        t->opaque_domain = strbuf_text(&domain);
        if (accept(p, ','))
            ok = ok && parse_id(p, "a name", &t->opaque_name);
    }
    return ok && expect(p, ')');
}

static bool parse_type(struct parser *p, struct model_type *t)
{
    const char *word = p->lex.token.text;
    *t = (struct model_type){.kind = TYPE_TENSOR, .denotation = "", .opaque_domain = "", .opaque_name = ""};
    if (!is_type(p))
        return lexer_error(&p->lex, "expected a type, found %s", lexer_describe(&p->lex));
    if (++p->depth > MAX_DEPTH)
        return lexer_error(&p->lex, "types or graphs nest more than %d deep", MAX_DEPTH);
    const bool ok = dtype_from_name(word) != DTYPE_UNDEFINED ? parse_primitive(p, t) : parse_composite(p, t, word);
    p->depth--;
    return ok;
}

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

struct literals {
    enum dtype dtype;
    VEC(double) floats;
    VEC(int64_t) ints;
    VEC(const char *) strings;
    VEC(size_t) sizes;
};

static bool is_narrow_float(enum dtype d)
{
    return dtype_is_float(d) && d != DTYPE_FLOAT && d != DTYPE_DOUBLE;
}

static bool parse_integer_literal(struct parser *p, enum dtype d, int64_t *out)
{
    const int bits = dtype_bits(d);
    const bool is_signed = dtype_is_signed(d);
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

static bool parse_literal(struct parser *p, void *data)
{
    struct literals *l = data;
    if (l->dtype == DTYPE_STRING) {
        if (p->lex.token.kind != TOKEN_STRING)
            return lexer_error(&p->lex, "expected a string, found %s", lexer_describe(&p->lex));
        vec_push(p->arena, &l->strings, p->lex.token.text);
        vec_push(p->arena, &l->sizes, p->lex.token.size);
        lexer_advance(&p->lex);
        return true;
    }
    if (l->dtype == DTYPE_FLOAT || l->dtype == DTYPE_DOUBLE || l->dtype == DTYPE_COMPLEX64 || l->dtype == DTYPE_COMPLEX128) {
        double x = 0;
        if (!parse_number(p, &x))
            return false;
        vec_push(p->arena, &l->floats, x);
        return true;
    }
    int64_t x = 0;
    const enum dtype as = is_narrow_float(l->dtype) ? (dtype_bits(l->dtype) == 16 ? DTYPE_UINT16 : DTYPE_UINT8) : l->dtype;
    if (!parse_integer_literal(p, as, &x))
        return false;
    vec_push(p->arena, &l->ints, x);
    return true;
}

static void store_literals(struct tensor *t, const struct literals *l)
{
    const bool complex_type = t->dtype == DTYPE_COMPLEX64 || t->dtype == DTYPE_COMPLEX128;
    const enum dtype part = t->dtype == DTYPE_COMPLEX64 ? DTYPE_FLOAT : t->dtype == DTYPE_COMPLEX128 ? DTYPE_DOUBLE : t->dtype;
    const enum dtype bits = is_narrow_float(t->dtype) ? (dtype_bits(t->dtype) == 16 ? DTYPE_UINT16 : DTYPE_UINT8) : t->dtype;
    const int64_t count = complex_type ? 2 * t->count : t->count;
    for (int64_t i = 0; i < count; i++) {
        char *at = t->dtype == DTYPE_STRING ? NULL : (char *)t->data + (size_t)i * dtype_size(part);
        if (t->dtype == DTYPE_STRING) {
            t->strings[i] = l->strings.data[i];
            t->string_lengths[i] = l->sizes.data[i];
        } else if (l->floats.count) {
            dtype_store_double(part, at, l->floats.data[i]);
        } else {
            dtype_store_int(bits, at, l->ints.data[i]);
        }
    }
}

/* DATA of a tensor whose type was read. */
static bool parse_data(struct parser *p, const struct model_type *type, struct tensor **out)
{
    struct shape shape = {.rank = (int)type->dims.count};
    struct literals l = {.dtype = type->elem};
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
    if (!parse_list(p, '{', '}', parse_literal, &l))
        return false;
    const size_t got = l.floats.count + l.ints.count + l.strings.count;
    const bool complex_type = type->elem == DTYPE_COMPLEX64 || type->elem == DTYPE_COMPLEX128;
    if ((int64_t)got != (complex_type ? 2 * count : count))
        return lexer_error(&p->lex, "%zu elements for a tensor of shape %s", got, shape_text(p->arena, &shape));
    *out = tensor_new(p->arena, type->elem, &shape);
    store_literals(*out, &l);
    return true;
}

/* ---- attributes --------------------------------------------------------------------------------------------------- */

static enum attr_type attr_type_from_name(const char *name)
{
    for (int t = 1; t < ATTR_TYPE_COUNT; t++)
        if (!strcmp(attr_type_name((enum attr_type)t), name))
            return (enum attr_type)t;
    return ATTR_UNDEFINED;
}

static enum attr_type list_of(enum attr_type t)
{
    switch (t) {
    case ATTR_FLOAT: return ATTR_FLOATS;
    case ATTR_INT: return ATTR_INTS;
    case ATTR_STRING: return ATTR_STRINGS;
    case ATTR_TENSOR: return ATTR_TENSORS;
    case ATTR_GRAPH: return ATTR_GRAPHS;
    case ATTR_TYPE_PROTO: return ATTR_TYPE_PROTOS;
    default: return ATTR_UNDEFINED;
    }
}

/* A tensor value (TYPE [NAME] ['='] DATA) or a type alone. */
static bool parse_typed_value(struct parser *p, struct model_attr *a)
{
    struct model_type *type = arena_new(p->arena, struct model_type);
    const char *name = "";
    if (!parse_type(p, type))
        return false;
    if (is_name(p) && !parse_text(p, "a tensor's name", &name))
        return false;
    const bool assigned = accept(p, '=');
    if (!assigned && !lexer_is(&p->lex, '{')) {
        a->type = ATTR_TYPE_PROTO;
        a->tp = type;
        return true;
    }
    a->type = ATTR_TENSOR;
    a->t_name = name;
    return parse_data(p, type, &a->t);
}

/* One VALUE into a; a->type says which field. */
static bool parse_value(struct parser *p, struct model_attr *a)
{
    double x;
    switch (p->lex.token.kind) {
    case TOKEN_INT: a->type = ATTR_INT; return parse_int(p, &a->i);
    case TOKEN_FLOAT:
        a->type = ATTR_FLOAT;
        if (!parse_number(p, &x))
            return false;
        a->f = (float)x;
        return true;
    case TOKEN_MARK:
        if (accept(p, '@'))
            return parse_text(p, "an attribute's name", &a->ref);
        break;
    case TOKEN_STRING:
    case TOKEN_NAME: {
        const struct token next = lexer_peek(&p->lex);
        if (is_type(p))
            return parse_typed_value(p, a);
        if (next.kind == TOKEN_MARK && next.text[0] == '(') {
            a->type = ATTR_GRAPH;
            return parse_graph(p, &a->g);
        }
        if (p->lex.token.kind == TOKEN_NAME && special_number(p->lex.token.text, &x)) {
            a->type = ATTR_FLOAT;
            a->f = (float)x;
            lexer_advance(&p->lex);
            return true;
        }
        if (p->lex.token.kind == TOKEN_NAME)
            break;
        a->type = ATTR_STRING;
        a->s = (struct model_bytes){p->lex.token.text, p->lex.token.size};
        lexer_advance(&p->lex);
        return true;
    }
    default: break;
    }
    return lexer_error(&p->lex, "expected an attribute's value, found %s", lexer_describe(&p->lex));
}

static bool append_value(struct parser *p, struct model_attr *a, const struct model_attr *v)
{
    switch (v->type) {
    case ATTR_FLOAT: vec_push(p->arena, &a->floats, v->f); return true;
    case ATTR_INT: vec_push(p->arena, &a->ints, v->i); return true;
    case ATTR_STRING: vec_push(p->arena, &a->strings, v->s); return true;
    case ATTR_TENSOR: vec_push(p->arena, &a->tensors, v->t); return true;
    case ATTR_GRAPH: vec_push(p->arena, &a->graphs, v->g); return true;
    case ATTR_TYPE_PROTO: vec_push(p->arena, &a->types, v->tp); return true;
    default: return lexer_error(&p->lex, "a list cannot hold such a value");
    }
}

struct value_list {
    struct model_attr *attr;
    enum attr_type element;
    enum attr_type declared;
};

static bool parse_list_value(struct parser *p, void *data)
{
    struct value_list *l = data;
    struct model_attr v = {.ref = ""};
    if (!parse_value(p, &v))
        return false;
    if (v.type == ATTR_INT && (l->declared == ATTR_FLOATS || l->element == ATTR_FLOAT)) {
        v.type = ATTR_FLOAT;
        v.f = (float)v.i;
    }
    if (l->element != ATTR_UNDEFINED && v.type != l->element)
        return lexer_error(&p->lex, "the values of a list differ in type");
    l->element = v.type;
    return append_value(p, l->attr, &v);
}

static bool parse_attr(struct parser *p, void *data)
{
    struct model_node *n = data;
    struct model_attr *a = arena_new(p->arena, struct model_attr);
    enum attr_type declared = ATTR_UNDEFINED;
    const char *type = "";
    *a = (struct model_attr){.doc = "", .ref = "", .t_name = "", .s = {"", 0}, .loc = lexer_loc(&p->lex)};
    a->loc.graph = p->graph;
    if (!parse_id(p, "an attribute's name", &a->name))
        return false;
    if (accept(p, ':')) {
        if (!parse_id(p, "an attribute type", &type))
            return false;
        declared = attr_type_from_name(type);
        if (declared == ATTR_UNDEFINED)
            return lexer_error(&p->lex, "'%s' is no attribute type", type);
    }
    if (!expect(p, '='))
        return false;
    if (lexer_is(&p->lex, '[')) {
        struct value_list l = {.attr = a, .declared = declared};
        if (!parse_list(p, '[', ']', parse_list_value, &l))
            return false;
        a->type = l.element == ATTR_UNDEFINED ? declared : list_of(l.element);
        if (a->type == ATTR_UNDEFINED)
            return lexer_error(&p->lex, "the type of the empty list '%s' must be given: %s : ints = []", a->name, a->name);
    } else if (!parse_value(p, a)) {
        return false;
    }
    if (a->ref[0])
        a->type = declared;
    if (a->type == ATTR_INT && declared == ATTR_FLOAT) {
        a->type = ATTR_FLOAT;
        a->f = (float)a->i;
    }
    if (declared != ATTR_UNDEFINED && a->type != declared)
        return lexer_error(&p->lex, "attribute '%s' is declared %s but its value is %s", a->name, attr_type_name(declared),
                           attr_type_name(a->type));
    vec_push(p->arena, &n->attrs, a);
    return true;
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

/* Names up to (not including) `end`; nothing before a comma, or "", is an omitted operand. */
static bool parse_operands(struct parser *p, char end, model_names *out)
{
    while (!lexer_is(&p->lex, end)) {
        const char *name = "";
        if (is_name(p) && !parse_text(p, "a value's name", &name))
            return false;
        vec_push(p->arena, out, name);
        if (!accept(p, ',') && !lexer_is(&p->lex, end))
            return lexer_error(&p->lex, "expected ',' or '%c', found %s", end, lexer_describe(&p->lex));
    }
    return true;
}

static bool parse_operator(struct parser *p, struct model_node *n)
{
    struct strbuf domain = {.arena = p->arena};
    const char *part = "";
    if (!parse_id(p, "an operator", &part))
        return false;
    while (accept(p, '.')) {
        strbuf_addf(&domain, "%s%s", domain.length ? "." : "", part);
        if (!parse_id(p, "an operator", &part))
            return false;
    }
    n->op_type = part;
    n->domain = str_equal(strbuf_text(&domain), "ai.onnx") ? "" : strbuf_text(&domain);
    return !accept(p, ':') || parse_id(p, "an overload", &n->overload);
}

static bool parse_node(struct parser *p, struct model_node **out, int index)
{
    struct model_node *n = arena_new(p->arena, struct model_node);
    *n = (struct model_node){.name = "", .op_type = "", .domain = "", .overload = "", .doc = "", .loc = lexer_loc(&p->lex)};
    if (accept(p, '[')) {
        if (!lexer_is(&p->lex, ']') && !parse_text(p, "a node's name", &n->name))
            return false;
        if (!expect(p, ']'))
            return false;
    }
    if (!parse_operands(p, '=', &n->outputs) || !expect(p, '=') || !parse_operator(p, n))
        return false;
    n->loc.graph = p->graph;
    n->loc.node = n->name;
    n->loc.op = n->op_type;
    n->loc.index = index;
    const bool attrs_first = lexer_is(&p->lex, '<');
    if (attrs_first && !parse_list(p, '<', '>', parse_attr, n))
        return false;
    if (!expect(p, '(') || !parse_operands(p, ')', &n->inputs) || !expect(p, ')'))
        return false;
    if (!attrs_first && lexer_is(&p->lex, '<') && !parse_list(p, '<', '>', parse_attr, n))
        return false;
    *out = n;
    return true;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

enum value_place { PLACE_INPUT, PLACE_OUTPUT, PLACE_INNER };

struct value_rule {
    struct model_graph *graph;
    enum value_place place;
};

static bool parse_value_info(struct parser *p, void *data)
{
    struct value_rule *r = data;
    struct model_value_info *v = arena_new(p->arena, struct model_value_info);
    *v = (struct model_value_info){.doc = "", .loc = lexer_loc(&p->lex)};
    v->type.denotation = v->type.opaque_domain = v->type.opaque_name = "";
    v->loc.graph = r->graph->name;
    if (is_type(p) && !parse_type(p, &v->type))
        return false;
    if (!parse_text(p, "a value's name", &v->name))
        return false;
    const bool with_data = r->place != PLACE_OUTPUT && accept(p, '=');
    if (with_data) {
        struct model_initializer *i = arena_new(p->arena, struct model_initializer);
        *i = (struct model_initializer){.name = v->name, .doc = "", .loc = v->loc};
        if (!parse_data(p, &v->type, &i->tensor))
            return false;
        vec_push(p->arena, &r->graph->initializers, i);
    }
    if (r->place == PLACE_INPUT)
        vec_push(p->arena, &r->graph->inputs, v);
    else if (r->place == PLACE_OUTPUT)
        vec_push(p->arena, &r->graph->outputs, v);
    else if (!with_data)
        vec_push(p->arena, &r->graph->value_infos, v);
    return true;
}

static bool parse_values(struct parser *p, struct model_graph *g, enum value_place place, char open, char close)
{
    struct value_rule r = {g, place};
    return parse_list(p, open, close, parse_value_info, &r);
}

static bool expect_arrow(struct parser *p)
{
    if (p->lex.token.kind != TOKEN_ARROW)
        return lexer_error(&p->lex, "expected '=>', found %s", lexer_describe(&p->lex));
    lexer_advance(&p->lex);
    return true;
}

static bool parse_body(struct parser *p, struct model_graph *g)
{
    if (!expect(p, '{'))
        return false;
    while (!accept(p, '}')) {
        struct model_node *n;
        if (p->lex.token.kind == TOKEN_END)
            return lexer_error(&p->lex, "expected a node or '}', found %s", lexer_describe(&p->lex));
        if (!parse_node(p, &n, (int)g->nodes.count))
            return false;
        vec_push(p->arena, &g->nodes, n);
    }
    return true;
}

static bool parse_graph(struct parser *p, struct model_graph **out)
{
    const char *outer = p->graph, *name = "";
    const struct loc at = lexer_loc(&p->lex);
    if (++p->depth > MAX_DEPTH)
        return lexer_error(&p->lex, "types or graphs nest more than %d deep", MAX_DEPTH);
    if (!parse_text(p, "a graph's name", &name))
        return false;
    struct model_graph *g = model_graph_new(p->arena, name);
    g->loc = at;
    g->loc.graph = p->graph = name;
    const bool ok = parse_values(p, g, PLACE_INPUT, '(', ')') && expect_arrow(p) && parse_values(p, g, PLACE_OUTPUT, '(', ')') &&
                    (!lexer_is(&p->lex, '<') || parse_values(p, g, PLACE_INNER, '<', '>')) && parse_body(p, g);
    p->graph = outer;
    p->depth--;
    *out = g;
    return ok;
}

/* ---- models ------------------------------------------------------------------------------------------------------- */

static bool parse_opset(struct parser *p, void *data)
{
    model_opsets *opsets = data;
    struct model_opset o;
    if (!parse_string(p, "a domain", &o.domain) || !expect(p, ':') || !parse_int(p, &o.version))
        return false;
    if (str_equal(o.domain, "ai.onnx"))
        o.domain = "";
    vec_push(p->arena, opsets, o);
    return true;
}

static bool parse_pair(struct parser *p, void *data)
{
    model_pairs *pairs = data;
    struct model_pair x;
    if (!parse_string(p, "a key", &x.key) || !expect(p, ':') || !parse_string(p, "a value", &x.value))
        return false;
    vec_push(p->arena, pairs, x);
    return true;
}

static bool parse_head(struct parser *p, void *data)
{
    struct model *m = data;
    const char *key = "";
    if (!parse_id(p, "a field of the model", &key) || !expect(p, ':'))
        return false;
    if (!strcmp(key, "ir_version"))
        return parse_int(p, &m->ir_version);
    if (!strcmp(key, "model_version"))
        return parse_int(p, &m->model_version);
    if (!strcmp(key, "producer_name"))
        return parse_string(p, key, &m->producer_name);
    if (!strcmp(key, "producer_version"))
        return parse_string(p, key, &m->producer_version);
    if (!strcmp(key, "domain"))
        return parse_string(p, key, &m->domain);
    if (!strcmp(key, "doc_string"))
        return parse_string(p, key, &m->doc);
    if (!strcmp(key, "opset_import"))
        return parse_list(p, '[', ']', parse_opset, &m->opsets);
    if (!strcmp(key, "metadata_props"))
        return parse_list(p, '[', ']', parse_pair, &m->metadata);
    return lexer_error(&p->lex, "unknown field '%s' of the model", key);
}

static bool parse_section(struct parser *p, struct model_training *t, unsigned *seen)
{
    static const char *const names[] = {"initialization", "algorithm", "initialization_binding", "update_binding"};
    const char *key = "";
    unsigned which = 0;
    if (!parse_id(p, "a section of @training_info", &key))
        return false;
    while (which < 4 && strcmp(key, names[which]) != 0)
        which++;
    if (which == 4)
        return lexer_error(&p->lex, "unknown section '%s' of @training_info", key);
    if (*seen & 1u << which)
        return lexer_error(&p->lex, "section '%s' stands twice in this @training_info", key);
    *seen |= 1u << which;
    if (!expect(p, ':'))
        return false;
    switch (which) {
    case 0: return parse_graph(p, &t->initialization);
    case 1: return parse_graph(p, &t->algorithm);
    case 2: return parse_list(p, '[', ']', parse_pair, &t->initialization_binding);
    default: return parse_list(p, '[', ']', parse_pair, &t->update_binding);
    }
}

static bool parse_training(struct parser *p, struct model *m)
{
    struct model_training *t = arena_new(p->arena, struct model_training);
    unsigned seen = 0;
    t->loc = lexer_loc(&p->lex);
    if (!expect(p, '@') || !is_word(p, "training_info"))
        return lexer_error(&p->lex, "expected @training_info, found %s", lexer_describe(&p->lex));
    lexer_advance(&p->lex);
    if (!expect(p, '{'))
        return false;
    while (!accept(p, '}'))
        if (!parse_section(p, t, &seen))
            return false;
    vec_push(p->arena, &m->training, t);
    return true;
}

static bool parse_function_head(struct parser *p, void *data)
{
    struct model_function *f = data;
    const char *key = "";
    if (!parse_id(p, "a field of the function", &key) || !expect(p, ':'))
        return false;
    if (!strcmp(key, "opset_import"))
        return parse_list(p, '[', ']', parse_opset, &f->opsets);
    if (!strcmp(key, "domain"))
        return parse_string(p, key, &f->domain);
    if (!strcmp(key, "doc_string"))
        return parse_string(p, key, &f->doc);
    if (!strcmp(key, "overload"))
        return parse_string(p, key, &f->overload);
    return lexer_error(&p->lex, "unknown field '%s' of the function", key);
}

/* An attribute of a function: a name, or a name with its default. */
static bool parse_formal_attr(struct parser *p, void *data)
{
    struct model_function *f = data;
    const struct token next = lexer_peek(&p->lex);
    if (next.kind == TOKEN_MARK && (next.text[0] == ':' || next.text[0] == '=')) {
        struct model_node holder = {0};
        if (!parse_attr(p, &holder))
            return false;
        vec_push(p->arena, &f->attribute_defaults, holder.attrs.data[0]);
        return true;
    }
    const char *name = "";
    if (!parse_id(p, "an attribute", &name))
        return false;
    vec_push(p->arena, &f->attributes, name);
    return true;
}

static bool parse_function(struct parser *p, struct model *m)
{
    struct model_function *f = arena_new(p->arena, struct model_function);
    *f = (struct model_function){.name = "", .domain = "", .overload = "", .doc = "", .loc = lexer_loc(&p->lex)};
    struct model_graph body = {.name = ""};
    if ((lexer_is(&p->lex, '<') && !parse_list(p, '<', '>', parse_function_head, f)) || !parse_text(p, "a function's name", &f->name))
        return false;
    body.name = p->graph = f->name;
    if ((lexer_is(&p->lex, '<') && !parse_list(p, '<', '>', parse_formal_attr, f)) || !parse_values(p, &body, PLACE_INPUT, '(', ')') ||
        !expect_arrow(p) || !parse_values(p, &body, PLACE_OUTPUT, '(', ')') ||
        (lexer_is(&p->lex, '<') && !parse_values(p, &body, PLACE_INNER, '<', '>')) || !parse_body(p, &body))
        return false;
    for (size_t i = 0; i < body.inputs.count; i++)
        vec_push(p->arena, &f->inputs, body.inputs.data[i]->name);
    for (size_t i = 0; i < body.outputs.count; i++)
        vec_push(p->arena, &f->outputs, body.outputs.data[i]->name);
    f->nodes.data = body.nodes.data;
    f->nodes.count = body.nodes.count;
    f->value_infos.data = body.value_infos.data;
    f->value_infos.count = body.value_infos.count;
    vec_push(p->arena, &m->functions, f);
    p->graph = NULL;
    return true;
}

static bool parse_model(struct parser *p, struct model *m)
{
    if (lexer_is(&p->lex, '<') && !parse_list(p, '<', '>', parse_head, m))
        return false;
    if (m->ir_version <= 0)
        return lexer_error(&p->lex, "the model needs a header with ir_version: <ir_version: 10, opset_import: [\"\" : 21]>");
    if (!parse_graph(p, &m->graph))
        return false;
    while (p->lex.token.kind != TOKEN_END)
        if (!(lexer_is(&p->lex, '@') ? parse_training(p, m) : parse_function(p, m)))
            return false;
    return !p->lex.failed;
}

bool model_read_text(struct diag *d, struct arena *a, const char *path, const char *text, size_t size, struct model **out)
{
    struct model *m = arena_new(a, struct model);
    struct parser p = {.arena = a, .model = m};
    struct sha256 hash;
    *m = (struct model){.file = path, .producer_name = "", .producer_version = "", .domain = "", .doc = ""};
    sha256_begin(&hash);
    sha256_add(&hash, text, size);
    sha256_end(&hash, m->digest);
    lexer_begin(&p.lex, d, a, path, text, size);
    *out = m;
    return parse_model(&p, m);
}
