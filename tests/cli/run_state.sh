#!/usr/bin/env bash
# usage: run_state.sh STEPC MAKE_NPY
# A run that is saved, ended and continued gives the bits of one that was not: both engines, with random numbers; what does not fit
# is listed; strip takes the trained values.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

digits 1 160 ''
original=$source_folder/examples/digits/model.onnx
expect 0 "$stepc" prepare "$original" -o adam.onnx --loss softmax-cross-entropy --optimizer adam --evaluate

# Random numbers in the step and at the start, in two training entries, each with a counter of its own.
cat >noise.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
noise (float[8,4] x) => (float[8,4] y) <float[4] w = {1, 2, 3, 4}, float[4] u = {0, 0, 0, 0}, float half = {0.5}, bool yes = {1}> {
  s = Mul(x, w)
  d, mask = Dropout(s, half, yes)
  y = Add(d, u)
}
@training_info {
  initialization: begin () => (float[4] w0) { w0 = RandomNormal <shape = [4]> () }
  algorithm: first () => (float[4] w_new) {
    r = RandomUniformLike(w)
    m = ReduceMean <axes = [0], keepdims = 0> (y)
    p = Mul(m, r)
    w_new = Sub(w, p)
  }
  initialization_binding: ["w" : "w0"]
  update_binding: ["w" : "w_new"]
}
@training_info {
  algorithm: second () => (float[4] u_new) { n = RandomNormalLike(u) u_new = Add(u, n) }
  update_binding: ["u" : "u_new"]
}
MODEL
seq 0.1 0.1 32 | head -n 320 | "$make_npy" f4 10 8 4 >nx.npy

same=(--arithmetic same)
generated=(--engine generated --reproducible)
data=(--data x=x.npy --data target=t.npy --batch 32 --shuffle 3 --quiet)

# go NAME MODEL OPTION...: a run with its state saved to NAME
go() {
    local name=$1 model=$2
    shift 2
    expect 0 "$stepc" run "$model" "$@" --save "$name"
}

# 12 steps are two epochs and a part of the third: saved in the middle of an epoch, twice.
go whole adam.onnx "${data[@]}" "${same[@]}" --epochs 3 --steps 12
go part1 adam.onnx "${data[@]}" "${same[@]}" --steps 3
go part2 adam.onnx "${data[@]}" "${generated[@]}" --load part1 --steps 4
go part3 adam.onnx "${data[@]}" "${same[@]}" --load part2 --steps 5
same whole part3
go whole_generated adam.onnx "${data[@]}" "${generated[@]}" --steps 12
same whole whole_generated
[ ! -e whole.new ] || fail 'a temporary file is left'

# A run that ends in the middle of things, with a save every 5 steps: it goes on from step 10.
awk -F, '{ for (i = 1; i <= 64; i++) print (NR > 96 ? "nan" : $i / 16) }' rows.csv | "$make_npy" f4 160 64 >spoilt.npy
expect 1 "$stepc" run adam.onnx --data x=spoilt.npy --data target=t.npy --batch 8 --quiet "${same[@]}" --save killed --save-every 5
has stderr 'step 12: '
go ten adam.onnx --data x=spoilt.npy --data target=t.npy --batch 8 --quiet "${same[@]}" --steps 10
same ten killed
expect 2 "$stepc" run adam.onnx "${data[@]}" --save-every 5
has stderr '--save-every belongs to --save'

# In double, where the state alone is rounded.
go double adam.onnx "${data[@]}" --steps 12
go half adam.onnx "${data[@]}" --steps 6
go double2 adam.onnx "${data[@]}" --load half --steps 6
same double double2

# The table goes on counting; a saved state can be evaluated without a step.
expect 0 "$stepc" run adam.onnx "${data[@]}" "${same[@]}" --load part1 --steps 2 --csv on.csv
[ "$(cut -d, -f1 on.csv | tr '\n' ' ')" = 'step 3 4 ' ] || fail 'steps are numbered on'
expect 0 "$stepc" run adam.onnx --entry evaluate --load part3 --data x=x.npy --data target=t.npy --batch 32 --from 0 --epochs 1

# Random numbers: from the saved seed and counters, whatever --seed says. Two entries run one after the other.
for engine in same generated; do
    declare -n options=$engine
    go "n_$engine" noise.onnxtxt --feed x=nx.npy "${options[@]}" --quiet --entry first --seed 5 --steps 6
    go n1 noise.onnxtxt --feed x=nx.npy "${options[@]}" --quiet --entry first --seed 5 --steps 4
    go n2 noise.onnxtxt --feed x=nx.npy "${options[@]}" --quiet --entry first --seed 9 --load n1 --steps 2
    same "n_$engine" n2
    go n3 noise.onnxtxt --feed x=nx.npy "${options[@]}" --quiet --entry second --load n2 --steps 1 --from 0
    go n4 noise.onnxtxt --feed x=nx.npy "${options[@]}" --quiet --entry second --load n3 --steps 1 --from 0
    go n5 noise.onnxtxt --feed x=nx.npy "${options[@]}" --quiet --entry second --load n2 --steps 2 --from 0
    expect 0 "$stepc" run noise.onnxtxt --feed x=nx.npy --entry second "${options[@]}" --load n4 --steps 1 --from 0 --fetch "u=u4_$engine.npy"
    expect 0 "$stepc" run noise.onnxtxt --feed x=nx.npy --entry second "${options[@]}" --load n5 --steps 1 --from 0 --fetch "u=u5_$engine.npy"
    same "u4_$engine.npy" "u5_$engine.npy"
