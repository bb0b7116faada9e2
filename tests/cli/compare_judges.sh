#!/usr/bin/env bash
# usage: compare_judges.sh STEPC MAKE_NPY
# compare's bound holds where rounding errors add up, and not where the code is wrong.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Sums of equal terms, whose errors all go one way: moving the terms at random does not find how far.
for terms in 2000 4000 20000; do
    cat >sum.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,$terms] x) => (float[2] y) <int64[1] a = {1}>
{
    q = Mul(x, x)
    y = ReduceSum <keepdims = 0> (q, a)
}
MODEL
    for value in 0.3137 0.1 0.7; do
        yes "$value" | head -n $((2 * terms)) | "$make_npy" f4 2 "$terms" >x.npy || [ "$?" -eq 141 ]
        expect 0 "$stepc" compare sum.onnxtxt --feed x=x.npy --cc 'cc -O1'
        has stdout ', 0 differ'
    done
done

# A compiler that changes a term by a hundred thousandth.
cat >wrong_cc <<'C'
#!/usr/bin/env bash
for file in "$@"; do
    case $file in */stepc-*/*.c) sed -i 's/\(\[i\] = .* + \)/\11.00001f * /' "$file" ;; esac
done
exec cc "$@"
C
chmod +x wrong_cc
cat >product.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[64] x, float[64] z) => (float[64] y)
{
    p = Mul(x, z)
    y = Add(p, z)
}
MODEL
expect 0 "$stepc" compare product.onnxtxt --cc 'cc -O1'
for how in '' '--arithmetic same --reproducible'; do
    # shellcheck disable=SC2086 # options are words
    expect 1 "$stepc" compare product.onnxtxt $how --cc "$work/wrong_cc -O1"
    has stdout 'DIFFER infer      add_mul'
done

# Kernels compute with what the first step feeds, whatever later ones do.
cat >rows.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,3] x, int64[2] i) => (float[2,3] y)
{
    p = Mul(x, x)
    q = Gather(p, i)
    y = Add(q, q)
}
MODEL
printf '1 3 0 9' | "$make_npy" i8 2 2 >i.npy
expect 0 "$stepc" compare rows.onnxtxt --feed i=i.npy --steps 1 --cc 'cc -O1'
has stdout ', 0 differ'
expect 1 "$stepc" compare rows.onnxtxt --feed i=i.npy --steps 2 --cc 'cc -O1'
