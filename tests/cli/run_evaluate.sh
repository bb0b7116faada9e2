#!/usr/bin/env bash
# usage: run_evaluate.sh STEPC MAKE_NPY
# A model with an entry evaluate and a fixed batch: validation averages what the entry computes. Names need escaping.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >line.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
line (float[4,1] x) => (float[4,1] y) <float[1,1] w = {0}, float rate = {0.1}> { y = MatMul(x, w) }
@training_info {
  algorithm: train (float[4,1] t) => (float "a<b>,&c", float[1,1] w_new) {
    d = Sub(y, t)
    q = Mul(d, d)
    "a<b>,&c" = ReduceMean <keepdims = 0> (q)
    g = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x", "t"], y = "a<b>,&c"> (w, x, t)
    move = Mul(rate, g)
    w_new = Sub(w, move)
  }
  update_binding: ["w" : "w_new"]
}
@training_info {
  algorithm: evaluate (float[4,1] t) => (float error) { e = Sub(y, t) a = Abs(e) error = ReduceMean <keepdims = 0> (a) }
}
MODEL
seq 1 8 | "$make_npy" f4 8 1 >x.npy
seq 2 2 16 | "$make_npy" f4 8 1 >t.npy
printf '1 1 1 1 2 2 2 2' | "$make_npy" f4 8 1 >vx.npy
printf '0 0 0 0 0 0 0 0' | "$make_npy" f4 8 1 >vt.npy
for engine in interpreted generated; do
    # After one step: w = 0.1 * mean(2 * 2x * x) over x = 1..4 = 3. |y| is then 3 in one batch and 6 in the other.
    expect 0 "$stepc" run line.onnxtxt --engine "$engine" --data x=x.npy --data t=t.npy --steps 1 --validate x=vx.npy --validate t=vt.npy \
        --csv "$engine.csv" --plot "$engine.svg"
    has stdout "validate: entry 'evaluate', 2 batches of 4; mean of 'error'"
    has stdout 'validate.error 4.5'
    [ "$(head -n 1 "$engine.csv")" = 'step,epoch,"a<b>,&c",validate.error' ] || fail 'names in the table'
    awk -F, 'NR == 2 && ($3 < 29.99 || $3 > 30.01 || $4 < 4.499 || $4 > 4.501) { exit 1 }' "$engine.csv" || fail 'values in the table'
    has "$engine.svg" '>a&lt;b&gt;,&amp;c</text>'
done
expect 1 "$stepc" run line.onnxtxt --data x=x.npy --data t=t.npy --batch 2
has stderr "input 'x' takes batches of 4, not of 2"
expect 1 "$stepc" run line.onnxtxt --data x=x.npy --data t=t.npy --validate x=vx.npy
has stderr "entry 'evaluate': input 't' has no data; give --validate t=FILE"

# Labels that the loss ignores count for nothing: two right ones of four, in two batches.
cat >places.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
places (float[1,3,3] x) => (float[1,3,3] scores) <float[3] w = {1, 1, 1}> { scores = Mul(x, w) }
MODEL
printf '1 0 0 0 1 0 0 0 1 1 0 0 0 1 0 0 0 1' | "$make_npy" f4 2 3 3 >x.npy
printf '0 -1 -1 0 0 0' | "$make_npy" i8 2 3 >t.npy
for axis in -1 1; do
    expect 0 "$stepc" prepare places.onnxtxt -o places.onnx --loss softmax-cross-entropy --class-axis $axis --ignore-index -1 --evaluate \
        --learning-rate 0.001
    expect 0 "$stepc" run places.onnx --data x=x.npy --data target=t.npy --steps 1 --validate x=x.npy --validate target=t.npy
    has stdout ', without those that are -1'
    grep -qE 'validate.accuracy 0.5$' stdout || fail "accuracy: $(tail -n 1 stdout)"
done

# The same by hand, where the first node gives labels another shape.
cat >flat.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
places (float[1,3,3] x) => (float[1,3,3] scores) <float[3] w = {1, 1, 1}> { scores = Mul(x, w) }
@training_info {
  algorithm: train (int64[1,3] target) => (float loss, float[3] w_new)
  <int64[1] all = {-1}, int64[2] rows = {3, 3}, float rate = {0.001}> {
    labels = Reshape(target, all)
    flat = Reshape(scores, rows)
    loss = SoftmaxCrossEntropyLoss <ignore_index = -1> (flat, labels)
    g = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x", "target"], y = "loss"> (w, x, target)
    move = Mul(rate, g)
    w_new = Sub(w, move)
  }
  update_binding: ["w" : "w_new"]
}
MODEL
expect 0 "$stepc" run flat.onnxtxt --data x=x.npy --data target=t.npy --steps 1 --validate x=x.npy --validate target=t.npy
has stdout ', without those that are -1'
grep -qE 'validate.accuracy 0.5$' stdout || fail "accuracy: $(tail -n 1 stdout)"
