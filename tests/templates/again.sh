#!/bin/sh
# usage: again.sh TABLE GEN_TEMPLATES ARGUMENT...
# What the tool writes now is the table that it wrote for the build.
set -eu
table=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$@" -o "$work/table.c"
cmp "$table" "$work/table.c"
