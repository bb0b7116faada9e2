/* Text inside HTML, SVG and XML. */
#ifndef STEPC_REPORT_MARKUP_H
#define STEPC_REPORT_MARKUP_H

#include "base/str.h"

/* Any text as character data or as the content of a quoted attribute: & < > " ' become entities, control characters and
 * what else XML forbids are shown as \xNN. */
const char *markup_text(struct arena *a, const char *text);

#endif
