#!/usr/bin/env bash
# usage: machines.sh STEPC MAKE_NPY
# --machine: every name compiles, leaves only what the machine uses, and gives the bits of all others. tests/device runs some on boards.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
compile=("$stepc" compile train.onnx --dim batch=32)

expect 0 "$stepc" help machines
mapfile -t machines < <(awk '$2 ~ /^(-|[0-9]+)$/ { print $1 }' stdout)
[ "${#machines[@]}" -ge 15 ] || fail 'machines are missing'

# no instruction set and no compiler: these are the business of the runtime's headers
others='x86|avx|[^a-z]sse[0-9]|neon|[^a-z]amd[^a-z]|clang|vector_size|simd|vectori'
expect 0 "${compile[@]}" -o any.c --name net
digits 1 32 a
run=("$stepc" run train.onnx --dim batch=32 --engine generated --reproducible --feed x=ax.npy --feed target=at.npy --hash --quiet)
expect 0 "${run[@]}"
mv stdout hash
for machine in "${machines[@]}"; do
    expect 0 "${compile[@]}" -o "$machine.c" --name net --machine "$machine" --check
    has "$machine.c" " *   options  --dim batch=32 --machine $machine"
    expect 0 "${run[@]}" --machine "$machine"
    same stdout hash
    case $machine in
    generic)
        expect 0 diff <(sed '/^ [*]   options/d; /BUILD_ID/d; s/generic[.]/any./' generic.c) <(sed '/^ [*]   options/d; /BUILD_ID/d' any.c)
        ;;
    x86-64* | aarch64)
        has "$machine.c" '#include "kernels/stepc_tile.h"'
        lacks "$machine.c" '#define STEPC_'
        ;;
    *)
        lacks "$machine.c" STEPC_LANE_LOOP
        lacks "$machine.c" stepc_compiler.h
        ;;
    esac
    ! sed "/^ [*]   options/d; /BUILD_ID/d; s/$machine//g" "$machine.c" "$machine.h" | grep -niE "$others" || fail "$machine: names an instruction set"
done

# microcontrollers: code size first, and no word of vectors; a machine's vectors and its preference can be overruled
for machine in cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55 rv32 avr; do
    ! sed '/^ [*]   options/d; /BUILD_ID/d' "$machine.c" "$machine.h" | grep -ni vector || fail "$machine: vectors"
    has "$machine.c" '#define STEPC_SMALL'
    lacks "$machine.c" tile
done
[ "$(wc -l <cortex-m4.c)" -lt "$(wc -l <any.c)" ] || fail 'the file for cortex-m4 is no shorter'
expect 0 "${compile[@]}" -o fast.c --machine cortex-m4 --optimize speed
has fast.c '#include "kernels/stepc_tile.h"'
has fast.c '#define STEPC_FORM 0'
lacks fast.c STEPC_SMALL
expect 0 "${compile[@]}" -o narrow.c --machine x86-64-v3 --simd 4 --check
has narrow.c '#define STEPC_VECTOR_BYTES 16'
expect 0 "${compile[@]}" -o scalar.c --machine x86-64-v3 --simd none
has scalar.c '#define STEPC_FORM 0'
expect 0 "${compile[@]}" -o wide.c --machine cortex-m4 --optimize speed --simd 8 --check
has wide.c '#define STEPC_VECTOR_BYTES 32'
for options in '--machine cortex-m4 --optimize speed' '--machine x86-64-v3 --simd 4' '--machine x86-64-v4 --simd none' \
    '--machine x86-64-v4 --optimize size' '--machine rv64 --simd auto' '--machine cortex-m4 --simd 8'; do
    # shellcheck disable=SC2086 # words
    expect 0 "${run[@]}" $options
    same stdout hash
done
expect 0 "$stepc" compare train.onnx --dim batch=4 --reproducible --arithmetic same --machine cortex-m4 --quiet
expect 0 "$stepc" inspect train.onnx --dim batch=4 --machine cortex-m4

# with the runtime in the files
expect 0 "${compile[@]}" -o alone.c --machine cortex-m4 --standalone --check
lacks alone.c stepc_tile
expect 0 "${compile[@]}" -o alone.c --machine x86-64-v4 --standalone --check
