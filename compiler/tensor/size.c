#include "tensor/size.h"

#include "base/checked.h"

struct size size_constant(int64_t x)
{
    return (struct size){x, 0};
}

/* per + factor * by, as far as both are numbers. */
static int64_t per_sum(int64_t per, int64_t other, int64_t factor)
{
    int64_t product, sum;
    const bool known = per != NOT_AFFINE && other != NOT_AFFINE && checked_mul(other, factor, &product) &&
                       checked_add(per, product, &sum);
    return known ? sum : NOT_AFFINE;
}

/* A number that does not fit is not affine. */
static struct size size_if(bool fits, int64_t most, int64_t per)
{
    return fits ? (struct size){most, per} : (struct size){0, NOT_AFFINE};
}

struct size size_sum(struct size x, struct size y)
{
    int64_t most;
    const bool fits = checked_add(x.most, y.most, &most);
    return size_if(fits, most, per_sum(x.per, y.per, 1));
}

struct size size_difference(struct size x, struct size y)
{
    int64_t most;
    const bool fits = checked_sub(x.most, y.most, &most);
    return size_if(fits, most, per_sum(x.per, y.per, -1));
}

struct size size_product(struct size x, struct size y)
{
    const int64_t per = x.per == 0   ? per_sum(0, y.per, x.most)
                        : y.per == 0 ? per_sum(0, x.per, y.most)
                                     : NOT_AFFINE;
    int64_t most;
    const bool fits = checked_mul(x.most, y.most, &most);
    return size_if(fits, most, per);
}

/* What the quotient leaves is the same for all counts if it is so for what one adds. */
static int64_t per_quotient(int64_t per, int64_t by)
{
    return per != NOT_AFFINE && per % by == 0 ? per / by : NOT_AFFINE;
}

struct size size_quotient(struct size x, int64_t by)
{
    return (struct size){x.most / by - (x.most % by < 0), per_quotient(x.per, by)};
}

struct size size_quotient_up(struct size x, int64_t by)
{
    return (struct size){x.most / by + (x.most % by > 0), per_quotient(x.per, by)};
}

struct size size_over(struct size x, struct size y)
{
    const int64_t times = x.most / y.most;
    if (y.per == 0)
        return size_quotient(x, y.most);
    const bool is_multiple = x.per != NOT_AFFINE && size_product(y, size_constant(times)).per == x.per;
    return (struct size){times, is_multiple ? 0 : NOT_AFFINE};
}

static int sign(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* For the lowest count. */
static bool at_lowest(struct size x, int64_t span, int64_t *out)
{
    int64_t less;
    return x.per != NOT_AFFINE && checked_mul(x.per, span, &less) && checked_sub(x.most, less, out);
}

int64_t size_compare(struct size x, struct size y, int64_t span)
{
    int64_t a, b;
    if (x.per == y.per && x.per != NOT_AFFINE)
        return sign(x.most, y.most);
    const bool same = at_lowest(x, span, &a) && at_lowest(y, span, &b) && sign(x.most, y.most) == sign(a, b);
    return same && a != b ? sign(a, b) : NOT_AFFINE;
}

/* Is x at most y for all counts? */
static bool is_least(struct size x, struct size y, int64_t span)
{
    int64_t a, b;
    return size_compare(x, y, span) == 0 ||
           (at_lowest(x, span, &a) && at_lowest(y, span, &b) && x.most <= y.most && a <= b);
}

struct size size_least(struct size x, struct size y, int64_t span)
{
    return is_least(x, y, span)   ? x
           : is_least(y, x, span) ? y
                                  : (struct size){x.most < y.most ? x.most : y.most, NOT_AFFINE};
}

struct size size_greatest(struct size x, struct size y, int64_t span)
{
    return is_least(x, y, span)   ? y
           : is_least(y, x, span) ? x
                                  : (struct size){x.most > y.most ? x.most : y.most, NOT_AFFINE};
}

bool size_equal(struct size x, struct size y)
{
    return x.most == y.most && x.per == y.per;
}
