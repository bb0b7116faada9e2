#!/usr/bin/env bash
# usage: recipes.sh STEPC MAKE_NPY
# run --hash digests the bytes that docs/recipes.md says; check --recipe refuses what is none.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

digest() {
    sha256sum | cut -d ' ' -f 1
}

# ---- digests ---------------------------------------------------------------------------------------------------------

# Variables out of order, a double, integers, an output that is no number and one that is no float.
cat >bytes.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
bytes () => (float[2] sums, double wide)
<int64 n = {1}, float[1,2] b = {1, 2}, double a = {0.1}>
{
    axes = Constant<value_ints = [0]>()
    sums = ReduceSum<keepdims = 0>(b, axes)
    wide = Identity(a)
}
@training_info {
    algorithm: train () => (float loss, int64 count, int64 n_new, float[1,2] b_new, double a_new)
        <int64 one = {1}, double half = {0.5}>
    {
        n_new = Add(n, one)
        b_new = Add(b, b)
        a_new = Add(a, half)
        count = Identity(n)
        loss = ReduceSum<keepdims = 0>(b)
    }
    update_binding: ["n" : "n_new", "b" : "b_new", "a" : "a_new"]
}
MODEL
expect 0 "$stepc" run bytes.onnxtxt --steps 2 --hash --quiet
cp stdout digests
# 0.1 as binary32, 3; 0.6 as binary32, 6
curve=$(printf '\xcd\xcc\xcc\x3d\x00\x00\x40\x40\x9a\x99\x19\x3f\x00\x00\xc0\x40' | digest)
has digests "curve $curve"
outputs=$({
    printf '\x00\x00\x80\x3f\x00\x00\x00\x40\x9a\x99\x99\x99\x99\x99\xb9\x3f\x00\x00\x40\x40\x01\0\0\0\0\0\0\0'
    printf '\x00\x00\x00\x40\x00\x00\x80\x40\x33\x33\x33\x33\x33\x33\xe3\x3f\x00\x00\xc0\x40\x02\0\0\0\0\0\0\0'
} | digest)
has digests "outputs $outputs"
state=$({
    printf 'a\0double[]\0\x9a\x99\x99\x99\x99\x99\xf1\x3f'
    printf 'b\0float[1,2]\0\x00\x00\x80\x40\x00\x00\x00\x41'
    printf 'n\0int64[]\0\x03\0\0\0\0\0\0\0'
} | digest)
has digests "state $state"
[ "$(wc -l <digests)" = 3 ] || fail 'more than three lines'
for engine in '--arithmetic same' '--engine generated --reproducible'; do
    # shellcheck disable=SC2086 # two words
    expect 0 "$stepc" run bytes.onnxtxt --steps 2 --hash --quiet $engine
    same stdout digests
done
expect 0 "$stepc" run bytes.onnxtxt --steps 3 --hash --quiet
[ "$(comm -12 <(sort stdout) <(sort digests) | wc -l)" = 0 ] || fail 'a step more leaves a digest'

# ---- recipes ---------------------------------------------------------------------------------------------------------

cat >recipe.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18, "ai.onnx.preview.training" : 1]>
linear (float[8,6] x) => (float[8,6] y)
<float[6,6] w = {0, ...}, float[6] b = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}>
{
    y = Gemm(x, w, b)
}
@training_info {
    initialization: start () => (float[6,6] drawn)
    {
        drawn = RandomNormal<shape = [6, 6]>()
    }
    initialization_binding: ["w" : "drawn"]
    algorithm: train (float[8,6] target) => (float loss, float[6,6] w_new, float[6] b_new)
        <float rate = {0.1}>
    {
        d = Sub(y, target)
        dd = Mul(d, d)
        loss = ReduceMean<keepdims = 0>(dd)
        dw, db = ai.onnx.preview.training.Gradient<xs = ["w", "b"], y = "loss">(w, b)
        sw = Mul(dw, rate)
        sb = Mul(db, rate)
        w_new = Sub(w, sw)
        b_new = Sub(b, sb)
    }
    update_binding: ["w" : "w_new", "b" : "b_new"]
}
MODEL
expect 0 "$stepc" check --recipe recipe.onnxtxt
has stdout 'recipe.onnxtxt: a recipe'
expect 0 "$stepc" check recipe.onnxtxt
lacks stdout 'a recipe'

