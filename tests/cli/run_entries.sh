#!/usr/bin/env bash
# usage: run_entries.sh STEPC MAKE_NPY
# Two training entries, a generator and a discriminator: step runs both in order, each can be run by its own name, and losses go
# where they should.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
model=$source_folder/tests/docs_models/gan.onnxtxt

seq 1 16 | awk '{ print 1.5 + 0.5 * sin($1) }' | "$make_npy" f4 16 1 >real.npy

# column N FILE: the values of a column of a table
column() {
    awk -F, -v n="$1" 'NR > 1 { print $n }' "$2"
}

# Both engines, all bits; and step() has those of the two entries one after the other, also in what they draw.
expect 0 "$stepc" compare "$model" --reproducible --arithmetic same
has stdout ', 0 differ'
for engine in 'interpreted --arithmetic double' 'interpreted --arithmetic same' 'generated --reproducible'; do
    # shellcheck disable=SC2086 # the engine and its option
    run() { expect 0 "$stepc" run "$model" --engine $engine --seed 3 --quiet "$@"; }
    fetches=()
    for name in G1 g1 G2 g2 D1 d1 D2 d2; do
        fetches+=(--fetch "$name=$name.npy")
    done
    run --feed real=real.npy --steps 3 --csv both.csv "${fetches[@]}"
    mkdir -p together && mv ./??.npy together
    for step in 0 1 2; do
        load=(--load state)
        [ "$step" -gt 0 ] || load=()
        run --entry discriminator --feed real=real.npy --steps 1 --save state "${load[@]}" --csv discriminator.csv
        run --entry generator --steps 1 --load state --save state --csv generator.csv "${fetches[@]}"
        [ "$(column 2 both.csv | sed -n "$((step + 1))p")" = "$(column 2 discriminator.csv)" ] || fail "$engine: d_loss of step $step"
        [ "$(column 3 both.csv | sed -n "$((step + 1))p")" = "$(column 2 generator.csv)" ] || fail "$engine: g_loss of step $step"
    done
    for name in G1 g1 G2 g2 D1 d1 D2 d2; do
        same "$name.npy" "together/$name.npy"
    done
done

# Each loss falls as long as the other side stands still; together the generator finds the mean of the real numbers.
for entry in discriminator generator; do
    expect 0 "$stepc" run "$model" --engine generated --entry "$entry" --feed real=real.npy --seed 3 --steps 100 --csv "$entry.csv" --quiet
    column 2 "$entry.csv" | awk -v entry="$entry" 'NR == 1 { first = $1 } { last = $1 }
        END { exit !(last < first - (entry == "generator" ? 0.02 : 1)) }' || fail "$entry: the loss does not fall"
done
cat >mean.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
mean (float[16,1] x) => (float m) { m = ReduceMean <keepdims = 0> (x) }
MODEL
expect 0 "$stepc" run "$model" --engine generated --feed real=real.npy --seed 3 --steps 300 --fetch fake=fake.npy --csv both.csv --quiet
expect 0 "$stepc" run mean.onnxtxt --feed x=fake.npy --csv mean.csv --quiet
column 2 mean.csv | awk 'NR > 250 { sum += $1; n++ } END { exit !(n == 50 && sum / n > 1.4 && sum / n < 1.6) }' || fail 'the mean of what is generated'
column 2 both.csv | awk 'NR > 250 { sum += $1; n++ } END { exit !(sum / n > 1.3 && sum / n < 1.5) }' || fail 'd_loss is not near 2 log 2'

# A state holds the counters of both, whichever entry is run.
expect 0 "$stepc" run "$model" --engine generated --entry generator --steps 1 --save generated --quiet
expect 0 "$stepc" run "$model" --engine interpreted --arithmetic same --entry generator --steps 1 --save interpreted --quiet
grep -qa 'stepc.random_counter_discriminator' generated || fail 'no counter of the other entry'
grep -qa 'stepc.random_counter_generator' interpreted || fail 'no counter of the entry'
expect 1 "$stepc" run "$model" --entry critic --steps 1
has stderr "the model has no entry 'critic'; it has: init, infer, step, discriminator, generator"
