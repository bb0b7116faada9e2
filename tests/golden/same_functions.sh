#!/bin/sh
# usage: same_functions.sh ORIGINAL COPY
# Every stepc_ function that COPY defines must stand in ORIGINAL with the same text, but for where it is inlined.
original=$1
copy=$2
text_of() { sed -E 's/STEPC_(FAST|LOOP)_INLINE/inline/' "$1" | awk -v name="$2" '$0 ~ "^static inline .*[ *]" name "\\(" {on = 1} on {print} on && /^}/ {exit}'; }
names=$(sed -n 's/^static inline [a-z0-9_]* \(stepc_[a-z0-9_]*\)(.*/\1/p' "$copy")
[ -n "$names" ] || { echo "no stepc_ functions in $copy"; exit 1; }
status=0
for name in $names; do
    if [ "$(text_of "$original" "$name")" != "$(text_of "$copy" "$name")" ]; then
        echo "$name differs from $original"
        status=1
    fi
done
exit $status
