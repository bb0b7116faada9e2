/* What becomes of a template for a kernel: each function is built anew, with sizes for integer holes, so that makers
 * fold and conditions on sizes are decided; a loop of one iteration is its body. Calls of holes become what the
 * kernel's parts do.
 *
 * Functions are built when all that call them are: an argument that is the same constant in all calls then stands in
 * the function. One that is called once becomes a part of its caller: so all is built twice, first to count calls. */
#include "tree/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct mapped {
    const struct tree_var *from;
    const struct expr *to; /* a value, or the address of the first element */
};

/* How a function of the template is used. */
struct function_use {
    const struct tree_function *function;
    int calls;
    bool is_aliased;          /* some call gives one place to two parameters, of which one is written */
    bool returns;             /* it ends elsewhere than at its end */
    const struct expr **same; /* by parameter: what every call so far has given; NULL: not one constant */
};
typedef VEC(struct function_use) use_list;

struct made_function {
    const struct tree_function *from;
    struct tree_function *to;
    bool is_built;
};

struct instance {
    struct arena *arena;
    const struct template_kernel *kernel;
    const struct template_binding *binding;
    struct template_instance *out;
    VEC(struct made_function) made; /* functions so far */
    use_list uses;         /* in what is built now */
    const use_list *plan;  /* in what was built before */
};

/* One function on its way. */
struct rebuild {
    struct instance *in;
    struct tree_builder *b;
    VEC(struct mapped) map;
    const struct tree_function *part; /* that becomes a part of this one and is being built; or NULL */
    const stmt_list *part_at;         /* where its statements go */
    bool has_returned;                /* it has come to its end, */
    const struct expr *result;        /* with this */
};

const struct template_kernel *template_kernel_find(const struct template_trees *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (str_equal(t->kernels[i].name, name))
            return &t->kernels[i];
    return NULL;
}

const struct template_helper *template_helper_find(const struct template_trees *t, const char *name)
{
    for (size_t i = 0; i < t->helper_count; i++)
        if (str_equal(t->helpers[i].name, name))
            return &t->helpers[i];
    return NULL;
}

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

static const struct expr *bound_int(const struct instance *in, const char *name)
{
    for (size_t i = 0; i < in->binding->int_count; i++)
        if (str_equal(in->binding->ints[i].name, name))
            return in->binding->ints[i].late ? in->binding->ints[i].late
                                             : index_constant(in->arena, in->binding->ints[i].value);
    if (str_starts_with(name, "WITH_"))
        return index_constant(in->arena, 0);
    UNREACHABLE("template '%s': integer hole '%s' is not bound", in->kernel->name, name);
}

static const struct template_type *find_type(const struct instance *in, const char *hole)
{
    for (size_t i = 0; i < in->binding->type_count; i++)
        if (str_equal(in->binding->types[i].hole, hole))
            return &in->binding->types[i];
    return NULL;
}

static const struct template_type *element_type(const struct instance *in)
{
    const struct template_type *const t = find_type(in, "T");
    if (!t)
        UNREACHABLE("template '%s': the type hole T is not bound", in->kernel->name);
    return t;
}

static enum dtype bound_dtype(const struct instance *in, enum dtype d)
{
    return d == DTYPE_TEMPLATE ? element_type(in)->dtype : d;
}

/* Routines that exist for each type of elements have it behind their names, but for float. */
static const char *routine_name(struct instance *in, const struct tree_call *c)
{
    const char *const type = element_type(in)->type;
    if (!c->by_type || str_equal(type, "float"))
        return c->name;
    if (!str_equal(type, "double"))
        UNREACHABLE("template '%s': no '%s' for elements of type %s", in->kernel->name, c->name, type);
    return arena_printf(in->arena, "%s_%s", c->name, type);
}

