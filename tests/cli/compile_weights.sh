#!/usr/bin/env bash
# usage: compile_weights.sh STEPC MAKE_NPY
# --weights: a program gives the same bits wherever its large tensors stand, and notices a file that is not its own.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/emitted/models.sh
. "$source_folder/tests/emitted/models.sh"
cc=${CC:-cc}

# Prints the bits of what net_infer() or net_init() made; the weights file is the argument.
cat >infer.c <<'C'
#include "net.h"
#include <stdio.h>
#include <string.h>

static net_state state;
static net_arena arena;
static union { stepc_max_align align; unsigned char bytes[1 << 16]; } weights;

static const void *read_weights(const char *path)
{
    FILE *f = path[0] ? fopen(path, "rb") : NULL;
    if (f == NULL)
        return NULL;
    memset(weights.bytes, 0, sizeof weights);
    if (fread(weights.bytes, 1, sizeof weights, f) == 0)
        return NULL;
    fclose(f);
    return weights.bytes;
}

static void print_bytes(const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%02x", ((const unsigned char *)bytes)[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    static float x[4][64], logits[4][10];
    net_infer_inputs in;
    net_infer_outputs out;
    stepc_status status;
    const void *content = argc > 1 ? read_weights(argv[1]) : NULL;
    for (int i = 0; i < 4 * 64; i++)
        x[i / 64][i % 64] = (float)(i % 13) / 13.0f;
    in.x = x[0];
    out.logits = logits[0];
#ifdef INIT_WEIGHTS
    {
        net_init_inputs initial;
        initial.weights = content;
        status = net_init(&state, &arena, 1, &initial);
    }
#else
    status = net_init(&state, &arena, 1);
#endif
#ifdef INFER_WEIGHTS
    in.weights = content;
#endif
    (void)content;
    if (status == STEPC_OK)
        status = net_infer(&state, &arena, &in, &out);
    print_bytes(&state, sizeof state);
    print_bytes(logits, sizeof logits);
    if (status != STEPC_OK)
        puts(stepc_status_text(status));
    return status != STEPC_OK;
}
C

# build FOLDER FLAG...: FOLDER/program of FOLDER/net.c
build() {
    local folder=$1
    shift
    "$cc" "${emitted_warnings[@]}" -O2 -I"$folder" -I"$source_folder/runtime" "$@" infer.c "$folder/net.c" "$source_folder/runtime/stepc.c" \
        -o "$folder/program" || fail "$folder: it does not compile"
}

model=$source_folder/examples/digits/model.onnx batch=4
check_kind() {
    local kind=$1 reads=$2 mode
    shift 2
    for mode in embed file incbin; do
        mkdir "$kind-$mode"
        expect 0 "$stepc" compile "$model" -o "$kind-$mode/net.c" --dim batch="$batch" --weights $mode --reproducible --check "$@"
    done
    [ ! -e "$kind-embed/net.weights" ] || fail 'a file nobody reads'
    same "$kind-file/net.weights" "$kind-incbin/net.weights"
    [ "$(wc -c <"$kind-file/net.c")" -lt "$(wc -c <"$kind-embed/net.c")" ] || fail 'the text is as long as before'

    build "$kind-embed"
    expect 0 "$kind-embed/program"
    mv stdout wanted
    build "$kind-file" -D"$reads"
    expect 0 "$kind-file/program" "$kind-file/net.weights"
    same stdout wanted
    build "$kind-incbin" "-DNET_WEIGHTS_PATH=\"$kind-incbin/net.weights\""
    expect 0 "$kind-incbin/program"
    same stdout wanted
    (cd "$kind-incbin" && "$cc" -I"$source_folder/runtime" -c net.c) || fail 'the file is not found where the compiler runs'
}
check_kind trained INIT_WEIGHTS --loss softmax-cross-entropy --quiet # initial values: init() reads them
check_kind frozen INFER_WEIGHTS                                      # constants: infer() does
batch=1 # weights by columns
check_kind columns INIT_WEIGHTS --loss softmax-cross-entropy --quiet
has columns-file/net.h ', by columns'
batch=4

# a model that is trained in part: what is frozen stands in the file as well, where both step() and infer() look for it
expect 0 "$stepc" compile "$model" -o part.c --dim batch=4 --weights file --loss mse --train 'fc2*' --quiet --check
lacks part.c 'static const float constant_fc1_weight'
has part.c '(const float *)in->weights'

