#!/usr/bin/env bash
# usage: bounds.sh STEPC MAKE_NPY
# --bound: room for what a mask selects, in every command; one more than that is an error in both engines.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[6,2] x, int64[6] mask) => (float[n,2] y, float mean)
<float[2] w = {2, 3}>
{
    taken = Cast <to = 9> (mask)
    [pick] rows = Compress <axis = 0> (x, taken)
    y = Mul(rows, w)
    mean = ReduceMean <keepdims = 0> (y)
}
MODEL
seq 12 | "$make_npy" f4 6 2 >x.npy
printf '%s\n' 0 1 0 0 1 0 | "$make_npy" i8 6 >two.npy
printf '%s\n' 0 0 0 0 0 0 | "$make_npy" i8 6 >none.npy
printf '%s\n' 1 1 1 1 1 0 | "$make_npy" i8 6 >five.npy

# An output of such a size needs the option, which the message names.
expect 1 "$stepc" compile net.onnxtxt -o net.c
has stderr "error: how many elements output 'y' has along axis 0 follows from data (node 'pick' (Compress)); --bound NAME=N"
has stderr "'y_count', how many they are (6 is the most that there can be); --set mask=VALUE fixes it"
[ ! -e net.c ] || fail 'net.c was written'
expect 0 "$stepc" compile net.onnxtxt -o net.c --outputs mean

for name in pick rows; do
    for command in check inspect compare; do
        expect 0 "$stepc" "$command" net.onnxtxt --bound "$name=6"
    done
    expect 0 "$stepc" compile net.onnxtxt -o net.c --bound "$name=4"
    has net.c "options  --bound $name=4"
    has net.h 'float *y; /* [4,2] */'
    has net.h 'int64_t *y_count;'
done

