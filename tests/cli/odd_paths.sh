#!/usr/bin/env bash
# usage: odd_paths.sh STEPC MAKE_NPY
# Paths that begin with a dash, have quotes, backslashes, line breaks, blanks or bytes that are no text.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

{
    printf '<ir_version: 9, opset_import: ["" : 18]>\nnet (float[1] x) => (float[100] y)\n<float[100] w = {'
    seq 100 | paste -sd,
    printf '}>\n{ y = Add(x, w) }\n'
} >net.onnxtxt
seq 1 | "$make_npy" f4 1 >x.npy
seq 100 | "$make_npy" f4 100 >t.npy
expect 0 "$stepc" run net.onnxtxt --feed x=x.npy --fetch y=right.npy

# What the C compiler is told of a temporary folder.
# shellcheck disable=SC2016 # names, not expressions
for folder in -dash -I @file =sysroot 'a "quoted" name' "it's" 'back\slash\n' $'two\nlines' $'\t' 'what??/' '%s$HOME`id`' $'\xff\x80' 'a:b,c;d'; do
    mkdir -p "./$folder"
    for cc in cc clang; do
        command -v $cc >program || continue
        TMPDIR=$folder expect 0 "$stepc" compile net.onnxtxt -o out.c --weights incbin --check --cc $cc
        TMPDIR=$work/$folder expect 0 "$stepc" compile net.onnxtxt -o out.c --weights incbin --check --cc $cc
        TMPDIR=$folder expect 0 "$stepc" run net.onnxtxt --feed x=x.npy --fetch y=y.npy --engine generated --cc $cc
        same y.npy right.npy
    done
    [ -z "$(ls "./$folder")" ] || fail "left in $folder: $(ls "./$folder")"
done
TMPDIR=missing expect 1 "$stepc" compile net.onnxtxt -o out.c --check
has stderr 'missing: error: cannot create a temporary directory there: No such file or directory'

# Files with such names, in and out.
# shellcheck disable=SC2016 # names, not expressions
for name in -o '--' @net 'a "quoted" name' "it's" 'back\slash\n' $'two\nlines' $'\t' '%s$HOME`id`' $'\xff\x80'; do
    cp net.onnxtxt "./$name.onnxtxt"
    cp x.npy "./$name.npy"
    expect 0 "$stepc" run "./$name.onnxtxt" --feed "x=$name.npy" --fetch "y=$name.y.npy" --engine generated
    same "./$name.y.npy" right.npy
    expect 0 "$stepc" compile -o odd.c --check -- "$name.onnxtxt"
    expect 0 "$stepc" inspect "./$name.onnxtxt" --json "$name.json" --html "$name.html" --dot "$name.dot"
    expect 0 "$stepc" convert "./$name.onnxtxt" "./$name.onnx"
    expect 0 "$stepc" convert "./$name.onnx" "./$name.safetensors"
    expect 0 "$stepc" convert "./$name.safetensors" "./$name.2.onnx" --model "./$name.onnx"
    expect 0 "$stepc" prepare "./$name.onnx" -o "$name.train.onnx" --loss mse --quiet
    expect 0 "$stepc" run "./$name.train.onnx" --feed x=x.npy --feed target=t.npy --save "$name.state" --csv "$name.csv" --plot "$name.svg"
    expect 0 "$stepc" run "./$name.train.onnx" --feed x=x.npy --feed target=t.npy --load "$name.state"
    for file in y.npy json html dot onnx safetensors 2.onnx train.onnx state csv svg; do
        [ -s "./$name.$file" ] || fail "no file $name.$file"
    done
    mkdir -p "./$name/test_data_set_0"
    cp "./$name.onnx" "./$name/model.onnx"
    expect 1 "$stepc" verify "./$name"
    lacks stderr crashed
done

# The header's name stands in an #include of the emitted file: a name that cannot is refused, and nothing is written.
# shellcheck disable=SC2016 # names, not expressions
for name in -o "it's" '%s$HOME' 'ü' '<stdio.h>' '@net' 'a b'; do
    expect 0 "$stepc" compile net.onnxtxt -o "$name.c" --check --weights file
    [ -s "./$name.h" ] || fail "no file $name.h"
done
mkdir none
for name in 'a "quoted" name' 'back\slash\n' $'two\nlines' $'\t' $'\xff\x80' 'what??('; do
    expect 1 "$stepc" compile net.onnxtxt -o "none/$name.c"
    has stderr 'cannot stand in an #include'
    [ -z "$(ls none)" ] || fail "written: $(ls none)"
done

# A rule of make that cannot be written: no file is.
cp net.onnxtxt $'two\nlines.onnxtxt'
expect 1 "$stepc" compile $'two\nlines.onnxtxt' -o none/net.c --depfile none/net.d
has stderr 'a dependency file cannot name a path with a line break'
[ -z "$(ls none)" ] || fail "written: $(ls none)"
