#!/usr/bin/env bash
# usage: run_data.sh STEPC MAKE_NPY
# Whole data sets: batches, epochs, order, validation, the table and the picture.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
digits 1 150 ''
digits 151 70 v
train=("$stepc" run train.onnx --data x=x.npy --data target=t.npy --batch 32)

# An incomplete batch is dropped and this is said: 150 = 4 * 32 + 22.
expect 0 "${train[@]}" --epochs 3 --csv plain.csv
has stderr '22 of 150 samples of --data do not fill a batch of 32'
[ "$(wc -l <stdout)" -eq 3 ] || fail 'a line an epoch is expected'
[ "$(wc -l <plain.csv)" -eq 13 ] || fail 'a row for each of 12 steps is expected'
[ "$(head -n 1 plain.csv)" = step,epoch,loss ] || fail 'the first row of the table names its columns'
awk -F, 'NR > 1 && ($1 != NR - 2 || $2 != int((NR - 2) / 4) || !($3 > 0 && $3 < 4)) { exit 1 }' plain.csv || fail 'rows of plain.csv'
awk -F, 'NR == 2 { first = $3 } END { exit !($3 < first) }' plain.csv || fail 'the loss does not fall'

# The same numbers as the same batches fed one by one.
head -n 128 "$source_folder/examples/digits/digits.csv" >rows.csv
awk -F, '{ for (i = 1; i <= 64; i++) print $i / 16 }' rows.csv | "$make_npy" f4 4 32 64 >fx.npy
cut -d, -f65 rows.csv | "$make_npy" i8 4 32 >ft.npy
expect 0 "$stepc" run train.onnx --feed x=fx.npy --feed target=ft.npy --csv fed.csv
[ "$(head -n 1 fed.csv)" = step,loss ] || fail 'the first row of fed.csv'
same <(tail -n +2 fed.csv | cut -d, -f2) <(sed -n 2,5p plain.csv | cut -d, -f3)

# An order depends on the seed and the epoch alone.
expect 0 "${train[@]}" --epochs 2 --shuffle 7 --csv seven.csv
expect 0 "${train[@]}" --epochs 2 --shuffle 7 --csv again.csv
expect 0 "${train[@]}" --epochs 2 --shuffle 8 --csv eight.csv
same seven.csv again.csv
differ seven.csv eight.csv
differ <(head -n 5 seven.csv) <(head -n 5 plain.csv)
expect 0 "${train[@]}" --steps 6 --shuffle 7 --csv six.csv
same six.csv <(head -n 7 seven.csv)

# Both engines: the same bits, whatever the order.
expect 0 "${train[@]}" --epochs 2 --shuffle 7 --quiet --hash --arithmetic same
[ ! -s stderr ] || fail 'quiet says something'
cp stdout same.hash
expect 0 "${train[@]}" --epochs 2 --shuffle 7 --quiet --hash --engine generated --reproducible
same stdout same.hash
[ "$(grep -cxE '(curve|outputs|state) [0-9a-f]{64}' same.hash)" = 3 ] || fail 'no digests'

# Both say how long: whichever ends first.
expect 0 "${train[@]}" --epochs 3 --steps 5 --csv five.csv
same <(head -n 6 plain.csv) five.csv
expect 0 "${train[@]}" --epochs 1 --steps 100 --csv one.csv
same one.csv <(awk -F, 'NR == 1 || $2 == 0' plain.csv)

# Validation without an entry evaluate: accuracy by infer, and what is computed is said.
validate=(--validate x=vx.npy --validate target=vt.npy)
expect 0 "${train[@]}" "${validate[@]}" --epochs 3 --csv valid.csv --plot valid.svg
has stdout "validate: entry 'infer', 2 batches of 32; accuracy: share of 'target' found by the largest of 'logits' along axis 1"
has stdout 'validate.accuracy 0.'
has stderr '6 of 70 samples of --validate'
[ "$(head -n 1 valid.csv)" = step,epoch,loss,validate.accuracy ] || fail 'the first row of valid.csv'
same <(cut -d, -f1-3 valid.csv) plain.csv
[ "$(cut -d, -f4 valid.csv | grep -c .)" -eq 4 ] || fail 'a value of the validation for each epoch is expected'

# Labels of several places: classes behind the samples or last.
for layer in 'y = Conv(x, w)' 'c = Conv(x, w) y = Transpose <perm = [0, 2, 1]> (c)'; do
    case $layer in y*) shape='N,3,5' axis=1 ;; *) shape='N,5,3' axis=2 ;; esac
    cat >places.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,2,5] x) => (float[$shape] y) <float[3,2,1] w = {1, 0, 0, 1, -1, -1}> { $layer }
MODEL
    seq 1 40 | awk '{ print sin($1) }' | "$make_npy" f4 4 2 5 >px.npy
    seq 1 20 | awk '{ print $1 % 3 }' | "$make_npy" i8 4 5 >pt.npy
    expect 0 "$stepc" prepare places.onnxtxt -o places.onnx --loss softmax-cross-entropy --class-axis $axis --quiet
    expect 0 "$stepc" run places.onnx --data x=px.npy --data target=pt.npy --batch 2 --validate x=px.npy --validate target=pt.npy
    has stdout "accuracy: share of 'target' found by the largest of 'y' along axis $axis"
done

# The picture: well-formed as far as a shell can see, with axes, labels and both curves.
has valid.svg '<title>train.onnx: step</title>'
has valid.svg '>validate.accuracy</text>'
has valid.svg '>loss</text>'
has valid.svg '>step</text>'
[ "$(grep -c '<path fill="none" stroke="#' valid.svg)" -eq 2 ] || fail 'two curves are expected'
[ "$(tail -n 1 valid.svg)" = '</svg>' ] || fail 'valid.svg is not complete'
lacks valid.svg nan
lacks valid.svg inf
if command -v xmllint >/dev/null; then
    xmllint --noout valid.svg || fail 'valid.svg is not XML'
fi

# Labels alone validate nothing; mistakes are named.
expect 1 "${train[@]}" --validate x=vx.npy
has stderr 'nothing to validate'
expect 1 "$stepc" run train.onnx --data x=x.npy --data target=t.npy
has stderr 'give --batch N'
expect 1 "${train[@]}" --dim batch=16
has stderr "input 'x' takes batches of 16, not of 32"
expect 1 "$stepc" run train.onnx --data x=x.npy --data target=vt.npy --batch 32
has stderr "the file holds 70 samples, 'x' has 150"
expect 1 "$stepc" run train.onnx --data x=x.npy --data target=x.npy --batch 32
has stderr "the file holds float, but input 'target' is int64"
expect 1 "$stepc" run train.onnx --data x=x.npy --data target=t.npy --batch 151
has stderr '150 samples do not fill one batch of 151'
expect 1 "$stepc" run train.onnx --data x=x.npy --batch 32
has stderr "input 'target' int64[32] is not fed; give --data target=FILE"
expect 2 "$stepc" run train.onnx --feed x=fx.npy --epochs 2
has stderr '--epochs belongs to --data'
