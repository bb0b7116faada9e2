#!/usr/bin/env bash
# usage: prepare_trains.sh STEPC MAKE_NPY
# What is trained by default is what the framework would train: parameters wherever they stand, no buffers, nothing that the exporter
# made up. Files as PyTorch's exporter writes them.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# trains MODEL NAME...: exactly these, with the options in $options
options=()
trains() {
    local model=$1
    shift
    expect 0 "$stepc" prepare "$model" -o train.onnx "${options[@]}"
    printf '%s\n' "$@" | sort >wanted
    awk '/^trained:/ {inside = 1; next} /^  not / || !/^  / {inside = 0} inside {print $1}' stdout | sort >got
    diff wanted got || fail "wrong tensors are trained in $model"
}

# Class token, positions, layer scale, a temperature, normalization by hand; beside them a mask and a table of sines.
cat >vit.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[2,4,3] x) => (float[2,5,3] y)
<float[1,1,3] cls = {0,0,0}, float[1,5,3] pos = {0.1,-0.2,0.3,0.2,0.1,-0.1,-0.3,0.2,0.1,0.1,0.1,0.2,0.4,-0.2,0.3},
 float[3] gamma = {0.1,0.1,0.1}, float logit_scale = {2.65}, float[1,5,3] "posenc.pe" = {0,1,0, 0.84147098,0.54030231,0.0099998333,
 0.90929743,-0.41614684,0.0199986667, 0.14112001,-0.9899925,0.0299955, -0.7568025,-0.65364362,0.0399893},
 float[5,3] attn_mask = {0,-1e9,0,0,0,-1e9,0,0,0,0,0,-1e9,0,0,0}, float[3] "norm.weight" = {1,1,1}, float[3] "norm.bias" = {0,0,0},
 int64[3] shape = {2,1,3}>
{
    tokens = Expand(cls, shape)
    all = Concat<axis = 1>(tokens, x)
    placed = Add(all, pos)
    sines = Add(placed, "posenc.pe")
    s = Mul(gamma, sines)
    squares = Mul(s, s)
    mean = ReduceMean<axes = [-1]>(squares)
    root = Sqrt(mean)
    one = Constant<value = float {1}>()
    r = Div(one, root)
    n = Mul(s, r)
    scaled = Mul("norm.weight", n)
    shifted = Add(scaled, "norm.bias")
    masked = Add(shifted, attn_mask)
    t = Exp(logit_scale)
    y = Mul(masked, t)
}
MODEL
options=(--loss mse)
trains vit.onnxtxt cls pos gamma logit_scale norm.weight norm.bias
has stdout 'not posenc.pe float[1,5,3]: sines, at Add'
has stdout '--train posenc.pe trains it'
has stdout 'not attn_mask float[5,3]: a mask'
head -n 1 stdout | grep -q 'NOT TRAINED' || fail 'what is left out does not stand first'
expect 0 "$stepc" check --training vit.onnxtxt
has stdout "'attn_mask' float[5,3] is not trained"
has stdout "'posenc.pe' float[1,5,3] is not trained"

# GroupNorm as it is exported: the ones and zeros of the InstanceNormalization are the exporter's, not even '*' trains them.
# PReLU, weight norm, the input's mean and deviation, a second bias.
cat >norms.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[1,4,2] x) => (float[1,3] y)
<float[4,1] mean = {0.485,0.456,0.406,0.4}, float[4,1] std = {0.229,0.224,0.225,0.22}, float[4] "gn.weight" = {1,1,1,1},
 float[4] "gn.bias" = {0,0,0,0}, float[4] "act.weight" = {0.25,0.25,0.25,0.25}, float[3,1] weight_g = {1.1,1.2,1.3},
 float[3,8] weight_v = {0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8, 0.3,-0.2,0.3,0.1,0.5,0.6,0.2,0.8, 0.1,-0.2,-0.3,0.4,0.1,0.6,-0.7,0.9},
 float[3] "fc.bias" = {0,0,0}, float[3] log_prior = {-0.5,-1.7,-1.2}, int64[3] groups = {0,2,-1}, int64[1] ax = {1},
 int64[3] back = {1,4,2}>
{
    centered = Sub(x, mean)
    normal = Div(centered, std)
    grouped = Reshape(normal, groups)
    ones = Constant<value = float[2] {1,1}>()
    zeros = Constant<value = float[2] {0,0}>()
    i = InstanceNormalization(grouped, ones, zeros)
    o = Reshape(i, back)
    w = Unsqueeze("gn.weight", ax)
    b = Unsqueeze("gn.bias", ax)
    m = Mul(o, w)
    a = Add(m, b)
    slope = Unsqueeze("act.weight", ax)
    p = PRelu(a, slope)
    flat = Flatten(p)
    norm = ReduceL2<axes = [1]>(weight_v)
    direction = Div(weight_v, norm)
    weight = Mul(direction, weight_g)
    h = Gemm<transB = 1>(flat, weight, "fc.bias")
    y = Add(h, log_prior)
}
MODEL
sed 's/ones = Constant.*//; s/zeros = Constant.*//; s/ones, zeros/"onnx::InstanceNormalization_7", "onnx::InstanceNormalization_8"/
     s/int64\[1\] ax/float[2] "onnx::InstanceNormalization_7" = {1,1}, float[2] "onnx::InstanceNormalization_8" = {0,0}, int64[1] ax/' \
    norms.onnxtxt >filled.onnxtxt
