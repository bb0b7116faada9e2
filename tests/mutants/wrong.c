/* Included once, in the program's base: STEPC_WRONG in the environment is the number of the change that is made,
 * STEPC_WRONG_SEEN a file with a byte for each change, which becomes 1 where a run comes by. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wrong.h"

int wrong_active = -1;
unsigned char *wrong_seen;

__attribute__((constructor)) static void wrong_start(void)
{
    const char *const active = getenv("STEPC_WRONG"), *const seen = getenv("STEPC_WRONG_SEEN");
    struct stat found;
    if (active)
        wrong_active = atoi(active);
    if (!seen || wrong_seen)
        return;
    const int file = open(seen, O_RDWR);
    if (file < 0 || fstat(file, &found) != 0)
        return;
    void *const at = mmap(NULL, (size_t)found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at != MAP_FAILED)
        wrong_seen = at;
}
