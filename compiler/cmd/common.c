/* What several commands do alike. */
#include "base/clean.h"
#include "base/str.h"
#include "cmd/files.h"
#include "graph/bounded.h"
#include "graph/dim_expression.h"
#include "model/model.h"
#include "prepare/fix_inputs.h"
#include "prepare/open_sizes.h"
#include "prepare/outputs.h"
#include "prepare/squeezes.h"

#include <stdio.h>
#include <string.h>

void session_begin(struct session *s, const struct command *c)
{
    *s = (struct session){.command = c};
    s->diag.arena = &s->arena;
}

int run_command(const struct command *c, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s, c);
    const int status = options_parse(&s.arena, c->name, c->options, argc, argv, &o) ? c->run(&s, &o) : EXIT_USAGE;
    diag_print(&s.diag, stderr);
    arena_free(&s.arena);
    return status == EXIT_BAD && s.diag.wrong_usage ? EXIT_USAGE : status;
}

const struct option_spec model_options[] = {
    OPTION_HEADING("the model"),
    {"dim", 0, OPTION_LIST, "[ENTRY:]NAME=SIZE",
     "size of a symbolic dimension, or a range, as 1..32, of which each call says one"},
    {"shape", 0, OPTION_LIST, "INPUT=1x3x224x224", "whole shape of an input"},
    {"set", 0, OPTION_LIST, "INPUT=VALUE",
     "fixes an input: 16000, false, 1,2,3, or @FILE (.npy or .pb); it is none of the program's any more"},
    {"bound", 0, OPTION_LIST, "NAME=N",
     "where data say the size of a node's result, as of NonZero: it has room for N elements, and more end a call with "
     "an error (default: as many as there can be)"},
    {"outputs", 0, OPTION_TEXT, "LIST",
     "comma-separated tensors that the model gives, inner ones too; what only others need is left out"},
    {"strict", 0, OPTION_FLAG, NULL, "what the specification leaves open is an error"},
    {0}};

static bool parse_shape(const char *text, struct shape *s)
{
    s->rank = 0;
    for (const char *p = text; *p;) {
        char number[24];
        const size_t n = strcspn(p, "x");
        long long dim;
        if (n >= sizeof number || s->rank == SHAPE_MAX_RANK)
            return false;
        memcpy(number, p, n);
        number[n] = '\0';
        if (!str_to_int64(number, &dim) || dim < 0)
            return false;
        s->dim[s->rank++] = dim;
        p += n + (p[n] == 'x');
    }
    return true;
}

/* "1..32". The program is made for the highest count; a range of one count is a size. */
static bool read_range(struct session *s, const char *option, const char *name, const char *value,
                       struct import_options *out, long long *high)
{
    enum { MOST = 1 << 24 };
    const char *const dots = strstr(value, "..");
    struct size_range *const r = arena_new(&s->arena, struct size_range);
    long long low;
    if (!str_to_int64(arena_strndup(&s->arena, value, (size_t)(dots - value)), &low) || !str_to_int64(dots + 2, high) ||
        low < 1 || *high < low || *high > MOST)
        return diag_usage(&s->diag, "--dim %s: expected NAME=LOW..HIGH, from 1 to %d", option, MOST);
    if (strchr(name, ':'))
        return diag_usage(&s->diag, "--dim %s: a range is of all entries; expected NAME=LOW..HIGH", option);
    if (out->range)
        return diag_usage(&s->diag, "--dim %s: '%s' has a range already, and there can be one", option,
                          out->range->name);
    *r = (struct size_range){name, low, *high};
    out->range = low < *high ? r : NULL;
    return true;
}

bool refuse_range(struct session *s, const struct import_options *import, const char *command)
{
    return !import->range ||
           diag_usage(&s->diag,
                      "stepc %s: --dim %s takes one size; a range is for stepc compile, run, compare and inspect",
                      command, import->range->name);
}

