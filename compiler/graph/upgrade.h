/* From a node of the model to a node of the newest form of its operator: which record and which of its versions is
 * meant, whether the node keeps to that version's schema, and the chain of upgrades. Internal to import. Spec:
 * ONNX IR.md, Versioning.md. */
#ifndef STEPC_GRAPH_UPGRADE_H
#define STEPC_GRAPH_UPGRADE_H

#include "graph/op_def.h"

/* The operator that a node means under the version its domain is imported with. */
struct op_choice {
    const struct op_def *def;
    const struct op_version *version; /* a row of def->versions */
    int opset;                        /* version imported for the domain */
};

/* Each returns false after a report; the three checks may all be asked for, to report as much as possible at once. */
bool upgrade_choose(struct diag *d, const struct model_node *mn, const model_opsets *opsets, int64_t ir_version,
                    struct op_choice *out) MUST_USE;
/* Does a node mean the same, with the same attributes and operands, under both versions of its domain? Types of
 * elements may be allowed by one only. */
bool upgrade_keeps_form(const struct model_node *mn, int64_t a, int64_t b);
/* Counts of operands, names, types and presence of attributes, against the schema of the version. */
bool upgrade_check_node(struct diag *d, const struct op_choice *c, const struct model_node *mn) MUST_USE;
/* The operands of that version, inputs or outputs. */
const struct op_param *upgrade_params(const struct op_choice *c, bool inputs);
/* Dtypes of the inputs that only the old version refuses (what the newest refuses is node_infer()'s to say). */
bool upgrade_check_inputs(struct diag *d, const struct op_choice *c, const struct node *n) MUST_USE;
/* Gives n the attributes of the model's node. */
bool upgrade_set_attrs(struct diag *d, struct node *n, const struct model_node *mn) MUST_USE;
/* Runs the upgrade callbacks from c->version to the newest. A callback may turn the node into another operator of the
 * newest form (Upsample -> Resize), which ends the chain. */
bool upgrade_to_newest(struct node *n, const struct op_choice *c) MUST_USE;

/* The names of all operators of ai.onnx, sorted. */
extern const char *const onnx_names[];
extern const size_t onnx_names_count;
bool onnx_names_has(const char *name);

#endif
