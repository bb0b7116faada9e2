#!/usr/bin/env bash
# usage: prepare_exports.sh STEPC MAKE_NPY
# What exporters leave, from the doctor's findings to a step in both engines: an example's batch in a Reshape, merged
# initializers, BatchNormalization in inference form, a final Softmax.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >export.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[1,2,2] x) => (float[1,3] probabilities)
<float[4,3] w = {0.1,-0.2,0.3, 0.2,0.1,-0.1, -0.3,0.2,0.1, 0.1,0.1,0.2}, float[3] scale = {1,1,1}, float[3] bias = {0,0,0},
 float[3] bn_mean = {0,0,0}, float[3] bn_var = {1,1,1}, float[3,3] head = {0.3,0.1,-0.2, 0.1,-0.3,0.2, 0.2,0.2,0.1},
 int64[2] target_shape = {1,-1}>
{
    head_bias = Identity(bias)
    rows = Reshape(x, target_shape)
    h = MatMul(rows, w)
    b = BatchNormalization(h, scale, bias, bn_mean, bn_var)
    r = Relu(b)
    m = MatMul(r, head)
    logits = Add(m, head_bias)
    probabilities = Softmax(logits)
}
MODEL
expect 0 "$stepc" check --training export.onnxtxt
has stdout "initializer 'bias' also stands for 'head_bias'"
has stdout 'cure: prepare --untie auto'
has stdout "the batch of the example, 1, is in constants of 'rows'"
has stdout "output 'probabilities' comes out of a Softmax"
has stdout '4 findings'

expect 0 "$stepc" prepare export.onnxtxt -o train.onnx --loss softmax-cross-entropy --learning-rate 0.5 --batch 4 --untie auto
has stdout "'rows' (Reshape) held it as a constant"
has stdout "the loss reads 'logits' in front of it"
has stdout '1 BatchNormalization: a step uses the statistics of its batch'
lacks stderr warning
expect 0 "$stepc" prepare export.onnxtxt -o merged.onnx --loss softmax-cross-entropy
has stderr "initializer 'bias' also stands for 'head_bias'"

printf '1 2 3 4  2 1 0 1  -1 0 1 2  0 0 2 1' | "$make_npy" f4 4 2 2 >x.npy
printf '0 1 2 1' | "$make_npy" i8 4 >labels.npy
printf '0 1 3 1' | "$make_npy" i8 4 >wrong.npy
for engine in interpreted generated; do
    expect 0 "$stepc" run train.onnx --engine "$engine" --feed x=x.npy --feed target=labels.npy --steps 40
    awk 'NR == 1 { first = $NF } END { exit !($NF < 0.7 * first) }' stdout || fail "$engine learns nothing"
    mv stdout "$engine.txt"
    # Labels are checked before the running statistics are written, although the loss stands behind them.
    expect 1 "$stepc" run train.onnx --engine "$engine" --feed x=x.npy --feed target=wrong.npy
