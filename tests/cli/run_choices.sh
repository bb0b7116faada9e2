#!/usr/bin/env bash
# usage: run_choices.sh STEPC MAKE_NPY
# A label or an index that is out of range ends a run: what is said names the step, the element and the sample, by either engine.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
net (float[N,6] x) => (float[N,3] y) <float[6,3] w = {1, ...}>
{ y = MatMul (x, w) }
MODEL
expect 0 "$stepc" prepare net.onnxtxt -o net.onnx --loss softmax-cross-entropy --evaluate
awk 'BEGIN { for (i = 0; i < 36; i++) print i }' | "$make_npy" f4 6 6 >x.npy
awk 'BEGIN { for (i = 0; i < 24; i++) print i }' | "$make_npy" f4 2 2 6 >steps_x.npy
printf '%s\n' 0 1 2 0 7 2 | "$make_npy" i8 6 >t.npy
printf '%s\n' 0 1 -2 0 | "$make_npy" i8 2 2 >steps_t.npy
printf '%s\n' 0 1 2 0 1 2 | "$make_npy" i8 6 >right.npy
for engine in interpreted generated; do
    run=("$stepc" run net.onnx --engine "$engine")
    expect 1 "${run[@]}" --feed x=x.npy --feed target=t.npy
    has stderr "note: step 0: 'target'[4] is 7; SoftmaxCrossEntropyLoss chooses from 3"
    expect 1 "${run[@]}" --feed x=steps_x.npy --feed target=steps_t.npy
    has stderr "note: step 1: 'target'[0] is -2; SoftmaxCrossEntropyLoss chooses from 3"
    expect 1 "${run[@]}" --data x=x.npy --data target=t.npy --batch 2
    has stderr "note: step 2: 'target'[0] is 7, of sample 4 of its data; SoftmaxCrossEntropyLoss chooses from 3"
    expect 1 "${run[@]}" --data x=x.npy --data target=t.npy --batch 3 --shuffle 5 # another place in its batch
    has stderr "is 7, of sample 4 of its data; SoftmaxCrossEntropyLoss chooses from 3"
    expect 1 "${run[@]}" --data x=x.npy --data target=right.npy --validate x=x.npy --validate target=t.npy --batch 2
    has stderr "note: --validate, batch 2: 'target'[0] is 7, of sample 4 of its data"
done

# Labels that are ignored, bytes, and indices, which may count from the end.
expect 0 "$stepc" prepare net.onnxtxt -o bytes.onnx --loss softmax-cross-entropy --ignore-index 9 --target-type uint8
printf '%s\n' 0 9 2 0 3 2 | "$make_npy" u1 6 >bytes.npy
expect 1 "$stepc" run bytes.onnx --feed x=x.npy --feed target=bytes.npy
has stderr "note: step 0: 'target'[4] is 3; "
cat >rows.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
rows (int64[2,3] i) => (float[2,3,2] y) <float[4,2] table = {1, 2, 3, 4, 5, 6, 7, 8}>
{ y = Gather (table, i) }
MODEL
printf '%s\n' 0 -4 3 1 -5 9 | "$make_npy" i8 2 3 >i.npy
expect 1 "$stepc" run rows.onnxtxt --feed i=i.npy
has stderr "note: step 0: 'i'[1,1] is -5; Gather chooses from 4"

# Where nothing that is fed is out of range, nothing is said of it.
cat >computed.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
rows (int64[2,3] i) => (float[2,3,2] y) <float[4,2] table = {1, 2, 3, 4, 5, 6, 7, 8}, int64 two = {2}>
{ j = Add (i, two) y = Gather (table, j) }
MODEL
printf '%s\n' 0 1 3 1 -5 3 | "$make_npy" i8 2 3 >i.npy
expect 1 "$stepc" run computed.onnxtxt --feed i=i.npy
lacks stderr note:
