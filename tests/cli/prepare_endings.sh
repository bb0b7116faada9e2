#!/usr/bin/env bash
# usage: prepare_endings.sh STEPC MAKE_NPY
# A final Softmax or Sigmoid, whatever moves or converts its results and however it is spelled: the loss reads the scores
# in front of it, and three steps give the losses of the network that ends in its scores. Where it can't, it says so.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# numbers COUNT MODULUS: that many integers below the modulus
numbers() {
    awk -v n="$1" -v m="$2" 'BEGIN { for (i = 1; i <= n; i++) print (i * i * 7 + i * 3 + int(i / 4)) % m }'
}
numbers 72 5 | "$make_npy" f4 3 6 4 >x.npy
numbers 18 3 | "$make_npy" i8 3 6 >target.npy
numbers 54 2 | "$make_npy" f4 3 6 3 >bits.npy

# network OPSET "DIMS OF y" "MORE INITIALIZERS" "ENDING FROM h TO y"
network() {
    cat >net.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : $1], producer_name: "pytorch">
net (float[N,4] x) => ($2 y)
<float[3,4] weight = {1.4, 0.8, 0.9, -0.8, -0.5, -0.6, -1.4, -0.3, 0.7, 0.15, -0.2, -1.2}, float[3] bias = {0.5, -0.2, 0.1} $3>
{
    h = Gemm <transB = 1> (x, weight, bias)
    $4
}
MODEL
}

# losses FILE LOSS TARGET [OPTION...]: of three steps
losses() {
    local file=$1 loss=$2 target=$3
    shift 3
    expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss "$loss" --learning-rate 0.5 "$@"
    cp stdout said
    expect 0 "$stepc" run train.onnx --feed x=x.npy --feed "target=$target.npy" --fetch "loss=$file" --dim N=6
}

scores_of() {
    network 17 'float[N,3]' '' 'y = Identity(h)'
    losses wanted.npy "$1" "$2"
    lacks said bypassed
}

# ends_in DIMS MORE ENDING [OPTION...]: has the losses of the scores, to the last bit
ends_in() {
    network 17 "$1" "$2" "$3"
    losses got.npy "$loss" "$target" "${@:4}"
    has said "is bypassed: the loss reads 'h' in front of it"
    same got.npy wanted.npy
}

loss=softmax-cross-entropy target=target
scores_of "$loss" "$target"
ends_in 'float[N,3]' '' 'y = Softmax(h)'
ends_in 'float[N,3]' ', int64[2] s = {-1, 3}' 'p = Softmax(h) y = Reshape(p, s)'
ends_in 'float[N,3]' '' 'p = Softmax(h) i = Identity(p) t = Transpose(i) y = Transpose(t)'
ends_in 'float[N,3]' '' 'hd = Cast<to = 11>(h) p = Softmax<axis = 1>(h) c = Cast<to = 11>(p) y = Cast<to = 1>(c)'
ends_in 'float[N,3]' ', int64[1] a = {2}, int64[1] b = {0}' \
    'p = Softmax(h) u = Unsqueeze(p, a) v = Unsqueeze(u, b) w = Squeeze(v, b) y = Flatten(w)'
ends_in 'float[N,3]' ', int64[1] a = {0}, int64[1] b = {99}' 'p = Softmax(h) y = Slice(p, a, b, a)'
ends_in 'float[N,3]' '' 'y = LogSoftmax(h)'
ends_in 'float[N,3]' '' 'p = Softmax(h) y = Log(p)'
ends_in 'float[N,3]' '' 'p = LogSoftmax(h) y = Exp(p)'
ends_in 'float[N,3]' ', int64[1] a = {-1}' 'e = Exp(h) s = ReduceSum(e, a) y = Div(e, s)'
ends_in 'float[N,3]' ', int64[1] a = {1}' \
    'm = ReduceMax<axes = [1]>(h) d = Sub(h, m) e = Exp(d) s = ReduceSum<keepdims = 0>(e, a) u = Unsqueeze(s, a) i = Reciprocal(u) y = Mul(i, e)'
