/* What outlives the program: the state of the training, and the curve so far. In files, on systems that have POSIX;
 * elsewhere nothing is kept (a board would hand its flash to stepc_checkpoint_save()). */
#ifndef DIGITS_EXAMPLE_KEEP_H
#define DIGITS_EXAMPLE_KEEP_H

#include "digits.h"
#include <stdbool.h>

typedef struct point { /* of the curve, one an epoch */
    float loss, accuracy;
} point;

/* Goes on from digits.state and digits_curve.csv in the folder: the epochs that they hold through *epochs; 0 if there
 * is no state. False after a message: there is one, but it does not fit. */
bool load(const char *folder, digits_state *state, point *curve, int most, int *epochs);
/* Writes both: whatever happens meanwhile, a whole state is there, the old or the new one. */
bool save(const char *folder, const digits_state *state, const point *curve, int epochs);

#endif
