#!/usr/bin/env bash
# usage: compile_range.sh STEPC MAKE_NPY
# --dim batch=1..32: one program takes 1 to 32 samples a call, with the bits of programs for these numbers alone. What cannot depend on a
# range is refused, with its node.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/emitted/models.sh
. "$source_folder/tests/emitted/models.sh"
cc=${CC:-cc}

# ---- programs: steps of 1, 7 and 32 samples in turn ----

cat >program.c <<'C'
#include "fixed_1.h"
#include "fixed_32.h"
#include "fixed_7.h"
#include "range.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 9, MOST = 32, PIXELS = 64, CLASSES = 10 };

static range_state state, before;
static range_arena work;
static float x[MOST * PIXELS], logits[2][(MOST + 1) * CLASSES], values[2][PIXELS * PIXELS];
static int64_t target[MOST];

static int fail(const char *what, int n)
{
    printf("%s, %d samples\n", what, n);
    exit(1);
}

/* Both states hold the same; how they lie in memory may differ. */
static void copy_state(const stepc_model *fixed, void *to)
{
    for (size_t i = 0; i < range_model.variable_count; i++) {
        const stepc_variable_info *const v = &range_model.variables[i];
        stepc_read_variable(v, &state, values[0]);
        stepc_write_variable(stepc_find_variable(fixed, v->tensor.name), to, values[0]);
    }
}

static void compare_state(const stepc_model *fixed, const void *other, int n)
{
    for (size_t i = 0; i < range_model.variable_count; i++) {
        const stepc_variable_info *const v = &range_model.variables[i];
        memset(values, 0, sizeof values);
        stepc_read_variable(v, &state, values[0]);
        stepc_read_variable(stepc_find_variable(fixed, v->tensor.name), other, values[1]);
        if (memcmp(values[0], values[1], sizeof values[0]) != 0)
            fail(v->tensor.name, n);
    }
}

/* A step of each from the same state. The row behind the last stays as it was. */
static void compare_step(const stepc_model *fixed, int32_t n)
{
    void *const other = calloc(1, fixed->state_bytes), *const arena = calloc(1, fixed->arena_bytes);
    const stepc_entry *const step = stepc_find_entry(fixed, "step"), *const infer = stepc_find_entry(fixed, "infer");
    float loss[2] = {0, 0};
    copy_state(fixed, other);
    memset(logits, 0x7f, sizeof logits);
    const range_step_inputs in = {x, target, n};
    if (range_step(&state, &work, &in, &(range_step_outputs){logits[0], &loss[0]}) != STEPC_OK ||
        step->call(other, arena, 0, (const void *const[]){x, target}, (void *const[]){logits[1], &loss[1]}) != STEPC_OK)
        fail("step", n);
    if (memcmp(logits[0], logits[1], sizeof logits[0]) != 0 || memcmp(&loss[0], &loss[1], sizeof loss[0]) != 0)
        fail("outputs of a step", n);
    compare_state(fixed, other, n);
    if (stepc_find_entry(&range_model, "infer")
                ->call(&state, &work, 0, (const void *const[]){x, &n}, (void *const[]){logits[0]}) != STEPC_OK ||
        infer->call(other, arena, 0, (const void *const[]){x}, (void *const[]){logits[1]}) != STEPC_OK ||
        memcmp(logits[0], logits[1], sizeof logits[0]) != 0)
        fail("infer", n);
    free(other);
    free(arena);
}

static void refuse(int32_t n)
{
    float loss = 0;
    before = state;
    const range_step_inputs in = {x, target, n};
    if (range_step(&state, &work, &in, &(range_step_outputs){logits[0], &loss}) != STEPC_E_ARGUMENT ||
        range_infer(&state, &work, &(range_infer_inputs){x, n}, &(range_infer_outputs){logits[0]}) != STEPC_E_ARGUMENT ||
        memcmp(&state, &before, sizeof state) != 0)
        fail("not refused", n);
}

