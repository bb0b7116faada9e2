/* SPDX-License-Identifier: 0BSD */
/* Hyperbolic functions of the numeric contract and their inverses; written and used like stepc_math.h. */
#ifndef STEPC_HYPERBOLIC_H
#define STEPC_HYPERBOLIC_H

#include "stepc_math.h"

/* ---- sinh and cosh --------------------------------------------------------------- */

/* exp(a) / 2 for a >= 0; infinite only where sinh and cosh are. */
static inline float stepc_half_expf(float a)
{
    const float c = stepc_selectf(a > 92.0f, 92.0f, a);
    const float t = c * 1.44269504f + 12582912.0f;
    return stepc_scalef(stepc_exp_restf(c, t), stepc_bitsf(t) - 0x4B400000u + 253u);
}

/* x + x^3 P(x^2) near 0, else exp(x) / 2 less its inverse; both are computed, one is taken. */
static STEPC_FAST_INLINE float stepc_sinhf(float x)
{
    const float a = stepc_fabsf(x);
    const float z = a * a;
    float p = 2.81695179e-06f;
    p = p * z + 0.000198361595f;
    p = p * z + 0.0083333496f;
    p = p * z + 0.166666672f;
    const float e = stepc_half_expf(a);
    return stepc_copysignf(stepc_selectf(a < 1.0f, a + a * z * p, e - 0.25f / e), x);
}

static inline float stepc_coshf(float x)
{
    const float e = stepc_half_expf(stepc_fabsf(x));
    return e + 0.25f / e;
}

static inline double stepc_half_exp(double a)
{
    const double c = stepc_select(a > 712.0, 712.0, a);
    const double t = c * 1.4426950408889634 + 6755399441055744.0;
    return stepc_scale(stepc_exp_rest(c, t), stepc_bits(t) - 0x4338000000000000u + 2045u);
}

static STEPC_FAST_INLINE double stepc_sinh(double x)
{
    const double a = stepc_fabs(x);
    const double z = a * a;
    double p = 7.758747959464388e-13;
    p = p * z + 1.6057259796308725e-10;
    p = p * z + 2.5052123136373073e-08;
    p = p * z + 2.7557319157074034e-06;
    p = p * z + 0.00019841269841431867;
    p = p * z + 0.008333333333333148;
    p = p * z + 0.16666666666666669;
    const double e = stepc_half_exp(a);
    return stepc_copysign(stepc_select(a < 1.0, a + a * z * p, e - 0.25 / e), x);
}

static inline double stepc_cosh(double x)
{
    const double e = stepc_half_exp(stepc_fabs(x));
    return e + 0.25 / e;
}

/* ---- asinh, acosh and atanh ------------------------------------------------------ */

