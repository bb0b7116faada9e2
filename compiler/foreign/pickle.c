#include "foreign/pickle_internal.h"

#include "base/clean.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ------------------------------------------------------------------------------------------------------ */

void pickle_report(struct pickler *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *const text = arena_vprintf(p->arena, fmt, args);
    va_end(args);
    diag_error(p->diag, &p->loc, "%s, byte %zu: %s", p->name, p->at, text);
}

struct pickle_value *pickle_new(struct pickler *p, enum pickle_kind kind)
{
    struct pickle_value *const v = arena_new(p->arena, struct pickle_value);
    v->kind = kind;
    return v;
}

struct pickle_value *pickle_new_items(struct pickler *p, enum pickle_kind kind)
{
    struct pickle_value *const v = pickle_new(p, kind);
    v->items = arena_new(p->arena, pickle_values);
    return v;
}

static bool push(struct pickler *p, struct pickle_value *v)
{
    vec_push(p->arena, &p->stack, v);
    return true;
}

/* How many values lie above the last mark. */
static size_t above_mark(const struct pickler *p)
{
    return p->stack.count - (p->marks.count > 0 ? p->marks.data[p->marks.count - 1] : 0);
}

static bool pop(struct pickler *p, struct pickle_value **out)
{
    if (above_mark(p) == 0)
        return pickle_fault(p, "the stack is empty");
    *out = p->stack.data[--p->stack.count];
    return true;
}

static bool top(struct pickler *p, struct pickle_value **out)
{
    if (above_mark(p) == 0)
        return pickle_fault(p, "the stack is empty");
    *out = p->stack.data[p->stack.count - 1];
    return true;
}

/* The values above the last mark, which goes: they stay in place until the next push. */
static bool pop_mark(struct pickler *p, struct pickle_value ***values, size_t *count)
{
    if (p->marks.count == 0)
        return pickle_fault(p, "there is no mark on the stack");
    const size_t height = p->marks.data[--p->marks.count];
    *values = p->stack.data ? p->stack.data + height : NULL; /* no value was pushed yet */
    *count = p->stack.count - height;
    p->stack.count = height;
    return true;
}

/* ---- what stands behind an opcode -------------------------------------------------------------------------------- */

static bool take(struct pickler *p, size_t count, const unsigned char **out)
{
    if (count > p->size - p->at)
        return pickle_fault(p, "the pickle ends in the middle of a value");
    *out = p->bytes + p->at;
    p->at += count;
    return true;
}

/* A little-endian number of up to 8 bytes. */
static bool take_number(struct pickler *p, size_t bytes, uint64_t *out)
{
    const unsigned char *b;
    if (!take(p, bytes, &b))
        return false;
    *out = 0;
    for (size_t i = 0; i < bytes; i++)
        *out |= (uint64_t)b[i] << (8 * i);
    return true;
}

/* A length of `bytes` bytes, and as much behind it. */
static bool take_counted(struct pickler *p, size_t bytes, const unsigned char **out, size_t *size)
{
    uint64_t n;
    if (!take_number(p, bytes, &n))
        return false;
    if (n > p->size - p->at)
        return pickle_fault(p, "a length of %llu goes beyond the pickle", (unsigned long long)n);
    *size = (size_t)n;
    return take(p, *size, out);
}

/* Up to a line end, which is taken too. */
static bool take_line(struct pickler *p, const char **out)
{
    const unsigned char *const from = p->bytes + p->at, *const end = memchr(from, '\n', p->size - p->at);
    if (!end)
        return pickle_fault(p, "the pickle ends in the middle of a line");
    *out = arena_strndup(p->arena, (const char *)from, (size_t)(end - from));
    p->at += (size_t)(end - from) + 1;
    return true;
}

static bool push_int(struct pickler *p, int64_t x)
{
    struct pickle_value *const v = pickle_new(p, PICKLE_INT);
    v->i = x;
    return push(p, v);
}

static bool push_opaque(struct pickler *p, const char *what)
{
    struct pickle_value *const v = pickle_new(p, PICKLE_OPAQUE);
    v->text = what;
    return push(p, v);
}

