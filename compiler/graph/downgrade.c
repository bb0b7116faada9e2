/* Versions of operators, backwards. See downgrade.h. */
#include "graph/downgrade.h"

#include "base/str.h"
#include "graph/upgrade.h"

/* ---- the version ------------------------------------------------------------------------------------------------- */

static const struct op_version *rows_of(const struct op_def *def)
{
    static const struct op_version only_version[] = {{.since = 1}, {.since = 0}};
    return def->versions != NULL ? def->versions : only_version;
}

static const struct op_version *newest_of(const struct op_def *def)
{
    const struct op_version *v = rows_of(def);
    while (v[1].since != 0)
        v++;
    return v;
}

/* The row that an opset means, or NULL: there was no such operator. */
static const struct op_version *version_at(const struct op_def *def, int opset)
{
    const struct op_version *found = NULL;
    for (const struct op_version *v = rows_of(def); v->since != 0 && v->since <= opset; v++)
        found = v;
    return found;
}

static const struct op_attr *attrs_of(const struct op_def *def, const struct op_version *v)
{
    for (; v->since != 0; v++)
        if (v->attrs != NULL)
            return v->attrs;
    return def->attrs;
}

static const struct op_attr *find_attr(const struct op_attr *schema, const char *name)
{
    for (; schema != NULL && schema->name != NULL; schema++)
        if (str_equal(schema->name, name))
            return schema;
    return NULL;
}

/* ---- what the older schema lacks --------------------------------------------------------------------------------- */

static bool is_default(const struct op_attr *schema, const struct attr *x)
{
    if (schema == NULL || schema->no_default)
        return false;
    switch (x->type) {
    case ATTR_INT:
        return x->i == schema->int_default;
    case ATTR_FLOAT:
        return x->f == (double)(float)schema->float_default;
    case ATTR_STRING:
        return str_equal(x->s, schema->string_default);
    default:
        return false;
    }
}

/* The first version that has what is missing: where `has` is true of it. */
static int since_when(const struct op_def *def, const struct op_version *from,
                      bool (*has)(const struct op_def *def, const struct op_version *v, const void *what),
                      const void *what)
{
    for (const struct op_version *v = from; v->since != 0; v++)
        if (has(def, v, what))
            return v->since;
    return newest_of(def)->since;
}

static bool has_attr(const struct op_def *def, const struct op_version *v, const void *name)
{
    return find_attr(attrs_of(def, v), name) != NULL;
}

static bool check_attrs(struct downgrade_ctx *c)
{
    struct node *const n = c->node;
    const struct op_attr *const schema = attrs_of(n->def, c->version);
    bool ok = true;
    for (size_t i = n->attrs.count; i-- > 0;) {
        const struct attr *const x = &n->attrs.data[i];
        if (find_attr(schema, x->name) != NULL)
            continue;
        if (is_default(find_attr(n->def->attrs, x->name), x))
            node_remove_attr(n, x->name);
        else
            ok = downgrade_error(c, "attribute '%s' of %s needs --opset %d", x->name, op_display_name(n->def),
                                 since_when(n->def, c->version, has_attr, x->name));
    }
    return ok;
}

struct downgraded_operand {
    bool is_input;
    size_t at;
    enum dtype dtype;
};

static bool takes(const struct op_def *def, const struct op_version *v, const void *what)
{
    const struct downgraded_operand *const x = what;
    const struct op_choice choice = {def, v, v->since};
    const struct op_param *const p = op_param_at(upgrade_params(&choice, x->is_input), x->at);
    if (p == NULL)
        return false;
    const dtype_set set = p->type == 'T' && v->dtypes != 0 ? v->dtypes : p->dtypes;
    return set == 0 || (set & DTYPE_BIT(x->dtype)) != 0;
}

static bool check_operand(struct downgrade_ctx *c, const struct downgraded_operand *x)
{
    const struct op_def *const def = c->node->def;
    const struct op_choice choice = {def, c->version, c->opset};
    if (takes(def, c->version, x))
        return true;
    const int since = since_when(def, c->version, takes, x);
    const char *const what = x->is_input ? "input" : "output";
    if (op_param_at(upgrade_params(&choice, x->is_input), x->at) == NULL)
        return downgrade_error(c, "%s %zu of %s needs --opset %d", what, x->at, op_display_name(def), since);
    return downgrade_error(c, "%s %zu of %s is %s, which needs --opset %d", what, x->at, op_display_name(def),
                           dtype_name(x->dtype), since);
}

static bool check_operands(struct downgrade_ctx *c)
{
    const struct node *const n = c->node;
    bool ok = true;
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL)
            ok = check_operand(c, &(struct downgraded_operand){true, i, n->inputs.data[i]->dtype}) && ok;
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL)
            ok = check_operand(c, &(struct downgraded_operand){false, i, n->outputs.data[i]->dtype}) && ok;
    return ok;
}

/* ---- the chain --------------------------------------------------------------------------------------------------- */

bool downgrade_node(struct diag *d, struct node *n, int opset)
{
    struct builder b = {.graph = n->graph, .before = n, .loc = n->loc};
    struct downgrade_ctx c = {.b = &b, .node = n, .diag = d, .opset = opset, .version = version_at(n->def, opset)};
    if (c.version == NULL)
        return downgrade_error(&c, "%s needs --opset %d", op_display_name(n->def), rows_of(n->def)->since);
    for (const struct op_version *v = newest_of(n->def); v > c.version; v--)
        if (v[-1].downgrade != NULL && !v[-1].downgrade(&c))
            return false;
    const bool ok = check_attrs(&c);
    return check_operands(&c) && ok && !b.failed;
}

static bool attrs_fit(const struct node *n, const struct op_version *v)
{
    for (size_t i = 0; i < n->attrs.count; i++)
        if (!has_attr(n->def, v, n->attrs.data[i].name) &&
            !is_default(find_attr(n->def->attrs, n->attrs.data[i].name), &n->attrs.data[i]))
            return false;
    return true;
}

bool downgrade_fits(const struct node *n, int opset)
{
    const struct op_version *const version = version_at(n->def, opset);
    if (version == NULL || !attrs_fit(n, version))
        return false;
    for (const struct op_version *v = newest_of(n->def); v > version; v--)
        if (v[-1].downgrade != NULL)
            return false;
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL &&
            !takes(n->def, version, &(struct downgraded_operand){true, i, n->inputs.data[i]->dtype}))
            return false;
    return true;
}

/* ---- for rules --------------------------------------------------------------------------------------------------- */

bool downgrade_input_to_attr(struct downgrade_ctx *c, int at, const char *attr)
{
    struct value *const v = node_input(c->node, (size_t)at);
    if (v == NULL)
        return true;
    const struct tensor *const known = value_known(v);
    if (known == NULL)
        return downgrade_error(c, "input %d '%s' of %s must be known for --opset %d", at, v->name,
                               op_display_name(c->node->def), c->opset);
    int64_t *const list = arena_array(c->node->graph->arena, int64_t, (size_t)known->count + 1);
    for (int64_t i = 0; i < known->count; i++)
        list[i] = tensor_get_int(known, i);
    node_set_attr(c->node, attr_ints(attr, list, (size_t)known->count));
    node_set_input(c->node, at, NULL);
    return true;
}

void downgrade_drop_ones(struct downgrade_ctx *c, const char *attr)
{
    const struct attr *const x = node_attr(c->node, attr);
    bool ones = x != NULL;
    for (size_t i = 0; ones && i < x->count; i++)
        ones = x->ints[i] == 1;
    if (ones)
        node_remove_attr(c->node, attr);
}
