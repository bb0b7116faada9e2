/* softmax_cross_entropy as it stands against libm in double. Float results are sums of at most C terms of 2 ULP each
 * and of the position's losses: 1e-5 relative to the largest value leaves a factor of ten. */
#include TEMPLATE

#include <math.h>
#include <stdio.h>

static T scores[N * C * D], scratch[BLOCK * C];
static LABELS labels[N * D];
static int failures;

static void compare(const char *what, int i, double got, double expected)
{
    const double difference = got - expected;
    if ((difference < 0 ? -difference : difference) <= 1e-5 * (1 + (expected < 0 ? -expected : expected)) ||
        failures++ > 5)
        return;
    printf("%s [%d] is %.9g, expected %.9g\n", what, i, got, expected);
}

static double weight_at(int p)
{
    if (HAS_IGNORE && labels[p] == IGNORE)
        return 0;
    return HAS_WEIGHTS ? (double)sample_weights[labels[p]] : 1;
}

int main(void)
{
    double total = 0, weights = 0;
    for (int i = 0; i < N * C * D; i++)
        scores[i] = (T)((i * 7919) % 1009 - 504) / (T)97;
    for (int p = 0; p < N * D; p++)
        labels[p] = (LABELS)((p * 3) % C);
    if (HAS_IGNORE)
        labels[1] = IGNORE; /* also where it is no class */
    for (int p = 0; p < N * D; p++)
        weights += weight_at(p);
    softmax_cross_entropy(scores, labels, scratch);
    for (int p = 0; p < N * D; p++) {
        const int n = p / D, d = p % D;
        double max = -1e30, sum = 0;
        for (int c = 0; c < C; c++)
            max = fmax(max, (double)scores[(n * C + c) * D + d]);
        for (int c = 0; c < C; c++)
            sum += exp((double)scores[(n * C + c) * D + d] - max);
        for (int c = 0; c < C; c++) {
            const int i = (n * C + c) * D + d;
            const double log_p = (double)scores[i] - max - log(sum);
            const double f = weight_at(p) / (REDUCTION == 2 ? weights : 1);
            compare("log_prob", i, (double)log_prob_out[i], log_p);
            compare("grad", i, (double)grad_out[i], (exp(log_p) - (c == (int)labels[p] ? 1 : 0)) * f);
            if (c == (int)labels[p]) {
                total -= log_p * weight_at(p);
                if (REDUCTION == 0)
                    compare("loss", p, (double)loss_out[p], -log_p * weight_at(p));
            }
        }
    }
    if (REDUCTION > 0)
        compare("loss", 0, (double)loss_out[0], REDUCTION == 2 ? total / weights : total);
    return failures != 0;
}
