#!/usr/bin/env bash
# usage: compile_huge.sh STEPC MAKE_NPY
# Models whose tensors have more than 2^31 elements: loops count with 64 bits, templates where one iteration of their outer loops fits 32,
# and all else is refused by node and tensor. Only compiled: nobody has the memory. Sanitizers watch the compiler's own arithmetic.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/emitted/models.sh
. "$source_folder/tests/emitted/models.sh"
cc=${CC:-cc}

# model INPUTS OUTPUTS BODY: huge.onnxtxt
opset=17
model() {
    printf '<ir_version: 8, opset_import: ["" : %d, "ai.onnx.preview.training" : 1]>\n' $opset >huge.onnxtxt
    printf 'huge (%s) => (%s)\n{\n    %s\n}\n' "$1" "$2" "$3" >>huge.onnxtxt
}

# compiles TYPE INPUTS OUTPUTS BODY: with that type of indices somewhere in its kernels, without a warning on this machine
compiles() {
    model "${@:2}"
    expect 0 "$stepc" compile huge.onnxtxt -o huge.c
    has huge.c "for ($1 "
    "$cc" "${emitted_warnings[@]}" -O0 -I"$source_folder/runtime" -c huge.c -o huge.o || fail "$4: the C does not compile"
}

# refused TEXT INPUTS OUTPUTS BODY: with the error, of node "big"
refused() {
    echo "$4"
    rm -f huge.c
    model "${@:2}"
    expect 1 "$stepc" compile huge.onnxtxt -o huge.c
    has stderr "node 'big'"
    has stderr "$1"
    [ ! -e huge.c ] || fail "$4 is refused, and written"
}

# ---- loops ------------------------------------------------------------------------------------------------------------

compiles int64_t 'float[3000000000] x' 'float[3000000000] y' 'y = Relu(x)'
compiles int64_t 'float[50000,50000] x, float[50000] b' 'float[50000,50000] y' 'y = Add(x, b)'
compiles int64_t 'float[3000000000] x' 'float y' 'y = ReduceSum <keepdims = 0> (x)'
compiles int64_t 'float[60000,60000] x' 'float[60000] y' 'a = Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (x, a)'
compiles int64_t 'float[60000,60000] x' 'float[60000] y' 'y = ReduceMax <axes = [1], keepdims = 0> (x)'
compiles int64_t 'float[60000,60000] x' 'float[60000,60000] y' 'y = Softmax(x)'
compiles int64_t 'float[60000,60000] x' 'float[60000,60000] y' 'y = Transpose(x)'
compiles int64_t 'float[3000000000] x, int32[5] i' 'float[5] y' 'y = Gather(x, i)'
compiles int64_t 'float[50000,50000] x, int32[50000] i' 'float[50000,50000] y' 'y = Gather(x, i)'
compiles int64_t 'float[40000,60000] x' 'float[80000,60000] y' 'y = Concat <axis = 0> (x, x)'
compiles int64_t 'float[3000000000] x' 'float[3000000001] y' 'p = Constant <value_ints = [1, 0]> () y = Pad <mode = "reflect"> (x, p)'
compiles int64_t 'int64[60000,60000] x, int64[60000,2] w' 'int64[60000,2] y' 'y = MatMul(x, w)'
# backwards: partial sums of indices
compiles int64_t 'float[3000000000] x' 'float[3000000000] y' \
    'z = Constant <value_ints = [0]> () b = Constant <value_ints = [-1]> () e = Constant <value_ints = [-3000000001]> () y = Slice(x, b, e, z, b)'

# elements behind a far offset
compiles int64_t 'float[3000000000] x' 'float[40000] y' \
    'b = Constant <value_ints = [2999960000]> () e = Constant <value_ints = [3000000000]> () s = Slice(x, b, e) y = Exp(s)'

# places in the arena behind 2^31 elements are no constants of an enumeration
compiles int64_t 'float[60000,60000] x' 'float[60000,60000] y' 'a = Softmax <axis = 1> (x) b = Softmax <axis = 0> (a) c = Softmax <axis = 1> (b) y = Add(c, b)'
has huge.h '#define HUGE_INFER_A_RECIPROCAL_AT ((size_t)3600000000) /* floats [60000,1], until compute_b_exp() */'
has huge.h '    HUGE_INFER_A_EXP_AT = 0, /* floats [60000,60000], until compute_b_exp() */'

# ---- templates --------------------------------------------------------------------------------------------------------

