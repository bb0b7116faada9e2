/* Where the user wrote a node, as PyTorch's exporters note it: by a traceback of Python. */
#ifndef STEPC_BASE_TRACEBACK_H
#define STEPC_BASE_TRACEBACK_H

#include <stdbool.h>
#include <stddef.h>

/* Pieces of the texts they were found in; none is terminated, and `data` is NULL where the text does not say. */
struct text_piece {
    const char *data;
    size_t length;
};

struct written_at {
    struct text_piece file, line, code; /* "model.py", "41", "x = x[mask]" */
    struct text_piece module;           /* "layer1.0.conv1" */
};

/* The innermost line of the user's own code: not of Python, of PyTorch or of what exports. Where there is none, that
 * of an installed package.
 *   trace    the frames of a traceback, the innermost last; or those of PyTorch's older exporter, the innermost first:
 *            /x/model.py(41): forward
 *   scopes   in Python's spelling, the modules around the node and, last, what it is called itself:
 *            ['', 'layer1', 'layer1.0', 'conv2d']
 * Each may be NULL, and any text at all. False: neither says anything. */
bool find_written_at(const char *trace, const char *scopes, struct written_at *out);

#endif
