#!/usr/bin/env bash
# usage: compile_training.sh STEPC MAKE_NPY
# compile with prepare's options is prepare, then compile; --depfile, --ram and --check.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The two ways give the same bytes. The header comment names the model's file, so that is the same too.
mkdir two one 'a b'
cp "$source_folder/examples/digits/model.onnx" digits.onnx
seq 10 | "$make_npy" f4 10 >weights.npy
both_ways() {
    expect 0 "$stepc" prepare digits.onnx -o two/digits.onnx --quiet --dim batch=8 "$@"
    expect 0 "$stepc" compile two/digits.onnx -o two/d.c --dim batch=8 --reproducible
    expect 0 "$stepc" compile digits.onnx -o one/d.c --dim batch=8 --reproducible --quiet "$@"
    [ ! -s stdout ] || fail '--quiet prints something'
    same one/d.c two/d.c
    same one/d.h two/d.h
}
both_ways --loss softmax-cross-entropy --optimizer adam:alpha=0.8 --initialize he --evaluate
both_ways --loss mse --target wanted --clip-norm 1 --schedule cosine:steps=100 --gradients
has one/d.h 'd_step('
both_ways --loss softmax-cross-entropy --class-weights weights.npy --split --output logits
has one/d.h 'd_accumulate('
has one/d.c 'static const unsigned accumulate_updates[] = {' # what it may change: sums
has one/d.c '.updates = d_updates_by_entry,'

# Sizes that were given stand in the model: it needs no --dim any more, and says so of one.
lacks stderr 'no symbolic dimension'
expect 0 "$stepc" compile two/digits.onnx -o two/d.c --dim batch=8
has stderr "two/digits.onnx: warning: --dim batch=8: the model has no symbolic dimension 'batch': its sizes are numbers already, input 'x' is [8,64]"
expect 0 "$stepc" compile two/digits.onnx -o two/d.c --strict
expect 0 "$stepc" compile digits.onnx -o one/d.c --dim batch=8 --loss mse --quiet --strict
# An entry with a size of its own needs the symbol.
expect 0 "$stepc" prepare digits.onnx -o two/digits.onnxtxt --dim batch=8 --dim infer:batch=1 --loss softmax-cross-entropy
has two/digits.onnxtxt '(int64[batch] target) =>'
expect 0 "$stepc" compile digits.onnx -o one/d.c --dim batch=8 --dim infer:batch=1 --loss softmax-cross-entropy --strict
# sizes of the training model count, though the inference model has no such input
expect 0 "$stepc" compile digits.onnx -o one/d.c --dim batch=8 --loss mse --shape target=8x10
lacks stderr warning
has stdout "trained: 4 tensors"

expect 2 "$stepc" compile digits.onnx -o one/d.c --optimizer adam
has stderr '--loss NAME says what to minimize'
expect 2 "$stepc" compile digits.onnx -o one/d.c --loss hinge
expect 2 "$stepc" compile digits.onnx --output one/d.c --loss mse
has stderr '--output is the tensor that the loss reads'
expect 1 "$stepc" compile two/digits.onnx -o new.c --dim batch=8 --loss mse
[ ! -e new.c ] || fail 'a file was written in spite of an error'

# Dependency files: absolute inputs, escaped as make reads them.
# shellcheck disable=SC2016 # the file's name has a dollar
odd='a b/my $model#.onnx'
cp digits.onnx "$odd"
cp weights.npy 'a b/w.npy'
expect 0 "$stepc" compile "$odd" -o 'a b/out.c' --name out --dim batch=8 --loss softmax-cross-entropy --class-weights 'a b/w.npy' \
    --depfile out.d
cat >wanted.d <<RULE
a\ b/out.c a\ b/out.h: \\
  $work/a\ b/my\ \$\$model\\#.onnx \\
  $work/a\ b/w.npy
RULE
diff wanted.d out.d >&2 || fail 'the dependency file differs'
# shellcheck disable=SC2016
expect 0 "$stepc" compile digits.onnx -o target.c --dim batch=8 --loss mse --depfile out.d --depfile-target 'a $b'
# shellcheck disable=SC2016,SC1003
[ "$(head -n 1 out.d)" = 'a\ $$b: \' ] || fail "the rule is not for its target: $(head -n 1 out.d)"

# Memory: what is missing is a number, and nothing is written.
expect 0 "$stepc" compile two/digits.onnx -o ram.c --dim batch=8 --ram 1M
state=$(sed -n 's/.*state \([0-9]*\) bytes, arena \([0-9]*\) bytes.*/\1 + \2/p' ram.c)
rm ram.c
expect 0 "$stepc" compile two/digits.onnx -o ram.c --dim batch=8 --ram $((state))
rm ram.c
expect 1 "$stepc" compile two/digits.onnx -o ram.c --dim batch=8 --ram $((state - 1))
has stderr "RAM: $((state)) bytes are needed, 1 more than --ram $((state - 1)): state"
has stderr 'largest in the state:'
has stderr 'largest in the arena of step, during kernel'
[ ! -e ram.c ] || fail '--ram refused it, and it was written'
for size in 0 -5 12Q '' 9999999999G; do
    expect 2 "$stepc" compile two/digits.onnx -o ram.c --dim batch=8 --ram "$size"
done

# --check: a warning is an error, and nothing is written.
echo 'static int nobody_calls(void) { return 1; }' >warned.h
expect 0 "$stepc" compile two/digits.onnx -o checked.c --dim batch=8 --check --cc 'cc -O1'
rm checked.c
expect 1 "$stepc" compile two/digits.onnx -o checked.c --dim batch=8 --check --cc "cc -include $work/warned.h"
has stderr nobody_calls
expect 1 "$stepc" compile two/digits.onnx -o checked.c --dim batch=8 --check --cc no-such-compiler
has stderr "'no-such-compiler' cannot be run"
[ ! -e checked.c ] || fail '--check refused it, and it was written'