static bool read_bounds(struct session *s, const struct options *o, struct import_options *out)
{
    enum { MOST = 1 << 30 };
    const str_list list = option_list(o, "bound");
    struct map *const bounds = arena_new(&s->arena, struct map);
    bool ok = true;
    bounds->arena = &s->arena;
    vec_each(const char *, pair, &list) {
        const char *name, *value;
        long long most;
        if (option_pair(&s->arena, pair, &name, &value) && str_to_int64(value, &most) && most >= 1 && most <= MOST)
            map_set(bounds, name, arena_copy(&s->arena, &(struct bound_option){.most = most},
                                             sizeof(struct bound_option), alignof(struct bound_option)));
        else
            ok = diag_usage(&s->diag, "--bound %s: expected NAME=N, from 1 to %d", pair, MOST);
    }
    out->bounds = list.count > 0 ? bounds : NULL;
    return ok;
}

static struct size given_size(const void *dims, const char *symbol)
{
    const int64_t *const size = map_get(dims, symbol);
    return size_constant(size ? *size : -1);
}

/* "2*b" is given as well as "b": they are to agree. */
static bool check_expressions(struct session *s, const struct import_options *import)
{
    bool ok = true;
    for (size_t i = 0; i < import->dims->count; i++) {
        const char *const name = import->dims->entries[i].key;
        const int64_t given = *(const int64_t *)import->dims->entries[i].value;
        int64_t size = -1;
        if (dim_is_expression(name))
            size = dim_expression_size(&s->arena, name, given_size, import->dims).most;
        if (size >= 0 && size != given)
            ok = diag_usage(&s->diag, "--dim %s=%lld: it is %lld by what --dim says of its parts", name,
                            (long long)given, (long long)size);
    }
    return ok;
}

bool read_import_options(struct session *s, const struct options *o, struct import_options *out)
{
    struct map *dims = arena_new(&s->arena, struct map), *shapes = arena_new(&s->arena, struct map);
    const str_list dim_list = option_list(o, "dim"), shape_list = option_list(o, "shape");
    bool ok = true;
    dims->arena = shapes->arena = &s->arena;
    *out = (struct import_options){.dims = dims, .shapes = shapes};
    s->diag.strict = option_given(o, "strict");
    ok = read_bounds(s, o, out);
    vec_each(const char *, pair, &dim_list) {
        const char *name, *value;
        long long size;
        if (!option_pair(&s->arena, pair, &name, &value) ||
            (!strstr(value, "..") && (!str_to_int64(value, &size) || size < 0)))
            ok = diag_usage(&s->diag, "--dim %s: expected NAME=SIZE", pair);
        else if (strstr(value, "..") && !read_range(s, pair, name, value, out, &size))
            ok = false;
        else
            map_set(dims, name, arena_copy(&s->arena, &(int64_t){size}, sizeof(int64_t), alignof(int64_t)));
    }
    ok = check_expressions(s, out) && ok;
    vec_each(const char *, pair, &shape_list) {
        const char *name, *value;
        struct shape *shape = arena_new(&s->arena, struct shape);
        if (option_pair(&s->arena, pair, &name, &value) && parse_shape(value, shape))
            map_set(shapes, name, shape);
        else
            ok = diag_usage(&s->diag, "--shape %s: expected INPUT=1x3x224x224", pair);
    }
    return ok;
}

/* ---- how C is emitted -------------------------------------------------------------------------------------------- */

static const char *machine_hint(struct arena *a, const char *text, const char *const *names)
{
    const struct target *const like = target_like(text);
    if (!like)
        return str_suggestion(a, text, names, target_count);
    return target_is_named(like) ? arena_printf(a, "; take '%s' for it", like->name)
                                 : "; none of these is it: leave --machine out, with --optimize size where flash is "
                                   "scarce";
}

static bool parse_machine(struct diag *d, struct arena *a, const char *text, const struct target **out)
{
    *out = target_find(text);
    if (*out)
        return true;
    const char **const names = arena_array(a, const char *, target_count + 1);
    for (size_t i = 0; i < target_count; i++)
        names[i] = targets[i].name;
    return diag_usage(d, "--machine %s: expected %s%s", text, choices_text(a, names),
                      machine_hint(a, text, names));
}

