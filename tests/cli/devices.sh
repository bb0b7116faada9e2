#!/usr/bin/env bash
# usage: devices.sh STEPC MAKE_NPY
# Distribution over devices (docs/devices.md): what each command makes of the annotations of a model.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2 ("left", "right")]>
net (float[4,6] x) => (float[4,8] y) <float[6,8] w = {1, ...}>
{
  [fc] h = MatMul (x, w) @pair <stage = 0> (x [0, 1] split (0: 4 in 2), w [-1] groups (-1: [0, 1]))
  [act] y = Relu (h)
}
MODEL

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

# What follows for all other tensors.
cat >flow.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 17], configuration: ["four" : 4]>
net (float[8,6] x, int64[8] label) => (float loss, float[8] top, float[2,2] r)
<float[6,4] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, float[4] b = {1, 2, 3, 4},
 int64[2] zero = {0, 0}, int64[2] two = {2, 4}, int64[2] one = {0, 1}>
{
  [fc] h = MatMul (x, w) @four (x [0, 1, 2, 3] split (0: 4))
  [bias] i = Add (h, b)
  [soft] p = Softmax (i)
  [mean] loss = SoftmaxCrossEntropyLoss (i, label)
  [top] top = ReduceMax <keepdims = 0, axes = [1]> (p)
  [columns] c = MatMul (x, w) @four (w [-1, -2] groups (-1: [0, 1], -2: [2, 3]) split (1: 2))
  [part] s = Slice (c, zero, two, one)
  [turn] t = Transpose (s)
  [terms] r = MatMul (s, t)
}
MODEL
expect 0 "$stepc" check --devices flow.onnxtxt
cat >wanted <<'TABLE'
infer on the 4 devices of 'four':
  MatMul 'fc': x axis 0 in 4 (0 | 1 | 2 | 3); w whole on 0-3 -> h axis 0 in 4 (0 | 1 | 2 | 3)
  Add 'bias': h axis 0 in 4 (0 | 1 | 2 | 3); b whole on 0-3 -> i axis 0 in 4 (0 | 1 | 2 | 3)
  Softmax 'soft': i axis 0 in 4 (0 | 1 | 2 | 3) -> p axis 0 in 4 (0 | 1 | 2 | 3)
  SoftmaxCrossEntropyLoss 'mean': i axis 0 in 4 (0 | 1 | 2 | 3); label whole on 0-3 -> loss whole on 0-3
  ReduceMax 'top': p axis 0 in 4 (0 | 1 | 2 | 3) -> top axis 0 in 4 (0 | 1 | 2 | 3)
  MatMul 'columns': x whole on 0-3; w axis 1 in 2 (0-1 | 2-3) -> c axis 1 in 2 (0-1 | 2-3)
  Slice 'part': c axis 1 in 2 (0-1 | 2-3) -> s axis 1 in 2 (0-1 | 2-3)
  Transpose 'turn': s axis 1 in 2 (0-1 | 2-3) -> t axis 0 in 2 (0-1 | 2-3)
  MatMul 'terms': s axis 1 in 2 (0-1 | 2-3); t axis 0 in 2 (0-1 | 2-3) -> r whole on 0-3
TABLE
grep -v ": ok" stdout | sed "/ReduceMax\\|Slice/s/; .* ->/ ->/" >table # without axes, starts and ends
same table wanted

# What has to be moved, or falls into parts that differ, is a warning.
warns() { # NAME ANNOTATION OPERATOR TEXT
    cat >"$1.onnxtxt" <<MODEL
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2, "three" : 3]>
net (float[4,6] x) => (float[4,6] y) <int64[1] last = {-1}, int64[1] past = {-9}, int64[1] zero = {0}, int64[1] back = {-1}>
{
  [first] h = Relu (x) $2
  [second] y = $3
}
MODEL
    expect 0 "$stepc" check "$1.onnxtxt"
    has stderr "warning: $4"
}
warns uneven '@three (x [0, 1, 2] split (0: 3))' 'Relu (h)' "sharding of 'x': 4 elements of axis 0 in 3 shards: they are not equally large"
warns moved '@pair (x [0, 1] split (0: 2), h [1, 0] split (0: 2))' 'Relu (h)' \
    "'h' is stated to be axis 0 in 2 (1 | 0), but what its inputs give is axis 0 in 2 (0 | 1): it has to be moved"
warns whole '@pair (x [0, 1] split (1: 2))' 'Softmax (h)' "axis 1 of 'h' is split, but Softmax needs all of it: its parts are collected in front of the node"
warns backwards '@pair (x [0, 1] split (0: 2))' \
    'Slice (h, last, past, zero, back)' "axis 0 of 'h' is split, but Slice needs all of it"
warns ruleless '@pair (x [0, 1] split (0: 2))' 'Trilu (h)' "axis 0 of 'h' is split, but there is no rule for Trilu"
warns doubled '@pair (x [1, 1] split (0: 2))' 'Relu (h)' "sharding of 'x': 1 holds more than one shard"
warns idle '@pair (x [0] groups (-3: [1]))' 'Relu (h)' "sharding of 'x': no entry of device is the group -3"

# Operands broadcast from their last axis.
cat >square.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2]>
net (float[4,4] x, float[4] b) => (float[4,4] y)
{
  y = Add (x, b) @pair (x [0, 1] split (1: 2), b [0, 1] split (0: 2))
}
MODEL
expect 0 "$stepc" check --devices square.onnxtxt
has stdout 'b axis 0 in 2 (0 | 1) -> y axis 1 in 2 (0 | 1)'

