#!/usr/bin/env bash
# usage: run_stops.sh STEPC MAKE_NPY
# Training that meets NaN or infinity stops and names the node that made it, whichever engine ran.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

digits 1 320 ''
data=(--data target=t.npy --batch 32)

# A rate of 1e30 makes weights of about 1e29, whose product overflows in the next step.
prepared wild.onnx 1e30
for engine in interpreted generated; do
    expect 1 "$stepc" run wild.onnx "${data[@]}" --data x=x.npy --engine "$engine" --csv "$engine.csv"
    has stderr "error: step 1: 'loss' is "
    has stderr "step 1: first made here, from finite inputs: node 'fc2' (Gemm), tensor 'logits' float[32,10]"
    [ "$(wc -l <"$engine.csv")" -eq 3 ] || fail 'the table ends with the step that went wrong'
done

# Larger inputs: an update overflows, and shows in the loss of the step after.
awk -F, '{ for (i = 1; i <= 64; i++) print $i * 1e9 }' rows.csv | "$make_npy" f4 320 64 >large.npy
expect 1 "$stepc" run wild.onnx "${data[@]}" --data x=large.npy
has stderr "error: step 1: 'loss' is "
has stderr "step 0: first made here, from finite inputs: a nameless Mul, tensor 'fc1.weight.step'"

# Nothing overflows: the data are to blame. Sample 300 stands in step 9, after a copy of the state was dropped.
prepared good.onnx 0.1
awk -F, '{ for (i = 1; i <= 64; i++) print NR == 301 && i == 4 ? "nan" : $i / 16 }' rows.csv | "$make_npy" f4 320 64 >spoilt.npy
expect 1 "$stepc" run good.onnx "${data[@]}" --data x=spoilt.npy
has stderr "step 9: it was fed: input 'x' float[32,64] is NaN at [12,3] (1 of 2048 elements not finite)"
expect 1 "$stepc" run good.onnx "${data[@]}" --data x=spoilt.npy --shuffle 5 --epochs 2 --engine generated
has stderr "it was fed: input 'x'"
