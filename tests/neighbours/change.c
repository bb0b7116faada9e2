#include "change.h"

#include "base/file.h"
#include "base/str.h"
#include "graph/op_def.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ELEMENTS 8 /* of a constant or a list that are changed one by one */

const char *const change_texts[] = {"other",
                                    "",
                                    "none",
                                    "NOTSET",
                                    "SAME_UPPER",
                                    "SAME_LOWER",
                                    "VALID",
                                    "constant",
                                    "reflect",
                                    "edge",
                                    "wrap",
                                    "zeros",
                                    "border",
                                    "reflection",
                                    "nearest",
                                    "linear",
                                    "cubic",
                                    "bilinear",
                                    "bicubic",
                                    "sum",
                                    "mean",
                                    "add",
                                    "mul",
                                    "min",
                                    "max",
                                    "avg",
                                    "forward",
                                    "reverse",
                                    "floor",
                                    "ceil",
                                    "bidirectional",
                                    "asymmetric",
                                    "half_pixel",
                                    "stretch",
                                    "CRD",
                                    "DCR",
                                    "LEFT",
                                    "RIGHT",
                                    "up",
                                    "down",
                                    "tanh",
                                    "silu",
                                    "softmax",
                                    "standard",
                                    "nesterov",
                                    "FLOAT",
                                    "DOUBLE",
                                    "INT64",
                                    "L1",
                                    "L2",
                                    "MAX",
                                    "PROBIT",
                                    "LOGISTIC",
                                    "SOFTMAX",
                                    "not_larger",
                                    "not_smaller",
                                    "align_corners",
                                    "half_pixel_symmetric",
                                    "pytorch_half_pixel",
                                    "tf_crop_and_resize",
                                    "output_half_pixel",
                                    "round_prefer_ceil",
                                    "linear_kernel",
                                    "gated_delta",
                                    NULL};

bool change_here(struct change *c, const char *fmt, ...)
{
    char text[256];
    if (c->count++ != c->wanted)
        return false;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->name = arena_strdup(c->arena, text);
    return true;
}

void change_input(struct change *c, struct model_value_info *v)
{
    struct model_type *const t = &v->type;
    if (t->kind != TYPE_TENSOR)
        return;
    if (change_here(c, "%s: another type", v->name))
        t->elem = dtype_is_float(t->elem) ? DTYPE_INT32 : DTYPE_FLOAT;
    if (dtype_is_float(t->elem) && change_here(c, "%s: another width", v->name))
        t->elem = t->elem == DTYPE_DOUBLE ? DTYPE_FLOAT : DTYPE_DOUBLE;
    if (!t->has_shape)
        return;
    if (t->dims.count < SHAPE_MAX_RANK && change_here(c, "%s: a dimension in front", v->name)) {
        vec_push(c->arena, &t->dims, ((struct model_dim){.value = 1, .param = "", .denotation = ""}));
        for (size_t i = t->dims.count - 1; i > 0; i--)
            t->dims.data[i] = t->dims.data[i - 1];
        t->dims.data[0].value = 1;
    }
    if (t->dims.count > 0 && change_here(c, "%s: without its first dimension", v->name))
        vec_remove(&t->dims, 0);
    for (size_t i = 0; i < t->dims.count; i++) {
        if (change_here(c, "%s: dimension %zu one more", v->name, i))
            t->dims.data[i].value++;
        if (t->dims.data[i].value > 0 && change_here(c, "%s: dimension %zu one less", v->name, i))
            t->dims.data[i].value--;
    }
}

static void change_int(struct change *c, const char *name, int64_t *x)
{
    if (*x < INT64_MAX && change_here(c, "%s: one more", name))
        ++*x;
    else if (*x > INT64_MIN && change_here(c, "%s: one less", name))
        --*x;
}

static void change_ints(struct change *c, struct model_attr *a)
{
    for (size_t i = 0; i < a->ints.count && i < MOST_ELEMENTS; i++)
        change_int(c, arena_printf(c->arena, "%s[%zu]", a->name, i), &a->ints.data[i]);
    if (change_here(c, "%s: an element more", a->name)) {
        const int64_t last = a->ints.count > 0 ? a->ints.data[a->ints.count - 1] : 1;
        vec_push(c->arena, &a->ints, last);
    }
    if (a->ints.count > 0 && change_here(c, "%s: an element less", a->name))
        a->ints.count--;
}

/* A constant's: floating elements are often scales. */
void change_tensor(struct change *c, const char *name, struct tensor *t)
{
    if (t->dtype == DTYPE_STRING)
        return;
    for (int64_t i = 0; i < t->count && i < MOST_ELEMENTS; i++) {
        if (change_here(c, "%s[%lld]: one more", name, (long long)i))
            tensor_set_double(t, i, tensor_get_double(t, i) + 1);
        if (change_here(c, "%s[%lld]: one less", name, (long long)i))
            tensor_set_double(t, i, tensor_get_double(t, i) - 1);
    }
    if (t->shape.rank == 1 && t->count > 0 && change_here(c, "%s: an element less", name)) {
        t->shape.dim[0]--;
        t->count--;
    }
}

