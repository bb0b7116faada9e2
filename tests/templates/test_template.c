/* The template language, from sample.c through gen_templates, template_build() and tree_settle() to a compiled program,
 * which must compute what sample.c itself computes; and the messages of gen_templates for each file in errors/, whose
 * first line says what is expected. */
#include "base/file.h"
#include "emit/emit_internal.h"
#include "../unit/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct template_trees sample_trees;

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct arena arena;

static void setup(void)
{
    arena = (struct arena){0};
}

static void teardown(void)
{
    arena_free(&arena);
}

/* ---- instances --------------------------------------------------------------------------------------------------- */

/* Values of holes that the template has, in the order of sample.c. */
struct sizes {
    int m, n, shift, with_row, mode;
};

/* One kernel of sample.c and the variables of the kernel that it becomes a part of. */
struct instance {
    const struct template_kernel *kernel;
    struct sizes sizes;
    const char *type, *label; /* of T, LABEL */
    enum dtype dtype;
    struct tree_var *y, *x, *rate, *labels;
    tree_vars outer;
    struct template_instance made;
    VEC(struct tree_function *) functions; /* the kernel last */
    const char *wrong;                     /* what settling, then verifying says; NULL: nothing */
};

static struct tree_var *operand(const char *name, enum dtype d, const char *type, bool written)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, d, type, name);
    v->written = written;
    v->is_restrict = true;
    return v;
}

static const struct expr *element_at(const struct instance *in, const struct tree_var *v, const struct expr *row,
                                     const struct expr *column)
{
    const struct expr *const from = index_mul(&arena, row, index_constant(&arena, in->sizes.n));
    return tree_element(&arena, v, index_add(&arena, from, column));
}

static void run_hole(void *user, struct tree_builder *b, const char *hole, const struct expr *const *args, size_t count)
{
    const struct instance *const in = user;
    if (str_equal(hole, "finish")) {
        ck_assert_uint_eq(count, 3);
        tree_set(b, element_at(in, in->y, args[0], args[1]), SET_TO, args[2]);
    } else {
        ck_assert_str_eq(hole, "row");
        ck_assert_uint_eq(count, 1);
        tree_set(b, element_at(in, in->y, args[0], index_constant(&arena, 0)), SET_SUM, tree_read(&arena, in->rate));
    }
}

static const struct expr *hole_value(void *user, const char *hole, const struct expr *const *args, size_t count)
{
    const struct instance *const in = user;
    ck_assert_str_eq(hole, "load_x");
    ck_assert_uint_eq(count, 2);
    return element_at(in, in->x, args[0], args[1]);
}

static void build(struct instance *in, struct tree_function *f)
{
    const struct template_int ints[] = {{"M", in->sizes.m, NULL},
                                        {"N", in->sizes.n, NULL},
                                        {"SHIFT", in->sizes.shift, NULL},
                                        {"MODE", in->sizes.mode, NULL},
                                        {"WITH_ROW", in->sizes.with_row, NULL}};
    const struct template_type types[] = {{"T", in->type, in->dtype}, {"LABEL", in->label, DTYPE_INDEX}};
    const struct expr *const zero = index_constant(&arena, 0);
    const struct template_operand operands[] = {{"a", tree_address(&arena, in->x, zero)},
                                                {"y", tree_address(&arena, in->y, zero)},
                                                {"labels", tree_address(&arena, in->labels, zero)}};
    const struct template_binding binding = {
        .ints = ints, .int_count = in->sizes.with_row ? 5 : 4, .types = types, .type_count = COUNT(types),
        .operands = operands, .operand_count = COUNT(operands), .outer = &in->outer,
        .run = run_hole, .value = hole_value, .user = in};
    struct tree_builder b = tree_builder(&arena, &f->body);
    template_build(&b, in->kernel, &binding, &in->made);
    ck_assert_uint_eq(b.outer.count, 0);
}

static bool is_reserved(const char *name)
{
    (void)name;
    return false;
}

