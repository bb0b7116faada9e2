#!/usr/bin/env bash
# usage: checkpoints_others.sh STEPC MAKE_NPY
# Checkpoints as TensorFlow, Keras and flax write them, of the state that adam.pt is of (tests/foreign/make_others.py):
# training goes on with PyTorch's losses.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
files=$source_folder/tests/foreign

"$make_npy" f4 30 4 3 <"$files/x.txt" >x.npy
"$make_npy" i8 30 4 <"$files/target.txt" >t.npy
feeds=(--feed x=x.npy --feed target=t.npy --dim batch=4)
prepare=(--loss softmax-cross-entropy --quiet)

# The kernel of the second layer is square: Gemm says how it stands.
keras=(--rename 0.weight=dense/kernel --rename 0.bias=dense/bias --rename 2.weight=dense_1/kernel --rename 2.bias=dense_1/bias
    --rename 4.weight=dense_2/kernel --rename 4.bias=dense_2/bias)
flax=(--rename 0.weight=Dense_0/kernel --rename 0.bias=Dense_0/bias --rename 2.weight=Dense_1/kernel --rename 2.bias=Dense_1/bias
    --rename 4.weight=Dense_2/kernel --rename 4.bias=Dense_2/bias)

# losses_are NAME: those of the run just made are PyTorch's
losses_are() {
    sed -n 's/^step .* loss \([^ ]*\).*/\1/p' stdout >got.txt
    [ "$(wc -l <got.txt)" -eq 20 ] || fail "$(wc -l <got.txt) steps, expected 20"
    paste got.txt "$files/$1.losses" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d }
        END { if (worst > 1e-6) { print "largest difference of losses", worst; exit 1 } }' >&2 || fail "losses of $1"
}

# Weights, both means, the step count and the rate, by whatever names a file of it.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o adam.onnx --optimizer adamw:weight_decay=0 --learning-rate 0.5 "${prepare[@]}"
for path in keras keras/ckpt-10 keras/ckpt-10.index keras/ckpt-10.data-00001-of-00002 saved_model saved_model/variables; do
    expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/$path" "${keras[@]}"
    losses_are adam
    has stdout 'step 10 '
    has stderr 'optimizer: 12 tensors of 6 parameters'
    has stderr "step count: 'step_count' is 10, after 10 steps"
    has stderr "learning rate: 'learning_rate' is 0.02"
    has stderr "transposed: '0.weight' [4,3] from [3,4], since only that fits"
done
has stderr "names: its second ones, as 'dense/bias' for 'layer_with_weights-0/bias'"
has stderr "passed over: 'keras_api/metrics/0/total' (0.5)"
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/keras" "${keras[@]}" --steps 0
has stderr "passed over: 'save_counter' (1)"
lacks stderr warning
# By the paths through the objects.
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/saved_model" --rename 0.weight=layer_with_weights-0/kernel \
    --rename 0.bias=layer_with_weights-0/bias --rename 2.weight=layer_with_weights-1/kernel --rename 2.bias=layer_with_weights-1/bias \
    --rename 4.weight=layer_with_weights-2/kernel --rename 4.bias=layer_with_weights-2/bias
losses_are adam
# As tf2onnx names them.
sed -E 's|"([024]).weight"|"sequential/dense_\1/MatMul/ReadVariableOp:0"|g; s|"([024]).bias"|"sequential/dense_\1/BiasAdd/ReadVariableOp:0"|g;
    s|dense_0/|dense/|g; s|dense_2/|dense_1/|g; s|dense_4/|dense_2/|g' "$files/net.onnxtxt" >tf2onnx.onnxtxt
expect 0 "$stepc" prepare tf2onnx.onnxtxt -o tf2onnx.onnx --optimizer adamw:weight_decay=0 "${prepare[@]}"
expect 0 "$stepc" run tf2onnx.onnx "${feeds[@]}" --load "$files/keras" --rename 'sequential/*/MatMul/ReadVariableOp:0=*/kernel' \
    --rename 'sequential/*/BiasAdd/ReadVariableOp:0=*/bias'
losses_are adam
has stderr "square: 'sequential/dense_1/MatMul/ReadVariableOp:0' is transposed, since Gemm reads it as outputs, inputs"
# Where nothing says how a square one stands, that is said.
sed 's/s1 = Gemm<transB = 1>(h0, "2.weight", "2.bias")/same = Identity("2.weight") s1 = Gemm<transB = 1>(h0, same, "2.bias")/' \
    "$files/net.onnxtxt" >copied.onnxtxt
expect 0 "$stepc" convert "$files/keras" copied.onnx --model copied.onnxtxt "${keras[@]}"
has stderr "others are transposed here, but 2.weight is square and taken as it stands"
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load "$files/keras"
has stderr 'its tensors have second names, which --rename may use as well: '