trains filled.onnxtxt gn.weight gn.bias act.weight weight_g weight_v fc.bias
trains norms.onnxtxt gn.weight gn.bias act.weight weight_g weight_v fc.bias
has stdout 'not mean float[4,1]: normalizes the input'
has stdout 'not std float[4,1]: normalizes the input'
has stdout 'not log_prior float[3]: a second bias'
has stdout 'gn.weight float[4]: scale of Mul'
lacks stdout 'not ones'
options=(--loss mse --train '*')
expect 0 "$stepc" prepare norms.onnxtxt -o train.onnx "${options[@]}"
lacks stdout "'ones' becomes"

# A buffer that is added like a bias: logarithms of shares. With other elements it is one, if the layer has none.
cat >prior.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[2,3] x) => (float[2,3] y)
<float[3,3] "fc.weight" = {0.1,0.2,0.3,-0.4,0.5,0.6,0.7,-0.8,0.9}, float[3] "fc.bias" = {0,0.1,0.2},
 float[3] log_prior = {-0.693147181,-1.203972804,-1.609437912}>
{
    z = Gemm<transB = 1>(x, "fc.weight", "fc.bias")
    y = Add(z, log_prior)
}
MODEL
options=(--loss mse)
trains prior.onnxtxt fc.weight fc.bias
has stdout 'not log_prior float[3]: shares of a whole, at Add'
sed 's/, "fc.bias")/)/; s/-1.609437912/-1.709437912/; s/log_prior/offset/g' prior.onnxtxt >bias.onnxtxt
trains bias.onnxtxt fc.weight offset

# Lists of names: of a module inside of another, with names that the exporter changed, and with the metadata of examples/pytorch/export.py.
cat >listed.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[2,3] x) => (float[2,3] y)
<float[3,3] "onnx::MatMul_7" = {0.1,0.2,0.3,-0.4,0.5,0.6,0.7,-0.8,0.9}, float[3] "net.fc.bias" = {0.1,0,0.2}, float[3] "net.table" = {0.3,0.1,0.7},
 float[3] "net.gate" = {0.5,0.5,0.5}>
{
    h = MatMul(x, "onnx::MatMul_7")
    z = Add(h, "net.fc.bias")
    t = Mul(z, "net.table")
    y = Mul(t, "net.gate")
}
MODEL
options=(--loss mse)
trains listed.onnxtxt onnx::MatMul_7 net.fc.bias net.table net.gate
has stdout "note: 'net.table' is trained as a parameter: if it is a buffer"
printf '# parameters\nfc.weight\nfc.bias\r\n\n gate\n' >names.txt
options=(--loss mse --train @names.txt)
trains listed.onnxtxt onnx::MatMul_7 net.fc.bias net.gate
has stdout "--train @names.txt: the exporter has renamed or folded 'fc.weight'; trained in their place: 'onnx::MatMul_7'"
printf 'fc.bias\ngate\n' >names.txt
trains listed.onnxtxt net.fc.bias net.gate
printf 'table\nrunning_mean\n' >buffers.txt
options=(--loss mse --freeze @buffers.txt --depfile train.d)
trains listed.onnxtxt onnx::MatMul_7 net.fc.bias net.gate
has stdout "--freeze @buffers.txt: the model does not have 'running_mean'"
has train.d buffers.txt
printf 'nothing\n' >names.txt
expect 1 "$stepc" prepare listed.onnxtxt -o train.onnx --loss mse --train @names.txt
has stderr "--train @names.txt: no initializer has any of its 1 names"
expect 1 "$stepc" prepare listed.onnxtxt -o train.onnx --loss mse --train @absent.txt
has stderr absent.txt
sed 's/producer_name: "pytorch"/producer_name: "pytorch", metadata_props: ["stepc.parameters": "net.fc.weight\nnet.fc.bias", "stepc.frozen": "net.gate", "stepc.buffers": "net.table"]/' \
    listed.onnxtxt >said.onnxtxt
