/* Versions of operators: resolution, schema checks, upgrades. See upgrade.h. */
#include "graph/upgrade.h"

#include "base/str.h"
#include "graph/build.h"

#include <limits.h>
#include <string.h>

#define NAMES_MAX 512

static const char *domain_text(const char *domain)
{
    return domain[0] == '\0' ? "ai.onnx" : domain;
}

/* ---- resolution -------------------------------------------------------------------------------------------------- */

static bool report_unknown(struct diag *d, const struct model_node *mn)
{
    const char *names[NAMES_MAX];
    const char *close;
    if (mn->domain[0] == '\0') {
        close = str_closest(mn->op_type, onnx_names, onnx_names_count);
    } else {
        const size_t count = op_names(mn->domain, names, NAMES_MAX);
        close = str_closest(mn->op_type, names, count < NAMES_MAX ? count : NAMES_MAX);
        if (close == NULL)
            return diag_unsupported(d, &mn->loc, "operator %s of domain '%s' is not supported", mn->op_type,
                                    mn->domain);
    }
    if (close != NULL)
        return diag_error(d, &mn->loc, "unknown operator %s in domain '%s'; did you mean %s?", mn->op_type,
                          domain_text(mn->domain), close);
    return diag_error(d, &mn->loc, "unknown operator %s in domain '%s'", mn->op_type, domain_text(mn->domain));
}

/* The version imported for the node's domain. IR 1 and 2 have no opset_import and mean version 1. */
static bool imported_version(struct diag *d, const struct model_node *mn, const model_opsets *opsets,
                             int64_t ir_version, int *opset)
{
    int64_t version = model_opset(opsets, mn->domain);
    if (ir_version < 3 && opsets->count == 0 && mn->domain[0] == '\0')
        version = 1;
    if (version == 0)
        return diag_error(d, &mn->loc, "domain '%s' is not imported: opset_import has no entry for it%s",
                          domain_text(mn->domain),
                          strcmp(mn->domain, DOMAIN_TRAINING) == 0 ? "; add (\"" DOMAIN_TRAINING "\", 1)" : "");
    if (version < 1 || version > INT_MAX)
        return diag_error(d, &mn->loc, "domain '%s' is imported with version %lld, which cannot be",
                          domain_text(mn->domain), (long long)version);
    *opset = (int)version;
    return true;
}

bool upgrade_choose(struct diag *d, const struct model_node *mn, const model_opsets *opsets, int64_t ir_version,
                    struct op_choice *out)
{
    static const struct op_version only_version[] = {{.since = 1}, {.since = 0}};
    const struct op_def *def = op_find(mn->domain, mn->op_type);
    if (def == NULL)
        return report_unknown(d, mn);
    int opset = 0;
    if (!imported_version(d, mn, opsets, ir_version, &opset))
        return false;

    const struct op_version *const rows = def->versions != NULL ? def->versions : only_version;
    const struct op_version *found = NULL;
    for (const struct op_version *v = rows; v->since != 0 && v->since <= opset; v++)
        found = v;
    if (found == NULL)
        return diag_unsupported(d, &mn->loc,
                                "operator %s is not supported as of opset %d of '%s': the oldest version is %d",
                                mn->op_type, opset, domain_text(mn->domain), rows->since);
    if (found->deprecated)
        return diag_error(d, &mn->loc, "operator %s is deprecated since opset %d of '%s', and the model imports %d",
                          mn->op_type, found->since, domain_text(mn->domain), opset);
    *out = (struct op_choice){def, found, opset};
    return true;
}

/* ---- schema of one version --------------------------------------------------------------------------------------- */

/* "NULL: as in the next row; the last row: as in the op_def." */
static const struct op_attr *attrs_of(const struct op_choice *c)
{
    for (const struct op_version *v = c->version; v->since != 0; v++)
        if (v->attrs != NULL)
            return v->attrs;
    return c->def->attrs;
}

const struct op_param *upgrade_params(const struct op_choice *c, bool inputs)
{
    for (const struct op_version *v = c->version; v->since != 0; v++) {
        const struct op_param *const params = inputs ? v->inputs : v->outputs;
        if (params != NULL)
            return params;
    }
    return inputs ? c->def->inputs : c->def->outputs;
}

static bool same_attrs(const struct op_choice *a, const struct op_choice *b)
{
    static const struct op_attr none[] = {{0}};
    const struct op_attr *x = attrs_of(a), *y = attrs_of(b);
    for (x = x != NULL ? x : none, y = y != NULL ? y : none; x->name != NULL && y->name != NULL; x++, y++)
        if (strcmp(x->name, y->name) != 0 || x->type != y->type)
            return false;
    return x->name == NULL && y->name == NULL;
}