numbers=$(seq -s , 36)
# none TEXT SCRIPT: what sed makes of it is none, and TEXT says why
none() {
    sed -e "$2" recipe.onnxtxt >none.onnxtxt
    expect 0 "$stepc" check none.onnxtxt
    expect 1 "$stepc" check --recipe none.onnxtxt
    has stderr "$1"
    lacks stdout 'a recipe'
}
none "nothing is trained: there is no training_info with update_binding" '/update_binding/d'
none "entry 'step' gives no loss" 's/(float loss, /(/'
none "variable 'w' [6,6]: 36 stored elements; init() overwrites them, so one number will do" "s/w = {0, ...}/w = {$numbers}/"
none "variable 'w' [6,6]: 36 stored elements; a recipe draws them in an initialization graph" \
    "s/w = {0, ...}/w = {$numbers}/; /initialization: start/,/initialization_binding/d"
none "variable 'w' starts from 'trained' [6,6]: 36 stored elements" \
    "s/drawn = .*/trained = Constant<value = float[6,6] {$numbers}>()\nnoise = RandomNormal<shape = [6, 6]>()\ndrawn = Add(trained, noise)/"
none "variable 'w' [6,6] starts from zeros, which nothing draws" '/initialization: start/,/initialization_binding/d'
none 'it leaves sizes open: batch; write them, or say --dim' 's/\[8,6\]/[batch,6]/g'
expect 0 "$stepc" check --recipe none.onnxtxt --dim batch=4
# What changes nothing, or little, may be drawn of whatever there is.
sed -e 's/drawn = .*/one = Constant<value_float = 1.0>()\nsix = Constant<value_ints = [6, 6]>()\ndrawn = Expand(one, six)/' recipe.onnxtxt \
    >filled.onnxtxt
expect 0 "$stepc" check --recipe filled.onnxtxt

# Zeros may be meant, and a bias starts from them.
sed -e '/initialization: start/,/initialization_binding/d; s/\[6,6\] w = {0/[6,6] w = {1/' recipe.onnxtxt >ones.onnxtxt
expect 0 "$stepc" check --recipe ones.onnxtxt
sed -e 's/drawn = .*/six = Constant<value_ints = [6, 6]>()\ndrawn = ConstantOfShape(six)/; s/float\[6\] b = {.*}>/float[1,6] b = {0, ...}>/
    s/float\[6\] b_new/float[1,6] b_new/' recipe.onnxtxt >zeros.onnxtxt
expect 0 "$stepc" check --recipe zeros.onnxtxt

cp "$source_folder/tests/package/external.onnx" .
head -c 4096 /dev/zero >weights.bin
expect 1 "$stepc" check --recipe external.onnx
has stderr 'part of it is in another file'

# A weight that was forgotten.
sed -e 's/float\[6,6\] w =/float[6,6] v = {0, ...}, &/; s/Gemm(x, w, b)/Gemm(xv, w, b)/; s/y = Gemm/xv = MatMul(x, v)\n&/' recipe.onnxtxt >unset.onnxtxt
expect 0 "$stepc" check --recipe unset.onnxtxt
has stderr "all elements of 'v' [6,6] are one number, and nothing draws or trains it"
expect 0 "$stepc" check --recipe recipe.onnxtxt
[ ! -s stderr ] || fail 'a warning of a recipe that is none'

# Sizes that are open, which nobody can judge.
sed 's/float\[8,6\] x/float[n,6] x/' recipe.onnxtxt >open.onnxtxt
expect 1 "$stepc" check --recipe open.onnxtxt
has stderr 'recipe: it leaves sizes open: n'

# All that is wrong is said at once.
sed -e "s/w = {0, ...}/w = {$numbers}/; s/(float loss, /(/" recipe.onnxtxt >none.onnxtxt
expect 1 "$stepc" check --recipe none.onnxtxt
has stderr 'gives no loss'
has stderr '36 stored elements'

"$stepc" convert recipe.onnxtxt recipe.onnx
expect 0 "$stepc" check --recipe recipe.onnx

# A prepared model has the weights of the export, though init() draws others.
prepared train.onnx 0.1
expect 1 "$stepc" check --recipe train.onnx --dim batch=32
has stderr "variable 'fc1.weight' [32,64]: 2048 stored elements; a recipe draws them"