/* Parameters of the kernel are those of its variables that it reads. */
static void settle(struct instance *in)
{
    struct tree_function *const f = in->functions.data[in->functions.count - 1];
    in->wrong = tree_settle(&arena, in->functions.data, in->functions.count, &in->outer);
    for (size_t i = 0; i < in->outer.count; i++)
        if (in->outer.data[i]->reads > 0)
            vec_push(&arena, &f->params, in->outer.data[i]);
    tree_name(&arena, in->functions.data, in->functions.count, is_reserved);
    for (size_t i = 0; i < in->functions.count && !in->wrong; i++)
        in->wrong = tree_verify(&arena, &in->functions.data[i]->params, &in->functions.data[i]->body);
}

static struct instance *instantiate_for(const char *kernel, const char *type, const char *label, struct sizes sizes)
{
    struct instance *const in = arena_new(&arena, struct instance);
    const enum dtype d = str_equal(type, "float")    ? DTYPE_FLOAT
                         : str_equal(type, "double") ? DTYPE_DOUBLE
                                                     : DTYPE_INT32;
    struct tree_function *const f = arena_new(&arena, struct tree_function);
    *in = (struct instance){.kernel = template_kernel_find(&sample_trees, kernel), .sizes = sizes, .type = type,
                            .label = label, .dtype = d};
    ck_assert_ptr_nonnull(in->kernel);
    in->y = operand("y", d, type, true);
    in->x = operand("x", d, type, false);
    in->rate = tree_var(&arena, VAR_VALUE, d, type, "rate");
    in->labels = operand("labels", DTYPE_INDEX, label, false);
    vec_push(&arena, &in->outer, in->y);
    vec_push(&arena, &in->outer, in->x);
    vec_push(&arena, &in->outer, in->rate);
    vec_push(&arena, &in->outer, in->labels);
    *f = (struct tree_function){.name = kernel, .attributes = "", .type = "void"};
    build(in, f);
    for (size_t i = 0; i < in->made.functions.count; i++)
        vec_push(&arena, &in->functions, in->made.functions.data[i]);
    vec_push(&arena, &in->functions, f);
    settle(in);
    return in;
}

static struct instance *instantiate(const char *kernel, struct sizes sizes)
{
    struct instance *const in = instantiate_for(kernel, "float", "int32_t", sizes);
    ck_assert_msg(!in->wrong, "%s: %s", kernel, in->wrong);
    return in;
}

static const struct emit_options options = {.simd = 4};

/* One of the functions as C. */
static const char *text_of(const struct instance *in, const char *function)
{
    struct emission e = {.arena = &arena, .options = &options};
    struct expr_scope s = {.e = &e, .arena = &arena};
    struct writer w = {.text = {.arena = &arena}};
    for (size_t i = 0; i < in->functions.count; i++)
        if (str_equal(in->functions.data[i]->name, function))
            print_function(&s, &w, in->functions.data[i]);
    return strbuf_text(&w.text);
}

/* Notes what the functions need, which stand in an emission that is else empty. */
static void note_all(struct emission *e, const struct instance *in)
{
    e->arena = e->helpers.arena = e->includes.arena = &arena;
    for (size_t i = 0; i < in->functions.count; i++)
        note_needs(e, in->functions.data[i]);
}

static const char *kernel_text(const struct instance *in)
{
    return text_of(in, in->kernel->name);
}

static bool has_function(const struct instance *in, const char *name)
{
    for (size_t i = 0; i < in->functions.count; i++)
        if (str_equal(in->functions.data[i]->name, name))
            return true;
    return false;
}

/* ---- constants, conditions, loops -------------------------------------------------------------------------------- */

START_TEST(sizes_decide)
{
    ck_assert_str_eq(kernel_text(instantiate("sample_folds", (struct sizes){3, 8, 2, 1, 0})),
                     "static void sample_folds(float *restrict y, const float *restrict x, float rate)\n"
                     "{\n"
                     "    float sum = 0.0f;\n"
                     "    /* Each row. */\n"
                     "    for (int i = 0; i < 3; i++) {\n"
                     "        const float first = x[i * 8];\n"
                     "        for (int j = 4; j < 8; j++)\n"
                     "            sum += first * x[i * 8 + j];\n"
                     "    }\n"
                     "    y[2] = sum + 1.0f;\n"
                     "    y[16] += rate;\n"
                     "    if (x[1] < 100.0f)\n"
                     "        y[4] = -5.0f;\n"
                     "    for (int i = 0; i < 2; i++)\n"
                     "        y[5 + i] = sum;\n"
                     "}\n");
}
END_TEST

