/* C source as plain data: one walk over clang's tree, which is then forgotten. */
#include "cfront/cfront_internal.h"

#include "base/file.h"
#include "base/str.h"
#include <string.h>

/* ---- clang ------------------------------------------------------------------------------------------------------- */

/* The string's text in the arena; disposes the string. */
static const char *text_of(struct arena *a, CXString s)
{
    const char *c = clang_getCString(s);
    const char *copy = arena_strdup(a, c ? c : "");
    clang_disposeString(s);
    return copy;
}

bool cfront_is_system(const char *path)
{
    return path && str_starts_with(path, CFRONT_SYSTEM_DIR "/") && !str_starts_with(path, CFRONT_MODEL_DIR);
}

/* A message about the file `path`, which is called `name`. */
static bool report_one(struct diag *d, CXDiagnostic message, bool strict, const char *path, const char *name)
{
    const enum CXDiagnosticSeverity severity = clang_getDiagnosticSeverity(message);
    CXFile file;
    unsigned line, column;
    clang_getExpansionLocation(clang_getDiagnosticLocation(message), &file, &line, &column, NULL);
    if (severity < CXDiagnostic_Warning || (line == 0 && severity < CXDiagnostic_Error))
        return true;
    const char *where = file ? text_of(d->arena, clang_getFileName(file)) : name;
    if (str_equal(where, path))
        where = name;
    else if (str_starts_with(where, CFRONT_MODEL_DIR))
        where += strlen(CFRONT_MODEL_DIR);
    const char *text = text_of(d->arena, clang_getDiagnosticSpelling(message));
    const char *option = text_of(d->arena, clang_getDiagnosticOption(message, NULL));
    const struct loc at = {.file = where, .line = (int)line, .col = (int)column, .index = -1};
    const char *bracket = option[0] ? arena_printf(d->arena, " [%s]", option) : "";
    if (strict || severity >= CXDiagnostic_Error)
        return diag_error(d, &at, "%s%s", text, bracket);
    return diag_warning(d, &at, "%s%s", text, bracket);
}

typedef VEC(struct CXUnsavedFile) unsaved_files;

static void add_file(struct arena *a, const struct cfront_file *f, unsaved_files *to)
{
    vec_push(a, to, ((struct CXUnsavedFile){f->name, f->text, (unsigned long)strlen(f->text)}));
}

bool cfront_open(struct diag *d, const char *path, const char *name, const cfront_arguments *args,
                 const cfront_files *files, bool strict, struct cfront_unit *out)
{
    struct arena scratch = {0};
    unsaved_files unsaved = {0};
    for (const struct cfront_file *f = cfront_system_headers; f->name; f++)
        add_file(&scratch, f, &unsaved);
    for (size_t i = 0; i < files->count; i++)
        add_file(&scratch, &files->data[i], &unsaved);
    *out = (struct cfront_unit){.index = clang_createIndex(0, 0)};
    const enum CXErrorCode code = clang_parseTranslationUnit2(
        out->index, path, args->data, (int)args->count, unsaved.data, (unsigned)unsaved.count,
        CXTranslationUnit_DetailedPreprocessingRecord, &out->tu);
    arena_free(&scratch);
    if (code != CXError_Success)
        return diag_error(d, &LOC_FILE(name), "clang gave up on this file (error %d)", (int)code);
    bool ok = true;
    for (unsigned i = 0; i < clang_getNumDiagnostics(out->tu); i++) {
        CXDiagnostic message = clang_getDiagnostic(out->tu, i);
        ok &= report_one(d, message, strict, path, name);
        clang_disposeDiagnostic(message);
    }
    return ok;
}

void cfront_close(struct cfront_unit *u)
{
    if (u->tu)
        clang_disposeTranslationUnit(u->tu);
    clang_disposeIndex(u->index);
}

