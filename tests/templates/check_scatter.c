/* scatter_rows as it stands against plain loops, every bit. */
#include TEMPLATE

#include <stdio.h>

enum {
    DY_SIZE = (OUTER - 1) * DY_OUTER + (ROWS - 1) * DY_ROW + (INNER - 1) * DY_COL + 1,
    DATA_SIZE = (OUTER - 1) * DATA_OUTER + (SIZE - 1) * DATA_ROW + (INNER - 1) * DATA_COL + 1,
    INDEX_SIZE = (OUTER - 1) * INDEX_OUTER + (ROWS - 1) * INDEX_STRIDE + (INNER - 1) * INDEX_COL + 1
};

static T dy[DY_SIZE], data[DATA_SIZE], expected[OUTER][SIZE][INNER];
static INDICES indices[INDEX_SIZE];

static T expected_together(T sum, T v)
{
    switch ((int)REDUCTION) {
    case 0: return (T)(sum + v);
    case 1: return (T)(sum * v);
    case 2: return v > sum ? v : sum;
    case 3: return v < sum ? v : sum;
    default: return v;
    }
}

static void fill(void)
{
    for (int i = 0; i < DY_SIZE; i++)
        dy[i] = (T)((T)((i * 7919) % 1009 - 504) / (T)97);
    for (int i = 0; i < DATA_SIZE; i++)
        data[i] = (T)((T)((i * 4637) % 1013 - 506) / (T)89);
    for (int k = 0; k < INDEX_SIZE; k++)
        indices[k] = (INDICES)((k * 5) % (2 * SIZE) - SIZE);
}

static void expect(void)
{
    for (int o = 0; o < OUTER; o++)
        for (int i = 0; i < INNER; i++) {
            for (int s = 0; s < SIZE; s++)
                expected[o][s][i] = HAS_DATA ? data[o * DATA_OUTER + s * DATA_ROW + i * DATA_COL] : (T)0;
            for (int k = 0; k < ROWS; k++) {
                const int index = (int)indices[o * INDEX_OUTER + k * INDEX_STRIDE + i * INDEX_COL];
                T *const at = &expected[o][index < 0 ? index + SIZE : index][i];
                *at = expected_together(*at, dy[o * DY_OUTER + k * DY_ROW + i * DY_COL]);
            }
        }
}

int main(void)
{
    static int32_t chain[SIZE + ROWS];
    static T sums[SIZE * COLUMNS];
    int failures = 0;
    fill();
    expect();
    scatter_rows(indices, dy, data, chain, sums);
    for (int o = 0; o < OUTER; o++)
        for (int s = 0; s < SIZE; s++)
            for (int i = 0; i < INNER; i++)
                if (out[(o * SIZE + s) * INNER + i] != expected[o][s][i] && failures++ < 5)
                    printf("[%d,%d,%d] is %.9g, expected %.9g\n", o, s, i, (double)out[(o * SIZE + s) * INNER + i],
                           (double)expected[o][s][i]);
    return failures != 0;
}
