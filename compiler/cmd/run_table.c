#include "cmd/run_table.h"

#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "report/line_plot.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t table_add_column(struct run_table *t, const char *name, enum dtype dtype)
{
    vec_push(t->arena, &t->columns, ((struct run_column){.name = name, .dtype = dtype}));
    return t->columns.count - 1;
}

const char *table_value_text(struct arena *a, enum dtype dtype, double value)
{
    return arena_printf(a, dtype == DTYPE_DOUBLE ? "%.17g" : dtype_is_float(dtype) ? "%.9g" : "%.0f", value);
}

/* RFC 4180: a name with a comma or a quote stands in quotes. Tables are looked at in terminals, too. */
static void add_name(struct strbuf *line, const char *given)
{
    const char *name = clean_text(line->arena, given);
    if (!name[strcspn(name, ",\"")]) {
        strbuf_add(line, name);
        return;
    }
    strbuf_add(line, "\"");
    for (; *name; name++)
        strbuf_addf(line, *name == '"' ? "%c\"" : "%c", *name);
    strbuf_add(line, "\"");
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* False, with errno, if not all of it could be written; *done says how much was. */
static bool write_bytes(int fd, const char *bytes, size_t size, size_t *done)
{
    for (*done = 0; *done < size;) {
        const ssize_t n = write(fd, bytes + *done, size - *done);
        if (n < 0 && errno != EINTR)
            return false;
        *done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* What was written of a line is cut off again. */
static void cut_off(int fd, size_t size)
{
    const off_t end = lseek(fd, 0, SEEK_CUR);
    if (end < (off_t)size || ftruncate(fd, end - (off_t)size) != 0)
        return; /* then it stays; what is reported is why the line could not be written */
}

/* To a regular file. Signals wait until the line is whole, or gone; the one that comes with EFBIG is dropped. */
static bool write_whole(int fd, const char *line, size_t size)
{
    sigset_t all, open;
    size_t done;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &open);
    const bool ok = write_bytes(fd, line, size, &done);
    const int error = errno;
    if (!ok) {
        cut_off(fd, done);
        if (error == EFBIG) {
            struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
            sigaction(SIGXFSZ, &ignore, &before);
            sigaction(SIGXFSZ, &before, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, &open, NULL);
    errno = error;
    return ok;
}

/* To a pipe signals are not held: whoever waits for its reader can be ended. */
static bool write_line(struct run_table *t, struct diag *d, const struct strbuf *line)
{
    size_t done;
    if (t->csv_is_regular ? write_whole(t->csv, line->text, line->length)
                          : write_bytes(t->csv, line->text, line->length, &done))
        return true;
    const int error = errno;
    close(t->csv);
    t->csv = -1;
    return diag_error(d, NULL, "%s: cannot be written: %s", t->csv_path, strerror(error));
}

bool table_open(struct run_table *t, struct diag *d, const char *csv_path, const char *svg_path)
{
    t->csv_path = csv_path;
    t->svg_path = svg_path;
    t->keep = svg_path != NULL;
    t->csv = -1;
    if (!csv_path)
        return true;
    t->csv = open(csv_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (t->csv < 0)
        return diag_error(d, NULL, "%s: cannot be written: %s", csv_path, strerror(errno));
    struct stat st;
    t->csv_is_regular = fstat(t->csv, &st) == 0 && S_ISREG(st.st_mode);
    struct strbuf line = {.arena = t->arena};
    strbuf_add(&line, t->epochs ? "step,epoch" : "step");
    for (size_t i = 0; i < t->columns.count; i++) {
        strbuf_add(&line, ",");
        add_name(&line, t->columns.data[i].name);
    }
    strbuf_add(&line, "\n");
    return write_line(t, d, &line);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void table_set(struct run_table *t, size_t column, double value)
{
    t->columns.data[column].value = value;
    t->columns.data[column].has_value = true;
}

static void keep_value(struct run_table *t, struct run_column *c, int64_t step)
{
    vec_push(t->arena, &c->x, (double)step);
    vec_push(t->arena, &c->y, c->value);
}

bool table_end_row(struct run_table *t, struct diag *d, int64_t step, int64_t epoch)
{
    struct arena a = {0};
    struct strbuf line = {.arena = &a};
    strbuf_addf(&line, "%lld", (long long)step);
    if (t->epochs)
        strbuf_addf(&line, ",%lld", (long long)epoch);
    vec_each_ptr(struct run_column, c, &t->columns) {
        strbuf_add(&line, ",");
        if (c->has_value)
            strbuf_add(&line, table_value_text(&a, c->dtype, c->value));
        if (t->keep && c->has_value)
            keep_value(t, c, step);
        c->has_value = false;
    }
    strbuf_add(&line, "\n");
    const bool ok = t->csv < 0 || write_line(t, d, &line);
    arena_free(&a);
    return ok;
}

static bool draw(struct run_table *t, struct diag *d, const char *title)
{
    struct plot_curve *curves = arena_array(t->arena, struct plot_curve, t->columns.count + 1);
    const struct line_plot plot = {.title = title, .x_label = "step", .curves = curves, .count = t->columns.count};
    for (size_t i = 0; i < t->columns.count; i++) {
        const struct run_column *c = &t->columns.data[i];
        curves[i] = (struct plot_curve){.name = c->name, .x = c->x.data, .y = c->y.data, .count = c->y.count};
    }
    const char *svg = line_plot_svg(t->arena, &plot);
    return file_write(d, t->svg_path, svg, strlen(svg));
}

bool table_close(struct run_table *t, struct diag *d, const char *title)
{
    bool ok = true;
    if (t->csv >= 0 && close(t->csv) != 0)
        ok = diag_error(d, NULL, "%s: cannot be written: %s", t->csv_path, strerror(errno));
    t->csv = -1;
    return (!t->svg_path || draw(t, d, title)) && ok;
}