ends_in 'float[N,3]' '' 's = ReduceLogSumExp<axes = [1]>(h) y = Sub(h, s)'
ends_in 'float[N,3]' ', int64[1] a = {1}' 'e = Exp(h) s = ReduceSum(e, a) l = Log(s) y = Sub(h, l)'
ends_in 'float[N,3]' ', int64[2] s = {-1, 3}' 'p = Softmax(h) y = Reshape(p, s)' --evaluate
expect 0 "$stepc" compile train.onnx -o train.c --dim N=6
network 11 'float[N,3]' ', int64[2] s = {-1, 3}' 'p = Softmax(h) y = Reshape(p, s)'
expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss "$loss"
has stdout 'is bypassed'

# the axis of classes is followed: time in front of them here, behind them there
network 17 'float[2,3,M]' ', int64[3] s = {2, 3, 3}' 'r = Reshape(h, s) p = Softmax<axis = -1>(r) y = Transpose<perm = [0, 2, 1]>(p)'
expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss "$loss" --dim N=6
has stdout "the final Softmax 'p' is bypassed: the loss reads 'r' in front of it, moved and converted as its results are"
network 17 'float[2,3,M]' ', int64[3] s = {2, 3, 3}' 'r = Reshape(h, s) p = Softmax<axis = 1>(r) y = Transpose<perm = [0, 2, 1]>(p)'
expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss "$loss" --dim N=6
has stdout "the final Softmax 'p' does not run over the class axis alone"
# the sum of another axis is no Softmax
network 17 'float[N,3]' ', int64[1] a = {0}' 'e = Exp(h) s = ReduceSum<keepdims = 0>(e, a) y = Div(e, s)'
expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss "$loss"
lacks stdout 'bypassed'

# what remains behind a Softmax is said
for ending in 'p = Softmax(h) y = Clip(p, least)' 'p = Softmax(h) k = Mul(p, least) l = Add(k, least) y = Log(l)' \
    'p = Softmax(h) q = Softmax(x) a = Mul(p, least) y = Sum(a, p)' 'p = Softmax(h) y = Dropout(p)' \
    'p = Softmax(h) y = Concat<axis = -1>(p)' 'p = Softmax(h) y = ReduceMean<axes = [0]>(p)' 'p = Softmax(h) y = ReduceMax<axes = [0]>(p)'; do
    network 17 'float[N,3]' ', float least = {0.25}' "$ending"
    expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss "$loss"
    has stdout "note: 'y' comes out of the Softmax 'p', with 'y'"
    has stdout "--output 'h' names those in front of it"
done
# what mixes it with weights, or with what is no Softmax, is a layer
for ending in 'p = Softmax(h) y = Mul(p, h)' 'p = Softmax(h) y = MatMul(p, square)' 'p = Softmax(h) y = Gemm(p, square)' \
    'p = Softmax(h) y = Sum(p, h)' 'p = Softmax(h) y = CumSum(p, axis)' 'p = Softmax(h) y = LayerNormalization(p, row)'; do
    network 17 'float[N,3]' ', float[3,3] square = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[3] row = {1, 2, 3}, int64 axis = {1}' "$ending"
    expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss "$loss"
    lacks stdout 'Softmax'
done

for loss in bce bce-logits; do
    target=bits
    scores_of bce-logits bits
    ends_in 'float[N,3]' '' 'y = Sigmoid(h)'
    ends_in 'float[N,3]' ', int64[1] s = {-1}, int64[2] r = {-1, 3}' 'p = Sigmoid(h) f = Reshape(p, s) y = Reshape(f, r)'
    ends_in 'float[N,3]' ', float one = {1}' 'n = Neg(h) e = Exp(n) d = Add(one, e) y = Div(one, d)'
    ends_in 'float[N,3]' ', float one = {1}, float minus = {-1}' 'n = Mul(h, minus) e = Exp(n) d = Add(e, one) y = Reciprocal(d)'
    ends_in 'float[N,3]' ', float one = {1}' 'e = Exp(h) d = Add(e, one) y = Div(e, d)'
    ends_in 'float[N,3]' ', float one = {1}, float half = {0.5}' 'n = Mul(h, half) t = Tanh(n) d = Add(t, one) y = Mul(d, half)'
done
expect 0 "$stepc" check --training net.onnxtxt
has stdout "output 'y' comes out of a Sigmoid"
# what remains behind a Sigmoid is said where the loss takes scores
network 17 'float[N,3]' ', float least = {0.25}' 'p = Sigmoid(h) y = Clip(p, least)'
expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss bce-logits
has stdout "note: 'y' comes out of the Sigmoid 'p', with 'y'"
expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss bce
lacks stdout 'comes out of'