# cut into shares: numbers of iterations times numbers of shares
model 'float[1200000000,4,4] a, float[1200000000,4,4] b' 'float[1200000000,4,4] y' 'y = MatMul(a, b)'
expect 0 "$stepc" compile huge.onnxtxt -o huge.c --threads 3 --check
has huge.c 'INT64_C(1200000000) * share / 3'
# a batch of products: each fits
compiles int64_t 'float[3,40000,40000] a, float[3,40000,70] b' 'float[3,40000,70] y' 'y = MatMul(a, b)'
compiles int64_t 'float[70000,40000,2] a, float[70000,2,3] b' 'float[70000,40000,3] y' 'y = MatMul(a, b)'
refused "'a' spans 4900000000 elements" 'float[70000,70000] a, float[70000,70] b' 'float[70000,70] y' '[big] y = MatMul(a, b)'
refused "'a' spans 3000000000 elements" 'float[3,1000000000] a, float[1000000000,1] b' 'float[3,1] y' '[big] y = MatMul(a, b)'
refused "'y' spans" 'float[70000,2] a, float[2,70000] b' 'float[70000,70000] y' '[big] y = MatMul(a, b)'
# one term a sum is a loop nest
compiles int64_t 'float[3000000000,1] a, float[1,1] b' 'float[3000000000,1] y' 'y = MatMul(a, b)'
compiles int64_t 'float[70000,1] a, float[1,70000] b' 'float[70000,70000] y' 'y = MatMul(a, b)'
refused 'more than 2^48' 'float[100000000,1000] a, float[1000,100000000] b' 'float[100000000,100000000] y' '[big] y = MatMul(a, b)'
refused 'more than 2^48' 'int64[100000000,1000] a, int64[1000,100000000] b' 'int64[100000000,100000000] y' '[big] y = MatMul(a, b)'
refused "'x' spans 3600000000 elements" 'float[1,1,60000,60000] x, float[1,1,3,3] w' 'float[1,1,59998,59998] y' '[big] y = Conv(x, w)'
refused "spans" 'float[40,1,10000,10000] x, float[2,1,3,3] w' 'float[40,2,9998,9998] y' '[big] y = Conv(x, w)'
refused 'spans' 'float[2,2,40000,40000] x, float[2,1,3,3] w' 'float[2,2,39998,39998] y' '[big] y = Conv <group = 2> (x, w)'
refused 'more than 2^48' 'float[1,1,1,1,1] x, float[1,1,1,1,1] w' 'float[1,1,2,2,2] y' \
    '[big] y = Conv <pads = [0, 0, 0, 2147483647, 2147483647, 2147483647], strides = [2147483647, 2147483647, 2147483647]> (x, w)'
for pool in MaxPool AveragePool; do
    compiles int64_t 'float[1,1,60000,60000] x' 'float[1,1,30000,30000] y' "y = $pool <kernel_shape = [2, 2], strides = [2, 2]> (x)"
    refused 'spans' 'float[1,1,60000,60000] x' 'float[1,1,30000,30000] y' \
        "[big] y = $pool <kernel_shape = [9, 9], strides = [2, 2], pads = [4, 4, 3, 3]> (x)"
done
refused 'a window has more than' 'float[1,1,3] x' 'float[1,1,3] y' '[big] y = MaxPool <kernel_shape = [2147483647], pads = [2147483646, 0]> (x)'

# ---- neither time nor text grow with a size ------------------------------------------------------------------------------

# bounded INPUTS OUTPUTS BODY: compiled in seconds, to less than 200,000 characters
bounded() {
    model "$@"
    rm -f huge.c
    timeout 20 "$stepc" compile huge.onnxtxt -o huge.c 2>stderr || fail "$3: status $?"
    [ "$(wc -c <huge.c)" -lt 200000 ] || fail "$3: $(wc -c <huge.c) characters"
    "$cc" "${emitted_warnings[@]}" -O0 -I"$source_folder/runtime" -c huge.c -o huge.o || fail "$3: the C does not compile"
}

for pool in 'MaxPool' 'AveragePool' 'LpPool'; do
    bounded 'float[1,1,2000000000] x' 'float[1,1,2000000000] y' "y = $pool <kernel_shape = [1]> (x)"
    bounded 'float[1,1,2000000000] x' 'float[1,1,2000000000] y' "y = $pool <kernel_shape = [3], pads = [1, 1]> (x)"
    bounded 'float[1,2,4000,4000] x' 'float[1,2,1201,1201] y' "y = $pool <kernel_shape = [3000, 3000], pads = [100, 100, 100, 100]> (x)"
done
refused 'lies in the padding' 'float[1,1,3] x' 'float[1,1,1] y' \
    '[big] y = MaxPool <kernel_shape = [2], dilations = [2147483647], pads = [2147483646, 2147483646]> (x)'
