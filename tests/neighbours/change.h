/* Models with one thing changed: all changes are counted as they are come by, and one of them is made. */
#ifndef STEPC_TESTS_CHANGE_H
#define STEPC_TESTS_CHANGE_H

#include "base/diag.h"
#include "model/model.h"
#include <stdio.h>

struct op_def;

struct change {
    struct arena *arena;
    int count, wanted;
    const char *name; /* NULL until it was made */
};

/* What attributes are set to: words that some operator knows; NULL-terminated. */
extern const char *const change_texts[];

/* Is this the change that is wanted? The text is its name then. */
bool change_here(struct change *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The type or a dimension of an input. */
void change_input(struct change *c, struct model_value_info *v);
/* Elements of a constant, which are called `name`. */
void change_tensor(struct change *c, const char *name, struct tensor *t);
/* An attribute that is there. */
void change_attr(struct change *c, struct model_node *n, size_t at);
/* Node number `at`, where it is a Constant, becomes an input: sizes may follow from data. */
void change_constant(struct change *c, struct model_graph *g, size_t at);

/* A message and where it is: "g/h (Relu) 3:7: text". */
void print_message(FILE *out, const struct diag_message *m);
/* All, a line each, further in. */
void print_messages(FILE *out, const struct diag *d);

/* Calls `tell` for each operator whose name matches one of the patterns (NULL-terminated; all without), each in a
 * process of its own, and with the file FOLDER/OPERATOR.txt. false: one ended otherwise, which is told. */
bool write_operators(const char *folder, char *const *patterns,
                     void (*tell)(FILE *out, const struct op_def *def, const void *user), const void *user);

/* The same for files: calls `tell` with the name and the content of each, "net.onnxtxt", and FOLDER/net.txt, which goes
 * again where it returns false. false: one cannot be read, or not be written. */
bool write_files(const char *folder, char *const *paths,
                 bool (*tell)(FILE *out, const char *name, const char *content, const void *user), const void *user);

#endif
