/* Command lines: each command declares its options in a table, from which parsing and `stepc help COMMAND` follow. */
#ifndef STEPC_CMD_OPTIONS_H
#define STEPC_CMD_OPTIONS_H

#include "base/diag.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

enum option_kind {
    OPTION_FLAG, /* --quiet */
    OPTION_TEXT, /* --name ID; the last one wins */
    OPTION_LIST, /* --dim NAME=SIZE, any number of times */
    OPTION_GROUP /* no option: a heading of `stepc help COMMAND`, see OPTION_HEADING */
};

struct option_spec {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* one-letter form, or 0 */
    enum option_kind kind;
    const char *placeholder; /* "FILE" */
    const char *help;
};

#define OPTION_HEADING(text) {"", 0, OPTION_GROUP, NULL, text}

struct options {
    struct arena *arena;
    struct map values; /* name -> str_list * */
    str_list arguments; /* what is not an option */
};

/* False after a message to stderr (wrong usage: exit status 2). */
bool options_parse(struct arena *a, const char *command, const struct option_spec *const *tables, int argc, char **argv,
                   struct options *out);
bool option_given(const struct options *o, const char *name);
const char *option_text(const struct options *o, const char *name); /* NULL where absent */
str_list option_list(const struct options *o, const char *name);
/* The number of the option's text among `names`, which NULL ends; 0 where it is not given, or, after an error
 * (diag_usage) that names them all, *ok false. */
int option_choice(struct diag *d, const struct options *o, const char *name, const char *const *names, bool *ok);
/* "a, b or c" */
const char *choices_text(struct arena *a, const char *const *names);
/* "NAME=VALUE" in two; false without '='. The last '=' separates, since names may hold one. Of NAME=FILE see
 * file_pair() in cmd/files.h. */
bool option_pair(struct arena *a, const char *text, const char **name, const char **value);
void options_print(const struct option_spec *const *tables);

#endif
