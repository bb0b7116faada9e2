# shellcheck shell=bash
# What the tests of the command line share: sourced as `. common.sh "$@"`, with STEPC and MAKE_NPY as arguments.
# Leaves the shell in an empty folder that is removed at the end.
set -euo pipefail
stepc=$(realpath "$1")
make_npy=$(realpath "$2")
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    [ ! -s stderr ] || sed 's/^/    | /' stderr >&2
    exit 1
}

# skip REASON: for want of what the system does not have
# shellcheck disable=SC2317 # called by the scripts that source this file
skip() {
    echo "$*"
    exit 77
}

# expect STATUS COMMAND...: stdout and stderr of the command go to the files of these names
expect() {
    local wanted=$1 status=0
    shift
    "$@" >stdout 2>stderr || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status, expected $wanted: $*"
}

# has FILE TEXT, lacks FILE TEXT
has() {
    grep -qF -- "$2" "$1" || fail "$1 lacks: $2"
}
lacks() {
    ! grep -qF -- "$2" "$1" || fail "$1 has: $2"
}

same() {
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}
differ() {
    ! cmp -s "$1" "$2" || fail "$1 and $2 are the same"
}

# digits FIRST COUNT PREFIX: rows of the digits example as PREFIXx.npy (float, 0 to 1) and PREFIXt.npy (int64)
digits() {
    sed -n "$1,$(($1 + $2 - 1))p" "$source_folder/examples/digits/digits.csv" >rows.csv
    awk -F, '{ for (i = 1; i <= 64; i++) print $i / 16 }' rows.csv | "$make_npy" f4 "$2" 64 >"$3x.npy"
    cut -d, -f65 rows.csv | "$make_npy" i8 "$2" >"$3t.npy"
}

# prepared FILE RATE: the digits network with SGD
# shellcheck disable=SC2317 # called by the scripts that source this file
prepared() {
    expect 0 "$stepc" prepare "$source_folder/examples/digits/model.onnx" -o "$1" --loss softmax-cross-entropy --optimizer sgd \
        --learning-rate "$2"
}

# learns FILE OPTION...: three steps of the prepared FILE.onnxtxt with x.npy and target.npy, as FILE.losses and FILE.report
# shellcheck disable=SC2317
learns() {
    local file=$1
    shift
    expect 0 "$stepc" prepare "$file.onnxtxt" -o "$file.onnx" --learning-rate 0.3 "$@"
    grep -v written: stdout >"$file.report"
    expect 0 "$stepc" check "$file.onnx" --quiet
    expect 0 "$stepc" run "$file.onnx" --feed x=x.npy --feed target=target.npy --steps 3
    mv stdout "$file.losses"
}

# learns_alike A B OPTION...: both do, with the same losses
# shellcheck disable=SC2317
learns_alike() {
    local a=$1 b=$2
    shift 2
    learns "$a" "$@"
    learns "$b" "$@"
    same "$a.losses" "$b.losses"
}