static const char *macro_name(struct instance *in, const struct tree_var *v)
{
    const struct template_type *const hole = find_type(in, v->name);
    const struct template_type *const of = v->of_type ? find_type(in, v->of_type) : NULL;
    return of ? arena_printf(in->arena, "%s(%s)", v->name, of->type) : hole ? hole->type : v->name;
}

static const char *bound_type(struct instance *in, const char *type)
{
    const struct template_type *const hole = find_type(in, type);
    return hole ? hole->type : type;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static const struct expr *rebuilt(struct rebuild *r, const struct expr *e);
static struct tree_function *function_of(struct instance *in, const struct tree_function *f);

static const struct expr *mapped_to(const struct rebuild *r, const struct tree_var *v)
{
    for (size_t i = r->map.count; i-- > 0;)
        if (r->map.data[i].from == v)
            return r->map.data[i].to;
    UNREACHABLE("template '%s': operand '%s' is not bound", r->in->kernel->name, v->name);
}

static const struct expr *rebuilt_var(struct rebuild *r, const struct expr *e)
{
    struct instance *const in = r->in;
    if (e->var->kind == VAR_HOLE)
        return bound_int(in, e->var->name);
    if (e->var->kind != VAR_MACRO)
        return mapped_to(r, e->var);
    struct tree_var *const v = arena_copy(in->arena, e->var, sizeof *v, alignof(struct tree_var));
    v->name = macro_name(in, v);
    return tree_read(in->arena, v);
}

static const struct expr *rebuilt_element(struct rebuild *r, const struct expr *e)
{
    struct arena *const a = r->in->arena;
    const struct expr *const base = mapped_to(r, e->var), *const index = rebuilt(r, e->arg[0]);
    if (base->op == EXPR_NULL)
        return base;
    const struct expr *const sum = index_add(a, base->arg[0], index);
    return e->op == EXPR_ELEMENT ? tree_element(a, base->var, sum) : tree_address(a, base->var, sum);
}

/* A constant of T: of an integer type without its point. */
static const struct expr *rebuilt_constant(struct rebuild *r, const struct expr *e)
{
    const enum dtype d = element_type(r->in)->dtype;
    const bool is_native = d == DTYPE_FLOAT || d == DTYPE_DOUBLE;
    if (is_native)
        return expr_float(r->in->arena, d, e->f);
    return dtype_is_float(d) ? index_constant(r->in->arena, (int64_t)e->f)
                             : expr_int(r->in->arena, d, (int64_t)e->f);
}

static const struct expr **rebuilt_arguments(struct rebuild *r, const struct tree_call *c)
{
    const struct expr **const args = arena_array(r->in->arena, const struct expr *, c->count + 1);
    for (size_t i = 0; i < c->count; i++)
        args[i] = rebuilt(r, c->args[i]);
    return args;
}

/* ---- which functions stay ---------------------------------------------------------------------------------------- */

static struct function_use *use_of(const use_list *list, const struct tree_function *f)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->data[i].function == f)
            return &list->data[i];
    return NULL;
}

/* A number, or a constant that the user's compiler knows: LANES, PART_ROWS(32). */
static bool is_plain_constant(const struct expr *e)
{
    bool ok = e->op == EXPR_INT || e->op == EXPR_FLOAT || (e->op == EXPR_VAR && e->var->kind == VAR_MACRO);
    if (e->op != EXPR_CALL || e->call->kind != CALL_SECTION || !isupper((unsigned char)e->call->name[0]))
        return ok;
    ok = true;
    for (size_t i = 0; i < e->call->count; i++)
        ok &= e->call->args[i]->op == EXPR_INT ||
              (e->call->args[i]->op == EXPR_VAR && e->call->args[i]->var->kind == VAR_MACRO);
    return ok;
}

