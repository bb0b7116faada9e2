/* NumPy's .npy format: "\x93NUMPY", version, length of the header, the header (a Python dict), the elements.
 * Nothing in the file is trusted: the header is parsed by a grammar that knows only the three keys, and the shape must
 * agree with the number of bytes that really follow.
 * Spec: numpy.lib.format. */
#include "base/checked.h"
#include "base/file.h"
#include "base/str.h"
#include "tensor/tensor.h"

#include <assert.h>
#include <string.h>

enum { MAGIC_BYTES = 6, HEADER_ALIGN = 64 };
static const char magic[] = "\x93NUMPY";

/* `code` is NumPy's kind and size. Types that NumPy lacks are written as the smallest one that holds their values. */
static const struct {
    const char *code;
    enum dtype dtype;
} npy_types[] = {
    {"f2", DTYPE_FLOAT16},   {"f4", DTYPE_FLOAT},       {"f8", DTYPE_DOUBLE},
    {"i1", DTYPE_INT8},      {"i2", DTYPE_INT16},       {"i4", DTYPE_INT32},  {"i8", DTYPE_INT64},
    {"u1", DTYPE_UINT8},     {"u2", DTYPE_UINT16},      {"u4", DTYPE_UINT32}, {"u8", DTYPE_UINT64},
    {"c8", DTYPE_COMPLEX64}, {"c16", DTYPE_COMPLEX128}, {"b1", DTYPE_BOOL},
};
enum { NPY_TYPES = sizeof npy_types / sizeof npy_types[0] };

enum { IS_LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct npy_reader {
    struct diag *diag;
    struct arena *arena;
    struct loc at;
    const char *p, *end; /* what is left of the header */
    enum dtype dtype;
    bool swapped, fortran;
    struct shape shape;
    bool seen[3]; /* of the entries, see read_entry() */
};

static bool header_error(struct npy_reader *r, const char *what)
{
    return diag_error(r->diag, &r->at, "malformed .npy header: %s", what);
}

static void skip_blanks(struct npy_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n'))
        r->p++;
}

/* Takes `text` if it comes next, after blanks. */
static bool accept(struct npy_reader *r, const char *text)
{
    skip_blanks(r);
    const size_t n = strlen(text);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n) != 0)
        return false;
    r->p += n;
    return true;
}

/* Behind blanks. */
static bool read_quoted(struct npy_reader *r, const char **out)
{
    if (r->p == r->end || (*r->p != '\'' && *r->p != '"'))
        return header_error(r, "expected a quoted string");
    const char *begin = r->p + 1;
    const char *close = memchr(begin, *r->p, (size_t)(r->end - begin));
    if (close == NULL)
        return header_error(r, "a string does not end");
    *out = arena_strndup(r->arena, begin, (size_t)(close - begin));
    r->p = close + 1;
    return true;
}

/* "<f4", ">i8", "|b1", "=f8". */
static bool read_descr(struct npy_reader *r)
{
    const char *descr;
    skip_blanks(r);
    if (r->p < r->end && *r->p == '[')
        return diag_error(r->diag, &r->at, "the array has records as elements, expected numbers");
    if (!read_quoted(r, &descr))
        return false;
    const bool has_order = descr[0] != '\0' && strchr("<>|=", descr[0]) != NULL;
    r->swapped = descr[0] == (IS_LITTLE_ENDIAN ? '>' : '<');
    for (int i = 0; i < NPY_TYPES; i++)
        if (strcmp(descr + has_order, npy_types[i].code) == 0)
            r->dtype = npy_types[i].dtype;
    if (r->dtype == DTYPE_UNDEFINED)
        return diag_unsupported(r->diag, &r->at, "element type '%s' of the array is not supported", descr);
    return true;
}

static bool read_order(struct npy_reader *r)
{
    r->fortran = accept(r, "True");
    return r->fortran || accept(r, "False") || header_error(r, "'fortran_order' is neither True nor False");
}

static bool read_dim(struct npy_reader *r, int64_t *dim)
{
    skip_blanks(r);
    if (r->p == r->end || *r->p < '0' || *r->p > '9')
        return header_error(r, "expected a dimension of 'shape'");
    *dim = 0;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
        if (!checked_mul(*dim, 10, dim) || !checked_add(*dim, *r->p - '0', dim))
            return header_error(r, "a dimension of 'shape' is too large");
    return true;
}