/* A loop of one iteration is its body, one of none is nothing; a hole WITH_... that is not bound is 0. */
START_TEST(one_iteration_is_no_loop)
{
    ck_assert_str_eq(kernel_text(instantiate("sample_folds", (struct sizes){1, 4, 1, 0, 2})),
                     "static void sample_folds(float *restrict y, const float *restrict x, float rate)\n"
                     "{\n"
                     "    float sum = 0.0f;\n"
                     "    /* Each row. */\n"
                     "    const float first = x[0];\n"
                     "    for (int j = 2; j < 4; j++)\n"
                     "        sum += first * x[j];\n"
                     "    y[1] = 0.5f - sum;\n"
                     "    if (x[0] > 0.0f)\n"
                     "        y[0] += rate;\n"
                     "    if (x[1] > 0.0f)\n"
                     "        y[3] = sum;\n"
                     "}\n");
}
END_TEST

START_TEST(all_forms_of_loops)
{
    ck_assert_str_eq(kernel_text(instantiate("sample_loops", (struct sizes){3, 8, 2, 1, 0})),
                     "static void sample_loops(float *restrict y, const float *restrict x)\n"
                     "{\n"
                     "    STEPC_SELECT_LOOP for (int i = 0; i < 3; i++)\n"
                     "        for (int j = 2; j >= 0; j--)\n"
                     "            y[i + j] = x[i] - x[j];\n"
                     "    for (int i = 0; i < 8; i += 2)\n"
                     "        y[i] += 1.0f;\n"
                     "    for (int i = 8; i > 0; i -= 2)\n"
                     "        y[i - 1] *= 2.0f;\n"
                     "    for (int i = 0; i < 8 && y[i] < 8.0f; i++)\n"
                     "        y[i] -= 3.0f;\n"
                     "    for (int i = 0; i < 3 && x[0] > 0.0f; i++)\n"
                     "        y[i] = x[i] + 1.0f;\n"
                     "    for (int i = 0; x[i] > -5.0f && i < (int)x[8 - i]; i++)\n"
                     "        y[i] = x[i];\n"
                     "    for (int i = 1; i < 8; i = 2 * i)\n"
                     "        y[i] = (float)i;\n"
                     "    for (int j = 0; j < 8; j++)\n"
                     "        for (int i = 0; i < 8 && j < 3; i++)\n"
                     "            y[j] += x[i];\n"
                     "}\n");
}
END_TEST

START_TEST(hints_go_with_their_loop)
{
    const struct sizes once = {1, 4, 1, 0, 2}, more = {3, 8, 2, 1, 0};
    ck_assert_ptr_null(strstr(kernel_text(instantiate("sample_loops", once)), "STEPC_SELECT_LOOP"));
    ck_assert_ptr_nonnull(strstr(kernel_text(instantiate("sample_loops", more)), "STEPC_SELECT_LOOP for"));
}
END_TEST

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* What is called once is in its caller; of what stays, parameters that are not read or the same constant in all calls
 * are gone, and variables of the kernel that holes name have come. */
START_TEST(functions_stay_or_become_parts)
{
    const struct instance *const in = instantiate("sample_parts", (struct sizes){3, 8, 2, 1, 0});
    ck_assert_str_eq(text_of(in, "part"),
                     "/* One row from `from` on; `unused` is never read. */\n"
                     "static inline void part(int i, int from, float *restrict y, const float *restrict x, "
                     "float rate)\n"
                     "{\n"
                     "    for (int j = from; j < 8; j += 2)\n"
                     "        y[i * 8 + j] = twice_float(x[i * 8 + j]) + (float)j;\n"
                     "    y[i * 8] += rate;\n"
                     "}\n");
    ck_assert_str_eq(kernel_text(in),
                     "static void sample_parts(float *restrict y, const float *restrict x, float rate)\n"
                     "{\n"
                     "    for (int i = 0; i < 3; i++) {\n"
                     "        if (x[i] > 0.0f) {\n"
                     "            part(i, 1, y, x, rate);\n"
                     "        } else {\n"
                     "            part(i, smaller(i, 2), y, x, rate);\n"
                     "        }\n"
                     "    }\n"
                     "    float last = x[8];\n"
                     "    for (int i = 1; i < 4; i++)\n"
                     "        last = x[8 + i] > last ? x[8 + i] : last;\n"
                     "    const float other_last = last;\n"
                     "    const int place = first_above(x, other_last), above = place_above(x, other_last);\n"
                     "    y[0] = other_last;\n"
                     "    y[1] = (float)place;\n"
                     "    y[4] = sum_from(x, 0) - sum_from(x, 2);\n"
                     "    y[5] = (float)above;\n"
                     "    add_to_float(y + 2, y, 2);\n"
                     "    apart_float(y + 3);\n"
                     "}\n");
    ck_assert(!has_function(in, "last_of_float") && !has_function(in, "last_of") && !has_function(in, "half_of"));
}
END_TEST

