# shellcheck shell=bash
# The models whose emitted C is checked, and how: sourced by the scripts here, by costs/, golden/ and device/.

# One line each: NAME MODEL BATCH PREPARE_OPTIONS...; the model is relative to the top folder. Without options it is compiled as
# it is, with options it is prepared first.
emitted_models='
digits_infer    examples/digits/model.onnx 32
digits_sgd      examples/digits/model.onnx 32 --loss softmax-cross-entropy --optimizer sgd --learning-rate 0.1 --initialize he
digits_adam     examples/digits/model.onnx 32 --loss softmax-cross-entropy --optimizer adam --learning-rate 0.002 --initialize he
digits_clipped  examples/digits/model.onnx 5 --loss softmax-cross-entropy --optimizer adamw --clip-norm 1 --gradients
digits_momentum examples/digits/model.onnx 7 --loss softmax-cross-entropy --optimizer nesterov --initialize glorot
digits_mse      examples/digits/model.onnx 1 --loss mse --optimizer adagrad --learning-rate 0.01 --initialize he
digits_huber    examples/digits/model.onnx 16 --loss huber --optimizer rmsprop --learning-rate-input rate
'

# The flags under which emitted C and the runtime are silent.
# shellcheck disable=SC2034
emitted_warnings=(-std=c99 -Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion -Wundef -Wcast-qual -Wmissing-prototypes
    -pedantic -Werror)

# With STEPC_TEST_PROGRAMS=no scripts only write C, with STEPC_TEST_LONG=no they build it in fewer ways.
builds_programs() { [ "${STEPC_TEST_PROGRAMS:-yes}" = yes ]; }
is_long() { [ "${STEPC_TEST_LONG:-yes}" = yes ]; }

# program FOLDER NAME COMPILER FLAG...: FOLDER/NAME.c with the driver, which is compiled once for a compiler and its flags
program() {
    local folder=$1 name=$2 cc=$3 driver source object
    shift 3
    driver=$folder/driver$(printf '_%s' "$cc" "$@" | tr -c 'a-zA-Z0-9_\n' _)
    mkdir -p "$driver"
    for source in tests/emitted/drive.c runtime/*.c; do
        object=$driver/$(basename "$source" .c).o
        [ -e "$object" ] || "$cc" -std=c99 -ffp-contract=off "$@" -Iruntime -c "$source" -o "$object" || return 1
    done
    "$cc" "${emitted_warnings[@]}" -ffp-contract=off "$@" -I"$folder" -Iruntime -c "$folder/$name.c" -o "$folder/$name.o" &&
        "$cc" -std=c99 -ffp-contract=off "$@" -DMODEL="${name}_model" -I"$folder" -Iruntime tests/emitted/host_main.c "$driver"/*.o \
            "$folder/$name.o" -lm -o "$folder/$name"
}

# for_each_model FUNCTION: calls FUNCTION NAME MODEL BATCH PREPARE_OPTIONS... for every line. The first error ends the script:
# callers have `set -e`, which a call in a condition would switch off.
for_each_model() {
    local name model batch options
    while read -r name model batch options <&3; do
        [ -n "$name" ] || continue
        echo "== $name"
        # shellcheck disable=SC2086 # options are words
        "$1" "$name" "$model" "$batch" $options
    done 3<<<"$emitted_models"
}

# emit STEPC FOLDER NAME MODEL BATCH COMPILE_OPTIONS -- PREPARE_OPTIONS...: FOLDER/NAME.c and .h
emit() {
    local stepc=$1 folder=$2 name=$3 model=$4 batch=$5 options=()
    shift 5
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    if [ $# -gt 0 ]; then
        "$stepc" prepare "$model" -o "$folder/$name.onnx" --quiet "$@"
        model=$folder/$name.onnx
    fi
    "$stepc" compile "$model" -o "$folder/$name.c" --name "$name" --dim batch="$batch" "${options[@]}"
}

# for_each_preparation FUNCTION: calls FUNCTION WHICH PREPARE_OPTION... for every loss and every optimizer, each in several ways; WHICH is
# `--loss NAME` or `--optimizer NAME`
for_each_preparation() {
    local loss optimizer form
    for loss in softmax-cross-entropy nll mse l1 huber bce bce-logits; do
        for form in '' '--accumulate 2' '--split' '--sample-weight w' '--accumulate 2 --sample-weight w' '--evaluate --gradients'; do
            # shellcheck disable=SC2086 # words
            "$1" "--loss $loss" --loss "$loss" $form
        done
    done
    for optimizer in sgd:norm_coefficient=0.1 momentum nesterov adagrad:decay_factor=0.1 adam adamw:weight_decay=0.1 amsgrad nadam radam adamax \
        lamb:weight_decay=0.1 lion:weight_decay=0.1 adafactor:beta1=0.9,weight_decay=0.1 adafactor:relative_step=0 \
        adafactor:scale_parameter=0,warmup_init=1 rmsprop:centered=1,momentum=0.9; do
        for form in '' '--clip-norm 1 --ema 0.9' '--learning-rate-input rate' '--schedule cosine:steps=10,floor=0.1,warmup=2'; do
            # shellcheck disable=SC2086
            "$1" "--optimizer ${optimizer%%:*}" --loss softmax-cross-entropy --optimizer "$optimizer" $form
        done
    done
}
