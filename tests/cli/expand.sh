#!/usr/bin/env bash
# usage: expand.sh STEPC MAKE_NPY
# stepc expand: entries as plain models. The interpreter runs them like any runtime; tests/onnxruntime has another one.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
digits 1 32 ''

# train FILE OPTION...: the digits network
train() {
    local file=$1
    shift
    expect 0 "$stepc" prepare "$source_folder/examples/digits/model.onnx" -o "$file" --loss softmax-cross-entropy "$@"
}

# variables ENTRY.onnx: the names of those that it gives out
variables() {
    "$stepc" convert "$1" text.onnxtxt --lossy
    grep -o 'output.": ."[^"]*"' text.onnxtxt | sed 's/.*"\(.*\)\.new\\*"/\1/'
}

# steps N PREFIX: calls PREFIX.step.onnx, each time with what the call before it gave; losses in the file `losses`
steps() {
    local k v fetch feed
    rm -rf losses state.*
    mkdir state.0
    mapfile -t names < <(variables "$2.init.onnx")
    [ "${#names[@]}" -gt 3 ] || fail "$2.init.onnx gives ${#names[@]} variables"
    fetch=()
    for v in "${names[@]}"; do fetch+=(--fetch "$v.new=state.0/$v.npy"); done
    expect 0 "$stepc" run "$2.init.onnx" "${@:3}" "${fetch[@]}" --quiet
    expect 0 "$stepc" inspect "$2.step.onnx" --json inspect.json
    for ((k = 0; k < $1; k++)); do
        feed=(--feed x=x.npy --feed target=t.npy)
        fetch=()
        cp -r "state.$k" "state.$((k + 1))"
        for v in "${names[@]}"; do
            ! grep -qF "\"$v\"" inspect.json || feed+=(--feed "$v=state.$k/$v.npy")
            ! grep -qF "\"$v.new\"" inspect.json || fetch+=(--fetch "$v.new=state.$((k + 1))/$v.npy")
        done
        expect 0 "$stepc" run "$2.step.onnx" "${feed[@]}" "${fetch[@]}" --csv one.csv --quiet --steps 1
        tail -n 1 one.csv | cut -d, -f2 >>losses
    done
}

# Each entry is a file; the losses are those of the training model.
train adam.onnx --optimizer adam --schedule cosine:steps=20,warmup=2
expect 0 "$stepc" expand adam.onnx -o plain.onnx --dim batch=32
cp stdout written
for entry in init step infer; do
    has written "written: plain.$entry.onnx"
    expect 0 "$stepc" check "plain.$entry.onnx" --quiet
done
steps 4 plain
expect 0 "$stepc" run adam.onnx --feed x=x.npy --feed target=t.npy --steps 4 --csv whole.csv --dim batch=32
tail -n 4 whole.csv | cut -d, -f2 >expected
paste losses expected | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-6 * $2) bad = 1 } END { exit bad || NR != 4 }' || {
    paste losses expected
    fail 'the losses differ'
}

# Random numbers: initial weights and a mask in every step, by a seed whose upper half counts.
cat >masked.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
masked (float[32,64] x) => (float[32,10] y)
<float[64,10] w = {0.5, 0.25WEIGHTS}, float ratio = {0.25}, bool train = {1}> { d = Dropout(x, ratio, train) y = MatMul(d, w) }
END
sed -i "s/WEIGHTS/$(yes ', 0.125' | head -n 638 | tr -d '\n')/" masked.onnxtxt
expect 0 "$stepc" prepare masked.onnxtxt -o masked.onnx --loss softmax-cross-entropy --train w --initialize he
expect 0 "$stepc" expand masked.onnx -o mask.onnx --quiet
for seed in 7 70000000001; do
    printf '%s\n' "$seed" | "$make_npy" i8 1 >seed.npy
    steps 3 mask --feed random_seed=seed.npy
    expect 0 "$stepc" run masked.onnx --feed x=x.npy --feed target=t.npy --steps 3 --csv whole.csv --seed "$seed"
    tail -n 3 whole.csv | cut -d, -f2 >expected
    paste losses expected | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-6 * $2) bad = 1 } END { exit bad || NR != 3 }' || {
        paste losses expected
        fail "seed $seed: the losses differ"
    }
done

# From a state that was saved: init() gives it, masks go on where they stopped, infer() has the weights inside.
for model in masked adam; do
    dim=()
    [ $model = masked ] || dim=(--dim batch=32)
    expect 0 "$stepc" run $model.onnx --feed x=x.npy --feed target=t.npy --steps 3 --seed 7 --save three.state "${dim[@]}"
    expect 0 "$stepc" expand $model.onnx -o going.onnx --state three.state "${dim[@]}" --quiet
    steps 2 going
    expect 0 "$stepc" run $model.onnx --feed x=x.npy --feed target=t.npy --steps 2 --load three.state --from 0 --csv whole.csv "${dim[@]}"
    tail -n 2 whole.csv | cut -d, -f2 >expected
    paste losses expected | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-6 * $2) bad = 1 } END { exit bad || NR != 2 }' || {
        paste losses expected
        fail "$model: from a state the losses differ"
    }
