/* The template product_transposed as it stands (TEMPLATE, with sizes of the test's choice) against plain loops: every
 * bit, since each element's terms are added in index order. Compiled without contraction. */
#include TEMPLATE

#include "terms.h"

#include <stdio.h>
#include <stdlib.h>

enum { A_SIZE = (M - 1) * A_ROW + K, B_SIZE = (N - 1) * B_COL + K, PADDED = (M + 31) / 32 * 32 };

static void fill(T *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = (T)((i * 7919) % 1009 - 504) / (T)97;
}

static int compare(const T *a, const T *b)
{
    int failures = 0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            struct terms sum = {.most = TERMS};
            for (int k = 0; k < K; k++)
                add_term(&sum, a[i * A_ROW + k] * b[j * B_COL + k]);
            if (out[i * N + j] != sum_of(&sum) && failures++ < 5)
                printf("[%d,%d] is %.9g, expected %.9g\n", i, j, (double)out[i * N + j], (double)sum_of(&sum));
        }
    }
    return failures;
}

int main(void)
{
    T *a = malloc(sizeof(T) * A_SIZE), *b = malloc(sizeof(T) * B_SIZE); /* exact sizes: sanitizers see a read too far */
    T *panel = malloc(sizeof(T) * PADDED * (K + (DEPTH < K ? ROWS < N ? ROWS : N + 32 : 32)));
    if (!a || !b || !panel)
        return 1;
    fill(a, A_SIZE);
    fill(b, B_SIZE);
    fill(out, M * N);
    for (share_of_sample = 0; share_of_sample < SHARES; share_of_sample++)
        product_transposed(a, b, panel);
    const int failures = compare(a, b);
    free(a);
    free(b);
    free(panel);
    return failures != 0;
}