# Sizes that nothing binds may be any.
cat >open.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18], configuration: ["three" : 3]>
net (float[N,6] x) => (float[N,6] y)
{
  y = Relu (x) @three (x [0, 1, 2] split (0: N in 3))
}
MODEL
expect 0 "$stepc" check open.onnxtxt
[ ! -s stderr ] || fail 'a size that is assumed was judged'
expect 0 "$stepc" check open.onnxtxt --dim N=7
has stderr '7 elements of axis 0 in 3 shards'

# Data parallel training: prepare writes it, compile says what each device computes, strip takes it out.
model=$source_folder/examples/digits/model.onnx
whole=(--loss softmax-cross-entropy --optimizer adam --split --evaluate)
expect 0 "$stepc" prepare "$model" -o train.onnx "${whole[@]}" --devices 4
has stdout "devices: 4, in configuration 'data_parallel'"
expect 0 "$stepc" check train.onnx --devices
[ ! -s stderr ] || fail 'annotations of prepare are warned of'
has stdout "accumulate on the 4 devices of 'data_parallel':"
has stdout "Gemm 'fc1': x axis 0 in 4 (0 | 1 | 2 | 3); fc1.weight whole on 0-3; fc1.bias whole on 0-3 -> fc1.output axis 0 in 4"
has stdout 'target axis 0 in 4 (0 | 1 | 2 | 3) -> losses whole on 0-3'
has stdout 'fc1.weight.grad_sum whole on 0-3; fc1.weight.gradient whole on 0-3 -> fc1.weight.grad_sum.new whole on 0-3'
has stdout 'fc2.weight.v whole on 0-3; fc2.weight.h whole on 0-3 -> fc2.weight.new whole on 0-3'
expect 0 "$stepc" prepare "$model" -o shards.onnx "${whole[@]}" --devices 2 --shards 3
expect 0 "$stepc" check shards.onnx --devices
[ ! -s stderr ] || fail 'annotations of prepare are warned of'
has stdout 'fc2.weight.v whole on 0-1; fc2.weight.h whole on 0-1 -> fc2.weight.new whole on 1'
expect 0 "$stepc" compile shards.onnx -o shards.c --dim batch=8 --quiet
expect 0 "$stepc" compile train.onnx -o train.c --dim batch=8 --quiet
has train.h "devices  'data_parallel', 4: each calls accumulate() for its own samples"
expect 0 "$stepc" compile train.onnx -o train.c --dim batch=1..8 --quiet # sizes are those of a call
expect 0 "$stepc" compile train.onnx -o alone.c --dim batch=8 --quiet --ignore-devices
lacks alone.h devices
expect 0 "$stepc" strip train.onnx -o again.onnx
has stdout "removed: device configuration 'data_parallel'"
expect 0 "$stepc" prepare "$model" -o plain.onnx "${whole[@]}"
expect 0 "$stepc" strip plain.onnx -o wanted.onnx
same again.onnx wanted.onnx
expect 2 "$stepc" prepare "$model" -o no.onnx --loss softmax-cross-entropy --devices 2
has stderr '--devices goes with --split'
expect 2 "$stepc" prepare "$model" -o no.onnx "${whole[@]}" --devices 3 --batch 8
has stderr "--devices leaves the batch open, so --batch cannot say it: 'stepc compile --dim batch=N' has the samples of a call"
expect 1 "$stepc" prepare "$model" -o no.onnx "${whole[@]}" --devices 2000
has stderr '--devices 2000: at most 1024'

# Annotations that the model has already stay as they are, and have to be right before anything follows.
foreign() { # DEVICES SHARDING
    cat >foreign.onnxtxt <<MODEL
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : $1]>
net (float[N,6] x) => (float[N,8] y) <float[6,8] w = {1, ...}>
{
  [fc] h = MatMul (x, w) @pair <stage = 0> ($2)
  [act] y = Relu (h)
}
MODEL
}
foreign 2 'x [0, 1] split (0: N in 2)'
expect 0 "$stepc" prepare foreign.onnxtxt -o both.onnx --loss mse --split --devices 4
[ ! -s stderr ] || fail 'right annotations are warned of'
expect 0 "$stepc" convert both.onnx both.onnxtxt
has both.onnxtxt '@pair <stage = 0> (x [0, 1] split (0: N in 2))'
has both.onnxtxt '@data_parallel (x [0, 1, 2, 3] split (0: 4), w [-1] groups (-1: [0, 1, 2, 3])'
[ "$(grep -c @pair both.onnxtxt)" -eq 1 ] || fail 'what follows is added to annotations of others'
refuses_foreign() { # DEVICES SHARDING TEXT
    foreign "$1" "$2"
    expect 1 "$stepc" prepare foreign.onnxtxt -o no.onnx --loss mse --split --devices 4
    has stderr "$3"
}
refuses_foreign 2 'x [0, 1000000] split (0: 2)' "sharding of 'x': device 1000000 is none of 0 to 1"
refuses_foreign 2 'x [0, -5] split (0: 2)' "sharding of 'x': device -5 is none of 0 to 1"
refuses_foreign 2 'x [0, 1] split (0: 0)' "sharding of 'x': axis 0 is split into 0 shards"
refuses_foreign -1 '' "device configuration 'pair' has -1 devices"

