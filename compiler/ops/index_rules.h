/* What the operators share that take or put elements by index: Gather, GatherElements, GatherND, ScatterElements,
 * ScatterND... A negative index counts from the end; one outside of [-size, size) is an error: at compile time where
 * the indices are known, else when the entry runs, before anything is written. */
#ifndef STEPC_OPS_INDEX_RULES_H
#define STEPC_OPS_INDEX_RULES_H

#include "ops/move_rules.h"

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* Which elements of an input are meant: of each `width` that follow one another the one in `column`. */
struct index_column {
    int64_t width, column;
};
#define INDEX_ALL ((struct index_column){1, 0})

/* Reports an element of input i that is known and no index into `size` elements. */
bool index_infer_known(struct infer_ctx *c, int i, struct index_column of, int64_t size);

/* Input 1 indexes single elements of input 0 along the axis: it has the same rank and no greater dimension beside that
 * axis. Reports what is wrong, an index that is known too. */
bool index_infer_elements(struct infer_ctx *c, int axis);

/* The greatest number of elements into which all of a point's indices are valid. */
int64_t index_least(const int64_t *dim, int count);

/* From 0 on. */
int64_t index_wrap(int64_t index, int64_t size);

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Element k of input i as an index from 0 on; false after a report. */
bool index_read(const struct eval_ctx *c, int i, int64_t k, int64_t size, int64_t *index);

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* The index in v at the current point, as a kernel uses it: int64, from 0 on. */
const struct expr *index_load(struct lower_ctx *c, const struct view *v, int64_t size);
/* The kernel refuses what is no index among those elements of input i, which v shows, unless it is certain that all are
 * right: because they are known, or because of what computes them. */
void index_add_check(struct lower_ctx *c, int i, const struct view *v, struct index_column of, int64_t size);

#endif
