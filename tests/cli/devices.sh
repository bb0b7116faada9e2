#!/usr/bin/env bash
# usage: devices.sh STEPC MAKE_NPY
# Distribution over devices (docs/devices.md): what each command makes of the annotations of a model.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2 ("left", "right")]>
net (float[4,6] x) => (float[4,8] y) <float[6,8] w = {...}>
{
  [fc] h = MatMul (x, w) @pair <stage = 0> (x [0, 1] split (0: 4 in 2), w [-1] groups (-1: [0, 1]))
  [act] y = Relu (h)
}
MODEL
sed -i 's/{\.\.\.}/{1, ...}/' net.onnxtxt

# There and back gives an equal model, in both forms.
expect 0 "$stepc" convert net.onnxtxt a.onnx
expect 0 "$stepc" check a.onnx
expect 0 "$stepc" convert a.onnx b.onnxtxt
has b.onnxtxt 'configuration: ["pair" : 2 ("left", "right")]'
has b.onnxtxt '@pair <stage = 0> (x [0, 1] split (0: 4 in 2), w [-1] groups (-1: [0, 1]))'
expect 0 "$stepc" convert b.onnxtxt c.onnx
same a.onnx c.onnx

# Names that change, change in them.
expect 0 "$stepc" convert net.onnxtxt named.onnxtxt --rename w=weight
has named.onnxtxt 'weight [-1] groups (-1: [0, 1])'
expect 0 "$stepc" check named.onnxtxt