void change_attr(struct change *c, struct model_node *n, size_t at)
{
    struct model_attr *const a = n->attrs.data[at];
    switch (a->type) {
    case ATTR_INT:
        change_int(c, a->name, &a->i);
        break;
    case ATTR_INTS:
        change_ints(c, a);
        break;
    case ATTR_TENSOR:
        change_tensor(c, n->outputs.data[0], a->t);
        break;
    case ATTR_FLOAT:
        if (change_here(c, "%s: negative", a->name))
            a->f = -a->f - 1;
        break;
    case ATTR_STRING:
        for (size_t i = 0; change_texts[i]; i++)
            if (change_here(c, "%s: %s", a->name, change_texts[i]))
                a->s = (struct model_bytes){.data = change_texts[i], .size = strlen(change_texts[i])};
        break;
    default:
        break;
    }
    if (change_here(c, "%s: left out", a->name))
        vec_remove(&n->attrs, at);
}

void change_constant(struct change *c, struct model_graph *g, size_t at)
{
    const struct model_node *const n = g->nodes.data[at];
    struct model_dim dims[SHAPE_MAX_RANK];
    if (!str_equal(n->op_type, "Constant") || n->attrs.count != 1)
        return;
    const struct model_attr *const value = n->attrs.data[0];
    enum dtype dtype = value->type == ATTR_INT || value->type == ATTR_INTS ? DTYPE_INT64 : DTYPE_FLOAT;
    struct shape shape = SHAPE_SCALAR;
    switch (value->type) {
    case ATTR_TENSOR:
        dtype = value->t->dtype;
        shape = value->t->shape;
        break;
    case ATTR_INTS:
        shape = SHAPE((int64_t)value->ints.count);
        break;
    case ATTR_FLOATS:
        shape = SHAPE((int64_t)value->floats.count);
        break;
    case ATTR_INT:
    case ATTR_FLOAT:
        break;
    default:
        return;
    }
    if (!change_here(c, "%s: from the caller", n->outputs.data[0]))
        return;
    for (int d = 0; d < shape.rank; d++)
        dims[d] = (struct model_dim){.value = shape.dim[d], .param = "", .denotation = ""};
    model_add_value(c->arena, g, 0, n->outputs.data[0], dtype, dims, (size_t)shape.rank);
    vec_remove(&g->nodes, at);
}

void print_message(FILE *out, const struct diag_message *m)
{
    const struct loc *const at = &m->loc;
    fprintf(out, "%s/%s", at->graph ? at->graph : "", at->node ? at->node : "");
    if (at->op)
        fprintf(out, " (%s)", at->op);
    if (at->line > 0)
        fprintf(out, " %d:%d", at->line, at->col);
    fprintf(out, ": %s%s", m->text, at->origin ? at->origin : "");
}

void print_messages(FILE *out, const struct diag *d)
{
    vec_each_ptr(const struct diag_message, m, &d->messages) {
        fputs("    ", out);
        print_message(out, m);
        fputc('\n', out);
    }
}

/* In a process of its own: whatever one does is not done to the others. */
static bool write_operator(const char *folder, const struct op_def *def,
                           void (*tell)(FILE *, const struct op_def *, const void *), const void *user)
{
    struct arena a = {0};
    const char *const path = arena_printf(&a, "%s/%s.txt", folder, op_display_name(def));
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        FILE *const out = fopen(path, "w");
        if (!out)
            _exit(1);
        tell(out, def, user);
        _exit(fclose(out) != 0);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    if (status != 0)
        printf("%s: ends with %d; what it was at stands at the end of %s\n", op_display_name(def), status, path);
    arena_free(&a);
    return status == 0;
}

bool write_operators(const char *folder, char *const *patterns,
                     void (*tell)(FILE *out, const struct op_def *def, const void *user), const void *user)
{
    bool ok = true;
    for (const struct op_def *const *file = op_table; *file; file++)
        for (const struct op_def *def = *file; def->name; def++) {
            bool wanted = *patterns == NULL;
            for (char *const *pattern = patterns; *pattern; pattern++)
                wanted |= str_glob(*pattern, op_display_name(def));
            if (wanted && !def->is_structural)
                ok &= write_operator(folder, def, tell, user);
        }
    return ok;
}

static bool write_file(const char *folder, const char *path,
                       bool (*tell)(FILE *, const char *, const char *, const void *), const void *user)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    unsigned char *content = NULL;
    size_t size;
    const char *const name = path_base(&a, path);
    const char *const to = arena_printf(&a, "%s/%.*s.txt", folder, (int)strcspn(name, "."), name);
    FILE *const out = file_read(&d, &a, path, 1 << 20, &content, &size) ? fopen(to, "w") : NULL;
    const bool any = out && tell(out, name, (const char *)content, user);
    const bool ok = out && fclose(out) == 0 && (any || remove(to) == 0);
    if (!ok)
        printf("%s: cannot be read, or %s not written\n", path, to);
    arena_free(&a);
    return ok;
}

bool write_files(const char *folder, char *const *paths,
                 bool (*tell)(FILE *out, const char *name, const char *content, const void *user), const void *user)
{
    bool ok = true;
    for (; *paths; paths++)
        ok &= write_file(folder, *paths, tell, user);
    return ok;
}
