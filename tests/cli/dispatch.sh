#!/usr/bin/env bash
# usage: dispatch.sh STEPC MAKE_NPY
# --dispatch: which lists are levels, which options contradict it, and that names of levels meet no others. What is compiled of it,
# tests/emitted/levels runs.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

compile=("$stepc" compile "$source_folder/examples/digits/model.onnx" -o out.c --dim batch=32)

# refused LIST MESSAGE: nothing is written
refused() {
    expect 2 "${compile[@]}" --dispatch "$1"
    has stderr "--dispatch $1: $2"
    [ ! -e out.c ] || fail 'there is a file'
}
refused '' "'' is no level: expected x86-64,x86-64-v3,x86-64-v4"
refused x86-64 'expected another level, to choose from'
refused x86-64-v3,x86-64-v4 'x86-64 is missing, for processors that have none of the others'
refused x86-64,x86-64-v5 "'x86-64-v5' is no level: expected x86-64,x86-64-v3,x86-64-v4; did you mean 'x86-64-v"
refused x86-64,x86-64-v2 'on x86-64-v2 emitted C would use nothing that x86-64 has not'
refused x86-64,aarch64 "emitted C knows no levels of 'aarch64', only x86-64, x86-64-v3 and x86-64-v4"
refused x86-64,x86-64-v3,x86-64-v3 'x86-64-v3 is named twice'
refused x86-64,,x86-64-v3 "'' is no level"

levels=(--dispatch 'x86-64,x86-64-v3')
for option in '--machine x86-64-v3' '--machine cortex-m4' '--simd none' '--simd 8' '--optimize size'; do
    # shellcheck disable=SC2086 # options are words
    expect 2 "${compile[@]}" "${levels[@]}" $option
    has stderr "--dispatch and $option exclude each other"
done
expect 0 "${compile[@]}" "${levels[@]}" --machine generic --simd auto --optimize speed --check
has out.c '#define STEPC_LEVEL 3'
lacks out.c '#define STEPC_LEVEL 4'
has out.h ' --dispatch x86-64,x86-64-v3'
expect 0 "${compile[@]}" --dispatch x86-64-v4,x86-64
has out.c '#define STEPC_LEVEL 4'
lacks out.c '#define STEPC_LEVEL 3'
expect 0 "${compile[@]}" --name "it" -o 'a name.c' "${levels[@]}" --check
has 'a name.c' '#include "a name.c"'
expect 0 "$stepc" inspect "$source_folder/examples/digits/model.onnx" --dim batch=32 "${levels[@]}"

# An entry is called as another is on a level.
prepare=("$stepc" prepare "$source_folder/examples/digits/model.onnx" --loss softmax-cross-entropy --quiet)
expect 0 "${prepare[@]}" -o a.onnx --entry first --train 'fc1*'
expect 0 "${prepare[@]}" -o b.onnx --entry first_v3 --train 'fc2*'
expect 0 "$stepc" merge a.onnx b.onnx -o both.onnx --quiet
expect 0 "$stepc" compile both.onnx -o both.c --dim batch=8
expect 1 "$stepc" compile both.onnx -o both.c --dim batch=8 "${levels[@]}"
has stderr "--dispatch: entry 'first_v3' is called as entry 'first' is on a level; rename one of them"
