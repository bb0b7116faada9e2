/* Kernels made from templates (templates/, lower/template.h): what goes into the holes.
 *
 *   integer holes     the kernel's ints; WITH_FINISH and the like: is there a part for the hole?
 *                     AGAIN_FINISH and the like: may that part run twice for an element, as it reads nothing that
 *                     it writes?
 *                     READS_FINISH and the like: does it read rows of memory of its own for each row of the result?
 *   type holes        T: the kernel's type; LABELS: the type of operand "labels"
 *   statement holes   the stores of the part of that name; the call's arguments are the indices and then the result
 *                     A hole "loss_at" stands for the part "loss" with indices. Without a part: nothing
 *                     A hole "finish_ahead" asks for the memory that the part "finish" will read
 *                     x_into(n, k, i, to): element (n, k, i) of operand "x", which is computed (then WITH_X is 1),
 *                     into to[i]
 *   expression holes  exp_of(x): the elementary function; weights_at(i): element i of operand "weights"
 *   parameters        the operand's pointer, moved to its offset and to the place of the outer loops
 *
 * The kernel's name is not known before its text (kernels of equal text share a function): PLACEHOLDER stands for
 * it. */
#include "emit/emit_internal.h"
#include "lower/template.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

struct template_filler {
    struct expr_scope *s;
    const struct kernel *k;
    const struct expr *outer[SHAPE_MAX_RANK]; /* indices of the outer loops; NULL: 0 */
    const struct block_place *block;   /* a stage: which block; else NULL */
};

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static const struct part *part_of(const struct kernel *k, const char *hole)
{
    for (size_t p = 0; p < k->parts.count; p++)
        if (str_equal(k->parts.data[p].hole, hole))
            return &k->parts.data[p];
    return NULL;
}

static const char *without_at(struct arena *a, const char *hole)
{
    return str_ends_with(hole, "_at") ? arena_strndup(a, hole, strlen(hole) - strlen("_at")) : hole;
}

static const struct part *part_for(struct arena *a, const struct kernel *k, const char *hole)
{
    const struct part *p = part_of(k, hole);
    return p ? p : part_of(k, without_at(a, hole));
}

static struct name_scope names_copy(struct arena *a, const struct name_scope *from)
{
    struct name_scope to = {.taken = {.arena = a}};
    for (size_t i = 0; i < from->taken.count; i++)
        map_set(&to.taken, from->taken.entries[i].key, NULL);
    return to;
}

/* The part "update" runs inside loops over whole vectors. Where bits or bytes count, or vectors are not wanted,
 * division is division. */
static bool divides_wide(const struct emit_options *o, const struct part *p)
{
    return str_equal(p->hole, "update") && !o->reproducible && !o->small && o->simd != SIMD_NONE;
}

/* The scope within the template: indices of the outer loops, then what the template says of so many inner ones. */
static struct expr_scope scope_within(const struct template_filler *f, const char *const *args, size_t count)
{
    struct expr_scope s = *f->s;
    for (int d = 0; d < LOOP_MAX_DIMS; d++) {
        const int inner = d - f->k->outer_rank;
        s.index[d] = inner < 0 ? f->outer[d] : (size_t)inner < count ? index_text(s.arena, args[inner]) : NULL;
    }
    return s;
}

/* Statements built in that scope, as lines. */
static const char *lines_of(struct expr_scope *s, const stmt_list *list)
{
    struct writer w = {.text = {.arena = s->arena}};
    print_statements(s, &w, list);
    return strbuf_text(&w.text);
}

/* The stores of a part as text. args: indices of the part's inner dims, then the result if the hole hands over one. */
static const struct expr *result_text(struct arena *a, enum dtype type, const char *text)
{
    struct expr *const e = arena_copy(a, index_text(a, text), sizeof *e, alignof(struct expr));
    e->dtype = type;
    return e;
}

static const char *part_text(struct template_filler *f, const struct part *p, const char *const *args, size_t count)
{
    const size_t inner = (size_t)(p->rank - f->k->outer_rank);
    if (count < inner)
        UNREACHABLE("hole '%s' of template '%s' has %zu arguments for %zu indices", p->hole, f->k->tmpl->name, count,
                    inner);
    struct expr_scope s = scope_within(f, args, inner);
    stmt_list body = {0};
    struct tree_builder b = tree_builder(s.arena, &body);
    s.names = names_copy(s.arena, &f->s->names); /* a hole that is called twice uses the same names twice */
    if (count > inner)
        s.result = result_text(s.arena, f->k->type, args[count - 1]);
    s.divides_wide = divides_wide(s.e->options, p);
    emit_stores(&s, &b, p);
    const char *const text = lines_of(&s, &body);
    f->s->uses_random |= s.uses_random;
    return text;
}

