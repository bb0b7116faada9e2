#!/usr/bin/env bash
# usage: checkpoints_in.sh STEPC MAKE_NPY
# Checkpoints that PyTorch has written (tests/foreign): training goes on where it stopped.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
files=$source_folder/tests/foreign

"$make_npy" f4 30 4 3 <"$files/x.txt" >x.npy
"$make_npy" i8 30 4 <"$files/target.txt" >t.npy
feeds=(--feed x=x.npy --feed target=t.npy --dim batch=4)
prepare=(--loss softmax-cross-entropy --quiet)
printf '%s\n' 0.weight 0.bias 2.weight 2.bias 4.weight 4.bias >order.txt

# losses_are NAME: those of the run just made are PyTorch's
losses_are() {
    sed -n 's/^step .* loss \([^ ]*\).*/\1/p' stdout >got.txt
    [ "$(wc -l <got.txt)" -eq 20 ] || fail "$(wc -l <got.txt) steps, expected 20"
    paste got.txt "$files/$1.losses" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d }
        END { if (worst > 1e-6) { print "largest difference of losses", worst; exit 1 } }' >&2 || fail "losses of $1"
}

# Adam: weights, both means, the step count and the rate come from the file.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o adam.onnx --optimizer adamw:weight_decay=0 --learning-rate 0.5 "${prepare[@]}"
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt"
losses_are adam
has stdout 'step 10 '
has stderr "optimizer's parameters: 6, in the order of the checkpoint"
has stderr 'optimizer: 12 tensors of 6 parameters'
has stderr "step count: 'step_count' is 10, after 10 steps"
has stderr "learning rate: 'learning_rate' is 0.02"
has stderr "passed over: 'epoch' (3)"
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt" --engine generated --cc "${CC:-cc} -O1"
losses_are adam

# The same, as a model that starts there.
expect 0 "$stepc" convert "$files/adam.pt" filled.onnx --model adam.onnx
has stdout 'set: 6 initializers'
expect 0 "$stepc" run filled.onnx "${feeds[@]}" --from 10
losses_are adam
# Once more into the one that is filled: counts do not add up.
expect 0 "$stepc" convert "$files/adam.pt" again.onnx --model filled.onnx
same again.onnx filled.onnx

# init() draws weights at random here: what the checkpoint says counts.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o drawn.onnx --optimizer adamw:weight_decay=0 --initialize glorot "${prepare[@]}"
expect 0 "$stepc" run drawn.onnx "${feeds[@]}" --load "$files/adam.pt"
losses_are adam

# Averages begin with the checkpoint's weights; what is frozen is read, too, and what was kept for it has no place.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o ema.onnx --optimizer adamw:weight_decay=0 --ema 0.5 "${prepare[@]}"
expect 0 "$stepc" run ema.onnx "${feeds[@]}" --load "$files/adam.pt"
losses_are adam
has stderr "moving averages: they start from the checkpoint's weights (6)"
expect 0 "$stepc" convert "$files/adam.pt" ema_10.onnxtxt --model ema.onnx
[ "$(sed -n 's/.*"\(0\.bias\|0\.bias\.average\)" = \({[^}]*}\).*/\2/p' ema_10.onnxtxt | sort -u | wc -l)" -eq 1 ] || fail 'averages are others'
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o frozen.onnx --optimizer adamw:weight_decay=0 --freeze '0.*' "${prepare[@]}"
expect 0 "$stepc" run frozen.onnx "${feeds[@]}" --load "$files/adam.pt"
has stderr "the model has no variable for what the optimizer keeps: exp_avg of '0.weight', exp_avg_sq of '0.weight'"
sed -n 's/^step 10 .* loss \([^ ]*\).*/\1/p' stdout >first
head -n 1 "$files/adam.losses" | cut -c 1-6 | grep -qf - first || fail "the frozen weights are not the checkpoint's"