done
expect 0 "$stepc" inspect going.init.onnx --json inspect.json
lacks inspect.json '"random_seed"'
expect 0 "$stepc" run going.infer.onnx --feed x=x.npy --fetch logits=got.npy --steps 1
expect 0 "$stepc" run adam.onnx --entry infer --load three.state --from 0 --feed x=x.npy --fetch logits=expected.npy --steps 1 --dim batch=32
same got.npy expected.npy
expect 1 "$stepc" expand masked.onnx -o going.onnx --state three.state
has stderr "three.state: error: there is no value for 'w', which is float[64,10] in the model"
has stderr "three.state: error: the model has no variable 'fc1.weight', but the state has one"
cat >tiny.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
tiny (float[2,3] x) => (float[2,1] y) <float[3,1] w = {1, 2, 3}> { y = MatMul(x, w) }
END
expect 0 "$stepc" prepare tiny.onnxtxt -o tiny.onnx --loss mse
expect 0 "$stepc" run masked.onnx --feed x=x.npy --feed target=t.npy --steps 1 --save masked.state
expect 1 "$stepc" expand tiny.onnx -o going.onnx --state masked.state
has stderr "masked.state: error: there is another type or shape of 'w', which is float[3,1] in the model"
expect 1 "$stepc" expand adam.onnx -o going.onnx --state x.npy --dim batch=32
expect 1 "$stepc" expand adam.onnx -o going.onnx --state trained.safetensors --dim batch=32
has stderr "trained.safetensors: error: a checkpoint as frameworks have them is no state of stepc: 'stepc run' makes one of it"
expect 2 "$stepc" expand adam.onnx -o going.onnx --state three.state --gradient-of loss --with-respect-to x
has stderr '--gradient-of and --state exclude each other'
cp three.state three.onnx
expect 1 "$stepc" expand adam.onnx -o three.onnx --state three.onnx --entry step --dim batch=32
same three.onnx three.state

# One entry, an older opset, no message.
expect 0 "$stepc" expand adam.onnx -o one.onnx --dim batch=32 --entry infer --opset 13 --quiet
[ ! -s stdout ] || fail 'speaks in spite of --quiet'
same one.onnx one.onnx
[ ! -e one.infer.onnx ] || fail 'one entry has a name of its own'
"$stepc" convert one.onnx one.onnxtxt
has one.onnxtxt '["" : 13]'
expect 1 "$stepc" expand adam.onnx -o one.onnx --dim batch=32 --entry inferr
has stderr "no entry 'inferr'; did you mean 'infer'?"
expect 0 "$stepc" expand adam.onnx -o one.onnxtxt --dim batch=32 --entry init
has one.onnxtxt 'learning_rate.new'

# The gradient alone, in an initializer and an input.
cat >bowl.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
bowl (float[3] x) => (float y) <float[3] w = {1, 2, 3}> { a = Mul(x, w) b = Mul(a, a) y = ReduceSum <keepdims = 0> (b) }
END
expect 0 "$stepc" expand bowl.onnxtxt -o slope.onnx --gradient-of y --with-respect-to w --with-respect-to x
has stdout 'written: slope.onnx'
printf '1\n1\n2\n' | "$make_npy" f4 1 3 >x1.npy
printf '1\n2\n3\n' | "$make_npy" f4 1 3 >w1.npy
expect 0 "$stepc" run slope.onnx --feed x=x1.npy --feed w=w1.npy --fetch w.gradient=dw.npy --fetch x.gradient=dx.npy
[ "$(tail -c 12 dw.npy | od -An -t f4 | tr -s ' ')" = ' 2 4 24' ] || fail 'the gradient in w is wrong'
[ "$(tail -c 12 dx.npy | od -An -t f4 | tr -s ' ')" = ' 2 8 36' ] || fail 'the gradient in x is wrong'
expect 1 "$stepc" expand bowl.onnxtxt -o slope.onnx --gradient-of y --with-respect-to v
has stderr '--with-respect-to v: the main graph has no such tensor'
expect 1 "$stepc" expand bowl.onnxtxt -o slope.onnx --gradient-of loss --with-respect-to w
has stderr '--gradient-of loss: no entry computes such a tensor'

