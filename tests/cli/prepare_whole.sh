#!/usr/bin/env bash
# usage: prepare_whole.sh STEPC MAKE_NPY
# What prepare sees does not depend on where a node stands: in the main graph, in functions of the model, in branches of an If, in
# the body of a loop. Each network is written twice, and both learn alike.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

printf '1 2 3  4 -2 1  0 1 -1  0.5 1 2' | "$make_npy" f4 4 3 >x.npy
printf '0 1 1 0' | "$make_npy" i8 4 >target.npy

# ---- functions: nested, of several domains, with attributes by reference, an overload, an input left out, an opset of their own ----

weights='<float[3,4] w = {0.5,-0.2,0.3,0.1, 0.2,0.6,-0.4,0.7, -0.3,0.2,0.4,-0.6}, float[4] scale = {1,0.5,1.5,1}, float[4] shift = {0,0.1,0,-0.1},
 float[4] mean = {0,0,0.5,0}, float[4] var = {1,2,1,0.5}, float[4,2] head = {0.3,-0.3, 0.4,0.1, -0.2,0.5, 0.6,-0.1}>'
cat >functions.onnxtxt <<MODEL
<ir_version: 10, opset_import: ["" : 18, "blocks" : 1, "layers" : 2]>
net (float[4,3] x) => (float[4,2] y) $weights
{
    [first] h = blocks.block <slope = 0.2> (x, w, scale, shift, mean, var)
    s = MatMul(h, head)
    [scaled] t = layers.scaled(s, "")
    [last] y = layers.ends : soft(t)
}
<domain: "blocks", opset_import: ["" : 18, "layers" : 2]>
block <slope : float = 0.5> (a, w, g, b, m, v) => (c)
{
    p = layers.dense(a, w)
    [norm] n = layers.norm(p, g, b, m, v)
    r = LeakyRelu <alpha : float = @slope> (n)
    c = layers.dropped(r)
}
<domain: "layers", opset_import: ["" : 18]>
dense (a, w) => (p) { p = MatMul(a, w) }
<domain: "layers", opset_import: ["" : 15]>
norm <epsilon : float = 0.001> (a, g, b, m, v) => (n)
{
    n = BatchNormalization <epsilon : float = @epsilon> (a, g, b, m, v)
}
<domain: "layers", opset_import: ["" : 18]>
dropped (a) => (c)
{
    ratio = Constant <value = float {0.25}> ()
    c = Dropout(a, ratio)
}
<domain: "layers", opset_import: ["" : 12]>
scaled (a, low) => (c)
{
    cut = Clip(a, low)
    all = ReduceSum <axes = [1], keepdims = 1> (cut)
    c = Add(a, all)
}
<domain: "layers", overload: "soft", opset_import: ["" : 18]>
ends (a) => (c) { c = Softmax(a) }
MODEL
cat >plain.onnxtxt <<MODEL
<ir_version: 10, opset_import: ["" : 18]>
net (float[4,3] x) => (float[4,2] y) $weights
{
    p = MatMul(x, w)
    n = BatchNormalization <epsilon = 0.001> (p, scale, shift, mean, var)
    r = LeakyRelu <alpha = 0.2> (n)
    ratio = Constant <value = float {0.25}> ()
    h = Dropout(r, ratio)
    s = MatMul(h, head)
    axis = Constant <value = int64[1] {1}> ()
    all = ReduceSum <keepdims = 1> (s, axis)
    t = Add(s, all)
    y = Softmax(t)
}
MODEL
learns_alike functions plain --loss softmax-cross-entropy
has functions.report '3 calls of functions'
has functions.report "final Softmax 'y' is bypassed"
has functions.report '1 BatchNormalization: a step uses the statistics of its batch'
has functions.report '1 Dropout: a step drops'
has functions.report 'trained: 4 tensors'
expect 0 "$stepc" convert functions.onnx functions.out.onnxtxt
has functions.out.onnxtxt '"first.n"' # named after the calls
has functions.out.onnxtxt 'stepc.versions.ReduceSum_' # a form that opset 18 does not have stays a function
lacks functions.out.onnxtxt 'layers'
expect 0 "$stepc" strip functions.onnx -o stripped.onnx
has stdout 'functions as their nodes'

# A call that is wrong is reported as it always was.
sed 's/slope = 0.2/slop = 0.2/' functions.onnxtxt >wrong.onnxtxt
expect 1 "$stepc" compile wrong.onnxtxt -o wrong.c --loss mse
has stderr "unknown attribute 'slop' of function 'block'"

