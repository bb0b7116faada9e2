#!/usr/bin/env bash
# usage: output_refused.sh STEPC MAKE_NPY
# Output that does not arrive is an error: of every command, of what it prints and of each file it writes.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[ -w /dev/full ] || skip 'there is no /dev/full'

prepared train.onnx 0.3
digits_model=$source_folder/examples/digits/model.onnx
digits 1 32 ''

# refused COMMAND...: its output goes to a full disk
refused() {
    local status=0
    "$stepc" "$@" >/dev/full 2>stderr || status=$?
    [ "$status" -eq 1 ] || fail "status $status, expected 1: $* >/dev/full"
    has stderr 'standard output cannot be written: No space left on device'
}

refused help
refused help compile
refused --version
refused ops
refused check train.onnx
refused check train.onnx --training
refused inspect train.onnx --dim batch=32
refused inspect train.onnx --dim batch=32 --json -
refused inspect train.onnx --dim batch=32 --html -
refused compile train.onnx -o o.c --dim batch=32 --dump-after fuse
refused compile "$digits_model" -o o.c --dim batch=32 --loss softmax-cross-entropy
refused prepare "$digits_model" -o p.onnx --loss softmax-cross-entropy
refused strip train.onnx -o s.onnx
refused run train.onnx --data x=x.npy --data target=t.npy --batch 32
refused compare train.onnx --dim batch=2
mkdir -p case/test_data_set_0
cp train.onnx case/model.onnx
refused verify .
expect 0 "$stepc" convert train.onnx w.safetensors
refused convert w.safetensors again.onnx --model train.onnx

# The same for files that are named. (Through a link: what replaces it would not replace the device of the machine that tests.)
ln -s /dev/full full
full() {
    expect 1 "$stepc" "$@"
    has stderr 'No space left on device'
    [ -c full ] || fail "the device was replaced by a file: $*"
}
full run train.onnx --data x=x.npy --data target=t.npy --batch 32 --save full
full run train.onnx --data x=x.npy --data target=t.npy --batch 32 --csv full
full run train.onnx --data x=x.npy --data target=t.npy --batch 32 --plot full
full run train.onnx --data x=x.npy --data target=t.npy --batch 32 --fetch loss=full
full inspect train.onnx --dim batch=32 --json full
full inspect train.onnx --dim batch=32 --html full
full inspect train.onnx --dim batch=32 --dot full
full compile train.onnx -o o.c --dim batch=32 --depfile full
for name in full.onnx full.onnxtxt full.safetensors full.h; do
    ln -s /dev/full $name
done
full convert train.onnx full.safetensors
full compile train.onnx -o full.c --dim batch=32
[ ! -e full.c ] || fail 'a C file without its header'
for name in full.onnx full.onnxtxt; do
    full prepare "$digits_model" -o $name --loss softmax-cross-entropy
    full strip train.onnx -o $name
    full convert train.onnx $name
done

# A folder that is missing is named before anything is computed, whichever option names it.
homeless() {
    expect 1 "$stepc" "$@"
    has stderr "error: its folder 'none' does not exist"
    [ "$(wc -l <stderr)" -eq 1 ] || fail 'one message is expected'
    [ ! -s stdout ] || fail "this was printed: $(cat stdout)"
}
mkdir homeless
for option in '--save none/s' '--csv none/t' '--plot none/p.svg' '--fetch loss=none/f'; do
    # shellcheck disable=SC2086 # words
    homeless run train.onnx --data x=x.npy --data target=t.npy --batch 32 $option
done
for option in json html dot; do
    homeless inspect train.onnx --dim batch=32 --$option none/f
done
homeless compile train.onnx -o none/o.c --dim batch=32 --dump-after fuse
homeless compile train.onnx -o homeless/o.c --dim batch=32 --depfile none/o.d
homeless prepare "$digits_model" -o none/p.onnx --loss mse
homeless prepare "$digits_model" -o homeless/p.onnx --loss mse --depfile none/p.d
homeless strip train.onnx -o none/s.onnx
for name in one two; do
    expect 0 "$stepc" prepare "$digits_model" -o $name.onnx --loss mse --entry $name
done
homeless merge one.onnx two.onnx -o none/m.onnx
homeless convert train.onnx none/c.onnxtxt
homeless convert train.onnx none/w.safetensors
for option in save csv plot; do
    expect 1 "$stepc" run train.onnx --data x=x.npy --data target=t.npy --batch 32 --$option ''
    has stderr "error: '' is no name of a file to write"
done
expect 1 "$stepc" run train.onnx --data x=x.npy --data target=t.npy --batch 32 --save homeless
has stderr 'homeless: error: is a directory, expected the name of a file to write'
[ ! -s stdout ] || fail "this was printed: $(cat stdout)"
[ -z "$(ls homeless)" ] || fail "left: $(ls homeless)"

# A table has whole lines, however the run ends. What cannot be written ends it: these steps would take days.
cat >count.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float x) => (float y) { y = Neg(x) }
MODEL
echo 2 | "$make_npy" f4 >two.npy
forever=("$stepc" run count.onnxtxt --feed x=two.npy --steps 100000000000 --quiet --csv)
whole() {
    [ "$(head -n 1 "$1")" = step,y ] || fail "$1 begins with $(head -n 1 "$1")"
    [ -z "$(tail -c 1 "$1")" ] || fail "$1 ends with $(tail -n 1 "$1")"
    awk 'NR > 1 && $0 != NR - 2 ",-2" { exit 1 }' "$1" || fail "$1 has a line that is not whole"
}
for action in default ignore; do
    status=0
    (ulimit -c 0 && ulimit -f 3 && exec timeout 60 env --$action-signal=XFSZ "${forever[@]}" $action.csv) >stdout 2>stderr || status=$?
    [ "$status" -eq 1 ] || fail "status $status at the limit of a table's size"
    has stderr "$action.csv: cannot be written: File too large"
    whole $action.csv
    [ "$(wc -l <$action.csv)" -gt 100 ] || fail "$action.csv has lost lines"
done
expect 1 timeout 60 "${forever[@]}" full
has stderr 'full: cannot be written: No space left on device'
for signal in TERM KILL; do
    "${forever[@]}" $signal.csv &
    runner=$!
    for try in $(seq 300); do
        [ "$(cat $signal.csv 2>/dev/null | wc -l)" -lt 1000 ] || break
        [ "$try" -lt 300 ] || fail "no lines in $signal.csv while the run goes on"
        sleep 0.1
    done
    kill -$signal $runner
    wait $runner && fail "SIG$signal did not end a run"
    whole $signal.csv
done
mkfifo piped.csv
head -n 5 piped.csv >five.csv &
status=0
env --ignore-signal=PIPE timeout 60 "${forever[@]}" piped.csv 2>stderr || status=$?
wait $!
[ "$status" -eq 1 ] || fail "status $status where nobody reads the table any more"
has stderr 'piped.csv: cannot be written: Broken pipe'
whole five.csv

# A closed stream is none: files do not take its place.
mkdir closed open
status=0
"$stepc" compile "$digits_model" -o closed/net.c --dim batch=32 --loss softmax-cross-entropy >&- 2>stderr || status=$?
[ "$status" -eq 1 ] || fail "status $status with a closed standard output"
expect 0 "$stepc" compile "$digits_model" -o open/net.c --dim batch=32 --loss softmax-cross-entropy
same closed/net.c open/net.c
same closed/net.h open/net.h
