#!/usr/bin/env bash
# usage: sizes_from_data.sh STEPC MAKE_NPY [TEXT]: only the cases that have TEXT in them
# Each operator on what a mask selects, as many as data say: its values and gradients are those of the same model whose mask is fixed,
# where the sizes are plain numbers; or it is refused, with the reason.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

printf '%s\n' 0.5 -1.25 2 -0.75 1.5 3 2.5 -2 0.25 1.75 -3 -0.5 1 4 -1.5 -2.25 0.75 3.5 | "$make_npy" f4 6 3 >x.npy
printf '%s\n' -1 2 0.5 3 -0.25 1 1.25 -2 0.75 -1.75 2.25 4 0.25 -3 1.5 2.75 -0.5 -4 | "$make_npy" f4 6 3 >z.npy
printf '%s\n' 1 0 2 2 0 1 | "$make_npy" i8 6 >t.npy
printf '%s\n' 1 0 5 2 3 1 0 4 4 2 2 5 3 0 1 5 3 0 | "$make_npy" i8 6 3 >places.npy
feeds=(--feed x=x.npy --feed z=z.npy --feed t=t.npy --feed places=places.npy)

# model BODY: what it may read
#   c [n,3], e [n,3], i [n,3] (0 to 5), l [n] (0 to 2), p [n]: of the inputs x, z, places, t; the mask is computed again for each
#   f [k,3]: of x by another mask
#   r [3,n]: c transposed; xr [3,6]: x transposed; n: the count as int64[1]
model() {
    cat >model.onnxtxt <<MODEL
<ir_version: 10, opset_import: ["" : 24, "ai.onnx.preview.training" : 1]>
g (float[6,3] x, float[6,3] z, int64[6] t, int64[6,3] places, int64[6] mask, int64[6] other, int64[1] from, int64[1] to) => (float unused)
<float[3] w = {2, -3, 0.5}, float[3,2] matrix = {1, 2, -1, 0.5, 3, -2}, float[2] two = {0.25, -4}, float[6,1] column = {1, 2, 3, 4, 5, 6},
 int64[1] zero = {0}, int64[1] one = {1}, int64[1] three = {3}, int64[1] many = {1000}, int64[1] minus = {-1}, int64 first = {0},
 float[1] low = {-1}, int64 one_more = {1}, int64 two_more = {2}, int64 four = {4}, int64[2] off_on = {0, 1}, int64[1] least = {-1000},
 int64[1] six = {6}, float[1] large = {16000}>
{
    m = Cast <to = 9> (mask)
    [pick] c = Compress <axis = 0> (x, m)
    m_again = Cast <to = 9> (mask)
    e = Compress <axis = 0> (z, m_again)
    i = Compress <axis = 0> (places, m)
    l = Compress <axis = 0> (t, m)
    p = ReduceSum <keepdims = 0> (e, one)
    o = Cast <to = 9> (other)
    [choose] f = Compress <axis = 0> (x, o)
    r = Transpose (c)
    xr = Transpose (x)
    sizes = Shape(c)
    n = Gather(sizes, zero)
    $1
    all = Cast <to = 1> (places)
    some = Cast <to = 1> (t)
    ends = Cast <to = 1> (from)
    more = Cast <to = 1> (to)
    taken = Cast <to = 1> (mask)
    parts = Concat <axis = 0> (some, taken, ends, more)
    fed = Sum(x, z, all)
    whole = ReduceSum <keepdims = 0> (fed)
    lists = ReduceSum <keepdims = 0> (parts)
    unused = Add(whole, lists)
}
MODEL
}

# numbers FILE: what is in a .npy file
numbers() {
    tail -c "+$((11 + $(od -A n -t u2 -j 8 -N 2 "$1")))" "$1"
}

