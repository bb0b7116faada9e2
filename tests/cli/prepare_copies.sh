#!/usr/bin/env bash
# usage: prepare_copies.sh STEPC MAKE_NPY
# What constant folding of PyTorch's exporter makes of a parameter that is read as it is, too: copies in another shape, of a module
# that is called again, and what it computed of it. Each network is written twice, as exported and as it was; both learn alike.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

printf '1 2 3 1  4 -2 1 0  0 1 -1 2  0.5 1 2 1' | "$make_npy" f4 4 4 >x.npy
printf '0 1 1 1  0 0.5 1 0  1 1 1 2  0 2 1 1' | "$make_npy" f4 4 4 >target.npy
head='<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[4,4] x) => (float[4,4] y)'
w='float[4,4] "fc.weight" = {0.5,-0.2,0.3,0.1, 0.2,0.6,-0.4,0.7, -0.3,0.2,0.4,-0.6, 0.15,0.25,-0.35,0.45}'
gate='0.31,-0.42,0.53,0.17'

# ---- another shape, one without a name of its own too ------------------------------------------------------------------------------

cat >folded.onnxtxt <<MODEL
$head
<$w, float[4] gate = {$gate}, float[1,4] "onnx::Mul_7" = {$gate},
 float[1,4,4] "onnx::Add_8" = {0.5,-0.2,0.3,0.1, 0.2,0.6,-0.4,0.7, -0.3,0.2,0.4,-0.6, 0.15,0.25,-0.35,0.45}>
{
    h = MatMul(x, "fc.weight")
    g = Mul(h, gate)
    k = Mul(x, "onnx::Mul_7")
    s = Add(g, k)
    t = Add(s, "onnx::Add_8")
    axis = Constant <value = int64[1] {0}> ()
    y = Squeeze(t, axis)
}
MODEL
cat >shaped.onnxtxt <<MODEL
$head
<$w, float[4] gate = {$gate}>
{
    h = MatMul(x, "fc.weight")
    g = Mul(h, gate)
    axis = Constant <value = int64[1] {0}> ()
    row = Unsqueeze(gate, axis)
    k = Mul(x, row)
    s = Add(g, k)
    plane = Unsqueeze("fc.weight", axis)
    t = Add(s, plane)
    y = Squeeze(t, axis)
}
MODEL
learns_alike folded shaped --loss mse
has folded.report "'onnx::Mul_7' is 'gate' in another shape: one variable"
has folded.report "'onnx::Add_8' is 'fc.weight' in another shape: one variable"
has folded.report 'trained: 2 tensors'
expect 0 "$stepc" check --training folded.onnxtxt
has stdout "'onnx::Add_8' is a copy of 'fc.weight' in another shape that the exporter made"
expect 0 "$stepc" prepare folded.onnxtxt -o apart.onnx --loss mse --tie never
has stdout 'trained: 4 tensors'

# The same numbers in another order: nobody can tell how that came about.
sed 's/float\[1,4,4\] "onnx::Add_8" = {0.5,-0.2,0.3,0.1, 0.2,0.6,-0.4,0.7,/float[1,4,4] "onnx::Add_8" = {0.2,0.6,-0.4,0.7, 0.5,-0.2,0.3,0.1,/' \
    folded.onnxtxt >flipped.onnxtxt
expect 0 "$stepc" prepare flipped.onnxtxt -o flipped.onnx --loss mse
has stderr "initializers 'onnx::Add_8' and 'fc.weight' have the same content, in another order"
# As many others are nothing to tell of.
sed 's/float\[1,4,4\] "onnx::Add_8" = {0.5,/float[1,4,4] "onnx::Add_8" = {0.7,/' folded.onnxtxt >other.onnxtxt
expect 0 "$stepc" prepare other.onnxtxt -o other.onnx --loss mse
lacks stderr "'onnx::Add_8' and"

# ---- called again ------------------------------------------------------------------------------------------------------------------

