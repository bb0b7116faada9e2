#include "engine/narrow_machine.h"

#include "lower/targets.h"

enum {
    MOST_ADDRESSED = 65535, /* bytes of memory; constants are read by ordinary loads, so they lie there as well */
    MOST_OBJECT = 32767     /* bytes of one: a difference of pointers has 16 bits, too */
};

struct limits {
    struct diag *diag;
    const struct program *program;
    const char *machine;
    bool ok;
};

static void check_object(struct limits *l, const char *what, const char *name, size_t bytes)
{
    if (bytes > MOST_OBJECT)
        l->ok = diag_error(l->diag, &LOC_FILE(l->program->model->file),
                           "%s%s has %zu bytes, more than the %d that an object may have where addresses have 16 bits "
                           "(--machine %s)",
                           what, name, bytes, MOST_OBJECT, l->machine);
}

static void check_argument(struct limits *l, const char *kind, const char *name, const struct value *v)
{
    const size_t bytes = dtype_size(v->dtype) * (size_t)shape_count(&v->shape);
    check_object(l, kind, arena_printf(l->program->arena, "'%s'", name), bytes);
}

static void check_objects(struct limits *l, const struct emitted *text)
{
    check_object(l, "the state", "", text->state_bytes);
    check_object(l, "the arena", "", text->arena_bytes);
    check_object(l, "the largest table of constants", "", text->largest_constant);
    check_object(l, "the weights file", "", text->weights ? text->weights->bytes : 0);
    vec_each_ptr(const struct entry, e, &l->program->entries) {
        vec_each(const struct value *, v, &e->graph->inputs)
            check_argument(l, "input ", v->name, v);
        vec_each_ptr(const struct graph_output, o, &e->graph->outputs)
            check_argument(l, "output ", o->name, o->value);
    }
}

static void check_sum(struct limits *l, const struct emitted *text)
{
    const size_t bytes = text->state_bytes + text->arena_bytes + text->constant_bytes;
    if (bytes > MOST_ADDRESSED)
        l->ok = diag_error(l->diag, &LOC_FILE(l->program->model->file),
                           "state (%zu bytes), arena (%zu) and constants (%zu) take more than the %d bytes that "
                           "addresses of 16 bits reach (--machine %s)",
                           text->state_bytes, text->arena_bytes, text->constant_bytes, MOST_ADDRESSED, l->machine);
}

bool narrow_machine_takes(struct diag *d, const struct program *p, const struct target *machine,
                          const struct emitted *text)
{
    if (!target_is_narrow(machine))
        return true;
    struct limits l = {d, p, machine->name, true};
    check_objects(&l, text);
    if (l.ok)
        check_sum(&l, text);
    if (text->double_user)
        l.ok = diag_error(d, &text->double_user->at,
                          "%s, and with --machine %s double has 32 bits; for GCC 10 and later, which know -mdouble=64, "
                          "leave --machine out and say --optimize size",
                          text->double_user->what, machine->name);
    return l.ok;
}