static bool is_same_constant(const struct expr *x, const struct expr *y)
{
    if (x->op != y->op || x->dtype != y->dtype)
        return false;
    switch (x->op) {
    case EXPR_VAR: return str_equal(x->var->name, y->var->name);
    case EXPR_INT: return x->i == y->i;
    case EXPR_CALL: break;
    default: return x->f == y->f;
    }
    bool same = str_equal(x->call->name, y->call->name) && x->call->count == y->call->count;
    for (size_t i = 0; same && i < x->call->count; i++)
        same = is_same_constant(x->call->args[i], y->call->args[i]);
    return same;
}

static bool are_aliases(const struct tree_call *c)
{
    const tree_vars *const params = &c->function->params;
    for (size_t i = 0; i < params->count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct expr *const x = c->args[i], *const y = c->args[k];
            if (x->op == EXPR_ADDRESS && y->op == EXPR_ADDRESS && x->var == y->var &&
                (params->data[i]->written || params->data[k]->written))
                return true;
        }
    return false;
}

/* With the arguments that it has now. */
static void note_call(struct instance *in, const struct tree_call *call, const struct expr **args)
{
    struct tree_call c = *call;
    c.args = args;
    const struct tree_function *const f = c.function;
    struct function_use *u = use_of(&in->uses, f);
    if (!u) {
        vec_push(in->arena, &in->uses, ((struct function_use){.function = f}));
        u = &in->uses.data[in->uses.count - 1];
        u->same = arena_array(in->arena, const struct expr *, f->params.count + 1);
    }
    for (size_t i = 0; i < f->params.count; i++) {
        if (u->calls == 0)
            u->same[i] = is_plain_constant(args[i]) ? args[i] : NULL;
        else if (u->same[i] && (!is_plain_constant(args[i]) || !is_same_constant(u->same[i], args[i])))
            u->same[i] = NULL;
    }
    u->calls++;
    u->is_aliased |= are_aliases(&c);
}

/* Compilers forget that two places differ, if they are no parameters any more. */
static bool becomes_part(const use_list *plan, const struct tree_function *f)
{
    const struct function_use *const u = use_of(plan, f);
    return u && u->calls == 1 && !u->is_aliased && !u->returns && !str_equal(f->attributes, "STEPC_KERNEL");
}

static const struct expr *given_by_all(const struct instance *in, const struct tree_function *f, size_t param)
{
    const struct function_use *const u = f->kind == FUNCTION_OWN ? use_of(&in->uses, f) : NULL;
    return u ? u->same[param] : NULL;
}

/* How often it names the variable. */
static int count_in(const struct expr *e, const struct tree_var *v)
{
    int count = (e->op == EXPR_VAR || e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS) && e->var == v;
    for (int i = 0; i < expr_arg_count(e); i++)
        count += count_in(e->arg[i], v);
    for (size_t i = 0; e->op == EXPR_CALL && i < e->call->count; i++)
        count += count_in(e->call->args[i], v);
    return count;
}

/* May it be computed wherever it is read? */
static bool is_simple(const struct expr *e)
{
    if (e->op == EXPR_ADDRESS)
        return is_simple(e->arg[0]);
    if (e->op == EXPR_ADD || e->op == EXPR_SUB || e->op == EXPR_MUL || e->op == EXPR_DIV || e->op == EXPR_MOD)
        return is_plain_constant(e->arg[0]) && is_plain_constant(e->arg[1]);
    return e->op == EXPR_VAR || e->op == EXPR_NULL || is_plain_constant(e);
}

static bool depends_on_holes_only(const struct expr *e)
{
    bool ok = e->op != EXPR_CALL && e->op != EXPR_ELEMENT && (e->op != EXPR_VAR || e->var->kind == VAR_HOLE);
    for (int i = 0; ok && i < expr_arg_count(e); i++)
        ok = depends_on_holes_only(e->arg[i]);
    return ok;
}

