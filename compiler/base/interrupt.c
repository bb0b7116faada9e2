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
static volatile sig_atomic_t caught;
static struct interrupt_child *children; /* changes only while all signals are blocked */

/* SIGTERM, whatever came: compilers remove their files then. */
static void note(int number)
{
    const int error = errno;
    if (caught == 0)
        caught = number;
    for (const struct interrupt_child *c = children; c; c = c->next)
        kill(-c->pid, SIGTERM);
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

static sigset_t block_all(void)
{
    sigset_t all, open;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &open);
    return open;
}

/* All signals are blocked until both sides know of the group: none is lost in between. */
pid_t interrupt_fork(struct interrupt_child *child)
{
    const sigset_t open = block_all();
    child->pid = fork();
    if (child->pid == 0) {
        setpgid(0, 0);
        restore();
        depth = 0;
        caught = 0;
        children = NULL;
    } else if (child->pid > 0) {
        setpgid(child->pid, child->pid); /* whoever is first */
        child->next = children;
        children = child;
        if (caught != 0)
            kill(-child->pid, SIGTERM);
    }
    sigprocmask(SIG_SETMASK, &open, NULL);
    return child->pid;
}

static void forget(const struct interrupt_child *child)
{
    struct interrupt_child **at = &children;
    while (*at && *at != child)
        at = &(*at)->next;
    if (*at)
        *at = child->next;
}

/* Once waited for, its number may be another's: no signal comes between that and forgetting it. */
int interrupt_wait(struct interrupt_child *child)
{
    siginfo_t info;
    int status = 0;
    if (child->pid < 0)
        return -1;
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
    const sigset_t open = block_all();
    const pid_t ended = waitpid(child->pid, &status, 0);
    forget(child);
    sigprocmask(SIG_SETMASK, &open, NULL);
    return ended == child->pid ? status : -1;
}
