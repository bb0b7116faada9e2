#!/usr/bin/env bash
# usage: prepare_agrees.sh STEPC MAKE_NPY
# prepare, check and compile say the same: what prepare writes is right, what compile will refuse is said at once, and sizes follow from
# shape inference.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The loss goes out of the main graph with all that only a Gradient's y names.
cat >pinn.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
pinn (float[4,1] x) => (float[4,1] u, float loss)
<float[4,1] w1 = {0.5,-0.3,0.2,0.1}, float[4] b1 = {0,0.1,0.2,0.3}, float[1,4] w2 = {1,2,-1,0.5}>
{
    s1 = Gemm<transB = 1>(x, w1, b1)
    h = Tanh(s1)
    u = Gemm<transB = 1>(h, w2)
    us = ReduceSum<keepdims = 0>(u)
    ux = ai.onnx.preview.training.Gradient<xs = ["x"], y = "us">(x)
    r = Add(ux, u)
    rr = Mul(r, r)
    loss = ReduceMean<keepdims = 0>(rr)
}
MODEL
expect 0 "$stepc" prepare pinn.onnxtxt -o pinn.onnx --loss output --output loss --learning-rate 0.1
expect 0 "$stepc" check pinn.onnx
printf '1 2 3 4' | "$make_npy" f4 4 1 >x.npy
for engine in interpreted generated; do
    expect 0 "$stepc" run pinn.onnx --engine "$engine" --feed x=x.npy --steps 20
    awk 'NR == 1 { first = $NF } END { exit !($NF < 0.5 * first) }' stdout || fail "$engine learns nothing"
done

# All of a network that is seen through its derivative alone is trained.
sed -e 's/Add(ux, u)/Identity(ux)/' pinn.onnxtxt >slope.onnxtxt
expect 0 "$stepc" prepare slope.onnxtxt -o slope.onnx --loss output --output loss
has stdout 'w1'
expect 0 "$stepc" inspect slope.onnx
has stdout 'trains     12 parameters in 3 tensors'

# The only output is the loss: 'loss' is what a step minimizes, in all entries.
cat >own.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,2] x) => (float loss)
<float[2] scale = {1,1}, float[2] shift = {0,0}, float[2] mean = {3,3}, float[2] var = {4,4}>
{
    b = BatchNormalization(x, scale, shift, mean, var)
    bb = Mul(b, b)
    loss = ReduceMean<keepdims = 0>(bb)
}
MODEL
for entries in '' --evaluate '--accumulate 2' '--split --evaluate'; do
    # shellcheck disable=SC2086
    expect 0 "$stepc" prepare own.onnxtxt -o own.onnx --loss output $entries
    has stdout "infer() calls its own 'inference_loss'"
    expect 0 "$stepc" check own.onnx
    expect 0 "$stepc" compile own.onnx -o own.c
    has own.h 'float *loss; /* scalar */'
    lacks own.h '*train_loss' # kernels may be called so
done
expect 0 "$stepc" prepare own.onnxtxt -o own.onnx --loss output
printf '1 2  3 5  2 2  0 1' | "$make_npy" f4 4 2 >x.npy
expect 0 "$stepc" run own.onnx --feed x=x.npy --steps 1 --fetch loss=loss.npy --fetch inference_loss=stored.npy
differ loss.npy stored.npy

# The same of one that has no training form, so that entries that add up take the loss as infer() has it.
cat >plain.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,2] x) => (float loss)
<float[2] scale = {1,2}>
{
    b = Mul(x, scale)
    bb = Mul(b, b)
    loss = ReduceMean<keepdims = 0>(bb)
}
MODEL
expect 0 "$stepc" prepare plain.onnxtxt -o plain.onnx --loss output
expect 0 "$stepc" run plain.onnx --feed x=x.npy --steps 3 --arithmetic same
sed 's/.* loss //' stdout >wanted
for entries in --split '--split --evaluate' '--split --ema 0.5'; do
    # shellcheck disable=SC2086
    expect 0 "$stepc" prepare plain.onnxtxt -o plain.onnx --loss output $entries
    has stdout "infer() calls its own 'inference_loss'"
    expect 0 "$stepc" compile plain.onnx -o plain.c
    expect 0 "$stepc" run plain.onnx --feed x=x.npy --steps 3 --arithmetic same --shape x=4x2
    sed 's/.*apply.loss //' stdout >got
    same got wanted
done

# A tensor that is called 'loss' and is none keeps its name; a step's loss takes another one.
cat >named.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,2] x) => (float[4,2] y, float total)
<float[2,2] w = {1,2,3,-1}>
{
    loss = MatMul(x, w)
    y = Tanh(loss)
    total = ReduceMean<keepdims = 0>(y)
}
MODEL
for options in '--loss mse' '--loss mse --split --evaluate' '--loss mse --accumulate 2' '--loss output --output total --evaluate' \
    '--loss output --output total --split'; do
    # shellcheck disable=SC2086
    expect 0 "$stepc" prepare named.onnxtxt -o named.onnx $options
    has stdout "what a step minimizes is called 'loss_2': the model has a tensor 'loss'"
    expect 0 "$stepc" compile named.onnx -o named.c
    has named.h 'float *loss_2; /* scalar */'
done

