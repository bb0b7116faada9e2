#!/usr/bin/env bash
# usage: compile_standalone.sh STEPC MAKE_NPY
# --standalone: the emitted files need no runtime. Two of them and an ordinary model are one program, in any order of headers.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/emitted/models.sh
. "$source_folder/tests/emitted/models.sh"
cc=${CC:-cc}

model=$source_folder/examples/digits/model.onnx
for name in anna bert; do
    expect 0 "$stepc" compile "$model" -o $name.c --dim batch=4 --loss softmax-cross-entropy --initialize he --standalone --quiet
    lacks $name.h '#include "stepc.h"'
    has $name.c ' --standalone'
done
expect 0 "$stepc" compile "$model" -o carl.c --dim batch=4 --loss softmax-cross-entropy --initialize he --quiet

# the same C but for the name, the options, and where the runtime is
sed '/^[/][*] =* routines of the runtime/,/^[/][*] =* the model =/d; s/anna/carl/g; s/ANNA/CARL/g; s/ --standalone//; /BUILD_ID/d' anna.c |
    diff -B - <(sed '/BUILD_ID/d; /^#include "\(kernels.\)*stepc_/d' carl.c) >&2 || fail 'standalone code is other code'
lacks anna.c '#include "kernels'
lacks anna.c '#include "stepc_'

cat >program.c <<'C'
#include "anna.h"
#include "bert.h"
#include <stdio.h>
#include <string.h>

static anna_state one;
static anna_arena arena_of_one;
static bert_state two;
static bert_arena arena_of_two;

int main(void)
{
    float x[4][64], loss[2] = {0.0f, 0.0f};
    const int64_t target[4] = {0, 1, 2, 11};
    anna_step_inputs in;
    anna_step_outputs out;
    stepc_status status = anna_init(&one, &arena_of_one, 1);
    if (status == STEPC_OK)
        status = stepc_find_entry(&bert_model, "init")->call(&two, &arena_of_two, 1, NULL, NULL);
    if (status != STEPC_OK || memcmp(&one, &two, sizeof one) != 0)
        return 1;
    memset(x, 0, sizeof x);
    in.x = x[0];
    in.target = target;
    out.loss = &loss[0];
    out.logits = NULL;
    puts(stepc_status_text(anna_step(&one, &arena_of_one, &in, &out)));
    return 0;
}
C
for flags in -O0 -O2; do
    "$cc" "${emitted_warnings[@]}" $flags -c anna.c bert.c program.c || fail "$flags: a warning"
    "$cc" anna.o bert.o program.o -o program
    expect 0 ./program
    has stdout 'a class label is out of range'
done

# with a model that has the runtime from outside, the headers in both orders
for order in 'anna carl bert' 'carl bert anna'; do
    for header in $order; do
        echo "#include \"$header.h\""
    done >mixed.c
    cat >>mixed.c <<'C'
int main(void)
{
    return stepc_find_entry(&anna_model, "step") == NULL || stepc_find_entry(&carl_model, "step") == NULL ||
           stepc_find_variable(&bert_model, "no such variable") != NULL || STEPC_VERSION_MAJOR != 0;
}
C
    "$cc" "${emitted_warnings[@]}" -I"$source_folder/runtime" mixed.c carl.c anna.c bert.c "$source_folder/runtime/stepc.c" -o mixed ||
        fail "headers in the order $order"
    expect 0 ./mixed
done

# another version of the runtime before it is noticed
sed 's/define STEPC_ABI .*/define STEPC_ABI 99u/' "$source_folder/runtime/stepc.h" >stepc.h
printf '#include "stepc.h"\n#include "anna.h"\n' >other.c
expect 1 "$cc" -c other.c
has stderr 'another version of stepc'

if command -v g++ >/dev/null; then
    cp program.c program.cpp
    g++ -Wall -Wextra -Wconversion -Wshadow -Wcast-qual -pedantic -Werror -c program.cpp
    g++ program.o anna.o bert.o -o program
    expect 0 ./program
fi