# Samples that are not apart, another axis, stages, updates in between: refused by name, or left aside.
refuses() { # NAME ANNOTATION TEXT
    cat >"$1.onnxtxt" <<MODEL
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2]>
net (float[4,6] x) => (float[4,8] y) <float[6,8] w = {1, ...}>
{
  [fc] y = MatMul (x, w) @pair $2
}
@training_info {
  algorithm: moves () => (float[6,8] more)
  {
    more = Add (w, w)
  }
  update_binding: ["w" : "more"]
}
MODEL
    expect 1 "$stepc" compile "$1.onnxtxt" -o no.c
    has stderr "error: $3"
    expect 0 "$stepc" compile "$1.onnxtxt" -o yes.c --ignore-devices --quiet
}
refuses stages '<stage = 0> ()' "pipeline_stage 0 of 'pair': stages are not executed (--ignore-devices compiles for one device)"
refuses columns '(w [0, 1] split (1: 2))' "'w' is axis 1 in 2 (0 | 1) on the devices of 'pair': variables are whole on each device that sees samples"
refuses rows '(w [0, 1] split (0: 2))' "'w' is axis 0 in 2 (0 | 1) on the devices of 'pair': variables are whole on each device that sees samples"
refuses order '(x [1, 0] split (0: 2))' "'x' is axis 0 in 2 (1 | 0) on the devices of 'pair': samples can be spread along an axis of each input, in order"
refuses moved '(x [0, 1] split (0: 2), y [-1] groups (-1: [0, 1]))' "'y' is stated to be whole on 0-1, but what its inputs give is axis 0 in 2 (0 | 1): it has to be moved, and nothing but sums is moved"
refuses update '(x [0, 1] split (0: 2))' "step() updates 'w' where it sees samples, so devices cannot add up first"
cat >read.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2]>
net (float[4,6] x) => (float[4,6] y)
{
  a = Relu (x) @pair (x [0, 1] split (0: 2))
  [back] y = Relu (a) @pair (a [1, 0] split (0: 2))
}
MODEL
expect 0 "$stepc" check read.onnxtxt --devices
has stdout 'a axis 0 in 2 (1 | 0) (moved) -> y axis 0 in 2 (1 | 0)'
expect 1 "$stepc" compile read.onnxtxt -o no.c
has stderr "node 'back' (Relu, #1): error: 'a' is read as axis 0 in 2 (1 | 0), but is axis 0 in 2 (0 | 1): it has to be moved"

# What is put together over samples is added up at the end: linear operators may lead there, nothing else goes on with it.
sums() { # STATUS NODES [TEXT]
    cat >sums.onnxtxt <<MODEL
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2]>
net (float[N,6] x) => (float y) <int64[1] first = {0}, float two = {2}>
{
  m = ReduceMean <keepdims = 0> (x, first) @pair (x [0, 1] split (0: 2))
  t = ReduceSum <keepdims = 0> (x, first) @pair (x [0, 1] split (0: 2))
  $2
}
MODEL
    sed -i 's/\(Reduce[A-Za-z0-9]*\) (/\1 <keepdims = 0> (/g' sums.onnxtxt
    expect "$1" "$stepc" compile sums.onnxtxt -o sums.c --dim N=3 --quiet
    if [ "$1" -ne 0 ]; then has stderr "error: $3"; elif [ -s stderr ]; then fail "warned of sums: $2"; fi
}
reads() { # OPERATOR TENSOR
    echo "$1 reads '$2', which is put together over samples: nothing but sums is, and that at the end of an entry"
}
sums 0 'a = Mul (m, two) b = Neg (t) c = Concat <axis = 0> (a, b) shape = Constant <value_ints = [3, 4]> ()
  d = Reshape (c, shape) y = ReduceSum (d)'
sums 0 'count = Size (x) @pair (x [0, 1] split (0: 2)) own = Cast <to = 1> (count) part = Mul (m, own) y = ReduceSum (part)'
sums 0 'a = ReduceSum (m) b = ReduceSum (t) y = Div (a, b)'
sums 0 'a = ReduceL1 (x) @pair (x [0, 1] split (0: 2)) b = Cast <to = 1> (a) y = Identity (b)'
sums 1 'apart = Sub (x, m) @pair (x [0, 1] split (0: 2)) y = ReduceSum (apart)' "$(reads Sub m)"
sums 1 'a = Sub (x, m) y = ReduceSum (a)' "'x' is read whole here and in parts elsewhere"
sums 1 'a = Log (m) y = ReduceSum (a)' "$(reads Log m)"
sums 1 'a = Mul (m, t) y = ReduceSum (a)' "$(reads Mul t)"
sums 1 'a = MatMul (m, t) y = ReduceSum (a)' "$(reads MatMul t)"
sums 1 'a = ReduceSum (m) y = Div (two, a)' "$(reads Div a)"
sums 1 'a = ReduceSum (m) b = Less (a, two) y = Where (b, a, two)' "$(reads Less a)"
loss() { # ATTRIBUTES: a loss, divided by a sum
    echo "label = ArgMax <axis = 1, keepdims = 0> (x) @pair (x [0, 1] split (0: 2))
  l = SoftmaxCrossEntropyLoss <$1> (x, label) @pair (x [0, 1] split (0: 2))
  a = ReduceSum (m) y = Div (l, a)"
}
sums 0 "$(loss 'reduction = "mean"')"
sums 1 "$(loss 'reduction = "mean", ignore_index = 1')" "$(reads Div l)"
sums 0 "$(loss 'reduction = "sum", ignore_index = 1')"
sums 1 'b = ReduceMax (x) @pair (x [0, 1] split (0: 2)) y = Add (b, two)' 'ReduceMax puts samples together otherwise than by a sum'
sums 1 'a = ReduceL2 (x) @pair (x [0, 1] split (0: 2)) y = Add (a, two)' 'ReduceL2 puts samples together otherwise than by a sum'
# A mean is none until it is multiplied by the number of samples: each device would add that of its own.
stores() { # STATUS NODES [TEXT]
    cat >stores.onnxtxt <<MODEL
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2]>
net (float[N,6] x) => (float[N,6] y) { y = Relu (x) @pair (x [0, 1] split (0: 2)) }
@training_info {
  algorithm: adds () => (float more)
  <float v = {0}, int64 zero = {0}, int64 one = {1}, int64[1] one_axis = {0}, int64[2] two_axes = {0, 1}>
  {
    m = ReduceMean <keepdims = 0> (x) @pair (x [0, 1] split (0: 2))
    n = Size (x) @pair (x [0, 1] split (0: 2))
    sizes = Shape (x) @pair (x [0, 1] split (0: 2))
    $2
    more = Add (v, a)
  }
  update_binding: ["v" : "more"]
}
MODEL
    expect "$1" "$stepc" compile stores.onnxtxt -o stores.c --dim N=3 --quiet
    [ "$1" -eq 0 ] || has stderr "error: $3"
}
no_sum="what updates 'v' is no sum over samples, and nothing but sums is put together"
stores 0 't = ReduceSum <keepdims = 0> (x) @pair (x [0, 1] split (0: 2)) a = Neg (t)'
stores 1 'a = Neg (m)' "$no_sum"
stores 0 'f = Cast <to = 1> (n) a = Mul (f, m)'
stores 0 'k = Gather (sizes, zero) f = Cast <to = 1> (k) a = Mul (m, f)'
stores 1 'k = Gather (sizes, one) f = Cast <to = 1> (k) a = Mul (m, f)' "$no_sum" # columns
stores 1 'f = Cast <to = 1> (n) g = Mul (f, m) a = Div (g, f)' "$no_sum"
stores 1 'f = Cast <to = 1> (n) a = Add (f, m)' "$no_sum"