copy='{0.5,0.2,-0.3,0.15, -0.2,0.6,0.2,0.25, 0.3,-0.4,0.4,-0.35, 0.1,0.7,-0.6,0.45}'
cat >twice.onnxtxt <<MODEL
$head
<float[4,4] "onnx::MatMul_11" = $copy, float[4,4] "onnx::MatMul_12" = $copy>
{
    ["/head/head.1/MatMul"] h = MatMul(x, "onnx::MatMul_11")
    t = Tanh(h)
    ["/head/head.1_1/MatMul"] y = MatMul(t, "onnx::MatMul_12")
}
MODEL
cat >once.onnxtxt <<MODEL
$head <float[4,4] "onnx::MatMul_11" = $copy> { h = MatMul(x, "onnx::MatMul_11") t = Tanh(h) y = MatMul(t, "onnx::MatMul_11") }
MODEL
learns_alike twice once --loss mse
has twice.report 'trained: 1 tensor'
sed 's/head.1_1/head.2/' twice.onnxtxt >two.onnxtxt
expect 0 "$stepc" prepare two.onnxtxt -o two.onnx --loss mse
has stdout 'trained: 2 tensors'
has stderr "'onnx::MatMul_12' and 'onnx::MatMul_11' have the same content: if they were one parameter"

# ---- computed ----------------------------------------------------------------------------------------------------------------------

# computed NUMBERS: "onnx::Mul_9" has them, beside mix
computed() {
    cat <<MODEL
$head
<$w, float[4] mix = {0.25,0.75,0.125,0.625}, float[4] "onnx::Mul_9" = {$1}>
{
    a = Mul(x, mix)
    b = MatMul(x, "fc.weight")
    c = Mul(b, "onnx::Mul_9")
    y = Add(a, c)
}
MODEL
}
computed '0.75,0.25,0.875,0.375' >rest.onnxtxt
cat >subtracted.onnxtxt <<MODEL
$head
<$w, float[4] mix = {0.25,0.75,0.125,0.625}>
{
    one = Constant <value = float {1}> ()
    rest = Sub(one, mix)
    a = Mul(x, mix)
    b = MatMul(x, "fc.weight")
    c = Mul(b, rest)
    y = Add(a, c)
}
MODEL
learns_alike rest subtracted --loss mse
has rest.report "'onnx::Mul_9' is 1 - 'mix': computed of it again"
has rest.report 'trained: 2 tensors'
expect 0 "$stepc" check --training rest.onnxtxt
has stdout "'onnx::Mul_9' is 1 - 'mix', which the exporter computed"
computed '-0.25,-0.75,-0.125,-0.625' >negated.onnxtxt
expect 0 "$stepc" prepare negated.onnxtxt -o negated.onnx --loss mse
has stdout "'onnx::Mul_9' is -'mix': computed of it again"
warns() { # NUMBERS TEXT
    computed "$1" >other.onnxtxt
    expect 0 "$stepc" prepare other.onnxtxt -o other.onnx --loss mse
    has stderr "'onnx::Mul_9' is $2, which the exporter computed: a step trains it as a parameter of its own"
}
warns '1.5,2.5,1.25,2.25' "2 'mix' + 1"
warns '1.2840254,2.1170000,1.1331484,1.8682460' "Exp of 'mix'"
warns '0.5621765,0.6791787,0.5312094,0.6513549' "Sigmoid of 'mix'"
computed '0.3,0.1,0.9,0.7' >own.onnxtxt
expect 0 "$stepc" prepare own.onnxtxt -o own.onnx --loss mse
lacks stderr computed
has stdout 'trained: 3 tensors'
# numbers of another type are no copies of its own
computed '1.5,2.5,1.25,2.25' | sed 's/float\[4\] "onnx/double[4] "onnx/; s/c = Mul(b, "onnx::Mul_9")/d = Cast <to = 1> ("onnx::Mul_9") c = Mul(b, d)/' >wide.onnxtxt
grep -q 'Cast <to = 1> ("onnx::Mul_9")' wide.onnxtxt
expect 0 "$stepc" prepare wide.onnxtxt -o wide.onnx --loss mse
lacks stderr 'the exporter computed'
has stdout 'trained: 3 tensors'
