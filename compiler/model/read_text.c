/* The ONNX text syntax with two extensions, @training_info and devices (text_devices.c): recursive descent over the
 * grammar of ONNX Syntax.md, one function per rule, in the order of the grammar from the leaves up. Types and tensors
 * are read in read_text_values.c. */
#include "model/model.h"

#include "base/hash.h"
#include "base/str.h"
#include "model/parse_text.h"
#include <string.h>

static bool parse_graph(struct text_parser *p, struct model_graph **out);

/* ---- attributes -------------------------------------------------------------------------------------------------- */

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
static bool parse_typed_value(struct text_parser *p, struct model_attr *a)
{
    struct model_type *type = arena_new(p->arena, struct model_type);
    const char *name = "";
    if (!text_type(p, type))
        return false;
    if (text_is_name(p) && !text_name(p, "a tensor's name", &name))
        return false;
    const bool assigned = text_accept(p, '=');
    if (!assigned && !lexer_is(&p->lex, '{')) {
        a->type = ATTR_TYPE_PROTO;
        a->tp = type;
        return true;
    }
    a->type = ATTR_TENSOR;
    a->t_name = name;
    return text_data(p, type, &a->t);
}

/* One VALUE into a; a->type says which field. */
static bool parse_value(struct text_parser *p, struct model_attr *a)
{
    double x;
    switch (p->lex.token.kind) {
    case TOKEN_INT: a->type = ATTR_INT; return text_int(p, &a->i);
    case TOKEN_FLOAT:
        a->type = ATTR_FLOAT;
        if (!text_number(p, true, &x))
            return false;
        a->f = (float)x;
        return true;
    case TOKEN_MARK:
        if (text_accept(p, '@'))
            return text_name(p, "an attribute's name", &a->ref);
        break;
    case TOKEN_STRING:
    case TOKEN_NAME: {
        const struct token next = lexer_peek(&p->lex);
        if (text_is_type(p))
            return parse_typed_value(p, a);
        if (next.kind == TOKEN_MARK && next.text[0] == '(') {
            a->type = ATTR_GRAPH;
            return parse_graph(p, &a->g);
        }
        if (p->lex.token.kind == TOKEN_NAME && text_special_number(p->lex.token.text, &x)) {
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

static void append_value(struct text_parser *p, struct model_attr *a, const struct model_attr *v)
{
    switch (v->type) {
    case ATTR_FLOAT: vec_push(p->arena, &a->floats, v->f); break;
    case ATTR_INT: vec_push(p->arena, &a->ints, v->i); break;
    case ATTR_STRING: vec_push(p->arena, &a->strings, v->s); break;
    case ATTR_TENSOR: vec_push(p->arena, &a->tensors, v->t); break;
    case ATTR_GRAPH: vec_push(p->arena, &a->graphs, v->g); break;
    case ATTR_TYPE_PROTO: vec_push(p->arena, &a->types, v->tp); break;
    default: UNREACHABLE("a value of type %s", attr_type_name(v->type));
    }
}

struct value_list {
    struct model_attr *attr;
    enum attr_type element;
    enum attr_type declared;
};

static bool parse_list_value(struct text_parser *p, void *data)
{
    struct value_list *l = data;
    struct model_attr v = {.ref = ""};
    const struct token at = p->lex.token;
    if (!parse_value(p, &v))
        return false;
    if (v.type == ATTR_UNDEFINED) /* and @"", too */
        return lexer_error_at(&p->lex, &at, "a list cannot hold a reference: the whole list can be one, @%s", v.ref);
    if (v.type == ATTR_INT && (l->declared == ATTR_FLOATS || l->element == ATTR_FLOAT)) {
        v.type = ATTR_FLOAT;
        v.f = (float)v.i;
    }
    if (l->element != ATTR_UNDEFINED && v.type != l->element)
        return lexer_error_at(&p->lex, &at, "a list holds %s and %s: its values must be of one type",
                              attr_type_name(l->element), attr_type_name(v.type));
    l->element = v.type;
    append_value(p, l->attr, &v);
    return true;
}

/* Before '=': "name" or "name : TYPE". */
static bool parse_attr_head(struct text_parser *p, struct model_attr *a, enum attr_type *declared)
{
    const char *type = "";
    *declared = ATTR_UNDEFINED;
    if (!text_id(p, "an attribute's name", &a->name))
        return false;
    if (text_accept(p, ':')) {
        const struct token at = p->lex.token;
        if (!text_id(p, "an attribute type", &type))
            return false;
        *declared = attr_type_from_name(type);
        if (*declared == ATTR_UNDEFINED)
            return lexer_error_at(&p->lex, &at, "'%s' is no attribute type", type);
    }
    return text_expect(p, '=');
}

static bool parse_attr(struct text_parser *p, void *data)
{
    struct model_node *n = data;
    struct model_attr *a = arena_new(p->arena, struct model_attr);
    enum attr_type declared;
    *a = (struct model_attr){.doc = "", .ref = "", .t_name = "", .s = {"", 0}, .loc = lexer_loc(&p->lex)};
    a->loc.graph = p->graph;
    if (!parse_attr_head(p, a, &declared))
        return false;
    const struct token at = p->lex.token;
    if (lexer_is(&p->lex, '[')) {
        struct value_list l = {.attr = a, .declared = declared};
        if (!text_list(p, '[', ']', parse_list_value, &l))
            return false;
        a->type = l.element == ATTR_UNDEFINED ? declared : list_of(l.element);
        if (a->type == ATTR_UNDEFINED)
            return lexer_error_at(&p->lex, &at, "the type of the empty list '%s' must be given: %s : ints = []",
                                  a->name, a->name);
    } else if (!parse_value(p, a)) {
        return false;
    }
    if (a->ref[0] && declared == ATTR_UNDEFINED)
        return lexer_error_at(&p->lex, &at, "the type of the referenced attribute must be given: %s : int = @%s",
                              a->name, a->ref);
    if (a->ref[0])
        a->type = declared;
    if (a->type == ATTR_INT && declared == ATTR_FLOAT) {
        a->type = ATTR_FLOAT;
        a->f = (float)a->i;
    }
    if (declared != ATTR_UNDEFINED && a->type != declared)
        return lexer_error_at(&p->lex, &at, "attribute '%s' is declared %s but its value is %s", a->name,
                              attr_type_name(declared), attr_type_name(a->type));
    vec_push(p->arena, &n->attrs, a);
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Names up to (not including) `end`; nothing before a comma, or "", is an omitted operand. */
static bool parse_operands(struct text_parser *p, char end, str_list *out)
{
    while (!lexer_is(&p->lex, end)) {
        const char *name = "";
        if (text_is_name(p) && !text_name(p, "a value's name", &name))
            return false;
        vec_push(p->arena, out, name);
        if (!text_accept(p, ',') && !lexer_is(&p->lex, end))
            return lexer_error(&p->lex, "expected ',' or '%c', found %s", end, lexer_describe(&p->lex));
    }
    return true;
}

static bool parse_operator(struct text_parser *p, struct model_node *n)
{
    struct strbuf domain = {.arena = p->arena};
    const char *part = "";
    if (!text_id(p, "an operator", &part))
        return false;
    while (text_accept(p, '.')) {
        strbuf_addf(&domain, "%s%s", domain.length ? "." : "", part);
        if (!text_id(p, "an operator", &part))
            return false;
    }
    n->op_type = part;
    n->domain = model_domain(strbuf_text(&domain));
    return !text_accept(p, ':') || text_id(p, "an overload", &n->overload);
}

static bool parse_node(struct text_parser *p, struct model_node **out, int index)
{
    struct model_node *n = arena_new(p->arena, struct model_node);
    *n = (struct model_node){.name = "", .op_type = "", .domain = "", .overload = "", .doc = "",
                             .loc = lexer_loc(&p->lex)};
    if (text_accept(p, '[')) {
        if (!lexer_is(&p->lex, ']') && !text_name(p, "a node's name", &n->name))
            return false;
        if (!text_expect(p, ']'))
            return false;
    }
    if (!parse_operands(p, '=', &n->outputs) || !text_expect(p, '=') || !parse_operator(p, n))
        return false;
    n->loc.graph = p->graph;
    n->loc.node = n->name;
    n->loc.op = n->op_type;
    n->loc.index = index;
    const bool attrs_first = lexer_is(&p->lex, '<');
    if (attrs_first && !text_list(p, '<', '>', parse_attr, n))
        return false;
    if (!text_expect(p, '(') || !parse_operands(p, ')', &n->inputs) || !text_expect(p, ')'))
        return false;
    if (!attrs_first && lexer_is(&p->lex, '<') && !text_list(p, '<', '>', parse_attr, n))
        return false;
    if (!text_node_devices(p, n))
        return false;
    *out = n;
    return true;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* those of functions: without data */
enum value_place { PLACE_INPUT, PLACE_OUTPUT, PLACE_INNER, PLACE_FUNCTION_INPUT, PLACE_FUNCTION_INNER };

struct value_rule {
    struct model_graph *graph;
    enum value_place place;
};

/* A name that no type precedes, followed by what can only follow a type: a type's name was meant. */
static bool report_unknown_type(struct text_parser *p, const struct token *at, const char *name)
{
    const char *known[DTYPE_COUNT];
    size_t count = 0;
    for (int d = 1; d < DTYPE_COUNT; d++)
        known[count++] = dtype_name((enum dtype)d);
    return lexer_error_at(&p->lex, at, "unknown type '%s'%s", name, str_suggestion(p->arena, name, known, count));
}

static bool parse_value_info(struct text_parser *p, void *data)
{
    struct value_rule *r = data;
    struct model_value_info *v = arena_new(p->arena, struct model_value_info);
    *v = (struct model_value_info){.doc = "", .loc = lexer_loc(&p->lex)};
    v->type.denotation = v->type.opaque_domain = v->type.opaque_name = "";
    v->loc.graph = r->graph->name;
    const struct token first = p->lex.token;
    const bool typed = text_is_type(p);
    if ((typed && !text_type(p, &v->type)) || !text_name(p, "a value's name", &v->name))
        return false;
    if (!typed && (lexer_is(&p->lex, '[') || text_is_name(p)))
        return report_unknown_type(p, &first, v->name);
    const bool with_data = (r->place == PLACE_INPUT || r->place == PLACE_INNER) && text_accept(p, '=');
    if (with_data) {
        struct model_initializer *i = arena_new(p->arena, struct model_initializer);
        *i = (struct model_initializer){.name = v->name, .doc = "", .loc = v->loc};
        if (!text_data(p, &v->type, &i->tensor))
            return false;
        vec_push(p->arena, &r->graph->initializers, i);
    }
    if (r->place == PLACE_INPUT || r->place == PLACE_FUNCTION_INPUT)
        vec_push(p->arena, &r->graph->inputs, v);
    else if (r->place == PLACE_OUTPUT)
        vec_push(p->arena, &r->graph->outputs, v);
    else if (!with_data)
        vec_push(p->arena, &r->graph->value_infos, v);
    return true;
}

static bool parse_values(struct text_parser *p, struct model_graph *g, enum value_place place, char open, char close)
{
    struct value_rule r = {g, place};
    return text_list(p, open, close, parse_value_info, &r);
}

static bool expect_arrow(struct text_parser *p)
{
    if (p->lex.token.kind != TOKEN_ARROW)
        return lexer_error(&p->lex, "expected '=>', found %s", lexer_describe(&p->lex));
    lexer_advance(&p->lex);
    return true;
}

static bool parse_body(struct text_parser *p, struct model_graph *g)
{
    if (!text_expect(p, '{'))
        return false;
    while (!text_accept(p, '}')) {
        struct model_node *n;
        if (p->lex.token.kind == TOKEN_END)
            return lexer_error(&p->lex, "expected a node or '}', found %s", lexer_describe(&p->lex));
        if (!parse_node(p, &n, (int)g->nodes.count))
            return false;
        vec_push(p->arena, &g->nodes, n);
    }
    return true;
}

static bool parse_graph(struct text_parser *p, struct model_graph **out)
{
    const char *outer = p->graph, *name = "";
    const struct loc at = lexer_loc(&p->lex);
    if (++p->depth > TEXT_MAX_DEPTH)
        return lexer_error(&p->lex, "types or graphs nest more than %d deep", TEXT_MAX_DEPTH);
    if (!text_name(p, "a graph's name", &name))
        return false;
    struct model_graph *g = model_graph_new(p->arena, name);
    g->loc = at;
    g->loc.graph = p->graph = name;
    const bool ok = parse_values(p, g, PLACE_INPUT, '(', ')') && expect_arrow(p) &&
                    parse_values(p, g, PLACE_OUTPUT, '(', ')') &&
                    (!lexer_is(&p->lex, '<') || parse_values(p, g, PLACE_INNER, '<', '>')) && parse_body(p, g);
    p->graph = outer;
    p->depth--;
    *out = g;
    return ok;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static bool is_word(const struct text_parser *p, const char *word)
{
    return p->lex.token.kind == TOKEN_NAME && !strcmp(p->lex.token.text, word);
}

static bool parse_opset(struct text_parser *p, void *data)
{
    model_opsets *opsets = data;
    struct model_opset o;
    if (!text_string(p, "a domain", &o.domain) || !text_expect(p, ':') || !text_int(p, &o.version))
        return false;
    o.domain = model_domain(o.domain);
    vec_push(p->arena, opsets, o);
    return true;
}

static bool parse_pair(struct text_parser *p, void *data)
{
    model_pairs *pairs = data;
    struct model_pair x;
    if (!text_string(p, "a key", &x.key) || !text_expect(p, ':') || !text_string(p, "a value", &x.value))
        return false;
    vec_push(p->arena, pairs, x);
    return true;
}

static bool parse_head(struct text_parser *p, void *data)
{
    struct model *m = data;
    const char *key = "";
    const struct token at = p->lex.token;
    if (!text_id(p, "a field of the model", &key) || !text_expect(p, ':'))
        return false;
    if (!strcmp(key, "ir_version"))
        return text_int(p, &m->ir_version);
    if (!strcmp(key, "model_version"))
        return text_int(p, &m->model_version);
    if (!strcmp(key, "producer_name"))
        return text_string(p, key, &m->producer_name);
    if (!strcmp(key, "producer_version"))
        return text_string(p, key, &m->producer_version);
    if (!strcmp(key, "domain"))
        return text_string(p, key, &m->domain);
    if (!strcmp(key, "doc_string"))
        return text_string(p, key, &m->doc);
    if (!strcmp(key, "opset_import"))
        return text_list(p, '[', ']', parse_opset, &m->opsets);
    if (!strcmp(key, "metadata_props"))
        return text_list(p, '[', ']', parse_pair, &m->metadata);
    if (!strcmp(key, "configuration"))
        return text_list(p, '[', ']', text_configuration, m);
    return lexer_error_at(&p->lex, &at, "unknown field '%s' of the model", key);
}

static bool parse_section(struct text_parser *p, struct model_training *t, unsigned *seen)
{
    static const char *const names[] = {"initialization", "algorithm", "initialization_binding", "update_binding"};
    const char *key = "";
    const struct token at = p->lex.token;
    unsigned which = 0;
    if (!text_id(p, "a section of @training_info", &key))
        return false;
    while (which < 4 && strcmp(key, names[which]) != 0)
        which++;
    if (which == 4)
        return lexer_error_at(&p->lex, &at, "unknown section '%s' of @training_info", key);
    if (*seen & 1u << which)
        return lexer_error_at(&p->lex, &at, "section '%s' stands twice in this @training_info", key);
    *seen |= 1u << which;
    if (!text_expect(p, ':'))
        return false;
    switch (which) {
    case 0: return parse_graph(p, &t->initialization);
    case 1: return parse_graph(p, &t->algorithm);
    case 2: return text_list(p, '[', ']', parse_pair, &t->initialization_binding);
    default: return text_list(p, '[', ']', parse_pair, &t->update_binding);
    }
}

static bool parse_training(struct text_parser *p, struct model *m)
{
    struct model_training *t = arena_new(p->arena, struct model_training);
    unsigned seen = 0;
    t->loc = lexer_loc(&p->lex);
    if (!text_expect(p, '@') || !is_word(p, "training_info"))
        return lexer_error(&p->lex, "expected @training_info, found %s", lexer_describe(&p->lex));
    lexer_advance(&p->lex);
    if (!text_expect(p, '{'))
        return false;
    while (!text_accept(p, '}'))
        if (!parse_section(p, t, &seen))
            return false;
    vec_push(p->arena, &m->training, t);
    return true;
}

static bool parse_function_head(struct text_parser *p, void *data)
{
    struct model_function *f = data;
    const char *key = "";
    const struct token at = p->lex.token;
    if (!text_id(p, "a field of the function", &key) || !text_expect(p, ':'))
        return false;
    if (!strcmp(key, "opset_import"))
        return text_list(p, '[', ']', parse_opset, &f->opsets);
    if (!strcmp(key, "domain"))
        return text_string(p, key, &f->domain);
    if (!strcmp(key, "doc_string"))
        return text_string(p, key, &f->doc);
    if (!strcmp(key, "overload"))
        return text_string(p, key, &f->overload);
    return lexer_error_at(&p->lex, &at, "unknown field '%s' of the function", key);
}

/* An attribute of a function: a name, or a name with its default. */
static bool parse_formal_attr(struct text_parser *p, void *data)
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
    if (!text_id(p, "an attribute", &name))
        return false;
    vec_push(p->arena, &f->attributes, name);
    return true;
}

static bool parse_function(struct text_parser *p, struct model *m)
{
    struct model_function *f = arena_new(p->arena, struct model_function);
    *f = (struct model_function){.name = "", .domain = "", .overload = "", .doc = "", .loc = lexer_loc(&p->lex)};
    struct model_graph body = {.name = ""};
    if ((lexer_is(&p->lex, '<') && !text_list(p, '<', '>', parse_function_head, f)) ||
        !text_name(p, "a function's name", &f->name))
        return false;
    body.name = p->graph = f->name;
    if ((lexer_is(&p->lex, '<') && !text_list(p, '<', '>', parse_formal_attr, f)) ||
        !parse_values(p, &body, PLACE_FUNCTION_INPUT, '(', ')') || !expect_arrow(p) ||
        !parse_values(p, &body, PLACE_OUTPUT, '(', ')') ||
        (lexer_is(&p->lex, '<') && !parse_values(p, &body, PLACE_FUNCTION_INNER, '<', '>')) || !parse_body(p, &body))
        return false;
    for (size_t i = 0; i < body.inputs.count; i++)
        vec_push(p->arena, &f->inputs, body.inputs.data[i]->name);
    for (size_t i = 0; i < body.outputs.count; i++)
        vec_push(p->arena, &f->outputs, body.outputs.data[i]->name);
    f->nodes = body.nodes;
    f->value_infos = body.value_infos;
    vec_push(p->arena, &m->functions, f);
    p->graph = NULL;
    return true;
}

static bool parse_model(struct text_parser *p, struct model *m)
{
    if (lexer_is(&p->lex, '<') && !text_list(p, '<', '>', parse_head, m))
        return false;
    if (m->ir_version <= 0)
        return lexer_error(&p->lex,
                           "the model needs a header with ir_version: <ir_version: 10, opset_import: [\"\" : 21]>");
    if (!parse_graph(p, &m->graph))
        return false;
    while (p->lex.token.kind != TOKEN_END)
        if (!(lexer_is(&p->lex, '@') ? parse_training(p, m) : parse_function(p, m)))
            return false;
    return !p->lex.failed;
}

bool model_read_text(struct diag *d, struct arena *a, const char *path, const char *text, size_t size,
                     struct model **out)
{
    struct model *m = arena_new(a, struct model);
    struct text_parser p = {.arena = a, .model = m};
    struct sha256 hash;
    *m = (struct model){.file = path, .producer_name = "", .producer_version = "", .domain = "", .doc = ""};
    sha256_begin(&hash);
    sha256_add(&hash, text, size);
    sha256_end(&hash, m->digest);
    lexer_begin(&p.lex, d, a, path, text, size);
    *out = m;
    return parse_model(&p, m);
}