# Nor is a sum with what is none: each device would add that. 0 adds nothing, and a mean is multiplied by the count yet.
t='t = ReduceSum <keepdims = 0> (x) @pair (x [0, 1] split (0: 2))'
f='f = Cast <to = 1> (n)'
more='c = Constant <value_float = 3.0> () yes = Constant <value = bool {1}> ()'
nil='nil = Constant <value_float = 0.0> () no = Constant <value = bool {0}> ()'
stores 1 "$t $more a = Add (t, c)" "$no_sum"
stores 1 "$t $more a = Sub (c, t)" "$no_sum"
stores 1 "$t $more b = Sum (t, t, c) a = Neg (b)" "$no_sum"
stores 1 "$t $more a = Where (yes, t, c)" "$no_sum"
stores 1 "$t $more b = Unsqueeze (t, one_axis) d = Unsqueeze (c, one_axis) e = Concat <axis = 0> (b, d) a = ReduceSum <keepdims = 0> (e)" "$no_sum"
stores 1 "$t $more $f b = Add (f, c) a = Mul (b, m)" "Mul reads 'm', which is put together over samples"
stores 1 "$t $more $f a = Sub (f, c)" "$no_sum"
stores 0 "$t $more $nil a = Where (no, t, nil)"
stores 0 "$t $nil a = Sum (t, nil, t)"
stores 0 "$more $f b = Sub (m, c) a = Mul (b, f)"
stores 1 "$t $more b = Unsqueeze (t, two_axes) d = Unsqueeze (c, two_axes) e = Gemm (d, d, b) a = Squeeze (e)" "$no_sum"
stores 1 "$t $more b = Unsqueeze (t, two_axes) d = Unsqueeze (c, two_axes) e = Gemm (b, d, d) a = Squeeze (e)" "$no_sum"
stores 0 "$t $more b = Unsqueeze (t, two_axes) d = Unsqueeze (c, two_axes) e = Gemm (b, d, b) a = Squeeze (e)"
tall='ones = Constant <value = float[6,6] {1, ...}> ()'
stores 1 "$tall e = Gemm <transA = 1> (x, x, ones) @pair (x [0, 1] split (0: 2)) a = ReduceSum <keepdims = 0> (e)" "$no_sum"
stores 0 "e = Gemm <transA = 1> (x, x) @pair (x [0, 1] split (0: 2)) a = ReduceSum <keepdims = 0> (e)"

