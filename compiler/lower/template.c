/* Instantiation of kernel templates: walks the segments of a kernel and concatenates. Depends on base only.
 *
 * Items are instantiated after the body, from the last of the file to the first, each if something live has named it:
 * an item only names items above it, so one pass finds what is needed, and what only a dropped branch uses is left out.
 */
#include "lower/template.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- lookup ------------------------------------------------------------------------------------------------------ */

const struct template_kernel *template_find(const struct template_table *t, const char *name)
{
    for (size_t i = 0; i < t->kernel_count; i++) {
        if (str_equal(t->kernels[i].name, name))
            return &t->kernels[i];
    }
    return NULL;
}

const struct template_helper *template_find_helper(const struct template_table *t, const char *name)
{
    for (size_t i = 0; i < t->helper_count; i++) {
        if (str_equal(t->helpers[i].name, name))
            return &t->helpers[i];
    }
    return NULL;
}

const struct template_section *template_find_section(const struct template_table *t, const char *name)
{
    for (size_t i = 0; i < t->section_count; i++) {
        if (str_equal(t->sections[i].name, name))
            return &t->sections[i];
    }
    return NULL;
}

/* Is the word one of those of an expression in postfix? */
static bool has_word(const char *postfix, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = postfix; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (!strncmp(at, word, length) && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool text_has_int(const struct template_kernel *k, const struct template_text *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct template_segment *s = &t->segments[i];
        if ((s->kind == TEMPLATE_INT || s->kind == TEMPLATE_IF || s->kind == TEMPLATE_LOOP) && has_word(s->text, name))
            return true;
        for (size_t p = 0; p < s->part_count; p++) {
            if (text_has_int(k, &s->parts[p], name))
                return true;
        }
        for (size_t n = 0; s->kind == TEMPLATE_ITEM && n < k->item_count; n++) { /* items name only items above them */
            if (str_equal(k->items[n].name, s->text) && &k->items[n].text != t &&
                text_has_int(k, &k->items[n].text, name))
                return true;
        }
    }
    return false;
}

bool template_has_int(const struct template_kernel *k, const char *name)
{
    return text_has_int(k, &k->body, name);
}

static void use_with_needs(const struct template_table *t, size_t i, bool *used)
{
    if (used[i])
        return;
    used[i] = true;
    for (size_t n = 0; n < t->helpers[i].need_count; n++)
        use_with_needs(t, t->helpers[i].needs[n], used);
}

void template_use_helper(const struct template_table *t, const char *name, bool *used)
{
    const struct template_helper *h = template_find_helper(t, name);
    if (!h)
        UNREACHABLE("no runtime function '%s'", name);
    use_with_needs(t, (size_t)(h - t->helpers), used);
}

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

struct instantiation {
    struct arena *arena;
    const struct template_kernel *kernel;
    const struct template_binding *binding;
    struct template_instance *out; /* NULL: nothing is recorded */
    bool *item_used, *param_used;
    VEC(const char *) left_out;    /* loops around the text that are left out */
    bool hint_is_left_out;         /* the text at hand goes on with the end of its line */
    bool *item_known, *item_calls; /* by item; by item and capture: does the item call the capture's hole? */
};

static const char *find_name(const struct template_name *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_equal(names[i].name, name))
            return names[i].text;
    }
    return NULL;
}

/* Is `word`, of `length` characters, this name? */
static bool is_word(const char *word, size_t length, const char *name)
{
    return *word == *name && !strncmp(word, name, length) && name[length] == '\0';
}

static int64_t bound_int(const struct instantiation *in, const char *word, size_t length)
{
    for (size_t i = 0; i < in->binding->int_count; i++) {
        if (is_word(word, length, in->binding->ints[i].name))
            return in->binding->ints[i].value;
    }
    if (str_starts_with(word, "WITH_"))
        return 0;
    UNREACHABLE("template '%s': integer hole '%.*s' is not bound", in->kernel->name, (int)length, word);
}

