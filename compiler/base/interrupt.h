/* Signals that end the program, while something temporary exists. */
#ifndef STEPC_BASE_INTERRUPT_H
#define STEPC_BASE_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

/* From here to the matching interrupt_release() such a signal waits. What takes long in between asks interrupted(), and
 * stops early. The outermost release lets the signal end the program. Pairs nest. */
void interrupt_hold(void);
void interrupt_release(void);
bool interrupted(void);

/* A child, which stays where it is from interrupt_fork() to interrupt_wait(). */
struct interrupt_child {
    pid_t pid; /* -1: it could not be made */
    struct interrupt_child *next;
};

/* fork() while signals are held. The child has a group of its own, and in it nothing is held: signals end it. Whatever
 * is in its group is ended when one comes for us. */
pid_t interrupt_fork(struct interrupt_child *child);
/* Waits for that child; its status as of waitpid(), or -1 if there is none to be had. */
int interrupt_wait(struct interrupt_child *child);

#endif