/* log(2^n v) + more for normal v. */
static inline float stepc_log_andf(float v, float n, float more)
{
    const uint32_t u = stepc_bitsf(v) + 0x004AFB0Du;
    const float e = stepc_from_bitsf(0x4B000000u | (u >> 23)) - 8388735.0f + n;
    const float f = stepc_from_bitsf((u & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    return e * 0.693359375f + (f + (stepc_log_restf(f) + (e * -2.12194440e-4f + more)));
}

/* log(a + sqrt(a^2 + one)) for one = 1 or -1 and a from 1/2 (3/2) on: the square, the root and the sum with what each
 * lost in rounding. From 2^13 on the root is a. */
static STEPC_FAST_INLINE float stepc_arc_logf(float a, float one)
{
    const int large = a > 8192.0f;
    const float c = stepc_selectf(large, 1.0f, a);
    const float c_h = stepc_upperf(c), c_l = c - c_h;
    const float q = c * c, q_rest = ((c_h * c_h - q) + 2.0f * c_h * c_l) + c_l * c_l;
    const float t = q + one, q_back = t - one;
    const float t_rest = ((q - q_back) + (one - (t - q_back))) + q_rest;
    const float s = stepc_sqrtf(t), s_h = stepc_upperf(s), s_l = s - s_h;
    const float s_rest = ((((t - s_h * s_h) - 2.0f * s_h * s_l) - s_l * s_l) + t_rest) / (2.0f * s);
    const float v = s + c, v_back = v - s;
    const float v_rest = ((s - (v - v_back)) + (c - v_back)) + s_rest;
    return stepc_log_andf(stepc_selectf(large, a, v), stepc_selectf(large, 1.0f, 0.0f),
                          stepc_selectf(large, 0.0f, v_rest / v));
}

static STEPC_FAST_INLINE float stepc_asinhf(float x)
{
    const float a = stepc_fabsf(x);
    const float z = a * a;
    float p = -0.0132375397f;
    p = p * z + 0.0281691346f;
    p = p * z - 0.0443845205f;
    p = p * z + 0.0749865249f;
    p = p * z - 0.166666433f;
    const float outer = stepc_arc_logf(a, 1.0f);
    const float finite = stepc_selectf(a < 0.5f, a + a * z * p, outer);
    return stepc_copysignf(stepc_selectf(a < stepc_from_bitsf(0x7F800000u), finite, a), x);
}

/* sqrt(2 d) (1 + d P(d)), d = x - 1, near 1. */
static STEPC_FAST_INLINE float stepc_acoshf(float x)
{
    const float d = x - 1.0f;
    const float s = stepc_sqrtf(2.0f * d);
    float p = -0.000413673115f;
    p = p * d + 0.00176057091f;
    p = p * d - 0.00554806506f;
    p = p * d + 0.0187466312f;
    p = p * d - 0.0833332166f;
    const float outer = stepc_arc_logf(stepc_selectf(x < 1.5f, 1.5f, x), -1.0f);
    const float finite = stepc_selectf(x < 1.5f, s + s * d * p, outer);
    return stepc_selectf(x < stepc_from_bitsf(0x7F800000u), finite, x); /* infinity and NaN are their own */
}

/* x + x^3 P(x^2) near 0, else log((1 + x) / (1 - x)) / 2 with what the sum and the division lost. */
static STEPC_LOOP_INLINE float stepc_atanhf(float x)
{
    const float a = stepc_fabsf(x);
    const float z = a * a;
    float p = 0.176692218f;
    p = p * z + 0.0513576418f;
    p = p * z + 0.118237399f;
    p = p * z + 0.14222762f;
    p = p * z + 0.200025186f;
    p = p * z + 0.333333015f;
    const float c = stepc_selectf((a > 0.5f) & (a < 1.0f), a, 0.5f);
    const float n = 1.0f + c, n_rest = (1.0f - n) + c, m = 1.0f - c;
    const float v = n / m;
    const float v_h = stepc_upperf(v), v_l = v - v_h, m_h = stepc_upperf(m), m_l = m - m_h;
    const float left = ((((n - v_h * m_h) - v_h * m_l) - v_l * m_h) - v_l * m_l) + n_rest;
    const float outer = 0.5f * stepc_log_andf(v, 0.0f, left / n);
    const float beyond = stepc_from_bitsf(a > 1.0f ? 0x7FC00000u : 0x7F800000u);
    const float finite = stepc_selectf(a < 1.0f, stepc_selectf(a < 0.5f, a + a * z * p, outer), beyond);
    return stepc_copysignf(stepc_selectf(a == a, finite, a), x);
}

static inline double stepc_log_and(double v, double n, double more)
{
    const uint64_t u = stepc_bits(v) + 0x00095F619980C433u;
    const double e = stepc_from_bits(0x4330000000000000u | (u >> 52)) - 4503599627371519.0 + n;
    const double f = stepc_from_bits((u & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    return e * 6.93147180369123816490e-01 + (f + (stepc_log_rest(f) + (e * 1.90821492927058770002e-10 + more)));
}

/* From 2^28 on the root is a. */
static STEPC_FAST_INLINE double stepc_arc_log(double a, double one)
{
    const int large = a > 268435456.0;
    const double c = stepc_select(large, 1.0, a);
    const double c_h = stepc_upper(c), c_l = c - c_h;
    const double q = c * c, q_rest = ((c_h * c_h - q) + 2.0 * c_h * c_l) + c_l * c_l;
    const double t = q + one, q_back = t - one;
    const double t_rest = ((q - q_back) + (one - (t - q_back))) + q_rest;
    const double s = stepc_sqrt(t), s_h = stepc_upper(s), s_l = s - s_h;
    const double s_rest = ((((t - s_h * s_h) - 2.0 * s_h * s_l) - s_l * s_l) + t_rest) / (2.0 * s);
    const double v = s + c, v_back = v - s;
    const double v_rest = ((s - (v - v_back)) + (c - v_back)) + s_rest;
    return stepc_log_and(stepc_select(large, a, v), stepc_select(large, 1.0, 0.0),
                         stepc_select(large, 0.0, v_rest / v));
}

static STEPC_FAST_INLINE double stepc_asinh(double x)
{
    const double a = stepc_fabs(x);
    const double z = a * a;
    double p = 0.0017180848350275854;
    p = p * z - 0.004747516306959192;
    p = p * z + 0.007465603560042066;
    p = p * z - 0.009534144172240746;
    p = p * z + 0.011512984440099601;
    p = p * z - 0.01396023229785114;
    p = p * z + 0.0173523869572942;
    p = p * z - 0.02237213835827254;
    p = p * z + 0.030381943716391507;
    p = p * z - 0.04464285712783145;
    p = p * z + 0.07499999999984416;
    p = p * z - 0.1666666666666661;
    const double outer = stepc_arc_log(a, 1.0);
    const double finite = stepc_select(a < 0.5, a + a * z * p, outer);
    return stepc_copysign(stepc_select(a < stepc_from_bits(0x7FF0000000000000u), finite, a), x);
}

static STEPC_FAST_INLINE double stepc_acosh(double x)
{
    const double d = x - 1.0;
    const double s = stepc_sqrt(2.0 * d);
    double p = 4.194543054266566e-07;
    p = p * d - 2.318123196757418e-06;
    p = p * d + 7.29062847660358e-06;
    p = p * d - 1.8621375336407706e-05;
    p = p * d + 4.497259546913907e-05;
    p = p * d - 0.00010906431482696204;
    p = p * d + 0.00027113104620772187;
    p = p * d - 0.0006991293236960169;
    p = p * d + 0.0018988714822744692;
    p = p * d - 0.005580357140978931;
    p = p * d + 0.01874999999996104;
    p = p * d - 0.08333333333333305;
    const double outer = stepc_arc_log(stepc_select(x < 1.5, 1.5, x), -1.0);
    const double finite = stepc_select(x < 1.5, s + s * d * p, outer);
    return stepc_select(x < stepc_from_bits(0x7FF0000000000000u), finite, x);
}

static STEPC_FAST_INLINE double stepc_atanh(double x)
{
    const double a = stepc_fabs(x);
    const double z = a * a;
    double p = 0.22477475062499475;
    p = p * z - 0.1528920322869348;
    p = p * z + 0.1449259604586147;
    p = p * z + 0.014565652526708389;
    p = p * z + 0.059823782939573536;
    p = p * z + 0.05774401542585458;
    p = p * z + 0.0667794360924292;
    p = p * z + 0.0769149482273327;
    p = p * z + 0.09090948481222488;
    p = p * z + 0.11111109888787171;
    p = p * z + 0.14285714308030648;
    p = p * z + 0.19999999999795162;
    p = p * z + 0.3333333333333399;
    const double c = stepc_select((a > 0.5) & (a < 1.0), a, 0.5);
    const double n = 1.0 + c, n_rest = (1.0 - n) + c, m = 1.0 - c;
    const double v = n / m;
    const double v_h = stepc_upper(v), v_l = v - v_h, m_h = stepc_upper(m), m_l = m - m_h;
    const double left = ((((n - v_h * m_h) - v_h * m_l) - v_l * m_h) - v_l * m_l) + n_rest;
    const double outer = 0.5 * stepc_log_and(v, 0.0, left / n);
    const double beyond = stepc_from_bits(a > 1.0 ? 0x7FF8000000000000u : 0x7FF0000000000000u);
    const double finite = stepc_select(a < 1.0, stepc_select(a < 0.5, a + a * z * p, outer), beyond);
    return stepc_copysign(stepc_select(a == a, finite, a), x);
}

#endif
