#include "lower/items.h"

#include "base/str.h"
#include "graph/op_def.h"
#include <inttypes.h>
#include <string.h>

/* ---- what a kernel touches --------------------------------------------------------------------------------------- */

bool buffers_have(const buffer_list *l, const struct buffer *b)
{
    vec_each(const struct buffer *, own, l)
        if (own == b)
            return true;
    return false;
}

void part_each_load(const struct part *p, void (*f)(const struct access *access, void *data), void *data)
{
    if (p->element)
        expr_each_load(p->element, f, data);
    vec_each_ptr(const struct store, s, &p->stores) {
        expr_each_load(s->value, f, data);
        for (int t = 0; t < s->to.term_count; t++)
            expr_each_load(s->to.term[t].index, f, data);
    }
}

bool part_any(const struct part *p, bool (*f)(const struct expr *e, void *data), void *data)
{
    bool any = p->element && expr_any(p->element, f, data);
    vec_each_ptr(const struct store, s, &p->stores) {
        any = any || expr_any(s->value, f, data);
        for (int t = 0; t < s->to.term_count; t++)
            any = any || expr_any(s->to.term[t].index, f, data);
    }
    return any;
}

void part_substitute(struct part *p, const struct expr_map *map)
{
    if (p->element)
        p->element = expr_substitute(map, p->element);
    vec_each_ptr(struct store, s, &p->stores) {
        s->value = expr_substitute(map, s->value);
        for (int t = 0; t < s->to.term_count; t++)
            s->to.term[t].index = expr_substitute(map, s->to.term[t].index);
    }
}

struct collector {
    struct arena *arena;
    buffer_list *list;
};

static void collect(struct collector *c, struct buffer *b)
{
    if (b->kind != BUFFER_LOCAL && !buffers_have(c->list, b))
        vec_push(c->arena, c->list, b);
}

static void collect_load(const struct access *access, void *data)
{
    collect(data, access->buffer);
}

static void collect_operand(struct collector *c, const struct operand *o)
{
    if (o->value)
        expr_each_load(o->value, collect_load, c);
    else
        collect(c, o->access.buffer);
}

static void collect_reads_of_region(struct collector *c, const struct kernel_region *r)
{
    vec_each_ptr(const struct region_port, p, &r->reads)
        collect(c, p->outer);
    vec_each_ptr(const struct region_port, p, &r->starts)
        if (p->outer)
            collect(c, p->outer);
}

void kernel_reads(struct arena *a, const struct kernel *k, buffer_list *out)
{
    struct collector c = {a, out};
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_CHECK: expr_each_load(it.check->value, collect_load, &c); break;
        case ITEM_OPERAND: collect_operand(&c, it.operand); break;
        case ITEM_PART: part_each_load(it.part, collect_load, &c); break;
        case ITEM_STAGE: kernel_reads(a, it.stage, out); break;
        case ITEM_REGION: collect_reads_of_region(&c, it.region); break;
        case ITEM_LOOP:
        case ITEM_INT:
        case ITEM_SCRATCH:
        case ITEM_OWN: break;
        }
}

void kernel_writes(struct arena *a, const struct kernel *k, buffer_list *out)
{
    struct collector c = {a, out};
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_PART:
            vec_each_ptr(const struct store, s, &it.part->stores)
                collect(&c, s->to.buffer);
            break;
        case ITEM_STAGE: kernel_writes(a, it.stage, out); break;
        case ITEM_OWN: collect(&c, it.own->buffer); break;
        case ITEM_REGION:
            vec_each_ptr(const struct region_port, p, &it.region->writes)
                collect(&c, p->outer);
            break;
        case ITEM_LOOP:
        case ITEM_INT:
        case ITEM_SCRATCH: /* nobody else's: the plan asks for it by itself */
        case ITEM_CHECK:
        case ITEM_OPERAND: break;
        }
}

bool part_keeps(const struct part *p, int d)
{
    return !p->reduced[d] || p->scan != SCAN_NONE;
}

bool kernel_only_checks(const struct kernel *k)
{
    return k->kind == KERNEL_LOOPS && k->parts.count == 0;
}

int64_t kernel_outer_count(const struct kernel *k)
{
    int64_t count = 1;
    for (int d = 0; d < k->outer_rank; d++)
        count *= k->outer_extent[d];
    return count;
}

static bool loads_buffer(const struct expr *e, void *buffer)
{
    return e->op == EXPR_LOAD && e->access->buffer == buffer;
}

bool expr_reads(const struct expr *e, const struct buffer *b)
{
    return expr_any(e, loads_buffer, (void *)(uintptr_t)b);
}