# How many steps were made is what --steps-made says.
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt" --steps-made 4 --steps 1
has stdout 'step 4 '
has stderr "step count: 'step_count' is 4, after 4 steps"
expect 2 "$stepc" run adam.onnx "${feeds[@]}" --steps-made 4
has stderr "--steps-made belongs to --load of a framework's checkpoint"
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt" --steps-made 2000000000
has stderr '2e+09 steps are no number of steps'
expect 2 "$stepc" convert adam.onnx copy.onnx --steps-made 4
has stderr '--steps-made belongs to --model'
expect 2 "$stepc" prepare "$files/net.onnxtxt" -o no.onnx --loss mse --steps-made 4
has stderr '--steps-made belongs to --from'

# ONNX's own Adam counts from 1; its epsilon is told, since it stands elsewhere.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o onnx.onnx --optimizer adam "${prepare[@]}"
expect 0 "$stepc" run onnx.onnx "${feeds[@]}" --load "$files/adam.pt"
has stderr "step count: 'step_count' is 11, after 10 steps"
has stderr "the optimizer's eps was 1e-08; the model's updates have 1e-06"

# SGD with momentum under a schedule: the base rate, and the place in the schedule.
sgd=momentum:alpha=0.9,beta=1,norm_coefficient=0.01
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o sgd.onnx --optimizer $sgd --schedule step:every=4,gamma=0.7 "${prepare[@]}"
expect 0 "$stepc" run sgd.onnx "${feeds[@]}" --load "$files/sgd.pt"
losses_are sgd
has stderr "learning rate: 'learning_rate' is 0.1"
[ "$(grep -c warning stderr)" -eq 0 ] || fail 'nothing is wrong, but something is said'
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o flat.onnx --optimizer $sgd "${prepare[@]}"
expect 0 "$stepc" run flat.onnx "${feeds[@]}" --load "$files/sgd.pt"
has stderr 'it has a schedule, StepLR, and the model has none'
has stderr "learning rate: 'learning_rate' is 0.049"
# What is saved for PyTorch has both rates: that of the next step, and that with which the schedule begins.
expect 0 "$stepc" run sgd.onnx "${feeds[@]}" --load "$files/sgd.pt" --steps 5 --save later.safetensors
expect 0 "$stepc" run flat.onnx "${feeds[@]}" --load later.safetensors --steps 0
has stderr "learning rate: 'learning_rate' is 0.0343"
expect 0 "$stepc" run sgd.onnx "${feeds[@]}" --load later.safetensors --steps 0
has stderr "learning rate: 'learning_rate' is 0.1"

# prepare --from says nothing of the optimizer: the checkpoint does.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/adam.pt"
has stdout '--optimizer adamw:beta1=0.9,beta2=0.999,epsilon=1e-08,weight_decay=0'
has stdout 'learning rate: 0.02'
expect 0 "$stepc" run from.onnx "${feeds[@]}" --from 10
losses_are adam
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/sgd.pt" --depfile from.d
has stdout '--optimizer momentum:alpha=0.9,beta=1,norm_coefficient=0.01'
has stdout '--schedule step:every=4,gamma=0.7'
has stdout "learning rate: 0.1, the variable 'learning_rate'"
has from.d tests/foreign/sgd.pt
expect 0 "$stepc" run from.onnx "${feeds[@]}" --from 10
losses_are sgd
# What the command line says counts.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss mse --target-type float --from "$files/adam.pt" \
    --learning-rate 0.25 --optimizer adamw:weight_decay=0,beta1=0.8
has stdout 'learning rate: 0.25'
lacks stdout "learning rate: 'learning_rate' is 0.02"
has stderr "the optimizer's beta1 was 0.9; the model's updates have 0.8"
lacks stdout 'of which --optimizer says nothing'
# What it does not say is the checkpoint's.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/sgd.pt" --optimizer momentum:alpha=0.5
has stdout 'sgd.pt: norm_coefficient=0.01, of which --optimizer says nothing'
has stdout 'optimizer: momentum alpha=0.5 beta=1 norm_coefficient=0.01'
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/trainer" --parameters order.txt \
    --optimizer adamw --schedule linear:steps=60