/* What the row says, unless --simd and --optimize do. */
static int simd_of(const struct target *t, bool small)
{
    if (small || (target_is_named(t) && t->vector_bytes == 0))
        return SIMD_NONE;
    return target_is_named(t) ? t->vector_bytes / (int)sizeof(float) : SIMD_AUTO;
}

bool read_code_options(struct diag *d, const struct options *o, struct pipeline_options *out)
{
    static const char *const aims[] = {"speed", "size", NULL};
    const char *const machine = option_text(o, "machine"), *const ram = option_text(o, "ram");
    bool ok = !machine || parse_machine(d, o->arena, machine, &out->target);
    out->small = option_choice(d, o, "optimize", aims, &ok) == 1;
    if (!option_given(o, "optimize"))
        out->small = target_is_named(out->target) && out->target->small;
    out->simd = simd_of(out->target, out->small);
    static const char *const widths[] = {"auto", "none", "4", "8", "16", NULL};
    static const int simd[] = {SIMD_AUTO, SIMD_NONE, 4, 8, 16};
    const int width = option_choice(d, o, "simd", widths, &ok);
    if (option_given(o, "simd"))
        out->simd = simd[width];
    if (out->simd == SIMD_AUTO)
        out->simd = simd_of(out->target, false);
    if (ram && !parse_size(ram, &out->ram))
        ok = diag_usage(d, "--ram %s: expected a number of bytes, or one with K, M or G behind it", ram);
    return ok;
}

/* ---- sizes that the model does not have -------------------------------------------------------------------------- */

static void add_dims(struct arena *a, const model_values *values, str_list *dims)
{
    vec_each(const struct model_value_info *, vi, values)
        vec_each_ptr(const struct model_dim, dim, &vi->type.dims)
            if (dim->value < 0 && dim->param[0]) {
                str_list_add(a, dims, dim->param);
                dim_expression_names(a, dim->param, dims);
            }
}

static const char *sizes_text(struct arena *a, const struct model_value_info *vi)
{
    const char *text = arena_printf(a, "'%s' is [", vi->name);
    vec_each_ptr(const struct model_dim, dim, &vi->type.dims) {
        if (dim->value < 0)
            return NULL;
        text = arena_printf(a, "%s%s%lld", text, dim_at > 0 ? "," : "", (long long)dim->value);
    }
    return vi->type.dims.count > 0 ? arena_printf(a, "%s]", text) : NULL;
}

static void add_sizes(struct arena *a, const struct model_graph *g, struct size_names *names)
{
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        str_list_add(a, &names->inputs, vi->name);
        names->of_numbers = names->of_numbers ? names->of_numbers : sizes_text(a, vi);
    }
    add_dims(a, &g->inputs, &names->dims);
    add_dims(a, &g->outputs, &names->dims);
    add_dims(a, &g->value_infos, &names->dims);
}

/* A mistyped name would say nothing, silently. It may be meant for another model of a script, so it is no error.
 * otherwise: what is said where nothing is known. */
static void warn_of_unknown(struct session *s, const char *path, const str_list *given, const char *option,
                            const char *what, const str_list *known, const char *otherwise)
{
    vec_each(const char *, pair, given) {
        const char *name, *value;
        if (!option_pair(&s->arena, pair, &name, &value))
            continue;
        const char *colon = strchr(name, ':'), *own = colon ? colon + 1 : name;
        if (!str_list_has(known, name) && !(colon && str_list_has(known, own)))
            diag_warning(&s->diag, &LOC_FILE(path), "--%s %s: the model has no %s '%s'%s", option, pair, what, own,
                         known->count > 0 ? str_suggestion(&s->arena, own, known->data, known->count) : otherwise);
    }
}

const char *default_entry(const struct model *m)
{
    vec_each(const struct model_training *, t, &m->training)
        if (t->update_binding.count)
            return "step";
    return "infer";
}