# One Constant of a function is one weight, however often it is called.
cat >shared.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "m" : 1]>
net (float[4,3] x) => (float[4,3] y) <float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}>
{
    [a] h = m.mix(x)
    [b] k = m.mix(h)
    y = MatMul(k, v)
}
<domain: "m", opset_import: ["" : 17]>
mix (x) => (y)
{
    w = Constant <value = float[3,3] {0.5,0.1,0.2, 0,0.6,0.1, 0.3,0,0.7}> ()
    y = MatMul(x, w)
}
MODEL
cat >unshared.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,3] x) => (float[4,3] y)
<float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}, float[3,3] "a.w" = {0.5,0.1,0.2, 0,0.6,0.1, 0.3,0,0.7}>
{
    h = MatMul(x, "a.w")
    k = MatMul(h, "a.w")
    y = MatMul(k, v)
}
MODEL
printf '0 1 1  0 0.5 1  1 1 1  0 2 1' | "$make_npy" f4 4 3 >target.npy
expect 0 "$stepc" check --training shared.onnxtxt
has stdout "constants stand where parameters do: 'a.w', of functions or of graphs inside nodes"
learns_alike shared unshared --loss mse
has shared.report 'trained: 2 tensors'
learns_alike shared unshared --loss mse --train a.w

# ---- branches ----------------------------------------------------------------------------------------------------------------------

body='float[4] scale = {1,0.5,1.5,1}, float[4] shift = {0,0.1,0,-0.1}, float[4] mean = {0,0,0.5,0}, float[4] var = {1,2,1,0.5}, float[4,3] head = {0.3,-0.3,0.4, 0.1,-0.2,0.5, 0.6,-0.1,0.2, 0,0.1,0.3}'
cat >branches.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,3] x) => (float[n,3] y) <$body>
{
    shape = Shape(x)
    rank = Size(shape)
    two = Constant <value_int = 2> ()
    is_matrix = Equal(rank, two)
    [outer] h = If (is_matrix) <
        then_branch = flat () => (float[n,4] q)
            <float[3,4] w = {0.5,-0.2,0.3,0.1, 0.2,0.6,-0.4,0.7, -0.3,0.2,0.4,-0.6}>
        {
            one = Constant <value = int64[1] {1}> ()
            columns = Gather(shape, one)
            four = Constant <value = int64[1] {4}> ()
            are_four = Equal(columns, four)
            p = MatMul(x, w)
            q = If (are_four) <
                then_branch = never () => (float[n,4] m) { m = Identity(p) },
                else_branch = always () => (float[n,4] b) { b = BatchNormalization(p, scale, shift, mean, var) }>
        },
        else_branch = deep () => (float[n,4] q2) { r = MatMul(x, x) q2 = Identity(r) }>
    y = MatMul(h, head)
}
MODEL
cat >taken.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,3] x) => (float[n,3] y)
<float[3,4] w = {0.5,-0.2,0.3,0.1, 0.2,0.6,-0.4,0.7, -0.3,0.2,0.4,-0.6}, $body>
{
    p = MatMul(x, w)
    h = BatchNormalization(p, scale, shift, mean, var)
    y = MatMul(h, head)
}
MODEL
learns_alike branches taken --loss mse
has branches.report '2 Ifs are decided'
lacks branches.report 'these sizes only'
has branches.report 'w float[3,4]: weight of MatMul'
has branches.report '1 BatchNormalization: a step uses the statistics of its batch'

# A branch that depends on an open size stays, whatever sizes preparation tries.
cat >sized.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,3] x) => (float[n,3] y) <float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}>
{
    shape = Shape(x)
    zero = Constant <value_int = 0> ()
    rows = Gather(shape, zero)
    five = Constant <value_int = 5> ()
    few = Less(rows, five)
    h = If (few) <then_branch = t () => (float[n,3] a) { a = Neg(x) }, else_branch = e () => (float[n,3] b) { b = Identity(x) }>
    y = MatMul(h, v)
}
MODEL
sed 's/h = If.*/h = Neg(x)/' sized.onnxtxt >negated.onnxtxt
learns_alike sized negated --loss mse
lacks sized.report decided
expect 0 "$stepc" prepare sized.onnxtxt -o known.onnx --loss mse --dim n=4
has stdout '1 If is decided'
expect 0 "$stepc" convert known.onnx known.onnxtxt
has known.onnxtxt '(float[4,3] x) => (float[4,3] y)' # the size is the model's now
has known.onnxtxt '(float[4,3] target) => '

