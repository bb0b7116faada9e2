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
