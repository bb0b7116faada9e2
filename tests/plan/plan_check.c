/* usage: plan_check [--orders N] [--size N] MODEL...      --size: of every axis that has only a name, default 8
 *
 * Holds every entry of the models' plans against N random legal orders: none has a lower peak. And the plan against
 * itself: what lives at the same time does not overlap, what takes another's place lies there, packing is within
 * 1.05 of its bound. */
#include "base/str.h"
#include "engine/pipeline.h"
#include "graph/op_def.h"
#include "lower/lower.h"
#include "fuse/fuse.h"
#include "model/model.h"
#include "plan/schedule.h"

#include <inttypes.h>
#include <stdio.h>

static int failed;

static void fail(const char *entry, const char *what)
{
    printf("FAIL %s: %s\n", entry, what);
    failed = 1;
}

/* ---- the plan against itself ------------------------------------------------------------------------------------- */

static size_t bytes_of(const struct buffer *b)
{
    return (size_t)b->count * dtype_size(b->dtype);
}

static bool overlap(const struct plan *p, const struct buffer *a, const struct buffer *b)
{
    const struct plan_life *x = &p->life[a->id], *y = &p->life[b->id];
    return x->first >= 0 && y->first >= 0 && x->first <= y->last && y->first <= x->last &&
           a->arena_offset < b->arena_offset + bytes_of(b) && b->arena_offset < a->arena_offset + bytes_of(a);
}

static void check_places(const char *entry, const struct plan *p)
{
    const struct lowered *l = p->lowered;
    for (size_t i = 0; i < l->buffers.count; i++) {
        const struct buffer *a = l->buffers.data[i];
        if (a->kind != BUFFER_TEMP || p->life[i].first < 0)
            continue;
        if (a->arena_offset % PLAN_ALIGN != 0 || a->arena_offset + bytes_of(a) > p->arena_bytes)
            fail(entry, "a temporary is not inside the arena");
        for (size_t j = 0; j < i; j++) {
            const struct buffer *b = l->buffers.data[j];
            const bool takes_over = a->place_of == b || b->place_of == a;
            if (takes_over ? a->arena_offset != b->arena_offset : b->kind == BUFFER_TEMP && overlap(p, a, b))
                fail(entry, "two temporaries overlap while both live, or one does not take the other's place");
        }
    }
    if ((double)p->arena_bytes > 1.05 * (double)p->bound_bytes)
        fail(entry, "the arena is more than 1.05 of the bytes alive at once");
}

/* ---- the order against others ------------------------------------------------------------------------------------ */

static void check_order(struct diag *d, const struct entry *e, const struct plan *p, int orders)
{
    struct lowered *l;
    int64_t best = INT64_MAX;
    if (!lower_entry(d, d->arena, e, (struct lower_options){0}, &l)) {
        fail(e->name, "is not lowered again");
        return;
    }
    fuse_entry(l, false);
    for (int i = 0; i < orders; i++) {
        int64_t peak = 0;
        if (!schedule_at_random(d, l, (uint64_t)i + 1) || !schedule_peak(d, l, &peak))
            fail(e->name, "has no order");
        best = peak < best ? peak : best;
    }
    printf("%-12s %4zu kernels, alive at once %9zu bytes (best of %d orders: %" PRId64 "), arena %zu\n", e->name,
           l->kernels.count, p->bound_bytes, orders, best, p->arena_bytes);
    if (orders > 0 && (int64_t)p->bound_bytes > best)
        fail(e->name, "a random order needs less");
}

static void check_model(struct diag *d, const char *path, const struct import_options *import, int orders)
{
    struct arena *a = d->arena;
    const struct pipeline_options o = {.name = "model", .import = *import};
    struct model *m;
    struct program *p;
    struct plan **plans;
    printf("== %s\n", path);
    if (!model_read(d, a, path, &m) || !pipeline_canonical(d, a, m, &o, &p) || !pipeline_plans(d, a, p, &o, &plans)) {
        fail(path, "cannot be planned");
        diag_print(d, stdout);
        return;
    }
    for (size_t i = 0; i < p->entries.count; i++) {
        check_places(p->entries.data[i].name, plans[i]);
        check_order(d, &p->entries.data[i], plans[i], orders);
    }
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct import_options import = {.provisional_dim = 8};
    long long orders = 1000, size;
    int models = 0;
    for (int i = 1; i < argc; i++) {
        struct diag d = {.arena = &arena};
        if (str_equal(argv[i], "--orders") && i + 1 < argc && str_to_int64(argv[i + 1], &orders)) {
            i++;
        } else if (str_equal(argv[i], "--size") && i + 1 < argc && str_to_int64(argv[i + 1], &size)) {
            import.provisional_dim = size;
            i++;
        } else {
            check_model(&d, argv[i], &import, (int)orders);
            models++;
        }
    }
    arena_free(&arena);
    return failed || models == 0;
}
