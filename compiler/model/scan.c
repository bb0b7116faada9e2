/* Walks the wire format along protobuf-c's own descriptors, so that no second table of fields can disagree with the
 * first. Nothing is kept: this is a reader that only says yes or no.
 *
 * Why not leave it to protobuf-c: it has no depth limit, keeps 32 bytes per field while it reads a message, allocates
 * the whole struct for a message that is empty on the wire, and answers every error with NULL. */
#include "model/scan.h"

#include "base/checked.h"
#include <limits.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Bytes of protobuf-c's bookkeeping for each field of a message being read (its slabs double, hence twice the 32). */
#define RECORD_COST 64
#define BLOCK_COST 32 /* of allocations beyond their content: unpacked and in the model */

struct model_scan {
    struct diag *diag;
    const struct loc *at;
    const unsigned char *bytes;
    size_t size;
    size_t cost, passing, limit; /* memory that stays; memory of the messages being read now; the bound on both */
    int merges;
    bool known; /* has any field of ONNX been read whole? */
};

/* The part of the file that is one message: position and end are offsets into the file. */
struct frame {
    const ProtobufCMessageDescriptor *kind;
    size_t pos, end;
};

struct record {
    size_t at; /* offset of the tag */
    uint32_t number;
    unsigned wire;
    size_t start, length;                  /* of the value, without a length prefix */
    const ProtobufCFieldDescriptor *field; /* NULL: unknown */
};

static const char *wire_name(unsigned wire)
{
    static const char *const names[] = {"a varint",      "8 bytes", "a length", "a group",
                                        "a group's end", "4 bytes", "type 6",   "type 7"};
    return names[wire & 7];
}

static bool charge(struct model_scan *s, size_t count, size_t each)
{
    size_t bytes;
    if (!checked_mul_size(count, each, &bytes) || !checked_add_size(s->cost, bytes, &s->cost) || s->cost > s->limit ||
        s->passing > s->limit - s->cost)
        return diag_error(s->diag, s->at,
                          "refused: reading this file of %zu bytes would take more than %zu MB of memory", s->size,
                          s->limit >> 20);
    return true;
}

/* Reads a varint of at most `most` bytes before `end`. */
static bool read_varint(const struct model_scan *s, size_t *pos, size_t end, int most, uint64_t *out)
{
    uint64_t x = 0;
    for (int i = 0; i < most && *pos < end; i++) {
        const unsigned char byte = s->bytes[(*pos)++];
        x |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out = x;
            return true;
        }
    }
    return false;
}

/* What an error begins with: where nothing at all was understood, the file is not damaged but of another kind. */
static const char *verdict(const struct model_scan *s)
{
    return s->known ? "damaged" : "this is no ONNX model:";
}

static bool error_in(struct model_scan *s, const struct frame *f, size_t offset, const char *what)
{
    return diag_error(s->diag, s->at, "%s at byte %zu, in %s: %s", verdict(s), offset, f->kind->short_name, what);
}

/* Tag, and where the value lies. */
static bool read_record(struct model_scan *s, struct frame *f, struct record *r)
{
    uint64_t tag, length;
    r->at = f->pos;
    if (!read_varint(s, &f->pos, f->end, 5, &tag) || tag > UINT32_MAX)
        return error_in(s, f, r->at, "no valid field tag");
    r->number = (uint32_t)(tag >> 3);
    r->wire = tag & 7;
    if (r->number == 0)
        return error_in(s, f, r->at, "field number 0");
    r->field = protobuf_c_message_descriptor_get_field(f->kind, r->number);
    r->start = f->pos;
    switch (r->wire) {
    case WIRE_VARINT:
        if (!read_varint(s, &f->pos, f->end, 10, &length))
            return error_in(s, f, r->start, "a number without end (longer than 10 bytes or than what holds it)");
        r->length = f->pos - r->start;
        return true;
    case WIRE_64:
    case WIRE_32:
        r->length = r->wire == WIRE_64 ? 8 : 4;
        break;
    case WIRE_BYTES:
        if (!read_varint(s, &f->pos, f->end, 5, &length) || length > INT_MAX)
            return error_in(s, f, r->start, "no valid length");
        r->start = f->pos;
        r->length = (size_t)length;
        break;
    default:
        return diag_error(s->diag, s->at, "%s at byte %zu, in %s: field %u has wire type %u, which ONNX does not use",
                          verdict(s), r->at, f->kind->short_name, (unsigned)r->number, r->wire);
    }
    if (r->length > f->end - f->pos)
        return diag_error(s->diag, s->at, "%s at byte %zu, in %s: field %u claims %zu bytes, but only %zu are left%s",
                          verdict(s), r->at, f->kind->short_name, (unsigned)r->number, r->length, f->end - f->pos,
                          strcmp(f->kind->short_name, "ModelProto") == 0
                              ? ": the file is cut short; fetch it or export it again"
                              : "");
    f->pos += r->length;
    return true;
}

static size_t element_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

static unsigned wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_STRING:
        return WIRE_BYTES;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_32;
    default:
        return WIRE_VARINT;
    }
}