int main(void)
{
    uint32_t random = 1;
    if (range_init(&state, &work, 3) != STEPC_OK)
        return 1;
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < MOST * PIXELS; k++)
            x[k] = (float)((random = random * 1664525u + 1013904223u) >> 16 & 15u) / 16.0f;
        for (int k = 0; k < MOST; k++)
            target[k] = (int64_t)((random = random * 1664525u + 1013904223u) >> 16) % CLASSES;
        compare_step(i % 3 == 0 ? &fixed_7_model : i % 3 == 1 ? &fixed_1_model : &fixed_32_model,
                     i % 3 == 0 ? 7 : i % 3 == 1 ? 1 : 32);
    }
    refuse(0);
    refuse(33);
    refuse(-1);
    target[7] = CLASSES; /* looked at only where there are so many */
    float loss = 0;
    if (range_step(&state, &work, &(range_step_inputs){x, target, 7}, &(range_step_outputs){NULL, &loss}) != STEPC_OK ||
        range_step(&state, &work, &(range_step_inputs){x, target, 8}, &(range_step_outputs){NULL, &loss}) != STEPC_E_LABEL)
        fail("labels", 8);
    return 0;
}
C

compile_all() { # OPTION...: range.c, fixed_1.c, fixed_7.c, fixed_32.c
    for size in 1..32 1 7 32; do
        local name=fixed_$size
        [ "$size" != 1..32 ] || name=range
        expect 0 "$stepc" compile "$source_folder/examples/digits/model.onnx" -o $name.c --dim batch="$size" \
            --loss softmax-cross-entropy --optimizer adam --initialize he --reproducible --quiet "$@"
    done
}
runs() { # FLAG...
    "$cc" "${emitted_warnings[@]}" "$@" -I"$source_folder/runtime" -c range.c || fail "$*: a warning"
    "$cc" -std=c99 "$@" -I"$source_folder/runtime" program.c range.o fixed_1.c fixed_7.c fixed_32.c "$source_folder/runtime/stepc.c" -lm \
        -o program
    expect 0 ./program
}
compile_all --optimize size
runs -O1
compile_all
runs -O2
runs -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
has range.h 'int32_t batch; /* of this call: 1 to 32 */'
has range.h 'const float *x; /* [batch,64] */'
has range.h 'float *logits; /* [batch,10] */'
expect 0 "$stepc" compile "$source_folder/examples/digits/model.onnx" -o alone.c --dim batch=1..32 --loss softmax-cross-entropy --standalone \
    --check --quiet

# ---- stepc run: as many samples as are fed ----

prepared train.onnx 0.3
for n in 1 7 32; do
    digits 1 $n ''
    for size in 1..32 $n; do
        expect 0 "$stepc" run train.onnx --dim batch="$size" --feed x=x.npy --feed target=t.npy --steps 3 --hash \
            --arithmetic same
        mv stdout "interpreted_$size"
        expect 0 "$stepc" run train.onnx --dim batch="$size" --feed x=x.npy --feed target=t.npy --steps 3 --hash \
            --engine generated --reproducible
        same stdout "interpreted_$size"
    done
    same interpreted_1..32 "interpreted_$n"
done
digits 1 70 ''
epoch=(run train.onnx --data x=x.npy --data target=t.npy --validate x=x.npy --validate target=t.npy --batch 7 --hash --engine generated
    --reproducible)
expect 0 "$stepc" "${epoch[@]}"
mv stdout wanted
expect 0 "$stepc" "${epoch[@]}" --dim batch=1..32
same stdout wanted
digits 1 33 ''
for engine in interpreted generated; do
    expect 1 "$stepc" run train.onnx --dim batch=1..32 --feed x=x.npy --feed target=t.npy --engine $engine
    has stderr "input 'x' is fed shape [33,64], which is a 'batch' of 33; it is from 1 to 32"
done
expect 1 "$stepc" compare train.onnx --dim batch=1..32 --feed x=x.npy --feed target=t.npy
has stderr "input 'x' is fed shape [33,64], which is a 'batch' of 33; it is from 1 to 32"
digits 1 7 ''
expect 0 "$stepc" compare train.onnx --dim batch=1..32 --feed x=x.npy --feed target=t.npy
awk 'BEGIN { for (i = 0; i < 448; i++) print i == 70 ? "inf" : 0 }' | "$make_npy" f4 7 64 >infinite.npy
expect 1 "$stepc" run train.onnx --dim batch=1..32 --feed x=infinite.npy --feed target=t.npy
has stderr "it was fed: input 'x' float[7,64] is infinite at [1,6]"
for judges in '' '--reproducible --arithmetic same'; do
    # shellcheck disable=SC2086 # words
    expect 0 "$stepc" compare train.onnx --dim batch=1..32 $judges
    has stdout '5 whole runs'