/* What a function returns that does nothing else, with conditions on holes decided; or NULL. */
static const struct expr *only_value(struct rebuild *r, const struct tree_function *f)
{
    const stmt_list *list = &f->body;
    while (list->count == 1 && list->data[0]->kind == STMT_IF && depends_on_holes_only(list->data[0]->condition)) {
        const struct expr *const c = rebuilt(r, list->data[0]->condition);
        if (c->op != EXPR_INT)
            return NULL;
        list = c->i != 0 ? &list->data[0]->body : &list->data[0]->otherwise;
    }
    return list->count == 1 && list->data[0]->kind == STMT_RETURN ? list->data[0]->value : NULL;
}

/* { return x; } is x, with arguments for parameters. */
static const struct expr *value_of_call(struct rebuild *r, const struct tree_function *f,
                                        const struct expr *const *args)
{
    const struct expr *const value = f->kind == FUNCTION_OWN ? only_value(r, f) : NULL;
    if (!value)
        return NULL;
    const size_t mapped = r->map.count;
    for (size_t i = 0; i < f->params.count; i++)
        if (!is_simple(args[i]) && count_in(value, f->params.data[i]) > 1)
            return NULL;
    for (size_t i = 0; i < f->params.count; i++)
        vec_push(r->in->arena, &r->map, ((struct mapped){f->params.data[i], args[i]}));
    const struct expr *const result = rebuilt(r, value);
    r->map.count = mapped;
    return result;
}

/* {.low = 0, .high = n}: members that are not named are 0. */
static const struct expr *rebuilt_initializer(struct rebuild *r, const struct expr *e)
{
    struct arena *const a = r->in->arena;
    const struct tree_call *const c = e->call;
    const struct expr **const args = rebuilt_arguments(r, c);
    const char **const members = arena_array(a, const char *, c->count);
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (!index_is(args[i], 0) || (i + 1 == c->count && count == 0)) {
            members[count] = c->members[i];
            args[count++] = args[i];
        }
    const struct expr *const made = tree_call(a, bound_dtype(r->in, e->dtype), c->kind, c->name, args, count);
    ((struct tree_call *)(uintptr_t)made->call)->members = members;
    return made;
}

static const struct expr *rebuilt_call(struct rebuild *r, const struct expr *e)
{
    if (e->call->kind == CALL_INITIALIZER)
        return rebuilt_initializer(r, e);
    struct instance *const in = r->in;
    const struct tree_call *const c = e->call;
    const struct expr **const args = rebuilt_arguments(r, c);
    if (c->kind == CALL_HOLE)
        return in->binding->value(in->binding->user, c->name, args, c->count);
    const struct expr *const value = c->kind == CALL_FUNCTION ? value_of_call(r, c->function, args) : NULL;
    if (value)
        return value;
    if (c->kind == CALL_FUNCTION)
        note_call(in, c, args);
    const char *const name = c->kind == CALL_SECTION ? routine_name(in, c) : c->name;
    const struct expr *const call =
        tree_call(in->arena, bound_dtype(in, e->dtype), c->kind, name, args, c->count);
    struct tree_call *const made = (struct tree_call *)(uintptr_t)call->call;
    made->from = c->from;
    if (c->kind == CALL_FUNCTION)
        made->function = function_of(in, c->function);
    return call;
}

/* x && y, x || y, c ? x : y: what is not needed is not built. */
static const struct expr *rebuilt_choice(struct rebuild *r, const struct expr *e)
{
    struct arena *const a = r->in->arena;
    const struct expr *const c = rebuilt(r, e->arg[0]);
    if (e->op == EXPR_SELECT) {
        if (index_is_constant(c))
            return rebuilt(r, e->arg[c->i != 0 ? 1 : 2]);
        const struct expr *const x = rebuilt(r, e->arg[1]), *const y = rebuilt(r, e->arg[2]);
        return index_choose(a, c, x, y);
    }
    if (index_is_constant(c) && (c->i != 0) == (e->op == EXPR_EITHER))
        return index_constant(a, c->i != 0);
    return index_binary(a, e->op, c, rebuilt(r, e->arg[1]));
}