/* Functions that depend on types at most are the same for all kernels, whatever their variables are called. */
START_TEST(shared_functions_are_the_same_everywhere)
{
    const struct sizes sizes = {3, 8, 2, 1, 0};
    const struct instance *const in = instantiate("sample_parts", sizes);
    const struct instance *const wide = instantiate_for("sample_parts", "double", "int32_t", sizes);
    ck_assert_str_eq(text_of(in, "twice_float"), "/* Twice: needs types only. */\n"
                                                 "static inline float twice_float(float x)\n"
                                                 "{\n"
                                                 "    float both[2] = {x};\n"
                                                 "    return both[0] + x;\n"
                                                 "}\n");
    ck_assert_str_eq(text_of(in, "smaller"), "/* The same of all kernels. */\n"
                                             "static inline int smaller(int x, int y)\n"
                                             "{\n"
                                             "    return x < y ? x : y;\n"
                                             "}\n");
    ck_assert_str_eq(text_of(in, "smaller"), text_of(wide, "smaller"));
    ck_assert(has_function(wide, "twice_double") && !has_function(wide, "twice_float"));
    for (size_t i = 0; i < in->functions.count; i++) {
        const struct tree_function *const f = in->functions.data[i];
        const bool is_shared = str_equal(f->name, "smaller"), is_own = str_equal(f->name, "part");
        ck_assert(!is_shared || f->kind == FUNCTION_SHARED);
        ck_assert(!is_own || f->kind == FUNCTION_OWN);
        ck_assert(!str_equal(f->name, "twice_float") || f->kind == FUNCTION_BY_TYPE);
    }
}
END_TEST

/* Functions of which none is called before it is defined, as they stand in the file. */
START_TEST(functions_come_before_their_callers)
{
    const struct instance *const in = instantiate("sample_parts", (struct sizes){3, 8, 2, 1, 0});
    struct strbuf names = {.arena = &arena};
    for (size_t i = 0; i < in->functions.count; i++)
        strbuf_addf(&names, "%s ", in->functions.data[i]->name);
    ck_assert_str_eq(strbuf_text(&names),
                     "twice_float smaller part first_above place_above sum_from add_to_float apart_float "
                     "sample_parts ");
}
END_TEST

/* A size that decides whether holes are called decides what is given to the function. */
START_TEST(captures_go_where_their_hole_is_live)
{
    const struct instance *const in = instantiate("sample_parts", (struct sizes){3, 8, 2, 0, 0});
    ck_assert_ptr_nonnull(strstr(text_of(in, "part"), "part(int i, int from, float *restrict y, "
                                                      "const float *restrict x)\n"));
    ck_assert_ptr_nonnull(strstr(kernel_text(in), "    part(i, 1, y, x);\n"));
    ck_assert_ptr_null(strstr(kernel_text(in), "rate"));
}
END_TEST

START_TEST(only_holes_are_called)
{
    ck_assert_str_eq(kernel_text(instantiate("sample_nothing", (struct sizes){3, 8, 2, 1, 0})),
                     "static void sample_nothing(float *restrict y, float rate)\n"
                     "{\n"
                     "    y[0] += rate;\n"
                     "}\n");
}
END_TEST

/* ---- a function that is called twice --------------------------------------------------------------------------- */

