/* The arena: what it is declared as, and where entries keep what they compute. Each place that an entry names has a
 * name in the header, which is its memory map; functions of loops (region.c) have numbers:
 *
 *   enum {
 *       DIGITS_STEP_HIDDEN_AT = 1024, (floats [32,32], until update_fc2_weight())   */
#include "emit/emit_internal.h"

#include <limits.h>
#include <string.h>

/* It has an array for each type that lies there: what C calls the declared type of an object. Floats of 8 and 16 bits
 * lie there as bit patterns, as bytes and uint16. */
static const struct {
    const char *name, *type;
    enum dtype dtype; /* one of those that are this type */
} arena_members[] = {{"floats", "float", DTYPE_FLOAT},   {"doubles", "double", DTYPE_DOUBLE},
                     {"bytes", "uint8_t", DTYPE_UINT8},  {"int8s", "int8_t", DTYPE_INT8},
                     {"int16s", "int16_t", DTYPE_INT16}, {"uint16s", "uint16_t", DTYPE_UINT16},
                     {"int32s", "int32_t", DTYPE_INT32}, {"uint32s", "uint32_t", DTYPE_UINT32},
                     {"int64s", "int64_t", DTYPE_INT64}, {"uint64s", "uint64_t", DTYPE_UINT64}};
enum { ARENA_MEMBERS = sizeof arena_members / sizeof *arena_members };

static size_t member_of(struct emission *e, const struct buffer *b)
{
    size_t i = 0;
    while (i < ARENA_MEMBERS && !str_equal(arena_members[i].type, c_type(b->dtype)))
        i++;
    if (i == ARENA_MEMBERS)
        UNREACHABLE("no temporary is %s", dtype_name(b->dtype));
    e->arena_members |= 1u << i;
    return i;
}

struct tree_var *arena_var(struct emission *e)
{
    struct tree_var *const v =
        tree_var(e->arena, VAR_POINTER, DTYPE_INDEX, arena_printf(e->arena, "%s_arena", e->name), "arena");
    v->written = true;
    return v;
}

static const struct expr *place_in(struct emission *e, const struct tree_var *arena, const struct buffer *b,
                                   const struct expr *at)
{
    const char *const member = arena_members[member_of(e, b)].name;
    return tree_address(e->arena, tree_member(e->arena, VAR_ARRAY, b->dtype, c_type(b->dtype), arena, member, 0), at);
}

const struct expr *arena_place(struct emission *e, const struct tree_var *arena, const struct buffer *b)
{
    return place_in(e, arena, b, index_constant(e->arena, (int64_t)(b->arena_offset / dtype_size(b->dtype))));
}

/* Nothing of the header is called so. */
static void reserve_public_names(const struct emission *e, struct name_scope *names)
{
    reserve_prefix_macros(e, names);
    for (size_t i = 0; i < e->program->entries.count; i++)
        map_set(&names->taken, arena_printf(e->arena, "%s_%s", e->name, e->program->entries.data[i].name), NULL);
}

/* DIGITS_STEP_HIDDEN_AT, with so much of the wish that all of it counts: C99 promises 63 characters, and numbers of
 * equal names take some. */
static const char *name_of_place(struct emission *e, const struct entry *entry, const char *wish, const char *after)
{
    enum { MOST = 58, LEAST = 8 };
    struct arena *const a = e->arena;
    const char *const prefix = arena_printf(a, "%s_%s_", e->upper, name_upper(a, entry->name));
    const size_t around = strlen(prefix) + strlen(after), room = around + LEAST < MOST ? MOST - around : LEAST;
    return arena_printf(a, "%s%.*s%s", prefix, (int)room, name_upper(a, name_mangle(a, wish)), after);
}

const struct expr *arena_named_place(struct emission *e, const struct tree_var *arena, const struct entry *entry,
                                     const char *wish, bool is_scratch, const struct buffer *b,
                                     const char *const *about)
{
    struct arena *const a = e->arena;
    if (!e->arena_names.taken.arena) {
        e->arena_names.taken.arena = a;
        reserve_public_names(e, &e->arena_names);
    }
    const char *const base = name_of_place(e, entry, wish, is_scratch ? "_SCRATCH_AT" : "_AT");
    const struct arena_mark mark = {.name = name_exactly(&e->arena_names, base),
                                    .member = arena_members[member_of(e, b)].name,
                                    .entry = entry,
                                    .at = b->arena_offset / dtype_size(b->dtype),
                                    .about = about};
    const int64_t at = (int64_t)mark.at;
    vec_push(a, &e->arena_marks, mark);
    return place_in(e, arena, b, tree_read(a, tree_index_var(a, VAR_MACRO, "int", mark.name, at, at)));
}

void write_arena_members(struct emission *e, size_t bytes)
{
    write_line(&e->h, "unsigned char bytes[%zu];", bytes);
    for (size_t i = 0; i < ARENA_MEMBERS; i++)
        if (e->arena_members >> i & 1 && !str_equal(arena_members[i].name, "bytes"))
            write_line(&e->h, "%s %s[%zu];", arena_members[i].type, arena_members[i].name,
                       bytes / dtype_size(arena_members[i].dtype));
}

/* A constant of an enumeration is an int. */
static bool is_far(const struct arena_mark *m)
{
    return m->at > INT_MAX;
}

/* How many of the entry's marks are far, or not. */
static size_t count_marks(const struct emission *e, const struct entry *entry, bool far)
{
    size_t count = 0;
    vec_each_ptr (const struct arena_mark, m, &e->arena_marks)
        count += m->entry == entry && is_far(m) == far;
    return count;
}

static void write_marks(struct emission *e, const struct entry *entry, bool far)
{
    vec_each_ptr (const struct arena_mark, m, &e->arena_marks) {
        if (m->entry != entry || is_far(m) != far)
            continue;
        const char *const about = *m->about, *const between = about[0] == '[' ? " " : ", ";
        const char *const text = far ? arena_printf(e->arena, "#define %s ((size_t)%zu)", m->name, m->at)
                                     : arena_printf(e->arena, "%s = %zu,", m->name, m->at);
        write_words(&e->h, &text, 1, arena_printf(e->arena, "%s%s%s", m->member, between, about));
    }
}

static void write_entry_map(struct emission *e, const struct entry *entry)
{
    const size_t near = count_marks(e, entry, false), far = count_marks(e, entry, true);
    if (near + far == 0)
        return;
    write_comment(&e->h, arena_printf(e->arena,
                                      "Where %s_%s() keeps what it computes: elements of the arena's arrays. What is "
                                      "not needed at the same time may share memory.",
                                      e->name, entry->name));
    write_marks(e, entry, true);
    if (near > 0) {
        write_open(&e->h, "enum");
        write_marks(e, entry, false);
        write_close(&e->h, ";");
    }
    write_blank(&e->h);
}

void write_arena_map(struct emission *e)
{
    vec_each_ptr (const struct entry, entry, &e->program->entries)
        write_entry_map(e, entry);
}