/* The same operation on operands that are built. */
static const struct expr *rebuilt_operation(struct rebuild *r, const struct expr *e)
{
    struct arena *const a = r->in->arena;
    const struct expr *const x = rebuilt(r, e->arg[0]);
    const struct expr *const y = expr_arg_count(e) > 1 ? rebuilt(r, e->arg[1]) : NULL;
    if (x->op == EXPR_ADDRESS && e->op == EXPR_ADD)
        return tree_address(a, x->var, index_add(a, x->arg[0], y));
    if (y && x->dtype == DTYPE_INDEX && y->dtype == DTYPE_INDEX)
        return index_binary(a, e->op, x, y);
    if (e->op == EXPR_NOT)
        return index_not(a, x);
    if (e->op == EXPR_NEG && index_is_constant(x))
        return index_constant(a, -x->i);
    struct expr *const made = arena_copy(a, e, sizeof *made, alignof(struct expr));
    made->dtype = bound_dtype(r->in, e->dtype);
    made->arg[0] = x;
    made->arg[1] = y;
    return made;
}

static const struct expr *rebuilt_cast(struct rebuild *r, const struct expr *e)
{
    struct arena *const a = r->in->arena;
    const struct expr *const x = rebuilt(r, e->arg[0]);
    if (e->dtype != DTYPE_TEMPLATE)
        return index_cast(a, bound_type(r->in, e->text), x);
    const enum dtype d = element_type(r->in)->dtype;
    if (index_is_constant(x))
        return dtype_is_float(d) ? expr_float(a, d, (double)x->i) : expr_int(a, d, x->i);
    return expr_cast(a, d, x);
}

