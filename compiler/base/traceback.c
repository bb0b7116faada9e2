#include "base/traceback.h"

#include "base/str.h"
#include <string.h>

/* ---- whose code a frame is --------------------------------------------------------------------------------------- */

enum owner { OF_TOOLS, OF_PACKAGE, OF_USER };

static struct text_piece piece(const char *begin, const char *end)
{
    return (struct text_piece){begin, (size_t)(end - begin)};
}

/* As of a path: '\\' in it counts as '/'. */
static bool has_at(struct text_piece t, size_t at, const char *part)
{
    for (size_t i = 0; part[i] != '\0'; i++)
        if (at + i >= t.length || (t.data[at + i] == '\\' ? '/' : t.data[at + i]) != part[i])
            return false;
    return true;
}

static bool has(struct text_piece t, const char *part)
{
    for (size_t i = 0; i < t.length; i++)
        if (has_at(t, i, part))
            return true;
    return false;
}

static bool ends_with(struct text_piece t, const char *end)
{
    const size_t length = strlen(end);
    return t.length >= length && has_at(t, t.length - length, end);
}

/* examples/pytorch/export.py and the files beside it, wherever they were copied. */
static bool is_exporter(struct text_piece path)
{
    static const char *const files[] = {"pytorch/export.py", "/export_file.py", "/export_gradients.py",
                                        "/export_operators.py"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (ends_with(path, files[i]))
            return true;
    return false;
}

/* A folder of the user may be called torch, too. */
static enum owner owner_of(struct text_piece path)
{
    static const char *const of_torch[] = {
        "/torch/nn/",   "/torch/_",   "/torch/onnx/",     "/torch/jit/",         "/torch/fx/",
        "/torch/export/", "/torch/ao/", "/torch/autograd/", "/torch/functional.py", "/torch/utils/"};
    const bool is_installed = has(path, "/site-packages/") || has(path, "/dist-packages/");
    if (has_at(path, 0, "<ipython-input") || has_at(path, 0, "<stdin>"))
        return OF_USER;
    if (path.length == 0 || path.data[0] == '<' || is_exporter(path))
        return OF_TOOLS;
    if (is_installed && (has(path, "-packages/torch/") || has(path, "-packages/onnxscript/")))
        return OF_TOOLS;
    for (size_t i = 0; i < sizeof of_torch / sizeof *of_torch; i++)
        if (has(path, of_torch[i]))
            return OF_TOOLS;
    if (is_installed)
        return OF_PACKAGE;
    return has(path, "/lib/python3") ? OF_TOOLS : OF_USER;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static struct text_piece trimmed(struct text_piece t)
{
    while (t.length > 0 && strchr(" \t\r", *t.data))
        t = (struct text_piece){t.data + 1, t.length - 1};
    while (t.length > 0 && strchr(" \t\r", t.data[t.length - 1]))
        t.length--;
    return t;
}

static struct text_piece digits_at(const char *at, const char *end)
{
    const char *last = at;
    while (last < end && is_digit(*last))
        last++;
    return piece(at, last);
}

/*   File "/x/model.py", line 41, in forward */
static bool is_traceback_frame(struct text_piece line, struct written_at *out)
{
    static const char begin[] = "File \"", between[] = "\", line ";
    const char *const end = line.data + line.length;
    if (!has_at(line, 0, begin))
        return false;
    const char *const path = line.data + strlen(begin);
    for (const char *p = path; p < end; p++)
        if (has_at(piece(p, end), 0, between)) {
            const struct text_piece number = digits_at(p + strlen(between), end);
            *out = (struct written_at){.file = piece(path, p), .line = number};
            return number.length > 0;
        }
    return false;
}

/* /x/model.py(41): forward */
static bool is_older_frame(struct text_piece line, struct written_at *out)
{
    const char *const end = line.data + line.length;
    for (const char *p = line.data; p < end; p++) {
        if (*p != '(' || !(ends_with(piece(line.data, p), ".py") || (p > line.data && p[-1] == '>')))
            continue;
        const struct text_piece number = digits_at(p + 1, end);
        if (number.length > 0 && has_at(piece(number.data + number.length, end), 0, "): ")) {
            *out = (struct written_at){.file = piece(line.data, p), .line = number};
            return true;
        }
    }
    return false;
}

/* Only the last part of the path: that of a package goes on from its name. */
static struct text_piece short_name(struct text_piece path, enum owner owner)
{
    for (size_t i = path.length; i > 0; i--)
        if (owner == OF_PACKAGE ? has_at(path, i - 1, "-packages/") : strchr("/\\", path.data[i - 1]) != NULL)
            return piece(path.data + i - 1 + (owner == OF_PACKAGE ? strlen("-packages/") : 1), path.data + path.length);
    return path;
}

static void find_frame(const char *trace, struct written_at *out)
{
    enum owner best = OF_TOOLS;
    bool wants_code = false; /* the frame in front is the one taken so far, without its line of code */
    struct text_piece before = {0};
    for (const char *at = trace; *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        const struct text_piece line = trimmed((struct text_piece){at, length});
        struct written_at frame;
        const bool is_inner_last = is_traceback_frame(line, &frame);
        if (is_inner_last || is_older_frame(line, &frame)) {
            const enum owner owner = owner_of(frame.file);
            wants_code = false;
            if (owner > best || (owner == best && is_inner_last && owner != OF_TOOLS)) {
                best = owner;
                *out = frame;
                out->file = short_name(frame.file, owner);
                wants_code = is_inner_last;
            }
        } else if (wants_code && line.length > 0) {
            if (out->code.data == NULL)
                out->code = line;
            else if (has(line, "<--- HERE")) /* a script's lines around it */
                out->code = before;
        }
        before = line;
        at += length + (at[length] == '\n');
    }
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

/* The last but one of the strings. */
static struct text_piece find_module(const char *scopes)
{
    struct text_piece last = {0}, before = {0};
    for (const char *at = scopes; *at != '\0'; at++) {
        if (*at != '\'' && *at != '"')
            continue;
        const char *const end = strchr(at + 1, *at);
        if (!end)
            break;
        before = last;
        last = piece(at + 1, end);
        at = end;
    }
    return before.length > 0 ? before : (struct text_piece){0};
}

bool find_written_at(const char *trace, const char *scopes, struct written_at *out)
{
    *out = (struct written_at){0};
    if (trace != NULL)
        find_frame(trace, out);
    if (scopes != NULL)
        out->module = find_module(scopes);
    return out->file.data != NULL || out->module.data != NULL;
}
