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
unsigned cfront_system_header_count(void);

/* Appends the stand-ins to files[], which has room for cfront_system_header_count() more. */
unsigned cfront_add_system_headers(struct CXUnsavedFile *files, unsigned count);

/* Hands clang's diagnostics of `tu` to `d`, with file names as `rename` (from, to) says if not NULL. Warnings become
 * errors where `strict`. Messages without a place (the driver's remarks) are dropped unless they are errors. Returns
 * whether there was no error: `d` drops repetitions, so its count does not say. */
bool cfront_report(struct diag *d, CXTranslationUnit tu, bool strict, const char *from, const char *to);

/* The CXString's text in the arena; disposes the string. */
const char *cfront_text(struct arena *a, CXString s);

#endif