static const struct expr *rebuilt(struct rebuild *r, const struct expr *e)
{
    struct arena *const a = r->in->arena;
    struct expr *made;
    switch (e->op) {
    case EXPR_INT: return index_constant(a, e->i);
    case EXPR_FLOAT: return rebuilt_constant(r, e);
    case EXPR_VAR: return rebuilt_var(r, e);
    case EXPR_ELEMENT:
    case EXPR_ADDRESS: return rebuilt_element(r, e);
    case EXPR_CALL: return rebuilt_call(r, e);
    case EXPR_SELECT:
    case EXPR_BOTH:
    case EXPR_EITHER: return rebuilt_choice(r, e);
    case EXPR_CAST: return rebuilt_cast(r, e);
    case EXPR_NULL:
    case EXPR_SIZEOF:
        made = arena_copy(a, e, sizeof *made, alignof(struct expr));
        made->text = bound_type(r->in, e->text);
        return made;
    default: return rebuilt_operation(r, e);
    }
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void rebuild_list(struct rebuild *r, const stmt_list *list);

/* The variable that takes the place of v from here on. */
static struct tree_var *rebuilt_declaration(struct rebuild *r, const struct tree_var *v)
{
    struct arena *const a = r->in->arena;
    struct tree_var *const made = arena_copy(a, v, sizeof *made, alignof(struct tree_var));
    made->type = bound_type(r->in, v->type);
    made->dtype = bound_dtype(r->in, v->dtype);
    if (v->extent) {
        made->extent = rebuilt(r, v->extent);
        if (index_is_constant(made->extent)) {
            made->count = made->extent->i;
            made->extent = NULL;
        }
    }
    const bool has_elements = v->kind == VAR_POINTER || v->kind == VAR_ARRAY;
    vec_push(a, &r->map, ((struct mapped){v, has_elements ? tree_address(a, made, index_constant(a, 0))
                                                          : tree_read(a, made)}));
    return made;
}

/* What an argument is called in the function's statements: itself where it is simple, or a local of the parameter's
 * name. */
static void bind_argument(struct rebuild *r, const struct tree_var *param, const struct expr *arg)
{
    if (is_simple(arg)) {
        vec_push(r->in->arena, &r->map, ((struct mapped){param, arg}));
        return;
    }
    struct tree_var *const v = rebuilt_declaration(r, param);
    v->is_restrict = false;
    tree_declare(r->b, v, arg);
}

static void rebuild_part(struct rebuild *r, const struct tree_function *f, const struct expr *const *args)
{
    const struct tree_function *const outer = r->part;
    const stmt_list *const outer_at = r->part_at;
    for (size_t i = 0; i < f->params.count; i++)
        bind_argument(r, f->params.data[i], args[i]);
    r->part = f;
    r->part_at = r->b->at;
    r->result = NULL;
    rebuild_list(r, &f->body);
    r->part = outer;
    r->part_at = outer_at;
    r->has_returned = false;
}

/* Is it a call of a function that becomes a part? Then that is built, and its result is the value. */
static bool rebuild_as_part(struct rebuild *r, const struct expr *e)
{
    if (e->op != EXPR_CALL || e->call->kind != CALL_FUNCTION || !becomes_part(r->in->plan, e->call->function) ||
        only_value(r, e->call->function))
        return false;
    const struct expr **const args = rebuilt_arguments(r, e->call);
    note_call(r->in, e->call, args);
    rebuild_part(r, e->call->function, args);
    return true;
}

/* A value that a statement sets, declares or returns. */
static const struct expr *rebuilt_value(struct rebuild *r, const struct expr *e)
{
    return rebuild_as_part(r, e) ? r->result : rebuilt(r, e);
}

/* Another name for a constant, or for a place or variable that nothing changes? */
static bool names_what_stays(const struct instance *in, const struct tree_var *v, const struct expr *value)
{
    if (v->kind == VAR_POINTER)
        return value->op == EXPR_ADDRESS && is_simple(value);
    const bool is_variable =
        value->op == EXPR_VAR && value->var->kind != VAR_CELL && value->dtype == bound_dtype(in, v->dtype);
    return v->kind == VAR_VALUE && (index_is_constant(value) || value->op == EXPR_FLOAT || is_variable);
}

static void rebuild_declaration(struct rebuild *r, const struct stmt *s)
{
    const struct expr *const value = s->value ? rebuilt_value(r, s->value) : NULL;
    if (value && names_what_stays(r->in, s->var, value)) { /* it stands for itself */
        vec_push(r->in->arena, &r->map, ((struct mapped){s->var, value}));
        return;
    }
    struct tree_var *const v = rebuilt_declaration(r, s->var);
    if (v->kind == VAR_ARRAY)
        tree_declare_array(r->b, v, value, s->repeat);
    else
        tree_declare(r->b, v, value);
}

/* How often a loop between constants runs; -1: not known. */
static int64_t iterations(const struct expr *from, const struct expr *to, int64_t step)
{
    if (!to || !index_is_constant(from) || !index_is_constant(to) || step < 1)
        return -1;
    return from->i >= to->i ? 0 : (to->i - from->i + step - 1) / step;
}

/* The body alone, where there is but one iteration; nothing, where there is none. */
static bool is_no_loop(struct rebuild *r, const struct stmt *s, const struct expr *from, int64_t count)
{
    if (count < 0 || count > 1 || s->condition)
        return false;
    if (count == 1) {
        vec_push(r->in->arena, &r->map, ((struct mapped){s->var, from}));
        rebuild_list(r, &s->body);
    }
    return true;
}

static void rebuild_loop(struct rebuild *r, const struct stmt *s)
{
    const struct expr *const from = rebuilt(r, s->from), *const to = s->to ? rebuilt(r, s->to) : NULL;
    const struct expr *by = s->by && depends_on_holes_only(s->by) ? rebuilt(r, s->by) : NULL;
    const int64_t step = by && index_is_constant(by) ? by->i : s->step;
    if (is_no_loop(r, s, from, iterations(from, to, step)))
        return;
    struct tree_var *const v = rebuilt_declaration(r, s->var);
    struct stmt *const made = tree_open_loop(r->b, v, from, to, step, s->loop);
    by = s->by && !by ? rebuilt(r, s->by) : by; /* it may read the loop's variable */
    made->by = step != 0 ? NULL : by;
    made->condition = s->condition ? rebuilt(r, s->condition) : NULL;
    made->next = s->next ? rebuilt(r, s->next) : NULL;
    if (to && index_is_constant(from) && index_is_constant(to) && made->step > 0) {
        v->has_range = true;
        v->low = from->i;
        v->high = from->i + (to->i - 1 - from->i) / made->step * made->step;
    }
    rebuild_list(r, &s->body);
    tree_close(r->b);
}

static void rebuild_if(struct rebuild *r, const struct stmt *s)
{
    const struct expr *const c = rebuilt(r, s->condition);
    if (index_is_constant(c)) {
        rebuild_list(r, c->i != 0 ? &s->body : &s->otherwise);
        return;
    }
    tree_open_if(r->b, c);
    rebuild_list(r, &s->body);
    tree_close(r->b);
    if (s->otherwise.count > 0) {
        tree_open_else(r->b);
        rebuild_list(r, &s->otherwise);
        tree_close(r->b);
        }
}

static void rebuild_call(struct rebuild *r, const struct stmt *s)
{
    const struct template_binding *const binding = r->in->binding;
    const struct tree_call *const c = s->value->call;
    if (c->kind == CALL_HOLE)
        binding->run(binding->user, r->b, c->name, rebuilt_arguments(r, c), c->count);
    else if (!rebuild_as_part(r, s->value))
        tree_run(r->b, rebuilt(r, s->value));
}

static void rebuild_return(struct rebuild *r, const struct stmt *s)
{
    const struct expr *const value = s->value ? rebuilt_value(r, s->value) : NULL;
    if (r->part) {
        if (r->b->at != r->part_at) /* it was not to become a part */
            use_of(&r->in->uses, r->part)->returns = true;
        r->result = value;
        r->has_returned = true;
    } else {
        tree_return(r->b, value);
    }
}

static void rebuild_statement(struct rebuild *r, const struct stmt *s)
{
    const size_t count = r->b->at->count;
    const struct expr *value;
    switch (s->kind) {
    case STMT_LOOP: rebuild_loop(r, s); break;
    case STMT_IF: rebuild_if(r, s); break;
    case STMT_DECLARE: rebuild_declaration(r, s); break;
    case STMT_SET:
        value = rebuilt_value(r, s->value);
        tree_set(r->b, rebuilt(r, s->target), s->op, value);
        break;
    case STMT_CALL: rebuild_call(r, s); break;
    case STMT_RETURN: rebuild_return(r, s); break;
    }
    if (s->comment && r->b->at->count > count && s->kind != STMT_IF)
        ((struct stmt *)(uintptr_t)r->b->at->data[count])->comment = s->comment;
}

/* Behind a return nothing is reached. */
static void rebuild_list(struct rebuild *r, const stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const stmt_list *const at = r->b->at;
        if (r->has_returned || (at->count > 0 && at->data[at->count - 1]->kind == STMT_RETURN))
            return;
        rebuild_statement(r, list->data[i]);
    }
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Does it end anywhere but behind its last statement? */
static bool returns_inside(const stmt_list *list, bool is_outermost)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const s = list->data[i];
        if ((s->kind == STMT_RETURN && !is_outermost) || returns_inside(&s->body, false) ||
            returns_inside(&s->otherwise, false))
            return true;
    }
    return false;
}

