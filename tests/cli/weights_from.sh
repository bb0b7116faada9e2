#!/usr/bin/env bash
# usage: weights_from.sh STEPC MAKE_NPY
# --weights-from: weights that are inputs of the graph get their values from a file.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >full.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,4] x) => (float[n,3] y)
<float[3,4] "fc1.weight" = {1,2,3,4,5,6,7,8,9,10,11,12}, float[3] "fc1.bias" = {0.5,0.25,0.125}>
{
    y = Gemm<transB = 1>(x, "fc1.weight", "fc1.bias")
}
MODEL
cat >bare.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,4] x, float[3,4] "fc1.weight", float[k] "fc1.bias") => (float[n,3] y)
{
    y = Gemm<transB = 1>(x, "fc1.weight", "fc1.bias")
}
MODEL
expect 0 "$stepc" convert full.onnxtxt full.safetensors
expect 1 "$stepc" prepare bare.onnxtxt -o no.onnx --loss mse
expect 0 "$stepc" prepare full.onnxtxt -o full.onnx --loss mse
expect 0 "$stepc" prepare bare.onnxtxt -o bare.onnx --loss mse --weights-from full.safetensors
has stdout "2 inputs become weights of full.safetensors: 'fc1.weight' and 'fc1.bias'"
has stdout 'trained: 2 tensors, 15 elements'
printf '1 2 3 4  2 1 0 1' | "$make_npy" f4 2 4 >x.npy
printf '1 2 3  0 0 1' | "$make_npy" f4 2 3 >t.npy
expect 0 "$stepc" run full.onnx --feed x=x.npy --feed target=t.npy --steps 3
mv stdout wanted
expect 0 "$stepc" run bare.onnx --feed x=x.npy --feed target=t.npy --steps 3
same stdout wanted
expect 0 "$stepc" strip bare.onnx -o stripped.onnx
has stdout 'weights in the place of inputs'
expect 0 "$stepc" compile bare.onnxtxt -o net.c --dim n=2 --loss mse --weights-from full.safetensors --depfile net.d
has net.d full.safetensors

# In files of old, which have every initializer among the inputs, they stay there; from version 4 on the graph asks for what has no value.
for version in 3 4 5; do
    sed "s/ir_version: 8/ir_version: $version/" bare.onnxtxt >old.onnxtxt
    expect 0 "$stepc" prepare old.onnxtxt -o old.onnx --loss mse --weights-from full.safetensors
    expect 0 "$stepc" convert old.onnx old_now.onnxtxt
    grep -o '^net (.*) =>' old_now.onnxtxt >asks
    case $version in 3) has asks 'float[k] "fc1.bias"' ;; *) lacks asks fc1 ;; esac
    expect 0 "$stepc" run old.onnx --feed x=x.npy --feed target=t.npy --steps 3
    same stdout wanted
done

# what torch.export makes of the names; a matrix that only fits transposed
sed 's/"fc1.weight"/p_fc1_weight/g; s/"fc1.bias"/p_fc1_bias/g; s/\[3,4\] p/[4,3] p/; s/<transB = 1>//' bare.onnxtxt >traced.onnxtxt
expect 0 "$stepc" prepare traced.onnxtxt -o traced.onnx --loss mse --weights-from full.safetensors
expect 0 "$stepc" run traced.onnx --feed x=x.npy --feed target=t.npy --steps 3
same stdout wanted

sed 's/\[3,4\]/[3,5]/; s/n,4/n,5/' bare.onnxtxt >wrong.onnxtxt
expect 1 "$stepc" prepare wrong.onnxtxt -o no.onnx --loss mse --weights-from full.safetensors
has stderr "input 'fc1.weight' has shape [3,5], but the tensor has [3,4]"
sed 's/fc1/fc2/g' bare.onnxtxt >other.onnxtxt
expect 1 "$stepc" prepare other.onnxtxt -o no.onnx --loss mse --weights-from full.safetensors
has stderr '--weights-from full.safetensors: none of its 2 tensors has the name of an input'
