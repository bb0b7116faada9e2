/* Trees of templates as C source: plain initialised data, what is pointed to before what points to it. */
#include "tools/gen_templates.h"

#include <inttypes.h>

struct tree_writer {
    struct arena *a;
    struct strbuf *out;
    struct map known; /* address of a variable or function, or all that an object without identity has -> its name */
    unsigned count;   /* objects so far, for their names */
};

static const char *fresh(struct tree_writer *w, const char *prefix)
{
    return arena_printf(w->a, "%s%u", prefix, w->count++);
}

static const char *known_name(const struct tree_writer *w, const void *object)
{
    return map_get(&w->known, arena_printf(w->a, "%p", object));
}

static void know(struct tree_writer *w, const void *object, const char *name)
{
    map_set(&w->known, arena_printf(w->a, "%p", object), (void *)(uintptr_t)name);
}

static const char *quoted(struct tree_writer *w, const char *text)
{
    struct strbuf b = {.arena = w->a};
    for (strbuf_add(&b, "\""); *text; text++)
        if (*text == '\n')
            strbuf_add(&b, "\\n");
        else
            strbuf_addf(&b, *text == '"' || *text == '\\' || *text == '?' ? "\\%c" : "%c", *text);
    strbuf_add(&b, "\"");
    return strbuf_text(&b);
}

static void add_text_field(struct tree_writer *w, struct strbuf *b, const char *field, const char *text)
{
    if (text)
        strbuf_addf(b, ", .%s = %s", field, quoted(w, text));
}

/* An array, where the name ends with [] */
static void define(struct tree_writer *w, const char *type, const char *name, const char *fields)
{
    strbuf_addf(w->out, "static %s %s = {%s};\n", type, name, fields);
}

/* One object stands for all that have the same fields. */
static const char *write_once(struct tree_writer *w, const char *type, const char *prefix, const char *fields)
{
    const char *name = map_get(&w->known, fields);
    if (name)
        return name;
    name = fresh(w, prefix);
    define(w, type, name, fields);
    map_set(&w->known, fields, (void *)(uintptr_t)name);
    return name;
}