/* ---- what a part will read --------------------------------------------------------------------------------------- */

struct ahead {
    struct expr_scope *s;
    struct writer *w; /* NULL: only look */
    int last;         /* the loop that runs through the elements of a row */
    VEC(const char *) known;
    bool found;
};

static void fetch_access(const struct access *a, void *data)
{
    struct ahead *h = data;
    if (h->last < 1 || a->stride[h->last] == 0 || a->stride[h->last - 1] == 0 || a->term_count > 0)
        return; /* the same for all rows: it stays near */
    h->found = true;
    if (!h->w)
        return;
    const char *text = access_text(h->s, a);
    for (size_t i = 0; i < h->known.count; i++)
        if (str_equal(h->known.data[i], text))
            return;
    vec_push(h->s->arena, &h->known, text);
    write_line(h->w, "STEPC_AHEAD(&%s);", text);
}

static void each_load_ahead(const struct part *p, struct ahead *h)
{
    h->last = p->rank - 1;
    for (size_t i = 0; i < p->stores.count; i++)
        expr_each_load(p->stores.data[i].value, fetch_access, h);
}

static bool reads_rows(const struct part *p)
{
    struct ahead h = {0};
    each_load_ahead(p, &h);
    return h.found;
}

/* Hole "finish_ahead": asks for the memory that the part "finish" reads at these indices. What it only writes gains
 * nothing: GELU of 512 x 512, two results: 4.1 instead of 3.8 ms. */
static const char *ahead_text(struct template_filler *f, const struct part *p, const char *const *args, size_t count)
{
    struct expr_scope s = scope_within(f, args, count);
    struct writer w = {.text = {.arena = s.arena}};
    struct ahead h = {.s = &s, .w = &w};
    each_load_ahead(p, &h);
    return strbuf_text(&w.text);
}

static const struct part *part_ahead(struct arena *a, const struct kernel *k, const char *hole)
{
    return str_ends_with(hole, "_ahead") ? part_of(k, arena_strndup(a, hole, strlen(hole) - strlen("_ahead"))) : NULL;
}

/* ---- calls of BLAS ----------------------------------------------------------------------------------------------- */

/* Hole "blas(left, right, to, row)": a call of runtime/blas/. */
static const char *blas_text(struct template_filler *f, const char *const *args)
{
    const struct kernel *k = f->k;
    struct strbuf b = {.arena = f->s->arena};
    strbuf_addf(&b, "stepc_blas_%s(%" PRId64 ", %" PRId64 ", %" PRId64, c_type(k->type), kernel_int(k, "M"),
                kernel_int(k, "N"), kernel_int(k, "K"));
    strbuf_addf(&b, ", %s, %" PRId64 ", %" PRId64, args[0], kernel_int(k, "A_ROW"), kernel_int(k, "A_COL"));
    strbuf_addf(&b, ", %s, %" PRId64 ", %" PRId64, args[1], kernel_int(k, "B_ROW"), kernel_int(k, "B_COL"));
    strbuf_addf(&b, ", %s, %s);\n", args[2], args[3]);
    f->s->e->has_blas = true;
    return strbuf_text(&b);
}

/* Hole "finish_place()": where the part "finish" stores its first element. */
static const char *place_text(struct template_filler *f)
{
    struct expr_scope s = scope_within(f, NULL, 0);
    return arena_printf(s.arena, "&%s", access_text(&s, &part_of(f->k, "finish")->stores.data[0].to));
}

/* ---- expression holes -------------------------------------------------------------------------------------------- */

static const char *operand_text(struct template_filler *f, const char *hole, const char *const *args, size_t count)
{
    const char *param = without_at(f->s->arena, hole);
    for (int o = 0; o < f->k->operand_count && param != hole && count == 1; o++) {
        if (!str_equal(f->k->operands[o].param, param))
            continue;
        struct access a = f->k->operands[o].access;
        struct expr_scope s = scope_within(f, args, 1);
        a.stride[f->k->outer_rank] = 1;
        return access_text(&s, &a);
    }
    return NULL;
}

/* ---- operands that are computed ---------------------------------------------------------------------------------- */

static const struct operand *computed_operand(struct arena *a, const struct kernel *k, const char *hole)
{
    for (int o = 0; o < k->operand_count; o++)
        if (k->operands[o].value && str_equal(hole, arena_printf(a, "%s_into", k->operands[o].param)))
            return &k->operands[o];
    return NULL;
}

