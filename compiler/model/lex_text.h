/* Tokens of the ONNX text syntax (ONNX Syntax.md), with line and column. Internal to model/. */
#ifndef STEPC_MODEL_LEX_TEXT_H
#define STEPC_MODEL_LEX_TEXT_H

#include "base/diag.h"

/* MARK: one character */
enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_STRING, TOKEN_INT, TOKEN_FLOAT, TOKEN_ARROW, TOKEN_MARK };

struct token {
    enum token_kind kind;
    const char *text; /* NAME: the identifier; STRING: the content; numbers: as written; MARK: the character */
    size_t size;      /* of text, for strings that hold NUL */
    const char *line_start; /* of the line it begins in */
    int line, col;
};

#define TEXT_MAX_DEPTH 32 /* of graphs in attributes of nodes of graphs ..., and of types */
#define TEXT_MAX_REPEATED (1 << 22) /* elements of all tensors that are written {0, ...} */
/* Words that begin a type when '(' follows: seq, map, ... */
bool text_is_type_word(const char *word);
/* inf, infinity and nan in any case, with or without '-'. */
bool text_special_number(const char *text, double *out);

struct lexer {
    struct diag *diag;
    struct arena *arena;
    const char *file, *text, *end, *next;
    const char *line_start;
    int line;
    struct token token; /* the one to look at */
    bool failed, silent;
};

void lexer_begin(struct lexer *l, struct diag *d, struct arena *a, const char *file, const char *text, size_t size);
/* Moves on to the next token. Malformed input is reported once and reads as TOKEN_END. */
void lexer_advance(struct lexer *l);
/* The token after this one, without moving; what is malformed is reported when it is reached. */
struct token lexer_peek(const struct lexer *l);
/* Place of the current token, with its line for the caret. */
struct loc lexer_loc(const struct lexer *l);
/* Reports at the current token, or at an earlier one; only the first fault of a file. Return false. */
bool lexer_error_at(struct lexer *l, const struct token *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
#define lexer_error(l, ...) lexer_error_at((l), &(l)->token, __VA_ARGS__)
bool lexer_is(const struct lexer *l, char mark);
/* How messages call the current token: "'Add'", "the number 5", "the end of the file". */
const char *lexer_describe(const struct lexer *l);

#endif
