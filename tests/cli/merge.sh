#!/usr/bin/env bash
# usage: merge.sh STEPC MAKE_NPY
# stepc merge: two prepared models become one with the entries of both. tests/pytorch/entries.py holds a GAN against PyTorch.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cp "$source_folder"/tests/docs_models/gan_[dg].onnxtxt .
awk 'BEGIN { for (i = 0; i < 96; i++) print (i * 37 % 64 - 31) / 32 }' | "$make_npy" f4 3 16 2 >z.npy
awk 'BEGIN { for (i = 0; i < 48; i++) print 1 + (i * 23 % 64 - 31) / 64 }' | "$make_npy" f4 3 16 1 >real.npy
feeds=(--feed z=z.npy --feed real=real.npy)

# prepared d|g ENTRY OPTION...: ENTRY.onnxtxt trains one of the networks
prepared() {
    local which=$1 entry=$2
    shift 2
    expect 0 "$stepc" prepare "gan_$which.onnxtxt" -o "$entry.onnxtxt" --loss output --output "${which}_loss" --train "${which^}.*" --optimizer adam \
        --learning-rate 0.05 "$@"
}

# Each entry computes what its own model's step did, in either order; the whole is the same in both engines.
prepared d discriminator
prepared g generator
for order in 'discriminator generator' 'generator discriminator'; do
    read -r first second <<<"$order"
    expect 0 "$stepc" merge "$first.onnxtxt" "$second.onnxtxt" -o gan.onnx
    has stdout "entry: $first"
    has stdout "'learning_rate' of entry '$second' becomes '$second.learning_rate'"
    expect 0 "$stepc" check gan.onnx
    expect 0 "$stepc" compare gan.onnx --reproducible --arithmetic same
    for entry in $order; do
        which=$([ "$entry" = generator ] && echo g || echo d)
        given=("${feeds[@]:0:4}")
        [ "$which" = d ] || given=("${feeds[@]:0:2}")
        weight=${which^}.0.weight
        expect 0 "$stepc" run "$entry.onnxtxt" "${given[@]}" --fetch "$weight=alone.npy"
        expect 0 "$stepc" run gan.onnx "${feeds[@]}" --entry "$entry" --fetch "$weight=merged.npy"
        same alone.npy merged.npy
    done
    expect 0 "$stepc" run gan.onnx "${feeds[@]}" --fetch D.0.weight=d.npy --fetch G.0.weight=g.npy
    differ d.npy merged.npy
done
expect 0 "$stepc" compile gan.onnx -o gan.c
has gan.h 'gan_discriminator('
has gan.h 'gan_generator('
has gan.h 'discriminator_learning_rate'

# With averages, an evaluation and groups; entries of one model carry its name. The way back is the inference model.
prepared d critic --entry critic --evaluate --split
prepared g maker --entry maker --ema 0.5 --evaluate --group '*.bias:learning_rate=0.01'
expect 0 "$stepc" merge critic.onnxtxt maker.onnxtxt -o gan.onnx
for entry in critic_accumulate critic_apply critic_evaluate maker maker_evaluate maker_infer_average; do
    has stdout "entry: $entry"
done
expect 0 "$stepc" compare gan.onnx --reproducible --arithmetic same
expect 0 "$stepc" run gan.onnx "${feeds[@]}" --save state
expect 0 "$stepc" strip gan.onnx -o infer.onnx --state state --average
expect 0 "$stepc" run infer.onnx --feed z=z.npy --feed real=real.npy --fetch fake=stripped.npy
expect 0 "$stepc" run gan.onnx --feed z=z.npy --feed real=real.npy --entry maker_infer_average --load state --from 0 --fetch fake.average=average.npy
same stripped.npy average.npy
expect 0 "$stepc" convert infer.onnx infer.onnxtxt
has infer.onnxtxt 'gan (float[16,2] z, float[16,1] real) =>'

