/* Trains a digit classifier from random weights. Everything numeric is in digits.c, which stepc made of model.onnx; this file
 * owns the memory and feeds the data.
 *
 *   train [digits.csv [loss.svg]] */
#include "data.h"
#include "digits.h"
#include "plot.h"

#include <stdio.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

enum { BATCH = 32, CLASSES = 10, TEST_IMAGES = 10 * BATCH, EPOCHS = 30 };

static image images[IMAGES_MAX];

/* All that training needs: no heap. */
static digits_state state;
static digits_arena arena;

static void fill_batch(const image *from, float x[BATCH][PIXELS], int64_t target[BATCH])
{
    for (int i = 0; i < BATCH; i++) {
        memcpy(x[i], from[i].pixel, sizeof x[i]);
        target[i] = from[i].digit;
    }
}

/* One pass over the images, batch by batch; the mean loss through *mean_loss. A rest smaller than a batch waits for the next
 * epoch, which has another order. */
static stepc_status train_epoch(const image *train, int count, float *mean_loss)
{
    float x[BATCH][PIXELS], loss, sum = 0.0f;
    int64_t target[BATCH];
    const int batches = count / BATCH;
    for (int b = 0; b < batches; b++) {
        const digits_step_inputs in = {.x = x[0], .target = target};
        const digits_step_outputs out = {.loss = &loss};
        fill_batch(train + b * BATCH, x, target);
        const stepc_status status = digits_step(&state, &arena, &in, &out);
        if (status != STEPC_OK)
            return status;
        sum += loss;
    }
    *mean_loss = sum / (float)batches;
    return STEPC_OK;
}

static int best_class(const float logits[CLASSES])
{
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
        if (logits[c] > logits[best])
            best = c;
    return best;
}

static stepc_status count_correct(const image *test, int count, int *correct)
{
    float x[BATCH][PIXELS], logits[BATCH][CLASSES];
    int64_t target[BATCH];
    *correct = 0;
    for (int at = 0; at + BATCH <= count; at += BATCH) {
        const digits_infer_inputs in = {.x = x[0]};
        const digits_infer_outputs out = {.logits = logits[0]};
        fill_batch(test + at, x, target);
        const stepc_status status = digits_infer(&state, &arena, &in, &out);
        if (status != STEPC_OK)
            return status;
        for (int i = 0; i < BATCH; i++)
            *correct += best_class(logits[i]) == target[i];
    }
    return STEPC_OK;
}

/* Only a terminal shows one line that changes; a file gets a line an epoch. */
static int is_terminal(void)
{
#if defined(__unix__) || defined(__APPLE__)
    return isatty(STDOUT_FILENO);
#else
    return 0;
#endif
}

static void show_progress(int epoch, float loss, int correct)
{
    static const char bar[] = "##############################";
    const int width = (int)sizeof bar - 1, done = epoch * width / EPOCHS, overwrite = is_terminal();
    if (overwrite)
        printf("\r[%.*s%*s] ", done, bar, width - done, "");
    printf("epoch %2d/%d  loss %.4f  test accuracy %.2f %%", epoch, EPOCHS, (double)loss, 100.0 * correct / TEST_IMAGES);
    if (!overwrite || epoch == EPOCHS)
        printf("\n");
    fflush(stdout);
}

static int fail(stepc_status status)
{
    fprintf(stderr, "\n%s\n", stepc_status_text(status));
    return 1;
}

int main(int argc, char **argv)
{
    const char *data = argc > 1 ? argv[1] : "digits.csv", *picture = argc > 2 ? argv[2] : "loss.svg";
    uint64_t order = 1;
    float loss[EPOCHS];
    int correct = 0;

    const int count = read_images(data, images);
    if (count < TEST_IMAGES + BATCH)
        return 1;
    shuffle(images, count, &order);
    image *test = images, *train = images + TEST_IMAGES;
    const int train_count = count - TEST_IMAGES;
    printf("%d images to train, %d to test; state %zu bytes, arena %zu bytes\n", train_count, TEST_IMAGES, sizeof state, sizeof arena);

    stepc_status status = digits_init(&state, &arena, 1);
    for (int epoch = 0; epoch < EPOCHS && status == STEPC_OK; epoch++) {
        shuffle(train, train_count, &order);
        status = train_epoch(train, train_count, &loss[epoch]);
        if (status == STEPC_OK)
            status = count_correct(test, TEST_IMAGES, &correct);
        if (status == STEPC_OK)
            show_progress(epoch + 1, loss[epoch], correct);
    }
    if (status != STEPC_OK)
        return fail(status);
    if (!plot_curve(picture, "Mean training loss by epoch", loss, EPOCHS)) {
        perror(picture);
        return 1;
    }
    printf("loss curve: %s\n", picture);
    /* The model is compiled with --reproducible: these seeds give 98.75 % everywhere. Seeds 2 to 5 gave 95.6 to 97.5 %. */
    return correct * 100 >= TEST_IMAGES * 96 ? 0 : 1;
}