# The loss of the model itself weighs as much as it has samples, where it is a mean over them.
own() { # NODES
    cat >own.onnxtxt <<MODEL
<ir_version: 10, opset_import: ["" : 18]>
net (float[N,6] x, float[N,2] t) => (float loss) <float[6,2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float tenth = {0.1}>
{
  y = MatMul (x, w)
  d = Sub (y, t)
  s = Mul (d, d)
  q = ReduceSumSquare <keepdims = 0> (w)
  decay = Mul (q, tenth)
  $1
}
MODEL
}
awk 'BEGIN { for (i = 0; i < 24; i++) print i * 7 % 11 / 5 - 1 }' | "$make_npy" f4 4 6 >own_x.npy
awk 'BEGIN { for (i = 0; i < 8; i++) print i * 3 % 5 / 5 }' | "$make_npy" f4 4 2 >own_t.npy
for loss in 'loss = ReduceMean <keepdims = 0> (s)' 'a = ReduceMean <keepdims = 0> (s) loss = Add (a, decay)'; do
    own "$loss"
    for devices in '' '--devices 2'; do
        # shellcheck disable=SC2086 # options
        expect 0 "$stepc" prepare own.onnxtxt -o own.onnx --loss output --split --learning-rate 0.1 $devices
        [ ! -s stderr ] || fail 'warned of a loss of the model'
        expect 0 "$stepc" run own.onnx --feed x=own_x.npy --feed t=own_t.npy --steps 3
        sed 's/\(loss [0-9]*[.][0-9]\{0,4\}\)[0-9]*/\1/g' stdout >"own${devices// /}.losses"
    done
    same own.losses own--devices2.losses
    expect 0 "$stepc" compile own.onnx -o own.c --dim N=2 --quiet
done
# Entries that the nodes of a loss move to are annotated each for itself.
own 'loss = ReduceMean <keepdims = 0> (s)'
sed -i 's/(float loss)/(float loss, float[N,2] y)/' own.onnxtxt
expect 0 "$stepc" prepare own.onnxtxt -o moved.onnx --loss output --split --evaluate --devices 2
has stdout "infer() does not compute the loss and does not take 't'"
expect 0 "$stepc" check moved.onnx
expect 0 "$stepc" compile moved.onnx -o moved.c --dim N=2 --quiet

own 'loss = ReduceSum <keepdims = 0> (s)'
expect 1 "$stepc" prepare own.onnxtxt -o no.onnx --loss output --split --devices 2
has stderr "(Mul): error: Mul reads 'inference_loss', which is put together over samples"

sed 's/^  //' >ratio.onnxtxt <<'MODEL'
  <ir_version: 10, opset_import: ["" : 18]>
  net (float[N,6] x, float[N] mask) => (float cost) <float[6] w = {1, 2, 3, 4, 5, 6}>
  {
    y = MatMul (x, w)
    own = Mul (y, mask)
    total = ReduceSum <keepdims = 0> (own)
    weight = ReduceSum <keepdims = 0> (mask)
    cost = Div (total, weight)
  }
MODEL
expect 1 "$stepc" prepare ratio.onnxtxt -o ratio.onnx --loss output --output cost --split --devices 2
has stderr "error: $(reads Mul cost)"
has stderr '(without --devices the training is for one device)'

cat >gradient.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18, "ai.onnx.preview.training" : 1], configuration: ["pair" : 2]>
net (float[N,6] x, float[N] mask) => (float cost) <float[6] w = {1, 2, 3, 4, 5, 6}>
{
  y = MatMul (x, w) @pair (x [0, 1] split (0: 2))
  own = Mul (y, mask) @pair (mask [0, 1] split (0: 2))
  total = ReduceSum <keepdims = 0> (own)
  weight = ReduceSum <keepdims = 0> (mask) @pair (mask [0, 1] split (0: 2))
  cost = Div (total, weight)
}
@training_info {
  algorithm: adds () => (float[6] more)
  <float[6] sum = {0, ...}>
  {
    g = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x", "mask"], y = "cost"> (w, x, mask)
    more = Add (sum, g)
  }
  update_binding: ["sum" : "more"]
}
MODEL
expect 1 "$stepc" compile gradient.onnxtxt -o no.c --dim N=2
has stderr "error: $(reads Gradient cost)"
sed 's/y = "cost"/y = "total"/' gradient.onnxtxt >total.onnxtxt
expect 0 "$stepc" compile total.onnxtxt -o total.c --dim N=2 --quiet

# What cannot be followed, and what would have to be moved, is refused by prepare already: with node, operator and reason.
unfollowed() { # NODE TEXT
    cat >unfollowed.onnxtxt <<MODEL
<ir_version: 10, opset_import: ["" : 18]>
net (float[N,6] x) => (float[N,6] y)
<float[6,6] w = {1, ...}, int64 zero = {0}, int64[2] halves = {2, -1}, int64[2] rows = {-1, 6}, int64[2] three = {3, -1}>
{
  h = MatMul (x, w)
  [odd] i = $1
  y = Reshape (i, rows)
}
MODEL
    expect 1 "$stepc" prepare unfollowed.onnxtxt -o no.onnx --loss mse --split --devices 4
    has stderr "node 'odd' ($2"
    has stderr 'its parts are collected in front of the node, and nothing but sums is moved between the devices of'
    [ ! -e no.onnx ] || fail 'what is refused is written'
}
unfollowed 'CumSum (h, zero)' "CumSum, #1): error: axis 0 of 'h' is split, but CumSum needs all of it"
unfollowed 'MeanVarianceNormalization <axes = [0]> (h)' "MeanVarianceNormalization, #1): error: axis 0 of 'h' is split, but there is no rule for MeanVarianceNormalization"
unfollowed 'Reshape (h, three)' "Reshape, #1): error: axis 0 of 'h' is split, but no axis of the result has these parts"

# The batch may be another axis of inputs: steps in front of samples, as recurrent layers have them.
cat >second.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
net (float[5,N,3] x) => (float[N,4] y)
<float[1,16,3] w = {1, ...}, float[1,16,4] r = {1, ...}, int64[1] first = {0}>
{
  all, last = LSTM (x, w, r)
  y = Squeeze (last, first)
}
MODEL
expect 0 "$stepc" prepare second.onnxtxt -o second.onnx --loss softmax-cross-entropy --split --devices 4
[ ! -s stderr ] || fail 'warned of a batch along axis 1'
for size in --dim\ N=3 '--shape x=5x3x3 --shape target=3'; do
    # shellcheck disable=SC2086 # options
    expect 0 "$stepc" compile second.onnx -o second.c $size --quiet
done
has second.h "'data_parallel', 4: each calls accumulate() for its own samples"
expect 0 "$stepc" check second.onnx --devices --dim N=4
has stdout 'LSTM: x axis 1 in 4 (0 | 1 | 2 | 3)'

# Moving averages have an entry with an input that is called as that of the network.
expect 0 "$stepc" prepare "$model" -o average.onnx "${whole[@]}" --ema 0.9 --devices 2
expect 0 "$stepc" compile average.onnx -o average.c --dim batch=2 --quiet