has stdout 'weight_decay=0.1, of which --optimizer says nothing'
expect 0 "$stepc" run from.onnx "${feeds[@]}" --from 10
losses_are trainer
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/adam.pt" --optimizer adam
has stdout 'epsilon=1e-08, of which --optimizer says nothing'
# Another family: its numbers are none of this one's.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/adam.pt" --optimizer lion
has stdout 'optimizer: lion beta1=0.9 beta2=0.99 '
has stderr "the model has no variable for what the optimizer keeps: exp_avg_sq"
lacks stdout 'of which --optimizer says nothing'
expect 1 "$stepc" prepare "$files/net.onnxtxt" -o no.onnx --loss mse --from "$files/adam.pt" --optimizer momentum
expect 2 "$stepc" prepare "$files/net.onnxtxt" -o no.onnx --loss mse --partial
has stderr '--partial belongs to --from'
[ ! -e no.onnx ] || fail 'a model is written after an error'

# A folder of Trainer's: weights in shards, two groups, a schedule that is a function.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o trainer.onnx --optimizer adamw:weight_decay=0.1,decay_min_rank=2 \
    --schedule linear:steps=60 "${prepare[@]}"
expect 0 "$stepc" run trainer.onnx "${feeds[@]}" --load "$files/trainer" --parameters order.txt
losses_are trainer
has stderr 'in the order of --parameters, biases and normalizations in the second group'
has stderr "step count: 'step_count' is 10"
[ "$(grep -c warning stderr)" -eq 0 ] || fail 'nothing is wrong, but something is said'
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/trainer" --parameters order.txt \
    --schedule linear:steps=60
has stdout 'optimizer: taken for AdamW, as Trainer has it'
has stdout 'a --group of 3 tensors'
expect 0 "$stepc" run from.onnx "${feeds[@]}" --from 10
losses_are trainer
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/trainer" --parameters order.txt
has stderr 'the learning rate stays at 0.0166667'
has stderr '--schedule linear:steps=60'
# Python writes what JSON has not.
cp -r "$files/trainer" nan
printf '%s' '{"global_step": 10, "max_steps": 60, "log_history": [{"loss": NaN, "grad_norm": -Infinity, "said": "NaN \" NaN"}, Infinity]}' \
    >nan/trainer_state.json
expect 0 "$stepc" run trainer.onnx "${feeds[@]}" --load nan --parameters order.txt
losses_are trainer
# Shards are sorted, so nobody knows which bias is which.
expect 1 "$stepc" run trainer.onnx "${feeds[@]}" --load "$files/trainer"
has stderr 'which weights the 6 parameters of the optimizer are cannot be told'
expect 0 "$stepc" run trainer.onnx "${feeds[@]}" --load "$files/trainer" --partial
has stderr 'the optimizer starts anew'
lacks stderr 'step count:'
# One shard is not there; one lies elsewhere.
cp -r "$files/trainer" broken
rm broken/model-00002-of-00002.safetensors
expect 1 "$stepc" run trainer.onnx "${feeds[@]}" --load broken
has stderr 'model-00002-of-00002.safetensors'
sed -i 's|model-00002|../trainer/model-00002|g' broken/model.safetensors.index.json
expect 1 "$stepc" run trainer.onnx "${feeds[@]}" --load broken
has stderr "'../trainer/model-00002-of-00002.safetensors' is no file beside it"
sed -i 's|../trainer/model-00002|model-00001|g' broken/model.safetensors.index.json
expect 1 "$stepc" run trainer.onnx "${feeds[@]}" --load broken
has stderr "tensor '0.weight' is in none of the shards"
rm broken/model*
expect 1 "$stepc" run trainer.onnx "${feeds[@]}" --load broken
has stderr 'the folder has no weights'

