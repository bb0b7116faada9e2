#include "base/map.h"

#include "base/hash.h"
#include <string.h>

/* Slots are chosen by the low bits, to which the product brings those of every character. Keys may be long: emission
 * finds equal kernels by their text. */
static uint32_t hash_string(const char *s)
{
    return (uint32_t)(hash_bytes(s, strlen(s)) * 0x9e3779b97f4a7c15u >> 32);
}

/* The slot that holds `key`, or the empty one where it belongs. At least half the slots are empty, so the walk ends. */
static size_t find_slot(const struct map *m, const char *key, uint32_t hash)
{
    const size_t mask = m->slot_count - 1;
    size_t at = hash & mask;
    while (m->slots[at] != 0 &&
           (m->slots[at] >> 32 != hash || strcmp(m->entries[(uint32_t)m->slots[at] - 1].key, key) != 0))
        at = (at + 1) & mask;
    return at;
}

static struct map_entry *find_entry(const struct map *m, const char *key)
{
    if (m->count == 0)
        return NULL;
    const uint32_t index = (uint32_t)m->slots[find_slot(m, key, hash_string(key))];
    return index == 0 ? NULL : &m->entries[index - 1];
}

static void grow(struct map *m)
{
    const size_t capacity = m->capacity == 0 ? 8 : 2 * m->capacity;
    if (capacity > UINT32_MAX / 2)
        UNREACHABLE("a map of %zu entries", m->count);
    struct map_entry *entries = arena_array(m->arena, struct map_entry, capacity);
    if (m->count != 0)
        memcpy(entries, m->entries, m->count * sizeof *entries);
    m->entries = entries;
    m->capacity = capacity;
    const uint64_t *const old = m->slots;
    const size_t old_count = m->slot_count;
    m->slot_count = 2 * capacity; /* a power of two */
    m->slots = arena_array(m->arena, uint64_t, m->slot_count);
    for (size_t i = 0; i < old_count; i++) {
        size_t at = (size_t)(old[i] >> 32) & (m->slot_count - 1);
        while (old[i] != 0 && m->slots[at] != 0)
            at = (at + 1) & (m->slot_count - 1);
        if (old[i] != 0)
            m->slots[at] = old[i];
    }
}

void *map_get(const struct map *m, const char *key)
{
    const struct map_entry *entry = find_entry(m, key);
    return entry == NULL ? NULL : entry->value;
}

bool map_has(const struct map *m, const char *key)
{
    return find_entry(m, key) != NULL;
}

void map_set(struct map *m, const char *key, void *value)
{
    if (m->count == m->capacity)
        grow(m);
    const uint32_t hash = hash_string(key);
    const size_t slot = find_slot(m, key, hash);
    if (m->slots[slot] != 0) {
        m->entries[(uint32_t)m->slots[slot] - 1].value = value;
        return;
    }
    m->entries[m->count].key = arena_strdup(m->arena, key);
    m->entries[m->count].value = value;
    m->slots[slot] = (uint64_t)hash << 32 | ++m->count;
}

const char *take_fresh_name(struct map *names, const char *wish)
{
    const char *name = wish;
    for (int i = 2; map_has(names, name); i++)
        name = arena_printf(names->arena, "%s_%d", wish, i);
    name = arena_strdup(names->arena, name);
    map_set(names, name, NULL);
    return name;
}