/* "NAME=VALUE"; a file's name may have a '=' in it. */
static bool setting_pair(struct arena *a, const char *text, const char **name, const char **value)
{
    const char *const file = strstr(text, "=@");
    if (!file || file == text)
        return option_pair(a, text, name, value);
    *name = arena_strndup(a, text, (size_t)(file - text));
    *value = file + 1;
    return true;
}

static bool choose_outputs(struct session *s, const struct options *o, struct model *m)
{
    const char *at = option_text(o, "outputs");
    str_list names = {0};
    while (at && *at) {
        const size_t n = strcspn(at, ",");
        vec_push(&s->arena, &names, arena_strndup(&s->arena, at, n));
        at += n + (at[n] == ',');
    }
    if (!option_given(o, "outputs"))
        return true;
    return names.count > 0 ? keep_outputs(&s->diag, &s->arena, m, &names)
                           : diag_usage(&s->diag, "--outputs: expected names with commas between");
}

static str_list fed_inputs(struct session *s, const struct options *o, const struct model *m)
{
    static const char *const options[] = {"feed", "data", "validate"};
    str_list out = {0};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const str_list list = option_list(o, options[i]);
        const char *name, *path;
        vec_each(const char *, pair, &list)
            if (file_pair(&s->arena, m, pair, &name, &path))
                str_list_add(&s->arena, &out, name);
    }
    return out;
}

/* Inputs whose shape an option or a file says as a whole. */
static str_list shaped_inputs(struct session *s, const struct options *o, const struct model *m)
{
    const str_list shapes = option_list(o, "shape");
    str_list out = fed_inputs(s, o, m);
    const char *name, *value;
    vec_each(const char *, pair, &shapes)
        if (option_pair(&s->arena, pair, &name, &value))
            str_list_add(&s->arena, &out, name);
    return out;
}

/* Does a size of the inputs stay open? */
static bool has_open_size(const struct model *m)
{
    vec_each(const struct model_value_info *, vi, &m->graph->inputs)
        vec_each_ptr(const struct model_dim, dim, &vi->type.dims)
            if (dim->value < 0)
                return true;
    return false;
}

/* Each input is fixed once, and not fed as well. */
static bool fix_inputs(struct session *s, const struct options *o, const struct import_options *import,
                       const char *path, struct model *m)
{
    const str_list settings = option_list(o, "set"), fed = fed_inputs(s, o, m);
    str_list inputs = {0}, fixed = {0};
    bool ok = true, found = true;
    vec_each(const struct model_value_info *, vi, &m->graph->inputs)
        vec_push(&s->arena, &inputs, vi->name);
    vec_each(const char *, text, &settings) {
        const char *name, *value;
        if (!setting_pair(&s->arena, text, &name, &value)) {
            ok = diag_usage(&s->diag, "--set %s: expected INPUT=VALUE", text);
            continue;
        }
        if (str_list_has(&fixed, name))
            ok = diag_usage(&s->diag, "--set %s: input '%s' is fixed already", text, name);
        else if (str_list_has(&fed, name))
            ok = diag_usage(&s->diag, "--set %s: input '%s' is fed, too: leave one out", text, name);
        else if (!fix_input(&s->diag, &s->arena, m, import, name, value, &found))
            ok = false;
        else if (!found)
            diag_warning(&s->diag, &LOC_FILE(path), "--set %s: the model has no input '%s'%s", text, name,
                         str_suggestion(&s->arena, name, inputs.data, inputs.count));
        str_list_add(&s->arena, &fixed, name);
    }
    return ok;
}

bool read_set_model(struct session *s, const struct options *o, const struct import_options *import, const char *path,
                    struct model **out)
{
    if (!model_read(&s->diag, &s->arena, path, out))
        return false;
    const bool ok = fix_inputs(s, o, import, path, *out);
    const str_list shaped = shaped_inputs(s, o, *out);
    name_open_sizes(&s->arena, *out, import, &shaped);
    if (has_open_size(*out))
        keep_batch_of_squeezes(&s->diag, &s->arena, *out, import);
    return ok && choose_outputs(s, o, *out);
}

