/* What the file itself or the user says of names: parameters and buffers, as PyTorch's named_parameters() and
 * named_buffers() list them. */
#ifndef STEPC_PREPARE_KNOWN_NAMES_H
#define STEPC_PREPARE_KNOWN_NAMES_H

#include "base/map.h"
#include "base/str.h"
#include "model/model.h"

enum known_kind { KNOWN_NOTHING, KNOWN_PARAMETER, KNOWN_BUFFER, KNOWN_FROZEN };

struct known_names {
    struct map kinds; /* name -> const enum known_kind * */
    size_t parameters;
    bool says_export;   /* export.py has written the file: nothing is lost */
    const char *source; /* "the file's metadata", "--train @FILE" */
};

/* Keys of the metadata that examples/pytorch/export.py writes: a name a line. */
#define METADATA_PARAMETERS "stepc.parameters"
#define METADATA_BUFFERS "stepc.buffers"
#define METADATA_FROZEN "stepc.frozen"
#define METADATA_FROZEN_STATISTICS "stepc.frozen_statistics" /* running means that are not updated */
#define METADATA_DETACHED "stepc.detached" /* tensors, see detached.h */
/* Keys of notes that preparation leaves for strip_model(): a name a line as well. */
#define METADATA_WIDENED "stepc.prepare.float_weights"       /* initializers, see masters.h */
#define METADATA_LISTED_INPUTS "stepc.prepare.weight_inputs" /* inputs that initializers stand in for */

/* Adds the lines of that key of the model's metadata; false: it has no such key. */
bool metadata_lines(struct arena *a, const struct model *m, const char *key, str_list *out);
/* Adds the names that all such lists have. */
void metadata_all_names(struct arena *a, const struct model *m, str_list *out);
/* Tensors get new names: those that lists in the metadata have go along. */
void metadata_rename(struct arena *a, struct model *m, const struct map *to);

/* Reads the model's metadata: those of export.py, or those that PyTorch's newer exporter keeps with every value. */
void known_names_read(struct arena *a, const struct model *m, struct known_names *out);
void known_names_add_parameter(struct known_names *k, const char *name);
enum known_kind known_kind_of(const struct known_names *k, const char *name);

/* The file's lines without blanks around them, without empty ones and those that begin with '#'. */
bool read_lines(struct diag *d, struct arena *a, const char *path, str_list *out) MUST_USE;

#endif