# Before opset 13 a Softmax runs over all axes from axis 1 on: over the classes alone where the others have one element.
cat >pooled.onnxtxt <<'MODEL'
<ir_version: 4, opset_import: ["" : 9]>
net (float[2,3,4,4] x) => (float[2,5,1,1] y) <float[5,3,1,1] w = {1,2,3,-1,-2,-3,1,0,1,0,1,0,1,1,1}>
{
    c = Conv(x, w)
    g = GlobalAveragePool(c)
    y = Softmax(g)
}
MODEL
expect 0 "$stepc" prepare pooled.onnxtxt -o pooled.onnx --loss softmax-cross-entropy
has stdout "the final Softmax 'y' is bypassed: the loss reads 'g'"
sed 's/float\[2,5,1,1\] y/float[2,5,4,4] y/; /GlobalAverage/d; s/Softmax(g)/Softmax(c)/' pooled.onnxtxt >spread.onnxtxt
expect 0 "$stepc" prepare spread.onnxtxt -o spread.onnx --loss softmax-cross-entropy
has stdout 'does not run over the class axis alone'

# Exporters make up symbols for sizes that follow from the inputs'.
cat >dims.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,1,9] x) => (float[Conv_dim_0,3,Conv_dim_2] y) <float[3,1,3] w = {1,2,3,4,5,6,7,8,9}>
{
    y = Conv<strides = [2]>(x, w)
}
MODEL
expect 0 "$stepc" prepare dims.onnxtxt -o dims.onnx --loss softmax-cross-entropy
has stdout "new input 'target': int64[2,4]"
expect 0 "$stepc" compile dims.onnx -o dims.c
sed 's/float\[2,1,9\]/float[n,1,l]/' dims.onnxtxt >symbols.onnxtxt
for entries in '' --split; do
    # shellcheck disable=SC2086
    expect 0 "$stepc" prepare symbols.onnxtxt -o symbols.onnx --loss softmax-cross-entropy $entries
    expect 0 "$stepc" compile symbols.onnx -o symbols.c --dim n=2 --dim l=11 --dim infer:n=1
    has symbols.h 'target; /* [2,5]'
    expect 1 "$stepc" compile symbols.onnx -o symbols.c --dim n=2 --dim l=11 --dim Conv_dim_2=4
    has stderr "--dim Conv_dim_2=4: it is dimension 2 of 'y', which has size 5"
done

# check assumes sizes, says so, and does not judge by them.
cat >pools.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
m (float[n,1,h,8] x) => (float[n,1,p,2] y)
{
    a = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x)
    y = MaxPool<kernel_shape = [2,2], strides = [2,2]>(a)
}
MODEL
expect 0 "$stepc" check pools.onnxtxt
has stdout 'assumed to be 32: n, h'
expect 0 "$stepc" check pools.onnxtxt --dim infer:n=1
has stdout 'assumed to be 32: h'
expect 0 "$stepc" check pools.onnxtxt --shape x=2x1x8x8
lacks stdout assumed
sed 's/float\[n,1,h,8\] x/float[n,1,hn,8] x/' pools.onnxtxt >endings.onnxtxt
expect 0 "$stepc" check endings.onnxtxt --dim hn=8
has stdout 'assumed to be 2: n'
expect 0 "$stepc" check endings.onnxtxt --dim n=1
has stdout ': hn'
sed 's/float\[n,1,p,2\] y/float[n,1,p,5] y/' pools.onnxtxt >wrong.onnxtxt
expect 1 "$stepc" check wrong.onnxtxt --dim n=1 --dim h=8
sed 's/y = MaxPool.*/s = Constant<value_ints = [7,7]>()  y = Reshape(a, s)/; s/float\[n,1,p,2\] y/float[7,7] y/' pools.onnxtxt >unknown.onnxtxt
expect 0 "$stepc" check unknown.onnxtxt
has stderr 'not judged with sizes, since n, h is not given'
has stdout 'ok as far as can be told without sizes'

# Sizes of an algorithm follow from the outputs of the main graph, and from nothing else.
cat >algorithm.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (float[2,3] x) => (float[INNER,4] y)
<float[3,4] w = {1,2,3,4,5,6,7,8,9,1,2,3}>
{
    y = MatMul(x, w)
}
@training_info {
    algorithm: learn (float[rows,4] t, float[2,THIRD] u) => (float[3,4] w_new)
    {
        d = Sub(y, t)
        q = Mul(d, d)
        loss = ReduceSum<keepdims = 0>(q)
        s = ReduceSum<keepdims = 0>(u)
        g = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t)
        k = Mul(g, s)
        w_new = Sub(w, k)
    }
    update_binding: ["w" : "w_new"]
}
MODEL
sed 's/INNER/rows/; s/THIRD/third/' algorithm.onnxtxt >learn.onnxtxt
expect 0 "$stepc" check learn.onnxtxt
has stdout ': third'
lacks stdout rows
sed 's/INNER/2/; s/THIRD/third/' algorithm.onnxtxt >learn.onnxtxt
expect 0 "$stepc" check learn.onnxtxt
has stdout ': rows, third'
sed 's/INNER/?/; s/THIRD/?/' algorithm.onnxtxt >learn.onnxtxt
expect 0 "$stepc" check learn.onnxtxt
has stdout ': rows, u[1]'

# What compile will refuse.
cat >missing.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
net (float[2,3] x) => (float[2,3] y) <float[3] w = {1,2,3}>
{
    a = Mul(x, w)
    b = own.Fold(a)
    ["second"] c = own.Fold(b)
    y = Celu(c)
}
MODEL
expect 0 "$stepc" prepare missing.onnxtxt -o missing.onnx --loss mse
has stderr "stepc compile will refuse this model: operator Fold of domain 'own' is not supported: nodes 'b' and 'second'"
[ "$(grep -c refuse stderr)" -eq 1 ] || fail 'an operator is named more than once'
expect 1 "$stepc" compile missing.onnx -o missing.c