/* "()", "(3,)", "(2, 3)". */
static bool read_shape(struct npy_reader *r)
{
    if (!accept(r, "("))
        return header_error(r, "'shape' is not a tuple");
    while (!accept(r, ")")) {
        if (r->shape.rank == SHAPE_MAX_RANK)
            return diag_error(r->diag, &r->at, "the array has more than %d dimensions", SHAPE_MAX_RANK);
        if (!read_dim(r, &r->shape.dim[r->shape.rank++]))
            return false;
        if (accept(r, ","))
            continue;
        if (!accept(r, ")"))
            return header_error(r, "'shape' does not end");
        break;
    }
    return true;
}

static bool read_entry(struct npy_reader *r, const char *key)
{
    static const struct {
        const char *key;
        bool (*read)(struct npy_reader *r);
    } entries[3] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
    for (int i = 0; i < 3; i++) {
        if (strcmp(entries[i].key, key) != 0)
            continue;
        if (r->seen[i])
            return diag_error(r->diag, &r->at, "malformed .npy header: two entries '%s'", key);
        r->seen[i] = true;
        return entries[i].read(r);
    }
    return diag_error(r->diag, &r->at, "malformed .npy header: unknown entry '%s'", key);
}

static bool read_header(struct npy_reader *r)
{
    if (!accept(r, "{"))
        return header_error(r, "expected a dictionary");
    while (!accept(r, "}")) {
        const char *key;
        if (!read_quoted(r, &key))
            return false;
        if (!accept(r, ":"))
            return header_error(r, "expected ':' after a key");
        if (!read_entry(r, key))
            return false;
        if (accept(r, ","))
            continue;
        if (!accept(r, "}"))
            return header_error(r, "the dictionary does not end");
        break;
    }
    skip_blanks(r);
    if (r->p != r->end)
        return header_error(r, "something follows the dictionary");
    if (!r->seen[0] || !r->seen[1] || !r->seen[2])
        return header_error(r, "expected the entries 'descr', 'fortran_order' and 'shape'");
    return true;
}

/* Finds the header; *data is the offset of what follows it. */
static bool locate_header(struct npy_reader *r, const unsigned char *bytes, size_t size, size_t *data)
{
    if (size < MAGIC_BYTES + 2 || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return diag_error(r->diag, &r->at, "not a .npy file");
    const int version = bytes[MAGIC_BYTES];
    if (version < 1 || version > 3) /* 3 differs from 2 only in the header's encoding */
        return diag_unsupported(r->diag, &r->at, ".npy version %d is not supported, expected 1, 2 or 3", version);
    const size_t length_bytes = version == 1 ? 2 : 4, begin = MAGIC_BYTES + 2 + length_bytes;
    if (size < begin)
        return diag_error(r->diag, &r->at, "the file ends in the .npy header");
    size_t length = 0;
    for (size_t i = 0; i < length_bytes; i++)
        length |= (size_t)bytes[MAGIC_BYTES + 2 + i] << (8 * i);
    if (length > size - begin)
        return diag_error(r->diag, &r->at, "the file ends in the .npy header");
    r->p = (const char *)bytes + begin;
    r->end = r->p + length;
    *data = begin + length;
    return true;
}

/* Reverses the bytes of each number; a complex element is two of them. */
static void swap_bytes(unsigned char *bytes, size_t size, size_t unit)
{
    for (size_t at = 0; at < size; at += unit)
        for (size_t i = 0, j = unit - 1; i < j; i++, j--) {
            const unsigned char b = bytes[at + i];
            bytes[at + i] = bytes[at + j];
            bytes[at + j] = b;
        }
}

/* In Fortran order the first index runs fastest: element [i0, i1, ...] is at i0 + d0 * (i1 + d1 * (...)). */
static void copy_from_fortran(struct tensor *t, const unsigned char *from)
{
    const size_t size = dtype_size(t->dtype);
    int64_t stride[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0}, step = 1;
    for (int i = 0; i < t->shape.rank; i++) {
        stride[i] = step;
        step *= t->shape.dim[i];
    }
    unsigned char *to = t->data;
    do {
        int64_t at = 0;
        for (int i = 0; i < t->shape.rank; i++)
            at += index[i] * stride[i];
        memcpy(to, from + (size_t)at * size, size);
        to += size;
    } while (shape_next(&t->shape, index));
}

static struct tensor *make_tensor(const struct npy_reader *r, const unsigned char *from)
{
    struct tensor *t = tensor_new(r->arena, r->dtype, &r->shape);
    if (t->count == 0)
        return t;
    if (r->fortran)
        copy_from_fortran(t, from);
    else
        memcpy(t->data, from, tensor_bytes(t));
    const bool complex = r->dtype == DTYPE_COMPLEX64 || r->dtype == DTYPE_COMPLEX128;
    if (r->swapped)
        swap_bytes(t->data, tensor_bytes(t), dtype_size(r->dtype) / (complex ? 2 : 1));
    if (r->dtype == DTYPE_BOOL) /* any other byte than 0 is true, and kept as 1 */
        for (int64_t i = 0; i < t->count; i++)
            tensor_set_int(t, i, tensor_get_int(t, i));
    return t;
}

bool npy_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
               struct tensor **out)
{
    size_t data = 0;
    struct npy_reader r = {.diag = d, .arena = a, .at = LOC_FILE(arena_strdup(d->arena, path))};
    if (!locate_header(&r, bytes, size, &data) || !read_header(&r))
        return false;
    int64_t count;
    if (!shape_count_checked(&r.shape, &count))
        return diag_error(d, &r.at, "the array's shape %s is too large", shape_text(a, &r.shape));
    const size_t expected = (size_t)count * dtype_size(r.dtype);
    if (size - data != expected)
        return diag_error(d, &r.at, "%zu bytes follow the header, expected %zu for %s of %s", size - data, expected,
                          shape_text(a, &r.shape), dtype_name(r.dtype));
    *out = make_tensor(&r, bytes + data);
    return true;
}

