#include "base/diag.h"
#include "base/clean.h"
#include "base/str.h"
#include "base/traceback.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* More errors (or warnings) than this are counted but not kept: an enemy's file can cause millions, and every new
 * message is compared with the kept ones. */
enum { MOST_KEPT = 10 * DIAG_MAX_PRINTED };

enum { LINE_COLUMNS = 120 }; /* of a longer source line only the part around the caret is shown */

static bool same_place(const struct loc *a, const struct loc *b)
{
    return a->index == b->index && a->line == b->line && a->col == b->col && str_equal(a->file, b->file) &&
           str_equal(a->graph, b->graph) && str_equal(a->node, b->node) && str_equal(a->op, b->op);
}

static bool is_repetition(const struct diag *d, enum diag_severity severity, const struct loc *at, const char *text)
{
    vec_each_ptr(const struct diag_message, m, &d->messages)
        if (m->severity == severity && same_place(&m->loc, at) && strcmp(m->text, text) == 0)
            return true;
    return false;
}

/* Keeps a message unless it says nothing new, and counts it. */
static void record(struct diag *d, enum diag_severity severity, bool unsupported, const struct loc *at, const char *fmt,
                   va_list args)
{
    assert(d->arena != NULL);
    size_t *counter = severity == DIAG_ERROR ? &d->errors : &d->warnings;
    if (severity != DIAG_NOTE && *counter >= MOST_KEPT) {
        ++*counter;
        d->skip_notes = true;
        return;
    }
    const struct diag_message message = {.severity = severity,
                                         .unsupported = unsupported,
                                         .loc = at != NULL ? *at : (struct loc){.index = -1},
                                         .text = arena_vprintf(d->arena, fmt, args)};
    if (severity != DIAG_NOTE) {
        d->skip_notes = is_repetition(d, severity, &message.loc, message.text);
        if (d->skip_notes)
            return;
        ++*counter;
    }
    vec_push(d->arena, &d->messages, message);
}

bool diag_errorv(struct diag *d, const struct loc *at, const char *fmt, va_list args)
{
    record(d, DIAG_ERROR, false, at, fmt, args);
    return false;
}

bool diag_error(struct diag *d, const struct loc *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    diag_errorv(d, at, fmt, args);
    va_end(args);
    return false;
}

bool diag_unsupported(struct diag *d, const struct loc *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    record(d, DIAG_ERROR, true, at, fmt, args);
    va_end(args);
    return false;
}

bool diag_usage(struct diag *d, const char *fmt, ...)
{
    va_list args;
    d->wrong_usage = true;
    va_start(args, fmt);
    diag_errorv(d, NULL, fmt, args);
    va_end(args);
    return false;
}

bool diag_warning(struct diag *d, const struct loc *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    record(d, DIAG_WARNING, false, at, fmt, args);
    va_end(args);
    return true;
}

bool diag_lenient(struct diag *d, const struct loc *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    record(d, d->strict ? DIAG_ERROR : DIAG_WARNING, false, at, fmt, args);
    va_end(args);
    return !d->strict;
}

const char *diag_first_error(const struct diag *d)
{
    vec_each_ptr(const struct diag_message, m, &d->messages)
        if (m->severity == DIAG_ERROR)
            return m->text;
    return NULL;
}

void diag_note(struct diag *d, const struct loc *at, const char *fmt, ...)
{
    if (d->skip_notes)
        return;
    va_list args;
    va_start(args, fmt);
    record(d, DIAG_NOTE, false, at, fmt, args);
    va_end(args);
}

static bool is_named(const char *name)
{
    return name != NULL && *name != '\0';
}

/* "node 'fc1' (Gemm, #12)"; a nameless one is "node #12 (Gemm)". */
static void print_node(FILE *to, const struct loc *at)
{
    fputs("node", to);
    if (is_named(at->node)) {
        fputs(" '", to);
        clean_print(to, at->node);
        fputc('\'', to);
    } else if (at->index >= 0) {
        fprintf(to, " #%d", at->index);
    }
    const bool index_in_brackets = is_named(at->node) && at->index >= 0;
    if (is_named(at->op) || index_in_brackets) {
        fputs(" (", to);
        if (is_named(at->op))
            clean_print(to, at->op);
        if (index_in_brackets)
            fprintf(to, "%s#%d", is_named(at->op) ? ", " : "", at->index);
        fputc(')', to);
    }
    if (at->origin != NULL) {
        fputs(", ", to);
        clean_print(to, at->origin);
    }
}

/* Everything before the severity, with ": " behind each part. A loc that is all zeros but for the file has index 0; it
 * is a node only if something else says so. */
