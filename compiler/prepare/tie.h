/* One parameter or several? Exporters merge initializers that happen to be equal (ones, zeros) and leave Identity nodes
 * for the other names; and they write a tensor that two layers share twice, once transposed. Trained as they stand, the
 * merged ones follow the sum of their gradients, and the copies drift apart.
 *
 *   --untie   Identity(b) -> norm.bias     =>   an initializer norm.bias of its own, with the value of b
 *   --tie     initializer A                =>   A = Identity(B), Transpose(B) or Reshape(B): one variable */
#ifndef STEPC_PREPARE_TIE_H
#define STEPC_PREPARE_TIE_H

#include "base/vec.h"
#include "prepare/edit.h"

/* Initializer `kept` stands for the outputs of Identity nodes too. */
struct merged {
    const char *kept;
    str_list others;
};
typedef VEC(struct merged) merged_list;

enum tie_kind { TIE_EQUAL, TIE_TRANSPOSED, TIE_RESHAPED, TIE_REORDERED };

/* Initializers `tensor` and `equals` have the same content; one may be the transposed matrix of the other, or have it
 * in another shape or order. Where names tell, `equals` is the one that was not made up by the exporter. */
struct tie {
    const char *tensor, *equals;
    enum tie_kind kind;
};
typedef VEC(struct tie) tie_list;

/* Float initializers that other names of the main graph stand for, by Identity nodes. */
void find_merged(struct edit *e, merged_list *out);
/* Which of the merged were parameters of their own in the network, most likely, and of which nobody can tell. */
void find_separable(struct edit *e, const merged_list *all, str_list *apart, str_list *unknown);
/* Equal float matrices, and what an exporter made of a named one. Tensors of one repeated number are no sign of
 * anything. */
void find_ties(struct edit *e, tie_list *out);
/* Of these, what constant folding cut in two, and what may be so or not. Copies of a layer are neither. */
void find_cut_ties(struct edit *e, tie_list *sure, tie_list *unknown);
/* "", " transposed", ... */
const char *tie_manner(const struct tie *t);
/* "--tie 'A=B' makes them one", or what helps where that does not. */
const char *tie_cure(struct arena *a, const struct tie *t);
/* "A=B" or "A=B^T", as --tie takes it. */
const char *tie_text(struct arena *a, const struct tie *t);

/* --untie: "auto", "never" or patterns for the names to separate. None at all: running statistics are separated, which
 * are no parameters, and what were parameters of their own; a warning names what may have been. */
bool untie_initializers(struct edit *e, const str_list *which) MUST_USE;
/* --tie, each "A=B" or "A=B^T"; what the exporter cut is joined unasked, unless one is "never"; what may be
 * cut is warned of. */
bool tie_initializers(struct edit *e, const str_list *ties) MUST_USE;
/* Only what the exporter cut, which the names tell that it made up: before these get others. */
bool tie_what_was_cut(struct edit *e) MUST_USE;

#endif
