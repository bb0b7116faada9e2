#include "lower/items.h"

/* ITEM_REGION is the last. */
enum { ITEM_KINDS = ITEM_REGION + 1 };

#define ELEMENT(list, i) ((i) < (list)->count ? &(list)->data[i] : NULL)

/* What kernels of one kind have. */
static bool own_item(const struct kernel *k, struct kernel_item *it)
{
    const size_t at = it->next;
    switch (k->kind) {
    case KERNEL_LOOPS: return false;
    case KERNEL_TEMPLATE:
        if (it->kind == ITEM_INT && at < (size_t)k->tmpl.int_count)
            it->integer = &k->tmpl.ints[at];
        else if (it->kind == ITEM_OPERAND && at < (size_t)k->tmpl.operand_count)
            it->operand = &k->tmpl.operands[at];
        else
            return false;
        return true;
    case KERNEL_STAGES:
        if (it->kind != ITEM_STAGE || at == k->blocks.stages.count)
            return false;
        it->stage = k->blocks.stages.data[at];
        return true;
    case KERNEL_REGION: it->region = k->region; return it->kind == ITEM_REGION && at == 0;
    }
    UNREACHABLE("kernel of kind %d", (int)k->kind);
}

static bool loop_item(const struct kernel *k, struct kernel_item *it)
{
    if (it->next == (size_t)k->outer_rank)
        return false;
    it->loop = (struct item_loop){k->outer_extent[it->next], &k->outer_late[it->next]};
    return true;
}

/* The item of this kind that comes next; false: there is none. */
static bool item_of_kind(const struct kernel *k, struct kernel_item *it)
{
    switch (it->kind) {
    case ITEM_LOOP: return loop_item(k, it);
    case ITEM_SCRATCH: it->scratch = &k->scratch; return k->scratch.buffer && it->next == 0;
    case ITEM_CHECK: it->check = ELEMENT(&k->checks, it->next); return it->check;
    case ITEM_PART: it->part = ELEMENT(&k->parts, it->next); return it->part;
    case ITEM_OWN: it->own = ELEMENT(&k->own, it->next); return it->own;
    case ITEM_INT:
    case ITEM_OPERAND:
    case ITEM_STAGE:
    case ITEM_REGION: return own_item(k, it);
    }
    UNREACHABLE("item of kind %d", (int)it->kind);
}

bool kernel_next(const struct kernel *k, struct kernel_item *it)
{
    while ((int)it->kind < ITEM_KINDS && !item_of_kind(k, it)) {
        it->kind++;
        it->next = 0;
    }
    it->at = it->next++;
    return (int)it->kind < ITEM_KINDS;
}

bool kernel_any(const struct kernel *k, bool (*f)(const struct expr *e, void *data), void *data)
{
    bool any = false;
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_OPERAND: any = any || (it.operand->value && expr_any(it.operand->value, f, data)); break;
        case ITEM_PART: any = any || part_any(it.part, f, data); break;
        case ITEM_STAGE: any = any || kernel_any(it.stage, f, data); break;
        case ITEM_LOOP:
        case ITEM_INT:
        case ITEM_SCRATCH:
        case ITEM_CHECK:
        case ITEM_OWN:
        case ITEM_REGION: break;
        }
    return any;
}