# The same weights, compressed and as of a module around.
expect 0 "$stepc" convert "$files/trainer/model.safetensors.index.json" shards.onnx --model "$files/net.onnxtxt"
if "$stepc" convert "$files/trainer/weights.npz" npz.onnx --model "$files/net.onnxtxt" >stdout 2>stderr; then
    has stdout "names: without 'module.', with which all begin"
    same npz.onnx shards.onnx
else
    has stderr 'this stepc was built without zlib'
fi

# Out again, as PyTorch names it: the same as by a state of our own, also where numbers are drawn at random.
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt" --steps 5 --save mid.state
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt" --steps 5 --save mid.safetensors
for name in 0.weight optimizer.state.0.weight.exp_avg optimizer.state.4.bias.exp_avg_sq optimizer.state.2.bias.step \
    optimizer.param_groups.0.bias.lr stepc.run_steps; do
    has mid.safetensors "\"$name\""
done
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load mid.state
mv stdout wanted
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load mid.safetensors
same stdout wanted
has stdout 'step 15 '
expect 0 "$stepc" strip adam.onnx -o a.onnx --state mid.state
expect 0 "$stepc" strip adam.onnx -o b.onnx --state mid.safetensors
has stdout 'set: 6 initializers'
same a.onnx b.onnx
expect 0 "$stepc" run ema.onnx "${feeds[@]}" --load "$files/adam.pt" --steps 5 --save ema.state
expect 0 "$stepc" run ema.onnx "${feeds[@]}" --load "$files/adam.pt" --steps 5 --save ema.safetensors
for name in state safetensors; do
    expect 0 "$stepc" strip ema.onnx -o ema_$name.onnx --average --state ema.$name
done
same ema_state.onnx ema_safetensors.onnx
differ ema_state.onnx a.onnx
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load mid.safetensors --steps 1 --save mid.safetensors
expect 2 "$stepc" run adam.onnx "${feeds[@]}" --save mid.pt
has stderr 'goes into a file that ends in .safetensors'

# What --save gives to another preparation: groups without decay stay without, and a schedule that the file cannot hold is missed.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o groups.onnx --loss softmax-cross-entropy --optimizer adamw:weight_decay=0.05 --group '*bias:weight_decay=0' \
    --schedule cosine:steps=30,floor=0
expect 0 "$stepc" run groups.onnx "${feeds[@]}" --steps 5 --save groups.safetensors
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o again.onnx --loss softmax-cross-entropy --from groups.safetensors
has stdout 'from groups.safetensors: a --group of'
has stderr 'it was saved under a schedule, which it does not hold: the learning rate stays at'
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o again.onnx --loss softmax-cross-entropy --from groups.safetensors --schedule cosine:steps=30,floor=0
lacks stderr 'saved under a schedule'
cat >noisy.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[batch,3] x) => (float[batch,2] scores)
<float[2,3] "0.weight" = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}>
{
    noise = RandomNormalLike(x)
    y = Add(x, noise)
    scores = Gemm<transB = 1>(y, "0.weight")
}
MODEL
expect 0 "$stepc" prepare noisy.onnxtxt -o noisy.onnx --optimizer momentum:beta=0.75 --schedule exponential:gamma=0.9 "${prepare[@]}"
expect 0 "$stepc" run noisy.onnx "${feeds[@]}" --steps 9 --seed 5
tail -n 4 stdout >wanted
expect 0 "$stepc" run noisy.onnx "${feeds[@]}" --steps 5 --seed 5 --save noisy.safetensors
has noisy.safetensors '"optimizer.state.0.weight.momentum_buffer"'
has noisy.safetensors '"optimizer.param_groups.0.weight.initial_lr"'
expect 0 "$stepc" prepare noisy.onnxtxt -o again.onnx --loss softmax-cross-entropy --from noisy.safetensors
has stdout '--optimizer momentum:alpha=0.9,beta=0.75,'
expect 0 "$stepc" run noisy.onnx "${feeds[@]}" --steps 4 --load noisy.safetensors
same stdout wanted
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o factor.onnx --optimizer adafactor "${prepare[@]}"
expect 0 "$stepc" run factor.onnx "${feeds[@]}" --steps 1 --save factor.safetensors
has stderr 'PyTorch has no name for'