done

# ---- images ----

"$source_folder/tests/golden/network" lenet >lenet.onnxtxt
expect 0 "$stepc" prepare lenet.onnxtxt -o lenet.onnx --loss softmax-cross-entropy --optimizer sgd --learning-rate 0.01 --initialize he
for n in 1 7; do
    awk -v n=$n 'BEGIN { for (i = 0; i < n * 784; i++) print i * 7919 % 256 / 256 }' | "$make_npy" f4 $n 1 28 28 >x.npy
    awk -v n=$n 'BEGIN { for (i = 0; i < n; i++) print i % 10 }' | "$make_npy" i8 $n >t.npy
    expect 0 "$stepc" run lenet.onnx --dim batch=$n --feed x=x.npy --feed target=t.npy --steps 2 --hash --arithmetic same
    mv stdout wanted
    expect 0 "$stepc" run lenet.onnx --dim batch=1..32 --feed x=x.npy --feed target=t.npy --steps 2 --hash --engine generated \
        --reproducible
    same stdout wanted
done

# ---- what is refused ----

refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    expect 1 "$stepc" "$@"
    has stderr "$text"
}
misused() { # TEXT ARGUMENT...
    local text=$1
    shift
    expect 2 "$stepc" "$@"
    has stderr "$text"
}
for range in 0..4 4..3 1..x ..4 1..; do
    misused "--dim batch=$range: expected NAME=LOW..HIGH" compile train.onnx -o refused.c --dim batch=$range
done
misused "'batch' has a range already" compile train.onnx -o refused.c --dim batch=1..4 --dim other=1..2
misused '--dim step:batch=1..4: a range is of all entries' compile train.onnx -o refused.c --dim step:batch=1..4
misused "--threads and a range of 'batch' exclude each other" compile train.onnx -o refused.c --dim batch=1..4 --threads 2
misused "--blas and a range of 'batch' exclude each other" compile train.onnx -o refused.c --dim batch=1..4 --blas
misused 'stepc check: --dim batch takes one size' check train.onnx --dim batch=1..4

# model NODES: [n,4] becomes y
model() {
    printf '<ir_version: 8, opset_import: ["" : 17]>\nm (float[n,4] x) => (float[%s] y) {\n %s\n}\n' "$1" "$2" >model.onnxtxt
}
# Entries that were chosen need not depend on it; all of them must not be free of it.
model 'n,4' 'y = Exp(x)'
expect 0 "$stepc" compile model.onnxtxt -o chosen.c --dim n=1..8 --entries init
lacks chosen.h 'of this call'
expect 0 "$stepc" compile model.onnxtxt -o chosen.c --dim n=1..8 --entries infer
has chosen.h 'of this call'
printf '<ir_version: 8, opset_import: ["" : 17]>\nm (float[2,4] x) => (float[2,4] y) <float[n] w> { y = Exp(x) }\n' >free.onnxtxt
refused "'n' cannot have a range: no input or output depends on it" compile free.onnxtxt -o refused.c --dim n=1..8
model '4,n' 't = Transpose <perm = [1, 0]> (x) y = Exp(t)'
refused "node #1 (Exp): error: 'n' cannot be from 1 to 8 here: where elements of 'y' lie depends on it" compile model.onnxtxt \
    -o refused.c --dim n=1..8
model '4' 't = Transpose <perm = [1, 0]> (x) axes = Constant <value_ints = [1]> () y = ReduceMax <axes = [1], keepdims = 0> (t)'
expect 0 "$stepc" compare model.onnxtxt --dim n=1..8 --reproducible --arithmetic same
model 'n' 'scores = Softmax <axis = 0> (x) y = ReduceMax <axes = [1], keepdims = 0> (scores)'
expect 0 "$stepc" compare model.onnxtxt --dim n=1..8 --reproducible --arithmetic same
model 'n' 'w = Constant <value_floats = [1.5, -2.25, 0.1, 3.7]> () y = MatMul(x, w)'
expect 0 "$stepc" compare model.onnxtxt --dim n=1..90 --reproducible --arithmetic same
model '2,k' 'shape = Constant <value_ints = [2, -1]> () t = Reshape(x, shape) y = Softmax <axis = 0> (t)'
refused "'n' cannot be from" compile model.onnxtxt -o refused.c --dim n=1..8
[ ! -e refused.c ] || fail 'a file was written'