# begins_with FILE START: the numbers of the one are those of the other, and zeros behind them
begins_with() {
    numbers "$1" >got
    numbers "$2" >expected
    local size rest
    size=$(stat -c %s expected)
    rest=$(tail -c "+$((size + 1))" got | tr -d '\0')
    if ! head -c "$size" got | cmp -s - expected || [ -n "$rest" ]; then
        fail "$3: $(od -A n -t f4 got | xargs), expected $(od -A n -t f4 expected | xargs)"
    fi
}

wanted=${3-}

# agrees BODY OUTPUT...: with two masks, with room for all and for just as many
agrees() {
    local body=$1 mask room name outputs=() fetch=unused known
    shift
    [[ $body == *"$wanted"* ]] || return 0
    model "$body"
    for name in "$@"; do
        outputs+=(--fetch "$name=$name.npy")
        fetch=$fetch,$name
    done
    for mask in 0,1,0,1,1,0=3 1,0,1,1,0,1=6; do
        room=${mask#*=} mask=${mask%=*}
        tr , '\n' <<<"$mask" | "$make_npy" i8 6 >mask.npy
        expect 0 "$stepc" run model.onnxtxt --quiet --arithmetic "$arithmetic" --outputs "$fetch" "${feeds[@]}" --set "mask=$mask" --set from=-5 --set to=4 "${outputs[@]}"
        for name in "$@"; do
            mv "$name.npy" "known_$name.npy"
        done
        printf '%s\n' -5 | "$make_npy" i8 1 >from.npy
        printf '%s\n' 4 | "$make_npy" i8 1 >to.npy
        expect 0 "$stepc" run model.onnxtxt --quiet --arithmetic "$arithmetic" --outputs "$fetch" "${feeds[@]}" --feed mask=mask.npy --feed from=from.npy \
            --feed to=to.npy --bound "pick=$room" --bound cut=18 "${outputs[@]}"
        for name in "$@"; do
            known=known_$name.npy
            begins_with "$name.npy" "$known" "$name of mask $mask, room $room, of: $body"
        done
    done
}

# The same for numbers of a type that has no gradient, and for those that have: x's comes with it. trains BODY [--arithmetic same]
values() {
    arithmetic=double
    agrees "$1" y
}
trains() {
    arithmetic=${3:-double}
    agrees "$1 s = ReduceSumSquare <keepdims = 0> (y) d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x)" y d
}

# refuses BODY TEXT
refuses() {
    [[ $1 == *"$wanted"* ]] || return 0
    model "$1"
    expect 1 "$stepc" check model.onnxtxt
    has stderr "$2"
    [ "$(grep -c 'error: ' stderr)" = 1 ] || fail "more than one error for: $1"
}

# ---- element by element -----------------------------------------------------------------------------------------------------------

trains 'y = Add(c, e)'
[ -n "$wanted" ] || grep -qaF '(1, 6, 3)' y.npy || fail 'there is no room for all'
trains 'y = Mul(c, w)'
trains 'y = Sum(e, c, low)'
trains 'q = Greater(c, e) y = Where(q, c, e)'
trains 'q = Mul(r, p) y = Transpose(q)'
trains 'y = PRelu(c, w)'
for op in Gelu HardSigmoid HardSwish Mish Softsign ThresholdedRelu Shrink Swish Dropout Identity Tanh; do
    trains "y = $op(c)"
done
refuses 'y = Add(c, f)' "how many elements input 1 'f' has along axis 0 follows from data (node 'choose' (Compress)): it is not known to be as many as those of input 0 'c'"
refuses 'y = Add(c, z)' "input 1 'z' has a fixed number there"
refuses 'y = Add(z, c)' "how many elements input 1 'c' has along axis 0 follows from data (node 'pick' (Compress)): input 0 'z' has a fixed number there"
refuses 'y = Add(c, column)' "input 1 'column' has a fixed number there"

# ---- samples that have nothing to do with each other ------------------------------------------------------------------------------

trains 'q = Unsqueeze(c, one) y = MaxPool <kernel_shape = [2]> (q)'
trains 'q = Unsqueeze(c, one) y = AveragePool <kernel_shape = [2], pads = [1, 0]> (q)'
trains 'q = Unsqueeze(c, one) y = GlobalAveragePool(q)'
trains 'q = Unsqueeze(c, one) y = GlobalMaxPool(q)'
trains 'q = Unsqueeze(c, one) k = Unsqueeze(matrix, one) y = Conv(q, k)'
refuses 'q = Unsqueeze(r, zero) y = MaxPool <kernel_shape = [2]> (q)' 'MaxPool takes that of axis 0 only'
refuses 'q = Unsqueeze(c, one) k = Unsqueeze(c, one) y = Conv(q, k)' "how many elements input 1 'k' has along axis 0 follows from data (node 'pick' (Compress)): Conv does not take that there"
trains 'y = LayerNormalization(c, w)'
trains 'y = RMSNormalization(c, w)'
refuses 'k = Constant <value_floats = [1.0, 1.0, 1.0]> () y = LayerNormalization <axis = 0> (c, k)' 'the mean and the variance are of a fixed number of elements'

# ---- along an axis ----------------------------------------------------------------------------------------------------------------

trains 'y = Concat <axis = 1> (c, e)'
trains 'q = Transpose(e) k = Concat <axis = 0> (r, q) y = Transpose(k)'
refuses 'y = Concat <axis = 0> (c, e)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): Concat would put something behind the last of them"
refuses 'y = Concat <axis = 0> (x, c)' "how many elements input 1 'c' has along axis 0 follows from data (node 'pick' (Compress)): Concat would put something behind the last of them"
refuses 'y = Concat <axis = 1> (c, x)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): Concat needs as many in all inputs"
refuses 'y = Concat <axis = 1> (x, c)' "how many elements input 1 'c' has along axis 0 follows from data (node 'pick' (Compress)): Concat needs as many in all inputs"
refuses 'y = Concat <axis = 1> (c, f)' "how many elements input 1 'f' has along axis 0 follows from data (node 'choose' (Compress)): Concat needs as many in all inputs"
trains 'y = CumSum(c, first)'
trains 'y = CumSum <reverse = 1> (c, first)'
trains 'y = CumSum <reverse = 1, exclusive = 1> (c, first)'
trains 'y = CumSum <reverse = 1> (c, one)'
trains 'y = Softmax <axis = 0> (c)'
trains 'q = Softmax(r) y = Transpose(q)'
trains 'y = Softmax(c)'
trains 'y = LogSoftmax <axis = 0> (c)'
trains 'a, b, q = Split <axis = 1, num_outputs = 3> (c) y = Sub(a, q)'
refuses 'y, q = Split <num_outputs = 2> (c)' 'Split needs a fixed size of the axis that it divides'
for op in ArgMax ArgMin; do
    values "y = $op <axis = 0> (c)"
    values "y = $op <axis = 1> (c)"
    values "y = $op <axis = 1, keepdims = 0, select_last_index = 1> (c)"
    values "y = $op <axis = 0, keepdims = 0> (r)"
done
refuses 'y = ArgMax <select_last_index = 1> (c)' 'the last of equal elements is not looked for among them'
for op in ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp; do
    trains "y = $op <keepdims = 0> (c)"
    trains "y = $op <keepdims = 0> (r)"
    trains "y = $op(c, zero)"
    trains "y = $op <keepdims = 0> (r, minus)"
    trains "y = $op <keepdims = 0> (c, one)"
    trains "q = $op <keepdims = 0> (r, zero) y = $op(q)"
    trains "q = $op(r, zero) y = Transpose(q)"
done
trains 'q = Exp(c) y = ReduceLogSum(q, zero)'
trains 'y = ReduceMean <noop_with_empty_axes = 1> (c)'
for op in ReduceMax ReduceMin; do
    values "y = $op(i, zero)"
    for type in 2 3 6 9 11 13; do
        values "q = Cast <to = $type> (i) y = $op(q, zero)"
    done
done
values 'q, k = TopK <axis = 1> (c, one) y = Add(q, w)'
values 'q, k = TopK <axis = 1> (c, one) y = Identity(k)'
refuses 'y, q = TopK <axis = 0> (c, one)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): TopK needs a fixed size there"

# Other types.
trains 'k = Abs(c) b = Mul(k, large) q = Cast <to = 10> (b) v = ReduceMean(q, zero) y = Cast <to = 1> (v)' --arithmetic same
values 'q = Cast <to = 6> (i) y = ReduceMean(q, zero)'
values 'q = Cast <to = 6> (i) y = ReduceMean <keepdims = 0> (q, one)'
values 'q = Cast <to = 6> (i) y = ReduceProd(q, zero)'
values 'q = Cast <to = 6> (i) y = ReduceL2(q, zero)'
values 'q = Cast <to = 6> (i) y = ReduceLogSumExp(q, zero)'
values 'q = Cast <to = 16> (c) a = Softmax <axis = 0> (q) y = Cast <to = 1> (a)'
values 'q = Cast <to = 10> (c) a = Softmax <axis = 0> (q) y = Cast <to = 1> (a)'
trains 'q = Cast <to = 11> (c) a = Softmax <axis = 0> (q) y = Cast <to = 1> (a)'
trains 'q = Cast <to = 11> (c) a = ReduceMax(q, zero) y = Cast <to = 1> (a)'
values 'k = Cast <to = 10> (c) q = ArgMin <axis = 0> (k) y = Identity(q)'
values 'q = ArgMin <axis = 0> (i) y = Identity(q)'
values 'q = ArgMax <axis = 0> (i) y = Identity(q)'
values 'k = Cast <to = 2> (i) q = ArgMax <axis = 0> (k) y = Identity(q)'

# ---- elements by their places -----------------------------------------------------------------------------------------------------

trains 'k = NonZero(mask) q = Squeeze(k, zero) y = Gather(x, q)'
trains 'k = NonZero(mask) q = Squeeze(k, zero) g = Gather <axis = 1> (xr, q) y = Transpose(g)'
trains 'k = NonZero(mask) q = Gather <axis = 1> (xr, k) y = Transpose <perm = [2, 0, 1]> (q)'
trains 'k = Constant <value_ints = [2, 0]> () y = Gather <axis = 1> (c, k)'
trains 'y = Gather <axis = 1> (c, first)'
trains 'y = Gather(r, first)'
trains 'k = Unsqueeze(zero, zero) q = Gather(r, k) y = Transpose <perm = [2, 0, 1]> (q)'
refuses 'y = Gather(c, zero)' 'Gather takes elements along this axis by their place'
refuses 'k = NonZero(mask) q = Squeeze(k, zero) y = Gather <axis = 1> (c, q)' "input 1 'q'"
trains 'y = GatherElements(x, i)'
trains 'k = Min(i, two_more) y = GatherElements <axis = 1> (c, k)'
refuses 'y = GatherElements(c, i)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): GatherElements takes elements along this axis by their place"
refuses 'k = Transpose(places) q = Min(k, two_more) y = GatherElements <axis = 0> (r, q)' "how many elements input 0 'r' has along axis 1 follows from data (node 'pick' (Compress)): it is not known to be as many as in the other input"
refuses 'q = Min(i, two_more) y = GatherElements <axis = 1> (z, q)' "how many elements input 1 'q' has along axis 0 follows from data (node #4 (Compress)): it is not known to be as many as in the other input"
trains 'k = NonZero(mask) q = Transpose(k) y = GatherND(x, q)'
trains 'k = Constant <value = int64[2,1] {2, 0}> () q = GatherND(r, k) y = Transpose(q)'
refuses 'k = Constant <value = int64[2,1] {2, 0}> () y = GatherND(c, k)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): GatherND takes elements along this axis by their place"
values 'q = Greater(z, x) [cut] k = NonZero(q) y = Transpose(k)'
values 'q = Greater(c, e) [cut] k = NonZero(q) y = Transpose(k)'
trains 'q = Greater(p, low) [cut] y = Compress <axis = 0> (c, q)'
trains 'y = Compress(x, m)'
trains 'q = Compress <axis = -1> (xr, m) y = Transpose(q)'
refuses 'q = Greater(p, low) y = Compress <axis = 0> (f, q)' 'it is not known to be as many as the condition has'
refuses 'q = Greater(p, low) y = Compress(c, q)' 'it is not known to be as many as the condition has'
refuses 'y = Compress <axis = 0> (c, m)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): it is not known to be as many as the condition has"
refuses 'q = Greater(p, low) y = Compress <axis = 0> (x, q)' "how many elements input 1 'q' has along axis 0 follows from data (node #3 (Compress)): what is chosen from has a fixed number"
trains '[cut] y = Slice(x, from, to)'
trains '[cut] y = Slice(x, from, to, zero, one)'
trains '[cut] q = Slice(xr, from, to, one) y = Transpose(q)'
trains '[cut] y = Slice(x, to, from)'
trains '[cut] y = Slice(x, one, to)'
trains '[cut] y = Slice(x, from, many)'
trains '[cut] y = Slice(c, from, to)'
trains '[cut] q = Slice(r, from, to, minus) y = Transpose(q)'
trains 'y = Slice(c, one, three, one)'
trains 'y = Slice(c, zero, many)'
refuses 'y = Slice(c, one, many)' 'Slice takes elements along this axis by their place'
refuses 'y = Slice(c, zero, three)' 'Slice takes elements along this axis by their place'
refuses 'y = Slice(c, minus, least, zero, minus)' 'Slice takes elements along this axis by their place'
refuses 'y = Slice(c, from, to, one)' 'Slice would make another size follow from data'
for reduction in add mul max min; do
    trains "y = ScatterElements <reduction = \"$reduction\"> (x, i, c)"
    trains "k = NonZero(mask) q = Transpose(k) y = ScatterND <reduction = \"$reduction\"> (x, q, e)"
done
trains 'k = NonZero(mask) q = Transpose(k) y = ScatterND(x, q, e)'
trains 'q = Greater(z, x) k = NonZero(q) b = Transpose(k) g = GatherND(z, b) y = ScatterND(x, b, g)'
refuses 'y = ScatterElements(x, i, c)' 'ScatterElements needs a reduction for that'
refuses 'y = ScatterElements <reduction = "add"> (c, i, c)' 'what is scattered into needs a fixed size'
refuses 'y = ScatterElements <reduction = "add"> (x, i, z)' "how many elements input 1 'i' has along axis 0 follows from data (node #4 (Compress)): indices and updates are not known to be as many as each other"
refuses 'y = ScatterElements <reduction = "add"> (x, places, c)' "how many elements input 2 'c' has along axis 0 follows from data (node 'pick' (Compress)): indices and updates are not known to be as many as each other"
trains 'q = Add(to, one) [cut] y, k = TopK <axis = 0> (x, q)'
values '[cut] k, y = TopK <axis = 0, largest = 0> (x, to)'
trains '[cut] q, k = TopK(xr, to) y = Transpose(q)'
refuses 'y, k = TopK <axis = 1> (c, to)' 'TopK would make another size follow from data'
values 'y = OneHot(l, four, off_on)'
values 'q = OneHot <axis = 0> (l, four, off_on) y = Transpose(q)'

# ---- shapes -----------------------------------------------------------------------------------------------------------------------

values 'y = Shape(c)'
values 'y = Shape <start = 1> (c)'
values 'y = Shape <end = 1> (c)'
values 'y = Shape <start = -1> (r)'
values 'y = Size(c)'
values 'q = Gather(sizes, first) y = Range(first, q, one_more)'
refuses 'q = Gather(sizes, first) y = Range(one_more, q, one_more)' "the size 0 that input 1 'q' says follows from data (node 'pick' (Compress)): the first number is not 0, or they do not grow by 1"
refuses 'q = Gather(sizes, first) y = Range(first, q, two_more)' 'the first number is not 0, or they do not grow by 1'
values 'y = ConstantOfShape <value = float[1] {2.5}> (sizes)'
values 'q = Concat <axis = 0> (three, n) k = ConstantOfShape <value = int64[1] {7}> (q) y = Transpose(k)'
trains 'q = ReduceMax(c, one) k = Concat <axis = 0> (one, three) y = Expand(q, k)'
trains 'q = ReduceMax(c, one) y = Expand(q, sizes)'
trains 'q = ReduceMax(x, zero) y = Expand(q, sizes)'
trains 'q = ReduceMax <keepdims = 0> (x, zero) y = Expand(q, sizes)'
trains 'k = Concat <axis = 0> (three, one, one) q = Expand(c, k) y = Transpose <perm = [1, 0, 2]> (q)'
refuses 'k = Constant <value_ints = [6, 3]> () y = Expand(c, k)' 'the shape says a fixed number there'
refuses 'y = Expand(f, sizes)' "the size 0 that input 1 'y.const' says follows from data (node 'pick' (Compress)): it is not known to be as many as input 0 has"
refuses 'y = Expand(x, sizes)' 'it is not known to be as many as input 0 has'
trains 'k = Constant <value_ints = [-1, 1, 3]> () y = Reshape(c, k)'
trains 'k = Constant <value_ints = [1, -1, 3]> () q = Reshape(c, k) y = Squeeze(q, zero)'
trains 'y = Reshape(c, minus)'
trains 'k = Constant <value_ints = [0, -1]> () y = Reshape(c, k)'
trains 'k = Concat <axis = 0> (n, one, three) y = Reshape(c, k)'
trains 'k = Concat <axis = 0> (three, n) b = Transpose(r) q = Reshape(r, k) y = Transpose(q)'
trains 'y = Flatten <axis = 0> (c)'
trains 'q = Unsqueeze(c, one) y = Flatten(q)'
trains 'q = Transpose <perm = [1, 0]> (c) k = Unsqueeze(q, minus) y = Transpose <perm = [1, 2, 0]> (k)'
refuses 'k = Constant <value_ints = [6, 3]> () y = Reshape(c, k)' 'the new shape says a fixed number; -1 would say that it is open'
refuses 'q = Unsqueeze(r, zero) y = Flatten <axis = 3> (q)' 'in the new shape they are no axis of their own'
refuses 'y = Reshape(x, sizes)' "the size 0 that input 1 'sizes' says follows from data (node 'pick' (Compress)): what is reshaped has a fixed number of elements"
refuses 'y = Reshape(f, sizes)' "the size 0 that input 1 'y.const_2' says follows from data (node 'pick' (Compress)): it is not known to be as many as input 0 has"
refuses 'y = Reshape(, sizes)' 'input 0'

# ---- products and losses ----------------------------------------------------------------------------------------------------------

trains 'y = MatMul(c, matrix)'
trains 'q = Transpose(matrix) k = MatMul(q, r) y = Transpose(k)'
trains 'y = MatMul(r, e)'
trains 'y = MatMul(p, e)'
trains 'y = MatMul(r, p)'
trains 'y = MatMul(p, p)'
trains 'y = MatMul(c, w)'
trains 'y = MatMul(w, r)'
trains 'q = Unsqueeze(c, one) y = MatMul(q, matrix)'
trains 'q = Unsqueeze(c, one) k = Unsqueeze(e, minus) y = MatMul(q, k)'
trains 'q = Unsqueeze(c, one) y = MatMul(q, w)'
trains 'k = Unsqueeze(e, minus) y = MatMul(w, k)'
refuses 'k = Transpose(e) y = MatMul(c, k)' "how many elements input 1 'k' has along axis 1 follows from data (node #3 (Compress)): two sizes of the result would follow from data"
refuses 'y = MatMul(r, f)' "how many elements input 0 'r' has along axis 1 follows from data (node 'pick' (Compress)): it is not known to be as many as in the other input"
refuses 'y = MatMul(r, z)' "how many elements input 0 'r' has along axis 1 follows from data (node 'pick' (Compress)): it is not known to be as many as in the other input"
refuses 'y = MatMul(xr, c)' "how many elements input 1 'c' has along axis 0 follows from data (node 'pick' (Compress)): it is not known to be as many as in the other input"
refuses 'q = Unsqueeze(c, one) k = Unsqueeze(f, minus) y = MatMul(q, k)' "how many elements input 1 'k' has along axis 0 follows from data (node 'choose' (Compress)): it is not known to be as many as in the other input"
refuses 'q = Unsqueeze(c, one) k = Unsqueeze(z, minus) y = MatMul(q, k)' "how many elements input 0 'q' has along axis 0 follows from data (node 'pick' (Compress)): the other input has a fixed number there"
refuses 'q = Unsqueeze(x, one) k = Unsqueeze(e, minus) y = MatMul(q, k)' 'the other input has a fixed number there'
trains 'y = Gemm <alpha = 0.5> (c, matrix, two)'
trains 'y = Gemm(c, matrix)'
trains 'y = Gemm <transA = 1> (c, e)'
trains 'q = Transpose(e) y = Gemm <transB = 1> (r, q)'
trains 'q = Transpose(matrix) k = Gemm <transB = 1> (q, c) y = Transpose(k)'
trains 'k = ReduceMax(e, one) y = Gemm(c, matrix, k)'
trains 'y = Gemm <transA = 1> (r, matrix, two)'
trains 'q = Transpose(matrix) k = Gemm(q, r, p) y = Transpose(k)'
refuses 'y = Gemm <transB = 1> (c, e)' "how many elements input 1 'e' has along axis 0 follows from data (node #3 (Compress)): two sizes of the result would follow from data"
refuses 'y = Gemm <transA = 1> (c, f)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): it is not known to be as many as in the other matrix"
refuses 'y = Gemm <transA = 1> (x, c)' "how many elements input 1 'c' has along axis 0 follows from data (node 'pick' (Compress)): it is not known to be as many as in the other matrix"
refuses 'k = ReduceMax(f, one) y = Gemm(c, matrix, k)' "how many elements input 2 'k' has along axis 0 follows from data (node 'choose' (Compress)): it is not known to be as many as in the product"
refuses 'k = ReduceMax(c, one) q = Slice(xr, zero, six, one) b = Slice(k, zero, many) a = Transpose(x) y = Gemm(x, a, k)' "how many elements input 2 'k' has along axis 0 follows from data (node 'pick' (Compress)): it is not known to be as many as in the product"
refuses 'y = Gemm(c, matrix, column)' "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): what is added has a fixed number there"
refuses 'q = Transpose(matrix) k = Reshape(column, minus) y = Gemm <transB = 1> (q, c, k)' "how many elements input 1 'c' has along axis 0 follows from data (node 'pick' (Compress)): what is added has a fixed number there"
for op in SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss; do
    for how in '' '<reduction = "sum">' '<reduction = "none">' '<ignore_index = 2>'; do
        trains "y = $op $how (c, l)"
        trains "y = $op $how (c, l, w)"
    done
    trains "q = Unsqueeze(r, zero) k = Unsqueeze(l, zero) y = $op(q, k)"
    trains "q = Cast <to = 6> (l) y = $op(c, q)"
    refuses "y = $op(c, t)" "how many elements input 0 'c' has along axis 0 follows from data (node 'pick' (Compress)): scores and labels are not known to be as many as each other"
    refuses "y = $op(x, l)" "how many elements input 1 'l' has along axis 0 follows from data"
    refuses "y = $op(f, l)" 'scores and labels are not known to be as many as each other'
    refuses "k = Constant <value_ints = [0, 0, 0]> () y = $op(xr, k, p)" "there is a weight for each class"
done
