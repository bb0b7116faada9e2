/* Distribution over devices in the text syntax. ONNX's has no place for it; here it stands in the model's header and
 * behind a node:
 *
 *   <ir_version: 11, opset_import: ["" : 21], configuration: ["pair" : 2 ("gpu:0", "gpu:1")]>
 *   y = MatMul (x, w) @pair <stage = 0> (x [0, 1] split (0: batch in 2), w [-1] groups (-1: [0, 1]))
 *
 * A tensor, its entries of `device`, its index_to_device_group_map, its sharded_dim: axis, and "dim_value or dim_param
 * in num_shards" of each simple_sharding, in brackets where they are not one; the size may be left out. */
#include "model/parse_text.h"
#include "model/put_text.h"

#include <inttypes.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool accept_word(struct text_parser *p, const char *word)
{
    const bool is = p->lex.token.kind == TOKEN_NAME && !strcmp(p->lex.token.text, word);
    if (is)
        lexer_advance(&p->lex);
    return is;
}

static bool expect_word(struct text_parser *p, const char *word)
{
    return accept_word(p, word) ||
           lexer_error(&p->lex, "expected '%s', found %s", word, lexer_describe(&p->lex));
}

static bool parse_int32(struct text_parser *p, int32_t *out)
{
    int64_t x;
    const struct token at = p->lex.token;
    if (!text_int(p, &x))
        return false;
    if (x < INT32_MIN || x > INT32_MAX)
        return lexer_error_at(&p->lex, &at, "%" PRId64 " is no number of 32 bits", x);
    *out = (int32_t)x;
    return true;
}

static bool parse_device_name(struct text_parser *p, void *data)
{
    struct model_devices *x = data;
    const char *name;
    if (!text_string(p, "a device's name", &name))
        return false;
    vec_push(p->arena, &x->names, name);
    return true;
}

bool text_configuration(struct text_parser *p, void *data)
{
    struct model *m = data;
    struct model_devices x = {0};
    if (!text_string(p, "a configuration's name", &x.name) || !text_expect(p, ':') || !parse_int32(p, &x.count) ||
        (lexer_is(&p->lex, '(') && !text_list(p, '(', ')', parse_device_name, &x)))
        return false;
    vec_push(p->arena, &m->configurations, x);
    return true;
}

static bool parse_device(struct text_parser *p, void *data)
{
    struct model_sharding *s = data;
    int64_t x;
    if (!text_int(p, &x))
        return false;
    vec_push(p->arena, &s->devices, x);
    return true;
}

static bool parse_group_device(struct text_parser *p, void *data)
{
    struct model_device_group *g = data;
    int64_t x;
    if (!text_int(p, &x))
        return false;
    vec_push(p->arena, &g->devices, x);
    return true;
}

static bool parse_group(struct text_parser *p, void *data)
{
    struct model_sharding *s = data;
    struct model_device_group g = {0};
    if (!text_int(p, &g.key) || !text_expect(p, ':') || !text_list(p, '[', ']', parse_group_device, &g))
        return false;
    vec_push(p->arena, &s->groups, g);
    return true;
}

static bool parse_shards(struct text_parser *p, void *data)
{
    struct model_sharded_axis *x = data;
    struct model_shards s = {.size = -1, .symbol = ""};
    const struct token at = p->lex.token;
    if (text_is_name(p)) {
        if (!text_name(p, "a dimension's symbol", &s.symbol) || !expect_word(p, "in") || !text_int(p, &s.count))
            return false;
    } else if (!text_int(p, &s.count)) {
        return false;
    } else if (accept_word(p, "in")) {
        s.size = s.count;
        if (s.size < 0)
            return lexer_error_at(&p->lex, &at, "a dimension is %" PRId64, s.size);
        if (!text_int(p, &s.count))
            return false;
    }
    vec_push(p->arena, &x->shards, s);
    return true;
}

static bool parse_axis(struct text_parser *p, void *data)
{
    struct model_sharding *s = data;
    struct model_sharded_axis x = {0};
    if (!text_int(p, &x.axis) || !text_expect(p, ':') ||
        !(lexer_is(&p->lex, '[') ? text_list(p, '[', ']', parse_shards, &x) : parse_shards(p, &x)))
        return false;
    vec_push(p->arena, &s->axes, x);
    return true;
}

