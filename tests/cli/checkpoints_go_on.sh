#!/usr/bin/env bash
# usage: checkpoints_go_on.sh STEPC MAKE_NPY
# After a framework's checkpoint (tests/foreign): entries that add up, schedules by epochs and as objects, where data goes on.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
files=$source_folder/tests/foreign

"$make_npy" f4 30 4 3 <"$files/x.txt" >x.npy
"$make_npy" i8 30 4 <"$files/target.txt" >t.npy
feeds=(--feed x=x.npy --feed target=t.npy --dim batch=4)

# losses_are NAME: those of the run just made are PyTorch's
losses_are() {
    sed -n 's/^step [0-9]*  loss \([^ ]*\).*/\1/p' stdout >got.txt
    [ "$(wc -l <got.txt)" -eq 20 ] || fail "$(wc -l <got.txt) steps, expected 20"
    paste got.txt "$files/$1.losses" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d }
        END { if (worst > 1e-6) { print "largest difference of losses", worst; exit 1 } }' >&2 || fail "losses of $1"
}
# prepare OUT OPTION...
prepare() {
    expect 0 "$stepc" prepare "$files/net.onnxtxt" -o "$1" --loss softmax-cross-entropy "${@:2}"
}

# Sums of gradients are in no framework's checkpoint: they begin with 0.
for entries in --split '--split --shards 2'; do
    # shellcheck disable=SC2086 # words
    prepare split.onnx $entries --optimizer adamw:weight_decay=0 --quiet
    expect 0 "$stepc" run split.onnx "${feeds[@]}" --load "$files/adam.pt"
    losses_are adam
    [ "$(grep -c warning stderr)" -eq 0 ] || fail 'nothing is wrong, but something is said'
    # shellcheck disable=SC2086
    prepare split_from.onnx $entries --from "$files/adam.pt" --quiet
    expect 0 "$stepc" run split_from.onnx "${feeds[@]}"
    losses_are adam
done
prepare split.onnx --split --optimizer adamw:weight_decay=0 --quiet
expect 0 "$stepc" convert "$files/adam.pt" filled.onnx --model split.onnx
expect 0 "$stepc" run filled.onnx "${feeds[@]}"
losses_are adam
expect 0 "$stepc" strip split.onnx -o stripped.onnx --state "$files/adam.pt"
has stdout 'set: 6 initializers'
# Nor do they go to PyTorch, unless a run ends between the two entries; what is there is taken.
expect 0 "$stepc" run split.onnx "${feeds[@]}" --load "$files/adam.pt" --steps 5 --save between.safetensors
lacks between.safetensors grad_sum
expect 0 "$stepc" run split.onnx "${feeds[@]}" --load "$files/adam.pt" --steps 6
tail -n 1 stdout >wanted
expect 0 "$stepc" run split.onnx "${feeds[@]}" --load between.safetensors --entry accumulate --steps 1 --save within.safetensors
has within.safetensors '"0.weight.grad_sum"'
expect 0 "$stepc" run split.onnx --dim batch=4 --load within.safetensors --entry apply --steps 1
[ "$(sed 's/.* loss //' stdout)" = "$(sed 's/.*apply.loss //' wanted)" ] || fail 'the sums of a run that ended within a step are lost'
expect 0 "$stepc" convert within.safetensors within.onnx --model split.onnx
expect 0 "$stepc" convert "$files/adam.pt" again.onnx --model within.onnx
same again.onnx filled.onnx

# A schedule that was called once an epoch of five steps becomes one of steps, and this is said.
prepare epochs.onnx --from "$files/epochs.pt"
has stdout '--schedule step:every=10,gamma=0.5'
has stderr 'its schedule, StepLR, was called 2 times, its optimizer made 10 steps: a call is taken for 5 steps; --schedule says it otherwise'
[ "$(grep -c warning stderr)" -eq 1 ] || fail 'it is said twice'
expect 0 "$stepc" run epochs.onnx "${feeds[@]}"
losses_are epochs
# A model that has one already goes by steps.
prepare known.onnx --optimizer adamw:weight_decay=0 --schedule step:every=10,gamma=0.5 --quiet
expect 0 "$stepc" run known.onnx "${feeds[@]}" --load "$files/epochs.pt"
losses_are epochs
has stderr 'its schedule, StepLR, was called 2 times, its optimizer made 10 steps, 5 for a call; that of the model goes by the steps'
prepare flat.onnx --optimizer adamw:weight_decay=0 --quiet
expect 0 "$stepc" run flat.onnx "${feeds[@]}" --load "$files/epochs.pt"
has stderr 'it has a schedule, StepLR, and the model has none'
# A rate that the program gives needs no schedule.
prepare given.onnx --learning-rate-input rate --from "$files/epochs.pt"
[ ! -s stderr ] || fail 'nothing is wrong, but something is said'

# OneCycleLR of PyTorch 1.13 is an object in the file, of which nothing is called.
prepare cycle.onnx --from "$files/cycle.pt"
has stdout '--schedule onecycle:steps=40,pct_start=0.3,div_factor=25,final_div_factor=10000,linear=1,three_phase=0'
expect 0 "$stepc" run cycle.onnx "${feeds[@]}"
losses_are cycle

# A model that is filled goes on where the checkpoint stopped, in the data, too; stripped, it knows nothing of that.
prepare from.onnx --from "$files/adam.pt" --quiet
expect 0 "$stepc" run from.onnx "${feeds[@]}"
losses_are adam
has stdout 'step 10 '
has stderr 'goes on with step 10, where the checkpoint stopped that the model was filled from; --from 0 begins with the first'
expect 0 "$stepc" run from.onnx "${feeds[@]}" --from 3 --steps 1
has stdout 'step 3 '
lacks stderr 'goes on with'
expect 0 "$stepc" run from.onnx "${feeds[@]}" --quiet --steps 2 --save later
[ ! -s stderr ] || fail '--quiet says something'
expect 0 "$stepc" run from.onnx "${feeds[@]}" --load later --steps 1
has stdout 'step 12 '
expect 0 "$stepc" run from.onnx --entry infer --feed x=x.npy --dim batch=4 --steps 1 --fetch scores=first.npy
expect 0 "$stepc" run from.onnx --entry infer --feed x=x.npy --dim batch=4 --steps 1 --from 0 --fetch scores=zero.npy
same first.npy zero.npy
expect 0 "$stepc" strip from.onnx -o stripped.onnxtxt
lacks stripped.onnxtxt stepc.
expect 1 "$stepc" run from.onnx --feed x=x.npy --feed target=t.npy --dim batch=4 --steps 25
has stderr 'steps 10 to 34: the feeds hold 30; --from 0 begins with their first again'