/* args: indices of the operand's inner loops, then where the element goes, by the last of them. */
static const char *into_text(struct template_filler *f, const struct operand *o, const char *const *args, size_t count)
{
    struct expr_scope s = scope_within(f, args, (size_t)(o->rank - f->k->outer_rank));
    stmt_list body = {0};
    struct tree_builder b = tree_builder(s.arena, &body);
    const struct expr *value = o->value;
    s.names = names_copy(s.arena, &f->s->names);
    expr_hoist(&s, &b, &value, 1);
    value = expr_resolve(&s, value);
    const struct tree_var *const to =
        tree_var(s.arena, VAR_POINTER, value->dtype, c_type(value->dtype), args[count - 1]);
    tree_set(&b, tree_element(s.arena, to, index_text(s.arena, args[count - 2])), SET_TO, value);
    const char *const text = lines_of(&s, &body);
    f->s->uses_random |= s.uses_random;
    return text;
}

static const char *function_text(struct template_filler *f, const char *hole, const char *const *args, size_t count)
{
    if (!str_ends_with(hole, "_of") || count != 1)
        return NULL;
    const char *name = arena_printf(f->s->arena, "stepc_%.*s%s", (int)(strlen(hole) - strlen("_of")), hole,
                                    f->k->type == DTYPE_DOUBLE ? "" : "f");
    return arena_printf(f->s->arena, "%s(%s)", use_helper(f->s->e, name), args[0]);
}

