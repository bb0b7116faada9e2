#!/usr/bin/env bash
# usage: special_numbers.sh STEPC MAKE_NPY
# NaN, infinities, zeros of both signs and ties: generated code does with them what each operator's plain evaluation in double does, of
# operators that are made of others, too.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

printf '%s\n' 1 nan -1 2 0 -0.0 inf 0.5 -inf 1 1 -2 -0.5 3 nan nan 0 -3 2 2 -2 -2 -0.0 0 | "$make_npy" f4 4 6 >x.npy
printf '%s\n' 1 1 0 nan -0.0 0 2 inf -inf 1 -1 nan nan 3 0.5 -0.5 0 -3 2 -2 inf -2 0 0 | "$make_npy" f4 4 6 >z.npy

count=0 outputs=''
# alike BODY: what it makes of x and z as y, in both; all in one model
alike() {
    count=$((count + 1))
    outputs+=,y_$count
    # shellcheck disable=SC2001 # several names
    sed "s/\\<[ivwby]\\>/&_$count/g" <<<"    $1" >>body
}

for op in Abs Neg Sign Relu LeakyRelu Elu Selu Celu ThresholdedRelu HardSigmoid HardSwish Mish Softsign Softplus Sigmoid Tanh Gelu Swish Exp Log Sqrt \
    Floor Ceil Round Reciprocal Erf Atan Asinh Identity; do
    alike "y = $op(x)"
done
alike 'y = Shrink <lambd = 1.0, bias = 0.5> (x)'
for op in Max Min Mul Div Pow Sum Mean; do
    alike "y = $op(x, z)"
done
for op in Greater Less Equal GreaterOrEqual LessOrEqual; do
    alike "b = $op(x, z) y = Where(b, x, z)"
done
alike 'y = Mod <fmod = 1> (x, z)'
alike 'y = PRelu(x, slope)'
alike 'y = Clip(x, low, high)'
alike 'y = Clip(x, low)'
alike 'y = Clip(x, , high)'
alike 'b = IsNaN(x) y = Where(b, z, low)'
alike 'b = IsInf(x) y = Where(b, z, low)'
alike 'b = IsInf <detect_negative = 0> (x) y = Where(b, z, low)'
for op in ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceLogSumExp; do
    alike "y = $op(x, axis)"
    alike "y = $op <keepdims = 0> (x)"
done
for op in ArgMax ArgMin; do
    for how in 'axis = 0' 'axis = 1' 'axis = 0, select_last_index = 1' 'axis = 1, select_last_index = 1'; do
        alike "i = $op <$how> (x) y = Cast <to = 1> (i)"
        alike "i = $op <$how> (z) y = Cast <to = 1> (i)"
    done
done
for how in 'axis = 0' 'axis = 1' 'largest = 0'; do
    alike "y, i = TopK <$how> (x, two)"
    alike "v, i = TopK <$how> (z, two) y = Cast <to = 1> (i)"
done
for op in Hardmax Softmax LogSoftmax; do
    alike "y = $op <axis = 0> (x)"
    alike "y = $op(z)"
done
alike 'v = Unsqueeze(x, axis) y = MaxPool <kernel_shape = [2]> (v)'
alike 'v = Unsqueeze(z, axis) b, i = MaxPool <kernel_shape = [3]> (v) y = Cast <to = 1> (i)'
alike 'v = Unsqueeze(z, axis) y = GlobalMaxPool(v)'
alike 'y = CumSum(x, last)'
for reduction in add mul max min; do
    alike "w = Slice(z, axis, four, axis) i = Constant <value = int64[4,3] {0, 3, 1, 2, 0, 0, 1, 1, 1, 3, 2, 0}> () y = ScatterElements <reduction = \"$reduction\"> (x, i, w) "
done

cat - body >model.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 24]>
g (float[4,6] x, float[4,6] z) => (float s)
<float low = {-1}, float high = {1.5}, float[6] slope = {0.25, -0.5, 2, 0, 1, -1}, int64[1] two = {2}, int64[1] axis = {1}, int64[1] four = {4},
 int64 last = {1}>
{
MODEL
echo '    s = ReduceSum <keepdims = 0> (x) }' >>model.onnxtxt
for engine in interpreted generated; do
    mkdir "$engine"
    fetch=()
    for i in $(seq "$count"); do
        fetch+=(--fetch "y_$i=$engine/$i.npy")
    done
    expect 0 "$stepc" run model.onnxtxt --quiet --engine "$engine" --feed x=x.npy --feed z=z.npy --outputs "${outputs#,}" "${fetch[@]}"
done

# One number a line; 128 bytes stand before them.
for i in $(seq "$count"); do
    for engine in interpreted generated; do
        tail -c +129 "$engine/$i.npy" | od -A n -v -t f4 -w4 | sed 's/-nan/nan/' >"$engine.text"
    done
    paste interpreted.text generated.text >both.text
    [ -s both.text ] || fail "$(sed -n "${i}p" body): nothing"
    # nan, inf and -inf are words, which awk would take for 0; they are equal or not
    awk '{ near = 1e-5 * (1 + $1 * $1); is_word = $1 $2 ~ /n/ }
        $1 "" != $2 "" && (is_word || $1 - $2 > near || $2 - $1 > near) { print; bad = 1 }
        END { exit bad }' both.text >stdout || fail "$(sed -n "${i}p" body): $(tr '\n' ';' <stdout)"
done

# Every byte, in front of a digit and of another: many numbers stand as text in generated code.
cat >bytes.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 24]>
g (uint8 x, uint8[16896] c) => (uint8[16896] y) { y = Add(x, c) }
MODEL
for _ in $(seq 22); do
    seq 0 255
    seq 0 255 | sed 's/$/ 48/'
done | "$make_npy" u1 16896 >c.npy
echo 0 | "$make_npy" u1 >zero.npy
expect 0 "$stepc" run bytes.onnxtxt --quiet --engine generated --set c=@c.npy --feed x=zero.npy --fetch y=y.npy
tail -c +129 c.npy >wanted
tail -c +129 y.npy >got
same got wanted
