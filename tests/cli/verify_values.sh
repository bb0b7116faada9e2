#!/usr/bin/env bash
# usage: verify_values.sh STEPC MAKE_NPY
# What verify takes for the same: NaN for NaN, infinities, what is within the tolerances, integers exactly.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# numbers FILE TYPE BYTES COUNT: a TensorProto of rank 1; BYTES as printf has them, fewer than 128
numbers() {
    local size bytes
    # shellcheck disable=SC2059 # the bytes are a format
    size=$(printf "$3" | wc -c)
    bytes=$(printf '\\010\\%03o\\020\\%03o\\112\\%03o%s' "$4" "$2" "$size" "$3")
    # shellcheck disable=SC2059
    printf "$bytes" >"$1"
}
mkdir -p case/test_data_set_0
cat >net.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[2] x) => (float[2] y) { y = Sqrt(x) }
MODEL
cat >whole.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (int32[2] x) => (int32[2] y) { y = Neg(x) }
MODEL
one='\000\000\200\077' two='\000\000\000\100' four='\000\000\200\100' minus='\000\000\200\277' nan='\000\000\300\177'
infinity='\000\000\200\177'

# verified STATUS MODEL TYPE INPUTS OUTPUTS OPTION...
verified() {
    local engine
    "$stepc" convert "$2.onnxtxt" case/model.onnx >/dev/null
    numbers case/test_data_set_0/input_0.pb "$3" "$4" 2
    numbers case/test_data_set_0/output_0.pb "$3" "$5" 2
    for engine in interpreted generated expanded; do
        expect "$1" "$stepc" verify case --engine $engine "${@:6}"
    done
}
verified 0 net 1 "$one$four" "$one$two"
verified 1 net 1 "$one$four" "$two$two"
has stdout "output 'y' element 0 is 1, expected 2"
verified 1 net 1 "$one$four" "$one$one"
has stdout "output 'y' element 1 is 2, expected 1"
verified 0 net 1 "$minus$four" "$nan$two"
verified 1 net 1 "$minus$four" "$one$two"
has stdout "nan, expected 1"
verified 1 net 1 "$one$four" "$nan$two"
has stdout "element 0 is 1, expected nan"
verified 0 net 1 "$infinity$four" "$infinity$two"
verified 1 net 1 "$infinity$four" "$one$two"
verified 1 net 1 "$one$four" "$infinity$one"
# 2 for 1: an absolute difference of 1, a relative one of 1; 1 for 2: 1 and 0.5
verified 0 net 1 "$one$four" "$one$one" --atol 1 --rtol 0
verified 1 net 1 "$one$four" "$one$one" --atol 0.99 --rtol 0
verified 0 net 1 "$one$four" "$one$one" --atol 0 --rtol 1
verified 1 net 1 "$one$four" "$one$one" --atol 0 --rtol 0.99
verified 0 net 1 "$one$four" "$two$two" --atol 0 --rtol 0.5
verified 1 net 1 "$one$four" "$two$two" --atol 0 --rtol 0.49
verified 0 net 1 "$one$four" "$one$one" --atol 0.5 --rtol 0.5
echo '{"rtol": 0.5, "atol": 0.5}' >case/tolerance.json
verified 0 net 1 "$one$four" "$one$one"
echo '{"rtol": 0, "atol": 0.99}' >case/tolerance.json
verified 1 net 1 "$one$four" "$one$one" --atol 1
rm case/tolerance.json
verified 0 whole 6 '\001\000\000\000\002\000\000\000' '\377\377\377\377\376\377\377\377'
verified 1 whole 6 '\001\000\000\000\002\000\000\000' '\377\377\377\377\377\377\377\377' --atol 5
has stdout "element 1 is -2, expected -1"
verified 1 net 6 "$one$four" '\001\000\000\000\002\000\000\000'
numbers case/test_data_set_0/input_0.pb 1 "$one$four" 2
expect 1 "$stepc" verify case
has stdout "output 'y' is float [2], expected int32 [2]"
numbers case/test_data_set_0/output_0.pb 1 "$one" 1
expect 1 "$stepc" verify case
has stdout "output 'y' is float [2], expected float [1]"