static const char *fill_hole(void *user, const char *hole, const char *const *args, size_t count, bool bare)
{
    struct template_filler *f = user;
    (void)bare; /* subscripts and calls bind tightly */
    const struct part *p = part_for(f->s->arena, f->k, hole);
    if (p)
        return part_text(f, p, args, count);
    p = part_ahead(f->s->arena, f->k, hole);
    if (p)
        return ahead_text(f, p, args, count);
    const struct operand *computed = computed_operand(f->s->arena, f->k, hole);
    if (computed)
        return into_text(f, computed, args, count);
    if (str_equal(hole, "share"))
        return f->s->share;
    if (f->s->pass && str_equal(hole, "pass"))
        return f->s->pass;
    if (f->block && str_equal(hole, "skip"))
        return f->block->skip;
    if (f->block && str_equal(hole, "before"))
        return f->block->before;
    if (str_equal(hole, "blas"))
        return blas_text(f, args);
    if (str_equal(hole, "finish_place"))
        return place_text(f);
    const char *text = operand_text(f, hole, args, count);
    text = text ? text : function_text(f, hole, args, count);
    return text ? text : "";
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool text_names(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if ((at == text || !is_name_char(at[-1])) && !is_name_char(at[length]))
            return true;
    return false;
}

typedef VEC(struct template_capture) capture_list;

/* An operand that a part changes in place is known by two names: as the template reads it and as the part writes it. */
static const char *capture_declaration(const struct template_filler *f, const struct kernel_param *p)
{
    bool is_operand = false;
    for (int o = 0; o < f->k->operand_count; o++)
        is_operand |= operand_reads(&f->k->operands[o], p->buffer);
    return p->written && is_operand ? arena_printf(f->s->arena, "%s *%s", c_type(p->buffer->dtype), p->name)
                                    : param_declaration(f->s->arena, p);
}

static void add_captures(struct template_filler *f, const char *hole, const char *text, capture_list *out)
{
    struct arena *a = f->s->arena;
    for (size_t i = 0; i < f->s->params->count; i++) {
        const struct kernel_param *p = &f->s->params->data[i];
        if (text_names(text, p->name))
            vec_push(a, out, ((struct template_capture){hole, capture_declaration(f, p), p->name}));
    }
    for (size_t i = 0; i <= f->s->e->kernel_counters.count; i++) {
        const char *const random = i == 0 ? "seed" : counter_parameter(a, i - 1);
        if (text_names(text, random))
            vec_push(a, out, ((struct template_capture){hole, arena_printf(a, "const uint64_t %s", random), random}));
    }
    for (int d = 0; d < f->k->outer_rank; d++) {
        const char *const index = f->outer[d] ? f->outer[d]->var->name : NULL;
        if (index && text_names(text, index))
            vec_push(a, out,
                     ((struct template_capture){hole, arena_printf(a, "const %s %s", f->s->index_type, index), index}));
    }
}

static void collect_captures(struct template_filler *f, capture_list *out)
{
    struct arena *a = f->s->arena;
    if (f->s->share)
        vec_push(a, out,
                 ((struct template_capture){"share", arena_printf(a, "const int %s", f->s->share), f->s->share}));
    if (f->s->pass)
        vec_push(a, out, ((struct template_capture){"pass", arena_printf(a, "const int %s", f->s->pass), f->s->pass}));
    const char *args[LOOP_MAX_DIMS + 1];
    for (int d = 0; d <= LOOP_MAX_DIMS; d++)
        args[d] = "0";
    for (size_t p = 0; p < f->k->parts.count; p++) {
        const struct part *part = &f->k->parts.data[p];
        const size_t count = (size_t)(part->rank - f->k->outer_rank) + 1;
        const char *text = part_text(f, part, args, count);
        add_captures(f, part->hole, text, out);
        add_captures(f, arena_printf(a, "%s_at", part->hole), text, out);
        add_captures(f, arena_printf(a, "%s_ahead", part->hole), ahead_text(f, part, args, count), out);
    }
    for (int o = 0; o < f->k->operand_count; o++) {
        const struct operand *operand = &f->k->operands[o];
        const char *hole = arena_printf(a, operand->value ? "%s_into" : "%s_at", operand->param);
        add_captures(f, hole,
                     operand->value ? into_text(f, operand, args, (size_t)(operand->rank - f->k->outer_rank) + 1)
                                    : operand_text(f, hole, args, 1),
                     out);
    }
}

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

typedef VEC(struct template_int) int_list;
typedef VEC(struct template_name) name_list;

static bool may_run_again(const struct kernel *k, const struct part *p)
{
    struct arena scratch = {0};
    buffer_list reads = {0};
    bool ok = true;
    kernel_reads(&scratch, k, &reads);
    for (size_t s = 0; s < p->stores.count; s++)
        for (size_t r = 0; r < reads.count; r++)
            ok &=
                reads.data[r] != p->stores.data[s].to.buffer && reads.data[r] != p->stores.data[s].to.buffer->place_of;
    arena_free(&scratch);
    return ok;
}

static int_list bind_ints(struct arena *a, const struct kernel *k)
{
    int_list ints = {0};
    for (int i = 0; i < k->int_count; i++)
        vec_push(a, &ints, ((struct template_int){k->ints[i].name, k->ints[i].value}));
    vec_push(a, &ints, ((struct template_int){"SHARES", k->shares > 1 && k->share_outer < 0 ? k->shares : 1}));
    for (int o = 0; o < k->operand_count; o++)
        if (k->operands[o].value)
            vec_push(a, &ints,
                     ((struct template_int){arena_printf(a, "WITH_%s", name_upper(a, k->operands[o].param)), 1}));
    for (size_t p = 0; p < k->parts.count; p++) {
        const char *hole = name_upper(a, k->parts.data[p].hole);
        vec_push(a, &ints, ((struct template_int){arena_printf(a, "WITH_%s", hole), 1}));
        vec_push(a, &ints,
                 ((struct template_int){arena_printf(a, "AGAIN_%s", hole), may_run_again(k, &k->parts.data[p])}));
        vec_push(a, &ints, ((struct template_int){arena_printf(a, "READS_%s", hole), reads_rows(&k->parts.data[p])}));
    }
    return ints;
}

static name_list bind_types(struct arena *a, const struct kernel *k)
{
    name_list types = {0};
    vec_push(a, &types, ((struct template_name){"T", c_type(k->type)}));
    for (int o = 0; o < k->operand_count; o++)
        vec_push(
            a, &types,
            ((struct template_name){name_upper(a, k->operands[o].param), c_type(k->operands[o].access.buffer->dtype)}));
    return types;
}

static bool moves(const struct kernel *k, const struct access *a)
{
    bool found = a->offset != 0;
    for (int d = 0; d < k->outer_rank; d++)
        found |= a->stride[d] != 0 && k->outer_extent[d] != 1;
    return found;
}

/* Pointers to where the operands begin, under the names that the template's parameters get. */
static void bind_operands(struct template_filler *f, struct writer *w, name_list *params)
{
    for (int o = 0; o < f->k->operand_count; o++) {
        if (f->k->operands[o].value)
            continue;
        const struct access *access = &f->k->operands[o].access;
        const char *name = param_name(f->s, access->buffer);
        if (moves(f->k, access)) {
            struct expr_scope s = scope_within(f, NULL, 0);
            const char *place = access_text(&s, access);
            name = name_in(&f->s->names, arena_printf(f->s->arena, "%s_here", f->k->operands[o].param));
            write_line(w, "const %s *const %s = &%s;", c_type(access->buffer->dtype), name, place);
        }
        vec_push(f->s->arena, params, ((struct template_name){f->k->operands[o].param, name}));
    }
}

/* ---- the body ---------------------------------------------------------------------------------------------------- */

void reserve_template_names(const struct kernel *k, struct name_scope *names)
{
    const struct template_kernel *t = template_find(&template_table, k->tmpl->name);
    if (!t)
        UNREACHABLE("there is no template '%s'", k->tmpl->name);
    for (const char *const *name = t->names; *name; name++)
        map_set(&names->taken, *name, NULL);
    for (int o = 0; o < k->operand_count; o++)
        map_set(&names->taken, k->operands[o].param, NULL);
}

static void note_uses(struct emission *e, const struct template_instance *made)
{
    for (size_t i = 0; i < made->helpers.count; i++)
        use_helper(e, made->helpers.data[i]);
    for (size_t i = 0; i < made->sections.count; i++) {
        bool known = false;
        for (size_t u = 0; u < e->sections.count; u++)
            known |= str_equal(e->sections.data[u].name, made->sections.data[i].name) &&
                     str_equal(e->sections.data[u].type, made->sections.data[i].type);
        if (!known)
            vec_push(e->arena, &e->sections, made->sections.data[i]);
    }
}

/* What belongs to the kernel goes before it; what several kernels may use is kept for the file. */
static void place_pieces(struct emission *e, const struct template_instance *made, struct writer *before)
{
    for (size_t i = 0; i < made->pieces.count; i++) {
        const struct template_piece *p = &made->pieces.data[i];
        if (!str_starts_with(p->name, PLACEHOLDER)) {
            map_set(&e->shared_pieces, p->name, (void *)(uintptr_t)p->text);
            continue;
        }
        if (before->text.length > 0)
            write_blank(before);
        strbuf_add(&before->text, p->text);
    }
}

static int open_outer(struct template_filler *f, struct tree_builder *b)
{
    static const char *const wishes[] = {"n", "h", "g", "m"};
    int open = 0;
    for (int d = 0; d < f->k->outer_rank; d++) {
        f->outer[d] = NULL;
        if (f->k->outer_extent[d] == 1)
            continue;
        const char *const share = d == f->k->share_outer ? f->s->share : NULL;
        const char *const i = name_in(&f->s->names, wishes[open % 4]);
        f->outer[d] = emit_open_loop(b, f->s->index_type, i, f->k->outer_extent[d], share, f->k->shares);
        open++;
    }
    return open;
}

static bool keeps_hint(void *user, const char *hint)
{
    const struct template_filler *const f = user;
    return loop_hint(f->s->e->options, hint) != NULL;
}

static void add_instance(struct template_filler *f, struct tree_builder *b, const char *name, name_list *params,
                         struct writer *before)
{
    struct expr_scope *const s = f->s;
    struct writer w = {.text = {.arena = s->arena}};
    const struct template_kernel *t = template_find(&template_table, f->k->tmpl->name);
    bind_operands(f, &w, params);
    const name_list types = bind_types(s->arena, f->k);
    const int_list ints = bind_ints(s->arena, f->k);
    capture_list captures = {0};
    collect_captures(f, &captures);
    const struct template_binding binding = {
        .name = name,
        .ints = ints.data, .int_count = ints.count,
        .types = types.data, .type_count = types.count,
        .params = params->data, .param_count = params->count,
        .fill = fill_hole, .keeps = keeps_hint, .user = f,
        .captures = captures.data, .capture_count = captures.count};
    struct template_instance made;
    template_instantiate(s->arena, t, &binding, &made);
    write_block(&w, made.body);
    tree_text(b, strbuf_text(&w.text));
    note_uses(s->e, &made);
    place_pieces(s->e, &made, before);
}

void emit_template_body(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, struct writer *before)
{
    struct template_filler f = {.s = s, .k = k};
    name_list params = {0};
    int open = open_outer(&f, b);
    add_instance(&f, b, PLACEHOLDER, &params, before);
    for (; open > 0; open--)
        tree_close(b);
}

void emit_template_stage(struct expr_scope *s, struct tree_builder *b, const struct kernel *k,
                         const struct block_place *place, struct writer *before)
{
    struct template_filler f = {.s = s, .k = k, .block = place};
    name_list params = {0};
    for (int d = 0; d < k->outer_rank; d++)
        f.outer[d] = s->index[d];
    if (k->scratch)
        vec_push(s->arena, &params, ((struct template_name){k->scratch_param, param_name(s, k->scratch)}));
    add_instance(&f, b, arena_printf(s->arena, PLACEHOLDER "_%d", place->stage), &params, before);
}
