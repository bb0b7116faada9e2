/* Sums as the templates of matrix products must add them: `most` terms at a time, each sum of them from zero. */
#ifndef STEPC_TESTS_TERMS_H
#define STEPC_TESTS_TERMS_H

struct terms {
    T total, open; /* whole sums, and the one that is being added to */
    int most, count;
};

static void add_term(struct terms *s, T term)
{
    s->open = s->count++ % s->most == 0 ? (T)0 + term : s->open + term;
    if (s->count % s->most == 0)
        s->total += s->open;
}

static T sum_of(const struct terms *s)
{
    return s->count % s->most == 0 ? s->total : s->total + s->open;
}

#endif
