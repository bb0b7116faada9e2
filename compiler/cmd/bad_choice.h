/* A label or an index that is out of range ends an entry: which of what was fed is it? */
#ifndef STEPC_CMD_BAD_CHOICE_H
#define STEPC_CMD_BAD_CHOICE_H

#include "cmd/run_data.h"

/* `inputs`: those of the entry's call that failed, where: "step 3". `data`, `order` and `batch`: as for data_batch(),
 * of inputs that are data sets; data may be NULL. Adds a note to the error for the first element of an integer input by
 * which a node cannot choose; where there is none, nothing. */
void explain_bad_choice(struct session *s, const char *where, const struct entry *entry,
                        const struct tensor *const *inputs, const struct data *data, const int64_t *order,
                        int64_t batch);

#endif