# ---- prepare --recipe ------------------------------------------------------------------------------------------------

# An export with its weights becomes a recipe: what it draws is what --initialize draws.
digits 1 16 d
digits=(--loss softmax-cross-entropy --dim batch=8 --quiet)
feeds=(--data x=dx.npy --data target=dt.npy --steps 3 --quiet --hash)
model=$source_folder/examples/digits/model.onnx
expect 0 "$stepc" prepare "$model" -o small.onnxtxt --recipe "${digits[@]}"
[ "$(wc -c <small.onnxtxt)" -lt 4500 ] || fail "the recipe has $(wc -c <small.onnxtxt) bytes"
has small.onnxtxt '"fc1.weight" = {0, ...}'
expect 0 "$stepc" check --recipe small.onnxtxt
expect 0 "$stepc" run small.onnxtxt "${feeds[@]}"
mv stdout wanted
expect 0 "$stepc" prepare "$model" -o large.onnx --initialize he "${digits[@]}"
expect 0 "$stepc" run large.onnx "${feeds[@]}"
same stdout wanted
expect 0 "$stepc" prepare "$model" -o other.onnxtxt --recipe --initialize glorot "${digits[@]}"
expect 0 "$stepc" run other.onnxtxt "${feeds[@]}"
differ stdout wanted
expect 1 "$stepc" prepare "$model" -o none_of_it.onnxtxt --recipe --loss softmax-cross-entropy
has stderr 'give --dim batch=SIZE'
expect 2 "$stepc" prepare "$model" -o none_of_it.onnxtxt --recipe --loss softmax-cross-entropy --initialize keep
expect 2 "$stepc" prepare "$model" -o none_of_it.onnxtxt --recipe --loss softmax-cross-entropy --from large.onnx
has stderr '--recipe and --from exclude each other'
[ ! -e none_of_it.onnxtxt ] || fail 'what is no recipe is written'

# What stands in no usual place: an LSTM's weights in pieces, a matrix that is added, one that multiplies, running statistics.
cat >odd.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
odd (float[4,6,5] x) => (float[4,16] y)
<float[64,5] pieces = {0.5, 1, ...}, float[1,64,16] r = {0.25, 0, ...}, float[128] bias = {0.5, 1, ...}, float[6,5] place = {0.5, 1, ...},
 float[6,5] gate = {0.5, 2, ...}, float[5] s = {0.5, 1, ...}, float[5] b = {0.5, 1, ...}, float[5] m = {0.5, 1, ...}, float[5] v = {0.5, 1, ...}>
{
    p = Add(x, place)
    g = Mul(p, gate)
    t = Transpose<perm = [0, 2, 1]>(g)
    n = BatchNormalization(t, s, b, m, v)
    l = Transpose<perm = [2, 0, 1]>(n)
    first, second = Split<axis = 0>(pieces)
    both = Concat<axis = 0>(second, first)
    axis = Constant<value_ints = [0]>()
    w = Unsqueeze(both, axis)
    wide = Unsqueeze(bias, axis)
    all, last = LSTM<hidden_size = 16>(l, w, r, wide)
    y = Squeeze(last, axis)
}
MODEL
expect 0 "$stepc" prepare odd.onnxtxt -o odd_recipe.onnxtxt --recipe --loss mse --train '*' --initialize glorot
has stdout "note: --initialize has no rule for 'gate': normal numbers of deviation 0.02"
[ "$(grep -c 'no rule' stdout)" -eq 1 ] || fail 'an LSTM has rules'
for word in '"pieces.initial" = RandomUniform <shape = [64, 5], dtype = 1, low = -0.29488' '"place.initial" = ConstantOfShape' '"bias.initial" = ConstantOfShape' \
    '"gate.initial" = RandomNormal' 'm = {0, 0, 0, 0, 0}' 'v = {1, 1, 1, 1, 1}'; do
    has odd_recipe.onnxtxt "$word"
done
expect 0 "$stepc" check --recipe odd_recipe.onnxtxt
expect 0 "$stepc" prepare odd.onnxtxt -o odd.onnx --loss mse --train '*' --initialize glorot
has stdout "note: --initialize has no rule for 'gate': its stored values stay"