bool operand_reads(const struct operand *o, const struct buffer *b)
{
    return o->value ? expr_reads(o->value, b) : o->access.buffer == b;
}

/* Row-major over the part's loops, from the first element to the last. */
static bool walks_whole_buffer(const struct part *p, const struct access *a)
{
    int64_t stride = 1;
    if (a->offset != 0 || a->term_count != 0)
        return false;
    for (int d = p->rank - 1; d >= 0; d--) {
        if (p->extent[d] != 1 && a->stride[d] != stride)
            return false;
        stride *= p->extent[d];
    }
    return stride == a->buffer->count;
}

/* The only store of a kernel, if it is one loop nest that fills a buffer, and in the buffer's type; or NULL. */
static const struct store *filling_store(const struct kernel *k)
{
    if (k->kind != KERNEL_LOOPS || k->checks.count || k->parts.count != 1)
        return NULL;
    const struct part *p = &k->parts.data[0];
    if (p->reduce != REDUCE_NONE || p->stores.count != 1)
        return NULL;
    const struct store *s = &p->stores.data[0];
    return s->value->dtype == s->to.buffer->dtype && walks_whole_buffer(p, &s->to) ? s : NULL;
}

/* Adds to *step how much e grows with loop d, and to *constant what e is at its beginning; false: not linear. */
static bool add_linear(const struct expr *e, int64_t factor, int d, int64_t *step, int64_t *constant)
{
    switch (e->op) {
    case EXPR_INT: *constant += factor * e->i; return true;
    case EXPR_INDEX: *step += e->i == d ? factor : 0; return true;
    case EXPR_ADD:
        return add_linear(e->arg[0], factor, d, step, constant) && add_linear(e->arg[1], factor, d, step, constant);
    case EXPR_MUL: return e->arg[1]->op == EXPR_INT && add_linear(e->arg[0], factor * e->arg[1]->i, d, step, constant);
    default: return false;
    }
}

static bool counts_elements(const struct part *p, const struct access *a, const struct expr *e)
{
    for (int d = 0; d < p->rank; d++) {
        int64_t step = 0, constant = 0;
        if (!add_linear(e, 1, d, &step, &constant) || constant != 0 || (p->extent[d] != 1 && step != a->stride[d]))
            return false;
    }
    return p->rank > 0;
}

bool kernel_is_draw(const struct kernel *k, struct kernel_draw *out)
{
    const struct store *const s = filling_store(k);
    *out = (struct kernel_draw){.factor = 1};
    if (!s || k->cut.shares > 1)
        return false;
    const struct expr *e = s->value;
    const bool has_offset = e->op == EXPR_ADD && e->arg[0]->op == EXPR_FLOAT;
    if (has_offset) {
        out->offset = e->arg[0]->f;
        e = e->arg[1];
    }
    if (e->op == EXPR_MUL && e->arg[1]->op == EXPR_FLOAT) {
        out->factor = e->arg[1]->f;
        e = e->arg[0];
    }
    out->to = s->to.buffer;
    out->number = e;
    const bool is_native = e->dtype == DTYPE_FLOAT || e->dtype == DTYPE_DOUBLE;
    return e->op == (has_offset ? EXPR_UNIFORM : EXPR_NORMAL) && is_native &&
           counts_elements(&k->parts.data[0], &s->to, e->arg[0]);
}

bool kernel_is_copy(const struct kernel *k, struct buffer **from, struct buffer **to)
{
    const struct store *const s = filling_store(k);
    if (!s || s->value->op != EXPR_LOAD || !walks_whole_buffer(&k->parts.data[0], s->value->access))
        return false;
    *from = s->value->access->buffer;
    *to = s->to.buffer;
    return true;
}

void kernel_bind_template(struct arena *a, struct kernel *k, const struct template_traits *traits, enum dtype type)
{
    k->kind = KERNEL_TEMPLATE;
    k->tmpl = (struct kernel_template){.traits = traits, .type = type};
    k->tmpl.operands = arena_array(a, struct operand, KERNEL_MAX_OPERANDS);
    k->tmpl.ints = arena_array(a, struct kernel_int, KERNEL_MAX_INTS);
}

void kernel_own_values(struct arena *a, struct kernel *k)
{
    if (k->kind != KERNEL_TEMPLATE)
        return;
    struct kernel_template *const t = &k->tmpl;
    t->operands = arena_copy(a, t->operands, KERNEL_MAX_OPERANDS * sizeof *t->operands, alignof(struct operand));
    t->ints = arena_copy(a, t->ints, KERNEL_MAX_INTS * sizeof *t->ints, alignof(struct kernel_int));
}

