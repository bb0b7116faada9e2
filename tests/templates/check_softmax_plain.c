/* softmax_cross_entropy_plain, held against the same. */
#define softmax_cross_entropy softmax_cross_entropy_plain
#include "check_softmax.c"