# Of a training model, whose loss is in its algorithm: its variables are inputs, as they are; there is nothing else.
expect 0 "$stepc" expand adam.onnx -o slope.onnx --gradient-of loss --with-respect-to fc1.bias --with-respect-to x --dim batch=32
expect 0 "$stepc" expand adam.onnx -o plain.onnx --dim batch=32 --quiet
steps 1 plain
expect 0 "$stepc" inspect slope.onnx --json inspect.json
lacks inspect.json fc1.bias.v
expect 0 "$stepc" convert slope.onnx slope.onnxtxt --lossy
has slope.onnxtxt '"stepc.entry" : "gradient"'
feed=(--feed x=x.npy --feed target=t.npy)
for v in fc{1,2}.{weight,bias}; do feed+=(--feed "$v=state.0/$v.npy"); done
expect 0 "$stepc" run slope.onnx "${feed[@]}" --fetch fc1.bias.gradient=g.npy --fetch x.gradient=dx.npy --csv one.csv --steps 1
[ "$(tail -n 1 one.csv | cut -d, -f2)" = "$(tail -n 1 losses)" ] || fail 'the loss is another one'
expect 0 "$stepc" prepare "$source_folder/examples/digits/model.onnx" -o grad.onnx --loss softmax-cross-entropy --gradients
expect 0 "$stepc" run grad.onnx --feed x=x.npy --feed target=t.npy --steps 1 --fetch fc1.bias.gradient=expected.npy --dim batch=32
same g.npy expected.npy
expect 1 "$stepc" expand adam.onnx -o slope.onnx --gradient-of loss --with-respect-to nothing --dim batch=32
has stderr '--with-respect-to nothing: what computes the loss has no such tensor'
expect 1 "$stepc" expand adam.onnx -o slope.onnx --gradient-of loss --with-respect-to one_step --dim batch=32
has stderr '--with-respect-to one_step: nothing trains it, so it is a constant'

# Where the training leaves a weight alone, as the padding of an embedding, there is no gradient either. The loss is the
# training's; then the main graph has it.
printf '0.1\n0.25\n0\n0\n0.3\n-0.4\n' | "$make_npy" f4 1 3 2 >w.npy
printf '1\n2\n1\n' | "$make_npy" i8 1 3 >i.npy
printf '1\n2\n3\n4\n5\n6\n' | "$make_npy" f4 1 3 2 >t.npy
# table TARGET RESULT NODES
table() {
    cat >table.onnxtxt <<END
<ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch">
table (int64[3] i$1) => ($2) <float[3,2] w = {0.1, 0.25, 0, 0, 0.3, -0.4}> { y = Gather (w, i) $3 }
END
}
# slope_of LOSS TARGET PREPARE_OPTION...: elements of w.gradient
slope_of() {
    expect 0 "$stepc" prepare table.onnxtxt -o padded.onnx "${@:3}" --quiet
    expect 0 "$stepc" expand padded.onnx -o slope.onnx --gradient-of "$1" --with-respect-to w
    cp stderr notes
    expect 0 "$stepc" run slope.onnx --feed i=i.npy --feed "$2=t.npy" --feed w=w.npy --fetch w.gradient=dw.npy
    tail -c 24 dw.npy | od -An -t f4 -v -w24 | awk '{ for (i = 1; i <= NF; i++) printf "%.2f ", $i + 0 }'
}
table '' 'float[3,2] y' ''
[ "$(slope_of loss target --loss mse)" = '0.00 0.00 0.00 0.00 -0.90 -1.47 ' ] || fail 'the padding of the training has a gradient'
has notes "note: w.gradient is 0 where the training leaves 'w' alone ('w.trained_part')"
[ "$(slope_of loss target --loss mse --padding train)" = '0.00 0.00 -2.00 -2.67 -0.90 -1.47 ' ] || fail 'a row that is trained has no gradient'
lacks notes leaves
table ', float[3,2] t' 'float l' 'd = Sub(y, t) q = Mul(d, d) l = ReduceSum <keepdims = 0> (q)'
[ "$(slope_of l t --loss output)" = '0.00 0.00 0.00 0.00 -5.40 -8.80 ' ] || fail 'the padding of the main graph has a gradient'

# An output that is an input gets another name, which is said.
cat >twice.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
twice (float[2] x) => (float[2] x, float[2] y) { y = Abs(x) }
END
expect 0 "$stepc" expand twice.onnxtxt -o twice.onnx
has stderr "note: entry 'infer' has an input or output 'x' already: the output is called 'x_2'"

# An inference model has no variables.
expect 0 "$stepc" expand bowl.onnxtxt -o bowl.onnx
[ "$(ls bowl.*.onnx)" = bowl.infer.onnx ] || fail "a model without variables becomes $(ls bowl.*.onnx)"
expect 1 "$stepc" expand bowl.onnxtxt -o bowl.onnx --entry init
has stderr 'init() has nothing to give'

# Runtimes have no InstanceNormalization of rank 2.
for shape in 4,3 4,3,2; do
    cat >instance.onnxtxt <<END
