#!/usr/bin/env bash
# usage: convert_weights.sh STEPC MAKE_NPY
# Weights out of a model and into it: names, matrices the other way round, types; every mismatch is listed.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# model NAME TYPE OF_W: w 2x3 or 3x2, a square matrix, a bias, a number, an integer
model() {
    cat >"$1" <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
m ($2[1,2] x) => ($2[1,2] y)
<$2$3 w = {1, 2, 3, 4, 5, 6}, $2[2,2] q = {1, 2, 3, 4}, $2[2] b = {7, 8}, $2 scale = {2}, int64[2] shape = {1, 2}>
{ y = Add(x, b) }
MODEL
}
model float.onnxtxt float '[2,3]'
expect 0 "$stepc" convert float.onnxtxt float.onnx

# There and back: the same model, whatever values it had in between.
expect 0 "$stepc" convert float.onnx w.safetensors
sed 's/{1, 2, 3, 4, 5, 6}/{0, 0, 0, 0, 0, 0}/; s/{7, 8}/{0, 0}/' float.onnxtxt >zero.onnxtxt
expect 0 "$stepc" convert w.safetensors back.onnx --model zero.onnxtxt
same back.onnx float.onnx
has stdout 'set: 4 initializers'
[ ! -s stderr ] || fail 'nothing is wrong, but something is said'
expect 0 "$stepc" convert back.onnx again.safetensors
same w.safetensors again.safetensors

# Another type, and a matrix that fits only transposed.
model double.onnxtxt double '[3,2]'
expect 0 "$stepc" convert w.safetensors double.onnx --model double.onnxtxt
has stdout "transposed: 'w' [3,2] from [2,3], since only that fits"
has stdout "converted: 'w' from float to double"
expect 0 "$stepc" convert double.onnx double.safetensors
expect 0 "$stepc" convert double.safetensors back.onnx --model zero.onnxtxt
same back.onnx float.onnx

# A square matrix says nothing about itself.
expect 0 "$stepc" convert w.safetensors turned.onnx --model float.onnxtxt --transpose q
has stdout "transposed: 'q' [2,2] from [2,2]"
differ turned.onnx float.onnx
expect 0 "$stepc" convert turned.onnx turned.safetensors --transpose q
same turned.safetensors w.safetensors

# Other names.
expect 0 "$stepc" convert float.onnx named.safetensors --rename 'b=layer.bias' --rename '*=net.*.weight'
has named.safetensors '"net.w.weight"'
expect 0 "$stepc" convert named.safetensors back.onnx --model zero.onnxtxt --rename 'b=layer.bias' --rename '*=net.*.weight'
same back.onnx float.onnx

# All that does not fit, at once.
model other.onnxtxt float '[6]'
sed -i 's/ q = / r = /; s/ b = / c = /; s/(x, b)/(x, c)/' other.onnxtxt
expect 1 "$stepc" convert w.safetensors no.onnx --model other.onnxtxt
has stderr "initializer 'w': it is float[6], but 'w' of w.safetensors is float[2,3]"
has stderr "initializer 'r': w.safetensors has no tensor 'r'"
has stderr "initializer 'c': w.safetensors has no tensor 'c'"
has stderr "'q' float[2,2] fits no initializer of the model by name"
[ ! -e no.onnx ] || fail 'a model is written after an error'
expect 0 "$stepc" convert w.safetensors some.onnx --model other.onnxtxt --partial
has stdout 'set: 1 initializers'
expect 1 "$stepc" convert named.safetensors no.onnx --model float.onnxtxt --partial
has stderr 'none of its 4 tensors has the name of an initializer'

# Usage, and a file that is none.
expect 2 "$stepc" convert w.safetensors out.onnx
has stderr '--model MODEL says which model'
expect 2 "$stepc" convert w.safetensors other.safetensors
expect 2 "$stepc" convert float.onnx out.onnx --model float.onnx
expect 2 "$stepc" convert float.onnx out.txt
head -c 100 w.safetensors >cut.safetensors
expect 1 "$stepc" convert cut.safetensors no.onnx --model float.onnx
has stderr 'cut.safetensors: error:'