gives() { # FILE TYPE NUMBER...: the file ends with them
    local file=$1 type=$2 size
    shift 2
    size=$(($# * ${type#?}))
    [ "$(tail -c "$size" "$file" | od -A n -t "$type" | sed s/-nan/nan/ | xargs)" = "$*" ] || fail "$file is not $*"
}
for engine in interpreted generated; do
    run=("$stepc" run net.onnxtxt --engine "$engine" --feed x=x.npy --fetch y=y.npy --fetch y_count=n.npy --fetch mean=m.npy)
    expect 0 "${run[@]}" --bound pick=3 --feed mask=two.npy
    gives y.npy f4 6 12 18 30 0 0
    gives n.npy d8 2
    gives m.npy f4 16.5
    expect 0 "${run[@]}" --bound pick=1 --feed mask=none.npy
    gives n.npy d8 0
    gives m.npy f4 nan
    expect 0 "${run[@]}" --bound pick=9 --feed mask=five.npy # there are 6
    gives y.npy f4 2 6 6 12 10 18 14 24 18 30 0 0
    expect 1 "${run[@]}" --bound pick=4 --feed mask=five.npy
done
has stderr 'infer() returned an error: an index is out of range'
expect 1 "$stepc" run net.onnxtxt --feed x=x.npy --bound pick=4 --feed mask=five.npy
has stderr 'data say that there are 5 elements, and there is room for 4'

# No label is one of those that are not there: what is no class is an error, whichever number it is.
cat >labels.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[3,4] x, int64[3] mask, int32[3] t) => (float loss)
{
    taken = Cast <to = 9> (mask)
    [pick] rows = Compress <axis = 0> (x, taken)
    [same] labels = Compress <axis = 0> (t, taken)
    loss = SoftmaxCrossEntropyLoss(rows, labels)
}
MODEL
seq 12 | "$make_npy" f4 3 4 >rows.npy
printf '%s\n' 1 0 1 | "$make_npy" i8 3 >mask.npy
for engine in interpreted generated; do
    run=("$stepc" run labels.onnxtxt --engine "$engine" --bound pick=3 --bound same=3 --feed x=rows.npy --feed mask=mask.npy --feed t=t.npy)
    printf '%s\n' 2 -2147483647 1 | "$make_npy" i4 3 >t.npy
    expect 0 "${run[@]}"
    for wrong in -1 4 -2147483648 -2147483647 -2147483646 2147483647; do
        printf '%s\n' 2 0 $wrong | "$make_npy" i4 3 >t.npy
        expect 1 "${run[@]}"
    done
    has stderr "$([ $engine = generated ] && echo 'a class label is out of range' || echo 'is outside [0, 4)')"
done

# Wrong use.
expect 2 "$stepc" compile net.onnxtxt -o wrong.c --bound pick=0
has stderr '--bound pick=0: expected NAME=N, from 1 to 1073741824'
expect 2 "$stepc" compile net.onnxtxt -o wrong.c --bound pick
has stderr '--bound pick: expected NAME=N'
expect 0 "$stepc" compile net.onnxtxt -o net.c --outputs mean --bound pck=4
has stderr "warning: --bound pck=4: no size of a node or tensor of this name follows from data"

# A prepared model has the option in it.
expect 0 "$stepc" prepare net.onnxtxt -o train.onnxtxt --loss output --output mean --bound pick=4
has train.onnxtxt '"stepc.bounds" : "pick=4"'
expect 0 "$stepc" compile train.onnxtxt -o train.c
has train.h 'float *y; /* [4,2] */'
for engine in interpreted generated; do
    expect 0 "$stepc" run train.onnxtxt --engine "$engine" --steps 2 --feed x=x.npy --feed mask=two.npy
    expect 1 "$stepc" run train.onnxtxt --engine "$engine" --steps 2 --feed x=x.npy --feed mask=five.npy
done

# Merged, the models' bounds are the whole's; one of its own and another of the same name cannot be.
expect 0 "$stepc" prepare net.onnxtxt -o again.onnxtxt --loss output --output mean --bound pick=4 --entry second --optimizer adam
expect 0 "$stepc" merge train.onnxtxt again.onnxtxt -o merged.onnxtxt
[ "$(grep -c '"stepc.bounds" : "pick=4"' merged.onnxtxt)" = 1 ] || fail 'merged.onnxtxt lacks its bound, or has two'
expect 0 "$stepc" compile merged.onnxtxt -o merged.c
has merged.h 'float *y; /* [4,2] */'
expect 0 "$stepc" prepare net.onnxtxt -o again.onnxtxt --loss output --output mean --bound pick=5 --entry second
expect 1 "$stepc" merge train.onnxtxt again.onnxtxt -o never.onnxtxt
has stderr 'again.onnxtxt: error: it was prepared with --bound pick=5, and train.onnxtxt with 4'
expect 0 "$stepc" prepare net.onnxtxt -o free.onnxtxt --loss output --output mean
expect 1 "$stepc" merge free.onnxtxt again.onnxtxt -o never.onnxtxt
has stderr 'again.onnxtxt: error: it was prepared with --bound pick=5, and free.onnxtxt, which has a node or tensor of that name, without'
sed 's/\<rows\>/lines/g; s/\<pick\>/choose/; s/\<y\>/lines_y/g; s/\<mean\>/m/g' net.onnxtxt >other.onnxtxt
expect 0 "$stepc" prepare other.onnxtxt -o again.onnxtxt --loss output --output m --bound choose=3 --entry second
expect 0 "$stepc" merge train.onnxtxt again.onnxtxt -o merged.onnxtxt
[ "$(tr "\n" " " <merged.onnxtxt | grep -c "pick=4 choose=3")" = 1 ] || fail "merged.onnxtxt lacks a bound"
expect 0 "$stepc" prepare train.onnxtxt -o more.onnxtxt --loss mse --output y --bound y=4 --entry third
[ "$(tr "\n" " " <more.onnxtxt | grep -c "pick=4 y=4")" = 1 ] || fail "more.onnxtxt lacks a bound"
[ "$(grep -o 'stepc\.bounds' more.onnxtxt | wc -l)" = 1 ] || fail 'more.onnxtxt has bounds twice'
