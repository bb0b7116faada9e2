/* The runtime as files, beside emitted ones that are to be compiled. */
#ifndef STEPC_ENGINE_RUNTIME_FILES_H
#define STEPC_ENGINE_RUNTIME_FILES_H

#include "base/diag.h"

/* Writes the headers into a directory of temp_directory(). */
bool runtime_files_write(struct diag *d, struct arena *a, const char *dir) MUST_USE;

#endif
