/* The plain product as it stands (TEMPLATE) against loops: every bit. Compiled without contraction. */
#include TEMPLATE

#include "terms.h"

#include <stdio.h>

int main(void)
{
    static T a[(M + 1) * (K + 1) * 64], b[(N + 1) * (K + 1) * 64];
    int failures = 0;
    for (int i = 0; i < (int)(sizeof a / sizeof *a); i++)
        a[i] = (T)((i * 7919) % 1009 - 504) / (T)97;
    for (int i = 0; i < (int)(sizeof b / sizeof *b); i++)
        b[i] = (T)((i * 101) % 997 - 498) / (T)89;
    product_plain(a, b);
    for (int i = 0; i < M; i++) {
        T row = 0;
        for (int k = 0; k < K; k++)
            row += a[i * A_ROW + k * A_COL];
        failures += sums[i] != row;
        for (int j = 0; j < N; j++) {
            struct terms sum = {.most = TERMS};
            for (int k = 0; k < K; k++)
                add_term(&sum, a[i * A_ROW + k * A_COL] * b[k * B_ROW + j * B_COL]);
            failures += out[i * N + j] != sum_of(&sum);
        }
    }
    printf("%d differences\n", failures);
    return failures != 0;
}