# what is not the file of this program
expect 1 frozen-file/program ''
has stdout 'a required argument is missing'
expect 1 frozen-file/program trained-file/net.c
has stdout 'weights file belongs to another model'
expect 1 frozen-file/program trained-file/net.weights # the same tensors in the same order, for other names
has stdout 'weights file belongs to another model'
expect 0 "$stepc" prepare "$model" -o he.onnx --loss mse --quiet --initialize he
expect 0 "$stepc" compile he.onnx -o he.c --dim batch=4 --weights file
[ ! -e he.weights ] || fail 'random initial values need no file'
cp frozen-incbin/net.weights whole
for change in 'head -c -1 whole' 'cat whole whole' 'tr s t <whole'; do
    bash -c "$change" >frozen-incbin/net.weights
    build frozen-incbin '-DNET_WEIGHTS_PATH="frozen-incbin/net.weights"'
    expect 1 frozen-incbin/program
    has stdout 'weights file belongs to another model'
done

# an input of that name is renamed
cat >named.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,128] weights) => (float[2,128] y) <float[2,128] w> { y = Add(weights, w) }
MODEL
awk 'BEGIN { for (i = 0; i < 256; i++) printf "%s%d", i ? "," : "", i }' >numbers
sed -i "s/<float\[2,128\] w>/<float[2,128] w = {$(cat numbers)}>/" named.onnxtxt
expect 0 "$stepc" compile named.onnxtxt -o named.c --weights file --check
has named.h 'const float *weights_2; /* "weights" [2,128] */'
has named.c '{"stepc.weights", STEPC_UINT8, 1, dims1088}'

expect 2 "$stepc" compile "$model" -o x.c --dim batch=4 --weights elsewhere
has stderr 'expected embed, file, incbin or auto'
expect 1 "$stepc" compile "$model" -o 'x"y.c' --name x --dim batch=4 --weights incbin
has stderr 'quote or backslash'
[ ! -e 'x"y.c' ] || fail 'a file was written in spite of an error'

# more than 16 MB: a file, and this is said; step() needs none of it, nor do tables of stepc's own leave the text
{
    printf '%s\n' '<ir_version: 8, opset_import: ["" : 17]>' 'net (float[1,3,8,8] x) => (float[1,700] y)' '<float[700,6400] w = {'
    awk 'BEGIN { for (i = 1; i < 4480000; i++) printf "%d,%s", i % 999, i % 50 ? "" : "\n"; print "7}," }'
    printf '%s\n' "float[100,3,3,3] k = {$(awk 'BEGIN { for (i = 1; i < 2700; i++) printf "%d,", i % 9 }')1}>" \
        '{ c = Conv <pads = [1, 1, 1, 1]> (x, k) f = Flatten(c) y = Gemm <transB = 1> (f, w) }'
} >large.onnxtxt
expect 0 "$stepc" compile large.onnxtxt -o large.c --loss mse --quiet
has stderr '17 MB of weights are in large.weights, which init() takes as in->weights'
grep -q '_taps\[' large.c || fail 'the model has no table of stepc: test another'
awk '/^stepc_status large_step/ { inside = 1 } inside && /weights/ { print } /^}/ { inside = 0 }' large.c >mentions
[ ! -s mentions ] || fail 'step() reads the weights file'
expect 0 "$stepc" compile large.onnxtxt -o large.c --loss mse --quiet --weights embed
[ ! -s stderr ] || fail 'a note that nobody needs'

# The weights are in memory once, and little else: 18 MB of them, programs and libraries take 9. (A sanitizer takes
# terabytes.)
if [ "$(uname -s)" = Linux ] && ! grep -q __asan_init "$stepc"; then
    expect 0 "$stepc" convert large.onnxtxt large.onnx
    (ulimit -v 36000 && "$stepc" compile large.onnx -o large.c --loss mse --quiet 2>stderr) ||
        fail 'weights are in memory twice'
fi

# init() in several functions: those that read the file are given it
{
    printf '<ir_version: 8, opset_import: ["" : 17]>\nlong (float[1,16] x) => (float[1,16] y60)\n<'
    for i in $(seq 60); do printf 'float[16,16] w%d = {0, %d, ...}%s\n' "$i" "$i" "$([ "$i" -eq 60 ] || echo ,)"; done
    printf '>\n{\n'
    for i in $(seq 60); do printf 'y%d = MatMul(%s, w%d)\n' "$i" "$([ "$i" -eq 1 ] && echo x || echo "y$((i - 1))")" "$i"; done
    printf '}\n'
} >long.onnxtxt
expect 0 "$stepc" compile long.onnxtxt -o long.c --weights file --loss mse --train '*' --quiet --check
has long.c 'long_init_from_'
