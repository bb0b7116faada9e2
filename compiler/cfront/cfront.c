/* C source as plain data: one walk over clang's tree, which is then forgotten. */
#include "cfront/cfront_internal.h"

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include <string.h>

/* ---- small things that check.c needs too ------------------------------------------------------------------------- */

const char *cfront_text(struct arena *a, CXString s)
{
    const char *c = clang_getCString(s);
    const char *copy = arena_strdup(a, c ? c : "");
    clang_disposeString(s);
    return copy;
}

unsigned cfront_add_system_headers(struct CXUnsavedFile *files, unsigned count)
{
    for (const struct cfront_file *f = cfront_system_headers; f->name; f++)
        files[count++] = (struct CXUnsavedFile){f->name, f->text, (unsigned long)strlen(f->text)};
    return count;
}

bool cfront_is_system(const char *path)
{
    return path && str_starts_with(path, CFRONT_SYSTEM_DIR "/") && !str_starts_with(path, CFRONT_MODEL_DIR);
}

static bool report_one(struct diag *d, CXDiagnostic message, bool strict, const char *from, const char *to)
{
    const enum CXDiagnosticSeverity severity = clang_getDiagnosticSeverity(message);
    CXFile file;
    unsigned line, column;
    clang_getExpansionLocation(clang_getDiagnosticLocation(message), &file, &line, &column, NULL);
    if (severity < CXDiagnostic_Warning || (line == 0 && severity < CXDiagnostic_Error))
        return true;
    const char *name = file ? cfront_text(d->arena, clang_getFileName(file)) : to;
    if (from && name && str_equal(name, from))
        name = to;
    else if (name && str_starts_with(name, CFRONT_MODEL_DIR))
        name += strlen(CFRONT_MODEL_DIR);
    const char *text = cfront_text(d->arena, clang_getDiagnosticSpelling(message));
    const char *option = cfront_text(d->arena, clang_getDiagnosticOption(message, NULL));
    const struct loc at = {.file = name, .line = (int)line, .col = (int)column, .index = -1};
    const char *bracket = option[0] ? arena_printf(d->arena, " [%s]", option) : "";
    if (strict || severity >= CXDiagnostic_Error)
        return diag_error(d, &at, "%s%s", text, bracket);
    return diag_warning(d, &at, "%s%s", text, bracket);
}