static void print_place(FILE *to, const struct loc *at)
{
    if (at->file != NULL) {
        clean_print(to, at->file);
        if (at->line > 0)
            fprintf(to, ":%d", at->line);
        if (at->line > 0 && at->col > 0)
            fprintf(to, ":%d", at->col);
        fputs(": ", to);
    }
    const bool has_node = at->node != NULL || at->op != NULL || at->index > 0;
    if (is_named(at->graph)) {
        fputs("graph '", to);
        clean_print(to, at->graph);
        fputs(has_node ? "', " : "': ", to);
    }
    if (has_node) {
        print_node(to, at);
        fputs(": ", to);
    }
    if (at->file == NULL && !is_named(at->graph) && !has_node)
        fputs("stepc: ", to);
}

/* The source line as it stands and a caret below its column (which counts bytes). Tabs stay tabs in both lines; other
 * control characters become '?', one column wide as the caret line expects. */
static void print_caret(FILE *to, const struct loc *at)
{
    const char *line = at->source_line;
    const size_t length = strcspn(line, "\r\n");
    const size_t col = (size_t)at->col - 1;
    if (col > length)
        return;
    size_t begin = col > LINE_COLUMNS / 2 && length > LINE_COLUMNS ? col - LINE_COLUMNS / 2 : 0;
    size_t end = length - begin > LINE_COLUMNS ? begin + LINE_COLUMNS : length;
    while (begin > 0 && utf8_continues(line[begin]))
        begin--;
    while (end < length && utf8_continues(line[end]))
        end++;
    fputs(begin > 0 ? "..." : "", to);
    for (size_t i = begin, n; i < end; i += n) {
        bool unsafe;
        n = clean_next(line + i, &unsafe);
        if (unsafe && line[i] != '\t')
            fputc('?', to);
        else
            fwrite(line + i, 1, n, to);
    }
    fputs(end < length ? "...\n" : "\n", to);
    fputs(begin > 0 ? "   " : "", to);
    for (size_t i = begin; i < col; i++)
        if (!utf8_continues(line[i]))
            fputc(line[i] == '\t' ? '\t' : ' ', to);
    fputs("^\n", to);
}

/* At most `most` columns of it; the rest is "...". */
static void print_piece(FILE *to, struct text_piece t, size_t most)
{
    char text[4 * LINE_COLUMNS + 1];
    size_t length = 0, columns = 0;
    while (length < t.length && length < sizeof text - 1 && columns < most) {
        columns += !utf8_continues(t.data[length]);
        length++;
    }
    while (length < t.length && length < sizeof text - 1 && utf8_continues(t.data[length]))
        length++;
    memcpy(text, t.data, length);
    text[length] = '\0';
    clean_print(to, text);
    fputs(length < t.length ? "..." : "", to);
}

/* Where the user wrote the node. */
static void print_written_at(FILE *to, const struct loc *at)
{
    struct written_at w;
    if (!find_written_at(at->trace, at->scopes, &w))
        return;
    fputs("    written", to);
    if (w.module.data) {
        fputs(" in module '", to);
        print_piece(to, w.module, LINE_COLUMNS / 2);
        fputc('\'', to);
    }
    if (w.file.data) {
        fputs(" at ", to);
        print_piece(to, w.file, LINE_COLUMNS / 2);
        fputc(':', to);
        print_piece(to, w.line, LINE_COLUMNS / 2);
    }
    if (w.code.data) {
        fputs(": ", to);
        print_piece(to, w.code, LINE_COLUMNS);
    }
    fputc('\n', to);
}

static void print_message(FILE *to, const struct diag_message *m)
{
    static const char *const word[] = {[DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};
    print_place(to, &m->loc);
    fprintf(to, "%s: ", word[m->severity]);
    clean_print(to, m->text);
    fputc('\n', to);
    if (m->loc.source_line != NULL && m->loc.line > 0 && m->loc.col > 0)
        print_caret(to, &m->loc);
    if (m->severity != DIAG_NOTE)
        print_written_at(to, &m->loc);
}

static void print_rest(FILE *to, size_t count, const char *what)
{
    if (count > DIAG_MAX_PRINTED)
        fprintf(to, "stepc: %zu more %s%s\n", count - DIAG_MAX_PRINTED, what, str_plural(count - DIAG_MAX_PRINTED));
}

/* Errors and warnings have a limit each, so that a flood of warnings hides no error. A note goes with its message. */
void diag_print(const struct diag *d, FILE *to)
{
    size_t printed[] = {[DIAG_ERROR] = 0, [DIAG_WARNING] = 0};
    bool shown = true;
    vec_each_ptr(const struct diag_message, m, &d->messages) {
        if (m->severity != DIAG_NOTE)
            shown = ++printed[m->severity] <= DIAG_MAX_PRINTED;
        if (shown)
            print_message(to, m);
    }
    print_rest(to, d->errors, "error");
    print_rest(to, d->warnings, "warning");
}
