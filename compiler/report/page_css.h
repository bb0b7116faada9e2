/* page.css, embedded when stepc is built. */
#ifndef STEPC_REPORT_PAGE_CSS_H
#define STEPC_REPORT_PAGE_CSS_H

extern const char page_css[];

#endif