# Which tests run: those below the folder, of a list only those that it names; several folders by their paths.
verified 0 net 1 "$one$four" "$one$two"
mkdir -p all/a all/b/c other
cp -r case/model.onnx case/test_data_set_0 all/a
cp -r case/model.onnx case/test_data_set_0 all/b/c
cp -r case/model.onnx case/test_data_set_0 other
verify=("$stepc" verify --engine interpreted --jobs 1)
expect 0 "${verify[@]}" all
[ "$(cat stdout)" = $'PASS a\nPASS b/c\n2 passed, 0 failed, 0 unsupported' ] || fail "all: $(cat stdout)"
printf '\r\nb/c\r\n\nb/c\n' >list
expect 0 "${verify[@]}" all --list list
[ "$(cat stdout)" = $'PASS b/c\n1 passed, 0 failed, 0 unsupported' ] || fail "list: $(cat stdout)"
echo none >list
expect 1 "${verify[@]}" all --list list
has stderr 'no test of the list below all'
printf 'b/c\nb\na\nnone\n' >list
expect 1 "${verify[@]}" all --list list
[ "$(grep -c error: stderr)" -eq 2 ] || fail 'errors are not of the two names that are no tests'
has stderr "list: error: there is no test 'b' below all"
has stderr "list: error: there is no test 'none' below all"
[ ! -s stdout ] || fail 'a test of a list with wrong names is run'
printf 'b/c\nc\na\n' >list
expect 0 "${verify[@]}" all all/b --list list
has stdout '3 passed'
expect 1 "${verify[@]}" all --list missing
expect 0 "${verify[@]}" other all/b
has stdout 'PASS all/b/c'
[ "$(head -n 1 stdout)" = 'PASS other' ] || fail "two folders: $(cat stdout)"
expect 1 "${verify[@]}" net.onnxtxt
has stderr 'net.onnxtxt: error: not a folder'

# A second set of data is run too; what is no tensor is not supported; a test without data passes nothing.
cp -r other/test_data_set_0 other/test_data_set_1
numbers other/test_data_set_1/output_0.pb 1 "$two$two" 2
expect 1 "${verify[@]}" other
has stdout "element 0 is 1, expected 2"
cat >list_of.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (seq(float[2]) x) => (float[2] y) <int64 k = {0}> { y = SequenceAt(x, k) }
MODEL
"$stepc" convert list_of.onnxtxt other/model.onnx >/dev/null
expect 1 "${verify[@]}" other all
has stdout "UNSUPPORTED other  'x' is not a tensor"
has stdout '2 passed, 0 failed, 1 unsupported'
echo no model >other/model.onnx
expect 1 "${verify[@]}" other all
has stdout 'FAIL other  '
has stdout '2 passed, 1 failed, 0 unsupported'

# Random numbers are those of another generator: their type and shape only are compared.
cat >random.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[2] x) => (float[2] y) { y = RandomUniformLike(x) }
MODEL
verified 0 random 1 "$one$four" "$two$two"

# A test takes too long: it fails with all that it started, and the next one is run.
printf '#!/bin/sh\nsleep 60 &\necho $! >>going\nwait\n' >slow
chmod +x slow
begun=$SECONDS
expect 1 "$stepc" verify all --engine generated --jobs 1 --timeout 1 --cc ./slow
[ $((SECONDS - begun)) -lt 20 ] || fail 'a test that takes too long is waited for'
[ "$(cat stdout)" = $'FAIL a  took too long\nFAIL b/c  took too long\n0 passed, 2 failed, 0 unsupported' ] || fail "$(cat stdout)"

# More seconds than a number of the system's has are no time without end.
for seconds in 4294967296 1073741825; do
    expect 2 "$stepc" verify all --timeout $seconds
    has stderr "--timeout $seconds: expected a number of seconds up to 1073741824"
done
expect 0 "$stepc" verify all --engine interpreted --timeout 1073741824

# What `stepc expand` makes of a model is another one, of the opset asked for.
cat >late.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (int32[2] x) => (int32[2] y) { y = BitwiseNot(x) }
MODEL
zeros='\000\000\000\000' ones='\377\377\377\377'
verified 0 late 6 "$zeros$ones" "$ones$zeros"
expect 1 "$stepc" verify case --engine expanded --opset 17
has stdout 'BitwiseNot needs --opset 18'
expect 2 "$stepc" verify case --opset 17
has stderr '--opset goes with --engine expanded'
