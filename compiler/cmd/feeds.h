/* --feed NAME=FILE: tensors from files into inputs of an entry. */
#ifndef STEPC_CMD_FEEDS_H
#define STEPC_CMD_FEEDS_H

#include "cmd/cmd.h"
#include "model/model.h"

/* What --feed NAME=FILE gave. A tensor with one leading axis more than the input declares holds one slice per step. */
struct feed {
    const char *name;
    const struct tensor *tensor;
    bool sliced;
    struct shape slice; /* shape of one step */
};
struct feeds {
    VEC(struct feed) list;
    int64_t steps; /* slices of the sliced feeds (all alike), or 0 */
};

/* Reads the files and settles which feeds are sliced; tells import the shapes (and the content of those
 * that are not sliced). */
bool feeds_read(struct session *s, const struct model *m, str_list files, struct import_options *import,
                struct feeds *out);
/* Does an input of the model depend on the dimension that has a range? */
bool feeds_have_range(const struct model *m, const char *name, const struct import_options *import);
/* What feeds an input, or NULL. */
const struct feed *feeds_find(const struct feeds *f, const char *name);
/* The tensor of step `step` for an input (in `a`), or NULL if nothing feeds it. */
const struct tensor *feeds_tensor(const struct feeds *f, const char *name, int64_t step, struct arena *a);

/* *t as the type that the input declares, where every number has a form in it: a note tells. Else an error, which
 * begins with `text`, the option as it was typed. */
bool feeds_convert(struct session *s, const struct model_value_info *vi, const char *text, struct tensor **t) MUST_USE;

/* An input of the main graph or of some algorithm, or NULL. */
const struct model_value_info *feeds_find_input(const struct model *m, const char *name);
/* The map, to be written to: import_options hold it const. A new one where there is none. */
struct map *feeds_writable_map(struct arena *a, const struct map **m);

#endif
