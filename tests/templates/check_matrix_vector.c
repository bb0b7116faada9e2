/* matrix_vector as it stands against plain loops, every bit. */
#include TEMPLATE

#include "terms.h"

#include <stdio.h>

enum { SIZE = (ROWS - 1) * ROW_STEP + (K - 1) * COL_STEP + 1 };

static T element(int i)
{
    return (T)((i * 7919) % 1009 - 504) / (T)97;
}

int main(void)
{
    static T matrix[SIZE], vector[(K - 1) * VECTOR_STEP + 1];
    static T waiting[2 * BLOCK];
    int failures = 0;
    for (int i = 0; i < SIZE; i++)
        matrix[i] = element(i);
    for (int k = 0; k < K; k++)
        vector[k * VECTOR_STEP] = (T)((k * 31) % 17 - 8) / (T)3;
    matrix_of_sample = matrix;
    for (share_of_sample = 0; share_of_sample < SHARES; share_of_sample++)
        matrix_vector(matrix, vector, waiting);
    for (int i = 0; i < ROWS; i++) {
        struct terms sum = {.most = TERMS};
        for (int k = 0; k < K; k++) {
            const int at = i * ROW_STEP + k * COL_STEP;
            const T updated = WITH_UPDATE ? element(at) + (T)4096 : element(at);
            add_term(&sum, element(at) * vector[k * VECTOR_STEP]);
            if (matrix[at] != updated && failures++ < 5)
                printf("element [%d,%d] is %.9g afterwards, expected %.9g\n", i, k, (double)matrix[at],
                       (double)updated);
        }
        if (out[i] != sum_of(&sum) && failures++ < 5)
            printf("[%d] is %.9g, expected %.9g\n", i, (double)out[i], (double)sum_of(&sum));
    }
    return failures != 0;
}