static const char *bound_type(const struct instantiation *in, const char *name)
{
    const char *text = find_name(in->binding->types, in->binding->type_count, name);
    if (!text)
        UNREACHABLE("template '%s': type hole '%s' is not bound", in->kernel->name, name);
    return text;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

#define EXPRESSION_MAX_DEPTH 32

/* `op` is followed by a blank or by the end. */
static int64_t operate(const struct instantiation *in, const char *op, int64_t x, int64_t y)
{
    if ((op[0] == '/' || op[0] == '%') && y == 0)
        UNREACHABLE("template '%s': division by zero", in->kernel->name);
    switch (op[0]) {
    case '|': return x || y;
    case '&': return x && y;
    case '=': return x == y;
    case '!': return x != y;
    case '<': return op[1] == '=' ? x <= y : x < y;
    case '>': return op[1] == '=' ? x >= y : x > y;
    case '+': return x + y;
    case '-': return x - y;
    case '*': return x * y;
    case '/': return x / y;
    case '%': return x % y;
    }
    UNREACHABLE("template '%s': operator '%s'", in->kernel->name, op);
}

/* A number at the begin of `word`, which the build wrote. */
static int64_t literal(const char *word, size_t length)
{
    int64_t value = 0;
    for (size_t i = word[0] == '-'; i < length; i++)
        value = 10 * value + (word[i] - '0');
    return word[0] == '-' ? -value : value;
}

/* The value of an expression over integer holes, in postfix: asked for some hundred times in each instance. */
static int64_t evaluate(const struct instantiation *in, const char *postfix)
{
    int64_t stack[EXPRESSION_MAX_DEPTH];
    size_t depth = 0;
    while (*postfix) {
        const char *const word = postfix;
        while (*postfix && *postfix != ' ')
            postfix++;
        const size_t length = (size_t)(postfix - word);
        postfix += *postfix == ' ';
        if (depth == EXPRESSION_MAX_DEPTH)
            UNREACHABLE("template '%s': expression is too deep", in->kernel->name);
        if (isdigit((unsigned char)word[0]) || (word[0] == '-' && length > 1)) {
            stack[depth++] = literal(word, length);
        } else if (isalpha((unsigned char)word[0]) && !is_word(word, length, "neg")) {
            stack[depth++] = bound_int(in, word, length);
        } else if (depth >= 1 && is_word(word, length, "neg")) {
            stack[depth - 1] = -stack[depth - 1];
        } else if (depth >= 1 && is_word(word, length, "!")) {
            stack[depth - 1] = !stack[depth - 1];
        } else if (depth >= 2) {
            depth--;
            stack[depth - 1] = operate(in, word, stack[depth - 1], stack[depth]);
        } else {
            UNREACHABLE("template '%s': expression ends early", in->kernel->name);
        }
    }
    if (depth != 1)
        UNREACHABLE("template '%s': expression without a value", in->kernel->name);
    return stack[0];
}

/* ---- expression text --------------------------------------------------------------------------------------------- */

static size_t skip_brackets(const char *s)
{
    int depth = 0;
    for (size_t i = 0; s[i]; i++) {
        depth += s[i] == '(' || s[i] == '[';
        depth -= s[i] == ')' || s[i] == ']';
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

/* Identifier, number or brackets, with subscripts, calls and members behind it: binds tighter than any operator. */
static bool is_primary(const char *s)
{
    const bool brackets = *s == '(', number = isdigit((unsigned char)*s);
    if (brackets)
        s += skip_brackets(s);
    else if (!isalnum((unsigned char)*s) && *s != '_' && *s != '.')
        return false;
    while (!brackets && (isalnum((unsigned char)*s) || *s == '_' || *s == '.' ||
                         (number && strchr("+-", *s) && *s && tolower((unsigned char)s[-1]) == 'e')))
        s++;
    while (*s == '(' || *s == '[' || *s == '.' || !strncmp(s, "->", 2)) {
        if (*s == '(' || *s == '[') {
            if (brackets && *s == '(')
                return false; /* a cast */
            const size_t length = skip_brackets(s);
            if (length == 0)
                return false;
            s += length;
            continue;
        }
        s += *s == '.' ? 1 : 2;
        while (isalnum((unsigned char)*s) || *s == '_')
            s++;
    }
    return *s == '\0';
}

const char *template_parenthesise(struct arena *a, const char *text)
{
    return is_primary(text) ? text : arena_printf(a, "(%s)", text);
}

/* May any expression stand between these two places of the text without parentheses? */
static bool between_delimiters(const char *text, const char *from, const char *to)
{
    while (from > text && from[-1] == ' ')
        from--;
    to += strspn(to, " ");
    if (from == text)
        return false;
    const bool assigned = from[-1] == '=' && (from - 1 == text || !strchr("=!<>", from[-2]));
    return (assigned || strchr("([,", from[-1])) && *to && strchr(")],;", *to);
}

/* $1 .. $9 in `text` become the arguments. */
static const char *fill_arguments(const struct instantiation *in, const char *hole, const char *text,
                                  const char *const *args, size_t count)
{
    struct strbuf b = {.arena = in->arena};
    for (const char *s = text; *s; s++) {
        if (*s != '$') {
            strbuf_add_n(&b, s, 1);
            continue;
        }
        const size_t i = (size_t)(s[1] - '1');
        if (s[1] < '1' || s[1] > '9' || i >= count)
            UNREACHABLE("template '%s': hole '%s' has %zu arguments, its text says $%c", in->kernel->name, hole, count,
                        s[1]);
        strbuf_add(&b, between_delimiters(text, s, s + 2) ? args[i] : template_parenthesise(in->arena, args[i]));
        s++;
    }
    return strbuf_text(&b);
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

static void expand(struct instantiation *in, const struct template_text *t, struct strbuf *out);

static const char *expanded(struct instantiation *in, const struct template_text *t)
{
    struct strbuf b = {.arena = in->arena};
    expand(in, t, &b);
    return strbuf_text(&b);
}

static const char *hole_text(struct instantiation *in, const struct template_segment *s)
{
    const struct template_binding *b = in->binding;
    const char **args = arena_array(in->arena, const char *, s->part_count);
    for (size_t i = 0; i < s->part_count; i++)
        args[i] = expanded(in, &s->parts[i]);
    const bool expression = s->kind == TEMPLATE_EXPR;
    const char *text =
        expression ? find_name(b->exprs, b->expr_count, s->text) : find_name(b->stmts, b->stmt_count, s->text);
    if (text) {
        text = fill_arguments(in, s->text, text, args, s->part_count);
        return expression && !s->bare ? template_parenthesise(in->arena, text) : text;
    }
    text = b->fill ? b->fill(b->user, s->text, args, s->part_count, s->bare) : NULL;
    if (!text)
        UNREACHABLE("template '%s': %s hole '%s' is not bound", in->kernel->name,
                    expression ? "expression" : "statement", s->text);
    return text;
}

static void add_lines(struct strbuf *out, const char *text, int indent)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        const bool directive = text[0] == '#';
        if (length > 0)
            strbuf_addf(out, "%*s%.*s", directive ? 0 : indent, "", (int)length, text);
        strbuf_add(out, "\n");
        text += length + (text[length] == '\n');
    }
}

/* The segment is whole lines: an empty statement leaves nothing behind, except where C wants a statement. */
static void add_statement(struct strbuf *out, const struct template_segment *s, const char *text)
{
    const char *newline = strchr(text, '\n');
    const bool single = *text && (!newline || newline[1] == '\0');
    if (!s->alone || single) {
        add_lines(out, text, s->indent);
        return;
    }
    if (*text == '\0') {
        add_lines(out, ";", s->indent);
        return;
    }
    while (out->length > 0 && strchr(" \n", out->text[out->length - 1])) /* behind `for (...)` */
        out->text[--out->length] = '\0';
    strbuf_add(out, " {\n");
    add_lines(out, text, s->indent);
    strbuf_addf(out, "%*s}\n", s->indent > 4 ? s->indent - 4 : 0, "");
}

static void add_literal(struct strbuf *out, const char *type, const char *number)
{
    const bool whole = !strpbrk(number, ".e");
    if (str_equal(type, "float"))
        strbuf_addf(out, "%s%sf", number, whole ? ".0" : "");
    else if (str_equal(type, "double"))
        strbuf_addf(out, "%s%s", number, whole ? ".0" : "");
    else if (whole && (str_equal(type, "int") || str_equal(type, "int32_t")))
        strbuf_add(out, number);
    else
        strbuf_addf(out, "(%s)%s", type, number);
}

static const struct template_item *find_item(const struct instantiation *in, const char *name)
{
    for (size_t i = 0; i < in->kernel->item_count; i++) {
        if (str_equal(in->kernel->items[i].name, name))
            return &in->kernel->items[i];
    }
    UNREACHABLE("template '%s': no item '%s'", in->kernel->name, name);
}

static const char *item_name(struct instantiation *in, const char *name)
{
    const struct template_item *item = find_item(in, name);
    in->item_used[item - in->kernel->items] = true;
    if (item->suffix == TEMPLATE_SHARED)
        return name;
    if (item->suffix == TEMPLATE_OWN)
        return arena_printf(in->arena, "%s_%s", in->binding->name, name);
    struct strbuf b = {.arena = in->arena};
    strbuf_add(&b, name);
    for (const char *const *type = item->types; type && *type; type++)
        strbuf_addf(&b, "_%s", bound_type(in, *type));
    return strbuf_text(&b);
}

static bool is_listed(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_equal(list[i], name))
            return true;
    }
    return false;
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

static const bool *calls_of_item(const struct instantiation *in, const struct template_item *item);

/* Which captures' holes are called in live text of `t`, or of items that live text names? `within`: the item that t
 * belongs to. */
static void find_calls(const struct instantiation *in, const struct template_text *t, const char *within, bool *calls)
{
    const size_t count = in->binding->capture_count;
    for (size_t i = 0; i < t->count; i++) {
        const struct template_segment *s = &t->segments[i];
        const bool is_hole = s->kind == TEMPLATE_EXPR || s->kind == TEMPLATE_STMT;
        for (size_t c = 0; is_hole && c < count; c++)
            calls[c] |= str_equal(in->binding->captures[c].hole, s->text);
        if (s->kind == TEMPLATE_ITEM && !str_equal(s->text, within)) {
            const bool *const below = calls_of_item(in, find_item(in, s->text));
            for (size_t c = 0; c < count; c++)
                calls[c] |= below[c];
        }
        const size_t live = s->kind == TEMPLATE_IF ? (evaluate(in, s->text) ? 0 : 1) : SIZE_MAX;
        for (size_t p = 0; p < s->part_count; p++) {
            if (live == SIZE_MAX || live == p)
                find_calls(in, &s->parts[p], within, calls);
        }
    }
}

static const bool *calls_of_item(const struct instantiation *in, const struct template_item *item)
{
    const size_t at = (size_t)(item - in->kernel->items);
    bool *const calls = &in->item_calls[at * in->binding->capture_count];
    if (!in->item_known[at] && in->binding->capture_count > 0)
        find_calls(in, &item->text, item->name, calls);
    in->item_known[at] = true;
    return calls;
}

static bool captured_before(const struct instantiation *in, const bool *calls, size_t c)
{
    const struct template_capture *all = in->binding->captures;
    for (size_t i = 0; i < c; i++) {
        if (calls[i] && str_equal(all[i].name, all[c].name))
            return true;
    }
    return false;
}

static void add_captures(const struct instantiation *in, const char *item_name, bool declare, struct strbuf *out)
{
    const bool *const calls = calls_of_item(in, find_item(in, item_name));
    for (size_t c = 0; c < in->binding->capture_count; c++) {
        const struct template_capture *capture = &in->binding->captures[c];
        if (calls[c] && !captured_before(in, calls, c))
            strbuf_addf(out, ", %s", declare ? capture->declaration : capture->name);
    }
}

/* ---- one segment ------------------------------------------------------------------------------------------------- */

/* "float", or nothing where no type is bound. */
static const char *section_type(const struct instantiation *in)
{
    return in->binding->type_count > 0 ? in->binding->types[0].text : "float";
}

static void add_section_name(struct instantiation *in, const struct template_segment *s, struct strbuf *out)
{
    const char *type = section_type(in);
    strbuf_addf(out, s->bare && !str_equal(type, "float") ? "%s_%s" : "%s", s->text, type);
    bool known = !in->out;
    for (size_t i = 0; !known && i < in->out->sections.count; i++)
        known = str_equal(in->out->sections.data[i].name, s->from) && str_equal(in->out->sections.data[i].type, type);
    if (!known)
        vec_push(in->arena, &in->out->sections, ((struct template_use){s->from, type}));
}

/* With its line, of which the end is still to come. */
static void leave_out_hint(struct instantiation *in, struct strbuf *out)
{
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->text[--out->length] = '\0';
    in->hint_is_left_out = true;
}

static void note_param(struct instantiation *in, const char *name)
{
    for (size_t i = 0; i < in->kernel->param_count; i++) {
        if (str_equal(in->kernel->params[i].name, name))
            in->param_used[i] = true;
    }
}

/* Where the loop is left out, its variable is 0. */
static void expand_loop(struct instantiation *in, const struct template_segment *s, struct strbuf *out)
{
    if (evaluate(in, s->text) != 1) {
        expand(in, &s->parts[1], out);
        expand(in, &s->parts[2], out);
        return;
    }
    vec_push(in->arena, &in->left_out, s->from);
    expand(in, &s->parts[0], out);
    in->left_out.count--;
}

static void expand_segment(struct instantiation *in, const struct template_segment *s, struct strbuf *out)
{
    const struct template_binding *b = in->binding;
    int64_t value;
    const char *name;
    switch (s->kind) {
    case TEMPLATE_TEXT:
        strbuf_add(out, s->text + (in->hint_is_left_out && s->text[0] == '\n'));
        in->hint_is_left_out = false;
        return;
    case TEMPLATE_INT:
        value = evaluate(in, s->text);
        strbuf_addf(out, value < 0 && !s->bare ? "(%" PRId64 ")" : "%" PRId64, value);
        return;
    case TEMPLATE_TYPE: strbuf_add(out, bound_type(in, s->text)); return;
    case TEMPLATE_LITERAL: add_literal(out, bound_type(in, s->text), expanded(in, &s->parts[0])); return;
    case TEMPLATE_PARAM:
        note_param(in, s->text);
        name = find_name(b->params, b->param_count, s->text);
        strbuf_add(out, !name ? s->text : s->bare ? name : template_parenthesise(in->arena, name));
        return;
    case TEMPLATE_ITEM: strbuf_add(out, item_name(in, s->text)); return;
    case TEMPLATE_HELPER:
        strbuf_add(out, s->text);
        if (in->out && !is_listed(in->out->helpers.data, in->out->helpers.count, s->text))
            vec_push(in->arena, &in->out->helpers, s->text);
        return;
    case TEMPLATE_SECTION:
        if (s->alone && b->keeps && !b->keeps(b->user, s->text))
            leave_out_hint(in, out);
        else
            add_section_name(in, s, out);
        return;
    case TEMPLATE_EXPR: strbuf_add(out, hole_text(in, s)); return;
    case TEMPLATE_STMT: add_statement(out, s, hole_text(in, s)); return;
    case TEMPLATE_IF:
        if (evaluate(in, s->text))
            expand(in, &s->parts[0], out);
        else if (s->part_count > 1)
            expand(in, &s->parts[1], out);
        return;
    case TEMPLATE_LOOP: expand_loop(in, s, out); return;
    case TEMPLATE_INDEX:
        strbuf_add(out, is_listed(in->left_out.data, in->left_out.count, s->from) ? "0" : s->text);
        return;
    case TEMPLATE_CAPTURE_PARAMS: add_captures(in, s->text, true, out); return;
    case TEMPLATE_CAPTURE_ARGS: add_captures(in, s->text, false, out); return;
    }
    UNREACHABLE("template '%s': segment kind %d", in->kernel->name, (int)s->kind);
}

static void expand(struct instantiation *in, const struct template_text *t, struct strbuf *out)
{
    for (size_t i = 0; i < t->count; i++)
        expand_segment(in, &t->segments[i], out);
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

static struct instantiation new_instantiation(struct arena *a, const struct template_kernel *k,
                                              const struct template_binding *b)
{
    return (struct instantiation){.arena = a,
                                  .kernel = k,
                                  .binding = b,
                                  .item_used = arena_array(a, bool, k->item_count),
                                  .item_known = arena_array(a, bool, k->item_count),
                                  .item_calls = arena_array(a, bool, k->item_count * b->capture_count),
                                  .param_used = arena_array(a, bool, k->param_count)};
}

void template_instantiate(struct arena *a, const struct template_kernel *k, const struct template_binding *b,
                          struct template_instance *out)
{
    *out = (struct template_instance){0};
    struct instantiation in = new_instantiation(a, k, b);
    in.out = out;
    out->body = template_wrap(a, expanded(&in, &k->body), TEMPLATE_WIDTH - 4);
    out->params_used = in.param_used;
    VEC(struct template_piece) backwards = {0};
    for (size_t i = k->item_count; i-- > 0;) {
        if (!in.item_used[i])
            continue;
        const struct template_item *item = &k->items[i];
        const char *const filled = template_mention_unused(a, arena_printf(a, "%s\n", expanded(&in, &item->text)));
        const char *const text = template_wrap(a, filled, TEMPLATE_WIDTH);
        const char *const comment = item->comment;
        const struct template_piece p = {.name = item_name(&in, item->name),
                                         .text = arena_printf(a, "%s%s%s", comment ? comment : "",
                                                              comment ? "\n" : "", text)};
        vec_push(a, &backwards, p);
    }
    for (size_t i = backwards.count; i-- > 0;)
        vec_push(a, &out->pieces, backwards.data[i]);
}

const char *template_param_text(struct arena *a, const struct template_kernel *k, size_t i,
                                const struct template_binding *b)
{
    struct instantiation in = new_instantiation(a, k, b);
    return expanded(&in, &k->params[i].declaration);
}

const char *template_function(struct arena *a, const struct template_kernel *k, const struct template_binding *b,
                              const struct template_instance *made, const char *head, const char *params)
{
    struct strbuf head_line = {.arena = a}, text = {.arena = a};
    strbuf_addf(&head_line, "%s %s(", head, b->name);
    for (size_t i = 0; !params && i < k->param_count; i++)
        strbuf_addf(&head_line, "%s%s", i ? ", " : "", template_param_text(a, k, i, b));
    strbuf_addf(&head_line, "%s)\n", params ? params : k->param_count ? "" : "void");
    strbuf_addf(&text, "%s{\n", template_wrap(a, strbuf_text(&head_line), TEMPLATE_WIDTH));
    add_lines(&text, made->body, 4);
    strbuf_add(&text, "}\n");
    return strbuf_text(&text);
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* Is section i, for this type where types matter, used or needed by a used one? */
static bool section_is_needed(const struct template_table *t, size_t i, const struct template_use *uses, size_t count,
                              const char *type)
{
    for (size_t u = 0; u < count; u++) {
        if (str_equal(uses[u].name, t->sections[i].name) && (!t->sections[i].by_type || str_equal(uses[u].type, type)))
            return true;
    }
    for (size_t s = i + 1; s < t->section_count; s++) { /* needs point upwards */
        for (size_t n = 0; n < t->sections[s].need_count; n++) {
            if (t->sections[s].needs[n] == i && section_is_needed(t, s, uses, count, type))
                return true;
        }
    }
    return false;
}

static void add_section(struct arena *a, const struct template_table *t, size_t i, const char *type, struct strbuf *out,
                        bool *helpers_used)
{
    const struct template_section *section = &t->sections[i];
    strbuf_add(out, out->length ? "\n" : "");
    for (size_t s = 0; s < section->text.count; s++) {
        const struct template_segment *segment = &section->text.segments[s];
        const bool suffix = segment->kind == TEMPLATE_SECTION && !str_equal(type, "float");
        strbuf_add(out, segment->kind == TEMPLATE_TYPE ? type : segment->text);
        strbuf_add(out, suffix ? arena_printf(a, "_%s", type) : "");
    }
    for (size_t h = 0; helpers_used && h < section->helper_count; h++)
        use_with_needs(t, section->helpers[h], helpers_used);
}

void template_add_sections(struct arena *a, const struct template_table *t, const struct template_use *uses,
                           size_t count, struct strbuf *out, bool *helpers_used)
{
    for (size_t i = 0; i < t->section_count; i++) {
        bool done = false; /* a section without types serves all */
        for (size_t u = 0; u < count && !done; u++) {
            bool repeated = false;
            for (size_t v = 0; v < u; v++)
                repeated |= str_equal(uses[v].type, uses[u].type);
            if (repeated || !section_is_needed(t, i, uses, count, uses[u].type))
                continue;
            add_section(a, t, i, uses[u].type, out, helpers_used);
            done = !t->sections[i].by_type;
        }
    }
}
