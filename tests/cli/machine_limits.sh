#!/usr/bin/env bash
# usage: machine_limits.sh STEPC MAKE_NPY
# --machine: what a machine of 16 bits cannot do is refused; so are names without a row, with the row to take.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
compile=("$stepc" compile train.onnx --dim batch=32)

# 16 bits: what they cannot address, and a double that has 32
avr=("$stepc" compile "$source_folder/examples/digits/model.onnx" -o narrow16.c --loss softmax-cross-entropy --machine avr --quiet)
expect 0 "${avr[@]}" --dim batch=1
expect 1 "${avr[@]}" --dim batch=200
has stderr "input 'x' has 51200 bytes, more than the 32767 that an object may have where addresses have 16 bits (--machine avr)"
has stderr 'the arena has'
expect 1 "${avr[@]}" --dim batch=100 --optimizer momentum --ema 0.5
has stderr 'take more than the 65535 bytes that addresses of 16 bits reach (--machine avr)'
expect 1 "${avr[@]}" --dim batch=1 --optimizer adam
has stderr 'error: computes in double, and with --machine avr double has 32 bits'
has stderr '(Adam)'
expect 0 "$stepc" compile "$source_folder/examples/digits/model.onnx" -o narrow16.c --loss softmax-cross-entropy --quiet --dim batch=1 --optimizer adam --optimize size
cat >wide.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
wide (double[4] x) => (double[4] y) { y = Relu(x) }
END
expect 1 "$stepc" compile wide.onnxtxt -o wrong.c --machine avr
has stderr "input 'x' is double, and with --machine avr"

# wrong names
expect 2 "${compile[@]}" -o wrong.c --machine cortex-m44
has stderr "--machine cortex-m44: expected generic, x86-64,"
has stderr "avr or wasm32; take 'cortex-m4' for it"
expect 2 "${compile[@]}" -o wrong.c --machine wasm33
has stderr "avr or wasm32; take 'wasm32' for it"
# cores that rows speak for, and chips
for pair in cortex-m23:cortex-m0 cortex-m0+:cortex-m0 cortex-m85:cortex-m55 cortex-m35p:cortex-m33 cortex-m33f:cortex-m33 STM32F407:cortex-m4 \
    stm32h743:cortex-m7 stm32wb55:cortex-m4 stm32wb09:cortex-m0 stm32wl33:cortex-m0 nrf52840:cortex-m4 rp2040:cortex-m0 esp32c3:rv32 rv32imc:rv32 atmega2560:avr; do
    expect 2 "${compile[@]}" -o wrong.c --machine "${pair%:*}"
    has stderr "take '${pair#*:}' for it"
done
for name in esp32s3 xtensa; do
    expect 2 "${compile[@]}" -o wrong.c --machine $name
    has stderr 'none of these is it: leave --machine out'
done
expect 2 "${compile[@]}" -o wrong.c --machine pdp
lacks stderr 'did you mean'
expect 2 "$stepc" run train.onnx --dim batch=32 --engine generated --machine pdp
[ ! -e wrong.c ] || fail 'wrong usage, and a file is written'
