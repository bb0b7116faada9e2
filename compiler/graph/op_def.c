/* Finding operators. The records are found through a hash table over the generated op_table, built at the first
 * look-up. It is the one mutable static of the compiler: it depends on nothing but the program text, so that it
 * behaves as a constant; gradients and rewrites look up operators by name for every node they make, which a walk over
 * the table would make slow. */
#include "graph/op_def.h"

#include <stdio.h>
#include <string.h>

struct op_slot {
    const struct op_def *def; /* NULL: empty */
    const char *display;
};

static struct {
    struct arena arena;
    struct op_slot *slots;
    size_t mask; /* count of slots - 1; at least half of them are empty */
} ops;

static const char *domain_of(const struct op_def *def)
{
    return def->domain != NULL ? def->domain : DOMAIN_ONNX;
}

/* FNV-1a over a string, going on from h. */
static uint64_t hash(uint64_t h, const char *s, size_t length)
{
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
    return h;
}

static bool matches(const struct op_def *def, const char *domain, size_t domain_length, const char *name)
{
    const char *const its = domain_of(def);
    return strcmp(def->name, name) == 0 && strncmp(its, domain, domain_length) == 0 && its[domain_length] == '\0';
}

/* The slot of an operator, or the empty one where it belongs. */
static struct op_slot *find_slot(const char *domain, size_t domain_length, const char *name)
{
    uint64_t h = hash(hash(0xcbf29ce484222325u, name, strlen(name)), domain, domain_length);
    for (size_t at = (size_t)(h ^ h >> 32) & ops.mask;; at = (at + 1) & ops.mask)
        if (ops.slots[at].def == NULL || matches(ops.slots[at].def, domain, domain_length, name))
            return &ops.slots[at];
}

static struct op_slot *slot_of(const struct op_def *def)
{
    const char *const domain = domain_of(def);
    return find_slot(domain, strlen(domain), def->name);
}

static void build_table(void)
{
    size_t count = 0;
    for (const struct op_def *const *file = op_table; *file != NULL; file++)
        for (const struct op_def *def = *file; def->name != NULL; def++)
            count++;
    size_t size = 16;
    while (size < 2 * count)
        size *= 2;
    ops.mask = size - 1;
    ops.slots = arena_array(&ops.arena, struct op_slot, size);
    for (const struct op_def *const *file = op_table; *file != NULL; file++) {
        for (const struct op_def *def = *file; def->name != NULL; def++) {
            struct op_slot *const slot = slot_of(def);
            if (slot->def != NULL)
                UNREACHABLE("operator %s is defined twice", def->name);
            slot->def = def;
            slot->display =
                strcmp(domain_of(def), DOMAIN_STEPC) == 0 ? arena_printf(&ops.arena, "stepc.%s", def->name) : def->name;
        }
    }
}

static const struct op_def *find(const char *domain, size_t domain_length, const char *name)
{
    if (ops.slots == NULL)
        build_table();
    return find_slot(domain, domain_length, name)->def;
}

const struct op_def *op_find(const char *domain, const char *name)
{
    return find(domain, strlen(domain), name);
}

const struct op_def *op_find_qualified(const char *qualified)
{
    const char *const dot = strrchr(qualified, '.');
    return dot == NULL ? find("", 0, qualified) : find(qualified, (size_t)(dot - qualified), dot + 1);
}

const char *op_display_name(const struct op_def *def)
{
    if (ops.slots == NULL)
        build_table();
    const struct op_slot *const slot = slot_of(def);
    return slot->def == def ? slot->display : def->name;
}

size_t op_count_params(const struct op_param *params)
{
    size_t count = 0;
    while (params != NULL && params[count].name != NULL)
        count++;
    return count;
}

size_t op_count_required(const struct op_param *params)
{
    size_t required = op_count_params(params);
    while (required > 0 && (params[required - 1].flags & PARAM_OPTIONAL))
        required--;
    return required;
}

const struct op_param *op_param_at(const struct op_param *params, size_t i)
{
    const size_t count = op_count_params(params);
    if (i < count)
        return &params[i];
    return count > 0 && (params[count - 1].flags & PARAM_VARIADIC) ? &params[count - 1] : NULL;
}

bool op_stays(const struct node *n)
{
    (void)n;
    return true;
}

bool node_is(const struct node *n, const char *op)
{
    return (n->def->domain == NULL || n->def->domain[0] == '\0') && strcmp(n->def->name, op) == 0;
}

size_t op_names(const char *domain, const char **names, size_t capacity)
{
    size_t count = 0;
    for (const struct op_def *const *file = op_table; *file != NULL; file++) {
        for (const struct op_def *def = *file; def->name != NULL; def++) {
            if (strcmp(domain_of(def), domain) != 0)
                continue;
            if (count < capacity)
                names[count] = def->name;
            count++;
        }
    }
    return count;
}

bool node_makes_elements(const struct node *n)
{
    for (size_t o = 0; o < n->outputs.count; o++)
        if (n->outputs.data[o] != NULL && shape_count(&n->outputs.data[o]->shape) > 0)
            return true;
    return false;
}