static bool same_params(const struct op_choice *a, const struct op_choice *b, bool inputs)
{
    const struct op_param *const x = upgrade_params(a, inputs), *const y = upgrade_params(b, inputs);
    return x == y || (op_count_params(x) == op_count_params(y) && op_count_required(x) == op_count_required(y));
}

static bool choose_silently(const struct model_node *mn, int64_t opset, struct op_choice *out)
{
    struct arena scratch = {0};
    struct diag silent = {.arena = &scratch};
    const model_opsets opsets = {.data = &(struct model_opset){mn->domain, opset}, .count = 1};
    const bool ok = op_find(mn->domain, mn->op_type) != NULL && upgrade_choose(&silent, mn, &opsets, 0, out);
    arena_free(&scratch);
    return ok;
}

bool upgrade_keeps_form(const struct model_node *mn, int64_t a, int64_t b)
{
    struct op_choice old, newer;
    if (a == b)
        return true;
    if (!choose_silently(mn, a < b ? a : b, &old) || !choose_silently(mn, a < b ? b : a, &newer))
        return false;
    for (const struct op_version *v = old.version; v != newer.version; v++)
        if (v->upgrade != NULL)
            return false;
    return same_attrs(&old, &newer) && same_params(&old, &newer, true) && same_params(&old, &newer, false);
}

/* Operands given: omitted ones at the end do not count. */
static size_t count_operands(const str_list *names)
{
    size_t count = names->count;
    while (count > 0 && names->data[count - 1][0] == '\0')
        count--;
    return count;
}

/* "Clip", or where there are newer ones "Clip (version 6)". */
static const char *version_text(struct diag *d, const struct op_choice *c, const struct model_node *mn)
{
    return c->version[1].since == 0 ? mn->op_type
                                    : arena_printf(d->arena, "%s (version %d)", mn->op_type, c->version->since);
}

static bool check_inputs_present(struct diag *d, const struct op_choice *c, const struct model_node *mn)
{
    const struct op_param *const params = upgrade_params(c, true);
    const size_t given = count_operands(&mn->inputs);
    const size_t required = op_count_required(params), known = op_count_params(params);
    bool ok = true;
    if (mn->inputs.count < required)
        return diag_error(d, &mn->loc, "%s needs %s%zu input%s, given %zu", version_text(d, c, mn),
                          op_param_at(params, required) != NULL ? "at least " : "", required,
                          str_plural(required), given);
    for (size_t i = 0; i < required; i++) {
        const struct op_param *const p = op_param_at(params, i);
        if (!(p->flags & PARAM_OPTIONAL) && mn->inputs.data[i][0] == '\0')
            ok = diag_error(d, &mn->loc, "input %zu (%s) of %s is required and cannot be omitted", i, p->name,
                            mn->op_type);
    }
    if (given > 0 && op_param_at(params, given - 1) == NULL)
        ok = diag_error(d, &mn->loc, "%s takes at most %zu input%s, given %zu", version_text(d, c, mn), known,
                        str_plural(known), given);
    return ok;
}

static bool check_outputs_present(struct diag *d, const struct op_choice *c, const struct model_node *mn)
{
    const struct op_param *const params = upgrade_params(c, false);
    const size_t given = count_operands(&mn->outputs);
    const size_t required = op_count_required(params), known = op_count_params(params);
    if (mn->outputs.count < required)
        return diag_error(d, &mn->loc, "%s has %s%zu output%s, the node names %zu", version_text(d, c, mn),
                          op_param_at(params, required) != NULL ? "at least " : "", required, str_plural(required),
                          mn->outputs.count);
    if (given > 0 && op_param_at(params, given - 1) == NULL)
        return diag_error(d, &mn->loc, "%s has at most %zu output%s, the node names %zu", version_text(d, c, mn), known,
                          str_plural(known), given);
    return true;
}

static const struct op_attr *find_schema_attr(const struct op_attr *schema, const char *name)
{
    for (; schema != NULL && schema->name != NULL; schema++)
        if (strcmp(schema->name, name) == 0)
            return schema;
    return NULL;
}

/* The most precise place known: the attribute's own line and column in text models. */
static const struct loc *attr_loc(const struct model_attr *a, const struct model_node *mn)
{
    return a->loc.line > 0 ? &a->loc : &mn->loc;
}