START_TEST(what_all_calls_give_is_a_constant)
{
    const struct instance *const in = instantiate("sample_tiles", (struct sizes){3, 8, 2, 1, 0});
    ck_assert_str_eq(kernel_text(in),
                     "static void sample_tiles(float *restrict y, const float *restrict x)\n"
                     "{\n"
                     "    for (int first = 0; first < 8 - 8 % WIDTH(float); first += WIDTH(float))\n"
                     "        add_some(WIDTH(float), first, x, y);\n"
                     "    if (8 % WIDTH(float) > 0)\n"
                     "        add_some(8 % WIDTH(float), 8 - 8 % WIDTH(float), x, y);\n"
                     "}\n");
    ck_assert_uint_eq(in->made.functions.data[0]->params.count, 4); /* neither `times` nor `spare` */
}
END_TEST

/* ---- types ------------------------------------------------------------------------------------------------------- */

START_TEST(types_headers_and_helpers)
{
    const struct sizes sizes = {3, 8, 2, 1, 0};
    const struct instance *const in = instantiate("sample_types", sizes);
    ck_assert_str_eq(kernel_text(in),
                     "static void sample_types(float *restrict y, const float *restrict x, const int32_t *restrict "
                     "labels)\n"
                     "{\n"
                     "    float lanes[WIDTH(float)] = {0.0f}, some[4];\n"
                     "    const struct span s = {.low = 1, .high = 3};\n"
                     "    const int32_t chosen = labels[0];\n"
                     "    memset(some, 0, 4 * sizeof(float));\n"
                     "    for (int i = 0; i < WIDTH(float); i++)\n"
                     "        lanes[i] = at_least(s, i) ? stepc_fabsf(x[i]) : some[i % 4];\n"
                     "    y[0] = lanes[chosen];\n"
                     "    y[1] = (float)sizeof(int32_t);\n"
                     "    y[2] = (float)s.high + 1.0f / 2.0f;\n"
                     "    y[3] = (labels[1] == 7 || (!(chosen >= 2) && chosen != 0)) ? 1.0f : -1.0f;\n"
                     "    stepc_add_scaled(lanes, 2.0f, lanes);\n"
                     "    y[4] = lanes[WIDTH(float) - 1];\n"
                     "    y[5] = (float)WIDTH(int32_t) / (float)WIDTH(float);\n"
                     "}\n");
    struct emission e = {0}, of_folds = {0};
    note_all(&e, in);
    ck_assert_uint_eq(e.helpers.count, 1);
    ck_assert_str_eq(e.helpers.entries[0].key, "stepc_fabsf");
    ck_assert_uint_eq(e.includes.count, 1);
    ck_assert_str_eq(e.includes.entries[0].key, "sample_lanes.h");
    ck_assert_ptr_nonnull(strstr(kernel_text(instantiate_for("sample_types", "float", "int64_t", sizes)),
                                 "    const int64_t chosen = labels[0];\n"));
    note_all(&of_folds, instantiate("sample_folds", sizes));
    ck_assert_uint_eq(of_folds.helpers.count + of_folds.includes.count, 0);
}
END_TEST

START_TEST(names_of_the_file)
{
    const struct template_kernel *const k = template_kernel_find(&sample_trees, "sample_types");
    struct strbuf names = {.arena = &arena};
    ck_assert_ptr_null(template_kernel_find(&sample_trees, "sample"));
    ck_assert_str_eq(k->file, "sample.c");
    ck_assert_str_eq(template_kernel_find(&sample_trees, "sample_folds")->function->comment, "/* Sums of rows. */");
    for (const char *const *name = k->functions; *name; name++)
        strbuf_addf(&names, "%s ", *name);
    ck_assert_str_eq(strbuf_text(&names),
                     "twice smaller half_of part last_of first_above place_above sum_from add_to apart add_some "
                     "at_least ");
}
END_TEST

START_TEST(routines_for_two_types)
{
    const struct sizes sizes = {3, 8, 2, 1, 0};
    const struct instance *const in = instantiate_for("sample_types", "double", "int32_t", sizes);
    ck_assert_ptr_nonnull(strstr(kernel_text(in), "    double lanes[WIDTH(double)] = {0.0}, some[4];\n"));
    ck_assert_ptr_nonnull(strstr(kernel_text(in), "    stepc_add_scaled_double(lanes, 2.0, lanes);\n"));
    ck_assert_ptr_nonnull(strstr(kernel_text(in), "    const struct span s = "));
}
END_TEST

