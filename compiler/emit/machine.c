/* What is left out of the text for a machine without vectors: hints that only help vectors, and what comments tell of
 * them. */
#include "emit/emit_internal.h"

#include "base/str.h"
#include <string.h>

bool emits_plain(const struct emit_options *o)
{
    return target_is_named(o->target) && o->simd == SIMD_NONE;
}

/* As templates/registers.h and runtime/stepc.h explain them. */
static const char *const vector_hints[] = {
    "STEPC_LANE_LOOP",  "STEPC_WIDE_LOOP", "STEPC_WHOLE_LOOP", "STEPC_SHORT_LOOP", "STEPC_SHORT_ROWS",
    "STEPC_SHORT_ROW",  "STEPC_SUM_LOOP",  "STEPC_ROW_LOOP",   "STEPC_SUM_LANES",  "STEPC_SELECT_LOOP",
    "STEPC_APART_LOOP", "STEPC_REST_LOOP", "STEPC_RESTS_LOOP"};

/* Without vectors, only writing loops out gains something, and costs instructions. */
const char *loop_hint(const struct emit_options *o, const char *macro)
{
    bool is_idle = macro && o->small && str_starts_with(macro, "STEPC_UNROLL");
    for (size_t i = 0; macro && i < sizeof vector_hints / sizeof *vector_hints; i++)
        is_idle |= str_equal(vector_hints[i], macro);
    return is_idle && emits_plain(o) ? NULL : macro;
}

/* ---- comments ---------------------------------------------------------------------------------------------------- */

/* The comment's words on one line, without its marks. */
static const char *words_of(struct arena *a, const char *comment)
{
    struct strbuf b = {.arena = a};
    const char *const end = strstr(comment, "*/");
    for (const char *p = comment + strlen("/*"); p < end; p++) {
        if (*p != '\n') {
            strbuf_add_n(&b, p, 1);
            continue;
        }
        strbuf_add(&b, " ");
        p += strspn(p + 1, " ");
        p += p[1] == '*' && p + 1 < end;
    }
    return strbuf_text(&b);
}

/* Up to its full stop. */
static size_t sentence_length(const char *text)
{
    const char *const stop = strstr(text, ". ");
    return stop ? (size_t)(stop + 1 - text) : strlen(text);
}

static bool tells_of_vectors(const char *sentence)
{
    static const char *const words[] = {"gcc", "GCC", "clang", "Clang", "vector", "AVX", "SSE", "NEON", "x86", "AMD"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(sentence, words[i]))
            return true;
    return false;
}

/* The first sentence says what it is, and stays. */
const char *comment_for_machine(struct arena *a, const char *comment, const struct emit_options *o)
{
    if (!emits_plain(o) || !tells_of_vectors(comment))
        return comment;
    const char *at = words_of(a, comment);
    struct strbuf kept = {.arena = a};
    while (*at) {
        at += strspn(at, " ");
        const size_t n = sentence_length(at);
        const char *const sentence = arena_strndup(a, at, n);
        if (kept.length == 0 || !tells_of_vectors(sentence))
            strbuf_addf(&kept, "%s%s", kept.length == 0 ? "" : " ", sentence);
        at += n;
    }
    struct writer w = {.text = {.arena = a}};
    write_comment(&w, strbuf_text(&kept));
    const char *const text = strbuf_text(&w.text);
    return arena_strndup(a, text, strlen(text) - 1);
}