# A file that says no rate.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o right.onnx --optimizer adamw:weight_decay=0 --learning-rate 0.02 "${prepare[@]}"
expect 0 "$stepc" run right.onnx "${feeds[@]}" --load "$files/saver/model.ckpt-10" "${keras[@]}"
losses_are adam
has stderr 'learning rate: that of the model, since the checkpoint says none'
has stderr "passed over: 'beta1_power' (0.313811), 'beta2_power' (0.989055)"
expect 0 "$stepc" run right.onnx "${feeds[@]}" --load "$files/flax.msgpack" "${flax[@]}"
losses_are adam
has stderr "names: its second ones, as 'Dense_0/kernel' for 'params/Dense_0/kernel'"
has stderr 'learning rate: that of the model, since the checkpoint says none'
cp "$files/flax.msgpack" checkpoint_10 # as flax.training.checkpoints calls it
expect 0 "$stepc" run right.onnx "${feeds[@]}" --load checkpoint_10 "${flax[@]}"
losses_are adam
# A state of our own may be called so, too.
expect 0 "$stepc" run right.onnx "${feeds[@]}" --load "$files/flax.msgpack" "${flax[@]}" --steps 5 --save checkpoint_15
expect 0 "$stepc" run right.onnx "${feeds[@]}" --load checkpoint_15 --steps 1
has stdout 'step 15 '
mkdir hub && cp "$files/flax.msgpack" hub/flax_model.msgpack
expect 0 "$stepc" run right.onnx "${feeds[@]}" --load hub "${flax[@]}"
losses_are adam
expect 0 "$stepc" convert "$files/flax.msgpack" filled.onnx --model right.onnx "${flax[@]}"
expect 0 "$stepc" run filled.onnx "${feeds[@]}" --from 10
losses_are adam

# prepare --from takes everything but the optimizer's name, which is in none of them.
expect 1 "$stepc" prepare "$files/net.onnxtxt" -o no.onnx --loss softmax-cross-entropy --from "$files/keras" "${keras[@]}"
has stderr "says neither which it was nor its numbers; --optimizer NAME says it: adam:epsilon=1e-07 is Keras's Adam"
[ ! -e no.onnx ] || fail 'a model is written after an error'
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/keras" "${keras[@]}" \
    --optimizer adamw:weight_decay=0
has stdout "learning rate: 0.02, the variable 'learning_rate'"
expect 0 "$stepc" run from.onnx "${feeds[@]}" --from 10
losses_are adam
# Of Keras's betas what --optimizer leaves out is taken, and what it says is compared.
expect 0 "$stepc" prepare "$files/net.onnxtxt" -o from.onnx --loss softmax-cross-entropy --from "$files/keras" "${keras[@]}" \
    --optimizer adamw:weight_decay=0,beta1=0.8
has stderr "the optimizer's beta1 was 0.9; the model's updates have 0.8"

# Damaged, cut short, incomplete; another folder.
cp -r "$files/keras" broken
printf 'x' | dd of=broken/ckpt-10.data-00000-of-00002 bs=1 seek=40 conv=notrunc status=none
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load broken "${keras[@]}"
has stderr 'has another checksum than the index says: the file is damaged'
truncate -s 100 broken/ckpt-10.data-00000-of-00002
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load broken "${keras[@]}"
has stderr 'ends behind the 100 bytes of the file'
rm broken/ckpt-10.data-00001-of-00002
cp "$files/keras/ckpt-10.data-00000-of-00002" broken
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load broken "${keras[@]}"
has stderr 'ckpt-10.data-00001-of-00002'
truncate -s 1000 broken/ckpt-10.index
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load broken "${keras[@]}"
has stderr "no index of TensorFlow's checkpoints"
# The newest is looked for beside the file that names it.
cp -r "$files/keras" moved
echo 'model_checkpoint_path: "/gone/train/ckpt-10"' >moved/checkpoint
expect 0 "$stepc" run adam.onnx "${feeds[@]}" --load moved "${keras[@]}" --steps 0
echo 'model_checkpoint_path: "/gone/train/ckpt-11"' >moved/checkpoint
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load moved "${keras[@]}"
has stderr "no checkpoint of TensorFlow"
mkdir orbax && touch orbax/_CHECKPOINT_METADATA
expect 1 "$stepc" run adam.onnx "${feeds[@]}" --load orbax
has stderr "a folder of Orbax's, which cannot be read; in Python: tree = "
truncate -s 1000 checkpoint_10
expect 1 "$stepc" run right.onnx "${feeds[@]}" --load checkpoint_10 "${flax[@]}"
has stderr 'its MessagePack is damaged: it was cut short'
