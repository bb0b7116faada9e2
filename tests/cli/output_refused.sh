#!/usr/bin/env bash
# usage: output_refused.sh STEPC MAKE_NPY
# Output that does not arrive is an error: of every command, of what it prints and of each file it writes.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[ -w /dev/full ] || exit 0

prepared train.onnx 0.3
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
refused compile "$source_folder/examples/digits/model.onnx" -o o.c --dim batch=32 --loss softmax-cross-entropy
refused prepare "$source_folder/examples/digits/model.onnx" -o p.onnx --loss softmax-cross-entropy
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
    full prepare "$source_folder/examples/digits/model.onnx" -o $name --loss softmax-cross-entropy
    full strip train.onnx -o $name
    full convert train.onnx $name
done

# A closed stream is none: files do not take its place.
mkdir closed open
status=0
"$stepc" compile "$source_folder/examples/digits/model.onnx" -o closed/net.c --dim batch=32 --loss softmax-cross-entropy >&- 2>stderr || status=$?
[ "$status" -eq 1 ] || fail "status $status with a closed standard output"
expect 0 "$stepc" compile "$source_folder/examples/digits/model.onnx" -o open/net.c --dim batch=32 --loss softmax-cross-entropy
same closed/net.c open/net.c
same closed/net.h open/net.h
