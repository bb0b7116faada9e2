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

# Infinity stops where it is the loss: the output of that name, else the first scalar of floats. NaN does anywhere.
# two NAME OPERATOR NAME OPERATOR: a step with two scalars, of y = 0.5 and 1000
two() {
    cat >two.onnxtxt <<MODEL
<ir_version: 10, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
net (float[2] x) => (float[2] y) <float[2] w = {0.5, 1000}> { y = Mul(x, w) }
@training_info { algorithm: train () => (float $1, float[2] each, float $3, int64 n, float[2] w_new) <float[1] one = {1}> {
n = Size(y) each = Exp(y) more = Sub(each, each) $1 = $2 $3 = $4 w_new = Div(w, one) } update_binding: ["w" : "w_new"] }
MODEL
}
printf '1\n1\n' | "$make_npy" f4 2 >ones.npy
sum='ReduceSum<keepdims = 0>'
two first "$sum(y)" second "$sum(each)"
expect 0 "$stepc" run two.onnxtxt --feed x=ones.npy --steps 2
two first "$sum(each)" second "$sum(y)"
expect 1 "$stepc" run two.onnxtxt --feed x=ones.npy --steps 2
has stderr "error: step 0: 'first' is inf"
two first "$sum(y)" loss "$sum(each)"
expect 1 "$stepc" run two.onnxtxt --feed x=ones.npy --steps 2
has stderr "error: step 0: 'loss' is inf"
two first "$sum(each)" loss "$sum(y)"
expect 0 "$stepc" run two.onnxtxt --feed x=ones.npy --steps 2
sed -i 's/float first, float\[2\] each/int64 n, float[2] each, float first/; s/, int64 n, float\[2\] w_new/, float[2] w_new/' two.onnxtxt
expect 0 "$stepc" run two.onnxtxt --feed x=ones.npy --steps 2
two first "$sum(y)" second "$sum(more)"
expect 1 "$stepc" run two.onnxtxt --feed x=ones.npy --steps 2
has stderr "error: step 0: 'second' is NaN"
cat >infer.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 17]>
net (float[2] x) => (float y) <float big = {3e38}> { s = ReduceSum<keepdims = 0>(x) y = Mul(s, big) }
MODEL
expect 0 "$stepc" run infer.onnxtxt --feed x=ones.npy --steps 2
