#!/usr/bin/env bash
# usage: prepare_groups.sh STEPC MAKE_NPY
# prepare --group: learning rates and weight decay of some tensors. What they compute is held against PyTorch in
# tests/pytorch/optimizers.py; here stands what is said, and that both engines have it.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
model=$source_folder/examples/digits/model.onnx

# prepare STATUS OPTION...
prepare() {
    local status=$1
    shift
    expect "$status" "$stepc" prepare "$model" -o train.onnx --loss softmax-cross-entropy --optimizer adamw "$@"
}

prepare 0 --group 'fc1.*:learning_rate=0.01' --group '*.bias:weight_decay=0,learning_rate=0.02' --depfile train.d
has stdout "group 1, 'fc1.*': learning rate 0.01, 2 tensors"
has stdout "group 2, '*.bias': learning rate 0.02 weight decay 0, 2 tensors"
has stdout "learning rate of group 2: 0.02, the variable 'learning_rate.2'"
expect 0 "$stepc" compare train.onnx --dim batch=3 --reproducible --arithmetic same
expect 0 "$stepc" inspect train.onnx --dim batch=3
# A group can be set at run time, since its rate is a variable; nobody has the first one's for the weights of fc2.
expect 0 "$stepc" compile train.onnx --dim batch=3 -o train.c
has train.h learning_rate_1
has train.h learning_rate_2

printf '[{"params": ["fc1.*", "absent"], "lr": 0.5}, {"params": "net.fc2.bias", "weight_decay": 0}]' >groups.json
prepare 0 --group @groups.json --group fc1.bias:weight_decay=0.5 --depfile train.d
has stdout "group 1, 'fc1.*' and 'absent': learning rate 0.5, 2 tensors"
has stdout "group 2, 'net.fc2.bias': weight decay 0, 1 tensor"
has stdout "group 3, 'fc1.bias': weight decay 0.5, 1 tensor"
has stderr "--group @groups.json, group 1: no trained tensor is called 'absent'"
has train.d groups.json

# wrong TEXT JSON: the file is refused
wrong() {
    printf '%s' "$2" >groups.json
    prepare 1 --group @groups.json
    has stderr "$1"
}
wrong "groups.json:1:39: error: no JSON" '[{"params": ["fc1.*", "xx"], "lr": 0.5}'
wrong 'expected a list of groups' '{"params": ["fc1.*"], "lr": 0.5}'
wrong "group 1: no key 'lrr' of a group; did you mean 'lr'?" '[{"params": ["fc1.*"], "lrr": 0.5}]'
wrong 'group 2: has neither "lr" nor "weight_decay"' '[{"params": ["fc1.*"], "lr": 0.5}, {"params": ["fc1.*"]}]'
wrong 'group 1: "params": expected a list of names' '[{"params": [], "lr": 0.5}]'
wrong 'group 1: "params": expected names' '[{"params": [1], "lr": 0.5}]'
wrong 'group 1: has no "params"' '[{"lr": 0.5}]'
wrong 'group 1: expected an object' '[7]'
wrong '"lr": expected a number from 0' '[{"params": ["fc1.*"], "lr": -1}]'
wrong '"lr": expected a number from 0' '[{"params": ["fc1.*"], "lr": "0.1"}]'
wrong 'the group has it twice' '[{"params": ["fc1.*"], "lr": 1, "learning_rate": 2}]'
wrong 'no trained tensor has any of its names; --names-from' '[{"params": ["a", "b"], "lr": 1}]'
prepare 1 --group @none.json
has stderr none.json
prepare 1 --group 'fc3*:learning_rate=1'
has stderr 'no trained tensor has a name that matches'
prepare 1 --group fc2.weigth:learning_rate=1
has stderr "did you mean 'fc2.weight'?"
prepare 1 --group fc2.weight:learning_rate=1 --freeze fc2.weight
has stderr "--group fc2.weight:learning_rate=1: no trained tensor has that name: it is not trained"
prepare 1 --group 'fc2*:learning_rate=1' --learning-rate-input rate
has stderr '--learning-rate-input makes the rate of all an input'
prepare 0 --group 'fc2*:weight_decay=1' --learning-rate-input rate
for text in fc2 'fc2:' ':learning_rate=1' 'fc2:learning_rate'; do
    prepare 2 --group "$text"
    has stderr 'expected GLOB:learning_rate=N,weight_decay=N'
done
prepare 2 --group 'fc2:momentum=0.5'
has stderr "--group fc2: no key 'momentum'; it has: learning_rate, weight_decay"
prepare 2 --group 'fc2:weight_decay=-1'
has stderr 'weight_decay=-1: expected a number from 0'