static bool report_unknown_attr(struct diag *d, const struct op_choice *c, const struct model_node *mn,
                                const struct model_attr *a)
{
    const struct op_attr *const schema = attrs_of(c);
    const struct loc *const at = attr_loc(a, mn);
    if (find_schema_attr(c->def->attrs, a->name) != NULL)
        return diag_error(d, at, "attribute '%s' of %s does not exist yet in version %d, which opset %d means", a->name,
                          mn->op_type, c->version->since, c->opset);
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (; schema != NULL && schema[count].name != NULL && count < NAMES_MAX; count++)
        names[count] = schema[count].name;
    const char *const close = str_closest(a->name, names, count);
    if (close != NULL)
        return diag_error(d, at, "unknown attribute '%s' of %s; did you mean '%s'?", a->name, mn->op_type, close);
    return diag_error(d, at, "unknown attribute '%s' of %s (version %d)", a->name, mn->op_type, c->version->since);
}

/* Names with two underscores in front are private notes of tools: let through and dropped. */
static bool is_private_attr(const struct model_attr *a)
{
    return str_starts_with(a->name, "__");
}

static bool check_attrs(struct diag *d, const struct op_choice *c, const struct model_node *mn)
{
    const struct op_attr *const schema = attrs_of(c);
    bool ok = true;
    vec_each(const struct model_attr *, a, &mn->attrs) {
        if (is_private_attr(a))
            continue;
        if (model_find_attr(&mn->attrs, a->name) != a)
            ok = diag_error(d, attr_loc(a, mn), "attribute '%s' is given twice", a->name);
        const struct op_attr *const s = find_schema_attr(schema, a->name);
        if (s == NULL)
            ok = report_unknown_attr(d, c, mn, a);
        else if (s->type != a->type)
            ok = diag_error(d, attr_loc(a, mn), "attribute '%s' of %s is of type %s, expected %s", a->name, mn->op_type,
                            attr_type_name(a->type), attr_type_name(s->type));
    }
    for (const struct op_attr *s = schema; s != NULL && s->name != NULL; s++)
        if (s->required && model_find_attr(&mn->attrs, s->name) == NULL)
            ok = diag_error(d, &mn->loc, "attribute '%s' (%s) of %s is required", s->name, attr_type_name(s->type),
                            mn->op_type);
    return ok;
}

bool upgrade_check_node(struct diag *d, const struct op_choice *c, const struct model_node *mn)
{
    if (mn->inputs.count == 0 && mn->outputs.count == 0)
        return diag_error(d, &mn->loc, "the node has neither inputs nor outputs");
    if (mn->outputs.count > INFER_MAX_OUTPUTS)
        return diag_unsupported(d, &mn->loc, "the node has %zu outputs, at most %d are supported", mn->outputs.count,
                          INFER_MAX_OUTPUTS);
    bool ok = check_inputs_present(d, c, mn);
    if (!check_outputs_present(d, c, mn))
        ok = false;
    if (!check_attrs(d, c, mn))
        ok = false;
    return ok;
}

bool upgrade_check_inputs(struct diag *d, const struct op_choice *c, const struct node *n)
{
    const struct op_param *const params = upgrade_params(c, true);
    const bool own_schema = params != c->def->inputs;
    bool ok = true;
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct op_param *const p = op_param_at(params, i);
        const struct value *const v = n->inputs.data[i];
        if (v == NULL || p == NULL)
            continue;
        dtype_set allowed = own_schema && p->dtypes != 0 ? p->dtypes : ~(dtype_set)0;
        if (p->type == 'T' && c->version->dtypes != 0)
            allowed &= c->version->dtypes;
        const struct op_param *const newest = op_param_at(c->def->inputs, i);
        const bool newest_refuses = newest != NULL && newest->dtypes != 0 && !(newest->dtypes & DTYPE_BIT(v->dtype));
        if (!(allowed & DTYPE_BIT(v->dtype)) && (own_schema || !newest_refuses))
            ok = diag_error(d, &n->loc, "input %zu '%s' is %s, which version %d of %s (opset %d) does not take", i,
                            v->name, dtype_name(v->dtype), c->version->since, op_display_name(c->def), c->opset);
    }
    return ok;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static const double *widen_floats(struct arena *a, const struct model_attr *from)
{
    double *const x = arena_array(a, double, from->floats.count);
    for (size_t i = 0; i < from->floats.count; i++)
        x[i] = from->floats.data[i];
    return x;
}

/* Octets become C strings here; one with a NUL inside would silently be cut, so it is refused. */
static bool convert_strings(struct diag *d, struct arena *arena, const struct model_node *mn,
                            const struct model_attr *from, struct attr *to)
{
    const char **const strings = arena_array(arena, const char *, from->strings.count);
    for (size_t i = 0; i < from->strings.count; i++) {
        const struct model_bytes *const s = &from->strings.data[i];
        if (memchr(s->data, '\0', s->size) != NULL)
            return diag_error(d, attr_loc(from, mn), "string %zu of attribute '%s' contains a NUL", i, from->name);
        strings[i] = s->data;
    }
    to->strings = strings;
    to->count = from->strings.count;
    return true;
}

