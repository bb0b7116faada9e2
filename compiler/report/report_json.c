/* The report for programs. The schema is in docs/inspect.md; `schema` changes only when a member goes away or
 * changes its meaning. */
#include "report/report_internal.h"

#include "base/clean.h"
#include "graph/op_def.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- small pieces ------------------------------------------------------------------------------------------------ */

static void *made(void *x)
{
    if (!x)
        UNREACHABLE("a JSON value cannot be made");
    return x;
}

/* The readers let nothing but UTF-8 pass; the name of a file may be anything. */
static json_t *text(const char *s)
{
    if (!s)
        return json_null();
    struct arena scratch = {0};
    json_t *const plain = json_string(s), *const t = plain ? plain : made(json_string(clean_text(&scratch, s)));
    arena_free(&scratch);
    return t;
}

static void set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        UNREACHABLE("a JSON member cannot be set");
}

static void set_int(json_t *object, const char *key, int64_t x)
{
    set(object, key, made(json_integer(x)));
}

static void set_text(json_t *object, const char *key, const char *x)
{
    set(object, key, text(x));
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        UNREACHABLE("a JSON element cannot be added");
}

/* A member that is a list: of each element x of v, `element`. */
#define SET_LIST(o, key, T, x, v, element)                                                                             \
    do {                                                                                                               \
        json_t *const list = made(json_array());                                                                       \
        vec_each_ptr(T, x, v)                                                                                          \
            append(list, element);                                                                                     \
        set(o, key, list);                                                                                             \
    } while (0)

static json_t *dims(const struct shape *s)
{
    json_t *a = made(json_array());
    for (int d = 0; d < s->rank; d++)
        append(a, made(json_integer(s->dim[d])));
    return a;
}

