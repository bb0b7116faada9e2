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

/* fork() while signals are held. The child has a group of its own, and signals end it as if nothing were held; whatever
 * is in its group is ended when one comes for us. Only one at a time. */
pid_t interrupt_fork(void);
/* Waits for that child; its status as of waitpid(), or -1 if there is none to be had. */
int interrupt_wait(pid_t child);

#endif
