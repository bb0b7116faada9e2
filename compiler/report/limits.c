/* Does the program fit? What is over a limit is named with what takes most of it. */
#include "report/report_internal.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LARGEST = 3 };

struct item {
    const char *what;
    int64_t bytes;
    size_t order;
};

static int by_bytes(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void note_largest(struct diag *d, const struct report *r, const char *of, struct item *items, size_t count)
{
    struct strbuf b = {.arena = r->arena};
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        items[i].order = i;
    qsort(items, count, sizeof *items, by_bytes);
    for (size_t i = 0; i < count && i < LARGEST; i++)
        strbuf_addf(&b, "%s%s (%" PRId64 " bytes)", i ? ", " : "", items[i].what, items[i].bytes);
    diag_note(d, &LOC_FILE(r->file), "largest in %s: %s", of, strbuf_text(&b));
}

static void note_state(struct diag *d, const struct report *r)
{
    struct item *items = arena_array(r->arena, struct item, r->parameters.count + 1);
    size_t count = 0;
    for (size_t i = 0; i < r->parameters.count; i++)
        if (r->parameters.data[i].role != REPORT_FROZEN)
            items[count++] = (struct item){.what = arena_printf(r->arena, "'%s'", r->parameters.data[i].tensor.name),
                                           .bytes = r->parameters.data[i].tensor.bytes};
    note_largest(d, r, "the state", items, count);
}

/* The entry that needs the most arena, and what is alive when it does. */
static void note_arena(struct diag *d, const struct report *r)
{
    const struct report_entry *most = NULL;
    for (size_t i = 0; i < r->entries.count; i++)
        if (!most || r->entries.data[i].arena_bytes > most->arena_bytes)
            most = &r->entries.data[i];
    if (!most || most->temporaries.count == 0)
        return;
    struct item *items = arena_array(r->arena, struct item, most->temporaries.count);
    size_t count = 0;
    vec_each_ptr(const struct report_temporary, t, &most->temporaries)
        if (t->first <= most->peak && most->peak <= t->last)
            items[count++] = (struct item){.what = arena_printf(r->arena, "'%s'", t->name), .bytes = t->bytes};
    note_largest(d, r, arena_printf(r->arena, "the arena of %s, during kernel %d", most->name, most->peak),
                 items, count);
}

bool report_check_limits(struct diag *d, const struct report *r, const char *ram_option, int64_t max_ram,
                         int64_t max_flash)
{
    bool ok = true;
    if (max_ram >= 0 && r->ram_bytes > max_ram) {
        ok = diag_error(d, &LOC_FILE(r->file),
                        "RAM: %" PRId64 " bytes are needed, %" PRId64 " more than %s %" PRId64 ": state %" PRId64
                        ", arena %" PRId64 "; stack, inputs and outputs are not counted",
                        r->ram_bytes, r->ram_bytes - max_ram, ram_option, max_ram, r->state_bytes, r->arena_bytes);
        note_state(d, r);
        note_arena(d, r);
    }
    if (max_flash >= 0 && r->flash_bytes > max_flash)
        ok = diag_error(d, &LOC_FILE(r->file),
                        "flash: %" PRId64 " bytes of constants are needed, %" PRId64 " more than --max-flash %" PRId64
                        "; code is not counted",
                        r->flash_bytes, r->flash_bytes - max_flash, max_flash);
    return ok;
}
