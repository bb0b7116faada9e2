#!/usr/bin/env bash
# usage: inputs_kept.sh STEPC MAKE_NPY
# No output replaces a file that is read, or another output of the same command, by whatever name it goes.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
digits 1 32 ''
data=(--data x=x.npy --data target=t.npy --batch 32 --quiet)
expect 0 "$stepc" run train.onnx "${data[@]}" --save s.state
mkdir c
ln -s train.onnx link
ln train.onnx hard.onnx
ln -s nothing_yet ahead
echo softmax >frozen.txt

# refused MESSAGE COMMAND...: nothing is written, old or new
refused() {
    local message=$1
    shift
    find . -type f ! -name stdout ! -name stderr ! -name '*.sums' -exec cksum {} + | sort >before.sums
    expect 1 "$stepc" "$@"
    has stderr "error: $message"
    find . -type f ! -name stdout ! -name stderr ! -name '*.sums' -exec cksum {} + | sort >after.sums
    same before.sums after.sums
}

for option in csv save plot; do
    refused "--$option train.onnx would replace the model train.onnx" run train.onnx "${data[@]}" --$option train.onnx
    refused "--$option link would replace the model train.onnx" run train.onnx "${data[@]}" --$option link
    refused "--$option t.npy would replace --data target=t.npy" run train.onnx "${data[@]}" --$option t.npy
done
refused '--fetch loss=./train.onnx would replace the model' run train.onnx "${data[@]}" --fetch loss=./train.onnx
refused '--csv hard.onnx would replace the model' run train.onnx "${data[@]}" --csv hard.onnx
refused '--csv c/../s.state would replace --load s.state' run train.onnx "${data[@]}" --load s.state --csv c/../s.state
refused '--save x.npy would replace --feed x=x.npy' run train.onnx --feed x=x.npy --feed target=t.npy --save x.npy
refused '--save x.npy would replace --validate x=x.npy' run train.onnx --data x=t.npy --validate x=x.npy --save x.npy

# Of two that are not there yet the folder and the name say it.
refused '--save c/x would replace --csv ./c//x, which is written too' run train.onnx "${data[@]}" --csv ./c//x --save c/x
refused '--fetch loss=c/f would replace --fetch w=c/f' run train.onnx "${data[@]}" --fetch w=c/f --fetch loss=c/f
refused '--plot nothing_yet would replace --csv ahead' run train.onnx "${data[@]}" --csv ahead --plot nothing_yet
expect 0 "$stepc" run train.onnx "${data[@]}" --csv c/x --save x --plot ahead
expect 0 "$stepc" run train.onnx "${data[@]}" --csv /dev/null --save /dev/null

refused '--json train.onnx would replace the model' inspect train.onnx --json train.onnx
refused '--dot c/p would replace --html c/p' inspect train.onnx --html c/p --dot c/p
refused '--html - and --dot - would both be written to stdout' inspect train.onnx --json j --html - --dot - --dim batch=32
expect 0 "$stepc" inspect train.onnx --json - --html c/p --dot ./- --dim batch=32
[ -s ./- ] || fail 'no file called -'

compiles=(compile train.onnx -o c/a.c --dim batch=32)
refused '--depfile train.onnx would replace the model' "${compiles[@]}" --depfile train.onnx
refused '--depfile c/a.c would replace -o c/a.c' "${compiles[@]}" --depfile c/a.c
refused 'the header c/a.h would replace --depfile c/../c/a.h' "${compiles[@]}" --depfile c/../c/a.h
refused 'the file of weights c/a.weights would replace --depfile c/a.weights' "${compiles[@]}" --weights file --depfile c/a.weights
refused '--depfile x.npy would replace --set x=@x.npy' "${compiles[@]}" --set x=@x.npy --depfile x.npy
expect 0 "$stepc" "${compiles[@]}" --depfile c/a.weights

# The model's data stand beside it, under the name that -o ext/net.c gives its weights; 4 x 100, so that they get a file.
mkdir ext
LC_ALL=C sed 's/weights\.bin/net.weights/; s/\x08\x03/\x08\x64/g' "$source_folder/tests/package/external.onnx" >ext/m.onnx
head -c 1600 /dev/zero >ext/net.weights
beside="the model's external data ext/net.weights"
weighs=(compile ext/m.onnx --dim batch=2 --weights file)
refused "the file of weights ext/net.weights would replace $beside" "${weighs[@]}" -o ext/net.c
refused "--depfile ext/net.weights would replace $beside" "${weighs[@]}" -o ext/other.c --depfile ext/net.weights
expect 0 "$stepc" "${weighs[@]}" -o ext/other.c
ln -s net.weights ext/w.onnx
refused "ext/w.onnx would replace $beside" convert ext/m.onnx ext/w.onnx

