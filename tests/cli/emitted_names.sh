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
