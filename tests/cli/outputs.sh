#!/usr/bin/env bash
# usage: outputs.sh STEPC MAKE_NPY
# Outputs that a program can do without: --outputs names those to keep, prepare leaves out what is not supported.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >detector.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18, "other.vendor" : 1]>
net (float[1,5,3] x, float[1,5,4] boxes, string[1] id, float[2] unused) => (float[1,5,2] scores, int64[?,3] chosen, int64[1,5] label)
<float[3,2] w = {0.1, 0.2, 0.3, -0.1, -0.2, -0.3}, int64[1] most = {3}, int64[1,2] classes = {3, 7}>
{
    h = MatMul(x, w)
    scores = Sigmoid(h)
    t = Transpose <perm = [0, 2, 1]> (scores)
    chosen = other.vendor.Choose(boxes, t, most)
    best = ArgMax <axis = 2, keepdims = 0> (scores)
    label = other.vendor.Label(classes, best)
}
MODEL
seq 15 | "$make_npy" f4 1 5 3 >x.npy
seq 2 | "$make_npy" f4 2 >unused.npy

expect 1 "$stepc" compile detector.onnxtxt -o net.c
has stderr 'is not supported'
has stderr 'note: --outputs scores keeps what does without it'
expect 1 "$stepc" check detector.onnxtxt
has stderr 'note: --outputs scores keeps what does without it'
sed 's/h = MatMul(x, w)/g = MatMul(x, w) h = other.vendor.More(g)/' detector.onnxtxt >all.onnxtxt
expect 1 "$stepc" compile all.onnxtxt -o net.c
lacks stderr '--outputs'
for loss in '--loss bce' '--loss mse --output h'; do
    # shellcheck disable=SC2086
    expect 0 "$stepc" prepare detector.onnxtxt -o train.onnxtxt $loss
    has stdout "infer() does not give 'chosen' and 'label': operator "
    has stdout "input 'id', which is no tensor of numbers, is left out: nothing reads it"
    expect 0 "$stepc" compile train.onnxtxt -o net.c --check
    lacks net.h chosen
    lacks net.h boxes
    has net.h unused
done
expect 0 "$stepc" strip train.onnxtxt -o stripped.onnx
has stdout "stays as 'stepc prepare' made it: without inputs that nothing reads, without outputs that are not supported"

# What stepc can compile stays, whether the loss needs it or not.
sed 's/chosen = .*/chosen = Cast <to = 7> (t)/; s/int64\[?,3\] chosen/int64[1,2,5] chosen/' detector.onnxtxt >half.onnxtxt
expect 0 "$stepc" prepare half.onnxtxt -o train.onnx --loss bce
has stdout "infer() does not give 'label': operator Label"
expect 0 "$stepc" compile train.onnx -o half.c
has half.h 'int64_t *chosen;'

# What the loss needs does not go.
sed 's/h = MatMul(x, w)/g = MatMul(x, w) h = Nonsense(g)/' detector.onnxtxt >broken.onnxtxt
expect 0 "$stepc" prepare broken.onnxtxt -o no.onnx --loss bce
has stderr 'stepc compile will refuse this model: operator Nonsense is not supported'
lacks stdout 'does not give'

# By name, in every command; inner tensors, too.
expect 0 "$stepc" check detector.onnxtxt --outputs scores
expect 0 "$stepc" compile detector.onnxtxt -o inner.c --outputs h,scores
has inner.h 'float *h;'
has inner.c 'options  --outputs h,scores'
lacks inner.h boxes
expect 0 "$stepc" run detector.onnxtxt --outputs h --feed x=x.npy --feed unused=unused.npy --fetch h=h.npy
expect 0 "$stepc" prepare detector.onnxtxt -o train.onnx --loss bce --outputs scores
lacks stdout 'does not give'
expect 0 "$stepc" compile train.onnx -o train.c
expect 1 "$stepc" check detector.onnxtxt --outputs score
has stderr "--outputs score: no node of the model gives a tensor of that name; did you mean 'scores'?"
expect 2 "$stepc" check detector.onnxtxt --outputs h,h
has stderr "--outputs names 'h' twice"
expect 2 "$stepc" check detector.onnxtxt --outputs ''
has stderr '--outputs: expected names with commas between'

# A training model keeps what training needs.
expect 0 "$stepc" run train.onnx --outputs h --entry infer --feed x=x.npy --feed unused=unused.npy --fetch h=again.npy
same h.npy again.npy
expect 0 "$stepc" compile train.onnx -o train.c --outputs h
has train.h 'train_step('

# Of many outputs each may be left out, also the sixty-fifth; what five of them need is computed where any of them is wanted.
{
    echo '<ir_version: 10, opset_import: ["" : 21]>'
    echo "g (float[4] x) => (float[4] y0$(printf ', float[4] y%d' $(seq 69))) {"
    for i in $(seq 0 69); do
        [ $((i % 5)) -ne 0 ] || echo "a$((i / 5)) = Constant <value_float = 0.$((i + 1))> () b$((i / 5)) = Mul(x, a$((i / 5))) e$((i / 5)) = Exp(b$((i / 5)))"
        echo "c$i = Constant <value_float = $i.5> () y$i = Mul(e$((i / 5)), c$i)"
    done
    echo '}'
} >many.onnxtxt
expect 0 "$stepc" compare many.onnxtxt --quiet --arithmetic same --reproducible