static json_t *tensor(const struct report_tensor *t)
{
    json_t *o = made(json_object());
    set_text(o, "name", t->name);
    set_text(o, "dtype", dtype_name(t->dtype));
    set(o, "shape", dims(&t->shape));
    set_int(o, "bytes", t->bytes);
    return o;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static json_t *model(const struct report *r)
{
    json_t *o = made(json_object());
    set_text(o, "file", r->file);
    set_text(o, "graph", r->graph);
    set_text(o, "opsets", r->opsets);
    set_text(o, "sha256", r->digest);
    set_text(o, "options", r->options_text);
    return o;
}

static json_t *memory(const struct report *r)
{
    json_t *o = made(json_object());
    set_int(o, "ram_bytes", r->ram_bytes);
    set_int(o, "state_bytes", r->state_bytes);
    set_int(o, "arena_bytes", r->arena_bytes);
    set_int(o, "flash_bytes", r->flash_bytes);
    return o;
}

static json_t *training(const struct report_training *t)
{
    json_t *o = made(json_object());
    set_text(o, "entry", t->entry);
    set_text(o, "loss", t->loss);
    set_text(o, "loss_computed_by", t->loss_text);
    set_text(o, "optimizer", t->optimizer);
    set_text(o, "learning_rate", t->rate);
    SET_LIST(o, "gradients_of", const char *, name, &t->trains, text(*name));
    return o;
}

static json_t *counts(const struct report *r)
{
    json_t *o = made(json_object());
    for (int role = 0; role < REPORT_ROLES; role++) {
        json_t *one = made(json_object());
        set_int(one, "tensors", r->roles[role].tensors);
        set_int(one, "elements", r->roles[role].elements);
        set_int(one, "bytes", r->roles[role].bytes);
        set(o, report_role_names[role], one);
    }
    return o;
}

static json_t *parameter(const struct report_parameter *p)
{
    json_t *o = tensor(&p->tensor);
    set_text(o, "role", report_role_names[p->role]);
    return o;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static json_t *touch(const struct buffer *b)
{
    static const char *const kinds[] = {[BUFFER_INPUT] = "input", [BUFFER_OUTPUT] = "output",
                                        [BUFFER_CONSTANT] = "constant", [BUFFER_VARIABLE] = "variable",
                                        [BUFFER_TEMP] = "temporary"};
    json_t *o = made(json_object());
    set_text(o, "kind", kinds[b->kind]);
    set_text(o, "name", b->name);
    return o;
}

static json_t *node(const struct node *n)
{
    json_t *o = made(json_object());
    set_text(o, "op", op_display_name(n->def));
    set_text(o, "name", n->name[0] ? n->name : NULL);
    set_text(o, "origin", n->loc.origin);
    return o;
}

static json_t *kernel(const struct report_kernel *k, int64_t index)
{
    json_t *o = made(json_object());
    set_int(o, "index", index);
    set_text(o, "function", k->is_called ? k->name : NULL);
    set_text(o, "phase", report_phase_names[k->phase]);
    set(o, "updates", json_boolean(k->updates));
    SET_LIST(o, "nodes", const struct node *, n, &k->kernel->nodes, node(*n));
    set_int(o, "flops", k->flops);
    set(o, "flops_complete", json_boolean(k->flops_known));
    set_int(o, "bytes_read", k->bytes_read);
    set_int(o, "bytes_written", k->bytes_written);
    set_int(o, "alive_bytes", k->alive);
    SET_LIST(o, "reads", struct buffer *, b, &k->reads, touch(*b));
    SET_LIST(o, "writes", struct buffer *, b, &k->writes, touch(*b));
    return o;
}

static json_t *temporary(const struct report_temporary *t)
{
    const struct report_tensor as_tensor = {t->name, t->dtype, t->shape, t->bytes};
    json_t *o = tensor(&as_tensor);
    set_text(o, "kind", report_temporary_names[t->kind]);
    set_int(o, "offset", t->offset);
    set_int(o, "first_kernel", t->first);
    set_int(o, "last_kernel", t->last);
    return o;
}

static json_t *entry(const struct report_entry *e)
{
    json_t *o = made(json_object());
    set_text(o, "name", e->name);
    set_text(o, "kind", e->kind);
    SET_LIST(o, "inputs", const struct report_tensor, t, &e->inputs, tensor(t));
    SET_LIST(o, "outputs", const struct report_tensor, t, &e->outputs, tensor(t));
    set_int(o, "calls", e->called);
    set_int(o, "flops", e->flops);
    set(o, "flops_complete", json_boolean(e->flops_known));
    set_int(o, "bytes", e->bytes);
    set_int(o, "arena_bytes", e->arena_bytes);
    set_int(o, "arena_lower_bound", e->bound_bytes);
    set(o, "peak_kernel", e->peak < 0 ? json_null() : made(json_integer(e->peak)));
    SET_LIST(o, "kernels", const struct report_kernel, k, &e->kernels, kernel(k, k - e->kernels.data));
    SET_LIST(o, "temporaries", const struct report_temporary, t, &e->temporaries, temporary(t));
    return o;
}

static json_t *point(const struct report_point *p)
{
    json_t *o = made(json_object());
    set_int(o, "ram_bytes", p->ram_bytes);
    set_int(o, "arena_bytes", p->arena_bytes);
    set_int(o, "flops", p->flops);
    return o;
}

const char *report_json(const struct report *r)
{
    json_t *o = made(json_object());
    set_int(o, "schema", 1);
    set(o, "model", model(r));
    set(o, "memory", memory(r));
    SET_LIST(o, "training", const struct report_training, t, &r->trainings, training(t));
    set(o, "parameter_counts", counts(r));
    SET_LIST(o, "parameters", const struct report_parameter, p, &r->parameters, parameter(p));
    SET_LIST(o, "entries", const struct report_entry, e, &r->entries, entry(e));
    if (r->curve.count > 0)
        SET_LIST(o, "ram_curve", const struct report_point, p, &r->curve, point(p));
    char *dumped = made(json_dumps(o, JSON_INDENT(2) | JSON_ENSURE_ASCII));
    struct strbuf out = {.arena = r->arena};
    /* DEL is the one control character that the library leaves */
    for (const char *at = dumped, *next; *at; at = next) {
        next = at + strcspn(at, "\x7f");
        strbuf_add_n(&out, at, (size_t)(next - at));
        strbuf_add(&out, *next ? "\\u007f" : "\n");
        next += *next != '\0';
    }
    free(dumped);
    json_decref(o);
    return strbuf_text(&out);
}