done
expect 0 "$stepc" compile train.onnx -o train.c
awk '/^(static )?(stepc_status|void) train_step/ { body = 1 } body && /if \(check_labels/ { checked = 1 }
     body && /^ *compute_[a-z0-9_]*_mean\(.*state->bn_mean/ { seen = 1; exit !checked } END { if (!seen) exit 1 }' train.c ||
    fail 'the running mean is written before the labels are checked'

expect 1 "$stepc" prepare export.onnxtxt -o no.onnx --loss mse --tie w=head
has stderr "--tie w=head: 'w' is float[4,3], but 'head' is float[3,3]"
expect 2 "$stepc" prepare export.onnxtxt -o no.onnx --loss mse --batchnorm never
has stderr "--batchnorm never: no such form; there are: train, frozen"

# strip: what preparation did to the main graph stays, once; what it only added goes, in every bit.
expect 0 "$stepc" convert export.onnxtxt plain.onnx
expect 0 "$stepc" prepare export.onnxtxt -o merged.onnx --loss softmax-cross-entropy --untie never
expect 0 "$stepc" strip merged.onnx -o stripped.onnx
lacks stdout 'stays as'
same plain.onnx stripped.onnx
expect 0 "$stepc" strip train.onnx -o changed.onnx
has stdout "stays as 'stepc prepare' made it: separate initializers for what was merged, the batch size"
differ plain.onnx changed.onnx
expect 0 "$stepc" prepare changed.onnx -o again.onnx --loss softmax-cross-entropy
expect 0 "$stepc" strip again.onnx -o again_stripped.onnx
same changed.onnx again_stripped.onnx
expect 0 "$stepc" check changed.onnx

# Training form becomes inference form; a file that lists its initializers as inputs needs not do so for the new ones.
cat >old.onnxtxt <<'MODEL'
<ir_version: 3, opset_import: ["" : 11]>
net (float[4,3] x, float[3] scale = {1,1,1}, float[3] bias = {0,0,0}, float[3] mean = {0.5,0,0}, float[3] var = {1,2,3}) => (float[4,3] y)
{
    shift = Identity(bias)
    b, m, v, sm, sv = BatchNormalization(x, scale, bias, mean, var)
    y = Add(b, shift)
}
MODEL
expect 0 "$stepc" prepare old.onnxtxt -o old_train.onnx --loss mse --untie auto
has stdout 'batchnorm-statistics reset: 0 and 1'
expect 0 "$stepc" prepare old.onnxtxt -o old_train.onnx --loss mse --untie auto --batchnorm-statistics auto
has stdout 'running statistics start from 0 and 1'
expect 0 "$stepc" strip old_train.onnx -o old.onnx
has stdout 'ir_version: 4 again'
has stdout 'fresh running statistics, BatchNormalization and Dropout in inference form'
[ ! -s stderr ] || fail 'what is left is in training form'
expect 0 "$stepc" check old.onnx

# Dimensions that are expressions of others: computed, and rewritten when one of them gets its size.
cat >rows.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[batch,seq,4] x) => (float["batch*seq",3] y) <float[4,3] w = {1,2,3,4,5,6,7,8,9,1,2,3}, int64[2] flat = {-1,4}>
{
    rows = Reshape(x, flat)
    y = MatMul(rows, w)
}
MODEL
expect 0 "$stepc" prepare rows.onnxtxt -o rows.onnx --loss mse
expect 0 "$stepc" check rows.onnx
expect 0 "$stepc" inspect rows.onnx --dim batch=2 --dim seq=5 --entries step
has stdout 'target [10,3] float'
expect 0 "$stepc" prepare rows.onnxtxt -o rows.onnx --loss mse --batch 3
expect 0 "$stepc" inspect rows.onnx --dim seq=5 --entries step
has stdout 'target [15,3] float'
expect 1 "$stepc" inspect rows.onnx --entries step
has stderr "is 'seq'; give --dim seq=SIZE"

# A tie and recovered names stay, too: the trained values are of one tensor, under its name.
cat >tied.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (int64[4] i) => (float[4,3] y) <float[3,2] table = {1,2,3,4,5,6}, float[2,3] "onnx::MatMul_7" = {1,3,5,2,4,6},
     float[3] "onnx::Add_8" = {7,8,9}>
{
    h = Gather(table, i)
    z = MatMul(h, "onnx::MatMul_7")
    y = Add(z, "onnx::Add_8")
}
MODEL
sed 's/onnx::Add_8/head.bias/; s/onnx::Add_8/head.bias/' tied.onnxtxt >named.onnxtxt
expect 0 "$stepc" convert named.onnxtxt named.safetensors
expect 0 "$stepc" prepare tied.onnxtxt -o tied.onnx --loss mse --tie 'onnx::MatMul_7=table^T' --names-from named.safetensors
has stdout "'onnx::Add_8' is 'head.bias'"
expect 0 "$stepc" strip tied.onnx -o tied_back.onnx
has stdout "stays as 'stepc prepare' made it: names of initializers, one initializer for what is tied"
expect 0 "$stepc" convert tied_back.onnx tied_back.onnxtxt
has tied_back.onnxtxt 'Transpose'
has tied_back.onnxtxt 'head.bias'
expect 0 "$stepc" prepare tied_back.onnx -o tied.onnx --loss mse
expect 0 "$stepc" strip tied.onnx -o tied_again.onnx
same tied_back.onnx tied_again.onnx

# A length that is no integer: PyTorch takes the whole one (R52).
cat >resized.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[1,1,H,5] x) => (float[1,1,a,b] y) <float[1,1,1,1] w = {0.5}, float[4] s = {1, 1, 0.5, 1}>
{
    h = Conv(x, w)
    y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (h, , s)
}
MODEL
expect 0 "$stepc" prepare resized.onnxtxt -o no.onnx --loss mse --dim H=5
has stdout 'resizes by a factor to a length that is no integer: ONNX samples by that length, PyTorch by the whole one (R52)'
expect 0 "$stepc" prepare resized.onnxtxt -o no.onnx --loss mse --dim H=6
lacks stdout 'resizes by a factor'
