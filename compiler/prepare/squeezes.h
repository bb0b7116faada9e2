/* A Squeeze without axes takes out a batch of one sample, too: what follows it has then one dimension less than for any
 * other batch. PyTorch's exporter writes one for x.squeeze(). */
#ifndef STEPC_PREPARE_SQUEEZES_H
#define STEPC_PREPARE_SQUEEZES_H

#include "prepare/batch_axis.h"

/* Such nodes of the main graph get axes, all but those of the batch; each is told in a note. Declarations that have
 * another rank then are left out. */
void keep_batch_of_squeezes(struct diag *d, struct arena *a, struct model *m, const struct import_options *o);

#endif