bool may_need_outputs(struct session *s, const struct import_options *import, struct model *m, bool ok)
{
    if (!ok)
        advise_outputs(&s->diag, &s->arena, m, import);
    return ok;
}

bool read_model(struct session *s, const struct options *o, const struct import_options *import, const char *path,
                struct model **out)
{
    struct size_names names = {0};
    if (!read_set_model(s, o, import, path, out))
        return false;
    add_size_names(s, *out, &names);
    warn_of_unknown_sizes(s, o, (*out)->file, &names);
    return true;
}

void add_size_names(struct session *s, const struct model *m, struct size_names *names)
{
    add_sizes(&s->arena, m->graph, names);
    vec_each(const struct model_training *, t, &m->training)
        if (t->algorithm)
            add_sizes(&s->arena, t->algorithm, names);
}

void warn_of_unknown_sizes(struct session *s, const struct options *o, const char *path, const struct size_names *names)
{
    const str_list dim_list = option_list(o, "dim"), shape_list = option_list(o, "shape");
    const char *const fixed =
        names->of_numbers ? arena_printf(&s->arena, ": its sizes are numbers already, input %s", names->of_numbers)
                          : "";
    warn_of_unknown(s, path, &dim_list, "dim", "symbolic dimension", &names->dims, fixed);
    warn_of_unknown(s, path, &shape_list, "shape", "input", &names->inputs, "");
}

const char *single_argument(const struct session *s, const struct options *o, const char *what)
{
    const char *const name = s->command->name;
    if (o->arguments.count == 1)
        return o->arguments.data[0];
    say_text("stepc %s: expected one %s, got %zu\nTry 'stepc help %s'.\n", name, what, o->arguments.count, name);
    return NULL;
}

const char *model_to_write(const struct session *s, const struct options *o)
{
    const char *const out = option_text(o, "out");
    if (out && (str_ends_with(out, ".onnx") || str_ends_with(out, ".onnxtxt")))
        return out;
    say_text("stepc %s: -o OUT.onnx names the file to write%s\n", s->command->name,
             option_given(o, "output") ? " (--output is the tensor that the loss reads)" : "");
    return NULL;
}

bool option_count(const struct options *o, const char *name, long long fallback, long long *out)
{
    const char *text = option_text(o, name);
    *out = fallback;
    if (!text || (str_to_int64(text, out) && *out >= 0))
        return true;
    say_text("stepc: --%s %s: expected a whole number from 0\n", name, text);
    return false;
}

bool parse_size(const char *text, size_t *out)
{
    static const char units[] = "KMG";
    const size_t n = strlen(text);
    const char *unit = n > 1 ? strchr(units, text[n - 1]) : NULL;
    char number[24];
    long long x;
    if (n == 0 || n >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)(unit ? n - 1 : n), text);
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (!str_to_int64(number, &x) || x < 1 || x > INT64_MAX >> shift)
        return false;
    *out = (size_t)x << shift;
    return true;
}

bool option_size(const struct options *o, const char *name, int64_t fallback, int64_t *out)
{
    const char *text = option_text(o, name);
    size_t size;
    *out = fallback;
    if (!text)
        return true;
    if (parse_size(text, &size)) {
        *out = (int64_t)size;
        return true;
    }
    say_text("stepc: --%s %s: expected a number of bytes, or one with K, M or G behind it\n", name, text);
    return false;
}

const char *changing_options_text(struct arena *a, const struct options *o)
{
    static const char *const names[] = {"entries",      "dim",          "shape",      "set",     "bound",   "outputs",
                                        "reproducible", "check-finite", "standalone", "trace",   "weights", "machine",
                                        "optimize",     "simd",         "ram",        "dispatch", "threads", "blas"};
    struct strbuf b = {.arena = a};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const str_list l = option_list(o, names[i]);
        for (size_t j = 0; j < l.count; j++)
            strbuf_addf(&b, "%s--%s%s%s", b.length ? " " : "", names[i], l.data[j][0] ? " " : "", l.data[j]);
    }
    return strbuf_text(&b);
}
