#!/usr/bin/env bash
# usage: prepare_probabilities.sh STEPC MAKE_NPY
# Targets that are probabilities: with a 1 at one class they are class numbers.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for opset in 11 17; do
    cat >net.onnxtxt <<MODEL
<ir_version: 6, opset_import: ["" : $opset]>
net (float[4,2] x) => (float[4,3] y) <float[2,3] w = {0.5,-0.5,0.25, 0.1,0.2,0.3}>
{
    y = MatMul(x, w)
}
MODEL
    printf '1 2 3 4  2 1 0 1' | "$make_npy" f4 4 2 >x.npy
    printf '0 2 1 2' | "$make_npy" i8 4 >classes.npy
    printf '1 0 0  0 0 1  0 1 0  0 0 1' | "$make_npy" f4 4 3 >probabilities.npy
    printf '0.5 0.5 0  0.1 0.2 0.7  0 0.75 0.25  0 0 1' | "$make_npy" f4 4 3 >mixed.npy
    for options in '' --split '--accumulate 2' '--evaluate'; do
        # shellcheck disable=SC2086
        expect 0 "$stepc" prepare net.onnxtxt -o classes.onnx --loss softmax-cross-entropy $options
        # shellcheck disable=SC2086
        expect 0 "$stepc" prepare net.onnxtxt -o soft.onnx --loss softmax-cross-entropy --target-type float $options
        has stdout "new input 'target': float[4,3]"
        entry=step
        [ "$options" != --split ] || entry=accumulate
        [ "$options" != --evaluate ] || entry=evaluate
        expect 0 "$stepc" run classes.onnx --entry $entry --feed x=x.npy --feed target=classes.npy --steps 2
        sed 's/\(loss [0-9.]\{6\}\)[0-9]*/\1/' stdout >wanted
        expect 0 "$stepc" run soft.onnx --entry $entry --feed x=x.npy --feed target=probabilities.npy --steps 2
        sed 's/\(loss [0-9.]\{6\}\)[0-9]*/\1/' stdout >given
        diff wanted given || fail "opset $opset $options: another loss"
    done
    expect 0 "$stepc" compare soft.onnx --reproducible --arithmetic same --feed x=x.npy --feed target=mixed.npy --quiet
done

# An input of the model that is floating already says it as well.
sed 's/float\[4,2\] x/float[4,2] x, float[4,3] wanted/' net.onnxtxt >labelled.onnxtxt
expect 0 "$stepc" prepare labelled.onnxtxt -o soft.onnx --loss softmax-cross-entropy --target wanted --label-smoothing 0.1
has stdout "the target is the input 'wanted'"
expect 0 "$stepc" check soft.onnx

expect 1 "$stepc" prepare net.onnxtxt -o no.onnx --loss softmax-cross-entropy --target-type float --ignore-index 1
has stderr '--ignore-index is a class number, but the target has probabilities'

# What PyTorch's exporter writes for them; by the letter it is no ONNX.
cat >export.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,2] x, float[4,3] t) => (float loss) <float[2,3] w = {0.5,-0.5,0.25, 0.1,0.2,0.3}>
{
    y = MatMul(x, w)
    loss = SoftmaxCrossEntropyLoss<ignore_index = -100>(y, t)
}
MODEL
expect 0 "$stepc" prepare export.onnxtxt -o export.onnx --loss output
expect 0 "$stepc" compare export.onnx --reproducible --arithmetic same --feed x=x.npy --feed t=mixed.npy --quiet
expect 1 "$stepc" check export.onnxtxt --strict
has stderr "input 1 't' is float, expected int32 or int64"
