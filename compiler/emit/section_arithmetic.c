/* What emitted code expects of the C compiler's numbers, and how it finds out: the preprocessor says what it can,
 * and under --reproducible init() computes a few numbers and looks at them. */
#include "emit/emit_internal.h"

static bool is_double(const struct expr *e, void *data)
{
    (void)data;
    return e->dtype == DTYPE_DOUBLE;
}

static bool kernel_has_double(const struct kernel *k)
{
    bool any = k->tmpl.traits && k->tmpl.type == DTYPE_DOUBLE;
    for (size_t i = 0; i < k->parts.count; i++) {
        const struct part *const p = &k->parts.data[i];
        any |= p->element && expr_any(p->element, is_double, NULL);
        for (size_t s = 0; s < p->stores.count; s++)
            any |= p->stores.data[s].to.buffer->dtype == DTYPE_DOUBLE ||
                   expr_any(p->stores.data[s].value, is_double, NULL);
    }
    for (size_t i = 0; i < k->checks.count; i++)
        any |= expr_any(k->checks.data[i].value, is_double, NULL);
    for (int i = 0; i < k->tmpl.operand_count; i++)
        any |= k->tmpl.operands[i].value && expr_any(k->tmpl.operands[i].value, is_double, NULL);
    for (size_t i = 0; i < k->blocks.stages.count; i++)
        any |= kernel_has_double(k->blocks.stages.data[i]);
    for (size_t i = 0; k->region && i < k->region->body->kernels.count; i++)
        any |= kernel_has_double(k->region->body->kernels.data[i]);
    return any;
}

static bool entry_has_double(const struct graph *g, const struct lowered *l)
{
    bool any = false;
    for (size_t i = 0; i < g->inputs.count; i++)
        any |= g->inputs.data[i]->dtype == DTYPE_DOUBLE;
    for (size_t i = 0; i < g->outputs.count; i++)
        any |= g->outputs.data[i].value->dtype == DTYPE_DOUBLE;
    for (size_t i = 0; i < l->kernels.count && !any; i++)
        any = kernel_has_double(l->kernels.data[i]);
    return any;
}

/* Does an argument or variable have that type, or a value that a kernel computes, or some function of runtime/? */
static bool uses_double(struct emission *e)
{
    bool any = helpers_have_double(e);
    for (size_t i = 0; i < e->program->variables.count; i++)
        any |= e->program->variables.data[i]->dtype == DTYPE_DOUBLE;
    for (size_t i = 0; i < e->program->entries.count && !any; i++)
        any = entry_has_double(e->program->entries.data[i].graph, e->plans[i]->lowered);
    return any;
}

void section_arithmetic(struct emission *e)
{
    if (uses_double(e))
        strbuf_add(&e->c.text, "\n"
                               "#include <float.h>\n"
                               "#if DBL_MANT_DIG != 53\n"
                               "#error \"this file computes with numbers of 64 bits, which double has not: GCC for AVR "
                               "knows -mdouble=64\"\n"
                               "#endif\n");
    if (e->options->check_finite)
        strbuf_add(&e->c.text, "\n"
                               "#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__\n"
                               "#error \"this file looks for infinities and NaN: compile it without -ffast-math or "
                               "-ffinite-math-only\"\n"
                               "#endif\n");
}

void write_arithmetic_check(struct emission *e)
{
    static const char begin[] =
        "static STEPC_APART stepc_status " CHECK_ARITHMETIC "(void)\n"
        "{\n"
        "    volatile float factor = 1.00012207f, one = 1.0f, three = 3.0f, quarter = 2.98023224e-8f, minus = -0.0f;\n"
        "    volatile float least = 1.17549435e-38f;\n"
        "    const float f = factor, unit = one, some = quarter, five = unit + 4.0f, small = least * 0.5f;\n"
        "    const float zero = minus + 0.0f;\n"
        "    uint32_t zero_bits;\n"
        "    memcpy(&zero_bits, &zero, sizeof zero_bits);\n"
        "    const int rounds = f * f - 1.00024414f == 0.0f; /* 2^-26, where product and difference are one operation "
        "*/\n"
        "    const int is_near = one + quarter == one && one + three * quarter > one && one / three == 0.333333343f;\n"
        "    const int is_in_order = unit + some - unit == 0.0f; /* not as some + (unit - unit) */\n"
        "    const int divides = five / 3.0f == 1.66666663f; /* 1.66666675, where it is multiplied by a third */\n"
        "    const int keeps = small != 0.0f && small + small == least;\n";
    static const char wide[] =
        "    volatile double wide_factor = 1.0000000074505806;\n"
        "    const double g = wide_factor; /* 1, where the compiler takes constants for float */\n"
        "    const int rounds_wide = g != 1.0 && g * g - 1.0000000149011612 == 0.0;\n";
    if (!map_has(&e->helpers, CHECK_ARITHMETIC))
        return;
    const bool is_wide = uses_double(e);
    write_comment(&e->c, "Does this build compute as it is written, round each result by itself, to the nearest, and "
                         "keep numbers next to zero? What is volatile keeps the compiler from computing it "
                         "beforehand.");
    strbuf_addf(&e->c.text,
                "%s%s    return rounds && is_near && is_in_order && divides && keeps && zero_bits == 0%s\n"
                "               ? STEPC_OK : STEPC_E_ARITHMETIC;\n}\n\n",
                begin, is_wide ? wide : "", is_wide ? " && rounds_wide" : "");
}