# Labels that are probabilities add up as others do.
expect 0 "$stepc" prepare "$model" -o soft.onnx "${whole[@]}" --target-type float --devices 2
expect 0 "$stepc" compile soft.onnx -o soft.c --dim batch=2 --quiet

# Sizes are those of a call, with one sample too; what runs together is judged with the samples of all.
sed '/^gpt (/s/\[32,/[batch,/g' "$source_folder/examples/recipes/networks/gpt.onnxtxt" >gpt.onnxtxt
expect 0 "$stepc" prepare gpt.onnxtxt -o gpt.onnx --loss softmax-cross-entropy --target next --class-axis -1 --ignore-index -1 \
    --train '*' --split --evaluate --devices 4
for size in --dim\ batch=1 --dim\ batch=3 '--shape letters=1x12 --shape next=1x12'; do
    # shellcheck disable=SC2086 # options
    expect 0 "$stepc" compile gpt.onnx -o gpt.c $size --quiet
    [ ! -s stderr ] || fail "warned of with $size"
done
has gpt.h "'data_parallel', 4: each calls accumulate() for its own samples"
sed 's/float\[N,6\]/float[8,6]/g' foreign.onnxtxt >foreign_fixed.onnxtxt # annotations of somebody else
sed -i 's/"pair" : -1/"pair" : 2/; s/@pair <stage = 0> ()/@pair (x [0, 1] split (0: 2))/' foreign_fixed.onnxtxt
expect 1 "$stepc" compile foreign_fixed.onnxtxt -o no.c
has stderr "error: input 'x' has 8 samples, those of all 2 devices of 'pair', and a call takes those of one"

# A batch that an export has fixed becomes open: what holds it is computed, and the results stay, bit by bit.
cat >fixed.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
net (float[4,6,2] x) => (float[4,3] y)
<float[1,1,2] first = {0.5, -0.5}, int64[3] all_firsts = {4, 1, 2},
 int64[2] rows = {28, 2}, int64[3] steps = {4, -1, 2}, int64[3] even = {4, 7, -1},
 int64[2] flat = {4, -1}, float[1,6,2] w = {1, 2, 3, 4, -5, 6, 1, -2, 3, 4, 5, -6}, float[1,6,2] r = {1, ...},
 float[14,3] dense = {1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7}>
{
  firsts = Expand (first, all_firsts)
  a = Concat <axis = 1> (firsts, x)
  b = Reshape (a, rows)
  c = Tanh (b)
  d = Reshape (c, steps)
  begin = Constant <value = float[4,1,2] {1, 2, 1, 2, 1, 2, 1, 2}> ()
  e = GRU <layout = 1> (d, w, r, , , begin)
  f = Reshape (e, even)
  g = Transpose <perm = [1, 0, 2]> (f)
  h = Transpose <perm = [1, 0, 2]> (g)
  i = Reshape (h, flat)
  y = MatMul (i, dense)
}
MODEL
awk 'BEGIN { for (i = 0; i < 48; i++) print i * 7 % 11 / 5 - 1 }' | "$make_npy" f4 4 6 2 >x.npy
printf '%s\n' 0 2 1 1 | "$make_npy" i8 4 >target.npy
for devices in '' '--devices 2'; do
    # shellcheck disable=SC2086 # options
    expect 0 "$stepc" prepare fixed.onnxtxt -o fixed.onnx --loss softmax-cross-entropy --split --learning-rate 0.01 $devices
    [ ! -s stderr ] || fail 'warned of a batch that is fixed'
    mv stdout said
    expect 0 "$stepc" run fixed.onnx --feed x=x.npy --feed target=target.npy --steps 3
    mv stdout "fixed${devices// /}.losses"
done
same fixed.losses fixed--devices2.losses
has said "batch: open, in the model's example it was 4"
has said "  'firsts' (Expand) held it as a constant"
has said "  'e' (GRU) held it as a constant"
expect 0 "$stepc" compile fixed.onnx -o fixed.c --dim batch=3 --quiet --check
has fixed.h "'data_parallel', 2: each calls accumulate() for its own samples"
sed 's/y = MatMul/own = Mul (i, each) &/; s/(i, dense)/(own, dense)/; s/<float\[1,1,2\] first/<float[4,1] each = {1, 2, 3, 4}, float[1,1,2] first/' \
    fixed.onnxtxt >each.onnxtxt
expect 1 "$stepc" prepare each.onnxtxt -o no.onnx --loss softmax-cross-entropy --split --devices 2
has stderr 'node #11 (Mul)'
has stderr "error: --devices: a constant that it reads cannot be read as a batch: 'each' [4,1] has a part for each of the 4 samples of the export;"
has stderr 'export the network with an open batch (PyTorch: dynamic_axes)'

# Recurrent layers: samples are apart, with either layout, and weights whole.
recurrent() { # INPUT NODES...
    cat >recurrent.onnxtxt <<MODEL
<ir_version: 11, opset_import: ["" : 18]>
net ($1) => (float[N,2] y)
<float[2,20,3] w = {1, ...}, float[2,20,5] r = {1, ...}, float[2,40] b = {1, ...}, float[2,15,3] gw = {1, ...},
 float[2,15,5] gr = {1, ...}, float[2,5,3] rw = {1, ...}, float[2,5,5] rr = {1, ...}, float[5,2] dense = {1, ...},
 int64[1] first = {0}>
{
  $2
  rows = ReduceMean (s, first)
  flat = Squeeze (rows, first)
  y = MatMul (flat, dense)
}
MODEL
    expect 0 "$stepc" prepare recurrent.onnxtxt -o recurrent.onnx --loss mse --split --devices 2
    [ ! -s stderr ] || fail 'warned of a recurrent layer'
    expect 0 "$stepc" compile recurrent.onnx -o recurrent.c --dim N=2 --quiet
    expect 0 "$stepc" check recurrent.onnx --devices
}
recurrent 'float[N,4,3] x' 'steps = Transpose <perm = [1, 0, 2]> (x)
  all, s, c = LSTM <direction = "bidirectional"> (steps, w, r, b)'
