#!/usr/bin/env bash
# usage: merge_entries.sh STEPC MAKE_NPY
# stepc merge: entries of small models, their inputs and their names.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# What an algorithm is fed and the other network, too, is fed to the main graph then, whatever else of training the algorithm has.
cat >ends.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
ends (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }
MODEL
renamed='s/ends/begins/; s/\bx\b/target/g; s/\by\b/z/g; s/\bw\b/v/g'
sed "$renamed" ends.onnxtxt >begins.onnxtxt
for optimizer in sgd adam; do
    for name in ends begins; do
        expect 0 "$stepc" prepare $name.onnxtxt -o to_$name.onnxtxt --loss mse --optimizer $optimizer
    done
    expect 0 "$stepc" merge to_ends.onnxtxt to_begins.onnxtxt -o both.onnxtxt
    has both.onnxtxt '(float[2] x, float[2] target) =>'
    has both.onnxtxt 'algorithm: to_ends () =>'
    has both.onnxtxt 'algorithm: to_begins () =>'
    expect 0 "$stepc" compare both.onnxtxt --reproducible --arithmetic same
done

# Steps without names are not taken for one another, nor are initializations without a step.
for part in 'initialization: init () => (float[2] made) { made = RandomNormal <shape = [2]> () } initialization_binding: ["w" : "made"]' \
    'algorithm: "" () => (float[2] next) { next = Neg(w) } update_binding: ["w" : "next"]'; do
    { cat ends.onnxtxt && printf '@training_info { %s }\n' "$part"; } >own_ends.onnxtxt
    sed "$renamed" own_ends.onnxtxt >own_begins.onnxtxt
    expect 0 "$stepc" merge own_ends.onnxtxt own_begins.onnxtxt -o both.onnxtxt
    has both.onnxtxt '["w" : '
    has both.onnxtxt '["v" : '
    sed 's/"" ()/step ()/' own_ends.onnxtxt >named_ends.onnxtxt
    sed 's/"" ()/step ()/' own_begins.onnxtxt >named_begins.onnxtxt
done
expect 1 "$stepc" merge named_ends.onnxtxt named_begins.onnxtxt -o both.onnxtxt
has stderr "named_ends.onnxtxt has an entry 'step' too; give the file another name, or prepare --entry NAME"
