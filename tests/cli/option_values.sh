#!/usr/bin/env bash
# usage: option_values.sh STEPC MAKE_NPY [--record]
# Each option, of the first command that has it, with each of some values that fit few of them: the status, the first line of what is said, how many lines are
# printed, and which files are written. The right ones are what they were: option_values.txt; --record writes it anew, and its change is read.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$source_folder/tests/cli
left_out=' help cc check engine jobs dump-after ' # what starts compilers, depends on the machine, or is long

cat >net.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[batch,3] x) => (float[batch,2] scores)
<float[2,3] w = {0.5, -0.25, 1, 2, 0.125, -1}, float[2] b = {0, 1}>
{ scores = Gemm<transB = 1>(x, w, b) }
MODEL
expect 0 "$stepc" prepare net.onnxtxt -o train.onnx --loss mse --optimizer adam --learning-rate 0.5 --quiet
printf '%s\n' 1 2 3 4 5 6 | "$make_npy" f4 2 3 >x.npy
printf '%s\n' 1 2 3 4 | "$make_npy" f4 2 2 >target.npy
mkdir kept
mv net.onnxtxt train.onnx ./*.npy kept

declare -A base=(
    [compile]='train.onnx -o out.c --dim batch=2' [prepare]='net.onnxtxt -o out.onnx --loss mse' [strip]='train.onnx -o out.onnx'
    [merge]='train.onnx -o out.onnx' [check]='train.onnx' [inspect]='train.onnx --dim batch=2'
    [run]='train.onnx --feed x=x.npy --feed target=target.npy' [compare]='train.onnx --dim batch=2 --arithmetic same --steps 1 --engine interpreted'
    [verify]='.' [ops]='' [convert]='train.onnx out.onnxtxt' [expand]='train.onnx -o out --dim batch=2')

# try COMMAND WORD...: a line
try() {
    local status=0
    rm -rf tried
    cp -r kept tried
    # shellcheck disable=SC2086 # words
    (cd tried && timeout 20 "$stepc" "$1" ${base[$1]} "${@:2}" >../stdout 2>../stderr </dev/null) || status=$?
    printf '%s %s: %s, %d lines' "$1" "${*:2}" "$status" "$(wc -l <stdout)"
    (cd tried && for file in *; do [ -e "../kept/$file" ] || printf ', %s' "$file"; done)
    echo
    head -n 1 stderr | cut -c 1-150 | sed -e 's/^/    /'
}

for command in prepare compile strip merge check inspect run verify ops convert expand; do
    try $command
    "$stepc" help $command | sed -n 's/^ *\(-., \)\{0,1\}--\([a-z-]*\)\( [^ ]\)\{0,1\}.*/\2\3/p' >options
    while read -r option takes; do
        case $left_out in *" $option "*) continue ;; esac
        left_out+="$option "
        if [ -z "$takes" ]; then
            try $command "--$option"
            continue
        fi
        for value in '' x -1 0.5 2 99999999999999999999 w=1; do
            try $command "--$option" "$value"
        done
    done <options
done >said.txt
[ "${3:-}" != --record ] || cp said.txt "$here/option_values.txt"
diff "$here/option_values.txt" said.txt || fail 'options with odd values are told something else'