options=(--loss mse)
trains said.onnxtxt onnx::MatMul_7 net.fc.bias
has stdout "not net.table float[3]: a buffer, says the file's metadata; --train net.table trains it"
has stdout 'not net.gate float[3]: frozen in the network'
lacks stdout 'note:'
expect 0 "$stepc" prepare said.onnxtxt -o recipe.onnxtxt --loss mse --recipe
for list in parameters frozen buffers; do
    lacks recipe.onnxtxt "stepc.$list"
done

# Equal tensors of a fresh network, merged outside of training form, are apart again; a copy that constant folding made is no parameter of
# its own.
cat >merged.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (int64[4] i) => (float[4,3] y)
<float[3,2] "embedding.weight" = {0.1,-0.2,0.3,0.4,-0.5,0.6}, float[2,3] "onnx::MatMul_7" = {0.1,0.3,-0.5,-0.2,0.4,0.6},
 float[2] "layers.0.scale" = {1,1}, float[2] "layers.0.shift" = {0.3,0.1}, float[3] shared = {0.2,0.1,0.4}>
{
    again = Identity(shared)
    "layers.1.scale" = Identity("layers.0.scale")
    "layers.1.shift" = Identity("layers.0.shift")
    e = Gather("embedding.weight", i)
    a = Mul(e, "layers.0.scale")
    b = Add(a, "layers.0.shift")
    c = Tanh(b)
    d = Mul(c, "layers.1.scale")
    f = Add(d, "layers.1.shift")
    h = MatMul(f, "onnx::MatMul_7")
    g = Mul(h, shared)
    y = Add(g, again)
}
MODEL
trains merged.onnxtxt embedding.weight layers.0.scale layers.0.shift layers.1.scale layers.1.shift shared
has stdout "'onnx::MatMul_7' is 'embedding.weight' transposed: one variable"
has stdout "'again' is 'shared': one parameter under two names"
lacks stderr warning
# So it is where a checkpoint has a name for the copy.
cat >tied.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[3,2] x) => (float[3,2] y)
<float[3,2] "embedding.weight" = {0.1,-0.2,0.3,0.4,-0.5,0.6}, float[3,2] "head.weight" = {0.1,-0.2,0.3,0.4,-0.5,0.6}>
{
    e = Add(x, "embedding.weight")
    y = Add(e, "head.weight")
}
MODEL
expect 0 "$stepc" convert tied.onnxtxt tied.safetensors
options=(--loss mse --names-from tied.safetensors)
trains merged.onnxtxt embedding.weight layers.0.scale layers.0.shift layers.1.scale layers.1.shift shared
options=(--loss mse --untie never --tie never)
trains merged.onnxtxt embedding.weight layers.0.scale layers.0.shift onnx::MatMul_7 shared

# Layers that begin as copies of one (PyTorch's TransformerEncoder) have names of their own: nobody advises to tie them.
cat >copies.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[4,3] x) => (float[4,3] y)
<float[3,3] "layers.0.weight" = {0.1,-0.2,0.3,0.4,-0.5,0.6,0.7,-0.8,0.9}, float[3,3] "layers.1.weight" = {0.1,-0.2,0.3,0.4,-0.5,0.6,0.7,-0.8,0.9},
 float[3,3] "layers.2.weight" = {0.1,-0.2,0.3,0.4,-0.5,0.6,0.7,-0.8,0.9}>
{
    a = MatMul(x, "layers.0.weight")
    b = Tanh(a)
    c = MatMul(b, "layers.1.weight")
    d = Tanh(c)
    y = MatMul(d, "layers.2.weight")
}
MODEL
options=(--loss mse)
trains copies.onnxtxt layers.0.weight layers.1.weight layers.2.weight
lacks stdout tie
lacks stderr tie
expect 0 "$stepc" check --training copies.onnxtxt
lacks stdout content
lacks stdout tie

# A name outweighs elements in equal steps; in files of no framework, elements may be of any kind but a mask.
cat >steps.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[2,6] x) => (float[2,6] y)
<float[6,6] "fc.weight" = {1,2,3,-4,5,6,7,8,-9,1,2,3,4,5,6,7,8,9,1,-2,3,4,5,6,7,8,9,-1,2,3,4,5,6,-7,8,9},
 float[6] scale = {0.5,0.6,0.7,0.8,0.9,1}, float[6] ramp = {0.5,0.6,0.7,0.8,0.9,1}>
{
    h = MatMul(x, "fc.weight")
    a = Mul(h, scale)
    y = Mul(a, ramp)
}
MODEL
trains steps.onnxtxt fc.weight scale
has stdout 'not ramp float[6]: equal steps'
sed 's/, producer_name: "pytorch"//' steps.onnxtxt >plain_steps.onnxtxt
trains plain_steps.onnxtxt fc.weight scale ramp

