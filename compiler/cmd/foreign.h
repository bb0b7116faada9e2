/* Options of commands that read checkpoints of frameworks (foreign/checkpoint.h): how names and matrices of the file
 * become those of the model. */
#ifndef STEPC_CMD_FOREIGN_H
#define STEPC_CMD_FOREIGN_H

#include "cmd/cmd.h"
#include "foreign/fill.h"

#define FOREIGN_PARAMETERS                                                                                             \
    {                                                                                                                  \
        "parameters", 0, OPTION_TEXT, "FILE",                                                                          \
            "names of what PyTorch's optimizer updates, in its order, one a line (default: as checkpoint or model "    \
            "say)"                                                                                                     \
    }
#define FOREIGN_STEPS                                                                                                  \
    {                                                                                                                  \
        "steps-made", 0, OPTION_TEXT, "N",                                                                             \
            "how many steps the checkpoint has behind it, where it does not say (SGD counts none): schedules go on "   \
            "there"                                                                                                    \
    }

/* --rename, --transpose, --partial. */
bool read_weight_options(struct session *s, const struct options *o, struct weight_options *out) MUST_USE;
/* These, and --parameters, --steps-made and --reset. */
bool read_fill_options(struct session *s, const struct options *o, struct fill_options *out) MUST_USE;
/* checkpoint_fill(), which is told of the model's sums. */
bool fill_model(struct session *s, struct model *m, struct checkpoint *c, struct fill_options *fill,
                struct strbuf *report, struct filled *out) MUST_USE;
/* An error where filling has set nothing. */
bool refuse_nothing(struct session *s, const struct filled *filled, const char *path) MUST_USE;
/* Reads the checkpoint and fills the model. What is to be told is added to *report. */
bool fill_from(struct session *s, const struct options *o, struct model *m, const char *path, struct strbuf *report,
               struct filled *out) MUST_USE;

#endif
