/* Texts of the command line such as adam:alpha=0.9,epsilon=1e-6: a name out of a table, then numbers by key. Internal
 * to prepare/. */
#ifndef STEPC_PREPARE_SPEC_H
#define STEPC_PREPARE_SPEC_H

#include "base/diag.h"
#include "base/vec.h"
#include <stddef.h>

enum { SPEC_KEYS = 9 };

/* A number within [low, high], or [low, high) where `open`. */
struct spec_key {
    const char *name;
    size_t field; /* offset in what is set: of a double, of a spec_list for a list */
    double usual, low, high;
    bool open, whole, required; /* required: no usual value */
    bool list;                  /* one number or more: KEY=NUMBER,NUMBER */
};

typedef VEC(double) spec_list;

struct spec_rule {
    const char *name;
    struct spec_key keys[SPEC_KEYS + 1]; /* ends with one without a name */
};

struct spec_table {
    const char *option, *noun; /* of messages: "--optimizer", "optimizer" */
    const struct spec_rule *rules;
    size_t count;
};

/* The number of `name` in `names` (count entries). A name that is not there is reported with the one it may have meant,
 * or with all. */
bool spec_name(struct diag *d, const char *option, const char *noun, const char *name, const char *const *names,
               size_t count, size_t *out);

/* NAME[:KEY=NUMBER[,KEY=NUMBER]...], lists are KEY=NUMBER,NUMBER: *rule becomes the number of NAME's rule, and every
 * key of that rule is set in *fields, as given or as usual. Reports each unknown name and key, each number out of range
 * and each required one that is missing. */
bool spec_parse(struct diag *d, struct arena *a, const struct spec_table *t, const char *text, size_t *rule,
                void *fields);

/* :KEY=NUMBER... alone: sets the keys of `rule` in *fields. */
bool spec_parse_keys(struct diag *d, struct arena *a, const char *option, const struct spec_rule *rule,
                     const char *text, void *fields);

/* The field of key k, which is no list, in *fields. */
double *spec_field(void *fields, const struct spec_key *k);

#endif