<ir_version: 8, opset_import: ["" : 17]>
instance (float[$shape] x, float[3] s, float[3] b) => (float[$shape] y) { y = InstanceNormalization(x, s, b) }
END
    expect 0 "$stepc" expand instance.onnxtxt -o instance_of.onnxtxt
    [ $shape = 4,3 ] || has instance_of.infer.onnxtxt 'InstanceNormalization ('
    [ $shape != 4,3 ] || lacks instance_of.infer.onnxtxt 'InstanceNormalization ('
done

# Scatters that take together what is there and what comes, in versions that had none: all rows beside each other.
# ROWS, OPSET -> taken.onnxtxt
taken() {
    cat >scatters.onnxtxt <<END
<ir_version: 8, opset_import: ["" : 18]>
scatters (int64[$1,2] i, float[$1,2] u, float[$1,2] d) => (float[$1,2] a, float[$1,2] m, float[$1,2] x) {
  a = ScatterElements <reduction = "add"> (d, i, u)
  m = ScatterElements <reduction = "mul"> (d, i, u)
  x = ScatterElements <reduction = "max"> (d, i, u)
}
END
    expect "$3" "$stepc" expand scatters.onnxtxt -o taken.onnxtxt --opset "$2"
}
taken 4 15 0
lacks taken.infer.onnxtxt ScatterElements
has taken.infer.onnxtxt ReduceProd
taken 4 17 0
has taken.infer.onnxtxt ReduceMax
has taken.infer.onnxtxt 'reduction = "mul"'
taken 20000 15 1 # 4 * 10^8 pairs of a row and a place
has stderr "error: attribute 'reduction' of ScatterElements needs --opset 16"

# What is not finite goes to its place and to no other: the product with 0 and 1 is one of finite numbers.
cat >rows.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 18]>
rows (int64[5,1] i, float[5,4] u, float[4,4] d) => (float[4,4] y) <float seven = {7}> {
  sums = ScatterND <reduction = "add"> (d, i, u)
  is_nan = IsNaN(sums)
  y = Where(is_nan, seven, sums)
}
END
printf '%s\n' 0 1 1 3 3 | "$make_npy" i8 5 1 >rows_i.npy
printf '%s\n' inf -inf nan 1 1 2 3 4 5 6 7 8 inf inf 1 -inf -inf inf 1 2 | "$make_npy" f4 5 4 >rows_u.npy
printf '%s\n' 1 2 3 4 0 0 0 0 inf 0 nan 0 0 0 0 0 | "$make_npy" f4 4 4 >rows_d.npy
printf '%s\n' inf -inf 7 5 6 8 10 12 inf 0 7 0 7 inf 2 -inf | "$make_npy" f4 4 4 >rows_y.npy
for opset in 13 15 18; do
    expect 0 "$stepc" expand rows.onnxtxt -o rows.onnx --opset $opset
    expect 0 "$stepc" run rows.infer.onnx --feed i=rows_i.npy --feed u=rows_u.npy --feed d=rows_d.npy --fetch y=rows_$opset.npy
    cmp <(tail -c 64 rows_$opset.npy) <(tail -c 64 rows_y.npy) || fail "a row that is not finite, with --opset $opset"
done
expect 0 "$stepc" expand rows.onnxtxt -o rows.onnxtxt --opset 13
has rows.infer.onnxtxt MatMul

# What cannot be is refused, by name, and nothing is written.
cat >late.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 18]>
late (uint8[2] x, uint8[2] z) => (uint8[2] y) { [both] y = BitwiseAnd(x, z) }
END
expect 1 "$stepc" expand late.onnxtxt -o late.onnx --opset 17
has stderr "node 'both' (BitwiseAnd, #0): error: BitwiseAnd needs --opset 18"
[ -z "$(ls late.*onnx 2>/dev/null)" ] || fail 'something was written'
expect 2 "$stepc" expand adam.onnx -o one.onnx --dim batch=1..32
has stderr 'stepc expand: --dim batch takes one size'
expect 2 "$stepc" expand adam.onnx -o one.onnx --opset 12
has stderr '--opset 12: expected a number from 13 to 28'
expect 2 "$stepc" expand adam.onnx -o one.onnx --opset 29
expect 2 "$stepc" expand adam.onnx -o one.onnx --random real
has stderr '--random real: expected exact or native'
expect 2 "$stepc" expand adam.onnx -o one.onnx --gradient-of loss
has stderr '--gradient-of LOSS and --with-respect-to NAME belong together'
expect 2 "$stepc" expand adam.onnx -o one.onnx --gradient-of y --with-respect-to x --entry step
expect 2 "$stepc" expand adam.onnx
cp adam.onnx same.step.onnx
expect 1 "$stepc" expand same.step.onnx -o same.onnx --dim batch=32
same same.step.onnx adam.onnx
