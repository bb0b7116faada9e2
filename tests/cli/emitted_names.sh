#!/usr/bin/env bash
# usage: emitted_names.sh STEPC MAKE_NPY
# What locals and comments of emitted C are called: after the value that is there, not after what shares its memory.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cp "$source_folder/tests/models/loop_by_data.onnxtxt" net.onnxtxt
expect 0 "$stepc" compile net.onnxtxt -o net.c
sed -n '/compute_loss_2_t(float/,/^}/p' net.c >body

# A result takes the place of an operand, which is read first.
has body 'loss_2_root_i = loss_2_t[0];'
has body 'loss_and_i = loss_2_more[0],'
has body 'where_of_where_i = loss_3_root[0],'
lacks body 'loss_2_t_i = loss_2_t[0]'

# Nodes that a node of the model became are said with that one, whose number they have.
tr -s ' *\n' ' ' <net.c >text
has text 'gradient of node #6 (Loop: Where, stepc.IfTaken), gradient of iteration 0 of node #6 (Loop)'
lacks text '#6 (Where)'

# A macro of the header is no name of a parameter or a local, of a loop over steps neither.
cat >net.onnxtxt <<'END'
<ir_version: 10, opset_import: ["" : 17]>
net (float[3] a, float[3] b, float[20,1,3] x, float[1,1,3] NET_ARENA_BYTES) => (float[3] y, float[3] NET_H, float[20,1,1,3] z)
<float[1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[1,3,3] r = {1, 2, 3, 4, 5, 6, 7, 8, 9}>
{
  NET_H = Exp(a)
  NET_BUILD_ID = Mul(NET_H, b)
  root = Sqrt(NET_BUILD_ID)
  y = Add(root, NET_BUILD_ID)
  z = RNN <hidden_size = 3> (x, w, r, , , NET_ARENA_BYTES)
}
END
expect 0 "$stepc" compile net.onnxtxt -o net.c
has net.c z_h_steps
expect 0 "${CC:-cc}" -std=c99 -Wall -Werror -I"$source_folder/runtime" -c net.c
cat >many.onnxtxt <<'END'
<ir_version: 10, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
net (float[3] x) => (float loss, float[3] slope)
{
  size = ReduceL1 <keepdims = 0> (x)
  root = Sqrt(size)
  loss = Mul(root, root)
  slope = ai.onnx.preview.training.Gradient <xs = ["x"], y = "loss"> (x)
}
END
expect 0 "$stepc" compile many.onnxtxt -o many.c
tr -s ' *\n' ' ' <many.c >text
has text 'gradient of nodes #2 (Mul), #1 (Sqrt) '
has text 'gradient of node #0 (ReduceL1: Abs) '

# Nor is one that of how many samples a call has.
sed 's/\bn\b/NET_BUILD_ID/g' >net.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 17]>
net (float[n,3] x) => (float[n,3] y) { y = Exp(x) }
MODEL
expect 0 "$stepc" compile net.onnxtxt -o net.c --dim NET_BUILD_ID=1..8
expect 0 "${CC:-cc}" -std=c99 -Wall -Werror -I"$source_folder/runtime" -c net.c