done
same n_same n_generated
same u4_same.npy u4_generated.npy

# Feeds that are used up, and from the beginning again.
expect 1 "$stepc" run noise.onnxtxt --feed x=nx.npy --entry first --load n_same --steps 5 --quiet
has stderr 'steps 6 to 10: the feeds hold 10; --from 0 begins with their first again'
expect 0 "$stepc" run noise.onnxtxt --feed x=nx.npy --entry first --load n_same --steps 5 --quiet --from 0

# Another optimizer: what fits, by name; the rest is listed.
expect 0 "$stepc" prepare "$original" -o sgd.onnx --loss softmax-cross-entropy --optimizer sgd
expect 1 "$stepc" run sgd.onnx "${data[@]}" --load whole
has stderr "the model has no variable 'fc1.weight.v', but the state has one"
has stderr '--partial loads what fits'
go partial sgd.onnx "${data[@]}" --load whole --partial --steps 1
expect 1 "$stepc" run adam.onnx "${data[@]}" --load partial
has stderr "the state has no value for 'fc1.weight.v' float[32,64]"
expect 1 "$stepc" run noise.onnxtxt --feed x=nx.npy --entry first --load whole --partial
has stderr 'nothing of the state fits the model'
cat >single.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
single (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
@training_info { algorithm: go () => (float[2] next) { next = Add(w, w) } update_binding: ["w" : "next"] }
MODEL
expect 1 "$stepc" run single.onnxtxt --load whole --partial
has stderr 'nothing of the state fits the model'

# Anew: the optimizer, or weights by name.
expect 0 "$stepc" run adam.onnx "${data[@]}" --load whole --reset optimizer --steps 1 --fetch step_count=count.npy --fetch fc1.weight=reset.npy
expect 0 "$stepc" run adam.onnx "${data[@]}" --steps 1 --fetch step_count=fresh.npy --fetch fc1.weight=other.npy
same count.npy fresh.npy
expect 0 "$stepc" run adam.onnx "${data[@]}" --load partial --partial --from 0 --steps 1 --fetch step_count=kept.npy # it has none
same kept.npy fresh.npy
differ reset.npy other.npy
expect 0 "$stepc" run adam.onnx "${data[@]}" --load whole --reset 'fc*' --reset optimizer --steps 1 --from 0 --fetch fc1.weight=reset.npy
same reset.npy other.npy
expect 1 "$stepc" run adam.onnx "${data[@]}" --load whole --reset 'fc9*'
has stderr "--reset fc9*: no variable has such a name"

# Files that are no state.
head -c 1000 whole >shortened
expect 1 "$stepc" run adam.onnx "${data[@]}" --load shortened
has stderr 'no state: the file is cut short, damaged, or of another kind'
expect 1 "$stepc" run adam.onnx "${data[@]}" --load nowhere
has stderr 'nowhere: error: the state cannot be read: No such file'
expect 1 "$stepc" run adam.onnx "${data[@]}" --save nowhere/state
has stderr "nowhere/state: error: its folder 'nowhere' does not exist"

# Another number of samples in a step: data goes on by steps, which is told. Feeds and --from say where they are.
seq 128 | "$make_npy" f4 1 2 64 >row.npy
seq 0 1 | "$make_npy" i8 1 2 >labels.npy
go b8 adam.onnx --data x=x.npy --data target=t.npy --batch 8 --quiet --steps 6
expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 16 --quiet --load b8 --steps 1
has stderr 'b8: warning: its steps had 8 samples, those of this run have 16: data goes on with step 6 as if all before had had so many; --from 3 goes on behind the samples that it has seen'
expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 32 --quiet --load b8 --steps 1
has stderr 'as if all before had had so many'
lacks stderr '--from'
expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 8 --quiet --load b8 --steps 1
[ ! -s stderr ] || fail 'the same batch, but something is said'
expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 16 --quiet --load b8 --steps 1 --from 3
[ ! -s stderr ] || fail '--from says it, but something is said'
expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 16 --quiet --load b8 --entry evaluate --epochs 1
[ ! -s stderr ] || fail 'an evaluation, but something is said'
go b8.safetensors adam.onnx --data x=x.npy --data target=t.npy --batch 8 --quiet --steps 6
expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 16 --quiet --load b8.safetensors --steps 1
has stderr 'its steps had 8 samples, those of this run have 16'

# What makes no step says nothing of the samples of one, and neither does a run with feeds: what was there stays.
go inferred adam.onnx --feed x=row.npy --load b8 --entry infer --from 0 --steps 1 --dim batch=2 --quiet
go evaluated adam.onnx --data x=x.npy --data target=t.npy --batch 16 --quiet --load inferred --entry evaluate --from 0 --steps 1
go fed adam.onnx --feed x=row.npy --feed target=labels.npy --load evaluated --from 0 --steps 1 --quiet
for state in inferred evaluated fed; do
    expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 16 --quiet --load $state --steps 1
    has stderr "$state: warning: its steps had 8 samples, those of this run have 16"
done
go fresh adam.onnx --data x=x.npy --data target=t.npy --batch 16 --quiet --entry evaluate --steps 1
expect 0 "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 8 --quiet --load fresh --steps 1
[ ! -s stderr ] || fail 'an evaluation has samples, and they are taken for those of steps'

# What cannot be written at the end is known before the first step, to a user who is not root.
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
mkdir locked
echo "not a state" >locked/old.state
chmod 666 locked/old.state # the new file would stand beside it
echo "not a state" >kept.state
chmod 555 locked
chmod 444 kept.state
chmod 755 .
chmod a+r adam.onnx x.npy t.npy
if "${user[@]}" "$stepc" check adam.onnx >/dev/null 2>&1; then
    for option in '--save locked/state' '--save locked/old.state' '--save kept.state' '--plot locked/plot.svg' '--fetch loss=locked/loss.npy'; do
        # shellcheck disable=SC2086 # words
        expect 1 "${user[@]}" "$stepc" run adam.onnx --data x=x.npy --data target=t.npy --batch 32 $option
        has stderr 'error: cannot write: Permission denied'
        lacks stdout epoch
    done
else
    echo 'skipped: what cannot be written, since user 65534 cannot run stepc'
fi

# strip: there and back, with and without trained values.
expect 0 "$stepc" convert "$original" plain.onnx
expect 0 "$stepc" strip adam.onnx -o stripped.onnx
same plain.onnx stripped.onnx
expect 0 "$stepc" strip adam.onnx -o trained.onnx --state whole
has stdout 'trained values: 4 of 4 initializers'
differ plain.onnx trained.onnx
expect 0 "$stepc" run trained.onnx --arithmetic same --feed x=x.npy --fetch logits=trained.npy --dim batch=160 --shape x=160x64
expect 0 "$stepc" run adam.onnx --arithmetic same --feed x=x.npy --fetch logits=state.npy --shape x=160x64 --entry infer --load whole --from 0
same trained.npy state.npy
expect 1 "$stepc" strip adam.onnx -o no.onnx --state n_same
has stderr "'fc1.weight' is trained, but n_same has no value for it"
[ ! -e no.onnx ] || fail 'a model is written after an error'
expect 1 "$stepc" strip plain.onnx -o no.onnx --state whole
has stderr 'no training_info of the model writes a weight'
expect 0 "$stepc" strip plain.onnx -o again.onnx
has stderr 'the model has no training_info'
same plain.onnx again.onnx
expect 0 "$stepc" check trained.onnx

# What else prepare adds goes too: sums of gradients, a newer version of the format.
sed 's/ir_version: 8, opset_import: \["" : 17, [^>]*>/ir_version: 4, opset_import: ["" : 12]>/; /^@training_info/,$d' noise.onnxtxt | sed '/Dropout/d; s/Add(d, u)/Add(s, u)/' >old.onnxtxt
expect 0 "$stepc" convert old.onnxtxt old.onnx
for how in '--optimizer adam --schedule cosine:steps=9' --split '--accumulate 2' '--initialize he --evaluate --clip-norm 1'; do
    # shellcheck disable=SC2086 # several options
    expect 0 "$stepc" prepare old.onnx -o old_train.onnx --loss mse --train w $how
    expect 0 "$stepc" strip old_train.onnx -o old_back.onnx --quiet
    [ ! -s stdout ] || fail 'quiet says something'
    same old.onnx old_back.onnx
done

# No step at all: what was loaded is saved again, and nothing else can be written.
feeds=(--data x=x.npy --data target=t.npy --batch 32)
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --steps 2 --save two.state --quiet
for none in '--steps 0' '--epochs 0'; do
    # shellcheck disable=SC2086 # two words
    expect 0 "$stepc" run adam.onnx "${feeds[@]}" $none --load two.state --save none.state --quiet
    same two.state none.state
done
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --steps 0 --fetch logits=none.npy
has stderr '--fetch logits: without a step there is none'

# Sums over samples are 0 between steps: a state that lacks them is whole.
expect 0 "$stepc" prepare "$original" -o split.onnx --loss softmax-cross-entropy --optimizer adam --split
expect 0 "$stepc" run split.onnx "${feeds[@]}" --steps 2 --load two.state --save four.state --quiet
has stderr 'variables loaded; the others start as init() leaves them'
