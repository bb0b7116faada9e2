#!/usr/bin/env bash
# usage: prepare_half.sh STEPC MAKE_NPY
# Weights of 16 bits: trained in float, so that small updates add up, and 16 bits again in what strip gives back.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

printf '1 2 3 4  2 1 0 1  -1 0 1 2  0 0 2 1' | "$make_npy" f4 4 4 >x.npy
printf '0 1 2 1' | "$make_npy" i8 4 >classes.npy
for type in float16:10:15360:48128 bfloat16:16:16256:49024; do # name, number, bits of 1 and of -1; 2 is 16384 in both
    IFS=: read -r name number one less <<<"$type"
    cat >net.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,4] x) => (${name}[n,3] y)
<${name}[4,3] w = {$one, $one, $one, $one, $one, $one, $one, $one, $one, $one, $one, $one}, ${name}[3] b = {0, 0, 0}, ${name}[1] kept = {16384}>
{
    h = Cast <to = $number> (x)
    m = MatMul(h, w)
    s = Mul(m, kept)
    y = Add(s, b)
}
MODEL
    expect 0 "$stepc" convert net.onnxtxt given.onnx
    for options in '' '--optimizer adam --initialize glorot --evaluate' --split '--accumulate 2'; do
        # shellcheck disable=SC2086
        expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss softmax-cross-entropy --freeze kept $options
        has stdout "w ${name}[4,3]"
        has stdout "trained in float, since an update may be smaller than a step of 16 bits: 'w' and 'b'"
        expect 0 "$stepc" check train.onnx --dim n=4
    done
    expect 0 "$stepc" compare train.onnx --dim n=4 --reproducible --arithmetic same --quiet

    # nothing trained: the model comes back in every bit
    expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss softmax-cross-entropy --freeze kept --learning-rate 0.0001
    expect 0 "$stepc" strip train.onnx -o stripped.onnx
    has stdout 'rounded to 16 bits again: 2 initializers'
    same stripped.onnx given.onnx

    # an update of a ten thousandth is lost beside 1 in 16 bits; 100 of them are not
    for engine in interpreted generated; do
        expect 0 "$stepc" run train.onnx --engine $engine --data x=x.npy --data target=classes.npy --batch 4 --epochs 100 --quiet \
            --save $engine.state
        expect 0 "$stepc" strip train.onnx -o $engine.onnx --state $engine.state
        differ $engine.onnx given.onnx
    done
    expect 0 "$stepc" run train.onnx --entry infer --load generated.state --arithmetic same --feed x=x.npy --fetch y=state.npy
    expect 0 "$stepc" run generated.onnx --arithmetic same --feed x=x.npy --fetch y=stripped.npy
    same state.npy stripped.npy
done
expect 1 "$stepc" prepare net.onnxtxt -o no.onnx --loss output
has stderr "--loss output: 'y' is float[n,3], expected a scalar"

# A loss that the model computes itself is minimized as a float; running statistics stay as they are.
for type in float16:10:15360:48128 bfloat16:16:16256:49024; do # name, number, bits of 1 and of -1; 2 is 16384 in both
    IFS=: read -r name number one less <<<"$type"
    cat >own.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,4] x, float[4,3] t) => (${name} loss, ${name}[4,3] y)
<${name}[4,3] w = {16384, $one, $less, $one, 0, $one, 0, $one, $less, $one, 0, 16384}, ${name}[3] scale = {$one, $one, $one}, ${name}[3] bias = {0, 0, 0},
  ${name}[3] mean = {0, 0, 0}, ${name}[3] var = {$one, $one, $one}>
{
    h = Cast <to = $number> (x)
    th = Cast <to = $number> (t)
    m = MatMul(h, w)
    y = BatchNormalization(m, scale, bias, mean, var)
    d = Sub(y, th)
    q = Mul(d, d)
    loss = ReduceMean <keepdims = 0> (q)
}
MODEL
    printf '1 0 0  0 1 0  0 0 1  1 1 0' | "$make_npy" f4 4 3 >t.npy
    for options in '' '--accumulate 2' '--evaluate --optimizer adam'; do
        # shellcheck disable=SC2086
        expect 0 "$stepc" prepare own.onnxtxt -o own.onnx --loss output --learning-rate 0.1 $options
        has stdout "what a step minimizes is called 'loss_2'"
        has stdout "note: running statistics are $name ('mean'): what moves one by less than half a unit is lost"
        expect 0 "$stepc" compare own.onnx --reproducible --arithmetic same --quiet
    done
    expect 0 "$stepc" run own.onnx --engine generated --data x=x.npy --data t=t.npy --epochs 30
    awk '/loss_2/ { for (i = 1; i < NF; i++) if ($i == "loss_2") { if (!n++) first = $(i + 1); last = $(i + 1) } }
        END { exit !(n == 30 && last < first / 2) }' stdout || fail "$name: it does not learn"
    sed 's/loss/cost/g' own.onnxtxt >cost.onnxtxt
    expect 0 "$stepc" prepare cost.onnxtxt -o cost.onnx --loss output
    expect 0 "$stepc" compile cost.onnx -o cost.c --check
    has cost.h 'float *loss;'
done
