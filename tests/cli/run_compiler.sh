#!/usr/bin/env bash
# usage: run_compiler.sh STEPC MAKE_NPY
# With which flags `run --engine generated` calls the C compiler: for this machine, if the compiler knows it and the user says no flags.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) { y = Relu(x) }
END
seq 2 | "$make_npy" f4 2 >x.npy
compiler=${CC:-cc}
cat >knows <<END
#!/bin/sh
echo "\$@" >>calls
exec ${compiler%% *} "\$@"
END
sed 's/^exec/case "$*" in *-march=native*) exit 1 ;; esac\n&/' knows >knows_not
chmod +x knows knows_not

# called CC_VARIABLE ARGUMENT...: what the last call of the compiler was, in `call`
called() {
    local variable=$1
    shift
    rm -f calls
    CC=$variable expect 0 "$stepc" run net.onnxtxt --feed x=x.npy --engine generated "$@"
    tail -n 1 calls >call
}
called ./knows
has call '-O2 -march=native -std=c99'
called ./knows_not
has call '-O2 -std=c99'
lacks call -march
called './knows -O1'
has call '-O1 -std=c99'
lacks call -march
called true --cc ./knows
has call '-O2 -std=c99'
lacks call -march

# What it rejects is said with its first error, not with a function that is called so, however much it says before.
cat >refuses <<'END'
#!/bin/sh
echo "net.c: In function 'kernel_error_rate':"
[ -z "$WARNINGS" ] || yes "net.c:7:5: warning: unused variable 'x'" | head -n "$WARNINGS"
echo "net.c:9:1: error: of locale $LC_ALL"
echo "net.c:9:2: error: a second one"
exit 1
END
chmod +x refuses
for warnings in '' 50000; do
    WARNINGS=$warnings LC_ALL=C.UTF-8 expect 1 "$stepc" run net.onnxtxt --feed x=x.npy --engine generated --cc ./refuses
    has stderr "the C compiler './refuses' rejects the generated code: net.c:9:1: error: of locale C"
    lacks stderr UTF-8
done
printf '#!/bin/sh\necho net.c, line 9: Fehler\necho an error\nexit 1\n' >refuses
expect 1 "$stepc" run net.onnxtxt --feed x=x.npy --engine generated --cc ./refuses
has stderr 'rejects the generated code: an error'
printf '#!/bin/sh\nexit 3\n' >refuses
expect 1 "$stepc" run net.onnxtxt --feed x=x.npy --engine generated --cc ./refuses
has stderr 'rejects the generated code: it says nothing, and ends with status 3'

# A disk that the compiler fills has room for what it says of that.
cat >refuses <<'END'
#!/bin/sh
head -c 4000000 /dev/zero >"$TMPDIR/fills" 2>/dev/null
echo 'net.c: error: the disk is full'
exit 1
END
mkdir full
# in_full COMMAND...: with a $TMPDIR of 2 MB
in_full() {
    # shellcheck disable=SC2016
    unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=2m none full && TMPDIR=$PWD/full exec "$@"' sh "$@"
}
if in_full true 2>no_mount; then
    expect 1 in_full "$stepc" run net.onnxtxt --feed x=x.npy --engine generated --cc ./refuses
    has stderr 'rejects the generated code: net.c: error: the disk is full'
else
    echo "no full disk was tried: $(cat no_mount)"
fi