bool cfront_report(struct diag *d, CXTranslationUnit tu, bool strict, const char *from, const char *to)
{
    const unsigned count = clang_getNumDiagnostics(tu);
    bool ok = true;
    for (unsigned i = 0; i < count; i++) {
        CXDiagnostic message = clang_getDiagnostic(tu, i);
        ok &= report_one(d, message, strict, from, to);
        clang_disposeDiagnostic(message);
    }
    return ok;
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

typedef VEC(struct cfront_node *) node_list;
typedef VEC(struct cfront_macro_use) macro_list;

struct walk {
    struct arena *a;
    struct cfront_source *source;
    struct map declarations; /* "offset" -> node, of the parsed file */
    struct cfront_node *parent; /* NULL at the top level */
    node_list children;      /* of parent */
    macro_list macros;
    node_list references;    /* to be resolved when all declarations are known */
};

static enum cfront_kind kind_of(enum CXCursorKind k)
{
    switch (k) {
    case CXCursor_FunctionDecl: return CFRONT_FUNCTION;
    case CXCursor_ParmDecl: return CFRONT_PARAM;
    case CXCursor_VarDecl: return CFRONT_VARIABLE;
    case CXCursor_FieldDecl: return CFRONT_FIELD;
    case CXCursor_TypedefDecl: return CFRONT_TYPEDEF;
    case CXCursor_EnumDecl: return CFRONT_ENUM;
    case CXCursor_EnumConstantDecl: return CFRONT_ENUMERATOR;
    case CXCursor_DeclRefExpr: return CFRONT_REF;
    case CXCursor_TypeRef: return CFRONT_TYPE_REF;
    case CXCursor_CallExpr: return CFRONT_CALL;
    case CXCursor_CompoundStmt: return CFRONT_BLOCK;
    case CXCursor_IfStmt: return CFRONT_IF;
    case CXCursor_ForStmt: return CFRONT_FOR;
    case CXCursor_ConditionalOperator: return CFRONT_CONDITIONAL;
    case CXCursor_BinaryOperator: return CFRONT_BINARY;
    case CXCursor_ParenExpr: return CFRONT_PARENTHESES;
    case CXCursor_CStyleCastExpr: return CFRONT_CAST;
    default: return CFRONT_OTHER;
    }
}

static bool is_declaration(enum cfront_kind k)
{
    return k >= CFRONT_FUNCTION && k <= CFRONT_ENUMERATOR;
}

/* Offset in its file; *path in the arena or NULL. Positions in macros: where the macro, or its argument, is written. */
static size_t place(struct walk *w, CXSourceLocation l, const char **path)
{
    CXFile file;
    unsigned offset;
    clang_getFileLocation(l, &file, NULL, NULL, &offset);
    if (path)
        *path = file ? cfront_text(w->a, clang_getFileName(file)) : NULL;
    return offset;
}

static const char *offset_key(struct walk *w, size_t offset)
{
    return arena_printf(w->a, "%zu", offset);
}

static void fill_reference(struct walk *w, struct cfront_node *n, CXCursor c)
{
    const CXCursor to = clang_getCursorReferenced(c);
    if (clang_Cursor_isNull(to))
        return;
    n->ref_kind = kind_of(clang_getCursorKind(to));
    n->ref_at = place(w, clang_getCursorLocation(to), &n->ref_file);
    if (n->kind == CFRONT_TYPE_REF || n->kind == CFRONT_CALL)
        n->name =
            cfront_text(w->a, clang_getCursorSpelling(to)); /* a type reference's own spelling may be "struct x" */
    vec_push(w->a, &w->references, n);
}

static void fill_declaration(struct walk *w, struct cfront_node *n, CXCursor c)
{
    CXType type = clang_getCursorType(c);
    if (n->kind == CFRONT_FUNCTION)
        type = clang_getResultType(type);
    n->type = cfront_text(w->a, clang_getTypeSpelling(type));
    n->is_definition = clang_isCursorDefinition(c);
    n->is_static = clang_Cursor_getStorageClass(c) == CX_SC_Static;
    n->is_const = clang_isConstQualifiedType(type) ||
                  (type.kind == CXType_ConstantArray && clang_isConstQualifiedType(clang_getArrayElementType(type)));
    map_set(&w->declarations, offset_key(w, n->at), n);
}

static enum CXChildVisitResult visit(CXCursor c, CXCursor parent, CXClientData data);

static void visit_children(struct walk *w, struct cfront_node *n, CXCursor c)
{
    struct cfront_node *const outer = w->parent;
    const node_list siblings = w->children;
    w->parent = n;
    w->children = (node_list){0};
    clang_visitChildren(c, visit, w);
    n->children = w->children.data;
    n->child_count = w->children.count;
    w->parent = outer;
    w->children = siblings;
}

static void note_macro(struct walk *w, CXCursor c)
{
    struct cfront_macro_use use = {.name = cfront_text(w->a, clang_getCursorSpelling(c)),
                                   .at = place(w, clang_getCursorLocation(c), NULL)};
    const CXCursor definition = clang_getCursorReferenced(c);
    if (!clang_Cursor_isNull(definition))
        place(w, clang_getCursorLocation(definition), &use.file);
    vec_push(w->a, &w->macros, use);
}

static enum CXChildVisitResult visit(CXCursor c, CXCursor parent, CXClientData data)
{
    struct walk *w = data;
    (void)parent;
    if (!w->parent && !clang_Location_isFromMainFile(clang_getCursorLocation(c)))
        return CXChildVisit_Continue;
    const enum CXCursorKind kind = clang_getCursorKind(c);
    if (kind == CXCursor_MacroExpansion) {
        note_macro(w, c);
        return CXChildVisit_Continue;
    }
    if (clang_isPreprocessing(kind))
        return CXChildVisit_Continue;
    if (kind == CXCursor_AnnotateAttr) {
        if (w->parent)
            w->parent->annotation = cfront_text(w->a, clang_getCursorSpelling(c));
        return CXChildVisit_Continue;
    }
    struct cfront_node *n = arena_new(w->a, struct cfront_node);
    n->kind = kind_of(kind);
    n->name = "";
    n->type = "";
    n->at = place(w, clang_getCursorLocation(c), NULL);
    const CXSourceRange extent = clang_getCursorExtent(c);
    n->begin = place(w, clang_getRangeStart(extent), NULL);
    n->end = place(w, clang_getRangeEnd(extent), NULL);
    if (n->kind == CFRONT_REF || is_declaration(n->kind))
        n->name = cfront_text(w->a, clang_getCursorSpelling(c));
    if (is_declaration(n->kind))
        fill_declaration(w, n, c);
    else if (n->kind == CFRONT_REF || n->kind == CFRONT_TYPE_REF || n->kind == CFRONT_CALL)
        fill_reference(w, n, c);
    vec_push(w->a, &w->children, n);
    visit_children(w, n, c);
    return CXChildVisit_Continue;
}

static void resolve_references(struct walk *w)
{
    for (size_t i = 0; i < w->references.count; i++) {
        struct cfront_node *n = w->references.data[i];
        if (n->ref_file && str_equal(n->ref_file, w->source->path))
            n->ref = map_get(&w->declarations, offset_key(w, n->ref_at));
    }
}

static void read_tokens(struct walk *w, CXTranslationUnit tu)
{
    static const enum cfront_token_kind kinds[] = {
        [CXToken_Punctuation] = CFRONT_PUNCTUATION, [CXToken_Keyword] = CFRONT_KEYWORD,
        [CXToken_Identifier] = CFRONT_IDENTIFIER, [CXToken_Literal] = CFRONT_NUMBER_OR_STRING,
        [CXToken_Comment] = CFRONT_COMMENT};
    const CXFile file = clang_getFile(tu, w->source->path);
    const CXSourceRange all = clang_getRange(clang_getLocationForOffset(tu, file, 0),
                                             clang_getLocationForOffset(tu, file, (unsigned)w->source->size));
    CXToken *tokens = NULL;
    unsigned count = 0;
    clang_tokenize(tu, all, &tokens, &count);
    w->source->tokens = arena_array(w->a, struct cfront_token, count);
    w->source->token_count = count;
    for (unsigned i = 0; i < count; i++) {
        const CXSourceRange extent = clang_getTokenExtent(tu, tokens[i]);
        w->source->tokens[i] = (struct cfront_token){kinds[clang_getTokenKind(tokens[i])],
                                                     place(w, clang_getRangeStart(extent), NULL),
                                                     place(w, clang_getRangeEnd(extent), NULL)};
    }
    clang_disposeTokens(tu, tokens, count);
}

static void read_unit(struct arena *a, CXTranslationUnit tu, struct cfront_source *s)
{
    struct walk w = {.a = a, .source = s, .declarations = {.arena = a}};
    clang_visitChildren(clang_getTranslationUnitCursor(tu), visit, &w);
    resolve_references(&w);
    read_tokens(&w, tu);
    s->nodes = w.children.data;
    s->node_count = w.children.count;
    s->macros = w.macros.data;
    s->macro_count = w.macros.count;
}

bool cfront_parse(struct diag *d, struct arena *a, const char *path, const char *const *include_dirs,
                  struct cfront_source *out)
{
    unsigned char *bytes = NULL;
    *out = (struct cfront_source){.path = arena_strdup(a, path)};
    if (!file_read(d, a, path, (size_t)16 << 20, &bytes, &out->size))
        return false;
    out->text = (const char *)bytes;
    /* One fixed target: what the build extracts must not depend on the machine that builds. */
    VEC(const char *) args = {0};
    static const char *const fixed[] = {"-xc",
                                        "-std=c99",
                                        "-target",
                                        "x86_64-unknown-linux-gnu",
                                        "-nostdinc",
                                        ("-isystem" CFRONT_SYSTEM_DIR),
                                        "-Wall",
                                        "-Wextra",
                                        "-Wno-unused-function",
                                        "-Wno-unused-parameter",
                                        "-Wno-unknown-pragmas",
                                        "-Wno-pragma-once-outside-header"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        vec_push(a, &args, fixed[i]);
    for (; *include_dirs; include_dirs++)
        vec_push(a, &args, arena_printf(a, "-I%s", *include_dirs));
    struct CXUnsavedFile *files = arena_array(a, struct CXUnsavedFile, cfront_system_header_count());
    const unsigned count = cfront_add_system_headers(files, 0);
    const CXIndex index = clang_createIndex(0, 0);
    CXTranslationUnit tu = NULL;
    const enum CXErrorCode code = clang_parseTranslationUnit2(
        index, path, args.data, (int)args.count, files, count, CXTranslationUnit_DetailedPreprocessingRecord, &tu);
    bool ok = code == CXError_Success;
    if (ok) {
        ok = cfront_report(d, tu, false, NULL, path);
        read_unit(a, tu, out);
    } else {
        diag_error(d, &LOC_FILE(out->path), "clang gave up on this file (error %d)", (int)code);
    }
    if (tu)
        clang_disposeTranslationUnit(tu);
    clang_disposeIndex(index);
    return ok;
}
