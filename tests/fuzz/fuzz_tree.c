/* libFuzzer on statement trees: choices of tests/trees/random_tree.c come from the bytes. The verifier accepts the
 * tree, its indices are folded once and for all, an element outside of an array is found, and where the verifier found
 * none the interpreter finds none. What the fuzzer keeps is compiled and compared by test_trees --files CORPUS.
 *   fuzz_tree -max_total_time=600 -max_len=2048 CORPUS */
#include "../trees/random_tree.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    struct arena a = {0};
    float x[ELEMENTS], y[ELEMENTS];
    int64_t z[CHOICES];
    const struct random_tree t = tree_of_bytes(&a, bytes, size);
    const char *const wrong = check_tree(&a, &t);
    tree_arguments(size, y, x, z);
    if (wrong || !interpret_tree(&t, y, x, z)) {
        fprintf(stderr, "%s\n", wrong ? wrong : "reads or writes outside, which the verifier did not find");
        abort();
    }
    arena_free(&a);
    return 0;
}
