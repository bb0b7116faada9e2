#!/usr/bin/env bash
# usage: states_of_programs.sh STEPC MAKE_NPY
# States that a program with emitted code has written, which knows of no run: the model's counter says how many steps there were.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }
MODEL
seq 80 | "$make_npy" f4 40 1 2 >x.npy
cat >program.c <<'C'
#include "checkpoint.h"
#include "net.h"
#include <stdlib.h>
static net_state state;
static net_arena arena;
static stepc_max_align work[4096 / sizeof(stepc_max_align)];
int main(int count, char **arguments)
{
    float x[2] = {1.0f, 2.0f}, target[2] = {0.0f, 1.0f}, loss;
    const net_step_inputs in = {.x = x, .target = target};
    const net_step_outputs out = {.loss = &loss};
    stepc_status status = net_init(&state, &arena, 1);
    for (int i = 0; i < atoi(arguments[1]) && status == STEPC_OK; i++)
        status = net_step(&state, &arena, &in, &out);
    return count != 2 || status != STEPC_OK ||
           stepc_checkpoint_save_file(&net_model, &state, "program.state", work, sizeof work) != STEPC_OK;
}
C

# program MODEL STEPS: program.state after so many steps
program() {
    local runtime=$source_folder/runtime
    expect 0 "$stepc" compile "$1" -o net.c --name net
    expect 0 "${CC:-cc}" -O1 -w -I. -I"$runtime" program.c net.c "$runtime"/{stepc,checkpoint,checkpoint_file}.c -o program -lm
    expect 0 ./program "$2"
}
# steps_are FILE NUMBER: what PyTorch is told that the optimizer has counted
steps_are() {
    local size begin step
    size=$(od -An -N 8 -t u8 "$1" | tr -d ' ')
    begin=$(tail -c +9 "$1" | head -c "$size" | sed -nE 's/.*"optimizer\.state\.w\.step":\{[^}]*"data_offsets":\[([0-9]+),.*/\1/p')
    step=$(tail -c +$((9 + size + begin)) "$1" | od -An -N 4 -t f4 | tr -d ' ')
    [ "$step" = "$2" ] || fail "$1: $step steps, not $2"
}
feeds=(--feed x=x.npy --feed target=x.npy)

# adam counts from 1, adamw from 0.
for optimizer in adamw adam; do
    expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss mse --optimizer $optimizer
    program train.onnx 7
    expect 0 "$stepc" run train.onnx "${feeds[@]}" --load program.state --steps 1 --save out.safetensors
    has stderr "stepc run: goes on with step 7, as 'step_count' says; --from 0 begins with the first"
    has stdout 'step 7 '
    steps_are out.safetensors 8
    expect 0 "$stepc" run train.onnx "${feeds[@]}" --load out.safetensors --steps 1
    has stdout 'step 8 '
    expect 1 "$stepc" run train.onnx "${feeds[@]}" --load program.state --steps 34 --quiet
    has stderr 'steps 7 to 40: the feeds hold 40; --from 0 begins with their first again'
done

# The place in the data and what the optimizer has counted are two things, in the file and in a model that is made of it.
expect 0 "$stepc" run train.onnx "${feeds[@]}" --load program.state --from 0 --steps 2 --save out.safetensors
lacks stderr 'goes on with step'
steps_are out.safetensors 9
expect 0 "$stepc" run train.onnx "${feeds[@]}" --load out.safetensors --steps 1 --save again.safetensors
has stdout 'step 2 '
steps_are again.safetensors 10
expect 0 "$stepc" convert out.safetensors filled.onnx --model train.onnx
expect 0 "$stepc" run filled.onnx "${feeds[@]}" --steps 1 --save again.safetensors
has stdout 'step 2 '
steps_are again.safetensors 10
program filled.onnx 3
expect 0 "$stepc" run filled.onnx "${feeds[@]}" --load program.state --steps 1 --save again.safetensors
has stdout 'step 12 '
steps_are again.safetensors 13
expect 0 "$stepc" run train.onnx "${feeds[@]}" --load program.state --reset optimizer --steps 1 --save out.safetensors
has stdout 'step 12 '
steps_are out.safetensors 1

# A model that prepare has filled counts on as well.
expect 0 "$stepc" prepare net.onnxtxt -o from.onnx --loss mse --from again.safetensors --optimizer adamw
program from.onnx 2
expect 0 "$stepc" run from.onnx "${feeds[@]}" --load program.state --steps 1 --save out.safetensors
has stdout 'step 15 '
steps_are out.safetensors 16

# Weights alone leave what the model has of an optimizer.
expect 0 "$stepc" convert net.onnxtxt weights.safetensors
expect 0 "$stepc" convert weights.safetensors mixed.onnx --model from.onnx
has stdout 'optimizer: what the model has of one stays, after 13 steps, since the checkpoint has no state of one'
lacks stdout 'it starts anew, since'
expect 0 "$stepc" run mixed.onnx "${feeds[@]}" --steps 1 --save out.safetensors
has stdout 'step 13 '
steps_are out.safetensors 14
expect 0 "$stepc" convert weights.safetensors fresh.onnx --model train.onnx
has stdout 'optimizer: it starts anew, since the checkpoint has no state of one'

# Without a counter nobody knows. An entry that makes no step goes on with nothing; one that adds up is not counted.
expect 0 "$stepc" prepare net.onnxtxt -o sgd.onnx --loss mse --optimizer sgd --evaluate
program sgd.onnx 4
expect 0 "$stepc" run sgd.onnx "${feeds[@]}" --load program.state --steps 1
has stderr 'it does not say how many steps were made: data goes on from its beginning; --from N says it'
has stdout 'step 0 '
expect 0 "$stepc" run sgd.onnx "${feeds[@]}" --load program.state --entry evaluate --steps 1
lacks stderr 'stepc run: it does not say'
expect 0 "$stepc" prepare net.onnxtxt -o split.onnx --loss mse --optimizer adamw --split
program split.onnx 4
expect 0 "$stepc" run split.onnx "${feeds[@]}" --load program.state --entry accumulate --steps 1
has stderr 'it does not say how many steps were made'
expect 0 "$stepc" run split.onnx "${feeds[@]}" --load program.state --steps 1
has stdout 'step 4 '
