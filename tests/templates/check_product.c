/* A product template as it stands (TEMPLATE, with sizes of the test's choice) against plain loops: every bit, since
 * each element's terms are added in the same order. Compiled without contraction. */
#include TEMPLATE

#include "terms.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    A_SIZE = (M - 1) * A_ROW + (K > 0 ? (K - 1) * A_COL : 0) + 1,
    B_SIZE = (K > 0 ? (K - 1) * B_ROW : 0) + (N - 1) * B_COL + 1
};

static int failures;

static void fill(T *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = (T)((i * 7919) % 1009 - 504) / (T)97;
}

static void compare(const char *what, int i, int j, T got, T expected)
{
    if (got == expected || failures++ > 5)
        return;
    printf("%s [%d,%d] is %.9g, expected %.9g\n", what, i, j, (double)got, (double)expected);
}

static void check(const char *kernel, int terms, const T *a, const T *b)
{
    for (int i = 0; i < M; i++) {
        T row = 0;
        for (int k = 0; k < K; k++)
            row += a[i * A_ROW + k * A_COL];
        if (WITH_ROW_SUM)
            compare("row sum", i, 0, sums[i], row);
        for (int j = 0; j < N; j++) {
            struct terms sum = {.most = terms};
            for (int k = 0; k < K; k++)
                add_term(&sum, a[i * A_ROW + k * A_COL] * b[k * B_ROW + j * B_COL]);
            compare(kernel, i, j, out[i * N + j], sum_of(&sum));
            out[i * N + j] = (T)-1;
        }
        sums[i] = (T)-1;
    }
}

int main(void)
{
    T *a = malloc(sizeof(T) * A_SIZE), *b = malloc(sizeof(T) * B_SIZE); /* exact sizes: sanitizers see a read too far */
    T *panel = malloc(sizeof(T) * (K * PANEL + 1));
    T *block = malloc(sizeof(T) * (LONGEST * (BLOCK + PACK_A * 32) +
                                   (LAST > 0 ? (ROWS < M ? ROWS : M + 8) * BLOCK : 256) + PACK_A * M));
    if (!a || !b || !panel || !block)
        return 1;
    fill(a, A_SIZE);
    fill(b, B_SIZE);
    if (B_COL == 1 && N >= 16) {
        for (share_of_sample = 0; share_of_sample < SHARES; share_of_sample++)
            product(a, b);
        check("product", TERMS, a, b);
    } else {
        (void)product;
    }
    for (share_of_sample = 0; share_of_sample < SHARES; share_of_sample++)
        product_packed(a, b, panel);
    check("product_packed", TERMS, a, b);
    if (N <= 8) {
        T *narrow = malloc(sizeof(T) * (K * 16 + 1));
        if (!narrow)
            return 1;
        for (share_of_sample = 0; share_of_sample < SHARES; share_of_sample++)
            product_narrow(a, b, narrow);
        check("product_narrow", TERMS, a, b);
        free(narrow);
    }
    if (N <= 4 && PANEL >= 32 && A_COL == 1) {
        for (share_of_sample = 0; share_of_sample < SHARES; share_of_sample++)
            product_few(a, b, panel);
        check("product_few", TERMS, a, b);
    }
    if (K > 0 && N >= 32) { /* the others are never large */
        for (share_of_sample = 0; share_of_sample < SHARES; share_of_sample++)
            product_blocked(a, b, block);
        check("product_blocked", TERMS, a, b);
    }
    if (SHARES == 1) { /* a library is not cut */
        T *all = malloc(sizeof(T) * (M * N));
        if (!all)
            return 1;
        product_blas(a, b, all);
        check("product_blas", K > 0 ? K : 1, a, b);
        free(all);
    } else {
        (void)product_blas;
    }
    free(block);
    free(a);
    free(b);
    free(panel);
    return failures != 0;
}
