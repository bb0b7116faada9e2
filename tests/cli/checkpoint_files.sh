#!/usr/bin/env bash
# usage: checkpoint_files.sh STEPC MAKE_NPY
# The files that a checkpoint consists of: rules for make name them, and what is no file is refused.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LC_ALL=C # what make says is read
foreign=$source_folder/tests/foreign
cp "$foreign/net.onnxtxt" .
cp -r "$foreign/trainer" "$foreign/keras" "$foreign/saver" .
chmod -R u+w trainer keras saver
printf '%s\n' {0,2,4}.{weight,bias} >order.txt
layers=('0=dense' '2=dense_1' '4=dense_2')
names=()
for layer in "${layers[@]}"; do
    names+=(--rename "${layer%=*}.weight=${layer#*=}/kernel" --rename "${layer%=*}.bias=${layer#*=}/bias")
done
trainer=(prepare net.onnxtxt -o p.onnx --loss softmax-cross-entropy --parameters order.txt --optimizer adamw --schedule linear:steps=60)
others=(prepare net.onnxtxt -o p.onnx --loss softmax-cross-entropy --optimizer adam "${names[@]}")

# rule COMMAND... INPUTS: those of the rule are these and the model; of each make sees that it is newer
rule() {
    local inputs="$model ${*: -1}" name
    expect 0 "$stepc" "${@:1:$#-1}" --depfile p.d --depfile-target made
    for name in $inputs; do
        printf '%s/%s\n' "$work" "$name"
    done | sort >wanted
    sed -n 's/^  \([^ ]*\).*/\1/p' p.d | sort >got
    diff wanted got >&2 || fail "inputs of the rule: $*"
    command -v make >/dev/null || return 0
    printf 'made:\n\t@echo again\n-include p.d\n' >Makefile
    for name in $inputs; do
        # shellcheck disable=SC2086 # several names
        touch -t 202001010000 $inputs
        touch -t 202001020000 made
        [ "$(make)" = "make: 'made' is up to date." ] || fail "made, and nothing is newer: $*"
        touch "$name"
        [ "$(make)" = again ] || fail "$name is newer, and nothing is made: $*"
    done
}
model=net.onnxtxt
shards=$(printf ' trainer/%s' model.safetensors.index.json model-0000{1,2}-of-00002.safetensors)
rule "${trainer[@]}" --from trainer "order.txt trainer/optimizer.pt trainer/scheduler.pt trainer/trainer_state.json $shards"
rule "${others[@]}" --from saver/model.ckpt-10 "$(echo saver/*)"
rule "${others[@]}" --from saver/model.ckpt-10.index "$(echo saver/*)"
rule "${others[@]}" --from keras "$(echo keras/*)"
rule prepare net.onnxtxt -o p.onnx --loss mse --names-from trainer/model.safetensors.index.json "$shards"
rule compile net.onnxtxt -o c.c --dim batch=2 --loss mse --names-from trainer/model.safetensors.index.json "$shards"
# So for an entry that is added.
expect 0 "$stepc" prepare net.onnxtxt -o first.onnx --loss mse
model=first.onnx
rule prepare first.onnx -o p.onnx --loss mse --entry second --names-from trainer/model.safetensors.index.json "$shards"

# What is found in a checkpoint is a file or a link to one; nobody waits for who writes into a pipe there.
refused() {
    local name=$1 aside=aside/${1##*/}
    shift
    mv "$name" "$aside"
    mkfifo "$name"
    expect 1 timeout 20 "$stepc" "$@"
    has stderr "$name: error: not a regular file"
    rm "$name"
    ln -s /dev/zero "$name"
    expect 1 timeout 20 "$stepc" "$@"
    has stderr "$name: error: not a regular file"
    rm "$name"
    ln -s "../$aside" "$name"
    expect 0 "$stepc" "$@"
    rm "$name"
    mv "$aside" "$name"
}
mkdir aside
for name in $shards trainer/{optimizer.pt,scheduler.pt,trainer_state.json}; do
    refused "$name" "${trainer[@]}" --from trainer
done
for name in saver/*; do
    refused "$name" "${others[@]}" --from saver/model.ckpt-10
done
for name in keras/ckpt*; do
    refused "$name" "${others[@]}" --from keras
done
# A pipe that the user names is read.
expect 0 "$stepc" convert net.onnxtxt own.safetensors
mkfifo pipe.safetensors
cat own.safetensors >pipe.safetensors &
expect 0 timeout 20 "$stepc" convert pipe.safetensors piped.onnx --model net.onnxtxt
wait
expect 0 "$stepc" convert net.onnxtxt plain.onnx
same piped.onnx plain.onnx
