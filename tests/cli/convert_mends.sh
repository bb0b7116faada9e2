#!/usr/bin/env bash
# usage: convert_mends.sh STEPC MAKE_NPY
# convert --sort, --rename and --no-value-info: models of tools that do not keep to the specification.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,3] x, bool c) => (float[2,2] y)
<float[3,2] w = {1,2,3,4,5,6}, float[2,3] k>
{
    y = Relu(b)
    b = If (c) <then_branch = yes () => (float[2,2] p) { p = Neg(q) q = Identity(h) },
                else_branch = no () => (float[2,2] n) { n = Identity(h) }>
    h = MatMul(k, w)
    k = Identity(x)
}
MODEL
expect 1 "$stepc" check net.onnxtxt --set c=true
[ "$(grep -c 'must be sorted' stderr)" -eq 1 ] || fail 'not one message'
has stderr 'stepc convert --sort does it'
expect 0 "$stepc" convert net.onnxtxt sorted.onnxtxt --sort
expect 0 "$stepc" check sorted.onnxtxt --set c=true
# what is sorted stays as it is
expect 0 "$stepc" convert sorted.onnxtxt again.onnxtxt --sort
same sorted.onnxtxt again.onnxtxt
sed 's/k = Identity(x)/k = Add(x, l) l = Neg(k)/' net.onnxtxt >cycle.onnxtxt
expect 1 "$stepc" convert cycle.onnxtxt no.onnx --sort
has stderr 'there is no order'

sed 's/float\[2,3\] k>/float[3,2] k>/' net.onnxtxt >wrong.onnxtxt
expect 0 "$stepc" convert wrong.onnxtxt declared.onnxtxt --sort
expect 0 "$stepc" check declared.onnxtxt --set c=true
has stderr "warning: value 'k' is declared with shape [3,2], but has [2,3]; what the operators give counts (stepc convert --no-value-info"
expect 0 "$stepc" convert wrong.onnxtxt plain.onnxtxt --sort --no-value-info
expect 0 "$stepc" check plain.onnxtxt --set c=true

# Names, also where training refers to them.
expect 0 "$stepc" prepare sorted.onnxtxt -o train.onnx --loss mse --set c=false
expect 0 "$stepc" convert train.onnx named.onnxtxt --rename 'w*=net.weight*' --rename x=image
has named.onnxtxt '"net.weight"'
lacks named.onnxtxt ' w '
expect 0 "$stepc" check named.onnxtxt
printf '1 2 3 4 5 6' | "$make_npy" f4 2 3 >x.npy
printf '1 2 3 4' | "$make_npy" f4 2 2 >t.npy
expect 0 "$stepc" run train.onnx --feed x=x.npy --feed target=t.npy --steps 3
mv stdout wanted
expect 0 "$stepc" run named.onnxtxt --feed image=x.npy --feed target=t.npy --steps 3
same stdout wanted
# Lists of names in the metadata keep in step; what they say still counts.
cat >listed.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", metadata_props: ["stepc.parameters": "net.a.weight
net.gone", "stepc.frozen": "net.b.weight", "stepc.buffers": "net.c", "stepc.detached": "net.h", "stepc.frozen_statistics": "net.m", "other": "net.a.weight"]>
net (float[2,3] x) => (float[2,2] y)
<float[3,2] "net.a.weight" = {1,2,3,4,5,6}, float[3,3] "net.b.weight" = {1,2,3,4,5,6,7,8,9}, float[2] "net.c" = {1,2}>
{
    "net.h" = MatMul(x, "net.b.weight")
    z = MatMul("net.h", "net.a.weight")
    y = Add(z, "net.c")
}
MODEL
expect 0 "$stepc" convert listed.onnxtxt renamed.onnxtxt --rename 'net.*=model.*'
sed 's/"other" : "net.a.weight"//' renamed.onnxtxt >rest.onnxtxt
lacks rest.onnxtxt 'net.'
has renamed.onnxtxt '"stepc.parameters" : "model.a.weight'
has renamed.onnxtxt 'model.gone"'
has renamed.onnxtxt '"other" : "net.a.weight"'
expect 0 "$stepc" prepare renamed.onnxtxt -o renamed_train.onnx --loss mse
has stdout 'model.a.weight'
has stdout "detached: no gradient flows through 'model.h'"
expect 1 "$stepc" convert train.onnx no.onnx --rename w=x
has stderr "--rename: two tensors would be called 'x'"
expect 1 "$stepc" convert train.onnx no.onnx --rename v=u
has stderr '--rename v=u: no tensor has such a name'
expect 2 "$stepc" convert train.onnx w.safetensors --sort
has stderr '--sort is for models'

# Lists of names in the metadata go along: what is frozen, a buffer or detached stays so, and strip finds what prepare has listed.
cat >kept.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", metadata_props: ["stepc.parameters": "out.weight",
 "stepc.frozen": "fc.weight", "stepc.buffers": "mix", "stepc.detached": "h", "other": "mix"]>
net (float[2,2] x) => (float[2,2] y)
<float[2,2] "fc.weight" = {1,2,3,4}, float[2,2] "out.weight" = {2,1,1,3}, float[2,2] mix = {1,2,1,2}>
{
    h = MatMul(x, "fc.weight")
    m = Mul(h, mix)
    y = MatMul(m, "out.weight")
}
MODEL
expect 0 "$stepc" convert kept.onnxtxt renamed.onnxtxt --rename '*=net.*'
has renamed.onnxtxt '"other" : "mix"'
expect 0 "$stepc" prepare renamed.onnxtxt -o train.onnxtxt --loss mse --output net.y --ema 0.5
has stdout 'not net.fc.weight float[2,2]: frozen in the network'
has stdout "not net.mix float[2,2]: a buffer, says the file's metadata"
has stdout "no gradient flows through 'net.h'"
has stdout 'trained: 1 tensor'
expect 0 "$stepc" convert train.onnxtxt again.onnx --rename 'net.*=*'
expect 0 "$stepc" strip again.onnx -o stripped.onnxtxt
has stripped.onnxtxt '(float[2,2] x) =>'
