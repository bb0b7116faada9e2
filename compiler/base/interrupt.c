#include "base/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
                              SIGALRM, SIGXCPU, SIGXFSZ, SIGUSR1, SIGUSR2};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int depth;
static struct sigaction before[NUMBERS];
static volatile sig_atomic_t caught, child_group;

/* SIGTERM, whatever came: compilers remove their files then. */
static void note(int number)
{
    const int error = errno;
    if (caught == 0)
        caught = number;
    if (child_group > 0)
        kill(-(pid_t)child_group, SIGTERM);
    errno = error;
}

static void restore(void)
{
    for (int i = 0; i < NUMBERS; i++)
        if (before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &before[i], NULL);
}

void interrupt_hold(void)
{
    if (depth++ > 0)
        return;
    struct sigaction noting = {.sa_handler = note}; /* no SA_RESTART: who waits for the reader of a pipe wakes up */
    sigfillset(&noting.sa_mask);
    for (int i = 0; i < NUMBERS; i++) {
        sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* as nohup leaves it */
            sigaction(numbers[i], &noting, NULL);
    }
}

void interrupt_release(void)
{
    if (--depth > 0)
        return;
    restore();
    const int number = caught;
    caught = 0;
    if (number != 0)
        raise(number);
}

bool interrupted(void)
{
    return caught != 0;
}

/* All signals are blocked until both sides know of the group: none is lost in between. */
pid_t interrupt_fork(void)
{
    sigset_t all, open;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &open);
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        restore();
    } else if (child > 0) {
        setpgid(child, child); /* whoever is first */
        child_group = child;
        if (caught != 0)
            kill(-child, SIGTERM);
    }
    sigprocmask(SIG_SETMASK, &open, NULL);
    return child;
}

int interrupt_wait(pid_t child)
{
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    child_group = 0;
    return ended == child ? status : -1;
}