struct loc cfront_loc(const struct cfront_source *s, size_t offset)
{
    struct loc at = {.file = s->path, .line = 1, .col = 1, .index = -1};
    for (size_t i = 0; i < offset && i < s->size; i++) {
        at.col++;
        if (s->text[i] == '\n') {
            at.line++;
            at.col = 1;
        }
    }
    return at;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

struct source_walk {
    struct arena *a;
    struct cfront_source *out;
    CXCursor top; /* the top-level declaration that the walk is in, */
    struct cfront_node *node; /* and what became of it */
};

static enum cfront_kind kind_of(CXCursor c)
{
    switch (clang_getCursorKind(c)) {
    case CXCursor_FunctionDecl: return CFRONT_FUNCTION;
    case CXCursor_VarDecl: return CFRONT_VARIABLE;
    case CXCursor_TypedefDecl: return CFRONT_TYPEDEF;
    case CXCursor_EnumConstantDecl: return CFRONT_ENUMERATOR;
    default: return CFRONT_OTHER;
    }
}

/* Offset in its file; *path in the arena or NULL. Positions in macros: where the macro, or its argument, is written. */
static size_t place(struct source_walk *w, CXSourceLocation l, const char **path)
{
    CXFile file;
    unsigned offset;
    clang_getFileLocation(l, &file, NULL, NULL, &offset);
    if (path)
        *path = file ? text_of(w->a, clang_getFileName(file)) : NULL;
    return offset;
}

static struct cfront_node *add_node(struct source_walk *w, CXCursor c)
{
    struct cfront_node *const n = arena_new(w->a, struct cfront_node);
    const CXSourceRange extent = clang_getCursorExtent(c);
    CXType type = clang_getCursorType(c);
    n->kind = kind_of(c);
    if (n->kind == CFRONT_FUNCTION)
        type = clang_getResultType(type);
    n->name = text_of(w->a, clang_getCursorSpelling(c));
    n->at = place(w, clang_getCursorLocation(c), NULL);
    n->begin = place(w, clang_getRangeStart(extent), NULL);
    n->end = place(w, clang_getRangeEnd(extent), NULL);
    n->type = text_of(w->a, clang_getTypeSpelling(type));
    n->is_definition = clang_isCursorDefinition(c);
    n->is_static = clang_Cursor_getStorageClass(c) == CX_SC_Static;
    n->is_const = clang_isConstQualifiedType(type) ||
                  (type.kind == CXType_ConstantArray && clang_isConstQualifiedType(clang_getArrayElementType(type)));
    vec_push(w->a, &w->out->nodes, n);
    return n;
}

/* What is named by c: its own spelling may be "struct x". */
static void add_use(struct source_walk *w, CXCursor c, bool is_macro)
{
    const CXCursor to = clang_getCursorReferenced(c);
    struct cfront_use use = {.at = place(w, clang_getCursorLocation(c), NULL), .is_macro = is_macro};
    use.name = text_of(w->a, clang_getCursorSpelling(clang_Cursor_isNull(to) ? c : to));
    if (!clang_Cursor_isNull(to))
        place(w, clang_getCursorLocation(to), &use.file);
    vec_push(w->a, &w->out->uses, use);
}

/* Attributes are visited before what else a declaration has. */
static enum CXChildVisitResult visit(CXCursor c, CXCursor parent, CXClientData data)
{
    struct source_walk *const w = data;
    const enum CXCursorKind kind = clang_getCursorKind(c);
    const bool is_top = clang_isTranslationUnit(clang_getCursorKind(parent));
    if (is_top && !clang_Location_isFromMainFile(clang_getCursorLocation(c)))
        return CXChildVisit_Continue;
    if (kind == CXCursor_MacroExpansion) {
        add_use(w, c, true);
    } else if (is_top && !clang_isPreprocessing(kind)) {
        w->top = c;
        w->node = add_node(w, c);
    } else if (kind == CXCursor_EnumConstantDecl) {
        add_node(w, c)->annotation = w->node->annotation;
    } else if (kind == CXCursor_AnnotateAttr && clang_equalCursors(parent, w->top)) {
        w->node->annotation = text_of(w->a, clang_getCursorSpelling(c));
    } else if (kind == CXCursor_DeclRefExpr || kind == CXCursor_TypeRef || kind == CXCursor_CallExpr) {
        add_use(w, c, false);
    }
    return CXChildVisit_Recurse;
}

static void read_tokens(struct source_walk *w, CXTranslationUnit tu)
{
    static const enum cfront_token_kind kinds[] = {
        [CXToken_Identifier] = CFRONT_IDENTIFIER, [CXToken_Comment] = CFRONT_COMMENT}; /* others: CFRONT_SYMBOL */
    const CXFile file = clang_getFile(tu, w->out->path);
    const CXSourceRange all = clang_getRange(clang_getLocationForOffset(tu, file, 0),
                                             clang_getLocationForOffset(tu, file, (unsigned)w->out->size));
    CXToken *tokens = NULL;
    unsigned count = 0;
    clang_tokenize(tu, all, &tokens, &count);
    w->out->tokens = arena_array(w->a, struct cfront_token, count);
    w->out->token_count = count;
    for (unsigned i = 0; i < count; i++) {
        const CXSourceRange extent = clang_getTokenExtent(tu, tokens[i]);
        w->out->tokens[i] = (struct cfront_token){kinds[clang_getTokenKind(tokens[i])],
                                                     place(w, clang_getRangeStart(extent), NULL),
                                                     place(w, clang_getRangeEnd(extent), NULL)};
    }
    clang_disposeTokens(tu, tokens, count);
}

bool cfront_parse(struct diag *d, struct arena *a, const char *path, const char *const *include_dirs,
                  struct cfront_source *out)
{
    /* One fixed target: what the build extracts must not depend on the machine that builds. */
    static const char *const fixed[] = {"-xc", "-std=c99", "-target", "x86_64-unknown-linux-gnu", "-nostdinc",
                                        ("-isystem" CFRONT_SYSTEM_DIR), "-Wall", "-Wextra", "-Wno-unused-function",
                                        "-Wno-unused-parameter", "-Wno-unknown-pragmas",
                                        "-Wno-pragma-once-outside-header"};
    unsigned char *bytes = NULL;
    cfront_arguments args = {0};
    *out = (struct cfront_source){.path = arena_strdup(a, path)};
    if (!file_read(d, a, path, (size_t)16 << 20, &bytes, &out->size))
        return false;
    out->text = (const char *)bytes;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        vec_push(a, &args, fixed[i]);
    for (; *include_dirs; include_dirs++)
        vec_push(a, &args, arena_printf(a, "-I%s", *include_dirs));
    struct cfront_unit unit;
    struct source_walk w = {.a = a, .out = out};
    const bool ok = cfront_open(d, out->path, out->path, &args, &(cfront_files){0}, false, &unit);
    if (unit.tu) {
        clang_visitChildren(clang_getTranslationUnitCursor(unit.tu), visit, &w);
        read_tokens(&w, unit.tu);
    }
    cfront_close(&unit);
    return ok;
}
