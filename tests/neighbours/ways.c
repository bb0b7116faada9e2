/* What is written for the models of the tests in other ways than the usual one.
 *   neighbours_ways FOLDER FILE...: writes FOLDER/NAME.txt for each FILE, NAME.onnxtxt
 *
 * Each model, and an inference model prepared for training as well, is compiled with every option of way.c, and for two
 * machines, which its text chooses. A line each: the option, and a hash of the C and of its header, or the errors.
 * tests/costs has the same without options. */
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "change.h"
#include "prepare/prepare.h"
#include "way.h"

#include <stdlib.h>
#include <string.h>

#define MACHINES 2  /* for each model */
#define PROVISIONAL 4 /* the size of dimensions that have a name only */

struct source {
    const char *file, *text;
};

/* The way of that number; false: the model cannot be read, or not be trained. */
static bool tell(FILE *out, const struct source *s, bool trained, uint64_t number)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct map none = {.arena = &a};
    struct model *m;
    struct way w = way_usual("net");
    struct import_options *const import = &w.pipeline.import;
    import->dims = import->shapes = import->bounds = &none;
    import->provisional_dim = PROVISIONAL;
    const struct prepare_options training = {.loss = LOSS_MSE, .class_axis = 1, .learning_rate = 0.5, .first_step = -1,
                                             .gradients = true, .import = import};
    const bool ok = model_read_text(&d, &a, s->file, s->text, strlen(s->text), &m) &&
                    (!trained || prepare_model(&d, &a, m, &training, &(struct strbuf){.arena = &a}));
    if (ok) {
        d.messages.count = 0;
        fprintf(out, "%s%s: ", trained ? "trained, " : "", way_take_option(&w, number));
        fflush(out);
        way_print(out, &d, &a, m, &w);
    }
    arena_free(&a);
    return ok;
}

static void tell_all(FILE *out, const struct source *s)
{
    const uint64_t chosen = hash_bytes(s->text, strlen(s->text)), machines = way_count() - way_option_count();
    for (int trained = 0; trained < 2; trained++) {
        bool ok = true;
        for (size_t i = 0; ok && i < way_option_count(); i++)
            ok = tell(out, s, trained, i);
        for (uint64_t i = 0; ok && i < MACHINES; i++)
            ok = tell(out, s, trained, way_option_count() + (chosen + i * (machines / MACHINES)) % machines);
    }
}

static bool write_file(const char *path, const char *folder)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    unsigned char *content = NULL;
    size_t size;
    const char *const name = arena_strdup(&a, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    const char *const to = arena_printf(&a, "%s/%.*s.txt", folder, (int)strcspn(name, "."), name);
    FILE *out = NULL;
    bool ok = file_read(&d, &a, path, 1 << 20, &content, &size) && (out = fopen(to, "w")) != NULL;
    if (ok) {
        tell_all(out, &(struct source){name, (const char *)content});
        ok = fclose(out) == 0;
    }
    if (!ok)
        printf("%s: cannot be read, or %s not written\n", path, to);
    arena_free(&a);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = true;
    if (argc < 3) {
        fprintf(stderr, "usage: neighbours_ways FOLDER FILE...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        ok &= write_file(argv[i], argv[1]);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
