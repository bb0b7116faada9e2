/* Commands: one file each. Only they print results and choose files. */
#ifndef STEPC_CMD_CMD_H
#define STEPC_CMD_CMD_H

#include "base/diag.h"
#include "cmd/options.h"
#include "engine/engine.h"

enum { EXIT_DONE = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

/* Everything a command allocates, and its messages. */
struct session {
    struct arena arena;
    struct diag diag;
    const struct command *command;
};

struct command {
    const char *name;
    const char *arguments; /* "MODEL -o OUT.c" */
    const char *summary;   /* one line */
    const char *example;   /* a command line that works */
    const struct option_spec *const *options;
    const char *notes; /* more for 'stepc help COMMAND', lines of text; may be NULL */
    /* Returns an EXIT_..; EXIT_BAD after diag_usage() ends as EXIT_USAGE. */
    int (*run)(struct session *s, const struct options *o);
};

extern const struct command command_compile, command_prepare, command_check, command_inspect, command_run,
    command_compare, command_verify, command_ops, command_convert, command_strip, command_merge, command_expand;

/* Runs the command; prints its messages, frees everything. */
int run_command(const struct command *c, int argc, char **argv);
/* For commands that run in a process of their own. */
void session_begin(struct session *s, const struct command *c);
static inline int exit_status(bool ok)
{
    return ok ? EXIT_DONE : EXIT_BAD;
}

/* Shared options of commands that read a model: --dim, --shape, --set, --strict. */
extern const struct option_spec model_options[];
bool read_import_options(struct session *s, const struct options *o, struct import_options *out);
/* For commands that take no range of a dimension. */
bool refuse_range(struct session *s, const struct import_options *import, const char *command);
/* Reads the model, fixes the inputs that --set names (warns of those that it has not), keeps --outputs. */
bool read_set_model(struct session *s, const struct options *o, const struct import_options *import, const char *path,
                    struct model **out) MUST_USE;
/* The same; warns of --dim and --shape that name nothing in it, too. */
bool read_model(struct session *s, const struct options *o, const struct import_options *import, const char *path,
                struct model **out) MUST_USE;
/* `ok`; where it is false, outputs may be named that do without what is not supported. */
bool may_need_outputs(struct session *s, const struct import_options *import, struct model *m, bool ok);
/* step if there is one, else infer. */
const char *default_entry(const struct model *m);
/* What --dim and --shape may name; one of the inputs whose sizes are numbers, "'x' is [16,64]", or NULL. */
struct size_names {
    str_list dims, inputs;
    const char *of_numbers;
};
void add_size_names(struct session *s, const struct model *m, struct size_names *names);
void warn_of_unknown_sizes(struct session *s, const struct options *o, const char *path,
                           const struct size_names *names);
/* How C is emitted, for commands that do: --machine, --optimize, --simd, --ram (rows of a table of options), the
 * machine's row giving what --optimize and --simd do not say. What is wrong is reported. */
#define CODE_OPTIONS                                                                                                   \
    {"machine", 0, OPTION_TEXT, "NAME",                                                                                \
     "only what this machine uses, for instance cortex-m4 or x86-64-v3; 'stepc help machines' lists them"},            \
    {"optimize", 0, OPTION_TEXT, "speed|size",                                                                         \
     "for few cycles (default), or for few instructions, as on microcontrollers"},                                     \
    {"simd", 0, OPTION_TEXT, "auto|none|4|8|16",                                                                       \
     "floats of a vector: as the target has (default), no vectors at all, or so many"},                                \
    {"ram", 0, OPTION_TEXT, "SIZE",                                                                                    \
     "state and arena together, in bytes, or as 48K, 2M: what would be kept for long is computed again until they "    \
     "fit; refused if they cannot"}
bool read_code_options(struct diag *d, const struct options *o, struct pipeline_options *out);
/* --opset of what is expanded. What is wrong is reported. */
bool read_opset(struct diag *d, const struct options *o, int *out);
/* `stepc help machines`. */
void print_machines(void);
/* The only positional argument; NULL after a message. */
const char *single_argument(const struct session *s, const struct options *o, const char *what);
/* The file to write, -o OUT.onnx or OUT.onnxtxt; NULL after a message. */
const char *model_to_write(const struct session *s, const struct options *o);
/* A non-negative number; reports wrong usage to stderr. */
bool option_count(const struct options *o, const char *name, long long fallback, long long *out);
/* "48K" -> 49152: a number from 1, perhaps with K, M or G of powers of 1024. */
bool parse_size(const char *text, size_t *out);
/* The same of an option; reports wrong usage to stderr. */
bool option_size(const struct options *o, const char *name, int64_t fallback, int64_t *out);
/* The options that change the emitted text, as typed, in a fixed order. Those of training are in the model's digest. */
const char *changing_options_text(struct arena *a, const struct options *o);

#endif
