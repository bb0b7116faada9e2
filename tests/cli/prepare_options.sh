#!/usr/bin/env bash
# usage: prepare_options.sh STEPC MAKE_NPY
# What training options take and refuse, each from both sides; and that each says something to prepare.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 19]>
net (float[4,3,3] x) => (float[4,3,3] y)
<float[3,3] w = {0.3, -0.7, 0.2, 0.9, -0.1, 0.4, -0.6, 0.8, 0.15}, float[3] b = {0.5, 0.25, 0.125}>
{
  h = MatMul(x, w)
  y = Add(h, b)
}
MODEL
printf '1\n2\n4\n' | "$make_npy" f4 3 >weights.npy
prepare=("$stepc" prepare net.onnxtxt --loss softmax-cross-entropy)

# changes BASE OPTION...: with the option another model comes out than with those in BASE alone
changes() {
    local base
    read -ra base <<<"$1"
    shift
    expect 0 "${prepare[@]}" "${base[@]}" -o without.onnxtxt
    expect 0 "${prepare[@]}" "${base[@]}" "$@" -o with.onnxtxt
    ! cmp -s without.onnxtxt with.onnxtxt || fail "nothing comes of $*"
}
changes '' --output h
changes '' --loss mse
changes '' --target labels
changes '' --class-axis 2
changes '' --ignore-index 1
changes '' --label-smoothing 0.1
changes '' --class-weights weights.npy
changes '' --sample-weight importance
changes '' --optimizer adam
changes '' --learning-rate 0.5
changes '' --learning-rate-input rate
changes '--optimizer adam' --first-step 3
changes '' --schedule exponential:gamma=0.5
changes '' --ema 0.9
changes '' --clip-norm 1
changes '' --clip-value 1
changes '' --group b:learning_rate=0.125
changes '' --train w
changes '' --freeze b
changes '--gradients' --detach h
changes '' --initialize he
changes '' --batch 8
changes '' --entry other
changes '' --split
changes '' --accumulate 2
changes '' --evaluate
changes '' --gradients
for type in int32 uint8; do
    changes '' --target-type $type
done

# takes OPTION VALUE...; refuses OPTION VALUE MESSAGE
takes() {
    local value
    for value in "${@:2}"; do
        expect 0 "${prepare[@]}" "$1" "$value" -o taken.onnx
    done
}
refuses() {
    expect 2 "${prepare[@]}" "$1" "$2" -o refused.onnx
    has stderr "error: $1 $2: $3"
    [ "$(grep -c error: stderr)" -eq 1 ] || fail "more than one message of $1 $2"
    [ ! -e refused.onnx ] || fail "written in spite of $1 $2"
}
takes --label-smoothing 0 1
refuses --label-smoothing -0.001 'expected a number from 0 to 1'
refuses --label-smoothing 1.001 'expected a number from 0 to 1'
takes --learning-rate 0 1e30
for option in --learning-rate --clip-norm --clip-value; do
    takes $option 1 1e30
    for value in -0.001 1.1e30 inf nan much; do
        refuses $option "$value" 'expected a number from 0'
        lacks stderr ' to '
    done
done
takes --ema 0.001 0.999
for value in 0 1 -0.5 1.5 nan; do
    refuses --ema "$value" 'expected a number between 0 and 1'
done
for option in --batch --accumulate; do
    takes $option 1 2
    refuses $option 0 'expected a whole number from 1'
done
takes --first-step 0 1
for value in -1 0.5 9223372036854775808; do
    refuses --first-step "$value" 'expected a whole number from 0'
done
takes --ignore-index -9223372036854775808 9223372036854775807
refuses --ignore-index 1.5 'expected a whole number'
lacks stderr from
for value in -9223372036854775808 9223372036854775807; do
    expect 0 "$stepc" compile net.onnxtxt -o labels.c --loss softmax-cross-entropy --ignore-index $value --check
done
takes --class-axis 1 2 -1 -2
refuses --class-axis one 'expected a whole number'
takes --target-type int64 int32 uint8
refuses --target-type int8 ''
refuses --loss squared ''
refuses --optimizer sdg ''
refuses --schedule sometimes ''
refuses --initialize xavier ''
refuses --batchnorm off ''
refuses --batchnorm-variance sample ''
refuses --batchnorm-statistics new ''
refuses --padding no ''
takes --entry a Z z9 a_b _a
for name in '' 9z a-b 'a b' å; do
    refuses --entry "$name" 'expected a name of letters, digits and _'
done
for name in init step infer; do
    refuses --entry $name 'every model has an entry of that name'
done
takes --entry step2 initial

# excluded A B: each alone is taken
excluded() {
    local a b
    read -ra a <<<"$1"
    read -ra b <<<"$2"
    expect 0 "${prepare[@]}" "${a[@]}" -o taken.onnx
    expect 0 "${prepare[@]}" "${b[@]}" -o taken.onnx
    expect 2 "${prepare[@]}" "${a[@]}" "${b[@]}" -o refused.onnx
    has stderr "${a[0]} and ${b[0]} exclude each other"
    [ ! -e refused.onnx ] || fail "written in spite of $*"
}
excluded '--learning-rate 0.5' '--learning-rate-input rate'
excluded '--schedule exponential:gamma=0.5' '--learning-rate-input rate'
excluded '--split' '--accumulate 2'
expect 2 "${prepare[@]}" --shards 2 -o refused.onnx
has stderr '--shards wants --split'
changes '--split' --shards 2

# All that is wrong is said at once.
expect 2 "${prepare[@]}" --label-smoothing 2 --batch 0 --ema 1 --entry init --optimizer sdg --split --accumulate 2 -o refused.onnx
[ "$(grep -c error: stderr)" -eq 6 ] || fail 'not all messages'
expect 2 "$stepc" prepare net.onnxtxt -o refused.onnx
has stderr '--loss NAME says what to minimize'
has stderr "('stepc strip' first where MODEL is a training model"
[ ! -e refused.onnx ] || fail 'written without a loss'
expect 0 "${prepare[@]}" -o once.onnx
expect 1 "$stepc" prepare once.onnx -o refused.onnx --loss mse --split
has stderr "to prepare it otherwise, 'stepc strip' makes an inference model of it first"