int64_t kernel_int(const struct kernel *k, const char *name)
{
    kernel_each_item(it, k)
        if (it.kind == ITEM_INT && str_equal(it.integer->name, name))
            return it.integer->value;
    return -1;
}

void kernel_set_int(struct kernel *k, const char *name, int64_t value)
{
    int i = 0;
    while (i < k->tmpl.int_count && strcmp(k->tmpl.ints[i].name, name) != 0)
        i++;
    if (i == KERNEL_MAX_INTS)
        UNREACHABLE("template '%s' has more than %d integer holes", k->tmpl.traits->name, KERNEL_MAX_INTS);
    k->tmpl.ints[i].name = name;
    k->tmpl.ints[i].value = value;
    k->tmpl.int_count = i == k->tmpl.int_count ? i + 1 : k->tmpl.int_count;
}

struct buffer *buffer_new(struct lowered *l, enum buffer_kind kind, const char *name, enum dtype dtype,
                          const struct shape *shape)
{
    struct buffer *b = arena_new(l->arena, struct buffer);
    b->kind = kind;
    b->name = name;
    b->dtype = dtype;
    b->shape = *shape;
    b->count = shape_count(shape);
    b->id = (int)l->buffers.count;
    vec_push(l->arena, &l->buffers, b);
    return b;
}

void kernel_resize_scratch(struct kernel *k, int64_t count)
{
    k->scratch.count = count;
    k->scratch.buffer->count = count;
    k->scratch.buffer->shape = SHAPE(count);
}

static bool uses_count(const struct expr *e, void *data)
{
    (void)data;
    return e->op == EXPR_COUNT;
}

static bool has_late_extent(const struct part *p)
{
    bool late = false;
    for (int d = 0; d < p->rank; d++)
        late |= is_late(&p->late[d]);
    return late;
}

bool kernel_is_late(const struct kernel *k)
{
    bool late = kernel_any(k, uses_count, NULL);
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_LOOP: late |= is_late(it.loop.late); break;
        case ITEM_INT: late |= is_late(&it.integer->late); break;
        case ITEM_PART: late |= has_late_extent(it.part); break;
        case ITEM_STAGE: late |= kernel_is_late(it.stage); break;
        case ITEM_CHECK: /* a function of its own */
        case ITEM_SCRATCH:
        case ITEM_OPERAND: /* kernel_any() */
        case ITEM_OWN:
        case ITEM_REGION: break;
        }
    return late;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static const char *const op_names_text[] = {
    [EXPR_NEG] = "neg",         [EXPR_NOT] = "not",      [EXPR_CAST] = "cast", [EXPR_BITS] = "bits",
    [EXPR_MATH] = "math",       [EXPR_ADD] = "add",      [EXPR_SUB] = "sub",   [EXPR_MUL] = "mul",
    [EXPR_DIV] = "div",         [EXPR_MOD] = "mod",      [EXPR_POW] = "pow",   [EXPR_LT] = "lt",
    [EXPR_LE] = "le",           [EXPR_EQ] = "eq",        [EXPR_AND] = "and",   [EXPR_OR] = "or",
    [EXPR_XOR] = "xor",         [EXPR_SHL] = "shl",      [EXPR_SHR] = "shr",   [EXPR_SELECT] = "select",
    [EXPR_UNIFORM] = "uniform", [EXPR_NORMAL] = "normal"};

static void print_expr(struct strbuf *b, const struct expr *e);

static void print_access(struct strbuf *b, const struct access *a, int rank)
{
    strbuf_addf(b, "%s[%" PRId64, a->buffer->name, a->offset);
    for (int d = 0; d < rank; d++)
        if (a->stride[d])
            strbuf_addf(b, " + %" PRId64 "*i%d", a->stride[d], d);
    for (int t = 0; t < a->term_count; t++) {
        strbuf_addf(b, " + %" PRId64 "*", a->term[t].stride);
        print_expr(b, a->term[t].index);
    }
    strbuf_add(b, "]");
}

static void print_expr(struct strbuf *b, const struct expr *e)
{
    switch (e->op) {
    case EXPR_FLOAT: strbuf_addf(b, "%.17g", e->f); return;
    case EXPR_INT: strbuf_addf(b, "%" PRId64, e->i); return;
    case EXPR_INDEX: strbuf_addf(b, "i%" PRId64, e->i); return;
    case EXPR_COUNT: strbuf_addf(b, "%" PRId64 "*count", e->i); return;
    case EXPR_RESULT: strbuf_add(b, "result"); return;
    case EXPR_LOAD: print_access(b, e->access, LOOP_MAX_DIMS); return;
    default: break;
    }
    strbuf_add(b, e->op == EXPR_MATH ? expr_fn_name(e->fn) : op_names_text[e->op]);
    if (e->op == EXPR_CAST || e->op == EXPR_BITS)
        strbuf_addf(b, "<%s>", dtype_name(e->dtype));
    strbuf_add(b, "(");
    for (int i = 0; i < expr_arg_count(e); i++) {
        strbuf_add(b, i ? ", " : "");
        print_expr(b, e->arg[i]);
    }
    strbuf_add(b, ")");
}

