#include "tune/tune.h"

void tune_replace(const struct tune *t, stmt_list *body,
                  bool (*take)(const struct tune *t, struct stmt *s, struct tree_builder *b))
{
    stmt_list all = {0};
    for (size_t i = 0; i < body->count; i++) {
        struct stmt *const s = (struct stmt *)(uintptr_t)body->data[i];
        stmt_list made = {0};
        struct tree_builder b = tree_builder(t->arena, &made);
        if (take(t, s, &b)) {
            tune_replace(t, &made, take);
        } else {
            tune_replace(t, &s->body, take);
            tune_replace(t, &s->otherwise, take);
            vec_push(t->arena, &made, s);
        }
        for (size_t k = 0; k < made.count; k++)
            vec_push(t->arena, &all, made.data[k]);
    }
    *body = all;
}

static const struct pass {
    const char *name;
    void (*run)(const struct tune *t, stmt_list *body);
} passes[] = {
#define TUNE_PASS(name, wanted) {#name, tune_##name},
#include "tune/passes.def"
#undef TUNE_PASS
};

enum { PASS_COUNT = sizeof passes / sizeof *passes };

void tune_functions(const struct tune *t, struct tree_function *const *functions, size_t count,
                    void (*after)(void *user, const char *pass), void *user)
{
    const bool wanted[PASS_COUNT] = {
#define TUNE_PASS(name, wanted) wanted,
#include "tune/passes.def"
#undef TUNE_PASS
    };
    for (size_t p = 0; p < PASS_COUNT; p++) {
        if (!wanted[p])
            continue;
        for (size_t i = 0; i < count; i++)
            passes[p].run(t, &functions[i]->body);
        after(user, passes[p].name);
    }
}
