#!/usr/bin/env bash
# usage: inspect_options.sh STEPC MAKE_NPY
# inspect states the memory that a compile with the same options needs; no option is taken for another that begins like it.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
model=$source_folder/examples/digits/model.onnx

# agree OPTIONS...
agree() {
    local wanted
    expect 0 "$stepc" compile "$model" -o net.c --dim batch=32 --loss softmax-cross-entropy "$@"
    wanted=$(sed -n 's/^ \*   memory   *state \([0-9]*\) bytes, arena \([0-9]*\) bytes.*/state \1, arena \2/p' net.c)
    [ -n "$wanted" ] || fail 'net.c does not say its memory'
    expect 0 "$stepc" inspect "$model" --dim batch=32 --loss softmax-cross-entropy "$@"
    has stdout "$wanted"
    echo "$wanted" >>figures
}
agree
agree --optimize size
agree --simd none
agree --threads 4
agree --blas
agree --reproducible
agree --check-finite
agree --entries init,step
agree --weights file --optimize size --threads 2
[ "$(sort -u figures | wc -l)" -gt 1 ] || fail 'no option changes anything: nothing was tested'



expect 2 "$stepc" inspect "$model" --optimize fast
has stderr '--optimize fast: expected speed or size'
for option in --thread --weight; do
    expect 2 "$stepc" inspect "$model" $option size
    has stderr "unrecognized option '$option'"
done
expect 2 "$stepc" compile "$model" -o net.c --reprod
has stderr 'Did you mean --reproducible?'
expect 2 "$stepc" prepare "$model" -o p.onnx --loss mse --optimi=sgd
has stderr "unrecognized option '--optimi=sgd'"