static struct tree_function *function_of(struct instance *in, const struct tree_function *f)
{
    for (size_t i = 0; i < in->made.count; i++)
        if (in->made.data[i].from == f)
            return in->made.data[i].to;
    struct tree_function *const made = arena_copy(in->arena, f, sizeof *made, alignof(struct tree_function));
    vec_push(in->arena, &in->made, ((struct made_function){.from = f, .to = made}));
    if (f->kind == FUNCTION_BY_TYPE)
        made->name = arena_printf(in->arena, "%s_%s", f->name, element_type(in)->type);
    made->type = bound_type(in, f->type);
    made->dtype = bound_dtype(in, f->dtype);
    made->written = &f->params;
    made->params = (tree_vars){0};
    made->body = (stmt_list){0};
    return made;
}

static void build_function(struct instance *in, const struct tree_function *f, struct tree_function *made)
{
    struct tree_builder b = tree_builder(in->arena, &made->body);
    struct rebuild r = {.in = in, .b = &b};
    for (size_t i = 0; i < f->params.count; i++) {
        const struct expr *const constant = given_by_all(in, f, i);
        vec_push(in->arena, &made->params, rebuilt_declaration(&r, f->params.data[i]));
        if (constant)
            vec_push(in->arena, &r.map, ((struct mapped){f->params.data[i], constant}));
    }
    rebuild_list(&r, &f->body);
    use_of(&in->uses, f)->returns |= returns_inside(&made->body, true);
}

