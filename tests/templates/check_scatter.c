/* scatter_add_rows as it stands against plain loops, every bit. */
#include TEMPLATE

#include <stdio.h>

enum { DY_SIZE = (OUTER - 1) * DY_OUTER + (ROWS - 1) * DY_ROW + (INNER - 1) * DY_COL + 1 };

int main(void)
{
    static T dy[DY_SIZE], expected[OUTER][SIZE][INNER];
    static INDICES indices[ROWS * INDEX_STRIDE];
    static int32_t chain[SIZE + ROWS];
    int failures = 0;
    for (int i = 0; i < DY_SIZE; i++)
        dy[i] = (T)((i * 7919) % 1009 - 504) / (T)97;
    for (int k = 0; k < ROWS; k++)
        indices[k * INDEX_STRIDE] = (INDICES)((k * 5) % (2 * SIZE) - SIZE);
    for (int k = 0; k < ROWS; k++) {
        const int s = (int)indices[k * INDEX_STRIDE] < 0 ? (int)indices[k * INDEX_STRIDE] + SIZE : (int)indices[k * INDEX_STRIDE];
        for (int o = 0; o < OUTER; o++)
            for (int i = 0; i < INNER; i++)
                expected[o][s][i] += dy[o * DY_OUTER + k * DY_ROW + i * DY_COL];
    }
    scatter_add_rows(indices, dy, chain);
    for (int o = 0; o < OUTER; o++)
        for (int s = 0; s < SIZE; s++)
            for (int i = 0; i < INNER; i++)
                if (out[(o * SIZE + s) * INNER + i] != expected[o][s][i] && failures++ < 5)
                    printf("[%d,%d,%d] is %.9g, expected %.9g\n", o, s, i, (double)out[(o * SIZE + s) * INNER + i],
                           (double)expected[o][s][i]);
    return failures != 0;
}
