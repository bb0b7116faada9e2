/* A map from strings to pointers that iterates in insertion order (so that nothing ever depends on a hash). */
#ifndef STEPC_BASE_MAP_H
#define STEPC_BASE_MAP_H

#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

struct map_entry {
    const char *key; /* in the map's arena */
    void *value;
};

/* A zeroed map with .arena set is a valid empty map. Entries are never removed; a value may be set
 * again (or to NULL). */
struct map {
    struct arena *arena;
    struct map_entry *entries; /* in insertion order: for (i = 0; i < m.count; i++) m.entries[i] */
    size_t count, capacity;
    uint64_t *slots; /* open addressing; the key's hash, then index into entries + 1: other keys are rarely looked at */
    size_t slot_count;
};

/* Returns the value, or NULL where the key is absent. */
void *map_get(const struct map *m, const char *key);
bool map_has(const struct map *m, const char *key);
/* Sets key to value; copies the key into the arena on first insertion. */
void map_set(struct map *m, const char *key, void *value);
/* A key not in the map yet: `wish`, `wish_2`... It is in it from now on. */
const char *take_fresh_name(struct map *names, const char *wish);

#endif
