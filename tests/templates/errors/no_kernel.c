/* error: no function is marked KERNEL here */
#include "template.h"
enum HOLE { N = 1 };
