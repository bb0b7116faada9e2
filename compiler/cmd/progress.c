#include "cmd/progress.h"

#include "base/clean.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(struct progress *p, bool wanted, int64_t all)
{
    *p = (struct progress){.shown = wanted && all > 1 && isatty(STDERR_FILENO), .all = all, .start = now()};
}

static void print_time(double seconds)
{
    const long long s = (long long)(seconds + 0.5);
    if (s >= 3600)
        say_text("%lld:%02lld:%02lld left", s / 3600, s / 60 % 60, s % 60);
    else
        say_text("%lld:%02lld left", s / 60, s % 60);
}

void progress_show(struct progress *p, int64_t done, const char *name, const double *figure)
{
    enum { WIDTH = 30 };
    const double t = p->shown ? now() : 0;
    if (!p->shown || done <= 0 || (t - p->last < 0.1 && done < p->all))
        return;
    p->last = t;
    const int filled = (int)((double)done * WIDTH / (double)p->all);
    say_text("\r[%.*s%*s] %lld/%lld  ", filled, "##############################", WIDTH - filled, "", (long long)done,
            (long long)p->all);
    if (figure)
        say_text("%.20s %.5g  ", name, *figure);
    print_time((t - p->start) / (double)done * (double)(p->all - done));
    fputs("\033[K", stderr); /* erases what a longer line left behind */
    if (done == p->all)
        fputc('\n', stderr);
}

void progress_clear(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
}