/* A packed list: whole elements only. */
static bool scan_packed(struct model_scan *s, const struct frame *f, const struct record *r)
{
    const unsigned wire = wire_of(r->field->type);
    const size_t end = r->start + r->length;
    size_t count = 0;
    if (wire == WIRE_VARINT) {
        uint64_t ignored;
        for (size_t pos = r->start; pos < end; count++)
            if (!read_varint(s, &pos, end, 10, &ignored))
                return error_in(s, f, pos, "a number without end in a packed list");
    } else {
        const size_t size = wire == WIRE_64 ? 8 : 4;
        if (r->length % size != 0)
            return diag_error(s->diag, s->at,
                              "%s at byte %zu, in %s: the packed list '%s' has %zu bytes, not a multiple of %zu",
                              verdict(s), r->at, f->kind->short_name, r->field->name, r->length, size);
        count = r->length / size;
    }
    return charge(s, count, 2 * element_size(r->field->type));
}

static bool has_oneof(const ProtobufCMessageDescriptor *kind)
{
    for (unsigned i = 0; i < kind->n_fields; i++)
        if (kind->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            return true;
    return false;
}

/* A singular message may come again and is merged. protobuf-c copies all lists at each merge: many merges take
 * quadratic time. Members of a oneof it replaces where it should merge: nobody writes types in two halves, so that is
 * refused rather than misread. */
static bool scan_again(struct model_scan *s, const struct frame *f, const struct record *r)
{
    if ((r->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) || has_oneof(r->field->descriptor))
        return diag_error(s->diag, s->at, "at byte %zu, in %s: '%s' occurs twice", r->at, f->kind->short_name,
                          r->field->name);
    if (++s->merges > SCAN_MAX_MERGES)
        return diag_error(s->diag, s->at,
                          "at byte %zu, in %s: '%s' and other single messages are repeated more than %d times", r->at,
                          f->kind->short_name, r->field->name, SCAN_MAX_MERGES);
    return true;
}

static bool scan_frame(struct model_scan *s, struct frame *f, int depth);

static bool scan_submessage(struct model_scan *s, const struct frame *f, const struct record *r, uint64_t *seen,
                            int depth)
{
    const uint64_t bit = UINT64_C(1) << (r->field - f->kind->fields);
    if (r->field->label != PROTOBUF_C_LABEL_REPEATED) {
        if ((*seen & bit) && !scan_again(s, f, r))
            return false;
        *seen |= bit;
    }
    if (depth == SCAN_MAX_DEPTH)
        return diag_error(s->diag, s->at, "at byte %zu, in %s: messages are nested more than %d deep", r->at,
                          f->kind->short_name, SCAN_MAX_DEPTH);
    struct frame inner = {r->field->descriptor, r->start, r->start + r->length};
    return scan_frame(s, &inner, depth + 1);
}

static bool scan_value(struct model_scan *s, const struct frame *f, const struct record *r, uint64_t *seen, int depth)
{
    if (!r->field) /* kept by protobuf-c as it is */
        return charge(s, 1, r->length + sizeof(ProtobufCMessageUnknownField) + BLOCK_COST);
    const unsigned wire = wire_of(r->field->type);
    const bool packable = r->field->label == PROTOBUF_C_LABEL_REPEATED && wire != WIRE_BYTES;
    if (packable && r->wire == WIRE_BYTES)
        return scan_packed(s, f, r);
    if (r->wire != wire)
        return diag_error(s->diag, s->at, "%s at byte %zu, in %s: '%s' is stored as %s, expected %s", verdict(s), r->at,
                          f->kind->short_name, r->field->name, wire_name(r->wire), wire_name(wire));
    if (r->field->type == PROTOBUF_C_TYPE_MESSAGE)
        return scan_submessage(s, f, r, seen, depth);
    if (wire == WIRE_BYTES) /* 2-bit elements: a byte becomes four in the tensor */
        return charge(s, 5, r->length) && charge(s, 1, sizeof(ProtobufCBinaryData) + BLOCK_COST);
    return packable ? charge(s, 2, element_size(r->field->type)) : true;
}

/* The structs of model.h are about as large as those of protobuf-c. */
static bool scan_frame(struct model_scan *s, struct frame *f, int depth)
{
    const size_t passing = s->passing;
    uint64_t seen = 0;
    if (f->kind->n_fields > 64)
        UNREACHABLE("message %s has more than 64 fields", f->kind->name);
    if (!charge(s, 2, f->kind->sizeof_message) || !charge(s, 1, BLOCK_COST))
        return false;
    while (f->pos < f->end) {
        struct record r = {0};
        s->passing += RECORD_COST;
        if (!read_record(s, f, &r) || !scan_value(s, f, &r, &seen, depth))
            return false;
        s->known = s->known || r.field;
    }
    s->passing = passing;
    return true;
}

bool scan_message(struct diag *d, const struct loc *at, const ProtobufCMessageDescriptor *kind,
                  const unsigned char *bytes, size_t size)
{
    size_t limit;
    if (!checked_mul_size(size, SCAN_MEMORY_FACTOR, &limit) || !checked_add_size(limit, SCAN_MEMORY_FIXED, &limit))
        return diag_error(d, at, "too large: %zu bytes", size);
    struct model_scan s = {.diag = d, .at = at, .bytes = bytes, .size = size, .limit = limit};
    struct frame root = {kind, 0, size};
    return scan_frame(&s, &root, 1);
}
