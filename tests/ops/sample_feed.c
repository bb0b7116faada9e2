/* Random inputs for samples: functions of seed and name, so that every engine and every model of a
 * sample gets the same. */
#include "sample.h"

#include "base/str.h"
#include "graph/op_def.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* splitmix64 (Steele, Lea, Flood, 2014) over seed, name and index. */
static uint64_t random_bits(uint64_t seed, const char *name, uint64_t i)
{
    uint64_t z = seed;
    for (const char *p = name; *p; p++)
        z = (z ^ (unsigned char)*p) * 0x100000001B3u;
    z += 0x9E3779B97F4A7C15u * (i + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* In (0, 1). */
static double random_unit(uint64_t seed, const char *name, int64_t i)
{
    return ((double)(random_bits(seed, name, (uint64_t)i) >> 12) + 0.5) / 4503599627370496.0;
}

double sample_normal(uint64_t seed, const char *name, int64_t i)
{
    const double u = random_unit(seed, name, 2 * i), v = random_unit(seed, name, 2 * i + 1);
    return sqrt(-2 * log(u)) * cos(2 * PI * v);
}

/* ---- the words of .feed ------------------------------------------------------------------------------------------ */

struct feed_word {
    char text[32];
    long long extent; /* index:N */
};

/* The word for input i. One word alone is for all inputs; where words run out, "normal". */
static struct feed_word word_of(const char *feed, size_t i)
{
    struct feed_word w = {.text = "normal"};
    if (!feed)
        return w;
    const char *p = feed;
    for (size_t k = 0; k < i && strchr(feed, ','); k++) {
        p += strcspn(p, ",");
        if (!*p)
            return w;
        p++;
    }
    const size_t n = strcspn(p, ",");
    if (n == 0)
        return w;
    if (n >= sizeof w.text)
        UNREACHABLE("bad .feed '%s'", feed);
    memcpy(w.text, p, n);
    w.text[n] = '\0';
    if (str_starts_with(w.text, "index:") && !str_to_int64(w.text + 6, &w.extent))
        UNREACHABLE("bad .feed '%s'", feed);
    if (!w.extent && !str_equal(w.text, "normal") && !str_equal(w.text, "positive") && !str_equal(w.text, "unit"))
        UNREACHABLE("unknown word '%s' in .feed", w.text);
    return w;
}

/* Away from 0 by more than the steps of the gradient check; "unit" away from 1 as well. */
static double draw_float(const struct feed_word *w, uint64_t seed, const char *name, int64_t i)
{
    const double x = sample_normal(seed, name, i);
    if (str_equal(w->text, "unit"))
        return 0.02 + 0.96 * random_unit(seed, name, i);
    if (str_equal(w->text, "positive"))
        return fabs(x) + 0.1;
    return x < 0 ? x - 0.02 : x + 0.02;
}

static int64_t draw_int(const struct feed_word *w, enum dtype d, uint64_t seed, const char *name, int64_t i)
{
    const double u = random_unit(seed, name, i);
    if (d == DTYPE_BOOL)
        return u < 0.5;
    if (w->extent)
        return (int64_t)(u * (double)w->extent);
    if (str_equal(w->text, "unit"))
        return u < 0.5;
    if (str_equal(w->text, "positive"))
        return 1 + (int64_t)(u * 9);
    return dtype_is_signed(d) ? (int64_t)floor(u * 19) - 9 : (int64_t)(u * 10);
}

/* ---- special values ---------------------------------------------------------------------------------------------- */

static double special_float(uint64_t seed, const char *name, int64_t i, double ordinary)
{
    const double values[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, FLT_MAX, -FLT_MAX, FLT_MIN, 0.5, -1.0, 2.5};
    const uint64_t r = random_bits(seed ^ 0x5EC1A1u, name, (uint64_t)i);
    return r % 2 ? ordinary : values[(r >> 8) % (sizeof values / sizeof *values)];
}

static int64_t special_int(enum dtype d, uint64_t seed, const char *name, int64_t i, int64_t ordinary)
{
    const uint64_t r = random_bits(seed ^ 0x5EC1A1u, name, (uint64_t)i);
    if (d == DTYPE_BOOL || r % 2)
        return ordinary;
    const int64_t values[] = {0, dtype_min_int(d), dtype_max_int(d), d == DTYPE_UINT64 ? -1 : 1,
                              dtype_wrap(d, (int64_t)(r >> 3))};
    return values[(r >> 8) % (sizeof values / sizeof *values)];
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static const struct tensor *draw_tensor(struct sample_test *t, const struct value *v, const struct feed_word *w,
                                        enum feed_kind kind)
{
    /* The wide form of an input gets the numbers of the input. */
    const char *name = str_starts_with(v->name, "wide_") ? v->name + 5 : v->name;
    struct tensor *x = tensor_new(&t->arena, v->dtype, &v->shape);
    const bool special = kind == FEED_SPECIAL && str_equal(w->text, "normal");
    for (int64_t i = 0; i < x->count; i++) {
        if (dtype_is_float(v->dtype)) {
            const double f = draw_float(w, t->seed, name, i);
            tensor_set_double(x, i, special ? special_float(t->seed, name, i, f) : f);
        } else {
            const int64_t k = draw_int(w, v->dtype, t->seed, name, i);
            tensor_set_int(x, i, special ? special_int(v->dtype, t->seed, name, i, k) : k);
        }
    }
    return x;
}

const struct tensor **sample_feed(struct sample_test *t, const struct graph *g, enum feed_kind kind)
{
    const struct tensor **inputs = arena_array(&t->arena, const struct tensor *, g->inputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *v = g->inputs.data[i];
        const bool is_cotangent = str_starts_with(v->name, "c_for_") || str_starts_with(v->name, "c2_for_");
        const struct feed_word w = word_of(is_cotangent ? NULL : t->sample->feed, i);
        inputs[i] = draw_tensor(t, v, &w, kind);
    }
    return inputs;
}
