#include "cmd/run_table.h"

#include "base/clean.h"
#include "base/file.h"
#include "report/line_plot.h"
#include <errno.h>
#include <string.h>

size_t table_add_column(struct run_table *t, const char *name, enum dtype dtype)
{
    vec_push(t->arena, &t->columns, ((struct run_column){.name = name, .dtype = dtype}));
    return t->columns.count - 1;
}

void table_print_value(FILE *to, enum dtype dtype, double value)
{
    fprintf(to, dtype == DTYPE_DOUBLE ? "%.17g" : dtype_is_float(dtype) ? "%.9g" : "%.0f", value);
}

/* RFC 4180: a name with a comma or a quote stands in quotes. Tables are looked at in terminals, too. */
static void print_name(FILE *to, struct arena *scratch, const char *given)
{
    const char *name = clean_text(scratch, given);
    if (!name[strcspn(name, ",\"")]) {
        fputs(name, to);
        return;
    }
    fputc('"', to);
    for (; *name; name++) {
        if (*name == '"')
            fputc('"', to);
        fputc(*name, to);
    }
    fputc('"', to);
}

bool table_open(struct run_table *t, struct diag *d, const char *csv_path, const char *svg_path)
{
    t->csv_path = csv_path;
    t->svg_path = svg_path;
    t->keep = svg_path != NULL;
    if (!csv_path)
        return true;
    t->csv = fopen(csv_path, "w");
    if (!t->csv)
        return diag_error(d, NULL, "%s: cannot be written: %s", csv_path, strerror(errno));
    fputs(t->epochs ? "step,epoch" : "step", t->csv);
    for (size_t i = 0; i < t->columns.count; i++) {
        fputc(',', t->csv);
        print_name(t->csv, t->arena, t->columns.data[i].name);
    }
    fputc('\n', t->csv);
    return true;
}

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

void table_end_row(struct run_table *t, int64_t step, int64_t epoch)
{
    if (t->csv)
        fprintf(t->csv, "%lld", (long long)step);
    if (t->csv && t->epochs)
        fprintf(t->csv, ",%lld", (long long)epoch);
    vec_each_ptr(struct run_column, c, &t->columns) {
        if (t->csv)
            fputc(',', t->csv);
        if (t->csv && c->has_value)
            table_print_value(t->csv, c->dtype, c->value);
        if (t->keep && c->has_value)
            keep_value(t, c, step);
        c->has_value = false;
    }
    if (t->csv)
        fputc('\n', t->csv);
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
    const bool failed = t->csv && ferror(t->csv) != 0;
    errno = failed ? EIO : 0; /* of a row that failed long ago nobody knows why */
    if (t->csv && (fclose(t->csv) != 0 || failed))
        ok = diag_error(d, NULL, "%s: cannot be written: %s", t->csv_path, strerror(errno));
    t->csv = NULL;
    return (!t->svg_path || draw(t, d, title)) && ok;
}