# Two losses of one file: the network is there once. Three models.
sed -e 's/=> (float d_loss/=> (float d_loss, float g_loss/' -e 's/^}$/  other = Neg(of_fake)\n  c = Softplus(other)\n  g_loss = ReduceMean<keepdims = 0>(c)\n}/' \
    gan_d.onnxtxt >gan_all.onnxtxt
for part in d g; do
    expect 0 "$stepc" prepare gan_all.onnxtxt -o one_$part.onnxtxt --loss output --output ${part}_loss --train "${part^}.*" --learning-rate 0.1
done
expect 0 "$stepc" merge one_d.onnxtxt one_g.onnxtxt -o one.onnx
expect 0 "$stepc" compare one.onnx --reproducible --arithmetic same
sed -e 's/=> (float d_loss, float g_loss/=> (float h_loss/; s/g_loss = /h_loss = /; s/"D\.2/"H.2/; /d_loss = /d' gan_all.onnxtxt >gan_h.onnxtxt
prepared h third
expect 0 "$stepc" merge one_d.onnxtxt one_g.onnxtxt third.onnxtxt -o one.onnxtxt
has stdout "'of_fake' of third.onnxtxt is computed in another way: 'third.of_fake'"
expect 0 "$stepc" compare one.onnxtxt --reproducible --arithmetic same

# Names inside of a node's graphs are renamed there alone: another Loop, which is the same in both files, is there once.
cat >loops.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 17]>
net (float[2] x) => (float[2] y)
<float[2] w = {1, 2}, int64 trip = {2}>
{
    a = Loop<body = first (int64 i, bool c, float[2] s) => (bool d, float[2] t) { d = Identity(c) t = Add(s, x) }>(trip, , x)
    b = Loop<body = second (int64 i, bool c, float[2] s) => (bool d, float[2] t) { d = Identity(c) t = Mul(s, x) }>(trip, , x)
    z = Add(a, b)
    y = Mul(z, w)
}
MODEL
expect 0 "$stepc" prepare loops.onnxtxt -o loop_add.onnxtxt --loss mse
sed 's/t = Add(s, x)/t = Sub(s, x)/' loops.onnxtxt >sub.onnxtxt
expect 0 "$stepc" prepare sub.onnxtxt -o loop_sub.onnxtxt --loss mse
expect 0 "$stepc" merge loop_add.onnxtxt loop_sub.onnxtxt -o loops.onnx
has stdout "'a' of loop_sub.onnxtxt is computed in another way: 'loop_sub.a'"
lacks stdout "'b' of loop_sub.onnxtxt"
expect 0 "$stepc" compare loops.onnx --reproducible --arithmetic same

# An entry that a training model gets in addition is the one that merging gives it.
expect 0 "$stepc" prepare gan_all.onnxtxt -o all_d.onnx --loss output --output d_loss --train 'D.*' --learning-rate 0.1 --entry d
expect 0 "$stepc" prepare gan_all.onnxtxt -o all_g.onnx --loss output --output g_loss --train 'G.*' --learning-rate 0.1 --entry g
expect 0 "$stepc" merge all_d.onnx all_g.onnx -o merged.onnx
expect 0 "$stepc" prepare all_d.onnx -o added.onnx --loss output --output g_loss --train 'G.*' --learning-rate 0.1 --entry g
has stdout "'learning_rate' of entry 'g' becomes 'g.learning_rate'"
for file in merged added; do
    expect 0 "$stepc" run $file.onnx "${feeds[@]}" --steps 3 --fetch D.0.weight=$file.d.npy --fetch G.0.weight=$file.g.npy
done
same merged.d.npy added.d.npy
same merged.g.npy added.g.npy
expect 0 "$stepc" compare added.onnx --reproducible --arithmetic same
expect 0 "$stepc" strip added.onnx -o back.onnx
expect 0 "$stepc" strip all_d.onnx -o straight.onnx
same back.onnx straight.onnx
expect 1 "$stepc" prepare added.onnx -o never.onnx --loss output --output g_loss --entry d
has stderr "--entry d: the model has an entry of that name"

