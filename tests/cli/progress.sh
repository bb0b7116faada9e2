#!/usr/bin/env bash
# usage: progress.sh STEPC MAKE_NPY
# The bar that `run` draws on a terminal: how many steps of how many, the loss, the time that is left. Nothing elsewhere, with --quiet, of one
# step, or where the losses go to the terminal themselves.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
command -v script >/dev/null || skip 'script is not installed' # util-linux has it

digits 1 32 ''
prepared t.onnx 0.1
step=("$stepc" run t.onnx --engine interpreted --feed x=x.npy --feed target=t.npy)

# on_terminal OPTION...: what the terminal is given beside the losses, which go to a file; carriage returns as line ends
on_terminal() {
    script -qec "$(printf '%q ' "${step[@]}" "$@") >losses" /dev/null </dev/null >terminal || fail "run $*"
    tr '\r' '\n' <terminal >lines
}

on_terminal --steps 12
has lines '[##                            ] 1/12  loss '
grep -qE '^\[#{30}\] 12/12  loss [0-9.]+  0:00 left' lines || fail "no full bar: $(cat -v lines)"
[ "$(grep -c '12/12' lines)" -eq 1 ] || fail 'the end is drawn twice'
! grep -qE '1/12 .*[1-9][0-9]*:[0-9][0-9]:' lines || fail 'hours of milliseconds'
script -qec "$(printf '%q ' "${step[@]}" --steps 12)" /dev/null </dev/null >lines # the losses are progress enough
lacks lines '12/12'
on_terminal --steps 12 --quiet
lacks lines '12/12'
on_terminal --steps 1
lacks lines '1/1'
expect 0 "${step[@]}" --steps 12
lacks stderr '12/12'
