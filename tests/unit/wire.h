/* Writing the wire format of ONNX by hand, able to write what no tool would, and reading it back: for tests of the
 * reader. Everything lives in one arena that is emptied after each test. */
#ifndef STEPC_TESTS_UNIT_WIRE_H
#define STEPC_TESTS_UNIT_WIRE_H

#include "base/file.h"
#include "model/model.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- a small writer of wire format, able to write what no tool would --------------- */

static struct arena arena;
static struct diag diag;

struct wire {
    unsigned char *data;
    size_t count, capacity;
};

static inline void put(struct wire *w, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        vec_push(&arena, w, ((const unsigned char *)bytes)[i]);
}

static inline void put_varint(struct wire *w, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        vec_push(&arena, w, (unsigned char)(x | 0x80));
    vec_push(&arena, w, (unsigned char)x);
}

static inline void put_int(struct wire *w, unsigned field, int64_t x)
{
    put_varint(w, field << 3);
    put_varint(w, (uint64_t)x);
}

static inline void put_bytes(struct wire *w, unsigned field, const void *bytes, size_t size)
{
    put_varint(w, field << 3 | 2);
    put_varint(w, size);
    put(w, bytes, size);
}

static inline void put_string(struct wire *w, unsigned field, const char *s)
{
    put_bytes(w, field, s, strlen(s));
}

static inline void put_message(struct wire *w, unsigned field, const struct wire *inner)
{
    put_bytes(w, field, inner->data, inner->count);
}

static inline void put_float(struct wire *w, unsigned field, float x)
{
    put_varint(w, field << 3 | 5);
    put(w, &x, 4); /* tests run on little-endian machines */
}

/* Field numbers used below. */
enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11
};
enum { NODE_INPUT = 1, NODE_OP = 4, NODE_ATTRIBUTE = 5, ATTR_NAME = 1, ATTR_G = 6, ATTR_TYPE_TAG = 20 };
enum {
    T_DIMS = 1,
    T_TYPE,
    T_SEGMENT,
    T_FLOAT,
    T_INT32,
    T_STRING,
    T_INT64,
    T_NAME,
    T_RAW,
    T_DOUBLE,
    T_UINT64,
    T_EXTERNAL = 13,
    T_LOCATION
};

static inline struct wire model_of(const struct wire *graph)
{
    struct wire w = {0};
    put_int(&w, MODEL_IR, 10);
    put_message(&w, MODEL_GRAPH, graph);
    return w;
}

static inline struct wire graph_named(const char *name)
{
    struct wire w = {0};
    put_string(&w, GRAPH_NAME, name);
    return w;
}

/* A model whose only content is this initializer, or this node. */
static inline struct wire model_with(unsigned graph_field, const struct wire *x)
{
    struct wire g = graph_named("g");
    put_message(&g, graph_field, x);
    return model_of(&g);
}

/* ---- reading and what it said -------------------------------------------------------- */

static inline void setup(void)
{
    diag = (struct diag){.arena = &arena};
}

static inline void teardown(void)
{
    arena_free(&arena);
}

static inline struct model *read_at(const char *path, const struct wire *w)
{
    struct model *m = NULL;
    /* A copy of the exact size, so that AddressSanitizer sees a byte read too far. */
    unsigned char *bytes = malloc(w->count ? w->count : 1);
    if (w->count)
        memcpy(bytes, w->data, w->count);
    diag = (struct diag){.arena = &arena};
    const bool ok = model_read_onnx(&diag, &arena, path, bytes, w->count, &m);
    free(bytes);
    ck_assert_msg(ok == (diag.errors == 0), "success and errors disagree");
    ck_assert(ok == (m != NULL));
    return m;
}

static inline struct model *read_wire(const struct wire *w)
{
    return read_at("/nonexistent/m.onnx", w);
}

static inline void assert_said(const char *text, const char *label)
{
    for (size_t i = 0; i < diag.messages.count; i++)
        if (strstr(diag.messages.data[i].text, text))
            return;
    ck_abort_msg("%s: expected '%s', got '%s'", label, text,
                 diag.messages.count ? diag.messages.data[0].text : "no message");
}

static inline void assert_refused(const struct wire *w, const char *text)
{
    ck_assert_msg(read_wire(w) == NULL, "accepted; expected '%s'", text);
    assert_said(text, "reading");
}

static inline struct model *assert_read(const struct wire *w)
{
    struct model *m = read_wire(w);
    ck_assert_msg(m != NULL, "refused: %s", diag.messages.count ? diag.messages.data[0].text : "?");
    return m;
}

static inline const char *in_folder(const char *folder, const char *name)
{
    return path_join(&arena, folder, name);
}

#define ADD_LOOP(c, test, table) tcase_add_loop_test((c), (test), 0, (int)(sizeof(table) / sizeof *(table)))

#endif