# ---- loops -------------------------------------------------------------------------------------------------------------------------

cat >loop.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,3] x) => (float[n,3] y)
<float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}, int64 times = {2}, bool yes = {1}>
{
    [first] h = Loop (times, yes, x) <body = one (int64 i, bool c, float[n,3] s) => (bool d, float[n,3] t)
        <float[3,3] w = {0.5,0.1,0.2, 0,0.6,0.1, 0.3,0,0.7}, float[3] b = {0.1,0,-0.1}>
        { p = MatMul(s, w) q = Add(p, b) t = Tanh(q) d = Identity(c) }>
    [second] k = Loop (times, yes, h) <body = two (int64 i2, bool c2, float[n,3] s2) => (bool d2, float[n,3] t2)
        {
            w = Constant <value = float[3,3] {0.2,0.1,0.2, 0.5,0.6,0.1, 0.3,0.8,0.1}> ()
            p2 = MatMul(s2, w)
            t2 = Sigmoid(p2)
            d2 = Identity(c2)
        }>
    y = MatMul(k, v)
}
MODEL
cat >rolled.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[n,3] x) => (float[n,3] y)
<float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}, int64 times = {2}, bool yes = {1},
 float[3,3] "first.w" = {0.5,0.1,0.2, 0,0.6,0.1, 0.3,0,0.7}, float[3] b = {0.1,0,-0.1},
 float[3,3] "second.w" = {0.2,0.1,0.2, 0.5,0.6,0.1, 0.3,0.8,0.1}>
{
    p = MatMul(x, "first.w")
    q = Add(p, b)
    r = Tanh(q)
    p2 = MatMul(r, "first.w")
    q2 = Add(p2, b)
    r2 = Tanh(q2)
    s = MatMul(r2, "second.w")
    t = Sigmoid(s)
    s2 = MatMul(t, "second.w")
    t2 = Sigmoid(s2)
    y = MatMul(t2, v)
}
MODEL
learns_alike loop rolled --loss mse
has loop.report 'b float[3]: bias of Add'
has loop.report "'first.w', 'b' and 'second.w' of graphs inside nodes: the main graph has them"
has loop.report 'trained: 4 tensors'
expect 0 "$stepc" prepare loop.onnxtxt -o one.onnx --loss mse --train second.w
has stdout 'trained: 1 tensor'

# What a body gives out is a weight, too.
cat >given.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,3] x) => (float[4,3] y)
<float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}, float[3] scale = {1,1,1}, float[3] shift = {0,0,0}, float[3] mean = {0,0,0},
 float[3] var = {1,1,1}, int64 times = {2}, bool yes = {1}>
{
    [loop] h, g = Loop (times, yes, x) <body = one (int64 i, bool c, float[4,3] s) => (bool d, float[4,3] t, float[3,3] w)
        <float[3,3] w = {0.5,0.1,0.2, 0,0.6,0.1, 0.3,0,0.7}>
        { p = MatMul(s, w) [norm] t = BatchNormalization(p, scale, shift, mean, var) d = Identity(c) }>
    first = Constant <value_int = 0> ()
    one = Gather(g, first)
    l = MatMul(h, one)
    y = MatMul(l, v)
}
MODEL
learns given --loss mse
has given.report 'loop.w float[3,3]: weight of MatMul'

# ---- what stays is told ------------------------------------------------------------------------------------------------------------

expect 0 "$stepc" prepare given.onnxtxt -o t.onnx --loss mse
has stderr "'norm' (BatchNormalization"
has stderr 'it stands in the body of Loop'
refuses() { # FILE NAME TEXT
    expect 1 "$stepc" prepare "$1" -o t.onnx --loss mse --train "$2"
    has stderr "--train $2: $3"
}
refuses given.onnxtxt w "Identity 'w' in the body of Loop 'loop' computes it"
refuses given.onnxtxt l "MatMul 'l' computes it"
refuses given.onnxtxt x 'it is an input'
refuses given.onnxtxt first 'it is a Constant that is no list or matrix of floats'
refuses given.onnxtxt z 'no initializer has that name'