# A model may be edited in place, by no other file.
cp "$source_folder/examples/digits/model.onnx" own.onnx
cp own.onnx plain.onnx
loss=(--loss softmax-cross-entropy)
refused '--depfile own.onnx would replace the model' prepare own.onnx -o p.onnx "${loss[@]}" --depfile own.onnx
refused '--depfile p.onnx would replace -o p.onnx' prepare own.onnx -o p.onnx "${loss[@]}" --depfile p.onnx
expect 0 "$stepc" convert own.onnx w.safetensors
ln -s w.safetensors w.onnx
ln -s own.onnx own.safetensors
refused '-o w.onnx would replace --weights-from w.safetensors' prepare own.onnx -o w.onnx "${loss[@]}" --weights-from w.safetensors
refused 'w.onnx would replace the weights w.safetensors' convert w.safetensors w.onnx --model own.onnx
refused 'own.safetensors would replace the model own.onnx' convert own.onnx own.safetensors
ln -s s.state s.onnx
refused '-o s.onnx would replace --state s.state' strip train.onnx -o s.onnx --state s.state
expect 0 "$stepc" prepare own.onnx -o own.onnx "${loss[@]}"
expect 0 "$stepc" strip own.onnx -o own.onnx
expect 0 "$stepc" convert own.onnx own.onnx
expect 0 "$stepc" convert w.safetensors own.onnx --model own.onnx
expect 0 "$stepc" run train.onnx "${data[@]}" --load s.state --save s.state
for name in one two; do
    expect 0 "$stepc" prepare plain.onnx -o $name.onnx "${loss[@]}" --entry $name
done
refused '-o two.onnx would replace the model two.onnx' merge one.onnx two.onnx -o two.onnx
expect 0 "$stepc" merge one.onnx two.onnx -o one.onnx

# A checkpoint may be several files, which no option names: a folder, shards, what TensorFlow calls by the beginning of
# their names.
foreign=$source_folder/tests/foreign
cp "$foreign/net.onnxtxt" net.onnxtxt
cp -r "$foreign/trainer" "$foreign/keras" "$foreign/saver" .
chmod -R u+w trainer keras saver
mv trainer/optimizer.pt blob
ln -s ../blob trainer/optimizer.pt
printf '%s\n' {0,2,4}.{weight,bias} >order.txt
seq 12 | "$make_npy" f4 4 3 >x4.npy
printf '0 1 1 0' | "$make_npy" i8 4 >t4.npy
second=trainer/model-00002-of-00002.safetensors
of_trainer='would replace a file of the checkpoint trainer,'
from=(prepare net.onnxtxt -o p.onnx "${loss[@]}" --from trainer --parameters order.txt --optimizer adamw --schedule linear:steps=60)
for name in "$second" trainer/model.safetensors.index.json trainer/scheduler.pt trainer/trainer_state.json; do
    refused "--depfile $name $of_trainer $name" "${from[@]}" --depfile "$name"
done
refused "--depfile blob $of_trainer trainer/optimizer.pt" "${from[@]}" --depfile blob
expect 0 "$stepc" "${from[@]}" --depfile trainer/net.d
expect 0 "$stepc" run p.onnx --feed x=x4.npy --feed target=t4.npy --load trainer --parameters order.txt --steps 0
for option in csv save plot; do
    refused "--$option $second $of_trainer" run p.onnx --feed x=x4.npy --feed target=t4.npy --load trainer --parameters order.txt \
        --$option "$second"
done
shards=trainer/model.safetensors.index.json
ln -s "$second" shard.onnx
refused "shard.onnx would replace a file of the checkpoint $shards, $second" convert $shards shard.onnx --model net.onnxtxt
refused "-o shard.onnx would replace a file of the checkpoint $shards, $second" strip p.onnx -o shard.onnx --state $shards
refused "--depfile $second would replace a file of the checkpoint $shards, $second" compile net.onnxtxt -o c/n.c --dim batch=4 \
    "${loss[@]}" --names-from $shards --depfile "$second"
refused "--json $second would replace a file of the checkpoint $shards, $second" inspect net.onnxtxt --dim batch=4 \
    "${loss[@]}" --names-from $shards --json "$second"
layers=('0=dense' '2=dense_1' '4=dense_2')
names=()
for layer in "${layers[@]}"; do
    names+=(--rename "${layer%=*}.weight=${layer#*=}/kernel" --rename "${layer%=*}.bias=${layer#*=}/bias")
done
from=(prepare net.onnxtxt -o p.onnx "${loss[@]}" "${names[@]}" --optimizer adam)
for part in index data-00000-of-00001; do
    name=saver/model.ckpt-10.$part
    refused "--depfile $name would replace a file of the checkpoint saver/model.ckpt-10, $name" "${from[@]}" \
        --from saver/model.ckpt-10 --depfile "$name"
done
for name in keras/checkpoint keras/ckpt-10.index keras/ckpt-10.data-00001-of-00002; do
    refused "--depfile $name would replace a file of the checkpoint keras, $name" "${from[@]}" --from keras --depfile "$name"
done
# The one file that --load names may be that of --save.
expect 0 "$stepc" convert p.onnx whole.safetensors
expect 0 "$stepc" run p.onnx --feed x=x4.npy --feed target=t4.npy --load whole.safetensors --save whole.safetensors