/* Text that is none (NUL, no UTF-8) is kept as bytes that nobody looks at: no name of ours is. */
static bool push_text(struct pickler *p, const unsigned char *s, size_t size)
{
    for (size_t i = 0, n; i < size; i += n) {
        n = utf8_character((const char *)s + i, size - i);
        if (n == 0 || s[i] == 0)
            return push(p, pickle_new(p, PICKLE_BYTES));
    }
    struct pickle_value *const v = pickle_new(p, PICKLE_TEXT);
    v->text = arena_strndup(p->arena, (const char *)s, size);
    return push(p, v);
}

static double big_endian_double(const unsigned char *b)
{
    uint64_t bits = 0;
    double x;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | b[i];
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Two's complement of any length; what 64 bits do not hold is opaque. */
static bool push_long(struct pickler *p, const unsigned char *b, size_t size)
{
    uint64_t x = size > 0 && b[size - 1] & 0x80 ? UINT64_MAX : 0;
    if (size > 8)
        return push_opaque(p, "a large integer");
    for (size_t i = size; i-- > 0;)
        x = x << 8 | b[i];
    return push_int(p, (int64_t)x);
}

/* ---- opcodes ----------------------------------------------------------------------------------------------------- */

static bool op_proto(struct pickler *p)
{
    uint64_t version;
    return take_number(p, 1, &version) &&
           (version <= 5 || pickle_fault(p, "protocol %llu is not known", (unsigned long long)version));
}

static bool op_frame(struct pickler *p)
{
    uint64_t size;
    return take_number(p, 8, &size) && (size <= p->size - p->at || pickle_fault(p, "a frame goes beyond the pickle"));
}

static bool op_mark(struct pickler *p)
{
    vec_push(p->arena, &p->marks, p->stack.count);
    return true;
}

static bool op_pop(struct pickler *p)
{
    struct pickle_value *v;
    if (above_mark(p) == 0 && p->marks.count > 0) {
        p->marks.count--;
        return true;
    }
    return pop(p, &v);
}

static bool op_pop_mark(struct pickler *p)
{
    struct pickle_value **values;
    size_t count;
    return pop_mark(p, &values, &count);
}

static bool op_dup(struct pickler *p)
{
    struct pickle_value *v;
    return top(p, &v) && push(p, v);
}

static bool op_none(struct pickler *p)
{
    return push(p, pickle_new(p, PICKLE_NONE));
}

static bool push_bool(struct pickler *p, bool x)
{
    struct pickle_value *const v = pickle_new(p, PICKLE_BOOL);
    v->i = x;
    return push(p, v);
}

static bool op_true(struct pickler *p)
{
    return push_bool(p, true);
}

static bool op_false(struct pickler *p)
{
    return push_bool(p, false);
}

static bool op_binint(struct pickler *p)
{
    uint64_t x;
    return take_number(p, 4, &x) && push_int(p, (int32_t)(uint32_t)x);
}

static bool op_binint1(struct pickler *p)
{
    uint64_t x;
    return take_number(p, 1, &x) && push_int(p, (int64_t)x);
}

static bool op_binint2(struct pickler *p)
{
    uint64_t x;
    return take_number(p, 2, &x) && push_int(p, (int64_t)x);
}

static bool op_long1(struct pickler *p)
{
    const unsigned char *b;
    size_t size;
    return take_counted(p, 1, &b, &size) && push_long(p, b, size);
}

static bool op_long4(struct pickler *p)
{
    const unsigned char *b;
    size_t size;
    return take_counted(p, 4, &b, &size) && push_long(p, b, size);
}

/* "12", "12L", "01" for True. */
static bool op_int(struct pickler *p)
{
    const char *line;
    long long x;
    if (!take_line(p, &line))
        return false;
    if (str_equal(line, "00") || str_equal(line, "01"))
        return push_bool(p, line[1] == '1');
    const char *const digits = str_ends_with(line, "L") ? arena_strndup(p->arena, line, strlen(line) - 1) : line;
    return str_to_int64(digits, &x) ? push_int(p, x) : push_opaque(p, "a large integer");
}

static bool op_float(struct pickler *p)
{
    const char *line;
    struct pickle_value *const v = pickle_new(p, PICKLE_FLOAT);
    if (!take_line(p, &line))
        return false;
    return (str_to_double(line, &v->f) || pickle_fault(p, "'%s' is no number", line)) && push(p, v);
}

static bool op_binfloat(struct pickler *p)
{
    const unsigned char *b;
    struct pickle_value *const v = pickle_new(p, PICKLE_FLOAT);
    if (!take(p, 8, &b))
        return false;
    v->f = big_endian_double(b);
    return push(p, v);
}

static bool text_of(struct pickler *p, size_t length_bytes)
{
    const unsigned char *b;
    size_t size;
    return take_counted(p, length_bytes, &b, &size) && push_text(p, b, size);
}

static bool op_text1(struct pickler *p)
{
    return text_of(p, 1);
}

static bool op_text4(struct pickler *p)
{
    return text_of(p, 4);
}

static bool op_text8(struct pickler *p)
{
    return text_of(p, 8);
}

static bool bytes_of(struct pickler *p, size_t length_bytes)
{
    const unsigned char *b;
    size_t size;
    return take_counted(p, length_bytes, &b, &size) && push(p, pickle_new(p, PICKLE_BYTES));
}

static bool op_bytes1(struct pickler *p)
{
    return bytes_of(p, 1);
}

static bool op_bytes4(struct pickler *p)
{
    return bytes_of(p, 4);
}

static bool op_bytes8(struct pickler *p)
{
    return bytes_of(p, 8);
}

static bool op_empty_list(struct pickler *p)
{
    return push(p, pickle_new_items(p, PICKLE_LIST));
}

static bool op_empty_tuple(struct pickler *p)
{
    return push(p, pickle_new_items(p, PICKLE_TUPLE));
}

static bool op_empty_dict(struct pickler *p)
{
    return push(p, pickle_new_items(p, PICKLE_DICT));
}

static void add_items(struct pickler *p, struct pickle_value *to, struct pickle_value *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        vec_push(p->arena, to->items, values[i]);
}

/* What lies above the mark becomes one value. */
static bool collect(struct pickler *p, enum pickle_kind kind)
{
    struct pickle_value **values, *const v = pickle_new_items(p, kind);
    size_t count;
    if (!pop_mark(p, &values, &count))
        return false;
    if (kind == PICKLE_DICT && count % 2 != 0)
        return pickle_fault(p, "a dict has a key without a value");
    add_items(p, v, values, count);
    return push(p, v);
}

static bool op_list(struct pickler *p)
{
    return collect(p, PICKLE_LIST);
}

static bool op_tuple(struct pickler *p)
{
    return collect(p, PICKLE_TUPLE);
}

static bool op_dict(struct pickler *p)
{
    return collect(p, PICKLE_DICT);
}

static bool tuple_of(struct pickler *p, size_t count)
{
    struct pickle_value *const v = pickle_new_items(p, PICKLE_TUPLE);
    if (above_mark(p) < count)
        return pickle_fault(p, "the stack is empty");
    p->stack.count -= count;
    add_items(p, v, p->stack.data + p->stack.count, count);
    return push(p, v);
}

static bool op_tuple1(struct pickler *p)
{
    return tuple_of(p, 1);
}

static bool op_tuple2(struct pickler *p)
{
    return tuple_of(p, 2);
}

static bool op_tuple3(struct pickler *p)
{
    return tuple_of(p, 3);
}

/* Adds to what lies below. What is no container but opaque swallows it. */
static bool add_to(struct pickler *p, enum pickle_kind kind, struct pickle_value *const *values, size_t count)
{
    struct pickle_value *to;
    if (!top(p, &to))
        return false;
    if (to->kind == PICKLE_OPAQUE)
        return true;
    if (to->kind != kind)
        return pickle_fault(p, "elements are added to %s", pickle_describe(p->arena, to));
    if (kind == PICKLE_DICT && count % 2 != 0)
        return pickle_fault(p, "a dict has a key without a value");
    add_items(p, to, values, count);
    return true;
}

static bool op_append(struct pickler *p)
{
    struct pickle_value *v;
    return pop(p, &v) && add_to(p, PICKLE_LIST, &v, 1);
}

static bool op_appends(struct pickler *p)
{
    struct pickle_value **values;
    size_t count;
    return pop_mark(p, &values, &count) && add_to(p, PICKLE_LIST, values, count);
}

static bool op_setitem(struct pickler *p)
{
    struct pickle_value *key, *value;
    return pop(p, &value) && pop(p, &key) && add_to(p, PICKLE_DICT, (struct pickle_value *const[]){key, value}, 2);
}

static bool op_setitems(struct pickler *p)
{
    struct pickle_value **values;
    size_t count;
    return pop_mark(p, &values, &count) && add_to(p, PICKLE_DICT, values, count);
}

static bool push_global(struct pickler *p, const char *module, const char *name)
{
    struct pickle_value *const v = pickle_new(p, PICKLE_GLOBAL);
    return pickle_find_global(p, module, name, &v->global) && push(p, v);
}

static bool op_global(struct pickler *p)
{
    const char *module, *name;
    return take_line(p, &module) && take_line(p, &name) && push_global(p, module, name);
}

static bool op_stack_global(struct pickler *p)
{
    struct pickle_value *module, *name;
    if (!pop(p, &name) || !pop(p, &module))
        return false;
    if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return pickle_fault(p, "the name of a global is no text");
    return push_global(p, module->text, name->text);
}

/* REDUCE, NEWOBJ: what the global gives. */
static bool op_reduce(struct pickler *p)
{
    struct pickle_value *arguments, *callee, *result;
    return pop(p, &arguments) && pop(p, &callee) && pickle_call(p, callee, arguments, &result) && push(p, result);
}

/* Attributes of what lies below: nothing of ours has any that count. */
static bool op_build(struct pickler *p)
{
    struct pickle_value *state, *v;
    if (!pop(p, &state) || !top(p, &v))
        return false;
    return v->kind == PICKLE_DICT || v->kind == PICKLE_OPAQUE || v->kind == PICKLE_TENSOR ||
           pickle_fault(p, "attributes are set of %s", pickle_describe(p->arena, v));
}

static bool op_persistent(struct pickler *p)
{
    struct pickle_value *id, *storage;
    return pop(p, &id) && pickle_load_storage(p, id, &storage) && push(p, storage);
}

/* Numbers in the memo are those of the values so far, in order. */
static bool memoize(struct pickler *p, uint64_t number)
{
    struct pickle_value *v;
    if (!top(p, &v))
        return false;
    if (number > p->memo.count)
        return pickle_fault(p, "memo %llu is set before memo %zu", (unsigned long long)number, p->memo.count);
    if (number == p->memo.count)
        vec_push(p->arena, &p->memo, v);
    else
        p->memo.data[number] = v;
    return true;
}

static bool recall(struct pickler *p, uint64_t number)
{
    if (number >= p->memo.count)
        return pickle_fault(p, "memo %llu is read, but not set", (unsigned long long)number);
    return push(p, p->memo.data[number]);
}

static bool op_memoize(struct pickler *p)
{
    return memoize(p, p->memo.count);
}

static bool op_binput(struct pickler *p)
{
    uint64_t n;
    return take_number(p, 1, &n) && memoize(p, n);
}

static bool op_long_binput(struct pickler *p)
{
    uint64_t n;
    return take_number(p, 4, &n) && memoize(p, n);
}

static bool op_binget(struct pickler *p)
{
    uint64_t n;
    return take_number(p, 1, &n) && recall(p, n);
}

static bool op_long_binget(struct pickler *p)
{
    uint64_t n;
    return take_number(p, 4, &n) && recall(p, n);
}

static bool line_number(struct pickler *p, uint64_t *out)
{
    const char *line;
    long long x;
    if (!take_line(p, &line))
        return false;
    if (!str_to_int64(line, &x) || x < 0)
        return pickle_fault(p, "'%s' is no number of a memo", line);
    *out = (uint64_t)x;
    return true;
}

static bool op_put(struct pickler *p)
{
    uint64_t n;
    return line_number(p, &n) && memoize(p, n);
}

static bool op_get(struct pickler *p)
{
    uint64_t n;
    return line_number(p, &n) && recall(p, n);
}

/* By byte. Without a function: known and refused. STOP stands in the loop. */
static const struct {
    const char *name;
    bool (*run)(struct pickler *p);
} opcodes[256] = {
    ['('] = {"MARK", op_mark},
    ['.'] = {"STOP", NULL},
    ['0'] = {"POP", op_pop},
    ['1'] = {"POP_MARK", op_pop_mark},
    ['2'] = {"DUP", op_dup},
    ['F'] = {"FLOAT", op_float},
    ['I'] = {"INT", op_int},
    ['J'] = {"BININT", op_binint},
    ['K'] = {"BININT1", op_binint1},
    ['L'] = {"LONG", op_int},
    ['M'] = {"BININT2", op_binint2},
    ['N'] = {"NONE", op_none},
    ['P'] = {"PERSID", NULL},
    ['Q'] = {"BINPERSID", op_persistent},
    ['R'] = {"REDUCE", op_reduce},
    ['S'] = {"STRING", NULL},
    ['T'] = {"BINSTRING", op_text4},
    ['U'] = {"SHORT_BINSTRING", op_text1},
    ['V'] = {"UNICODE", NULL},
    ['X'] = {"BINUNICODE", op_text4},
    ['a'] = {"APPEND", op_append},
    ['b'] = {"BUILD", op_build},
    ['c'] = {"GLOBAL", op_global},
    ['d'] = {"DICT", op_dict},
    ['}'] = {"EMPTY_DICT", op_empty_dict},
    ['e'] = {"APPENDS", op_appends},
    ['g'] = {"GET", op_get},
    ['h'] = {"BINGET", op_binget},
    ['i'] = {"INST", NULL},
    ['j'] = {"LONG_BINGET", op_long_binget},
    ['l'] = {"LIST", op_list},
    [']'] = {"EMPTY_LIST", op_empty_list},
    ['o'] = {"OBJ", NULL},
    ['p'] = {"PUT", op_put},
    ['q'] = {"BINPUT", op_binput},
    ['r'] = {"LONG_BINPUT", op_long_binput},
    ['s'] = {"SETITEM", op_setitem},
    ['t'] = {"TUPLE", op_tuple},
    [')'] = {"EMPTY_TUPLE", op_empty_tuple},
    ['u'] = {"SETITEMS", op_setitems},
    ['G'] = {"BINFLOAT", op_binfloat},
    [0x80] = {"PROTO", op_proto},
    [0x81] = {"NEWOBJ", op_reduce},
    [0x82] = {"EXT1", NULL},
    [0x83] = {"EXT2", NULL},
    [0x84] = {"EXT4", NULL},
    [0x85] = {"TUPLE1", op_tuple1},
    [0x86] = {"TUPLE2", op_tuple2},
    [0x87] = {"TUPLE3", op_tuple3},
    [0x88] = {"NEWTRUE", op_true},
    [0x89] = {"NEWFALSE", op_false},
    [0x8a] = {"LONG1", op_long1},
    [0x8b] = {"LONG4", op_long4},
    ['B'] = {"BINBYTES", op_bytes4},
    ['C'] = {"SHORT_BINBYTES", op_bytes1},
    [0x8c] = {"SHORT_BINUNICODE", op_text1},
    [0x8d] = {"BINUNICODE8", op_text8},
    [0x8e] = {"BINBYTES8", op_bytes8},
    [0x8f] = {"EMPTY_SET", op_empty_list},
    [0x90] = {"ADDITEMS", op_appends},
    [0x91] = {"FROZENSET", op_list},
    [0x92] = {"NEWOBJ_EX", NULL},
    [0x93] = {"STACK_GLOBAL", op_stack_global},
    [0x94] = {"MEMOIZE", op_memoize},
    [0x95] = {"FRAME", op_frame},
    [0x96] = {"BYTEARRAY8", op_bytes8},
    [0x97] = {"NEXT_BUFFER", NULL},
    [0x98] = {"READONLY_BUFFER", NULL},
};

/* ---- the pickle -------------------------------------------------------------------------------------------------- */

static bool run_opcodes(struct pickler *p)
{
    while (p->at < p->size) {
        const unsigned char op = p->bytes[p->at++];
        if (op == '.')
            return true;
        if (!opcodes[op].name)
            return pickle_fault(p, "0x%02x is no opcode of a pickle", op);
        if (!opcodes[op].run)
            return pickle_fault(p, "%s is not among the opcodes that a checkpoint needs", opcodes[op].name);
        if (!opcodes[op].run(p))
            return false;
    }
    return pickle_fault(p, "the pickle has no end");
}

bool pickle_parse(struct diag *d, struct arena *a, const char *path, const char *name, const unsigned char *bytes,
                  size_t size, const struct pickle_value **out, pickle_tensors *tensors)
{
    struct pickler p = {
        .diag = d, .arena = a, .loc = LOC_FILE(path), .name = name, .bytes = bytes, .size = size, .tensors = tensors};
    struct pickle_value *v;
    if (size > PICKLE_MAX_BYTES)
        return diag_error(d, &p.loc, "%s has %zu bytes, more than the %zu that can be read", name, size,
                          PICKLE_MAX_BYTES);
    if (!run_opcodes(&p) || !pop(&p, &v))
        return false;
    *out = v;
    return true;
}

/* ---- looking into values ----------------------------------------------------------------------------------------- */

const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key)
{
    if (!dict || dict->kind != PICKLE_DICT)
        return NULL;
    for (size_t i = dict->items->count; i >= 2; i -= 2)
        if (dict->items->data[i - 2]->kind == PICKLE_TEXT && str_equal(dict->items->data[i - 2]->text, key))
            return dict->items->data[i - 1];
    return NULL;
}

