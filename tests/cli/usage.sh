#!/usr/bin/env bash
# usage: usage.sh STEPC MAKE_NPY
# Help, and what wrong usage is told.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3

# Help is one text, however it is asked for; headings divide the options.
expect 0 "$stepc" help prepare
mv stdout help.txt
has help.txt '--optimizer NAME[:KEY=VALUE,...]'
has help.txt 'what is trained'
expect 0 "$stepc" prepare --help
same stdout help.txt
for rest in 'train.onnx --help' 'train.onnx --loss mse -h' '--out train.c --help nothing.onnx'; do
    # shellcheck disable=SC2086 # words
    expect 0 "$stepc" prepare $rest
    same stdout help.txt
done
expect 2 "$stepc" prepare -- nothing.onnx --help
has stderr 'expected one MODEL, got 2'
expect 2 "$stepc"
expect 0 "$stepc" help
mapfile -t commands < <(sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' stdout)
for command in "${commands[@]}"; do
    expect 0 "$stepc" help "$command"
done

# What may have been meant.
expect 2 "$stepc" compil
has stderr "did you mean 'compile'?"
expect 2 "$stepc" compile train.onnx -o train.c --reproducable
has stderr 'Did you mean --reproducible?'
expect 2 "$stepc" compile train.onnx -o train.c --reprod
has stderr 'Did you mean --reproducible?'
expect 2 "$stepc" compile train.onnx --output
lacks stderr 'Did you mean'
expect 2 "$stepc" prepare "$source_folder/examples/digits/model.onnx" --output train2.onnx --loss mse
has stderr '--output is the tensor that the loss reads'

# Without a model, with one too many; and no option goes by a part of its name, which may become another's.
for command in check compile prepare inspect run compare convert strip merge verify; do
    expect 2 "$stepc" $command
    has stderr "stepc $command: "
    has stderr "Try 'stepc help $command'."
done
for command in compile prepare inspect run compare strip; do
    expect 2 "$stepc" $command train.onnx train.onnx
    has stderr "stepc $command: expected one MODEL, got 2"
done
for command in "${commands[@]}"; do
    expect 0 "$stepc" help "$command"
    mapfile -t options < <(sed -n 's/^ *\(-., \)\{0,1\}--\([a-z-]*\).*/\2/p' stdout)
    for option in "${options[@]}"; do
        case " ${options[*]} " in *" ${option%?} "*) continue ;; esac
        expect 2 "$stepc" "$command" "--${option%?}" x
        has stderr "unrecognized option '--${option%?}'"
    done
done

# Names that are in no model say so, but nothing else changes.
expect 0 "$stepc" compile train.onnx -o plain.c --name train --dim batch=4
[ ! -s stderr ] || fail 'a warning without reason'
expect 0 "$stepc" compile train.onnx -o train.c --dim batsh=3 --dim batch=4 --dim infer:batch=4 --shape y=4x64
has stderr "--dim batsh=3: the model has no symbolic dimension 'batsh'; did you mean 'batch'?"
has stderr "--shape y=4x64: the model has no input 'y'"
[ "$(wc -l <stderr)" -eq 2 ] || fail 'two warnings are expected'

# Wrong values, and options that say nothing without others, are wrong usage of all commands; what a file holds is not.
misused() { # TEXT COMMAND...
    expect 2 "$stepc" "${@:2}"
    has stderr "error: $1"
    [ "$(wc -l <stderr)" -eq 1 ] || fail 'one message is expected'
}
for command in check inspect run compare 'compile -o train.c' 'prepare -o train2.onnx --loss mse'; do
    # shellcheck disable=SC2086 # words
    misused '--dim batch=x: expected NAME=SIZE' $command train.onnx --dim batch=x
done
misused '--engine gen: expected interpreted or generated' run train.onnx --engine gen
misused '--arithmetic single: expected double or same' run train.onnx --arithmetic single
misused '--arithmetic single: expected double or same' compare train.onnx --arithmetic single
misused '--engine gen: expected both, interpreted, generated or expanded' verify . --engine gen
misused '--rtol much: expected a number' verify . --rtol much
misused '--rtol much: expected a number' compare train.onnx --against . --rtol much
misused '--rtol belongs to --against' compare train.onnx --rtol 1
misused '--reproducible and --arithmetic same belong together' compare train.onnx --reproducible
for command in run compare inspect 'compile -o train.c'; do
    # shellcheck disable=SC2086
    misused '--optimize fast: expected speed or size' $command train.onnx --optimize fast
    # shellcheck disable=SC2086
    misused '--machine z80: expected' $command train.onnx --machine z80
done
for option in feed fetch data; do
    misused "--$option x: expected NAME=FILE" run train.onnx --$option x
done
misused '--partial belongs to --load' run train.onnx --partial
misused '--rename x: expected NAME=NAME' convert train.onnx train.onnxtxt --rename x
misused '--tie w: expected A=B' prepare "$source_folder/examples/digits/model.onnx" -o train2.onnx --loss mse --tie w
expect 1 "$stepc" run missing.onnx
expect 1 "$stepc" prepare train.onnx -o train2.onnx --loss mse --class-weights missing.npy

expect 2 "$stepc" compile train.onnx -o train.c --dim batch=4 --dump-after fusion
has stderr 'there is no such pass'
expect 0 "$stepc" ops Gemm Softmax
[ "$(wc -l <stdout)" -eq 3 ] || fail 'a heading and two rows are expected'
expect 1 "$stepc" ops gemm
has stderr "operator 'gemm' is not supported; did you mean 'Gemm'?"
mkdir empty
expect 1 "$stepc" verify empty
has stderr 'a test is a folder with model.onnx and test_data_set_0'