/* Of those that are not built yet the one that stands last: those that call it stand behind it. NULL: all are. */
static struct made_function *next_to_build(struct instance *in)
{
    struct made_function *next = NULL;
    for (size_t i = 0; i < in->made.count; i++) {
        struct made_function *const m = &in->made.data[i];
        if (!m->is_built && (!next || m->to->place > next->to->place))
            next = m;
    }
    return next;
}

static int by_place(const void *a, const void *b)
{
    const struct made_function *const x = a, *const y = b;
    return x->to->place - y->to->place;
}

/* Builds all at the builder's place; gives how functions are used. */
static use_list build_once(struct tree_builder *b, const struct template_kernel *k,
                                const struct template_binding *binding, const use_list *plan,
                                struct template_instance *out)
{
    struct instance in = {.arena = b->arena, .kernel = k, .binding = binding, .out = out, .plan = plan};
    struct rebuild r = {.in = &in, .b = b};
    for (size_t i = 0; i < k->function->params.count; i++)
        for (size_t o = 0; o < binding->operand_count; o++)
            if (str_equal(k->function->params.data[i]->name, binding->operands[o].param))
                vec_push(b->arena, &r.map,
                         ((struct mapped){k->function->params.data[i], binding->operands[o].place}));
    rebuild_list(&r, &k->function->body);
    for (struct made_function *m; (m = next_to_build(&in));) {
        m->is_built = true;
        build_function(&in, m->from, m->to);
    }
    if (in.made.count > 0)
        qsort(in.made.data, in.made.count, sizeof *in.made.data, by_place);
    for (size_t i = 0; i < in.made.count; i++)
        vec_push(b->arena, &out->functions, in.made.data[i].to);
    return in.uses;
}

/* Was it built as what became known of it says? */
static bool is_as_planned(const use_list *uses, const use_list *plan)
{
    bool same = true;
    for (size_t i = 0; i < uses->count; i++)
        same &= becomes_part(uses, uses->data[i].function) == becomes_part(plan, uses->data[i].function);
    return same;
}

/* Built by what the last time showed, until that is so. */
void template_build(struct tree_builder *b, const struct template_kernel *k, const struct template_binding *binding,
                    struct template_instance *out)
{
    enum { TIMES = 8 };
    use_list plan = {0};
    for (int i = 0; i < TIMES; i++) {
        stmt_list body = {0};
        struct template_instance made = *out;
        struct tree_builder aside = tree_builder(b->arena, &body);
        const use_list uses = build_once(&aside, k, binding, &plan, &made);
        if (is_as_planned(&uses, &plan)) {
            for (size_t s = 0; s < body.count; s++)
                vec_push(b->arena, b->at, body.data[s]);
            *out = made;
            return;
        }
        plan = uses;
    }
    UNREACHABLE("template '%s' is another one each time", k->name);
}
