/* Symbolic dimensions that exporters write as expressions of others: "batch*seq", "2*s0 + 1", "(length - 1)//2". ONNX
 * gives the text no meaning; where nothing else binds such a dimension, it is computed. */
#ifndef STEPC_GRAPH_DIM_EXPRESSION_H
#define STEPC_GRAPH_DIM_EXPRESSION_H

#include "base/arena.h"
#include "base/str.h"
#include "tensor/size.h"

#include <stdbool.h>

/* The size of a plain symbol; -1: it has none. */
typedef struct size dim_lookup(const void *context, const char *symbol);

/* Is the text more than a name? */
bool dim_is_expression(const char *text);
/* Integers, names, + - * / // %, signs, parentheses, floor() ceil() ceiling() and max() min() with any number of
 * arguments (also Max() and Min(), as sympy writes them), in exact fractions. -1: no such expression, an unknown
 * name, or no size. */
struct size dim_expression_size(struct arena *a, const char *text, dim_lookup *lookup, const void *context);
/* Adds the names that it is made of, each once; those of functions are none. */
void dim_expression_names(struct arena *a, const char *text, str_list *out);
/* The same of an expression; what is none is a name as it stands ("x[1]"). */
void dim_expression_symbols(struct arena *a, const char *text, str_list *out);
/* The text with the number in the place of the name, as long as it is a whole word; `text` itself if
 * it does not occur. */
const char *dim_expression_bind(struct arena *a, const char *text, const char *symbol, int64_t size);

#endif
