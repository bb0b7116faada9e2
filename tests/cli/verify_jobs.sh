#!/usr/bin/env bash
# usage: verify_jobs.sh STEPC MAKE_NPY
# verify: tests side by side, as many as were asked for or as the system has processes and pipes for.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >net.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 18]>
net (float[2] x) => (float[2] y) { y = Neg(x) }
MODEL
for i in {10..29}; do
    set="cases/$i/test_data_set_0"
    mkdir -p "$set"
    "$stepc" convert net.onnxtxt "cases/$i/model.onnx" >/dev/null
    printf '\010\002\020\001\112\010\000\000\200\077\000\000\000\300' >"$set/input_0.pb"  # 1, -2
    printf '\010\002\020\001\112\010\000\000\200\277\000\000\000\100' >"$set/output_0.pb" # -1, 2
done
expect 0 "$stepc" verify cases --engine interpreted --jobs 1
mv stdout one_by_one
has one_by_one '20 passed, 0 failed, 0 unsupported'
expect 0 "$stepc" verify cases --engine interpreted --jobs 1000
same stdout one_by_one

# limited DESCRIPTORS COMMAND...; ctest leaves some open
# shellcheck disable=SC2016 # that is for bash
limited=(bash -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- && ulimit -n "$1" && exec "${@:2}"' -)
verify=("$stepc" verify cases --engine interpreted --jobs 1000)
expect 0 "${limited[@]}" 10 "${verify[@]}"
same stdout one_by_one
expect 1 "${limited[@]}" 4 "${verify[@]}"
has stderr 'error: no process can be started for a test: Too many open files'