# An entry is fed what it needs: outputs of the main graph that need more are left out, unless they are fetched.
for engine in interpreted generated; do
    expect 0 "$stepc" run merged.onnx --engine $engine "${feeds[@]:0:2}" --entry g
    has stdout 'g_loss'
    lacks stdout 'd_loss'
    has stderr "entry 'g' is run without what needs inputs that are not fed: 'd_loss'"
    expect 0 "$stepc" run merged.onnx --engine $engine "${feeds[@]:0:2}" --entry g --fetch G.0.weight=few.npy
    expect 0 "$stepc" run merged.onnx --engine $engine "${feeds[@]}" --entry g --fetch G.0.weight=all.npy
    same few.npy all.npy
    expect 1 "$stepc" run merged.onnx --engine $engine "${feeds[@]:0:2}" --entry g --fetch d_loss=never.npy
    has stderr "entry 'g': input 'real' float[16,1] is not fed; give --feed real=FILE"
    expect 1 "$stepc" run merged.onnx --engine $engine "${feeds[@]:0:2}" --entry d
    has stderr "entry 'd': input 'real' float[16,1] is not fed; give --feed real=FILE"
    expect 1 "$stepc" run merged.onnx --engine $engine "${feeds[@]:0:2}" --entry infer
    expect 0 "$stepc" run merged.onnx --engine $engine "${feeds[@]:0:2}" --entry infer --fetch fake=fake.npy
done

# What does not fit together.
refused() {
    differ one_g.onnxtxt other.onnxtxt
    expect 1 "$stepc" merge one_d.onnxtxt other.onnxtxt -o never.onnx
    has stderr "$1"
    [ ! -e never.onnx ] || fail 'a file in spite of the error'
}
sed 's/{0.31,/{0.25,/' one_g.onnxtxt >other.onnxtxt
refused "initializer 'G.0.weight' differs: element 0 is 0.25, not 0.31, compared with one_d.onnxtxt"
sed 's/float\[1\] "D.2.bias" = {-0.03}/float[1,1] "D.2.bias" = {-0.03}/' one_g.onnxtxt >other.onnxtxt
refused "initializer 'D.2.bias' is float[1,1], not float[1]"
sed 's/float\[16,2\] z/float[N,2] z/; s/float\[16,1\]/float[N,1]/g' one_g.onnxtxt >other.onnxtxt
refused "input 'z' has another type or shape"
sed 's/"" : 17/"" : 16/' one_g.onnxtxt >other.onnxtxt
refused 'it imports ai.onnx 16, and one_d.onnxtxt imports 17'
sed 's/algorithm: train/algorithm: one_d/' one_g.onnxtxt >other.onnxtxt
refused "one_d.onnxtxt has an entry 'one_d' too; give the file another name, or prepare --entry NAME"
sed 's/float\[16,2\] z/float[16,2] gh/; s/Gemm (z/Gemm (gh/; s/gh = Tanh/gi = Tanh/; s/Gemm (gh, "G.2/Gemm (gi, "G.2/' one_g.onnxtxt >other.onnxtxt
refused "input 'gh' is no input there"
sed 's/fz = /fy = /; s/Tanh(fz)/Tanh(fy)/; s/"D.0.weight"/fz/g' gan_all.onnxtxt >gan_o.onnxtxt
expect 0 "$stepc" prepare gan_o.onnxtxt -o other.onnxtxt --loss output --output d_loss --train 'G.*'
refused "initializer 'fz' is no initializer there"

expect 2 "$stepc" merge one_d.onnxtxt -o never.onnx
has stderr 'expected two models or more, got 1'
expect 2 "$stepc" merge one_d.onnxtxt one_g.onnxtxt
expect 1 "$stepc" merge one_d.onnxtxt absent.onnx -o never.onnx
has stderr absent.onnx
expect 1 "$stepc" prepare one_d.onnxtxt -o never.onnx --loss output --output g_loss
has stderr '--entry NAME gives it one more entry'
for name in 1st a-b '' step infer init; do
    expect 2 "$stepc" prepare gan_d.onnxtxt -o never.onnx --loss output --entry "$name"
    has stderr "--entry $name"
done
