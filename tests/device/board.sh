# shellcheck shell=bash
# Emitted C on a Cortex-M board under QEMU: sourced by scripts here that have sourced tests/emitted/models.sh and set `work`.
# shellcheck disable=SC2154 # emitted_warnings, work

drive=(tests/emitted/drive.c runtime/*.c)

# on_board NAME BOARD CODE_AT DATA_AT CFLAG...: builds $work/NAME.c for it and prints the hash of a run
on_board() {
    local name=$1 board=$2 code=$3 data=$4
    shift 4
    arm-none-eabi-gcc "${emitted_warnings[@]}" -mthumb "$@" -ffp-contract=off -Iruntime -c "$work/$name.c" -o "$work/$name.o"
    sed "s/0x00000000/$code/; s/0x20000000/$data/" tests/device/link.ld >"$work/link.ld"
    arm-none-eabi-gcc -std=gnu99 -Wall -Wextra -mthumb "$@" -ffp-contract=off -ffunction-sections -fdata-sections -DMODEL="${name}_model" \
        -DSTATE_HEADER="\"$name.h\"" -DSTATE="${name}_state" -DARENA="${name}_arena" -Itests/emitted -Itests/device -Iruntime -I"$work" \
        tests/device/drive_main.c tests/device/start.c "${drive[@]}" "$work/$name.o" -nostartfiles --specs=nano.specs -T "$work/link.ld" \
        -Wl,--gc-sections -o "$work/$name.elf"
    timeout 120 qemu-system-arm -M "$board" -display none -monitor none -serial none -chardev stdio,id=sh \
        -semihosting-config enable=on,target=native,chardev=sh -icount shift=0 -kernel "$work/$name.elf" </dev/null
}
