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
