#!/usr/bin/env bash
# usage: emitted_arguments.sh STEPC MAKE_NPY
# What entries look at before anything else: a pointer that is needed and NULL is STEPC_E_ARGUMENT, one that is not needed is not; init() of
# a reproducible program says STEPC_E_ARITHMETIC where numbers are rounded otherwise. The hook for traces sees checks, too.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/emitted/models.sh
. "$source_folder/tests/emitted/models.sh"
cc=${CC:-cc}

expect 0 "$stepc" compile "$source_folder/examples/digits/model.onnx" -o digits.c --dim batch=4 --loss softmax-cross-entropy --initialize he \
    --reproducible --quiet
cat >program.c <<'C'
#include "digits.h"
#include <fenv.h>
#include <stdio.h>

static digits_state state;
static digits_arena arena;
static int failures;

static void is(const char *what, stepc_status status, stepc_status expected)
{
    if (status != expected) {
        printf("%s: %s, not %s\n", what, stepc_status_text(status), stepc_status_text(expected));
        failures++;
    }
}

int main(void)
{
    static const float x[4][64] = {{0}};
    static const int64_t target[4] = {0};
    float loss = 0;
    float logits[4][10];
    const digits_step_inputs in = {x[0], target}, no_x = {NULL, target}, no_target = {x[0], NULL};
    const digits_step_outputs out = {.loss = &loss}, none = {NULL, NULL};
    const digits_infer_inputs infer_nothing = {NULL};
    const digits_infer_outputs wanted = {logits[0]}, unwanted = {NULL};
    const stepc_entry *const step = stepc_find_entry(&digits_model, "step");

    fesetround(FE_UPWARD);
    is("upward", digits_init(&state, &arena, 1), STEPC_E_ARITHMETIC);
    fesetround(FE_TOWARDZERO);
    is("toward zero", digits_init(&state, &arena, 1), STEPC_E_ARITHMETIC);
    fesetround(FE_TONEAREST);
    is("no state to begin", digits_init(NULL, &arena, 1), STEPC_E_ARGUMENT);
    is("init", digits_init(&state, &arena, 1), STEPC_OK);
    is("no state", digits_step(NULL, &arena, &in, &out), STEPC_E_ARGUMENT);
    is("no arena", digits_step(&state, NULL, &in, &out), STEPC_E_ARGUMENT);
    is("no inputs", digits_step(&state, &arena, NULL, &out), STEPC_E_ARGUMENT);
    is("no outputs", digits_step(&state, &arena, &in, NULL), STEPC_E_ARGUMENT);
    is("no x", digits_step(&state, &arena, &no_x, &out), STEPC_E_ARGUMENT);
    is("no target", digits_step(&state, &arena, &no_target, &none), STEPC_E_ARGUMENT);
    is("nothing wanted", digits_step(&state, &arena, &in, &none), STEPC_OK);
    is("x that nothing needs", digits_infer(&state, &arena, &infer_nothing, &unwanted), STEPC_OK);
    is("x that something needs", digits_infer(&state, &arena, &infer_nothing, &wanted), STEPC_E_ARGUMENT);
    is("no list of inputs", step->call(&state, &arena, 0, NULL, (void *const[]){logits, &loss}), STEPC_E_ARGUMENT);
    is("no list of outputs", step->call(&state, &arena, 0, (const void *const[]){x, target}, NULL), STEPC_E_ARGUMENT);
    is("step", digits_step(&state, &arena, &in, &out), STEPC_OK);
    return failures > 0;
}
C
for flags in -O0 '-O2 -std=gnu11'; do
    # shellcheck disable=SC2086 # flags are words
    "$cc" "${emitted_warnings[@]}" $flags -I"$source_folder/runtime" -c digits.c || fail "$flags: a warning"
    # shellcheck disable=SC2086
    "$cc" -std=c99 $flags -I"$source_folder/runtime" program.c digits.o "$source_folder/runtime/stepc.c" -lm -o program
    expect 0 ./program
done

cat >trace.h <<'C'
#include <stdio.h>
#define STEPC_TRACE(kernel, name) (void)puts(name)
C
mkdir traced
expect 0 "$stepc" compile "$source_folder/examples/digits/model.onnx" -o traced/digits.c --dim batch=4 --loss softmax-cross-entropy \
    --initialize he --reproducible --trace --quiet
has traced/digits.c 'STEPC_TRACE(3, "check_labels");'
"$cc" "${emitted_warnings[@]}" -include trace.h -I"$source_folder/runtime" -c traced/digits.c || fail 'a traced program: a warning'
"$cc" -std=c99 -include trace.h -I"$source_folder/runtime" program.c traced/digits.c "$source_folder/runtime/stepc.c" -lm -o with_traces
expect 0 ./with_traces
has stdout check_labels

# ---- infinities and NaN ----

for optimizer in sgd adam; do
    expect 0 "$stepc" compile "$source_folder/examples/digits/model.onnx" -o guarded.c --dim batch=4 --loss softmax-cross-entropy \
        --initialize he --optimizer $optimizer --check-finite --quiet
    cat >program.c <<'C'
#include "guarded.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static guarded_state state, before;
static guarded_arena arena;

int main(void)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static float x[4][64];
    static const int64_t target[4] = {1, 2, 3, 4};
    float loss = 0;
    const guarded_step_inputs in = {.x = x[0], .target = target};
    const guarded_step_outputs out = {.loss = &loss};
    if (guarded_init(&state, &arena, 1) != STEPC_OK)
        return 1;
    for (int i = 0; i < 3; i++) {
        before = state;
        x[1][7] = bad[i];
        const stepc_status status = guarded_step(&state, &arena, &in, &out);
        if (status != STEPC_E_NOT_FINITE || memcmp(&state, &before, sizeof state) != 0) {
            printf("%g: %s, loss %g\n", (double)bad[i], stepc_status_text(status), (double)loss);
            return 1;
        }
    }
    x[1][7] = 0.5f;
    return guarded_step(&state, &arena, &in, &out) != STEPC_OK || memcmp(&state, &before, sizeof state) == 0 || !(loss > 0.0f);
}
C
    "$cc" "${emitted_warnings[@]}" -O2 -I"$source_folder/runtime" guarded.c program.c "$source_folder/runtime/stepc.c" -o program
    expect 0 ./program
    expect 1 "$cc" -ffast-math -I"$source_folder/runtime" -c guarded.c
    has stderr 'looks for infinities and NaN'
done

# ---- double of 32 bits, as GCC for AVR has it ----

mkdir avr
echo '#define DBL_MANT_DIG 24' >avr/float.h
expect 1 "$cc" -Iavr -I"$source_folder/runtime" -c guarded.c
has stderr 'this file computes with numbers of 64 bits'
