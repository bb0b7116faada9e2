/* A step() that returns an error leaves the state as it was, to the byte, and the next step is none the wiser. */
#include "labels.h"

#include <stdio.h>
#include <string.h>

static labels_state state, before, other;
static labels_arena arena;
static int failures;

static void expect(int condition, const char *what)
{
    if (!condition) {
        printf("FAILED: %s\n", what);
        failures++;
    }
}

static stepc_status step(labels_state *s, const int64_t word[3], const int64_t label[3])
{
    float loss, y[12];
    const labels_step_inputs in = {.word = word, .label = label};
    const labels_step_outputs out = {.y = y, .loss = &loss};
    return labels_step(s, &arena, &in, &out);
}

/* What no step may do to the state when one of its inputs is wrong. */
static void expect_refused(const int64_t word[3], const int64_t label[3], stepc_status expected, const char *what)
{
    memcpy(&before, &state, sizeof state);
    expect(step(&state, word, label) == expected, what);
    expect(memcmp(&before, &state, sizeof state) == 0, "the state is as before");
}

int main(void)
{
    static const int64_t word[3] = {0, 4, 2}, label[3] = {3, 0, 1};
    static const int64_t low_label[3] = {-1, 0, 1}, high_label[3] = {3, 0, 4}, far_label[3] = {0, INT64_MAX, 0},
                         low_word[3] = {0, -6, 2}, high_word[3] = {0, 1, 5};
    memset(&state, 0x5A, sizeof state); /* padding, too, has to stay */
    memset(&other, 0x5A, sizeof other);
    expect(labels_init(&state, &arena, 11) == STEPC_OK && labels_init(&other, &arena, 11) == STEPC_OK, "init");
    expect(step(&state, word, label) == STEPC_OK && step(&other, word, label) == STEPC_OK, "a good step");
    expect_refused(word, low_label, STEPC_E_LABEL, "label -1");
    expect_refused(word, high_label, STEPC_E_LABEL, "label 4 of 4 classes");
    expect_refused(word, far_label, STEPC_E_LABEL, "the largest label");
    expect_refused(low_word, label, STEPC_E_INDEX, "index -6 of 5 rows");
    expect_refused(high_word, label, STEPC_E_INDEX, "index 5 of 5 rows");
    memcpy(&before, &state, sizeof state);
    expect(step(&state, word, label) == STEPC_OK && step(&other, word, label) == STEPC_OK, "another good step");
    expect(memcmp(&before, &state, sizeof state) != 0, "a good step changes the state");
    expect(memcmp(&other, &state, sizeof state) == 0, "refused steps draw no random numbers");
    printf("state after refused steps: %d failures\n", failures);
    return failures > 0;
}
