#!/usr/bin/env bash
# usage: depfile_names.sh STEPC MAKE_NPY
# Rules for make of files with any name: make reads the names back, or they are refused.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
command -v make >/dev/null || exit 0

cat >net.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) { y = Relu(x) }
END
export LC_ALL=C # what make says is read

# watched FILE TARGET COMMAND...: its rule is read by make, which sees that FILE is newer
watched() {
    local file=$1 target=$2
    shift 2
    expect 0 "$stepc" "$@" --depfile p.d
    lacks stderr warning
    printf 'all: sub\n%%::\n\t@echo again\nsub: ;\n-include p.d\n' >Makefile
    find . -type f -exec touch -t 202001010000 {} +
    touch -t 202001020000 "$target"
    [ "$(make "$target")" = "make: '$target' is up to date." ] || fail "made, and nothing is newer: $file"
    touch "$file"
    [ "$(make "$target")" = again ] || fail "$file is newer, and nothing is made: $(cat p.d)"
}
mkdir names
# shellcheck disable=SC1003,SC2016 # backslashes and a dollar
for name in 'a b' 'a\ b' 'a\\ b' 'a\b' 'a\b c' 'a#b' 'a\#b' 'a:b' 'a\:b' 'c:\net' 'a|b' 'a\|b' 'a$b' 'a%b' 'a&b' "a'b" 'a"b' 'a+b' \
    $'a\tb' 'a~b'; do
    cp net.onnxtxt "names/$name.onnxtxt"
    watched "names/$name.onnxtxt" c.c compile "names/$name.onnxtxt" -o c.c --depfile-target c.c
done
# A '=' makes a rule a variable, unless another name stands in front.
cp net.onnxtxt names/lr=1.onnxtxt
printf '1 2' | "$make_npy" f4 2 >x.npy
watched names/lr=1.onnxtxt c.c compile names/lr=1.onnxtxt --set x=@x.npy -o c.c --depfile-target c.c
watched x.npy c.c compile names/lr=1.onnxtxt --set x=@x.npy -o c.c --depfile-target c.c
expect 0 "$stepc" compile names/lr=1.onnxtxt -o c.c --depfile p.d
has stderr "p.d: warning: make takes the rule for a variable, since '$work/names/lr=1.onnxtxt' has a '='"
expect 0 "$stepc" compile net.onnxtxt -o c.c --depfile p.d --depfile-target names/lr=1
has stderr "warning: make takes the rule for a variable, since 'names/lr=1' has a '='"
expect 0 "$stepc" compile net.onnxtxt -o names/lr=1.c --name net --quiet

# What no rule can name is refused, and nothing is written.
rm -f c.c c.h p.d
for name in 'a;b' $'a\nb'; do
    cp net.onnxtxt "names/$name.onnxtxt"
    expect 1 "$stepc" compile "names/$name.onnxtxt" -o c.c --depfile p.d
    has stderr 'a dependency file cannot name a path with a '
done
# shellcheck disable=SC1003
expect 1 "$stepc" compile net.onnxtxt -o c.c --depfile p.d --depfile-target 'made\'
has stderr 'a dependency file cannot name a path with a backslash at its end'
for name in c.c c.h p.d; do
    [ ! -e $name ] || fail 'written beside a rule that is refused'
done
