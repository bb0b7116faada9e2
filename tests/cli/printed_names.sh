#!/usr/bin/env bash
# usage: printed_names.sh STEPC MAKE_NPY
# Names that would colour a terminal, forge lines or turn text round: wherever they are printed, by their numbers.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

x=$'x\e]0;P\a\nforged\xc2\x9b31m\x7f' y=$'y\xe2\x81\xa6\xe2\x80\xae\r\e[2J' w=$'w\n\e[31m\xd8\x9c'
printf '<ir_version: 10, opset_import: ["" : 18]>\n"g\e[31m\nforged" (float[2,3] "%s") => (float[2,4] "%s", float s) <float[3,4] "%s" = {%s}> {
["n\e[5m\nforged"] h = MatMul("%s", "%s")  "%s" = Relu(h)  s = ReduceSum<keepdims = 0>(h) }\n' \
    "$x" "$y" "$w" '1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3' "$x" "$w" "$y" >m.onnxtxt
seq 6 | "$make_npy" f4 2 3 >x.npy
seq 8 | "$make_npy" f4 2 4 >t.npy

# clean FILE...: no control character but line ends, none that changes directions, and no line that a name made
clean() {
    local file
    for file in "$@"; do
        if LC_ALL=C grep -naP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|^forged' "$file" \
            >found; then
            cat -v found >&2
            fail "$file holds characters that a terminal obeys"
        fi
    done
}

# shows COMMAND...: its output is clean, and there is some
shows() {
    expect 0 "$stepc" "$@"
    clean stdout stderr
    [ -s stdout ] || fail "no output: $*"
}

shows prepare m.onnxtxt -o train.onnx --loss mse --output "$y"
has stdout '\x1B'
shows check train.onnx --training
shows check m.onnxtxt --training
shows inspect train.onnx
has stdout '\x1B'
for form in json dot html; do
    shows inspect train.onnx --$form -
done
for pass in combine canonical lower fuse plan; do
    shows compile train.onnx -o o.c --dump-after "$pass"
    has stdout '\x1B'
done
shows compile m.onnxtxt -o o.c --loss mse --output "$y"
clean o.c o.h # text that people read, too
shows compare train.onnx
shows run m.onnxtxt --feed "$x=x.npy"
has stdout 's 367'
shows strip train.onnx -o plain.onnx
expect 0 "$stepc" convert m.onnxtxt w.safetensors
shows convert w.safetensors again.onnx --model m.onnxtxt
mkdir -p "$(printf 'case\e[31m')/test_data_set_0"
expect 1 "$stepc" verify .
clean stdout stderr
expect 1 "$stepc" run train.onnx
clean stderr

# What was typed, and names of files, are printed, too.
bad=$'p\e[31m\nforged\xc2\x9b'
cp m.onnxtxt "$bad.onnxtxt"
# said STATUS COMMAND...: what it prints is clean, and shows the text
said() {
    expect "$@"
    cat stdout stderr >both
    clean both
    has both '\x1B[31m\x0Aforged'
}
said 0 "$stepc" check "$bad.onnxtxt"
said 0 "$stepc" check train.onnx "$bad.onnxtxt"
LC_ALL=C awk -v RS='\001' -v d="float[\"$bad\",3]" \
    '{ sub(/float\[2,3\]/, d); sub(/float\[2,4\]/, "float[rows,4]"); printf "%s", $0 }' \
    m.onnxtxt >dims.onnxtxt
expect 0 "$stepc" convert dims.onnxtxt dims.onnx
said 0 "$stepc" check dims.onnx
said 1 "$stepc" compile dims.onnx -o o.c
said 0 "$stepc" inspect "$bad.onnxtxt"
said 0 "$stepc" prepare m.onnxtxt -o "$bad.onnx" --loss mse --output "$y"
said 1 "$stepc" check "$bad.none.onnx"
said 1 "$stepc" verify "$bad"
said 1 "$stepc" convert "$bad.none.onnx" o.onnx
said 2 "$stepc" convert m.onnxtxt "$bad"
said 2 "$stepc" "$bad"
said 2 "$stepc" help "$bad"
said 1 "$stepc" ops "$bad"
said 2 "$stepc" check train.onnx "--$bad"
for option in --seed --steps --dim --shape --simd --ram --max-ram --threads --optimize --weights --entries \
    --dump-after --name --jobs --rtol --loss --optimizer --schedule --initialize --train --freeze --tie --clip-norm --batch --feed \
    --data --fetch --load --entry; do
    for command in compile inspect run compare verify prepare; do
        "$stepc" help "$command" | grep -q -e " $option\b" || continue
        status=0
        "$stepc" "$command" m.onnxtxt -o o.c "$option" "$bad" >stdout 2>stderr || status=$?
        [ "$status" -le 2 ] || fail "$command $option: status $status"
        clean stdout stderr
    done
done
expect 2 "$stepc" check train.onnx $'-\e'
clean stderr
has stderr "invalid option -- '\\x1B'"
expect 2 "$stepc" check train.onnx --dim
has stderr "option '--dim' requires an argument"
expect 2 "$stepc" check train.onnx --quiet=3
has stderr "option '--quiet' doesn't allow an argument"
cp x.npy feed.npy
expect 0 "$stepc" run train.onnx --feed "$x=x.npy" --feed target=t.npy --steps 1 --csv table.csv --plot curve.svg
clean table.csv curve.svg
