/* The graph as text: sources, nodes, outputs and bindings, in the order of the graph. For reading and for golden files;
 * not the ONNX text syntax. */
#include "graph/region.h"

#include "base/clean.h"
#include "base/str.h"
#include <ctype.h>
#include <stdio.h>

enum { LIST_SHOWN = 16, CONSTANT_SHOWN = 8 }; /* elements, before "..." */

/* Shortest form that reads back as the same double; an attribute of 0.01 is a float, so it is tried as one first. */
static void print_number(struct strbuf *b, double x)
{
    char text[40];
    double back;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (!str_to_double(text, &back) || back == x || (digits <= 9 && (double)(float)back == x))
            break;
    }
    strbuf_add(b, text);
}

/* Names come from the model and may hold anything. */
static void print_quoted(struct strbuf *b, const char *s)
{
    strbuf_add(b, "\"");
    while (*s != '\0') {
        bool unsafe;
        const size_t n = clean_next(s, &unsafe);
        if (*s == '"' || *s == '\\')
            strbuf_add(b, "\\");
        if (unsafe)
            for (size_t i = 0; i < n; i++)
                strbuf_addf(b, "\\x%02X", (unsigned char)s[i]);
        else
            strbuf_add_n(b, s, n);
        s += n;
    }
    strbuf_add(b, "\"");
}

