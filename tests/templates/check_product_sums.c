/* A product whose terms come block by block, as it stands (TEMPLATE), against loops: every bit, whatever part of a
 * block is skipped. Compiled without contraction. */
#include TEMPLATE

#include "terms.h"

#include <stdio.h>
#include <stdlib.h>

enum { A_SIZE = (M - 1) * A_ROW + (K - 1) * A_COL + 1, B_SIZE = (K - 1) * B_ROW + N };

/* Element (i,k) of the whole a. */
static T of_a(int i, int k)
{
    return (T)((i * 7919 + k * 331) % 1009 - 504) / (T)97;
}

static T of_b(int k, int j)
{
    return (T)((k * 101 + j * 613) % 997 - 498) / (T)89;
}

static int check(void (*kernel)(const T *restrict a, const T *restrict b, T *restrict waiting), T *a, T *b, T *waiting)
{
    int failures = 0;
    for (before_of_sample = 0; before_of_sample < ALL; before_of_sample += K) {
        const int first = before_of_sample + K <= ALL ? before_of_sample : ALL - K;
        skip_of_sample = before_of_sample - first;
        for (int k = 0; k < K; k++) {
            for (int i = 0; i < M; i++)
                a[i * A_ROW + k * A_COL] = of_a(i, first + k);
            for (int j = 0; j < N; j++)
                b[k * B_ROW + j] = of_b(first + k, j);
        }
        kernel(a, b, waiting);
    }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            struct terms sum = {.most = TERMS};
            for (int k = 0; k < ALL; k++)
                add_term(&sum, of_a(i, k) * of_b(k, j));
            failures += out[i * N + j] != sum_of(&sum);
            out[i * N + j] = (T)-1;
        }
    return failures;
}

int main(void)
{
    T *a = malloc(sizeof(T) * A_SIZE), *b = malloc(sizeof(T) * B_SIZE); /* exact sizes: sanitizers see a read too far */
    T *waiting = malloc(sizeof(T) * (size_t)(WAITING * (ALL > TERMS ? 2 : 1)));
    if (!a || !b || !waiting)
        return 1;
    const int failures = check(product_sums, a, b, waiting) + check(product_sums_plain, a, b, waiting);
    printf("%d differences\n", failures);
    free(a);
    free(b);
    free(waiting);
    return failures != 0;
}