# The text syntax has no sparse initializers: s = {0, 2, 0, 3}, behind the bytes of the model.
cat >sparse.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,3] x) => (float[4,4] y) <float[3,4] w = {0.5,-0.2,0.3,0.1, 0.2,0.6,-0.4,0.7, -0.3,0.2,0.4,-0.6}>
{
    p = MatMul(x, w)
    y = Mul(p, s)
}
MODEL
expect 0 "$stepc" convert sparse.onnxtxt sparse.onnx
printf '\x3a\x21\x7a\x1f\x0a\x11\x08\x02\x10\x01\x22\x08\x00\x00\x00\x40\x00\x00\x40\x40\x42\x01s\x12\x08\x08\x02\x10\x07\x3a\x02\x01\x03\x18\x04' >>sparse.onnx
expect 0 "$stepc" prepare sparse.onnx -o t.onnx --loss mse
has stdout 'NOT TRAINED, though the loss depends on it'
has stdout 'not s float[4]: sparse initializers are not trained'
expect 0 "$stepc" check --training sparse.onnx
has stdout "'s' float[4] is not trained"
refuses sparse.onnx s 'it is a sparse initializer; a dense one could be trained'

# ---- calls in every place ----------------------------------------------------------------------------------------------------------

# Results that are inputs or constants, results that nobody wants, a branch inside, a graph that the caller gives, a name that is
# taken, a call in the body of a loop.
cat >places.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18, "m" : 1]>
net (float[4,3] x) => (float[4,3] y, float[4,3] same, float[3] k)
<float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}, float[4,3] "a.h" = {0.1,0.2,0, 0.3,0,0.1, 0,0.2,0.1, 0.1,0,0.3}, int64 times = {2}, bool yes = {1}>
{
    [a] h, same, k = m.f <alpha = 0.3, flag = 1> (x, v)
    g, , = m.f <flag = 0> (h, v)
    l = Loop (times, yes, g) <body = one (int64 i, bool c, float[4,3] s) => (bool d, float[4,3] t) { t = m.f(s, v) d = Identity(c) }>
    u = Add(l, "a.h")
    w = m.given <body = b (int64 j, bool c2, float[4,3] s2) => (bool d2, float[4,3] t2) { t2 = Sub(s2, x) d2 = Identity(c2) }> (u)
    y = MatMul(w, v)
}
<domain: "m", opset_import: ["" : 18]>
f <alpha : float = 0.5, flag : int = 1> (x, w) => (y, x, k)
{
    k = Constant <value = float[3] {1,2,3}> ()
    f = Constant <value_int : int = @flag> ()
    c = Cast <to = 9> (f)
    h = MatMul(x, w)
    y = If (c) <
        then_branch = t () => (float[4,3] z)
        {
            z0 = LeakyRelu <alpha : float = @alpha> (h)
            b = Constant <value = float[3] {0.1,0.2,0.3}> ()
            z = Add(z0, b)
        },
        else_branch = e () => (float[4,3] z) { z = Elu <alpha : float = @alpha> (h) }>
}
<domain: "m", opset_import: ["" : 18]>
given <body> (x) => (y)
{
    n = Constant <value_int = 2> ()
    b = Constant <value_int = 1> ()
    c = Cast <to = 9> (b)
    y = Loop <body : graph = @body> (n, c, x)
}
MODEL
cat >spelled.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
net (float[4,3] x) => (float[4,3] y)
<float[3,3] v = {0.1,0.2,0, 0,0.3,0.1, 0.5,0,0.4}, float[4,3] "a.h" = {0.1,0.2,0, 0.3,0,0.1, 0,0.2,0.1, 0.1,0,0.3}, float[3] "a.b" = {0.1,0.2,0.3}>
{
    h0 = MatMul(x, v)
    h1 = LeakyRelu <alpha = 0.3> (h0)
    h = Add(h1, "a.b")
    g0 = MatMul(h, v)
    g = Elu <alpha = 0.5> (g0)
    l0 = MatMul(g, v)
    l1 = LeakyRelu <alpha = 0.5> (l0)
    l2 = Add(l1, "a.b")
    l3 = MatMul(l2, v)
    l4 = LeakyRelu <alpha = 0.5> (l3)
    l = Add(l4, "a.b")
    u = Add(l, "a.h")
    w0 = Sub(u, x)
    w = Sub(w0, x)
    y = MatMul(w, v)
}
MODEL
learns_alike places spelled --loss mse --train v
has places.report '4 calls of functions'

# A function that calls itself stays a call; what is wrong is said as ever.
sed 's/{ z = Elu.*/{ z = m.f(h, w) }>/; s/^<domain: "m", opset_import: \["" : 18\]>/<domain: "m", opset_import: ["" : 18, "m" : 1]>/' places.onnxtxt >circle.onnxtxt
expect 1 "$stepc" prepare circle.onnxtxt -o circle.onnx --loss mse
has stderr "function 'f' calls itself"
