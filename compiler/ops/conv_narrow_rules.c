/* Convolutions where each channel has a window of its own, of short lines, as kernels: templates/depthwise_narrow.c. */
#include "ops/conv_internal.h"

bool conv_is_depthwise(const struct conv *v)
{
    return v->groups > 1 && v->c == 1 && v->o == 1;
}

/* Lines shorter than a vector, and as many windows on each as elements: computed over a whole plane. */
bool conv_fits_narrow(const struct conv_task *t)
{
    const struct window_axis *a = t->v->window.axis, *lines = &a[1], *line = &a[2];
    return t->result != CONV_W && conv_is_depthwise(t->v) && a[0].in == 1 && a[0].size == 1 && a[0].out == 1 &&
           lines->stride == 1 && line->stride == 1 && line->out == line->in && line->in <= NARROW_MOST &&
           line->size > 1 && (line->size - 1) * line->dilation < SHIFT_MOST && line->pad_begin < SHIFT_MOST;
}

static const char *const late[] = {"N", NULL};
static const struct template_traits narrow_template = {.name = "depthwise", .late = late};

void conv_bind_narrow(const struct conv_task *t)
{
    enum { PLANES_MOST = 8, UNIT = 16 };
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    const bool gradient = t->result == CONV_X;
    const struct window_axis *lines = &v->window.axis[1], *line = &v->window.axis[2];
    const int64_t height = gradient ? lines->out : lines->in, out = gradient ? lines->in : lines->out, width = line->in;
    const int64_t planes = v->groups < PLANES_MOST ? v->groups : PLANES_MOST;
    const int64_t low = gradient ? lines->pad_begin : -lines->pad_begin,
                  step = gradient ? -lines->dilation : lines->dilation;
    const int64_t reach = (lines->size - 1) * lines->dilation, kept = (out * width + UNIT - 1) / UNIT * UNIT;
    /* Lines of the plane that windows read: from `first` up to `last`; what lies outside are zeros. */
    const int64_t first = gradient ? low - reach : low, last = out - 1 + (gradient ? low : low + reach);
    const int64_t above = first < 0 ? -first : 0, below = last >= height ? last - height + 1 : 0;
    const int64_t margin = ((above > below ? above : below) * width + SHIFT_MOST + 2 * UNIT - 1) / UNIT * UNIT;
    const int64_t place = 2 * margin + (height * width + UNIT - 1) / UNIT * UNIT;
    lower_template(c, &narrow_template, lower_out_dtype(c, 0));
    lower_template_pieces(c, v->n);
    lower_template_flops(c, 2 * v->n * v->groups * window_size(&v->window) * out * width);
    lower_template_int(c, "N", v->n);
    lower_template_int(c, "G", v->groups);
    lower_template_int(c, "H", height);
    lower_template_int(c, "W", width);
    lower_template_int(c, "OH", out);
    lower_template_int(c, "LINES", lines->size);
    lower_template_int(c, "COLUMNS", line->size);
    lower_template_int(c, "LOW", low * width);
    lower_template_int(c, "LINE_STEP", step * width);
    lower_template_int(c, "SHIFT", gradient ? line->pad_begin : -line->pad_begin);
    lower_template_int(c, "SHIFT_STEP", gradient ? -line->dilation : line->dilation);
    lower_template_int(c, "MARGIN", margin);
    lower_template_int(c, "KEPT", kept);
    lower_template_int(c, "PLANES", planes);
    lower_template_channels(c, v->groups, height * width, out * width);
    conv_bind_planes(c, "x", t->first, v->n, v->groups, height * width, 0);
    conv_bind_operand(c, "w", t->second);
    lower_template_int(c, "PLANE_STEP", place);
    lower_template_scratch(c, "scratch", planes * place + line->size * kept + kept);
}
