#!/usr/bin/env bash
# usage: prepare_average.sh STEPC MAKE_NPY
# prepare --ema: moving averages of weights, the entry that computes with them, and strip --average. That they are what the formula says is
# held in tests/pytorch/optimizers.py.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
digits 1 16 digits_
feeds=(--feed x=digits_x.npy --feed target=digits_t.npy)

# prepare OPTION...
prepare() {
    expect 0 "$stepc" prepare "$source_folder/examples/digits/model.onnx" -o train.onnx --loss softmax-cross-entropy --optimizer sgd \
        --learning-rate 0.5 --ema 0.75 "$@"
}

for options in '' '--initialize he' '--split' '--accumulate 2'; do
    # shellcheck disable=SC2086 # words
    prepare $options
    has stdout "entry 'infer_average'"
    expect 0 "$stepc" compare train.onnx --dim batch=16 --reproducible --arithmetic same
    expect 0 "$stepc" run train.onnx "${feeds[@]}" --steps 3 --save state
    expect 0 "$stepc" run train.onnx --feed x=digits_x.npy --entry infer_average --load state --fetch logits.average=average.npy
    expect 0 "$stepc" run train.onnx --feed x=digits_x.npy --entry infer --load state --fetch logits=last.npy
    differ average.npy last.npy
    # What is stripped with the averages infers what the entry did, without them what infer() did.
    for which in average last; do
        how=()
        [ $which = last ] || how=(--average)
        expect 0 "$stepc" strip train.onnx -o infer.onnx --state state "${how[@]}"
        lacks stdout 'which only training used: x'
        expect 0 "$stepc" run infer.onnx --feed x=digits_x.npy --fetch logits=stripped.npy
        same $which.npy stripped.npy
    done
done

# Averages begin with the weights, drawn ones too.
prepare --initialize he
expect 0 "$stepc" run train.onnx --feed x=digits_x.npy --entry infer_average --fetch logits.average=average.npy
expect 0 "$stepc" run train.onnx --feed x=digits_x.npy --entry infer --fetch logits=last.npy
same average.npy last.npy

# The way back is whole: no input stays that preparation listed.
prepare
expect 0 "$stepc" strip train.onnx -o back.onnx
expect 0 "$stepc" prepare "$source_folder/examples/digits/model.onnx" -o plain.onnx --loss mse
expect 0 "$stepc" strip plain.onnx -o plain_back.onnx
same back.onnx plain_back.onnx
expect 0 "$stepc" strip train.onnx -o back.onnx --average
has stdout 'weights: their moving averages'

# They are statistics of the state, not the optimizer's memory.
expect 0 "$stepc" compile train.onnx -o train.c --dim batch=16
grep -q 'fc1_weight_average\[32\]\[64\];.*statistic' train.h || fail 'the average is no statistic'
has train.h 'train_infer_average('
expect 0 "$stepc" compile train.onnx -o train.c --dim batch=16 --entries init,step,infer
lacks train.h 'train_infer_average('

expect 1 "$stepc" strip plain.onnx -o back.onnx --average
has stderr 'the model keeps no moving averages of weights; prepare --ema does'
for text in 0 1 -0.5 nan x; do
    expect 2 "$stepc" prepare "$source_folder/examples/digits/model.onnx" -o train.onnx --loss mse --ema $text
    has stderr "--ema $text: expected a number between 0 and 1"
done

# An average is no copy of its weight that an exporter made: neither for check, nor for an entry that is added.
cat >plain.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,3] x) => (float[2,4] y) <float[3,4] w = {1, 2, -3, 4, 5, 6, 7, -8, 9, 1, 2, 5}, float[3,4] v = {3, 1, 2, 2, 1, -7, 5, 5, 4, 1, 2, 2}>
{
    a = MatMul(x, w)
    c = MatMul(x, v)
    p = Mul(a, c)
    y = Softmax(p)
}
MODEL
expect 0 "$stepc" check --training plain.onnxtxt
has stdout "output 'y' comes out of a Softmax"
for options in '' --split '--freeze v'; do
    # shellcheck disable=SC2086 # words
    expect 0 "$stepc" prepare plain.onnxtxt -o plain.onnx --loss mse --ema 0.5 $options
    expect 0 "$stepc" check --training plain.onnx
    has stdout 'plain.onnx: 0 findings'
    expect 0 "$stepc" prepare plain.onnx -o added.onnx --loss mse --entry second
    lacks stderr 'the same content'
done
# What prepare decided is no finding any more; what nobody trains is one, and what its export has lost.
cat >decided.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,3,4] x) => (float loss, float[2,3,4] z)
<float[3] scale = {1, 1, 1}, float[3] shift = {0, 0, 0}, float[3] mean = {0, 0, 0}, float[3] var = {1, 1, 1}, float[4] mask = {1, 0, 0, 1}>
{
    b = BatchNormalization(x, scale, shift, mean, var)
    m = Mul(b, mask)
    z = Sigmoid(m)
    loss = ReduceMean<keepdims = 0>(z)
}
MODEL
expect 0 "$stepc" check --training decided.onnxtxt
for text in "output 'loss', out of a ReduceMean, is a loss" "output 'z' comes out of a Sigmoid" '1 BatchNormalization node' "'mask' float[4] is not trained"; do
    has stdout "$text"
done
expect 0 "$stepc" prepare decided.onnxtxt -o decided.onnx --loss bce --output z
expect 0 "$stepc" check --training decided.onnx
has stdout "'mask' float[4] is not trained"
has stdout 'decided.onnx: 1 finding'
expect 0 "$stepc" prepare decided.onnxtxt -o decided.onnx --loss bce --output z --train mask
expect 0 "$stepc" check --training decided.onnx
has stdout 'decided.onnx: 0 findings'
