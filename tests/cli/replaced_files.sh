#!/usr/bin/env bash
# usage: replaced_files.sh STEPC MAKE_NPY
# What happens to that which stands where a file is written: links, pipes, files of the user, other writers.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
digits 1 32 ''
trains=("$stepc" run train.onnx --data x=x.npy --data target=t.npy --batch 32 --quiet)
expect 0 "${trains[@]}" --save plain.state

# No file but the one that was named, with whatever name it has.
mkdir own
echo precious >own/s.new
echo precious >own/s.tmp
expect 0 "${trains[@]}" --save own/s
[ "$(cat own/s.new own/s.tmp)" = $'precious\nprecious' ] || fail 'a file of the user was taken for a temporary one'
[ "$(ls own)" = $'s\ns.new\ns.tmp' ] || fail "left behind: $(ls own)"
long=own/$(printf '%0250d' 7)
expect 0 "${trains[@]}" --save "$long"
same "$long" plain.state
rm "$long"

# A link stays, also one to nothing yet; what it names is replaced. The file keeps its permissions.
mkdir elsewhere
ln -s ../elsewhere/state ../elsewhere/json own
for turn in new old; do
    expect 0 "${trains[@]}" --save own/state
    expect 0 "$stepc" inspect train.onnx --dim batch=32 --json own/json
    if [ ! -L own/state ] || [ ! -L own/json ]; then fail "$turn: a link was replaced"; fi
    same elsewhere/state plain.state
    has elsewhere/json '"schema"'
    chmod 640 elsewhere/state elsewhere/json
    echo changed >elsewhere/json
done
[ "$(stat -c %a elsewhere/state elsewhere/json)" = $'640\n640' ] || fail 'permissions were lost'
ln -s round own/round
expect 1 "${trains[@]}" --save own/round
has stderr 'own/round: error: cannot write: Too many levels of symbolic links'

# A pipe is written to.
mkfifo pipe
cat pipe >from_pipe &
expect 0 "${trains[@]}" --save pipe
wait $!
[ -p pipe ] || fail 'a pipe was replaced by a file'
same from_pipe plain.state
cat pipe >from_pipe &
expect 0 "$stepc" inspect train.onnx --dim batch=32 --json pipe
wait $!
has from_pipe '"schema"'

# So is standard output where it is one: the text of its link is no path.
[ ! -e /dev/stdout ] || {
    "${trains[@]}" --save /dev/stdout | cat >from_stdout
    same from_stdout plain.state
    "$stepc" inspect train.onnx --dim batch=32 --json /dev/stdout --quiet | cat >from_stdout
    same from_stdout from_pipe
}

# Many at once: each succeeds, and who reads meantime finds a whole state.
writers=()
for _ in 1 2 3 4 5 6; do
    (for _ in 1 2 3 4; do "${trains[@]}" --save shared --load plain.state || exit 1; done) 2>>together &
    writers+=($!)
done
cp plain.state shared
for _ in 1 2 3 4 5 6 7 8; do
    expect 0 "${trains[@]}" --load shared
done
for writer in "${writers[@]}"; do
    wait "$writer" || fail "a save among others failed: $(cat together)"
done
[ -z "$(find . -name '*.tmp' ! -path ./own/s.tmp)" ] || fail 'a temporary file is left'