has stdout 'all axis 2 in 2 (0 | 1); s axis 1 in 2 (0 | 1); c axis 1 in 2 (0 | 1)'
recurrent 'float[N,4,3] x, int32[N] lengths' 'steps = Transpose <perm = [1, 0, 2]> (x)
  all, s = GRU <direction = "bidirectional"> (steps, gw, gr, , lengths)'
has stdout 'lengths axis 0 in 2 (0 | 1) -> all axis 2 in 2 (0 | 1); s axis 1 in 2 (0 | 1)'
recurrent 'float[N,4,3] x, float[N,2,5] begin' 'all, last = RNN <layout = 1, direction = "bidirectional"> (x, rw, rr, , , begin)
  s = Transpose <perm = [1, 0, 2]> (last)'
has stdout 'begin axis 0 in 2 (0 | 1) -> all axis 0 in 2 (0 | 1); last axis 0 in 2 (0 | 1)'

# Merged axes are split as one of them is: attention as PyTorch exports it has samples with heads, and steps with samples.
cat >attention.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
net (float[N,4,6] x) => (float[N,6] y)
<float[6,6] w = {1, ...}, int64[3] heads = {4, -1, 3}, int64[2] rows = {-1, 6}, int64[3] steps = {4, -1, 6}, int64[1] first = {0}>
{
  t = Transpose <perm = [1, 0, 2]> (x)
  h = Reshape (t, heads)
  q = Transpose <perm = [1, 0, 2]> (h)
  k = Transpose <perm = [1, 2, 0]> (h)
  s = MatMul (q, k)
  p = Softmax <axis = -1> (s)
  v = MatMul (p, q)
  u = Transpose <perm = [1, 0, 2]> (v)
  f = Reshape (u, rows)
  g = Gemm (f, w)
  z = Reshape (g, steps)
  y = ReduceMean <keepdims = 0> (z, first)
}
MODEL
expect 0 "$stepc" prepare attention.onnxtxt -o attention.onnx --loss mse --split --devices 3
[ ! -s stderr ] || fail 'warned of attention'
expect 0 "$stepc" compile attention.onnx -o attention.c --dim N=1 --quiet
has attention.h "'data_parallel', 3: each calls accumulate() for its own samples"
expect 0 "$stepc" check attention.onnx --devices --dim N=6
has stdout "heads whole on 0-2 -> h axis 1 in 3 (0 | 1 | 2)"
has stdout "rows whole on 0-2 -> f axis 0 in 3 within each of 4 runs (0 | 1 | 2)"
has stdout "steps whole on 0-2 -> z axis 1 in 3 (0 | 1 | 2)"
expect 0 "$stepc" convert attention.onnx attention_train.onnxtxt
has attention_train.onnxtxt 'f [0, 1, 2] split (0: [4 in 1, 3])'
sed 's/float\[N,4,6\] x/float[N,S,6] x/; s/{4, -1, 3}/{0, -1, 3}/; s/int64\[3\] steps = {4, -1, 6}/int64[2] rest = {-1, 6}/
    s/z = Reshape/count = Shape <start = 1, end = 2> (x) steps = Concat <axis = 0> (count, rest) &/' attention.onnxtxt >lengths.onnxtxt
expect 0 "$stepc" prepare lengths.onnxtxt -o lengths.onnx --loss mse --split --devices 5 # how many runs there are nobody knows
expect 0 "$stepc" compile lengths.onnx -o lengths.c --dim N=2 --dim S=7 --quiet
[ ! -s stderr ] || fail 'warned of attention over steps of any number'

# Runs are stated by the sizes of what was merged; operands that run along are split alike.
cat >runs.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18], configuration: ["pair" : 2]>
net (float[12] x, float[12] z) => (float[12] y)
{
  [first] h = Relu (x) @pair (x [0, 1] split (0: [3 in 1, 4 in 2]))
  [second] y = Add (h, z) @pair (z [0, 1] split (0: SECOND))
}
MODEL
runs() { # STATUS SPLIT FILE TEXT
    sed "s/SECOND/$2/" runs.onnxtxt >runs_now.onnxtxt
    expect "$1" "$stepc" check --devices runs_now.onnxtxt
    has "$3" "$4"
}
runs 0 '[3 in 1, 2]' stdout 'z axis 0 in 2 within each of 3 runs (0 | 1) -> y axis 0 in 2 within each of 3 runs (0 | 1)'
runs 1 '[2 in 1, 6 in 2]' stderr "axis 0 of 'z' is split within each of 2 runs, but runs along with an axis of 'h' that is split within each of 3"
runs 0 '[1, 2]' stdout 'z not followed -> y not followed'
runs 1 '2' stderr "axis 0 of 'z' is split within each of 1 run, but"

# Configurations of more devices than can be followed; those without a node say nothing.
cat >many.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 18], configuration: ["many" : 1025]>
net (float[N,6] x) => (float[N,6] y)
{
  y = Relu (x) @many (x [0, 1] split (0: 2))
}
MODEL
expect 1 "$stepc" compile many.onnxtxt -o no.c --dim N=2
has stderr "device configuration 'many' has 1025 devices: above 1024 nothing is followed"
sed 's/ @many.*//' many.onnxtxt >idle.onnxtxt
cat >>idle.onnxtxt <<'MODEL'
@training_info {
  algorithm: moves (float[6] by) => (float[6] more)
  <float[6] v = {0, ...}>
  {
    more = Add (by, by)
  }
  update_binding: ["v" : "more"]
}
MODEL
expect 0 "$stepc" compile idle.onnxtxt -o idle.c --dim N=2 --quiet
lacks idle.h devices

