#!/bin/sh
# Proves both portable forms of mlp_64_32_10.c free of run-time errors, with 64-bit and with 32-bit long and pointers.
command -v frama-c >/dev/null 2>&1 || exit 77
for form in 0 1; do
    for machine in x86_64 gcc_x86_32; do
        frama-c -machdep $machine -eva -eva-no-print -warn-special-float none \
            -cpp-extra-args="-I../../runtime -DSTEPC_FORM=$form" mlp_eva.c mlp_64_32_10.c \
            -eva-warn-key alarm=abort >/dev/null 2>&1 || { echo "form $form, $machine: an alarm"; exit 1; }
        echo "form $form, $machine: proved"
    done
done
