#!/usr/bin/env bash
# usage: prepare_statistics.sh STEPC MAKE_NPY
# Which statistics a BatchNormalization has in a step: of the batch, stored, or its own; what is said of it.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

batch_statistics='BatchNormalization: a step uses the statistics of its batch'
stored='BatchNormalization: a step uses the stored statistics and leaves them alone'

# network FORM1 FORM2 METADATA: two layers of both
network() {
    cat >net.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch" $3>
net (float[N,2] x) => (float[N,3] y)
<float[4,2] "c1.weight" = {0.3, -0.1, 0.2, 0.4, -0.5, 0.1, 0.6, 0.2}, float[4] "bn1.weight" = {1, 1, 1, 1},
 float[4] "bn1.bias" = {0, 0, 0, 0}, float[4] "bn1.running_mean" = {0.3, -0.1, 0.2, 0.05},
 float[4] "bn1.running_var" = {0.8, 1.4, 0.6, 1.1}, float[4,4] "c2.weight" = {0.1, -0.2, 0.3, 0.1, 0.2, 0.4, -0.1, 0.5,
 0.3, -0.3, 0.2, 0.1, 0.4, 0.1, -0.2, 0.6}, float[4] "bn2.weight" = {1, 1, 1, 1}, float[4] "bn2.bias" = {0, 0, 0, 0},
 float[4] "bn2.running_mean" = {0, 0, 0, 0}, float[4] "bn2.running_var" = {1, 1, 1, 1},
 float[3,4] "f.weight" = {0.1, -0.4, -0.2, -0.5, 0.45, 0.5, -0.2, 0.4, -0.3, -0.1, -0.4, 0.3}, float[3] "f.bias" = {0.2, -0.4, 0.1}>
{
    c1 = Gemm <transB = 1> (x, "c1.weight")
    $1 = BatchNormalization <training_mode = $(grep -c , <<<"$1")> (c1, "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var")
    a1 = Relu(n1)
    c2 = Gemm <transB = 1> (a1, "c2.weight")
    $2 = BatchNormalization <training_mode = $(grep -c , <<<"$2")> (c2, "bn2.weight", "bn2.bias", "bn2.running_mean", "bn2.running_var")
    a2 = Relu(n2)
    y = Gemm <transB = 1> (a2, "f.weight", "f.bias")
}
MODEL
}
prepare() {
    expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss softmax-cross-entropy --learning-rate 0.3 "$@"
}
awk 'BEGIN { for (i = 1; i <= 48; i++) print ((i * i * 7 + i) % 11) / 5 - 1 }' | "$make_npy" f4 3 8 2 >x.npy
awk 'BEGIN { for (i = 1; i <= 24; i++) print (i * i + i) % 3 }' | "$make_npy" i8 3 8 >target.npy
losses() {
    expect 0 "$stepc" run train.onnx --feed x=x.npy --feed target=target.npy --fetch "loss=$1" --dim N=8
}

network n1 n2 ''
prepare
has stdout "2 $batch_statistics"
losses both.npy
prepare --batchnorm frozen:bn1.*
has stdout "1 $batch_statistics"
has stdout "1 $stored (--batchnorm frozen)"
losses first.npy
differ both.npy first.npy
# Any parameter of a layer names it.
for parameter in weight bias running_mean running_var; do
    prepare --batchnorm "frozen:bn1.$parameter"
    losses same.npy
    same first.npy same.npy
done
prepare --batchnorm frozen --batchnorm train:n2
losses same.npy
same first.npy same.npy
expect 1 "$stepc" prepare net.onnxtxt -o no.onnx --loss softmax-cross-entropy --batchnorm frozen:bn7.*
has stderr '--batchnorm frozen:bn7.*: no BatchNormalization has such a name'

# Both forms in one file: what is in inference form was frozen there. Statistics of 0 and 1 have not been moved.
network n1 n2,rm,rv ''
prepare
has stdout '1 BatchNormalization of the model was in training form: infer() has it in inference form'
has stdout "1 $batch_statistics"
has stdout "1 $stored (frozen in the export"
lacks stdout 'has moved'
losses same.npy
same first.npy same.npy
prepare --batchnorm train
losses same.npy
same both.npy same.npy

# export.py says it
network n1 n2 ', metadata_props: ["stepc.frozen_statistics": "bn1.running_mean"]'
prepare
has stdout "1 $stored (frozen in the export"
losses same.npy
same first.npy same.npy

# A backbone in which nothing is trained stays what it was.
network n1 n2 ''
prepare --train 'f.*'
has stdout "2 $stored (in a part where nothing is trained"
prepare --freeze 'c1.*' --freeze 'bn1.*'
has stdout "1 $stored (in a part where nothing is trained"
has stdout "1 $batch_statistics"
prepare --train 'f.*' --batchnorm train
has stdout "2 $batch_statistics"
prepare --freeze 'bn2.*'
has stdout "2 $batch_statistics"
expect 0 "$stepc" compile train.onnx -o train.c --dim N=8

# Statistics that the network computes: no running ones, no word of them.
cat >net.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[4,2,5,5] x) => (float[4,4] y)
<float[4,2,1,1] "c.weight" = {0.2, -0.1, 0.5, 0.2, 0.2, -0.7, 0.6, -1.1}, float[4] "c.gain" = {0.3, 0.4, 0.2, 0.5},
 float[4] zero = {0, 0, 0, 0}, int64[3] s1 = {1, 4, 2}, int64[4] s2 = {4, 2, 1, 1}>
{
    w1 = Reshape("c.weight", s1)
    rm = ReduceMean <axes = [0, 2], keepdims = 0> (w1)
    sq = Mul(w1, w1)
    rv = ReduceMean <axes = [0, 2], keepdims = 0> (sq)
    wn, o1, o2 = BatchNormalization <training_mode = 1, momentum = 1.0> (w1, "c.gain", zero, rm, rv)
    ws = Reshape(wn, s2)
    c = Conv(x, ws)
    p = GlobalAveragePool(c)
    y = Flatten(p)
}
MODEL
for options in '' '--batchnorm frozen' '--batchnorm-statistics reset'; do
    # shellcheck disable=SC2086
    prepare $options
    has stdout '1 BatchNormalization by statistics that the network computes'
    lacks stdout 'running'
    lacks stdout 'training form'
    lacks stdout 'and Dropout'
    lacks stderr warning
    expect 0 "$stepc" strip train.onnx -o back.onnx
    expect 0 "$stepc" compile train.onnx -o train.c
done

# One value for each channel: nothing is learned of it.
cat >net.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[1,2] x) => (float[1,2] y)
<float[2,2] w = {0.2, -0.1, 0.5, 0.2}, float[2] s = {1, 1}, float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1}>
{
    h = MatMul(x, w)
    [norm] y = BatchNormalization(h, s, b, m, v)
}
MODEL
prepare
has stderr "node 'norm' (BatchNormalization, #1): warning: 'h' [1,2] has one value for each channel"
prepare --batch 2
lacks stderr warning
prepare --batchnorm frozen
lacks stderr warning