START_TEST(helpers_of_headers)
{
    static const struct {
        const char *name, *file;
        bool has_double;
    } cases[] = {{"stepc_fabsf", "stepc_math.h", false},
                 {"stepc_fabs", "stepc_math.h", true},
                 {"stepc_sqrtf", "stepc_math.h", false},
                 {"stepc_mul64", "stepc_integer.h", false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct template_helper *const h = template_helper_find(&sample_trees, cases[i].name);
        ck_assert_ptr_nonnull(h);
        ck_assert_str_eq(h->file, cases[i].file);
        ck_assert_int_eq(h->has_double, cases[i].has_double);
    }
    ck_assert_ptr_null(template_helper_find(&sample_trees, "stepc_nothing"));
}
END_TEST

/* ---- compiled and run -------------------------------------------------------------------------------------------- */

/* Kernels that any type may have, and those of floats. */
static const char *const run_kernels[] = {"sample_folds", "sample_loops", "sample_parts", "sample_nothing",
                                          "sample_tiles", "sample_types"};
static const struct sizes run_sizes[] = {{3, 8, 2, 1, 0}, {1, 4, 3, 0, 2}, {2, 8, 3, 1, 1}};
static const char *const run_types[] = {"float", "double", "int32_t"};

static size_t kernels_for(const char *type)
{
    return COUNT(run_kernels) - (str_equal(type, "float") ? 0 : 1);
}

static bool run(const char *command)
{
    return system(command) == 0;
}

/* What main() below calls for each kernel. */
static void add_computation(struct strbuf *b, size_t kernel, const char *arguments)
{
    strbuf_addf(b,
                "static void compute_%zu(const T *x, T *y, T rate, const LABEL *labels)\n"
                "{\n    (void)x, (void)y, (void)rate, (void)labels;\n    %s(%s);\n}\n",
                kernel, run_kernels[kernel], arguments);
}

static void add_main(struct strbuf *b, size_t kernels)
{
    strbuf_add(b, "int main(void)\n{\n    T x[64], y[64];\n    const LABEL labels[2] = {2, 7};\n"
                  "    for (int i = 0; i < 64; i++)\n        x[i] = (T)((i * 7 + 3) % 11 - 4);\n");
    for (size_t i = 0; i < kernels; i++)
        strbuf_addf(b,
                    "    for (int i = 0; i < 64; i++)\n        y[i] = (T)(i %% 5);\n"
                    "    compute_%zu(x, y, (T)3, labels);\n"
                    "    for (int i = 0; i < 64; i++)\n        printf(\"%%g \", (double)y[i]);\n",
                    i);
    strbuf_add(b, "    return 0;\n}\n");
}

/* `find` by `put`, where it stands once. */
static const char *replaced(const char *text, const char *find, const char *put)
{
    const char *const at = strstr(text, find);
    ck_assert_msg(at != NULL && !strstr(at + 1, find), "sample.c has no '%s', or several", find);
    return arena_printf(&arena, "%.*s%s%s", (int)(at - text), text, put, at + strlen(find));
}

/* sample.c as it stands, but for the values of its holes. */
static const char *template_program(const char *type, struct sizes s)
{
    struct strbuf b = {.arena = &arena};
    struct diag d = {.arena = &arena};
    unsigned char *bytes;
    size_t size;
    ck_assert(file_read(&d, &arena, SOURCE_DIR "/tests/templates/sample.c", 100000, &bytes, &size));
    const char *const holes = arena_printf(&arena, "M = %d, N = %d, SHIFT = %d, WITH_ROW = %d, MODE = %d", s.m, s.n,
                                           s.shift, s.with_row, s.mode);
    const char *text = replaced((const char *)bytes, "M = 3, N = 8, SHIFT = 2, WITH_ROW = 1, MODE = 0", holes);
    text = replaced(text, "typedef float T", arena_printf(&arena, "typedef %s T", type));
    /* the last kernel calls the routine of floats */
    const char *const of_floats = strstr(text, "KERNEL static void sample_types");
    ck_assert_ptr_nonnull(of_floats);
    if (!str_equal(type, "float"))
        text = arena_strndup(&arena, text, (size_t)(of_floats - text));
    strbuf_addf(&b, "#include <stdio.h>\n%s", text);
    for (size_t i = 0; i < kernels_for(type); i++) {
        const struct tree_function *const f = template_kernel_find(&sample_trees, run_kernels[i])->function;
        struct strbuf arguments = {.arena = &arena};
        for (size_t p = 0; p < f->params.count; p++) {
            const char *const name = f->params.data[p]->name;
            strbuf_addf(&arguments, "%s%s", p ? ", " : "", str_equal(name, "a") ? "x" : name);
        }
        add_computation(&b, i, strbuf_text(&arguments));
    }
    add_main(&b, kernels_for(type));
    return replaced(strbuf_text(&b), "    const LABEL labels[2]",
                    "    sample_y = y;\n    sample_x = x;\n    sample_rate = (T)3;\n    const LABEL labels[2]");
}

/* The functions of all kernels, those that they share once. */
static void add_functions(struct strbuf *b, struct instance *const *in, size_t count)
{
    struct map known = {.arena = &arena};
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < in[k]->functions.count; i++) {
            const struct tree_function *const f = in[k]->functions.data[i];
            if (!map_has(&known, f->name))
                strbuf_add(b, text_of(in[k], f->name));
            map_set(&known, f->name, NULL);
        }
}

