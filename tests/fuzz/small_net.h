/* A small training model into which fuzzed checkpoints go, and out again. */
#ifndef STEPC_FUZZ_SMALL_NET_H
#define STEPC_FUZZ_SMALL_NET_H

#include "foreign/fill.h"
#include "foreign/give.h"
#include "model/model.h"

#include <stdlib.h>

static const char net[] =
    "<ir_version: 8, opset_import: [\"\" : 17], metadata_props: [\"stepc.parameters\" : \"w\nb\"]>\n"
    "m (float[1,2] x) => (float[1,3] y) <float[3,2] w = {1,2,3,4,5,6}, float[3] b = {0,0,0}>\n"
    "{ y = Gemm<transB = 1>(x, w, b) }\n"
    "@training_info { algorithm: t () => (float[3,2] w1, float[3] b1, float[3,2] m1, int64 s1, float r1)\n"
    "<float[3,2] \"w.m\" = {0,0,0,0,0,0}, float[3,2] \"w.v\" = {0,0,0,0,0,0}, int64 step_count = {0},\n"
    "float learning_rate = {1}, float beta1 = {0.9}> {\n"
    "m1 = Mul(\"w.m\", beta1) a = Mul(m1, learning_rate) c = Mul(a, \"w.v\") w1 = Sub(w, c) b1 = Identity(b)\n"
    "s1 = Identity(step_count) r1 = Identity(learning_rate) }\n"
    "update_binding: [\"w\" : \"w1\", \"b\" : \"b1\", \"w.m\" : \"m1\", \"w.v\" : \"m1\", \"step_count\" : \"s1\",\n"
    "\"learning_rate\" : \"r1\"] }\n";

static void fill(struct diag *d, struct arena *a, struct checkpoint *c, bool partial)
{
    struct model *m;
    struct strbuf report = {.arena = a};
    struct fill_options o = {.weights.partial = partial};
    struct filled filled = {.set.arena = a};
    const struct map none = {.arena = a};
    diag_error(d, NULL, "once");
    const size_t before = d->errors;
    if (!model_read_text(d, a, "net.onnxtxt", net, sizeof net - 1, &m))
        abort();
    const bool ok = checkpoint_fill(d, a, m, c, &o, &report, &filled);
    if (ok == (d->errors > before)) /* refused without a reason, or accepted with one */
        abort();
    if (ok && !checkpoint_give(d, a, m, &none, &filled.own, filled.steps, &o.weights, "/dev/null"))
        return; /* names in it that JSON cannot have */
}

#endif
