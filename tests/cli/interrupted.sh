#!/usr/bin/env bash
# usage: interrupted.sh STEPC MAKE_NPY
# A signal ends stepc at once, with all that it started, and leaves no file. What it inherited about signals does not hang it.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >small.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[2] x) => (float[2] y) { y = Neg(x) }
MODEL
seq 2 | "$make_npy" f4 2 >x.npy
mkdir temporary
export TMPDIR=$PWD/temporary

# A compiler that signals stepc, as it was started (verify has processes in between), and would go on for long.
cat >signals <<'CC'
#!/bin/sh
echo half >"$TMPDIR/cc123.s"
sleep 60 &
echo $! >>going
[ "$PPID" -eq "$MAIN" ] || echo "$PPID" >>going
kill -"$SIGNAL" "$MAIN"
wait
CC
chmod +x signals
printf '#!/bin/sh\nexport MAIN=$$\nexec "$@"\n' >main
chmod +x main

# goes_on PID: it is there, and no zombie. A signal that was sent may take a moment.
goes_on() {
    local try
    for try in $(seq 50); do
        grep -qs '^State:.[^ZX]' "/proc/$1/status" || return 1
        [ "$try" -eq 50 ] || sleep 0.1
    done
}

# ended NAME COMMAND...: the signal ends the command and the compiler, and nothing is left
ended() {
    local status=0 begun=$SECONDS process
    rm -f going
    SIGNAL=$1 env --default-signal timeout 30 ./main "$stepc" "${@:2}" --cc ./signals >stdout 2>stderr || status=$?
    [ "$status" -eq $((128 + $(kill -l "$1"))) ] || fail "SIG$1: status $status: ${*:2}"
    [ $((SECONDS - begun)) -lt 20 ] || fail "SIG$1: stepc waited for the compiler: ${*:2}"
    while read -r process; do
        ! goes_on "$process" || fail "SIG$1: the compiler or a process of verify goes on: ${*:2}"
    done <going
    [ -z "$(ls temporary)" ] || fail "SIG$1 left $(ls temporary): ${*:2}"
    [ ! -e out.c ] || fail "SIG$1: out.c was written"
}
for signal in INT TERM HUP QUIT ALRM USR1 USR2 XCPU; do
    ended "$signal" compile small.onnxtxt -o out.c --check
    ended "$signal" run small.onnxtxt --feed x=x.npy --fetch y=y.npy --engine generated
done
ended INT compare small.onnxtxt

# Of verify the processes of the tests end, too, and no verdict is given for them.
for i in 1 2 3; do
    mkdir -p cases/$i/test_data_set_0
    "$stepc" convert small.onnxtxt cases/$i/model.onnx >/dev/null
    printf '\010\002\020\001\112\010\000\000\200\077\000\000\000\300' >cases/$i/test_data_set_0/input_0.pb # 1, -2
done
for signal in INT TERM USR1; do
    for jobs in 1 2; do
        ended $signal verify cases --engine generated --jobs $jobs
        [ ! -s stdout ] || fail "SIG$signal: a verdict: $(cat stdout)"
    done
done

# One that is ignored, as nohup does, stays so: the compiler, which is none, has its way.
sed -i "/sleep/d; /wait/d" signals
status=0
(
    trap '' HUP
    SIGNAL=HUP ./main "$stepc" compile small.onnxtxt -o out.c --check --cc ./signals >stdout 2>stderr
) || status=$?
[ "$status" -eq 0 ] || fail "status $status where SIGHUP is ignored"
[ -e out.c ] || fail 'an ignored signal ended stepc'
[ -z "$(ls temporary)" ] || fail "left: $(ls temporary)"

# Once the C is loaded there is no folder any more, whatever ends the program then.
cat >looks <<'CC'
#!/bin/sh
exec cc -O2 "$@"
CC
chmod +x looks
mkfifo fetched
"$stepc" run small.onnxtxt --feed x=x.npy --fetch y=fetched --engine generated --cc ./looks &
runner=$!
exec 3<fetched
[ -z "$(ls temporary)" ] || fail "beside a run: $(ls temporary)"
cat <&3 >/dev/null
wait "$runner"
exec 3<&-

# Files that were written before do not hold it up.
"$stepc" run small.onnxtxt --feed x=x.npy --quiet --steps 1000000000 --save state --save-every 1 &
runner=$!
for try in $(seq 100); do
    [ ! -e state ] || break
    [ "$try" -lt 100 ] || fail 'no state is saved'
    sleep 0.1
done
kill -TERM "$runner"
! goes_on "$runner" || {
    kill -KILL "$runner"
    fail 'a run that has saved goes on'
}
status=0
wait "$runner" || status=$?
[ "$status" -eq $((128 + $(kill -l TERM))) ] || fail "status $status of a run that has saved"

# In the middle of a file: the limit's signal comes when so many bytes are written. Nothing of three files is there, not one alone.
mkdir out
{
    printf '<ir_version: 9, opset_import: ["" : 18]>\nnet (float[1] x) => (float[100000] y)\n<float[100000] w = {'
    seq 100000 | paste -sd,
    printf '}>\n{ y = Add(x, w) }\n'
} >large.onnxtxt
for limit in 4 100; do
    status=0
    (ulimit -c 0 && ulimit -f $limit && exec env --default-signal "$stepc" compile large.onnxtxt -o out/net.c --weights file) \
        >stdout 2>stderr || status=$?
    [ "$status" -eq $((128 + $(kill -l XFSZ))) ] || fail "status $status at the limit of a file's size"
    [ -z "$(ls out)" ] || fail "half of the files: $(ls out)"
    status=0
    (ulimit -c 0 && ulimit -f $limit && exec env --default-signal "$stepc" convert large.onnxtxt out/net.onnx) >stdout 2>stderr || status=$?
    [ "$status" -eq $((128 + $(kill -l XFSZ))) ] || fail "status $status at the limit of a file's size"
    [ -z "$(ls out)" ] || fail "half of a model: $(ls out)"
done
expect 0 "$stepc" compile large.onnxtxt -o out/net.c --weights file
[ "$(echo out/*)" = 'out/net.c out/net.h out/net.weights' ] || fail "written: $(ls out)"

# Whoever waits for the reader of a pipe can be ended.
mkfifo nobody.onnx
status=0
env --default-signal timeout -k 20 1 "$stepc" convert large.onnxtxt nobody.onnx >stdout 2>stderr || status=$?
[ "$status" -eq 124 ] || fail "status $status: stepc waits for ever for the reader of a pipe"

# A parent that ignores the ends of its children hands that down.
printf '\010\002\020\001\112\010\000\000\200\277\000\000\000\100' >cases/1/test_data_set_0/output_0.pb # -1, 2
for command in 'compile small.onnxtxt -o out.c --check' 'run small.onnxtxt --feed x=x.npy --fetch y=y.npy --engine generated' \
    'compare small.onnxtxt' 'verify cases/1 --engine generated'; do
    # shellcheck disable=SC2086
    expect 0 timeout 60 env --ignore-signal=CHLD "$stepc" $command
done
[ -z "$(ls temporary)" ] || fail "left: $(ls temporary)"

# A compiler that something else ends.
printf '#!/bin/sh\nkill -9 $$\n' >killed
chmod +x killed
expect 1 "$stepc" compile small.onnxtxt -o out/killed.c --check --cc ./killed
has stderr "the C compiler './killed' was ended by signal 9"
[ ! -e out/killed.c ] || fail 'out/killed.c was written'