static const char *instance_program(const char *type, struct sizes s)
{
    struct strbuf b = {.arena = &arena}, functions = {.arena = &arena};
    struct emission needs = {0};
    struct instance *in[COUNT(run_kernels)];
    for (size_t i = 0; i < kernels_for(type); i++) {
        in[i] = instantiate_for(run_kernels[i], type, "int32_t", s);
        ck_assert_msg(!in[i]->wrong, "%s for %s: %s", run_kernels[i], type, in[i]->wrong);
        note_all(&needs, in[i]);
    }
    struct map *const headers = &needs.includes;
    add_functions(&functions, in, kernels_for(type));
    for (size_t i = 0; i < needs.helpers.count; i++)
        map_set(headers, template_helper_find(&sample_trees, needs.helpers.entries[i].key)->file, NULL);
    strbuf_addf(&b, "#include \"stepc.h\"\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
                    "typedef %s T;\ntypedef int32_t LABEL;\n", type);
    for (size_t i = 0; i < headers->count; i++)
        strbuf_addf(&b, "#include \"%s\"\n", headers->entries[i].key);
    strbuf_add(&b, strbuf_text(&functions));
    for (size_t i = 0; i < kernels_for(type); i++) {
        const struct tree_function *const f = in[i]->functions.data[in[i]->functions.count - 1];
        struct strbuf arguments = {.arena = &arena};
        for (size_t p = 0; p < f->params.count; p++)
            strbuf_addf(&arguments, "%s%s", p ? ", " : "", f->params.data[p]->name);
        add_computation(&b, i, strbuf_text(&arguments));
    }
    add_main(&b, kernels_for(type));
    return strbuf_text(&b);
}

/* What the program prints. */
static const char *output_of(const char *dir, const char *name, const char *source, const char *flags)
{
    struct diag d = {.arena = &arena};
    const char *const program = path_join(&arena, dir, name), *const out = arena_printf(&arena, "%s.out", program);
    unsigned char *output;
    size_t size;
    ck_assert(file_write(&d, arena_printf(&arena, "%s.c", program), source, strlen(source)));
    ck_assert_msg(run(arena_printf(&arena, "cc -std=c99 %s -I" SOURCE_DIR "/runtime -I" SOURCE_DIR
                                           "/templates -I" SOURCE_DIR "/tests/templates -o %s %s.c && %s > %s",
                                   flags, program, program, program, out)),
                  "%s", source);
    ck_assert(file_read(&d, &arena, out, 100000, &output, &size));
    return (const char *)output;
}

