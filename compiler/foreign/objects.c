#include "foreign/objects.h"

#include "base/str.h"
#include "foreign/wire.h"

#include <string.h>

enum { MOST_OBJECTS = 1 << 20, MOST_TEXT = 4096 };

struct objects_reader {
    struct diag *diag;
    struct arena *arena;
    const struct loc *loc;
};

static bool fault(const struct objects_reader *r)
{
    return diag_error(r->diag, r->loc, "what it says of its objects is damaged");
}

/* A text that names can have; NULL: it is none. */
static const char *text_of(const struct objects_reader *r, const struct wire_field *f)
{
    return f->size > MOST_TEXT || memchr(f->bytes, 0, f->size)
               ? NULL
               : arena_strndup(r->arena, (const char *)f->bytes, f->size);
}

/* ObjectReference */
static bool read_child(const struct objects_reader *r, const struct wire_field *message, struct object *out)
{
    struct wire w = wire_of(message->bytes, message->size);
    struct wire_field f;
    struct object_child c = {.name = ""};
    while (wire_next(&w, &f)) {
        if (f.number == 1 && f.kind == WIRE_NUMBER)
            c.object = f.value < MOST_OBJECTS ? (size_t)f.value : MOST_OBJECTS;
        else if (f.number == 2 && f.kind == WIRE_BYTES && !(c.name = text_of(r, &f)))
            return fault(r);
    }
    vec_push(r->arena, &out->children, c);
    return w.ok || fault(r);
}

/* SerializedTensor */
static bool read_attribute(const struct objects_reader *r, const struct wire_field *message, struct object *out)
{
    struct wire w = wire_of(message->bytes, message->size);
    struct wire_field f;
    const char *texts[4] = {"", "", "", ""};
    while (wire_next(&w, &f))
        if (f.number < 4 && f.kind == WIRE_BYTES && !(texts[f.number] = text_of(r, &f)))
            return fault(r);
    if (str_equal(texts[1], "VARIABLE_VALUE")) {
        out->full_name = texts[2];
        out->key = texts[3];
    }
    return w.ok || fault(r);
}

/* TrackableObject */
static bool read_object(const struct objects_reader *r, const struct wire_field *message, struct object *out)
{
    struct wire w = wire_of(message->bytes, message->size);
    struct wire_field f;
    *out = (struct object){.full_name = ""};
    while (wire_next(&w, &f))
        if ((f.number == 1 && f.kind == WIRE_BYTES && !read_child(r, &f, out)) ||
            (f.number == 2 && f.kind == WIRE_BYTES && !read_attribute(r, &f, out)))
            return false;
    return w.ok || fault(r);
}

bool objects_parse(struct diag *d, struct arena *a, const struct loc *at, const unsigned char *bytes, size_t size,
                   object_list *out)
{
    const struct objects_reader r = {d, a, at};
    struct wire w = wire_of(bytes, size);
    struct wire_field f;
    *out = (object_list){0};
    while (wire_next(&w, &f)) {
        struct object o;
        if (f.number != 1 || f.kind != WIRE_BYTES)
            continue;
        if (out->count == MOST_OBJECTS)
            return diag_error(d, at, "it has more than %d objects", MOST_OBJECTS);
        if (!read_object(&r, &f, &o))
            return false;
        vec_push(a, out, o);
    }
    vec_each_ptr(const struct object, o, out)
        vec_each_ptr(const struct object_child, c, &o->children)
            if (c->object >= out->count)
                return fault(&r);
    return w.ok || fault(&r);
}

const struct object *object_child(const object_list *all, const struct object *o, const char *name)
{
    vec_each_ptr(const struct object_child, c, &o->children)
        if (str_equal(c->name, name))
            return &all->data[c->object];
    return NULL;
}
