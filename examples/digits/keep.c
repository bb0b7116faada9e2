#include "keep.h"

#if defined(__unix__) || defined(__APPLE__)

#include "checkpoint.h"

#include <stdio.h>

enum { MOST_PATH = 1024 };
static union {
    stepc_max_align align;
    unsigned char bytes[4096];
} work; /* of the checkpoint functions: more makes larger reads and writes */

static bool path_of(char path[MOST_PATH], const char *folder, const char *name)
{
    const int n = snprintf(path, MOST_PATH, "%s/%s", folder, name);
    return n > 0 && n < MOST_PATH;
}

static bool fail(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    return false;
}

static bool exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    return f != NULL && fclose(f) == 0;
}

static int read_curve(const char *path, point *curve, int most)
{
    FILE *f = fopen(path, "r");
    int epochs = 0, number;
    if (f == NULL)
        return 0;
    if (fscanf(f, "epoch,loss,accuracy\n") == 0)
        while (epochs < most && fscanf(f, "%d,%g,%g\n", &number, &curve[epochs].loss, &curve[epochs].accuracy) == 3)
            epochs++;
    fclose(f);
    return epochs;
}

bool load(const char *folder, digits_state *state, point *curve, int most, int *epochs)
{
    char path[MOST_PATH], table[MOST_PATH];
    *epochs = 0;
    if (!path_of(path, folder, "digits.state") || !path_of(table, folder, "digits_curve.csv"))
        return fail(folder, "the path is too long");
    if (!exists(path))
        return true;
    const stepc_status status = stepc_checkpoint_load_file(&digits_model, state, path, NULL, &work, sizeof work);
    if (status != STEPC_OK)
        return fail(path, stepc_status_text(status));
    *epochs = read_curve(table, curve, most);
    return true;
}

bool save(const char *folder, const digits_state *state, const point *curve, int epochs)
{
    char path[MOST_PATH];
    if (!path_of(path, folder, "digits_curve.csv"))
        return fail(folder, "the path is too long");
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return fail(path, "cannot be written");
    fprintf(f, "epoch,loss,accuracy\n");
    for (int i = 0; i < epochs; i++)
        fprintf(f, "%d,%.9g,%.9g\n", i + 1, (double)curve[i].loss, (double)curve[i].accuracy);
    if (fclose(f) != 0)
        return fail(path, "cannot be written");
    if (!path_of(path, folder, "digits.state"))
        return fail(folder, "the path is too long");
    const stepc_status status = stepc_checkpoint_save_file(&digits_model, state, path, &work, sizeof work);
    return status == STEPC_OK || fail(path, stepc_status_text(status));
}

#else

bool load(const char *folder, digits_state *state, point *curve, int most, int *epochs)
{
    (void)folder, (void)state, (void)curve, (void)most;
    *epochs = 0;
    return true;
}

bool save(const char *folder, const digits_state *state, const point *curve, int epochs)
{
    (void)folder, (void)state, (void)curve, (void)epochs;
    return true;
}

#endif