/* "32", or "10*count + 2" where it depends on the program's range */
static void print_size(struct strbuf *b, int64_t constant, const struct late_size *s)
{
    if (!is_late(s))
        strbuf_addf(b, "%" PRId64, constant);
    else
        strbuf_addf(b, "%" PRId64 "*count", s->per);
    if (is_late(s) && s->base != 0)
        strbuf_addf(b, " %c %" PRId64, s->base < 0 ? '-' : '+', s->base < 0 ? -s->base : s->base);
}

static void print_part(struct strbuf *b, const struct part *p)
{
    static const char *const reduce_names[] = {"", "sum", "max", "top", "min", "prod"};
    static const char *const scan_names[] = {[SCAN_NONE] = "", [SCAN_WITH] = "running ", [SCAN_BEFORE] = "preceding "};
    strbuf_add(b, "  for [");
    for (int d = 0; d < p->rank; d++) {
        strbuf_add(b, d ? ", " : "");
        print_size(b, p->extent[d], &p->late[d]);
        strbuf_add(b, !p->reduced[d] ? "" : p->scan != SCAN_NONE ? " carries" : " reduced");
    }
    strbuf_add(b, "]");
    if (p->lane_loops > 0)
        strbuf_addf(b, " lanes %d", p->lane_loops);
    strbuf_addf(b, "%s%s\n", p->hole ? " as " : "", p->hole ? p->hole : "");
    if (p->element) {
        strbuf_addf(b, "    result = %s%s ", scan_names[p->scan], reduce_names[p->reduce]);
        print_expr(b, p->element);
        strbuf_add(b, "\n");
    }
    for (size_t s = 0; s < p->stores.count; s++) {
        strbuf_add(b, "    ");
        print_access(b, &p->stores.data[s].to, p->rank);
        strbuf_add(b, " = ");
        print_expr(b, p->stores.data[s].value);
        strbuf_add(b, "\n");
    }
}

static void print_operand(struct strbuf *b, const struct operand *o, int outer)
{
    strbuf_addf(b, "  %s = ", o->param);
    if (o->value)
        print_expr(b, o->value);
    else
        print_access(b, &o->access, outer);
    strbuf_add(b, "\n");
}

static void print_check(struct strbuf *b, const struct check *c)
{
    strbuf_addf(b, "  check %" PRId64 " <= ", c->low);
    print_expr(b, c->value);
    strbuf_addf(b, " < %" PRId64 "\n", c->high);
}

static void print_head(struct strbuf *b, const struct kernel *k)
{
    strbuf_addf(b, "kernel %d %s", k->id, k->label);
    if (k->rows > 0)
        strbuf_addf(b, " rows %d", k->rows);
    if (k->kind == KERNEL_TEMPLATE)
        strbuf_addf(b, " template %s", k->tmpl.traits->name);
    kernel_each_item(it, k)
        if (it.kind == ITEM_INT) {
            strbuf_addf(b, " %s=", it.integer->name);
            print_size(b, it.integer->value, &it.integer->late);
        }
    strbuf_add(b, "\n");
}

static void print_kernel(struct strbuf *b, const struct kernel *k)
{
    print_head(b, k);
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_CHECK: print_check(b, it.check); break;
        case ITEM_OPERAND: print_operand(b, it.operand, k->outer_rank); break;
        case ITEM_PART: print_part(b, it.part); break;
        case ITEM_STAGE:
            if (it.at == 0)
                strbuf_addf(b, "  %zu stages, %" PRId64 " rows at a time\n", k->blocks.stages.count, k->blocks.rows);
            print_kernel(b, it.stage);
            break;
        case ITEM_INT: /* print_head() */
        case ITEM_LOOP:
        case ITEM_SCRATCH:
        case ITEM_OWN:
        case ITEM_REGION: break;
        }
}

const char *lowered_print(struct arena *a, const struct lowered *l)
{
    struct strbuf b = {.arena = a, .clean = true};
    strbuf_addf(&b, "entry %s\n", l->entry->name);
    for (size_t i = 0; i < l->kernels.count; i++)
        if (!l->kernels.data[i]->removed)
            print_kernel(&b, l->kernels.data[i]);
    return strbuf_text(&b);
}
