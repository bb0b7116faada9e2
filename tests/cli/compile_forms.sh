#!/usr/bin/env bash
# usage: compile_forms.sh STEPC MAKE_NPY
# compile --simd, --optimize and --blas: what they say in the text, and what does not go together. tests/emitted compares the bits.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
compile=("$stepc" compile train.onnx --dim batch=32)

expect 0 "${compile[@]}" -o net.c
has net.c '#include "kernels/stepc_tile.h"'
lacks net.c vector_size
lacks net.c 'options  --dim batch=32 --'
for simd in auto none 4 8 16; do
    expect 0 "${compile[@]}" -o $simd.c --name net --simd $simd
    has $simd.c " *   options  --dim batch=32 --simd $simd"
done
expect 0 diff <(sed '/^ [*]   options/d; /BUILD_ID/d; s/auto[.]/net./' auto.c) <(sed '/^ [*]   options/d; /BUILD_ID/d' net.c)
has none.c '#define STEPC_FORM 0'
has 8.c '#define STEPC_VECTOR_BYTES 32'
lacks auto.c STEPC_VECTOR_BYTES

# size: plain loops, no panels, functions that are called
expect 0 "${compile[@]}" -o size.c --optimize size
has size.c '#define STEPC_SMALL'
lacks size.c tile
lacks size.c panel
expect 0 "${compile[@]}" -o speed.c --optimize speed
lacks speed.c STEPC_SMALL
has speed.c panel
expect 0 "${compile[@]}" -o wide.c --optimize size --simd 8 --check

# float expressions may be evaluated as float only: gcc says 16 where the processor has half precision, and means that of it alone
expect 0 "${compile[@]}" -o exact.c --reproducible
for method in 0 16; do
    expect 0 cc -U__FLT_EVAL_METHOD__ -D__FLT_EVAL_METHOD__=$method -I"$source_folder/runtime" -fsyntax-only exact.c
done
expect 1 cc -U__FLT_EVAL_METHOD__ -D__FLT_EVAL_METHOD__=2 -I"$source_folder/runtime" -fsyntax-only exact.c
has stderr 'float expressions must be evaluated as float'

# what compilers do to numbers when they are asked is an error, or init() says so: of each option as the compiler tells of it, and untold
cat >first.c <<'END'
#include "exact.h"
#include <stdio.h>
static exact_state state;
static exact_arena arena;
int main(void) { return puts(stepc_status_text(exact_init(&state, &arena, 1))) < 0; }
END
build_exact() {
    expect "$1" "${CC:-cc}" "${@:2}" -w -I. -I"$source_folder/runtime" first.c exact.c "$source_folder/runtime/stepc.c" -o first
}
expect 0 "$stepc" prepare "$source_folder/examples/digits/model.onnx" -o adam.onnx --loss softmax-cross-entropy --optimizer adam --quiet
expect 0 "$stepc" compile adam.onnx --dim batch=32 -o exact.c --reproducible
build_exact 0 -O2
expect 0 ./first
has stdout 'no error'
is_gcc=$("${CC:-cc}" --version | grep -c 'Free Software' || true) # others tell of little
untold=(-U__ASSOCIATIVE_MATH__ -U__RECIPROCAL_MATH__ -U__NO_SIGNED_ZEROS__)
for options in '-fassociative-math -fno-signed-zeros -fno-trapping-math' -freciprocal-math -fno-signed-zeros; do
    if [ "$is_gcc" -eq 1 ]; then
        # shellcheck disable=SC2086 # words
        build_exact 1 -O2 $options
        has stderr 'the options that are part of it'
    fi
    # shellcheck disable=SC2086
    build_exact 0 -O2 $options "${untold[@]}"
    expect 0 ./first
    has stdout 'does not round as the reproducible mode requires'
done
build_exact 1 -O2 -ffinite-math-only
if [ "$is_gcc" -eq 1 ]; then # others do not know it
    build_exact 0 -O2 -fsingle-precision-constant
    expect 0 ./first
    has stdout 'does not round as the reproducible mode requires'
fi

# what is large calls a BLAS, what is small does not
cat >wide.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
wide (float[256,256] a, float[256,256] b, float[255,256] c) => (float[256,256] ab, float[255,256] cb)
{
    ab = MatMul(a, b)
    cb = MatMul(c, b)
}
END
expect 0 "$stepc" compile wide.onnxtxt -o called.c --blas --check
has called.c '#include "stepc_blas.h"'
[ "$(grep -c 'stepc_blas_float(256, 256, 256, a, 256, 1, b, 256, 1' called.c)" -eq 1 ] || fail 'one call is expected'
lacks called.c 'stepc_blas_float(255'
expect 0 "${compile[@]}" -o small.c --blas
lacks small.c stepc_blas

# run and compare go the same ways
digits 1 32 a
run=("$stepc" run train.onnx --dim batch=32 --engine generated --reproducible --feed x=ax.npy --feed target=at.npy --hash --quiet)
expect 0 "${run[@]}"
mv stdout hash
for options in '--simd none' '--simd 8' '--optimize size'; do
    # shellcheck disable=SC2086 # options are words
    expect 0 "${run[@]}" $options
    same stdout hash
done
expect 2 "${run[@]}" --simd 3
has stderr '--simd 3: expected auto'
expect 0 "$stepc" compare train.onnx --dim batch=4 --reproducible --arithmetic same --optimize size --quiet

# wrong usage
expect 2 "${compile[@]}" -o wrong.c --simd 12
has stderr '--simd 12: expected auto, none, 4, 8 or 16'
expect 2 "${compile[@]}" -o wrong.c --optimize fast
has stderr '--optimize fast: expected speed or size'
expect 2 "${compile[@]}" -o wrong.c --blas --reproducible
has stderr 'in which order a BLAS adds'
expect 2 "${compile[@]}" -o wrong.c --blas --standalone
has stderr 'a BLAS is a library to link'
[ ! -e wrong.c ] || fail 'wrong usage, and a file is written'

# A comparison of comparisons: compilers want parentheses.
cat >compared.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
compared (float[8] x, float[8] y, float[8] z) => (bool[8] same, bool[8] left) {
    a = Less(x, y)
    b = Less(x, z)
    same = Equal(a, b)
    c = Greater(y, z)
    left = Equal(same, c)
}
MODEL
for cc in gcc clang; do
    ! command -v "$cc" >/dev/null || expect 0 "$stepc" compile compared.onnxtxt -o compared.c --check --cc "$cc -Wall -Wextra -Werror"
done
