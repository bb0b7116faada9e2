#!/bin/sh
# usage: run_mlp.sh BUILD_FOLDER
# Builds the golden program for Cortex-M3, M4F and M7 and runs it under QEMU: the bits of the host, code below 4 kB at
# -Os and 4.2 kB at -O2, no heap.
build=$1
command -v arm-none-eabi-gcc >/dev/null 2>&1 || exit 77
command -v qemu-system-arm >/dev/null 2>&1 || exit 77
include="-I../../runtime -I../golden"
flags="-ffp-contract=off -ffunction-sections -fdata-sections $include"
warnings="-Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion -Wundef -Wcast-qual -Wmissing-prototypes -pedantic -Werror"

# run MACHINE LEVEL LIMIT CPU_FLAGS...
# shellcheck disable=SC2086 # flags are words
run() {
    machine=$1 level=$2 limit=$3
    shift 3
    arm-none-eabi-gcc -std=c99 "$@" $level $warnings $flags -c ../golden/mlp_64_32_10.c -o "$build/mlp.o" || exit 1
    arm-none-eabi-gcc -std=gnu99 "$@" $level -Wall -Wextra $flags mlp_main.c start.c ../golden/mlp_curve.c \
        ../../runtime/stepc.c "$build/mlp.o" -nostartfiles --specs=nano.specs -T link.ld -Wl,--gc-sections \
        -o "$build/mlp.elf" || exit 1
    if arm-none-eabi-nm "$build/mlp.elf" | grep -qE 'malloc|sbrk'; then
        echo "$machine: the image has a heap"
        exit 1
    fi
    code=$(arm-none-eabi-size -A "$build/mlp.o" | awk '/^\.text/ {sum += $2} END {print sum}')
    echo "$machine $level: code $code bytes"
    [ "$code" -lt "$limit" ] || { echo "code is above $limit bytes"; exit 1; }
    timeout 60 qemu-system-arm -M "$machine" -display none -monitor none -serial none -chardev stdio,id=sh \
        -semihosting-config enable=on,target=native,chardev=sh -icount shift=0 -kernel "$build/mlp.elf" </dev/null ||
        { echo "$machine: wrong bits or a fault"; exit 1; }
}
run mps2-an386 -Os 4000 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
run mps2-an386 -O2 4200 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
run mps2-an385 -Os 4200 -mcpu=cortex-m3 -mthumb -mfloat-abi=soft
run mps2-an500 -O2 4200 -mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16
