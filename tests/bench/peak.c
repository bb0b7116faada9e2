/* What one core can do, served by turns beside the programs that are measured. For each line that it reads:
 *
 *   sgemm N            GFLOP/s of OpenBLAS, square matrices of N
 *   tile               GFLOP/s of a register tile in C: the inner loop of a matrix product, operands
 *                      packed, in the first cache
 *   bandwidth BYTES    GB/s of y += a * x over that many bytes (both vectors), two reads and a write counted
 *   chain              multiply-adds of one sum in index order, 10^9 a second: lanes are sums side by
 *                      side, so this is latency
 *
 * CPU time; with an argument above 1, the number of OpenBLAS's threads, wall-clock time. A rate is the mean over SAMPLE
 * seconds after one warm-up, as the steps that are measured beside it: the best of several short ones would find gaps
 * between neighbours that no step fits into. Vectors have the width of the target (-march=native) or half of it,
 * whichever is faster. */
#define _POSIX_C_SOURCE 200809L
#include <cblas.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static clockid_t clock_used = CLOCK_PROCESS_CPUTIME_ID;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *vector(size_t count)
{
    float *p = aligned_alloc(64, (count * sizeof(float) / 64 + 1) * 64);
    if (p == NULL)
        exit(1);
    for (size_t i = 0; i < count; i++)
        p[i] = (float)(i % 7) * 0.125f;
    return p;
}

static const double SAMPLE = 0.03; /* bench.py's contenders take as long */

static double sgemm(int n)
{
    const size_t count = (size_t)n * (size_t)n;
    float *a = vector(count), *b = vector(count), *c = vector(count);
    double start = 0, spent = 0;
    int products = 0;
    for (int i = 0; i < 2 || spent < SAMPLE; i++) {
        if (i == 1)
            start = seconds();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a, n, b, n, 0.0f, c, n);
        products = i;
        spent = i > 0 ? seconds() - start : 0;
    }
    free(a);
    free(b);
    free(c);
    return 2.0 * n * n * n * products / spent * 1e-9;
}

/* Two vectors across, ROWS down, K deep: all sums stay in registers. */
enum { K = 128, REPEAT = 2000 };
#define TILE(NAME, WIDTH, ROWS)                                                                                        \
    typedef float NAME##_vec __attribute__((vector_size(4 * (WIDTH)), may_alias));                                     \
    static double NAME(const float *a, const float *b, float *out)                                                     \
    {                                                                                                                  \
        const NAME##_vec *bv = (const NAME##_vec *)b;                                                                  \
        const double start = seconds();                                                                                \
        for (int r = 0; r < REPEAT; r++) {                                                                             \
            NAME##_vec sum[ROWS][2] = {{{0}}};                                                                         \
            for (int k = 0; k < K; k++) {                                                                              \
                _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                                              \
                {                                                                                                      \
                    sum[i][0] += a[k * (ROWS) + i] * bv[2 * k];                                                        \
                    sum[i][1] += a[k * (ROWS) + i] * bv[2 * k + 1];                                                    \
                }                                                                                                      \
            }                                                                                                          \
            _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                                                  \
            {                                                                                                          \
                ((NAME##_vec *)out)[2 * i] = sum[i][0];                                                                \
                ((NAME##_vec *)out)[2 * i + 1] = sum[i][1];                                                            \
            }                                                                                                          \
            __asm__ volatile("" : : "r"(out) : "memory");                                                              \
        }                                                                                                              \
        return 2.0 * REPEAT * K * (ROWS)*2 * (WIDTH) / (seconds() - start) * 1e-9;                                     \
    }

#if defined(__AVX512F__)
TILE(tile_wide, 16, 12)
TILE(tile_half, 8, 6)
#elif defined(__AVX__)
TILE(tile_wide, 8, 6)
TILE(tile_half, 4, 6)
#else
TILE(tile_wide, 4, 6)
TILE(tile_half, 4, 5)
#endif

/* The mean rate of one form of the tile. */
static double tile_rate(double (*form)(const float *, const float *, float *), const float *a, const float *b,
                        float *out)
{
    double sum = 0;
    int count = 0;
    form(a, b, out);
    for (const double start = seconds(); count == 0 || seconds() - start < SAMPLE / 2; count++)
        sum += 1 / form(a, b, out);
    return count / sum;
}

static double tile(void)
{
    float *a = vector(K * 16), *b = vector(K * 32), *out = vector(16 * 32);
    const double wide = tile_rate(tile_wide, a, b, out), half = tile_rate(tile_half, a, b, out);
    free(a);
    free(b);
    free(out);
    return wide > half ? wide : half;
}

static void add_scaled(float *restrict y, const float *restrict x, size_t count, size_t repeat)
{
    for (size_t r = 0; r < repeat; r++) {
        for (size_t j = 0; j < count; j++)
            y[j] += 1e-6f * x[j];
        __asm__ volatile("" : : "r"(y) : "memory");
    }
}

static double bandwidth(size_t bytes)
{
    const size_t count = bytes / 8 < 64 ? 64 : bytes / 8;
    float *x = vector(count), *y = vector(count);
    const size_t repeat = 1 + ((size_t)1 << 20) / count;
    double spent = 0;
    size_t moved = 0;
    add_scaled(y, x, count, repeat);
    for (const double start = seconds(); spent < SAMPLE; spent = seconds() - start) {
        add_scaled(y, x, count, repeat);
        moved += 12 * count * repeat;
    }
    free(x);
    free(y);
    return (double)moved / spent * 1e-9;
}

/* sum[LANES] = the terms of as many sums side by side, each in index order: as emitted code adds them. */
enum { TERMS = 512, LANES = 4 };
typedef float lanes_vec __attribute__((vector_size(4 * LANES), may_alias));
static void add_terms(float *sum, const float *a, const float *x)
{
    lanes_vec part = {0};
    for (int k = 0; k < TERMS; k++)
        part += a[k] * ((const lanes_vec *)x)[k];
    *(lanes_vec *)sum = part;
}

static double chain(void)
{
    float *a = vector(TERMS), *x = vector(TERMS * LANES), *sum = vector(LANES);
    double spent = 0;
    size_t terms = 0;
    for (const double start = seconds(); spent < SAMPLE; spent = seconds() - start) {
        for (int r = 0; r < 100; r++) {
            add_terms(sum, a, x);
            a[0] = sum[0] * 1e-30f; /* the next ones wait for these */
        }
        terms += 100 * TERMS;
    }
    free(a);
    free(x);
    free(sum);
    return (double)terms / spent * 1e-9;
}

int main(int argc, char **argv)
{
    char line[64];
    if (argc > 1 && atoi(argv[1]) > 1)
        clock_used = CLOCK_MONOTONIC;
    while (fgets(line, sizeof line, stdin) != NULL) {
        double rate;
        if (strncmp(line, "sgemm ", 6) == 0)
            rate = sgemm(atoi(line + 6));
        else if (strncmp(line, "tile", 4) == 0)
            rate = tile();
        else if (strncmp(line, "chain", 5) == 0)
            rate = chain();
        else if (strncmp(line, "bandwidth ", 10) == 0)
            rate = bandwidth((size_t)strtoull(line + 10, NULL, 10));
        else
            return 2;
        printf("%.4f\n", rate);
        fflush(stdout);
    }
    return 0;
}