# The row of zeros of an embedding stays, as nn.Embedding(padding_idx=0) has it; but not where a product reads the table, too.
cat >padding.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (int64[4] i) => (float[4,2] y) <float[4,2] "words.weight" = {0,0,0.3,0.4,-0.5,0.6,0.1,0.2}>
{
    y = Gather("words.weight", i)
}
MODEL
sed 's/= {.*}>/= {0,0, 0,0, 1,2, 3,4, 5,6}>/; s/float\[[0-9]*,2\] "words.weight"/float[5,2] "words.weight"/' padding.onnxtxt >two.onnxtxt
expect 0 "$stepc" prepare two.onnxtxt -o train.onnx --loss mse
has stdout 'words.weight float[5,2]'
lacks stdout 'the padding'
printf '0 1 2 0' | "$make_npy" i8 4 >i.npy
printf '1 1 1 1 1 1 1 1' | "$make_npy" f4 4 2 >target.npy
for engine in interpreted generated; do
    for padding in keep train; do
        expect 0 "$stepc" prepare padding.onnxtxt -o train.onnx --loss mse --learning-rate 1 --padding "$padding" --gradients
        expect 0 "$stepc" run train.onnx --engine "$engine" --feed i=i.npy --feed target=target.npy --steps 1 --fetch words.weight=w.npy \
            --fetch words.weight.gradient=g.npy
        for file in w g; do
            first=$(tail -c 32 "$file.npy" | od -An -v -tx4 | head -n 1)
            case $padding in
            keep) [[ "$first" = ' 00000000 00000000 '* || "$first" = ' 80000000 80000000 '* ]] || fail "the padding is trained: $file $first" ;;
            train) [[ "$first" != ' 00000000 '* ]] || fail "the padding is not trained: $file $first" ;;
            esac
        done
    done
done
expect 0 "$stepc" prepare padding.onnxtxt -o train.onnx --loss mse
has stdout 'but for row 0, the padding'
sed 's/float\[4,2\] y/float[4,4] y/; s/y = Gather/h = Gather/; /^}/i\    t = Transpose("words.weight")  y = MatMul(h, t)' padding.onnxtxt >tied.onnxtxt
expect 0 "$stepc" prepare tied.onnxtxt -o train.onnx --loss mse
lacks stdout 'the padding'

# As tf2onnx writes Keras' LayerNormalization and PReLU: variables are what is read; the epsilon is a constant's operand.
cat >keras.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 13], producer_name: "tf2onnx">
net (float[2,3] x) => (float[2,3] y)
<float[3] "net/norm/mul/ReadVariableOp:0" = {1,1,1}, float[3] "net/norm/ReadVariableOp:0" = {0,0,0}, float "net/norm/add/y:0" = {0.001},
 float[3] "net/p_re_lu/ReadVariableOp:0" = {0.2,0.2,0.2}, float[3] "net/Const_2:0" = {0.5,2,0.7}>
{
    squares = Mul(x, x)
    mean = ReduceMean<axes = [1]>(squares)
    more = Add(mean, "net/norm/add/y:0")
    root = Sqrt(more)
    r = Reciprocal(root)
    m = Mul(r, "net/norm/mul/ReadVariableOp:0")
    scaled = Mul(x, m)
    n = Add(scaled, "net/norm/ReadVariableOp:0")
    up = Relu(n)
    minus = Neg(n)
    down = Relu(minus)
    slope = Neg("net/p_re_lu/ReadVariableOp:0")
    s = Mul(slope, down)
    p = Add(up, s)
    y = Mul(p, "net/Const_2:0")
}
MODEL
options=(--loss mse)
trains keras.onnxtxt net/norm/mul/ReadVariableOp:0 net/norm/ReadVariableOp:0 net/p_re_lu/ReadVariableOp:0
has stdout '--train net/norm/add/y:0 trains it'
lacks stdout 'if one is a buffer'

# A plain export of weight * mask: one tensor without a name.
cat >masked.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
net (float[2,4] x) => (float[2,3] y) <float[4,3] "onnx::MatMul_5" = {0.1,0,0, 0.3,0.2,0, 0.5,-0.1,0.4, 0.2,0.1,0.3}>
{ y = MatMul(x, "onnx::MatMul_5") }
MODEL
trains masked.onnxtxt onnx::MatMul_5
has stdout "many elements of 'onnx::MatMul_5' are exactly 0: if the export has folded a mask into it"
for values in '0,0,0, 0,0,0, 0,0,0, 0,0,0' '0.1,0,0.2, 0.3,0.2,0.5, 0.5,-0.1,0.4, 0.2,0.1,0.3'; do # of zeros only, or one
    sed "s/{0.1,.*0.3}/{$values}/" masked.onnxtxt >unmasked.onnxtxt
    trains unmasked.onnxtxt onnx::MatMul_5
    lacks stdout 'exactly 0'
done