bounded 'float[1,3,4000,4000] x' 'float[1,3,1,1] y' 'y = GlobalMaxPool(x)'
bounded 'float[1,3,4000,4000] x' 'float[1,3,1,1] y' 'y = GlobalLpPool <p = 3> (x)'
bounded 'float[1,1000000,3] x' 'float[1,1000000,3] y' 'y = LRN <size = 2000000000> (x)'
bounded 'float[2000000000] x' 'int64 y' 'y = ArgMax <keepdims = 0> (x)'
bounded 'float[3000000000] x' 'int64 y' 'y = ArgMin <keepdims = 0> (x)'
bounded 'float[50000,3] x' 'int64[3] y' 'y = ArgMax <keepdims = 0, select_last_index = 1> (x)'
# one window: how far the next one would be says nothing
bounded 'float[1,1,1,1] x, float[1,2,3,3] w' 'float[1,2,3,3] y' 'y = ConvTranspose <strides = [4000, 4000]> (x, w)'
bounded 'float[1,2,3,3] x, float[2,2,3,3] w' 'float[1,2,1,1] y' 'y = Conv <strides = [2147483647, 2147483647]> (x, w)'

# ---- lists of numbers are counted, not written ------------------------------------------------------------------------

# gradient X Y: the end of a body, dX = the gradient of sum(Y Y) by X
gradient() {
    printf 'squares = Mul(%s, %s) loss = ReduceSum <keepdims = 0> (squares) ' "$2" "$2"
    printf 'd%s = ai.onnx.preview.training.Gradient <xs = ["%s"], y = "loss"> (%s)' "$1" "$1" "$1"
}
for size in 60000 5000000; do # shorter and longer than what is folded
    bounded "float[2,$size,3] x, int64[2,3] t" "float[2,$size,3] dx" \
        "y = NegativeLogLikelihoodLoss <reduction = \"none\"> (x, t) $(gradient x y)"
    bounded "float[2,$size] x, int32[2] t" "float[2,$size] dx" \
        "y = SoftmaxCrossEntropyLoss <ignore_index = 3> (x, t) $(gradient x y)"
    bounded "float[1,1,$size,9] x, float[2,5] r" 'float[2,1,7,5] y' 'y = MaxRoiPool <pooled_shape = [7, 5]> (x, r)'
    bounded '' "int64[$size] y" \
        "a = Constant <value_int = 0> () b = Constant <value_int = 1> () e = Constant <value_int = $size> () \
         y = Range(a, e, b)"
    for mode in reflect edge wrap; do
        bounded "float[3] x" "float[3] dx" \
            "p = Constant <value_ints = [7, $size]> () y = Pad <mode = \"$mode\"> (x, p) $(gradient x y)"
    done
    # an axis that stays
    bounded "float[1,2,$size] x" "float[1,4,$size] dx" \
        "s = Constant <value_floats = [1.0, 2.0, 1.0]> () dx = Resize <mode = \"linear\"> (x, , s)"
    opset=28
    bounded "float[1,1,6,2] q, float[1,1,$size,2] k, float[1,1,$size,2] v" "float[1,1,6,2] dq" \
        "y = Attention <left_window_size = 5, right_window_size = 2> (q, k, v) $(gradient q y)"
    opset=17
done
opset=20 # of floats, what is folded stands in the text: 65,536 at most
bounded 'float[1,2,3] t' 'float[1,4,5000000,2] y' 's = Constant <value_ints = [1, 1, 4, 5000000]> () y = AffineGrid(t, s)'
bounded 'float[1,1,4,4] x, float[1,4] r, int64[1] i' 'float[1,1,2,5000000] y' \
    'y = RoiAlign <output_height = 2, output_width = 5000000, sampling_ratio = 2> (x, r, i)'
opset=17
refused 'at most 1048576 are resized' 'float[1,1,3] x' 'float[1,1,500000000] y' \
    's = Constant <value_ints = [1, 1, 500000000]> () [big] y = Resize <mode = "cubic"> (x, , , s)'
refused 'more than 2^18 channels' 'float[2,2147483647,9] x, float[9,2147483647,3] w' 'float[9,2147483647,3] dw' \
    "[big] y = Conv(x, w) $(gradient w y)"
refused 'more than 2^18 positions' 'float[1,1,4001,4001] x, float[1,1,4000,4000] w' 'float[1,1,2,2] y' \
    '[big] y = Conv(x, w)'
refused 'more than 2^18 positions' 'float[1,1,200,200,200] x, float[1,1,100,100,100] w' 'float[1,1,101,101,101] y' \
    '[big] y = Conv(x, w)'
refused 'strides of more than 2^18 elements' 'float[1,1,2000,2000] x, float[1,1,2,2] w' 'float[1,1,2000,2000] dx' \
    "[big] y = Conv <strides = [1000, 1000]> (x, w) $(gradient x y)"
# Many tables, each of which is none too large: a model has some together.
refused 'DFT exceeds the bound of 16777216 elements of tables made for a model' 'float[1,2048,1] x, float[1,2048,1] y, float[1,2048,1] z' \
    'float[1,2048,2] a, float[1,2048,2] b, float[1,2048,2] c' 'a = DFT <axis = 1> (x) b = DFT <axis = 1> (y) [big] c = DFT <axis = 1> (z)'