# What sets nothing but a count is an error, whatever is only a warning before.
header='{"optimizer.state.other.exp_avg":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
printf "\\x$(printf %x ${#header})\\0\\0\\0\\0\\0\\0\\0%s\\0\\0\\0\\0" "$header" >other.safetensors
expect 1 "$stepc" convert other.safetensors no.onnx --model "$files/net.onnxtxt"
has stderr 'other.safetensors: error: it sets nothing in the model'
expect 1 "$stepc" prepare "$files/net.onnxtxt" -o no.onnx --loss softmax-cross-entropy --from other.safetensors --partial \
    --optimizer adamw:weight_decay=0 --learning-rate 0.1
has stderr 'other.safetensors: error: it sets nothing in the model'
[ ! -e no.onnx ] || fail 'a model is written after an error'

# What does not fit, and what is left as it is.
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/sgd.pt"
has stderr "the model's optimizer keeps is not in it: 0.weight.m, 0.weight.v"
has stderr "the model has no variable for what the optimizer keeps: momentum_buffer of '0.weight'"
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/sgd.pt" --partial
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/sgd.pt" --reset optimizer
lacks stderr 'step count'
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt" --reset '4.*' --fetch 4.bias=b.npy --steps 1
lacks stderr "set: 6 initializers"
printf '%s\n' 0.bias 0.weight 2.weight 2.bias 4.weight 4.bias >order.txt
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/adam.pt" --parameters order.txt
has stderr 'the 6 names of --parameters do not fit the 6 parameters of the optimizer'
expect 2 "$stepc" run adam.onnx "${feeds[@]}" --parameters order.txt
has stderr "--parameters belongs to --load of a framework's checkpoint"
expect 1 "$stepc" convert "$files/adam.pt" no.onnx --model adam.onnx --rename '0.*=first.*'
has stderr "initializer '0.weight'"
expect 0 "$stepc" convert "$files/adam.pt" net.onnx --model "$files/net.onnxtxt"
has stdout "optimizer: not taken, since the model has none"

# An operator that keeps what is no initializer: not the checkpoint's to fill.
"$stepc" convert onnx.onnx text.onnxtxt
sed -e 's/"0.weight.gradient", "0.weight.v",/"0.weight.gradient", "ghost",/; s/"0.weight.v" : "0.weight.v.new",/& "ghost" : "0.weight.v.new",/' text.onnxtxt >ghost.onnxtxt
grep -q '"ghost" :' ghost.onnxtxt || fail 'no ghost'
expect 1 "$stepc" convert "$files/adam.pt" no.onnx --model ghost.onnxtxt
has stderr 'error'

# A rate that is a constant: what is kept is PyTorch's all the same.
sed -e 's/"learning_rate" : "learning_rate.new",*//' text.onnxtxt >constant.onnxtxt
lacks constant.onnxtxt '"learning_rate" : '
expect 0 "$stepc" run constant.onnxtxt "${feeds[@]}" --steps 1 --save constant.safetensors
lacks stderr 'PyTorch has no name for'
has constant.safetensors '"optimizer.state.0.weight.exp_avg"'
has constant.safetensors '"optimizer.param_groups.0.weight.lr"'

# A name that would look like another line.
LC_ALL=C sed 's/epoch/e\nset/' "$files/adam.pt" >odd.pt
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load odd.pt --steps 0
has stderr 'passed over: '
lacks stderr "stepc run: set'"

# No checkpoint: an error, and nothing else.
head -c 2000 "$files/adam.pt" >cut.pt
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load cut.pt
has stderr 'cut.pt: error: the zip archive is damaged: it has no directory at its end, so it was cut short'
