/* error: 3:19: error: kernel 'k' must return nothing */
#include "template.h"
KERNEL static int k(void)
{
    return 0;
}