/* "&x, &y, &z" */
static void add_reference(struct strbuf *list, const char *name)
{
    strbuf_addf(list, "%s&%s", list->length ? ", " : "", name);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static const char *write_expr(struct tree_writer *w, const struct expr *e);

static const char *write_var(struct tree_writer *w, const struct tree_var *v)
{
    const char *name = known_name(w, v);
    if (name)
        return name;
    struct strbuf b = {.arena = w->a};
    strbuf_addf(&b, ".kind = (enum var_kind)%d, .dtype = (enum dtype)%d", (int)v->kind, (int)v->dtype);
    add_text_field(w, &b, "type", v->type);
    add_text_field(w, &b, "name", v->name);
    add_text_field(w, &b, "from", v->from);
    add_text_field(w, &b, "of_type", v->of_type);
    if (v->extent)
        strbuf_addf(&b, ", .extent = &%s", write_expr(w, v->extent));
    strbuf_addf(&b, "%s%s", v->written ? ", .written = true" : "", v->is_restrict ? ", .is_restrict = true" : "");
    if (v->kind == VAR_HOLE || v->kind == VAR_MACRO)
        return write_once(w, "const struct tree_var", "v", strbuf_text(&b));
    name = fresh(w, "v");
    define(w, "const struct tree_var", name, strbuf_text(&b));
    know(w, v, name);
    return name;
}

static const char *write_call(struct tree_writer *w, const struct tree_call *c)
{
    struct strbuf b = {.arena = w->a}, args = {.arena = w->a}, members = {.arena = w->a};
    const char *const name = fresh(w, "c");
    for (size_t i = 0; i < c->count; i++) {
        add_reference(&args, write_expr(w, c->args[i]));
        if (c->members)
            strbuf_addf(&members, "%s\"%s\"", i ? ", " : "", c->members[i]);
    }
    strbuf_addf(&b, ".kind = (enum call_kind)%d, .count = %zu", (int)c->kind, c->count);
    add_text_field(w, &b, "name", c->name);
    add_text_field(w, &b, "from", c->from);
    strbuf_add(&b, c->by_type ? ", .by_type = true" : "");
    if (c->function)
        strbuf_addf(&b, ", .function = &%s", known_name(w, c->function));
    if (c->count > 0) {
        define(w, "const struct expr *", arena_printf(w->a, "%s_args[]", name), strbuf_text(&args));
        strbuf_addf(&b, ", .args = %s_args", name);
    }
    if (c->members) {
        define(w, "const char *const", arena_printf(w->a, "%s_members[]", name), strbuf_text(&members));
        strbuf_addf(&b, ", .members = %s_members", name);
    }
    define(w, "const struct tree_call", name, strbuf_text(&b));
    return name;
}

static const char *write_expr(struct tree_writer *w, const struct expr *e)
{
    struct strbuf b = {.arena = w->a}, args = {.arena = w->a};
    for (int i = 0; i < 3 && e->arg[i]; i++)
        add_reference(&args, write_expr(w, e->arg[i]));
    strbuf_addf(&b, ".op = (enum expr_op)%d, .dtype = (enum dtype)%d", (int)e->op, (int)e->dtype);
    if (args.length)
        strbuf_addf(&b, ", .arg = {%s}", strbuf_text(&args));
    if (e->op == EXPR_FLOAT)
        strbuf_addf(&b, ", .f = %.17g", e->f);
    if (e->op == EXPR_INT)
        strbuf_addf(&b, ", .i = INT64_C(%" PRId64 ")", e->i);
    if (e->op == EXPR_VAR || e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS)
        strbuf_addf(&b, ", .var = &%s", write_var(w, e->var));
    else if (e->op == EXPR_CALL)
        strbuf_addf(&b, ", .call = &%s", write_call(w, e->call));
    else if (e->op == EXPR_NULL || e->op == EXPR_MEMBER || e->op == EXPR_SIZEOF || e->op == EXPR_CAST)
        add_text_field(w, &b, "text", e->text);
    return write_once(w, "const struct expr", "e", strbuf_text(&b));
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static const char *list_fields(struct tree_writer *w, const stmt_list *list);

static const char *write_stmt(struct tree_writer *w, const struct stmt *s)
{
    struct strbuf b = {.arena = w->a};
    strbuf_addf(&b, ".kind = (enum stmt_kind)%d", (int)s->kind);
    if (s->var)
        strbuf_addf(&b, ", .var = &%s", write_var(w, s->var));
    for (int i = 0; i < STMT_EXPRS; i++)
        if (s->expr[i])
            strbuf_addf(&b, ", .expr[%d] = &%s", i, write_expr(w, s->expr[i]));
    add_text_field(w, &b, "comment", s->comment);
    strbuf_addf(&b, ", .loop = (enum loop_kind)%d", (int)s->loop);
    strbuf_addf(&b, ", .step = %" PRId64 ", .repeat = %" PRId64 ", .op = (enum set_op)%d", s->step, s->repeat,
                (int)s->op);
    strbuf_addf(&b, ", .body = %s", list_fields(w, &s->body));
    strbuf_addf(&b, ", .otherwise = %s", list_fields(w, &s->otherwise));
    const char *const name = fresh(w, "s");
    define(w, "const struct stmt", name, strbuf_text(&b));
    return name;
}

/* {data, count, capacity} */
static const char *list_fields(struct tree_writer *w, const stmt_list *list)
{
    if (list->count == 0)
        return "{NULL, 0, 0}";
    struct strbuf items = {.arena = w->a};
    for (size_t i = 0; i < list->count; i++)
        add_reference(&items, write_stmt(w, list->data[i]));
    const char *const name = fresh(w, "l");
    define(w, "const struct stmt *", arena_printf(w->a, "%s[]", name), strbuf_text(&items));
    return arena_printf(w->a, "{%s, %zu, %zu}", name, list->count, list->count);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void write_function(struct tree_writer *w, const struct tree_function *f);

static void write_callees(struct tree_writer *w, const stmt_list *list);

static void write_callees_of(struct tree_writer *w, const struct expr *e)
{
    for (int i = 0; e && i < 3; i++)
        write_callees_of(w, e->arg[i]);
    for (size_t i = 0; e && e->op == EXPR_CALL && i < e->call->count; i++)
        write_callees_of(w, e->call->args[i]);
    if (e && e->op == EXPR_CALL && e->call->function)
        write_function(w, e->call->function);
}

static void write_callees(struct tree_writer *w, const stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        for (int k = 0; k < STMT_EXPRS; k++)
            write_callees_of(w, list->data[i]->expr[k]);
        write_callees(w, &list->data[i]->body);
        write_callees(w, &list->data[i]->otherwise);
    }
}

static void write_function(struct tree_writer *w, const struct tree_function *f)
{
    if (known_name(w, f))
        return;
    write_callees(w, &f->body);
    struct strbuf b = {.arena = w->a}, params = {.arena = w->a};
    for (size_t i = 0; i < f->params.count; i++)
        add_reference(&params, write_var(w, f->params.data[i]));
    strbuf_addf(&b, ".dtype = (enum dtype)%d, .place = %d, .kind = %d", (int)f->dtype, f->place, (int)f->kind);
    add_text_field(w, &b, "name", f->name);
    add_text_field(w, &b, "comment", f->comment);
    add_text_field(w, &b, "attributes", f->attributes);
    add_text_field(w, &b, "type", f->type);
    const char *const name = fresh(w, "f");
    if (f->params.count > 0) {
        define(w, "const struct tree_var *", arena_printf(w->a, "%s_params[]", name), strbuf_text(&params));
        strbuf_addf(&b, ", .params = {%s_params, %zu, %zu}", name, f->params.count, f->params.count);
    }
    strbuf_addf(&b, ", .body = %s", list_fields(w, &f->body));
    define(w, "struct tree_function", name, strbuf_text(&b));
    know(w, f, name);
}

static const char *write_names(struct tree_writer *w, const char *const *names)
{
    const char *name = known_name(w, names);
    if (name)
        return name;
    struct strbuf list = {.arena = w->a};
    name = fresh(w, "n");
    for (const char *const *n = names; *n; n++)
        strbuf_addf(&list, "\"%s\", ", *n);
    strbuf_add(&list, "NULL");
    define(w, "const char *const", arena_printf(w->a, "%s[]", name), strbuf_text(&list));
    know(w, names, name);
    return name;
}

void write_trees(struct gen *g, struct strbuf *out, const char *table_name)
{
    struct tree_writer w = {.a = g->arena, .out = out, .known = {.arena = g->arena}};
    struct strbuf rows = {.arena = g->arena}, helpers = {.arena = g->arena};
    strbuf_add(out, "/* Generated by gen_templates from kernel templates and runtime headers; do not edit. */\n"
                    "#include \"tree/template.h\"\n\n");
    for (size_t i = 0; i < g->trees.count; i++) {
        const struct template_kernel *const k = &g->trees.data[i];
        write_function(&w, k->function);
        const char *const functions = write_names(&w, k->functions);
        strbuf_addf(&rows, "    {\"%s\", \"%s\", &%s, %s},\n", k->name, k->file, known_name(&w, k->function),
                    functions);
    }
    strbuf_addf(out, "\nstatic const struct template_kernel kernels[] = {\n%s    {NULL, NULL, NULL, NULL}};\n",
                strbuf_text(&rows));
    for (size_t i = 0; i < g->helpers.count; i++)
        strbuf_addf(&helpers, "    {\"%s\", \"%s\", %s},\n", g->helpers.data[i].name, g->helpers.data[i].file,
                    g->helpers.data[i].has_double ? "true" : "false");
    strbuf_addf(out, "\nstatic const struct template_helper helpers[] = {\n%s    {NULL, NULL, false}};\n",
                strbuf_text(&helpers));
    strbuf_addf(out, "\nextern const struct template_trees %s;\n"
                     "const struct template_trees %s = {kernels, %zu, helpers, %zu};\n",
                table_name, table_name, g->trees.count, g->helpers.count);
}
