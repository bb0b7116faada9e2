#!/usr/bin/env bash
# usage: set_inputs.sh STEPC MAKE_NPY
# --set: inputs of a model that become constants, in every command that reads it.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,3] x, bool[1] doubled, int64[1] from, int64[k] to, float scale) => (float[n,?] y)
<float[3,3] w = {1,0,0, 0,1,0, 0,0,1}, int64[1] axis = {1}>
{
    h = If (doubled) <then_branch = yes () => (float[n,3] a) { a = Add(x, x) },
                      else_branch = no () => (float[n,3] b) { b = Identity(x) }>
    m = MatMul(h, w)
    s = Slice(m, from, to, axis)
    y = Mul(s, scale)
}
MODEL
seq 6 | "$make_npy" f4 2 3 >x.npy
echo 2 | "$make_npy" i8 1 >to.npy
set -- --set from=0 --set to=@to.npy --set scale=0.5

# What would have to be known is said with the options.
expect 1 "$stepc" compile net.onnxtxt -o net.c --dim n=2 --dim k=1 --set doubled=true
has stderr "how many elements output 'y' has along axis 1 follows from data (node #2 (Slice)); --bound NAME=N, with the name"
has stderr "'y_count', how many they are (3 is the most that there can be); --set to=VALUE fixes it"

expect 0 "$stepc" check net.onnxtxt --set doubled=true "$@"
expect 0 "$stepc" inspect net.onnxtxt --dim n=2 --set doubled=true "$@"
expect 0 "$stepc" compare net.onnxtxt --dim n=2 --set doubled=true "$@"
expect 0 "$stepc" compile net.onnxtxt -o net.c --dim n=2 --set doubled=true "$@" --depfile net.d
has net.c 'options  --dim n=2 --set doubled=true --set from=0 --set to=@to.npy --set scale=0.5'
has net.d "$work/to.npy"
lacks net.h 'scale;'
gives() { # NUMBER...: y.npy holds them
    [ "$(tail -c $(($# * 4)) y.npy | od -A n -t f4 | xargs)" = "$*" ] || fail "y is not $*"
}
for engine in interpreted generated; do
    expect 0 "$stepc" run net.onnxtxt --engine "$engine" --set doubled=true "$@" --feed x=x.npy --fetch y=y.npy
    gives 1 2 4 5
    expect 0 "$stepc" run net.onnxtxt --engine "$engine" --set doubled=0 "$@" --feed x=x.npy --fetch y=y.npy
    gives 0.5 1 2 2.5
done

# A prepared model has the constants; no one trains them, and strip says that they stay.
expect 0 "$stepc" prepare net.onnxtxt -o train.onnxtxt --loss mse --set doubled=false "$@"
has stdout 'trained: 1 tensor, 9 elements'
expect 0 "$stepc" compile train.onnxtxt -o train.c --dim n=2
expect 0 "$stepc" strip train.onnxtxt -o stripped.onnx
has stdout 'constants in the place of inputs'
# in one go, the same program
expect 0 "$stepc" compile net.onnxtxt -o one.c --dim n=2 --loss mse --set doubled=false "$@"

# What it cannot be.
refused() {
    expect 1 "$stepc" check net.onnxtxt --set "$1"
    has stderr "--set $1: $2"
}
refused doubled=2 'the input is bool: expected true or false'
refused from=0.5 'the input is int64: expected a whole number'
refused from=1,2 '2 values for an input of shape [1]'
refused scale=x 'the input is float: expected a number'
refused scale=@x.npy 'the file holds float[2,3], expected float[]'
echo 2 | "$make_npy" i4 1 >to32.npy
refused to=@to32.npy 'the file holds int32[1], expected int64[1]'
refused x=1 'the input has a size that is not known'
expect 2 "$stepc" check net.onnxtxt --set =1
has stderr '--set =1: expected INPUT=VALUE'
expect 1 "$stepc" check net.onnxtxt --set scal=1
has stderr "--set scal=1: the model has no input 'scal'; did you mean 'scale'?"

# Fixed once, and not fed as well.
expect 2 "$stepc" check net.onnxtxt --set scale=1 --set scale=2
has stderr "--set scale=2: input 'scale' is fixed already"
[ "$(wc -l <stderr)" -eq 1 ] || fail 'one message is expected'
expect 2 "$stepc" run net.onnxtxt --feed x=x.npy --set x=@x.npy
has stderr "--set x=@x.npy: input 'x' is fed, too: leave one out"