bool npy_read(struct diag *d, struct arena *a, const char *path, struct tensor **out)
{
    unsigned char *bytes;
    size_t size;
    return file_read(d, a, path, FILE_MAX_BYTES, &bytes, &size) && npy_parse(d, a, path, bytes, size, out);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const char *npy_code(enum dtype dtype)
{
    for (int i = 0; i < NPY_TYPES; i++)
        if (npy_types[i].dtype == dtype)
            return npy_types[i].code;
    return NULL;
}

/* bfloat16 and the 8- and 4-bit floats become float, the 4- and 2-bit integers int8 or uint8: every value fits. */
static const struct tensor *as_npy_type(struct arena *a, const struct tensor *t)
{
    if (npy_code(t->dtype) != NULL)
        return t;
    return tensor_cast(a, t, dtype_computed(t->dtype));
}

/* The dict as NumPy itself spells it. Elements of one byte have no byte order: '|'. */
static void add_dict(struct strbuf *b, const struct tensor *t)
{
    const char order = dtype_size(t->dtype) == 1 ? '|' : IS_LITTLE_ENDIAN ? '<' : '>';
    strbuf_addf(b, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, npy_code(t->dtype));
    for (int i = 0; i < t->shape.rank; i++)
        strbuf_addf(b, "%s%lld", i > 0 ? ", " : "", (long long)t->shape.dim[i]);
    strbuf_add(b, t->shape.rank == 1 ? ",), }" : "), }");
}

bool npy_write(struct diag *d, const char *path, const struct tensor *t)
{
    struct arena scratch = {0};
    if (t->dtype == DTYPE_STRING || t->dtype == DTYPE_UNDEFINED)
        return diag_error(d, &LOC_FILE(arena_strdup(d->arena, path)), "a tensor of type %s cannot be written as .npy",
                          dtype_name(t->dtype));
    const struct tensor *array = as_npy_type(&scratch, t);
    struct strbuf dict = {.arena = &scratch}, file = {.arena = &scratch};
    add_dict(&dict, array);
    const size_t preamble = MAGIC_BYTES + 2 + 2;
    const size_t header = (size_t)round_up((int64_t)(preamble + dict.length + 1), HEADER_ALIGN) - preamble;
    assert(header <= UINT16_MAX); /* at most SHAPE_MAX_RANK numbers */
    const char start[] = {1, 0, (char)(header & 0xff), (char)(header >> 8)};
    strbuf_add_n(&file, magic, MAGIC_BYTES);
    strbuf_add_n(&file, start, sizeof start);
    strbuf_addf(&file, "%-*s\n", (int)header - 1, strbuf_text(&dict));
    strbuf_add_n(&file, array->data, tensor_bytes(array));
    const bool ok = file_write(d, path, file.text, file.length);
    arena_free(&scratch);
    return ok;
}
