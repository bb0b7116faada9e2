/* Questions about source text and its tokens. */
#include "tools/gen_templates.h"

#include <string.h>

const char *source_slice(struct arena *a, const struct cfront_source *s, size_t begin, size_t end)
{
    return arena_strndup(a, s->text + begin, end - begin);
}

size_t token_at(const struct cfront_source *s, size_t offset)
{
    size_t low = 0, high = s->token_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->tokens[middle].begin < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool token_is(const struct cfront_source *s, size_t token, const char *text)
{
    if (token >= s->token_count)
        return false;
    const struct cfront_token *t = &s->tokens[token];
    return t->end - t->begin == strlen(text) && !memcmp(s->text + t->begin, text, t->end - t->begin);
}

size_t token_next(const struct cfront_source *s, size_t token)
{
    do
        token++;
    while (token < s->token_count && s->tokens[token].kind == CFRONT_COMMENT);
    return token < s->token_count ? token : s->token_count;
}

static size_t line_begin(const struct cfront_source *s, size_t offset)
{
    while (offset > 0 && s->text[offset - 1] != '\n')
        offset--;
    return offset;
}

/* Behind the newline. */
static size_t line_end(const struct cfront_source *s, size_t offset)
{
    while (offset < s->size && s->text[offset] != '\n')
        offset++;
    return offset < s->size ? offset + 1 : offset;
}

static bool blank_between(const struct cfront_source *s, size_t begin, size_t end)
{
    while (begin < end && strchr(" \t\r\n", s->text[begin]))
        begin++;
    return begin >= end;
}

size_t declaration_end(const struct cfront_source *s, const struct cfront_node *n)
{
    size_t t = token_at(s, n->end);
    while (n->kind != CFRONT_FUNCTION && t < s->token_count && !token_is(s, t, ";"))
        t++;
    return n->kind != CFRONT_FUNCTION && t < s->token_count ? s->tokens[t].end : n->end;
}

/* Is the token a comment on lines of its own? */
static bool is_comment_alone(const struct cfront_source *s, const struct cfront_token *t)
{
    return t->kind == CFRONT_COMMENT && blank_between(s, line_begin(s, t->begin), t->begin) &&
           blank_between(s, t->end, line_end(s, t->end));
}

const char *comment_above(struct arena *a, const struct cfront_source *s, size_t offset)
{
    size_t line = line_begin(s, offset);
    for (size_t t = token_at(s, line); t-- > 0; line = line_begin(s, s->tokens[t].begin)) {
        const struct cfront_token *c = &s->tokens[t];
        if (!is_comment_alone(s, c) || line_end(s, c->end) != line)
            return NULL;
        if (strncmp(s->text + c->begin, "/* Why:", strlen("/* Why:")) != 0)
            return source_slice(a, s, c->begin, c->end);
    }
    return NULL;
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
