#!/usr/bin/env bash
# usage: foreign_files.sh STEPC MAKE_NPY
# Files that are taken for models: each is called what it is, with what to do.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# called WHAT: of m.onnx, whose bytes come from printf
called() {
    expect 1 "$stepc" check m.onnx
    has stderr "m.onnx: error: this is no ONNX model: $1"
    [ "$(grep -c error: stderr)" -eq 1 ] || fail 'more than one message'
}
printf 'PK\3\4\0\0\10\10archive/data.pkl' >m.onnx && called 'a zip archive, as torch.save'
has stderr 'torch.onnx.export'
printf '\200\2\212\nl\374\234F\371 j\250P\31.' >m.onnx && called 'a Python pickle'
printf '\211HDF\r\n\32\n\0\0\0\0' >m.onnx && called 'an HDF5 file'
printf '\34\0\0\0TFL3\24\0 \0\34\0' >m.onnx && called 'a TensorFlow Lite file'
printf '\30\0\0\0ORTM\24\0 \0\34\0' >m.onnx && called "in ONNX Runtime's own format"
printf '\30\0\0\0ODTC\24\0 \0\34\0' >m.onnx && called "a checkpoint of ONNX Runtime's training"
has stderr 'is the file that generate_artifacts() was given'
expect 1 "$stepc" convert m.onnx no.onnxtxt
mv m.onnx checkpoint
expect 1 "$stepc" convert checkpoint no.onnx --model "$source_folder/examples/digits/model.onnx"
has stderr "checkpoint: error: a checkpoint of ONNX Runtime's training cannot be read"
printf 'GGUF\3\0\0\0' >m.onnx && called 'a GGUF file'
printf '\37\213\10\0abc' >m.onnx && called 'compressed by gzip'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' >m.onnx && called 'a Git LFS pointer'
printf '\n<!DOCTYPE html>\n<html>' >m.onnx && called 'a web page'
printf 'import torch\nclass Net(torch.nn.Module):\n' >m.onnx && called 'text; a model in text form'
: >m.onnx && called 'the file is empty'
printf 'PK\5\6\0\0\0\0' >m.onnx && called 'an empty zip archive'
printf '\3757zXZ\0\0' >m.onnx && called 'compressed by xz'
printf '(\265/\375abcd' >m.onnx && called 'compressed by zstd'
printf 'BZh91AY' >m.onnx && called 'compressed by bzip2'
printf "7z\\274\\257'\\34\\0\\4" >m.onnx && called 'a 7-Zip archive'
printf '\177ELF\2\1\1' >m.onnx && called 'an executable'
{ head -c 257 /dev/zero && printf 'ustar'; } >m.onnx && called 'a tar archive'
printf '<html>' >m.onnx && called 'a web page'
printf ' <HTML lang=en>' >m.onnx && called 'a web page'
printf '0123456789abcde\n' >m.onnx && called 'text; a model in text form'
printf '\200\5}.' >m.onnx && called 'a Python pickle'
printf '\2\0\0\0\0\0\0\0{}' >m.onnx && called 'a safetensors file'

# Nearly those: bytes of which nobody knows what they are.
unknown() {
    expect 1 "$stepc" check m.onnx
    has stderr 'm.onnx: error: this is no ONNX model: at byte '
}
printf 'PK\3' >m.onnx && unknown
printf '\200\1}.' >m.onnx && unknown
printf '\200\6}.' >m.onnx && unknown
printf '\0\20\0\0TFL3\24\0' >m.onnx && unknown
printf '\2\0\0\0\0\0\0\0{1' >m.onnx && unknown
printf '\2\0\0\0\1\0\0\0{}' >m.onnx && unknown
printf '0123456789abcd\n' >m.onnx && unknown
printf '0123456789abcdef\1\n' >m.onnx && unknown
printf '0123456789abcdef\177\n' >m.onnx && unknown
seq 3 | "$make_npy" f4 3 >m.onnx && called 'a NumPy array'
expect 0 "$stepc" convert "$source_folder/examples/digits/model.onnx" w.safetensors
mv w.safetensors m.onnx && called 'a safetensors file'
has stderr "stepc convert"

# Those of ONNX, but cut or called otherwise.
head -c 3000 "$source_folder/examples/digits/model.onnx" >m.onnx
expect 1 "$stepc" check m.onnx
has stderr 'the file is cut short; fetch it or export it again'
cp "$source_folder/examples/digits/model.onnx" m.onnxtxt
expect 1 "$stepc" check m.onnxtxt
has stderr 'its name should end in .onnx'
cp "$source_folder/examples/digits/model.onnx" m.pb
expect 0 "$stepc" check m.pb

# What ONNX Runtime generates for its own training: once, with the place of the forward model.
cat >text.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[2,4] x, float[2,3] d, float[4,3] w, float[4,3] "w_grad.accumulation.buffer", bool[1] lazy_reset_grad)
  => (bool[1] "w_grad.accumulation.out")
{
    y = MatMul(x, w)
    s = com.microsoft.SoftmaxGrad_13(d, y)
    e = com.microsoft.ReluGrad(d, y)
    t = Transpose(x)
    g = MatMul(t, e)
    "w_grad.accumulation.out" = com.microsoft.InPlaceAccumulatorV2("w_grad.accumulation.buffer", g, lazy_reset_grad)
}
MODEL
expect 0 "$stepc" convert text.onnxtxt net_training_model.onnx
expect 1 "$stepc" compile net_training_model.onnx -o no.c
has stderr "this is the training model of ONNX Runtime's training, which that runtime alone can run"
has stderr 'give stepc the forward model, the file that generate_artifacts() was given'
[ "$(grep -c 'forward model' stderr)" -eq 1 ] || fail 'the same for every operator'
lacks stderr 'eval_model.onnx'
: >net_eval_model.onnx
expect 1 "$stepc" compile net_training_model.onnx -o no.c
has stderr 'net_eval_model.onnx is that model with a loss, but without weights'
sed -i 's/com.microsoft.ReluGrad/com.microsoft.AdamWOptimizer/; /Accumulator/d; /SoftmaxGrad/d; s/^  => .*/  => (float[2,3] e)/' text.onnxtxt
expect 1 "$stepc" check text.onnxtxt
has stderr "this is the optimizer's model of ONNX Runtime's training"