static bool parse_sharding(struct text_parser *p, void *data)
{
    struct model_node_devices *x = data;
    struct model_sharding s = {0};
    if (!text_name(p, "a tensor's name", &s.tensor) || !text_list(p, '[', ']', parse_device, &s) ||
        (accept_word(p, "groups") && !text_list(p, '(', ')', parse_group, &s)) ||
        (accept_word(p, "split") && !text_list(p, '(', ')', parse_axis, &s)))
        return false;
    vec_push(p->arena, &x->shardings, s);
    return true;
}

bool text_node_devices(struct text_parser *p, struct model_node *n)
{
    while (text_accept(p, '@')) {
        struct model_node_devices x = {0};
        if (!text_name(p, "a configuration's name", &x.configuration))
            return false;
        if (text_accept(p, '<')) {
            x.has_stage = true;
            if (!expect_word(p, "stage") || !text_expect(p, '=') || !parse_int32(p, &x.stage) || !text_expect(p, '>'))
                return false;
        }
        if (!text_list(p, '(', ')', parse_sharding, &x))
            return false;
        vec_push(p->arena, &n->devices, x);
    }
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void text_put_configurations(struct text_writer *w, const struct model *m)
{
    text_put(w, "configuration: [");
    for (size_t i = 0; i < m->configurations.count; i++) {
        const struct model_devices *const x = &m->configurations.data[i];
        text_separate(w, i);
        text_put_quoted_name(w, x->name);
        strbuf_addf(&w->out, " : %" PRId32, x->count);
        for (size_t k = 0; k < x->names.count; k++) {
            text_put(w, k ? "" : " (");
            text_separate(w, k);
            text_put_quoted_name(w, x->names.data[k]);
        }
        text_put(w, x->names.count ? ")" : "");
    }
    text_put(w, "]");
}

static void put_ints(struct text_writer *w, const int64_t *x, size_t count)
{
    text_put(w, "[");
    for (size_t i = 0; i < count; i++) {
        text_separate(w, i);
        strbuf_addf(&w->out, "%" PRId64, x[i]);
    }
    text_put(w, "]");
}

static void put_shards(struct text_writer *w, const struct model_shards *s)
{
    if (s->size >= 0)
        strbuf_addf(&w->out, "%" PRId64 " in ", s->size);
    else if (text_has(s->symbol)) {
        text_put_name(w, s->symbol);
        text_put(w, " in ");
    }
    strbuf_addf(&w->out, "%" PRId64, s->count);
}

static void put_axis(struct text_writer *w, const struct model_sharded_axis *x)
{
    strbuf_addf(&w->out, "%" PRId64 ": ", x->axis);
    text_put(w, x->shards.count == 1 ? "" : "[");
    for (size_t i = 0; i < x->shards.count; i++) {
        text_separate(w, i);
        put_shards(w, &x->shards.data[i]);
    }
    text_put(w, x->shards.count == 1 ? "" : "]");
}

static void put_sharding(struct text_writer *w, const struct model_sharding *s)
{
    text_put_name(w, s->tensor);
    text_put(w, " ");
    put_ints(w, s->devices.data, s->devices.count);
    for (size_t i = 0; i < s->groups.count; i++) {
        text_put(w, i ? "" : " groups (");
        text_separate(w, i);
        strbuf_addf(&w->out, "%" PRId64 ": ", s->groups.data[i].key);
        put_ints(w, s->groups.data[i].devices.data, s->groups.data[i].devices.count);
    }
    text_put(w, s->groups.count ? ")" : "");
    for (size_t i = 0; i < s->axes.count; i++) {
        text_put(w, i ? "" : " split (");
        text_separate(w, i);
        put_axis(w, &s->axes.data[i]);
    }
    text_put(w, s->axes.count ? ")" : "");
}

void text_put_node_devices(struct text_writer *w, const struct model_node *n)
{
    w->indent += 2;
    vec_each_ptr(const struct model_node_devices, x, &n->devices) {
        text_new_line(w);
        text_put(w, "@");
        text_put_name(w, x->configuration);
        if (x->has_stage)
            strbuf_addf(&w->out, " <stage = %" PRId32 ">", x->stage);
        text_put(w, " (");
        for (size_t i = 0; i < x->shardings.count; i++) {
            text_separate(w, i);
            put_sharding(w, &x->shardings.data[i]);
        }
        text_put(w, ")");
    }
    w->indent -= 2;
}
