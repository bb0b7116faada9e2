/* matrix_vector as it stands against plain loops, every bit. */
#include TEMPLATE

#include "terms.h"

#include <stdio.h>

enum { SIZE = (ROWS - 1) * ROW_STEP + (K - 1) * COL_STEP + 1 };

int main(void)
{
    static T matrix[SIZE], vector[(K - 1) * VECTOR_STEP + 1];
    static T waiting[2 * BLOCK];
    int failures = 0;
    for (int i = 0; i < SIZE; i++)
        matrix[i] = (T)((i * 7919) % 1009 - 504) / (T)97;
    for (int k = 0; k < K; k++)
        vector[k * VECTOR_STEP] = (T)((k * 31) % 17 - 8) / (T)3;
    matrix_vector(matrix, vector, waiting);
    for (int i = 0; i < ROWS; i++) {
        struct terms sum = {.most = TERMS};
        for (int k = 0; k < K; k++)
            add_term(&sum, matrix[i * ROW_STEP + k * COL_STEP] * vector[k * VECTOR_STEP]);
        if (out[i] != sum_of(&sum) && failures++ < 5)
            printf("[%d] is %.9g, expected %.9g\n", i, (double)out[i], (double)sum_of(&sum));
    }
    return failures != 0;
}
