/* The report for programs. The schema is in docs/inspect.md; `schema` changes only when a member goes away or
 * changes its meaning. */
#include "report/report_internal.h"

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

/* The readers let nothing but UTF-8 pass. */
static json_t *text(const char *s)
{
    return s ? made(json_string(s)) : json_null();
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
    json_t *o = made(json_object()), *trains = made(json_array());
    set_text(o, "entry", t->entry);
    set_text(o, "loss", t->loss);
    set_text(o, "loss_computed_by", t->loss_text);
    set_text(o, "optimizer", t->optimizer);
    set_text(o, "learning_rate", t->rate);
    for (size_t i = 0; i < t->trains.count; i++)
        append(trains, text(t->trains.data[i]));
    set(o, "gradients_of", trains);
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

static json_t *parameters(const struct report *r)
{
    json_t *a = made(json_array());
    for (size_t i = 0; i < r->parameters.count; i++) {
        json_t *o = tensor(&r->parameters.data[i].tensor);
        set_text(o, "role", report_role_names[r->parameters.data[i].role]);
        append(a, o);
    }
    return a;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static json_t *touches(const buffer_list *list)
{
    static const char *const kinds[] = {[BUFFER_INPUT] = "input", [BUFFER_OUTPUT] = "output",
                                        [BUFFER_CONSTANT] = "constant", [BUFFER_VARIABLE] = "variable",
                                        [BUFFER_TEMP] = "temporary"};
    json_t *a = made(json_array());
    for (size_t i = 0; i < list->count; i++) {
        json_t *o = made(json_object());
        set_text(o, "kind", kinds[list->data[i]->kind]);
        set_text(o, "name", list->data[i]->name);
        append(a, o);
    }
    return a;
}

static json_t *nodes(const struct kernel *k)
{
    json_t *a = made(json_array());
    vec_each(const struct node *, n, &k->nodes) {
        json_t *o = made(json_object());
        set_text(o, "op", op_display_name(n->def));
        set_text(o, "name", n->name[0] ? n->name : NULL);
        set_text(o, "origin", n->loc.origin);
        append(a, o);
    }
    return a;
}

static json_t *kernel(const struct report_kernel *k, size_t index)
{
    json_t *o = made(json_object());
    set_int(o, "index", (int64_t)index);
    set_text(o, "function", k->is_called ? k->name : NULL);
    set_text(o, "phase", report_phase_names[k->phase]);
    set(o, "updates", json_boolean(k->updates));
    set(o, "nodes", nodes(k->kernel));
    set_int(o, "flops", k->flops);
    set(o, "flops_complete", json_boolean(k->flops_known));
    set_int(o, "bytes_read", k->bytes_read);
    set_int(o, "bytes_written", k->bytes_written);
    set_int(o, "alive_bytes", k->alive);
    set(o, "reads", touches(&k->reads));
    set(o, "writes", touches(&k->writes));
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
    json_t *o = made(json_object()), *list = made(json_array());
    set_text(o, "name", e->name);
    set_text(o, "kind", e->kind);
    for (size_t i = 0; i < e->inputs.count; i++)
        append(list, tensor(&e->inputs.data[i]));
    set(o, "inputs", list);
    list = made(json_array());
    for (size_t i = 0; i < e->outputs.count; i++)
        append(list, tensor(&e->outputs.data[i]));
    set(o, "outputs", list);
    set_int(o, "calls", e->called);
    set_int(o, "flops", e->flops);
    set(o, "flops_complete", json_boolean(e->flops_known));
    set_int(o, "bytes", e->bytes);
    set_int(o, "arena_bytes", e->arena_bytes);
    set_int(o, "arena_lower_bound", e->bound_bytes);
    set(o, "peak_kernel", e->peak < 0 ? json_null() : made(json_integer(e->peak)));
    list = made(json_array());
    for (size_t i = 0; i < e->kernels.count; i++)
        append(list, kernel(&e->kernels.data[i], i));
    set(o, "kernels", list);
    list = made(json_array());
    for (size_t i = 0; i < e->temporaries.count; i++)
        append(list, temporary(&e->temporaries.data[i]));
    set(o, "temporaries", list);
    return o;
}

const char *report_json(const struct report *r)
{
    json_t *o = made(json_object()), *list = made(json_array());
    set_int(o, "schema", 1);
    set(o, "model", model(r));
    set(o, "memory", memory(r));
    for (size_t i = 0; i < r->trainings.count; i++)
        append(list, training(&r->trainings.data[i]));
    set(o, "training", list);
    set(o, "parameter_counts", counts(r));
    set(o, "parameters", parameters(r));
    list = made(json_array());
    for (size_t i = 0; i < r->entries.count; i++)
        append(list, entry(&r->entries.data[i]));
    set(o, "entries", list);
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
