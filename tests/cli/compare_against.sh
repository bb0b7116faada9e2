#!/usr/bin/env bash
# usage: compare_against.sh STEPC MAKE_NPY
# stepc compare --against: a dump of the same step agrees; one with a wrong gradient, start or shape is found out.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
digits 33 32 other_
digits 1 32 ''

# step FOLDER INPUT TARGET: what the generated code computes
step() {
    local name fetches=()
    mkdir "$1"
    cp "$2" "$1/x.npy"
    cp "$3" "$1/target.npy"
    for name in hidden logits loss fc{1,2}.{weight,bias}.gradient; do
        fetches+=(--fetch "$name=$1/$name.npy")
    done
    expect 0 "$stepc" run train.onnx --engine generated --feed "x=$2" --feed "target=$3" "${fetches[@]}"
}

step dump x.npy t.npy
touch dump/notes.txt
expect 0 "$stepc" compare train.onnx --against dump
has stdout '7 compared, 0 differ'
lacks stdout DIFFER
lacks stdout unused
lacks stdout transposed
[ "$(grep '^same' stdout | awk '{ print $3 }' | head -n 3 | tr '\n' ' ')" = 'hidden logits loss ' ] || fail 'not in the order of the graph'

# Gradients under their other name, and files nobody asked for.
mv dump/fc1.weight.gradient.npy dump/d_fc1.weight.npy
cp dump/loss.npy dump/unknown.npy
expect 0 "$stepc" compare train.onnx --against dump
has stdout '7 compared, 0 differ'
has stdout 'unused dump/unknown.npy'
rm dump/unknown.npy

# Gradients of another batch: the first in the order of the graph is named first.
step other other_x.npy other_t.npy
cp other/fc1.weight.gradient.npy dump/d_fc1.weight.npy
cp other/fc2.bias.gradient.npy dump/
expect 1 "$stepc" compare train.onnx --against dump
[ "$(head -n 1 stdout | cut -d, -f1)" = "first parameter whose gradient differs: 'fc2.bias'" ] || fail 'the first gradient'
has stdout '7 compared, 2 differ'
expect 0 "$stepc" compare train.onnx --against dump --rtol 100
expect 1 "$stepc" compare train.onnx --against dump --quiet
[ "$(grep -c '^same' stdout)" -eq 0 ] || fail 'quiet says what agrees'

# Another start: said, and the step is run from it. Zero biases instead of the model's.
step third x.npy t.npy
yes 0 | "$make_npy" f4 32 >third/fc1.bias.npy || true
expect 1 "$stepc" compare train.onnx --against third
has stdout "first variable that the dump starts from another value (the step was run from the dump's): 'fc1.bias'"
has stdout "first parameter whose gradient differs"

# What is missing or cannot be.
mkfifo dump/fc1.bias.npy
expect 1 timeout 20 "$stepc" compare train.onnx --against dump
has stderr 'dump/fc1.bias.npy: not a regular file'
rm dump/fc1.bias.npy third/x.npy
expect 1 "$stepc" compare train.onnx --against third
has stderr "the dump has no x.npy for input 'x' float[32,64]"
cp x.npy third/x.npy
rm third/fc* third/hidden.npy third/logits.npy
yes 0 | "$make_npy" f4 3 >third/loss.npy || true
expect 1 "$stepc" compare train.onnx --against third
has stdout '(shape [], in the dump [3])'
rm third/loss.npy
expect 1 "$stepc" compare train.onnx --against third
has stderr "no tensor that entry 'step' computes is there"
printf 'no numbers' >third/loss.npy
expect 1 "$stepc" compare train.onnx --against third
has stderr third/loss.npy
expect 1 "$stepc" compare train.onnx --against nowhere
has stderr '--against nowhere: not a folder that can be read'
expect 2 "$stepc" compare train.onnx --against dump --steps 2
has stderr '--steps says nothing with --against'
expect 2 "$stepc" compare train.onnx --against dump --runs
has stderr '--runs says nothing with --against'

# What other frameworks store transposed; a start of its own, too: y is that of the dump's w.
cat >net.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[4,3] x) => (float[4,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, w) }
MODEL
expect 0 "$stepc" prepare net.onnxtxt -o net.onnx --loss mse --optimizer sgd --gradients
mkdir turned
seq 12 | "$make_npy" f4 4 3 >turned/x.npy
yes 0 | "$make_npy" f4 4 2 >turned/target.npy || true
printf '%s\n' 22 49 76 103 28 64 100 136 | "$make_npy" f4 2 4 >turned/y.npy
printf '%s\n' 1 3 5 2 4 6 | "$make_npy" f4 2 3 >turned/w.npy
expect 0 "$stepc" compare net.onnx --against turned
has stdout '2 compared, 0 differ'
[ "$(grep -c '^same .*  (transposed in the dump)$' stdout)" -eq 2 ] || fail 'what is transposed is not said'
lacks stdout unused
printf '%s\n' 2 6 10 4 8 12 | "$make_npy" f4 2 3 >turned/w.npy
expect 1 "$stepc" compare net.onnx --against turned
has stdout "first tensor that differs: 'y', relative distance 1  (transposed in the dump)"
has stdout "'w', relative distance 0.5  (transposed in the dump)"
printf '%s\n' 44 98 152 206 56 128 200 272 | "$make_npy" f4 2 4 >turned/y.npy
expect 1 "$stepc" compare net.onnx --against turned
grep -q '^same .* y .*  (transposed in the dump)$' stdout || fail 'not from the start of the dump'
has stdout '2 compared, 1 differ'
# one number, whatever its rank; as many in other shapes are another matter
seq 6 | "$make_npy" f4 6 >turned/w.npy
expect 1 "$stepc" compare net.onnx --against turned
has stdout "'w', relative distance inf  (shape [3,2], in the dump [6])"

# What the step leaves in a variable is NAME.new, whatever the model calls it, and as `stepc expand` calls it.
expect 0 "$stepc" convert net.onnx text.onnxtxt
sed 's/"w\.new"/"w.next"/g' text.onnxtxt >named.onnxtxt
has named.onnxtxt '"w" : "w.next"'
mkdir new
cp turned/{x,target}.npy new
seq 12 | "$make_npy" f4 1 4 3 >x1.npy
yes 0 | "$make_npy" f4 1 4 2 >target1.npy || true
expect 0 "$stepc" run named.onnxtxt --feed x=x1.npy --feed target=target1.npy --steps 1 --fetch w=new/w.new.npy
expect 0 "$stepc" compare named.onnxtxt --against new
grep -q '^same *update *w ' stdout || fail 'the new value is not compared'
cp turned/w.npy new/w.new.npy
expect 1 "$stepc" compare named.onnxtxt --against new
has stdout "first variable whose value after the step differs: 'w'"
