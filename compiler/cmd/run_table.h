/* The scalars of a run, a row a step: as CSV while it runs, and kept for the plot. */
#ifndef STEPC_CMD_RUN_TABLE_H
#define STEPC_CMD_RUN_TABLE_H

#include "base/vec.h"
#include "cmd/cmd.h"

struct run_column {
    const char *name;
    enum dtype dtype;  /* decides how many digits are written */
    VEC(double) x, y;  /* kept for the plot */
    double value;      /* of the row being made */
    bool has_value;
};

struct run_table {
    struct arena *arena;
    VEC(struct run_column) columns;
    bool epochs; /* a column says which epoch a step belongs to */
    bool keep;
    int csv; /* -1: none, or no more */
    bool csv_is_regular;
    const char *csv_path, *svg_path;
};

/* Adds a column; returns its number. Before the first row. */
size_t table_add_column(struct run_table *t, const char *name, enum dtype dtype);
/* Opens the CSV file and writes its first line: step[,epoch],NAME... Paths may be NULL. */
bool table_open(struct run_table *t, struct diag *d, const char *csv_path, const char *svg_path) MUST_USE;
void table_set(struct run_table *t, size_t column, double value);
/* Ends the row; columns not set since the last one stay empty in it. Steps and epochs count from 0. When this returns
 * the CSV file has the whole row; of one that could not be written nothing is left in a regular file. */
bool table_end_row(struct run_table *t, struct diag *d, int64_t step, int64_t epoch) MUST_USE;
/* Closes the CSV file and draws the plot. */
bool table_close(struct run_table *t, struct diag *d, const char *title) MUST_USE;

/* "%.9g" or "%.17g" or an integer, as the type needs to be read back. */
const char *table_value_text(struct arena *a, enum dtype dtype, double value);

#endif