bool pickle_number(const struct pickle_value *v, double *out)
{
    if (!v)
        return false;
    if (v->kind == PICKLE_FLOAT)
        *out = v->f;
    else if (v->kind == PICKLE_INT || v->kind == PICKLE_BOOL)
        *out = (double)v->i;
    else if (v->kind == PICKLE_TENSOR && v->tensor->tensor && v->tensor->tensor->count == 1 &&
             (dtype_is_float(v->tensor->dtype) || dtype_is_int(v->tensor->dtype)))
        *out = tensor_get_double(v->tensor->tensor, 0);
    else
        return false;
    return true;
}

const char *pickle_describe(struct arena *a, const struct pickle_value *v)
{
    switch (v->kind) {
    case PICKLE_NONE:
        return "None";
    case PICKLE_BOOL:
        return v->i ? "True" : "False";
    case PICKLE_INT:
        return arena_printf(a, "%lld", (long long)v->i);
    case PICKLE_FLOAT:
        return arena_printf(a, "%g", v->f);
    case PICKLE_TEXT:
        return arena_printf(a, "'%.40s'", v->text);
    case PICKLE_BYTES:
        return "bytes";
    case PICKLE_LIST:
        return arena_printf(a, "a list of %zu", v->items->count);
    case PICKLE_TUPLE:
        return arena_printf(a, "a tuple of %zu", v->items->count);
    case PICKLE_DICT:
        return arena_printf(a, "a dict of %zu", v->items->count / 2);
    case PICKLE_GLOBAL:
        return pickle_global_name(a, v->global);
    case PICKLE_STORAGE:
        return "a storage";
    case PICKLE_TENSOR:
        return arena_printf(a, "a tensor %s%s", dtype_name(v->tensor->dtype), shape_text(a, &v->tensor->shape));
    case PICKLE_OPAQUE:
        return v->text;
    }
    UNREACHABLE("pickle kind %d", (int)v->kind);
}
