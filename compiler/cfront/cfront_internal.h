/* What the files of cfront/ share; included nowhere else. */
#ifndef STEPC_CFRONT_CFRONT_INTERNAL_H
#define STEPC_CFRONT_CFRONT_INTERNAL_H

#include "cfront/cfront.h"
#include <clang-c/Index.h>

/* Stand-ins for the headers of the C library that emitted code and templates include, below CFRONT_SYSTEM_DIR. Plain
 * declarations over what the compiler predefines: right for each target. */
#define CFRONT_SYSTEM_DIR "/stepc-virtual"
#define CFRONT_MODEL_DIR CFRONT_SYSTEM_DIR "/model/" /* emitted text and its headers */
extern const struct cfront_file cfront_system_headers[]; /* names are whole paths; ends with a NULL name */

typedef VEC(const char *) cfront_arguments;
typedef VEC(struct cfront_file) cfront_files;

struct cfront_unit {
    CXIndex index;
    CXTranslationUnit tu; /* NULL: clang gave up */
};

/* Parses `path`, which may be one of `files`, beside the stand-ins. Clang's diagnostics become messages about a file
 * that is called `name`, warnings errors where `strict`; those without a place (the driver's remarks) are dropped
 * unless they are errors. Returns whether there was no error: `d` drops repetitions, so its count does not say. */
bool cfront_open(struct diag *d, const char *path, const char *name, const cfront_arguments *args,
                 const cfront_files *files, bool strict, struct cfront_unit *out) MUST_USE;
void cfront_close(struct cfront_unit *u);

#endif
