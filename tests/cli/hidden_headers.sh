#!/usr/bin/env bash
# usage: hidden_headers.sh STEPC MAKE_NPY
# A header of ours must not be taken for another one: a name of the runtime, of the C library or of the compiler is refused.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >small.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[2] x) => (float[2] y) { y = Neg(x) }
MODEL
mkdir out

# refused STEM OWNER OPTION...
refused() {
    expect 1 "$stepc" compile small.onnxtxt -o "out/$1.c" "${@:3}"
    has stderr "the header to write, '$1.h', would hide that of $2"
    [ -z "$(ls out)" ] || fail "written: $(ls out)"
}

own=$(cd "$source_folder/runtime" && find . -name '*.h' | sed 's|.*/||; s/\.h$//' | sort)
[ "$(wc -l <<<"$own")" -gt 30 ] || fail 'no headers of the runtime'
for stem in $own; do
    refused "$stem" "stepc's runtime"
done
refused stepc "stepc's runtime" --standalone
refused Stepc_Math "stepc's runtime"
refused STRING 'the C library'

# Their objects would have one name.
sources=0
for stem in $(cd "$source_folder/runtime" && find . -name '*.c' | sed 's|.*/||; s/\.c$//' | sort); do
    expect 1 "$stepc" compile small.onnxtxt -o "out/$stem.c"
    grep -q "the \(file\|header\) to write, '$stem\.[ch]', would" stderr || fail "$stem.c: $(cat stderr)"
    [ -z "$(ls out)" ] || fail "written: $(ls out)"
    sources=$((sources + 1))
done
[ $sources -gt 8 ] || fail "few sources of the runtime: $sources"
expect 1 "$stepc" compile small.onnxtxt -o out/checkpoint_file.c
has stderr "the file to write, 'checkpoint_file.c', would be called like one of stepc's runtime"

# What the compilers at hand read for those headers that C programs include.
{
    for header in assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit \
        stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath time uchar wchar wctype; do
        printf '#if __has_include(<%s.h>)\n#include <%s.h>\n#endif\n' $header $header
    done
    printf '#ifdef __SSE__\n#include <immintrin.h>\n#endif\n'
} >all.c
for cc in 'gcc -fopenmp' 'gcc -std=c99' clang 'clang -std=c99' 'arm-none-eabi-gcc -mcpu=cortex-m4' 'gcc -x c++'; do
    command -v "${cc%% *}" >program || continue
    # shellcheck disable=SC2086
    $cc -M all.c 2>/dev/null | tr -s ' \134' '\n' || continue
done | sed -nE 's/.*\/include(-fixed)?\/(x86_64-linux-gnu\/|newlib\/)?([^/]+)\.h$/\3/p' | sort -u >theirs
[ "$(wc -l <theirs)" -gt 25 ] || fail "few headers: $(cat theirs)"
while read -r stem; do
    refused "$stem" 'the C library'
done <theirs

# Names that only begin or end alike are nobody's.
for stem in stepc2 mystepc string_net time1 strings2 arm_pose kernels net.string my_intrin __net; do
    expect 0 "$stepc" compile small.onnxtxt -o "out/$stem.c" --check
done
expect 0 "$stepc" compile small.onnxtxt -o out/net.c --name string --check
seq 2 | "$make_npy" f4 2 >x.npy
expect 0 "$stepc" run small.onnxtxt --feed x=x.npy --engine generated

# A model may be called like one where nothing of that name is written for others.
for stem in checkpoint features string stepc threads; do
    cp small.onnxtxt "$stem.onnxtxt"
    expect 0 "$stepc" inspect "$stem.onnxtxt"
    expect 0 "$stepc" run "$stem.onnxtxt" --feed x=x.npy --engine generated
    expect 0 "$stepc" compare "$stem.onnxtxt"
done
