/* How many steps a checkpoint has behind it: what its optimizer, its file and its schedule have counted. */
#include "foreign/fill.h"

#include <math.h>

double checkpoint_steps(const struct checkpoint *c, const int64_t *said)
{
    double most = NAN;
    if (said)
        return (double)*said;
    vec_each_ptr(const struct checkpoint_parameter, p, &c->parameters)
        if (!isnan(p->steps) && !(p->steps <= most))
            most = p->steps;
    return isnan(most) ? c->steps : most;
}

double checkpoint_calls(const struct checkpoint *c)
{
    const double calls = checkpoint_number(&c->schedule, "last_epoch", NAN);
    return calls >= 0 && calls == floor(calls) ? calls : NAN;
}

/* Saved between a step and the call behind it, there is one call less. */
double checkpoint_stride(const struct checkpoint *c, const int64_t *said)
{
    const double steps = checkpoint_steps(c, said), calls = checkpoint_calls(c);
    if (isnan(calls))
        return 1;
    if (isnan(steps))
        return c->schedule_waits || calls - c->epochs <= 1 ? NAN : 1; /* fewer than epochs are no steps either */
    if (steps - calls <= 1 || steps < 2 * calls)
        return 1;
    return calls > 0 && fmod(steps, calls) == 0 ? steps / calls : NAN;
}