static bool is_plain(const char *name)
{
    for (const char *p = name; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.' && *p != '/' && *p != ':' && *p != '-')
            return false;
    return *name != '\0';
}

static void print_name(struct strbuf *b, const char *name)
{
    if (is_plain(name))
        strbuf_add(b, name);
    else
        print_quoted(b, name);
}

static void print_type(struct strbuf *b, enum dtype dtype, const struct shape *s)
{
    strbuf_add(b, dtype_name(dtype));
    for (int i = 0; i < s->rank; i++)
        strbuf_addf(b, "%s%lld", i == 0 ? "[" : ",", (long long)s->dim[i]);
    strbuf_add(b, s->rank > 0 ? "]" : "");
}

static void print_value(struct strbuf *b, const struct value *v)
{
    print_name(b, v->name);
    strbuf_add(b, ":");
    print_type(b, v->dtype, &v->shape);
}

/* ---- content ----------------------------------------------------------------------------------------------------- */

static void print_element(struct strbuf *b, const struct tensor *t, int64_t i)
{
    if (t->dtype == DTYPE_STRING)
        print_quoted(b, t->strings[i]);
    else if (dtype_is_float(t->dtype))
        print_number(b, tensor_get_double(t, i));
    else if (t->dtype == DTYPE_UINT64)
        strbuf_addf(b, "%llu", (unsigned long long)tensor_get_int(t, i));
    else if (dtype_is_int(t->dtype) || t->dtype == DTYPE_BOOL)
        strbuf_addf(b, "%lld", (long long)tensor_get_int(t, i));
    else
        strbuf_add(b, "?");
}

static void print_tensor(struct strbuf *b, const struct tensor *t)
{
    if (t->shape.rank > 0)
        strbuf_add(b, "{");
    for (int64_t i = 0; i < t->count && i < CONSTANT_SHOWN; i++) {
        strbuf_add(b, i > 0 ? ", " : "");
        print_element(b, t, i);
    }
    strbuf_add(b, t->count > CONSTANT_SHOWN ? ", ..." : "");
    if (t->shape.rank > 0)
        strbuf_add(b, "}");
}

static void print_list_element(struct strbuf *b, const struct attr *a, size_t i)
{
    if (a->type == ATTR_INTS)
        strbuf_addf(b, "%lld", (long long)a->ints[i]);
    else if (a->type == ATTR_FLOATS)
        print_number(b, a->floats[i]);
    else
        print_quoted(b, a->strings[i]);
}

static void print_attr(struct strbuf *b, const struct attr *a)
{
    strbuf_addf(b, "%s=", a->name);
    switch (a->type) {
    case ATTR_FLOAT:
        print_number(b, a->f);
        return;
    case ATTR_INT:
        strbuf_addf(b, "%lld", (long long)a->i);
        return;
    case ATTR_STRING:
        print_quoted(b, a->s);
        return;
    case ATTR_TENSOR:
        print_type(b, a->t->dtype, &a->t->shape);
        print_tensor(b, a->t);
        return;
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRINGS:
        strbuf_add(b, "[");
        for (size_t i = 0; i < a->count && i < LIST_SHOWN; i++) {
            strbuf_add(b, i > 0 ? ", " : "");
            print_list_element(b, a, i);
        }
        strbuf_add(b, a->count > LIST_SHOWN ? ", ...]" : "]");
        return;
    default:
        strbuf_addf(b, "(%s)", attr_type_name(a->type));
        return;
    }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void print_inputs(struct strbuf *b, const struct node *n)
{
    strbuf_add(b, "(");
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *v = n->inputs.data[i];
        strbuf_add(b, i > 0 ? ", " : "");
        print_name(b, v != NULL ? v->name : "_");
    }
    strbuf_add(b, ")");
}

static void print_node(struct strbuf *b, const struct node *n)
{
    strbuf_add(b, "  ");
    for (size_t i = 0; i < n->outputs.count; i++) {
        strbuf_add(b, i > 0 ? ", " : "");
        if (n->outputs.data[i] != NULL)
            print_value(b, n->outputs.data[i]);
        else
            strbuf_add(b, "_");
    }
    strbuf_addf(b, " = %s", op_display_name(n->def));
    for (size_t i = 0; i < n->attrs.count; i++) {
        strbuf_add(b, i == 0 ? "<" : ", ");
        print_attr(b, &n->attrs.data[i]);
    }
    strbuf_add(b, n->attrs.count > 0 ? ">" : "");
    print_inputs(b, n);
    if (n->name[0] != '\0') {
        strbuf_add(b, "   # node ");
        print_quoted(b, n->name);
    } else if (n->loc.origin != NULL) {
        strbuf_addf(b, "   # %s", n->loc.origin);
    }
    strbuf_add(b, "\n");
    if (n->region == NULL)
        return;
    strbuf_addf(b, "%lld steps%s of ", (long long)n->region->trips.most, n->region->backwards ? " backwards" : "");
    strbuf_add(b, graph_print(b->arena, region_graph(n->region)));
}

static void print_source(struct strbuf *b, const struct value *v)
{
    strbuf_addf(b, "  %s ", v->kind == VALUE_VARIABLE ? "variable" : "constant");
    print_value(b, v);
    if (v->kind == VALUE_CONSTANT) {
        strbuf_add(b, " = ");
        print_tensor(b, v->constant);
    } else if (v->variable->name != v->name && !str_equal(v->variable->name, v->name)) {
        strbuf_add(b, " of ");
        print_name(b, v->variable->name);
    }
    strbuf_add(b, "\n");
}

static void print_pair(struct strbuf *b, const char *what, const char *left, const char *sign, const char *right)
{
    strbuf_add(b, what);
    print_name(b, left);
    strbuf_add(b, sign);
    print_name(b, right);
    strbuf_add(b, "\n");
}

const char *graph_print(struct arena *a, const struct graph *g)
{
    struct strbuf b = {.arena = a, .clean = true};
    strbuf_add(&b, "graph ");
    print_name(&b, g->name);
    strbuf_add(&b, " {\n");
    vec_each(const struct value *, v, &g->inputs) {
        strbuf_add(&b, "  input ");
        print_value(&b, v);
        strbuf_add(&b, v->specialised ? "   # specialised to what is fed\n" : "\n");
    }
    for (size_t i = 0; i < g->sources.count; i++)
        print_source(&b, g->sources.data[i]);
    for (const struct node *n = g->first; n != NULL; n = n->next)
        print_node(&b, n);
    vec_each_ptr(const struct graph_output, o, &g->outputs)
        print_pair(&b, "  output ", o->name, " = ", o->value->name);
    vec_each_ptr(const struct binding, bound, &g->bindings)
        print_pair(&b, "  ", bound->variable->name, " <- ", bound->value->name);
    strbuf_add(&b, "}\n");
    return strbuf_text(&b);
}