static bool convert_attr(struct diag *d, struct arena *arena, const struct model_node *mn,
                         const struct model_attr *from, struct attr *to)
{
    *to = (struct attr){.name = from->name, .type = from->type};
    switch (from->type) {
    case ATTR_FLOAT:
        to->f = from->f;
        return true;
    case ATTR_INT:
        to->i = from->i;
        return true;
    case ATTR_STRING:
        if (from->s.data != NULL && memchr(from->s.data, '\0', from->s.size) != NULL)
            return diag_error(d, attr_loc(from, mn), "attribute '%s' contains a NUL", from->name);
        to->s = from->s.data != NULL ? from->s.data : "";
        return true;
    case ATTR_TENSOR:
        to->t = from->t;
        return from->t != NULL || diag_error(d, attr_loc(from, mn), "attribute '%s' has no tensor", from->name);
    case ATTR_GRAPH:
        to->g = from->g;
        return from->g != NULL || diag_error(d, attr_loc(from, mn), "attribute '%s' has no graph", from->name);
    case ATTR_FLOATS:
        to->floats = widen_floats(arena, from);
        to->count = from->floats.count;
        return true;
    case ATTR_INTS:
        to->ints = from->ints.data;
        to->count = from->ints.count;
        return true;
    case ATTR_STRINGS:
        return convert_strings(d, arena, mn, from, to);
    default:
        return diag_unsupported(d, attr_loc(from, mn), "attribute '%s' of type %s is not supported", from->name,
                          attr_type_name(from->type));
    }
}

bool upgrade_set_attrs(struct diag *d, struct node *n, const struct model_node *mn)
{
    bool ok = true;
    for (size_t i = 0; i < mn->attrs.count; i++) {
        struct attr a;
        if (is_private_attr(mn->attrs.data[i]))
            continue;
        if (convert_attr(d, n->graph->arena, mn, mn->attrs.data[i], &a))
            node_set_attr(n, a);
        else
            ok = false;
    }
    return ok;
}

/* ---- upgrades ---------------------------------------------------------------------------------------------------- */

bool upgrade_to_newest(struct node *n, const struct op_choice *c)
{
    struct builder b = {.graph = n->graph, .before = n, .loc = n->loc, .prefix = "", .stream = n->stream,
                        .counter = n->counter};
    const struct value *const first = node_output(n, 0);
    if (first != NULL)
        b.prefix = arena_printf(n->graph->arena, "%s.", first->name);
    struct upgrade_ctx ctx = {.b = &b, .node = n, .diag = n->graph->diag, .opset = c->opset};

    for (const struct op_version *v = c->version; v->since != 0 && n->def == c->def; v++)
        if (v->upgrade != NULL && (!v->upgrade(&ctx) || b.failed))
            return false;
    return true;
}

/* Sets input `at`, with omitted ones before it as needed. */
static bool set_new_input(struct upgrade_ctx *c, const char *attr, int at, struct value *v)
{
    if (node_input(c->node, (size_t)at) != NULL)
        return upgrade_error(c, "both attribute '%s' and input %d are given", attr, at);
    while (c->node->inputs.count <= (size_t)at)
        node_add_input(c->node, NULL);
    node_set_input(c->node, at, v);
    node_remove_attr(c->node, attr);
    return true;
}

bool upgrade_attr_to_input(struct upgrade_ctx *c, const char *attr, int at)
{
    const struct attr *const a = node_attr(c->node, attr);
    if (a == NULL)
        return true;
    struct value *v;
    if (a->type == ATTR_INTS)
        v = build_ints(c->b, a->ints, a->count);
    else if (a->type == ATTR_INT)
        v = build_ints(c->b, &a->i, 1);
    else
        return upgrade_error(c, "attribute '%s' is of type %s, expected ints", attr, attr_type_name(a->type));
    return set_new_input(c, attr, at, v);
}

bool upgrade_float_attr_to_input(struct upgrade_ctx *c, const char *attr, int at)
{
    const struct attr *const a = node_attr(c->node, attr);
    if (a == NULL)
        return true;
    if (a->type != ATTR_FLOAT)
        return upgrade_error(c, "attribute '%s' is of type %s, expected float", attr, attr_type_name(a->type));
    const struct value *const x = node_input(c->node, 0);
    return set_new_input(c, attr, at, build_scalar(c->b, x != NULL ? x->dtype : DTYPE_FLOAT, a->f));
}
