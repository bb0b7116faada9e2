#!/usr/bin/env bash
# usage: run_feeds.sh STEPC MAKE_NPY
# Feeds: types that are converted where no number changes, numbers of steps that do not fit.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
digits 1 32 ''
trains=("$stepc" run train.onnx --dim batch=16)
numbers=$(cut -d, -f65 rows.csv)
pixels=$(awk -F, '{ for (i = 1; i <= 64; i++) print $i / 16 }' rows.csv)

echo "$pixels" | "$make_npy" f4 2 16 64 >x.npy
echo "$numbers" | "$make_npy" i8 2 16 >t.npy
expect 0 "${trains[@]}" --feed x=x.npy --feed target=t.npy --hash
mv stdout wanted

# Sixteenths are floats as well as doubles, digits are numbers of any type.
echo "$pixels" | "$make_npy" f8 2 16 64 >x8.npy
for type in i4 u1 f4 f8; do
    echo "$numbers" | "$make_npy" $type 2 16 >t_other.npy
    expect 0 "${trains[@]}" --feed x=x8.npy --feed target=t_other.npy --hash
    same stdout wanted
    has stderr 'note: --feed x=x8.npy: double is converted to float'
    has stderr 'note: --feed target=t_other.npy: '
    has stderr "is converted to int64, which input 'target' is"
done
"$make_npy" i4 32 < <(echo "$numbers") >t4.npy
"$make_npy" f8 32 64 < <(echo "$pixels") >x8.npy
expect 0 "$stepc" run train.onnx --data x=x8.npy --data target=t4.npy --batch 16 --hash --steps 2
has stderr 'int32 is converted to int64'
mv stdout wanted
digits 1 32 ''
expect 0 "$stepc" run train.onnx --data x=x.npy --data target=t.npy --batch 16 --hash --steps 2
same stdout wanted

# What would become another number is refused.
echo "$numbers" | awk '{ print NR == 7 ? 0.5 : $1 }' | "$make_npy" f4 2 16 >half.npy
expect 1 "${trains[@]}" --feed target=half.npy
has stderr "the file holds float, but input 'target' is int64, and element 6, 0.5, is no int64"
echo "$pixels" | awk '{ print NR == 3 ? 0.1 : $1 }' | "$make_npy" f8 2 16 64 >tenth.npy
expect 1 "${trains[@]}" --feed x=tenth.npy
has stderr 'element 2, 0.1, is no float'
echo "$numbers" | awk '{ print NR == 3 ? 1e300 : $1 }' | "$make_npy" f8 2 16 >large.npy
expect 1 "${trains[@]}" --feed target=large.npy
has stderr 'element 2, 1e+300'

# Steps: none, or another number than another feed has.
: | "$make_npy" f4 0 16 64 >none.npy
echo "$numbers" | "$make_npy" i8 2 16 >t.npy
for engine in interpreted generated; do
    expect 1 "${trains[@]}" --feed x=none.npy --feed target=t.npy --engine $engine
    has stderr "--feed x=none.npy: the file holds [0,16,64], which is 0 steps of input 'x'"
    lacks stdout step
done
echo "$numbers $numbers" | "$make_npy" i8 4 16 >t.npy
echo "$pixels" | "$make_npy" f4 2 16 64 >x.npy
expect 1 "${trains[@]}" --feed x=x.npy --feed target=t.npy
has stderr "feed 'target' has 4 steps, another has 2"

# The engines are compared on what is fed as well.
echo "$numbers" | "$make_npy" i8 2 16 >t.npy
expect 0 "$stepc" compare train.onnx --dim batch=16 --feed x=x.npy --feed target=t.npy
has stdout '2 whole runs'
has stdout ', 0 differ'
expect 0 "$stepc" compare train.onnx --dim batch=16 --feed x=x.npy --feed target=t.npy --runs
has stdout '2 compared, 0 differ'
expect 1 "$stepc" compare train.onnx --dim batch=16 --feed x=x.npy --feed target=t.npy --steps 3
has stderr '--steps 3: the feeds hold 2'
echo "$pixels" | "$make_npy" f4 4 8 64 >x.npy
expect 1 "$stepc" compare train.onnx --dim batch=16 --feed target=t.npy --feed x=x.npy

# Names and files with '=': a value of that name in the model says where the name ends.
cat >net.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[2] x) => (float[2] y) { y = Neg(x) }
MODEL
cat >odd.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[2] x, float[2] "x=a", float[n] "x=b") => (float[2] "y=d") { inner = Neg(x) t = Sub(inner, "x=a") "y=d" = Add(t, "x=b") }
MODEL
seq 2 | "$make_npy" f4 2 >b.npy
cp b.npy a=b.npy
seq 10 11 | "$make_npy" f4 2 >far.npy
cp far.npy b=far.npy
expect 0 "$stepc" run net.onnxtxt --feed x=b.npy --fetch y=wanted.npy
expect 0 "$stepc" run net.onnxtxt --feed x=a=b.npy --fetch y=c=d.npy
same c=d.npy wanted.npy
expect 0 "$stepc" run odd.onnxtxt --feed x=./a=b.npy --feed x=a=b.npy --feed x=b=b=far.npy --fetch inner=f=g.npy --fetch y=d=e.npy
same f=g.npy wanted.npy
printf '%s\n' -8 -7 | "$make_npy" f4 2 >b.npy # -(-1 - 1 + 10), -(-2 - 2 + 11)
expect 0 "$stepc" run net.onnxtxt --feed x=b.npy --fetch y=wanted.npy
same e.npy wanted.npy
expect 1 "$stepc" run odd.onnxtxt --feed x=./a=b.npy --feed x=a=b.npy --feed x=b=b=far.npy --fetch y=d=a=b.npy
has stderr '--fetch y=d=a=b.npy would replace --feed x=./a=b.npy'
expect 1 "$stepc" run net.onnxtxt --feed y=a=b.npy
has stderr "--feed y=a=b.npy: the model has no input 'y'"

# Nothing is fed twice.
expect 2 "$stepc" run net.onnxtxt --feed x=b.npy --feed x=far.npy
has stderr "--feed x=far.npy: input 'x' is fed already"
digits 1 32 ''
expect 2 "$stepc" run train.onnx --feed x=x.npy --data x=x.npy --data target=t.npy --batch 8
has stderr "input 'x' is given by --feed and by --data: leave one out"
expect 2 "$stepc" run train.onnx --data x=x.npy --data target=t.npy --data x=x.npy --batch 8
has stderr "--data x=x.npy: input 'x' has its data already"
