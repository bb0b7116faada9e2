/* Which files a command reads and which it writes, as its arguments and options name them. */
#ifndef STEPC_CMD_FILES_H
#define STEPC_CMD_FILES_H

#include "cmd/cmd.h"
#include "model/model.h"

struct named_file {
    const char *text;     /* for messages: "--csv loss.csv" as it was typed, "the model m.onnx" */
    const char *path;
    const char *option;   /* that names it, or NULL */
    const char *replacer; /* of what is read: the option whose output may be the same file, or NULL */
    bool late;            /* written at the end of a run: that it can be is asked before */
    bool is_stdout;       /* by the name "-": no file */
    bool is_several;      /* a folder, or the beginning of names: the list has the files themselves */
};

typedef VEC(struct named_file) named_files;

/* A file that no option names: `what` is "the header". */
void files_add(struct arena *a, named_files *list, const char *what, const char *path);

/* Adds the model, its external data and all files that options name to be read; of checkpoints that were read those
 * that they consist of. `replacer`: the option of the command that may edit its model in place, or NULL. */
void files_read(struct arena *a, const struct options *o, const char *model, const struct model *m,
                const char *replacer, named_files *out);

/* Adds the files that options name to be written, and what goes to stdout by the name "-". */
void files_written(struct arena *a, const struct options *o, const struct model *m, named_files *out);

/* "NAME=FILE" in two, both of which may have a '=' in them: NAME is the longest beginning that a value of the model is
 * called, inputs, initializers and outputs of nodes; where there is none, the last '=' separates. False without '='. */
bool file_pair(struct arena *a, const struct model *m, const char *text, const char **name, const char **path);

/* An error for each output that is a file that is read, or another output: it would be lost, or mixed with the other
 * on stdout; and for each that an option names and that cannot stand there (file_check_place). To be asked before
 * anything is written, and once more when a checkpoint was read, since only its reader knows its files. Files are
 * compared by what their names lead to (file_is_same). `run --save` may go to the file of --load. */
bool files_check(struct diag *d, const named_files *read, const named_files *written) MUST_USE;

/* All of it, for a command whose outputs are those that options name. */
bool files_check_options(struct session *s, const struct options *o, const char *model, const struct model *m,
                         const char *replacer) MUST_USE;

#endif