START_TEST(instances_compute_what_the_template_computes)
{
    struct diag d = {.arena = &arena};
    const struct sizes sizes = run_sizes[(size_t)_i / COUNT(run_types)];
    const char *const type = run_types[(size_t)_i % COUNT(run_types)];
    const char *dir;
    ck_assert(temp_directory(&d, &arena, &dir));
    const char *const expected = output_of(dir, "template", template_program(type, sizes), "-w -O1");
    const char *const got = output_of(dir, "instance", instance_program(type, sizes),
                                      "-Wall -Wextra -Wconversion -Wdouble-promotion -pedantic -Werror -O1");
    ck_assert_str_eq(got, expected);
    temp_directory_remove(dir);
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Headers are read as those of kernels, those named helper_... for their functions; what is named twice_... is given
 * twice. */
static const char *arguments_for(const char *path, const char *name)
{
    if (str_ends_with(name, ".h"))
        return arena_printf(&arena, "%s %s " SOURCE_DIR "/tests/templates/sample.c",
                            str_starts_with(name, "helper_") ? "--helpers" : "--section", path);
    return str_starts_with(name, "twice_") ? arena_printf(&arena, "%s %s", path, path) : path;
}

static void check_error_file(const char *path, const char *name)
{
    struct diag d = {.arena = &arena};
    unsigned char *bytes, *messages;
    size_t size, message_size;
    const char *dir;
    ck_assert(file_read(&d, &arena, path, 100000, &bytes, &size));
    const char *expected = (const char *)bytes + strlen("/* error: ");
    expected = arena_strndup(&arena, expected, (size_t)(strstr(expected, " */") - expected));
    ck_assert(temp_directory(&d, &arena, &dir));
    const char *err = path_join(&arena, dir, "err");
    ck_assert_msg(!run(arena_printf(&arena,
                                    GEN_TEMPLATES " --include " SOURCE_DIR "/templates --include " SOURCE_DIR
                                                  "/runtime -o %s/t.c %s 2> %s",
                                    dir, arguments_for(path, name), err)),
                  "%s was accepted", path);
    ck_assert(file_read(&d, &arena, err, 100000, &messages, &message_size));
    ck_assert_msg(strstr((const char *)messages, expected) != NULL, "%s: got %s", path, (const char *)messages);
    temp_directory_remove(dir);
}

START_TEST(errors_of_gen_templates)
{
    DIR *dir = opendir(SOURCE_DIR "/tests/templates/errors");
    ck_assert_ptr_nonnull(dir);
    int count = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (str_ends_with(e->d_name, ".c") || str_ends_with(e->d_name, ".h")) {
            check_error_file(arena_printf(&arena, SOURCE_DIR "/tests/templates/errors/%s", e->d_name), e->d_name);
            count++;
        }
    }
    closedir(dir);
    ck_assert_int_gt(count, 30);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("template");
    TCase *text = tcase_create("text"), *run_case = tcase_create("run"), *errors = tcase_create("errors");
    TCase *const all[] = {text, run_case, errors};
    tcase_add_test(text, sizes_decide);
    tcase_add_test(text, what_all_calls_give_is_a_constant);
    tcase_add_test(text, one_iteration_is_no_loop);
    tcase_add_test(text, all_forms_of_loops);
    tcase_add_test(text, hints_go_with_their_loop);
    tcase_add_test(text, functions_stay_or_become_parts);
    tcase_add_test(text, shared_functions_are_the_same_everywhere);
    tcase_add_test(text, functions_come_before_their_callers);
    tcase_add_test(text, captures_go_where_their_hole_is_live);
    tcase_add_test(text, only_holes_are_called);
    tcase_add_test(text, types_headers_and_helpers);
    tcase_add_test(text, names_of_the_file);
    tcase_add_test(text, routines_for_two_types);
    tcase_add_test(text, helpers_of_headers);
    tcase_add_loop_test(run_case, instances_compute_what_the_template_computes, 0,
                        (int)(COUNT(run_sizes) * COUNT(run_types)));
    tcase_add_test(errors, errors_of_gen_templates);
    for (size_t i = 0; i < COUNT(all); i++) {
        tcase_add_checked_fixture(all[i], setup, teardown);
        tcase_set_timeout(all[i], 60);
        suite_add_tcase(suite, all[i]);
    }
    return run_suite(suite);
}