# Running statistics move once a step, by the mean of what the parts would move them.
cat >norm.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
net (float[N,3] x) => (float[N,3] y)
<float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 10}, float[3] one = {1, 1, 1}, float[3] b = {0, 0, 0}, float[3] m = {0, 0, 0}, float[3] v = {1, 1, 1}>
{
  h = MatMul (x, w)
  y = BatchNormalization (h, one, b, m, v)
}
MODEL
expect 0 "$stepc" prepare norm.onnxtxt -o norm.onnx --loss mse --split --devices 2
[ ! -s stderr ] || fail 'a warning of running statistics'
expect 0 "$stepc" convert norm.onnx norm_train.onnxtxt
has norm_train.onnxtxt '"m.new" = Add (m, "m.mean_move")'
has norm_train.onnxtxt '"v.move" = Sub ('
expect 0 "$stepc" compile norm.onnx -o norm.c --dim N=4 --quiet --entries init,accumulate,apply
has stderr 'warning: accumulate() normalizes batches part by part (1 BatchNormalization)'
has norm.h 'float m_move_sum[3];'
# statistics STEPC-OPTION...: of the model after three steps, to four places
statistics() {
    expect 0 "$stepc" prepare norm.onnxtxt -o moved.onnx --loss mse "$@"
    expect 0 "$stepc" run moved.onnx --feed x=x.npy --feed target=x.npy --steps 3 --save moved.state
    expect 0 "$stepc" strip moved.onnx --state moved.state -o moved.onnx
    expect 0 "$stepc" convert moved.onnx moved.onnxtxt
    sed -n 's/^  float\[3\] [mv] = {\(.*\)},*$/\1/p' moved.onnxtxt | awk -F, '{ for (i = 1; i <= NF; i++) printf "%.4f\n", $i }'
}
awk 'BEGIN { for (i = 0; i < 12; i++) print i * 7 % 11 / 5 - 1 }' | "$make_npy" f4 4 3 >x.npy
statistics >whole.txt
statistics --split --devices 2 >summed.txt
[ "$(wc -l <whole.txt)" -eq 6 ] || fail 'no statistics'
same whole.txt summed.txt
expect 0 "$stepc" prepare norm.onnxtxt -o each.onnx --loss mse --split
expect 0 "$stepc" convert each.onnx each.onnxtxt
sed 's/ir_version: [0-9]*/ir_version: 11, configuration: ["pair" : 2]/; s/h = MatMul (x, w)/& @pair (x [0, 1] split (0: 2))/' \
    each.onnxtxt >each_pair.onnxtxt
expect 1 "$stepc" compile each_pair.onnxtxt -o no.c --dim N=4
has stderr "error: accumulate() moves 'm', a running statistic, by the samples of one device: 'stepc prepare --split --devices N'"
expect 0 "$stepc" prepare norm.onnxtxt -o shards.onnx --loss mse --split --devices 2 --shards 2
expect 0 "$stepc" compile shards.onnx -o shards.c --dim N=4 --quiet

# Statistics of channels lie as the channels do.
cat >channels.onnxtxt <<'MODEL'
<ir_version: 11, opset_import: ["" : 17], configuration: ["pair" : 2]>
net (float[4,2,6] x) => (float[4,2,6] y, float[2] mean_now, float[2] var_now)
<float[2] one = {1, 1}, float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1}>
{ y, mean_now, var_now = BatchNormalization <training_mode = 1> (x, one, b, m, v) @pair (x [0, 1] split (1: 2)) }
MODEL
expect 0 "$stepc" check --devices channels.onnxtxt
has stdout '-> y axis 1 in 2 (0 | 1); mean_now axis 0 in 2 (0 | 1); var_now axis 0 in 2 (0 | 1)'
sed 's/split (1: 2)/split (2: 2)/' channels.onnxtxt >lines.onnxtxt
expect 0 "$stepc" check --devices lines.onnxtxt
has stdout '-> y axis 2 in 2 (0 | 1); mean_now whole on 0-1; var_now whole on 0-1'

# Commands that make other models of them.
sed 's/"pair" : 2 ("left", "right")/"pair" : 3/' net.onnxtxt >three.onnxtxt
expect 0 "$stepc" prepare net.onnxtxt -o net_train.onnx --loss mse --entry one
expect 0 "$stepc" prepare three.onnxtxt -o three_train.onnx --loss mse --entry two
expect 1 "$stepc" merge net_train.onnx three_train.onnx -o both.onnx
has stderr "device configuration 'pair' has 3 devices, that of net_train.onnx 2"
sed 's/x \[0, 1\] split (0: 4 in 2)/y [0, 1] split (0: 2)/' net.onnxtxt >stale.onnxtxt
expect 0 "$stepc" prepare stale.onnxtxt -o stale.onnx --loss mse
has stderr "1 sharding of tensors that the node no longer has, the first of 'y', is left out"
expect 0 "$stepc" convert stale.onnx stale_now.onnxtxt
has stale_now.onnxtxt '@pair <stage = 0> (w [-1] groups (-1: [0, 1]))'
expect 0 "$stepc" expand net.onnxtxt -o plain.onnx
has stderr 'its annotations for several devices are not in what is written'
