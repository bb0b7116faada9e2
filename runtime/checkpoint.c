/* SPDX-License-Identifier: 0BSD */
#include "checkpoint.h"

#include <string.h>

enum {
    HEADER_BYTES = 40,
    HEADER_CHECKED = 36, /* of them, what the header's own checksum covers */
    MARK_BYTES = 16,
    MARK_CHECKED = 12,
    RECORD_BYTES = 16, /* of a variable, before its dimensions */
    LEAST_STAGING = 256,
    PIECE_BYTES = 64, /* of a variable that the state keeps in another order: so much is transposed at a time */
    MOST_RANK = 64
};

static const unsigned char magic[8] = {0x89, 'S', 'T', 'E', 'P', 'C', 0x0D, 0x0A}; /* a transfer as text spoils it */
static const unsigned char end_magic[8] = {'S', 'T', 'E', 'P', 'C', 'E', 'N', 'D'};

/* ---- numbers ------------------------------------------------------------------ */

static void store_number(unsigned char *to, uint64_t x, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)((x >> (8 * i)) & 0xFFu);
}

static uint64_t load_number(const unsigned char *from, unsigned bytes)
{
    uint64_t x = 0;
    for (unsigned i = 0; i < bytes; i++)
        x |= (uint64_t)from[i] << (8 * i);
    return x;
}

static uint32_t load_32(const unsigned char *from)
{
    return (uint32_t)(load_number(from, 4) & 0xFFFFFFFFu);
}

/* Four bits at a time: 64 bytes of table. */
static uint32_t crc_add(uint32_t crc, const unsigned char *bytes, size_t count)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    crc = ~crc;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}

static int is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static void reverse_elements(unsigned char *values, size_t bytes, size_t element)
{
    for (size_t at = 0; at < bytes; at += element) {
        for (size_t i = 0; i < element / 2; i++) {
            const unsigned char x = values[at + i];
            values[at + i] = values[at + element - 1 - i];
            values[at + element - 1 - i] = x;
        }
    }
}

static size_t round_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

/* ---- work memory -------------------------------------------------------------- */

static int is_packed(const stepc_variable_info *v)
{
    return v->read != NULL || v->write != NULL;
}

union piece {
    uint64_t align;
    unsigned char bytes[PIECE_BYTES];
};

/* Elements of the piece that begins with number `first` of `count`. */
static size_t piece_count(size_t first, size_t count, size_t element)
{
    const size_t most = PIECE_BYTES / element;
    return count - first < most ? count - first : most;
}

/* [a bit for each variable][staging] */
struct work {
    unsigned char *seen, *staging;
    size_t staging_bytes; /* a multiple of the program unit */
};

static size_t seen_bytes(const stepc_model *model)
{
    return round_up(((size_t)model->variable_count + 7) / 8, 8);
}

static size_t least_staging(const stepc_model *model, size_t unit)
{
    size_t most = LEAST_STAGING;
    for (unsigned i = 0; i < model->variable_count; i++) {
        const size_t n = strlen(model->variables[i].tensor.name) + 1;
        most = n > most ? n : most;
    }
    return round_up(most, unit > 0 ? unit : 1);
}

size_t stepc_checkpoint_work_bytes(const stepc_model *model, size_t unit)
{
    return seen_bytes(model) + least_staging(model, unit);
}

static int split_work(const stepc_model *model, size_t unit, void *bytes, size_t count, struct work *out)
{
    const size_t seen = seen_bytes(model);
    if (unit == 0 || bytes == NULL || count < stepc_checkpoint_work_bytes(model, unit))
        return 0;
    out->seen = (unsigned char *)bytes;
    out->staging = out->seen + seen;
    out->staging_bytes = (count - seen) / unit * unit;
    memset(out->seen, 0, seen);
    return 1;
}

/* ---- sizes -------------------------------------------------------------------- */

/* Of one variable with what fills it up; 0 if it does not fit size_t. */
static size_t record_bytes(const stepc_variable_info *v)
{
    const size_t fixed = RECORD_BYTES + 8 * (size_t)v->tensor.rank + 8 + strlen(v->tensor.name);
    const size_t values = stepc_tensor_bytes(&v->tensor);
    return values > SIZE_MAX - fixed - 8 ? 0 : round_up(fixed + values, 8);
}

size_t stepc_checkpoint_bytes(const stepc_model *model, size_t unit)
{
    size_t total = HEADER_BYTES;
    for (unsigned i = 0; i < model->variable_count; i++) {
        const size_t bytes = record_bytes(&model->variables[i]);
        if (bytes == 0 || bytes > SIZE_MAX - total)
            return 0;
        total += bytes;
    }
    if (unit == 0 || total > SIZE_MAX - 2 * unit - MARK_BYTES)
        return 0;
    return round_up(total, unit) + round_up(MARK_BYTES, unit);
}

/* ---- writing one slot ---------------------------------------------------------- */

struct writer {
    const stepc_storage *storage;
    unsigned slot;
    const struct work *work;
    size_t at, fill; /* offset of what is staged, and how much that is */
    uint32_t crc;    /* of everything put so far */
    int failed;
};

static void flush(struct writer *w)
{
    if (w->fill > 0 && !w->failed)
        w->failed = w->storage->write(w->storage->context, w->slot, w->at, w->work->staging, w->fill) != 0;
    w->at += w->fill;
    w->fill = 0;
}

static void put(struct writer *w, const unsigned char *bytes, size_t count)
{
    w->crc = crc_add(w->crc, bytes, count);
    while (count > 0 && !w->failed) {
        const size_t room = w->work->staging_bytes - w->fill, n = count < room ? count : room;
        memcpy(w->work->staging + w->fill, bytes, n);
        w->fill += n;
        bytes += n;
        count -= n;
        if (w->fill == w->work->staging_bytes)
            flush(w);
    }
}

static void put_number(struct writer *w, uint64_t x, unsigned bytes)
{
    unsigned char buffer[8] = {0};
    store_number(buffer, x, bytes);
    put(w, buffer, bytes);
}

/* Up to the next multiple of `to`. */
static void pad(struct writer *w, size_t to, unsigned char with)
{
    while ((w->at + w->fill) % to != 0 && !w->failed)
        put(w, &with, 1);
}

/* Values as they lie in memory. */
static void put_native(struct writer *w, const unsigned char *values, size_t bytes, size_t element)
{
    if (is_little_endian()) {
        put(w, values, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += element) {
        unsigned char one[8];
        memcpy(one, values + at, element);
        reverse_elements(one, element, element);
        put(w, one, element);
    }
}

static void put_values(struct writer *w, const stepc_variable_info *v, const void *state)
{
    const size_t bytes = stepc_tensor_bytes(&v->tensor), element = stepc_dtype_size(v->tensor.dtype);
    if (v->read == NULL) {
        put_native(w, (const unsigned char *)state + v->offset, bytes, element);
        return;
    }
    for (size_t first = 0, count = bytes / element, n; first < count; first += n) {
        union piece piece;
        n = piece_count(first, count, element);
        v->read(state, piece.bytes, first, n);
        put_native(w, piece.bytes, n * element, element);
    }
}

static void put_variable(struct writer *w, const stepc_variable_info *v, const void *state)
{
    const size_t name = strlen(v->tensor.name);
    put_number(w, name, 4);
    put_number(w, (uint64_t)v->tensor.dtype, 4);
    put_number(w, (uint64_t)v->role, 4);
    put_number(w, v->tensor.rank, 4);
    for (unsigned i = 0; i < v->tensor.rank; i++)
        put_number(w, v->tensor.dims[i], 8);
    put_number(w, stepc_tensor_bytes(&v->tensor), 8);
    put(w, (const unsigned char *)v->tensor.name, name);
    put_values(w, v, state);
    pad(w, 8, 0);
}

static void put_header(struct writer *w, const stepc_model *model, uint64_t sequence, uint64_t end)
{
    unsigned char header[HEADER_BYTES] = {0};
    memcpy(header, magic, sizeof magic);
    store_number(header + 8, STEPC_CHECKPOINT_VERSION, 4);
    store_number(header + 12, model->variable_count, 4);
    store_number(header + 16, sequence, 8);
    store_number(header + 24, end, 8);
    store_number(header + HEADER_CHECKED, crc_add(0, header, HEADER_CHECKED), 4);
    put(w, header, HEADER_BYTES);
}

static void wait_until_written(struct writer *w)
{
    flush(w);
    if (!w->failed && w->storage->sync != NULL)
        w->failed = w->storage->sync(w->storage->context, w->slot) != 0;
}

static void put_end_mark(struct writer *w)
{
    unsigned char mark[MARK_BYTES] = {0};
    memcpy(mark, end_magic, sizeof end_magic);
    store_number(mark + MARK_CHECKED, crc_add(w->crc, mark, MARK_CHECKED), 4);
    put(w, mark, MARK_BYTES);
}

stepc_status stepc_checkpoint_write_slot(const stepc_model *model, const void *state, const stepc_storage *storage,
                                         unsigned slot, uint64_t sequence, void *work_memory, size_t work_bytes)
{
    struct work work;
    const size_t bytes = stepc_checkpoint_bytes(model, storage->unit);
    if (!split_work(model, storage->unit, work_memory, work_bytes, &work) || bytes == 0 || bytes > storage->slot_bytes)
        return STEPC_E_ARGUMENT;
    struct writer w = {storage, slot, &work, 0, 0, 0, 0};
    w.failed = storage->erase != NULL && storage->erase(storage->context, slot) != 0;
    put_header(&w, model, sequence, bytes - round_up(MARK_BYTES, storage->unit));
    for (unsigned i = 0; i < model->variable_count && !w.failed; i++)
        put_variable(&w, &model->variables[i], state);
    pad(&w, storage->unit, 0xFF);
    wait_until_written(&w); /* before the mark says so */
    put_end_mark(&w);
    pad(&w, storage->unit, 0xFF);
    wait_until_written(&w);
    return w.failed ? STEPC_E_IO : STEPC_OK;
}

/* ---- is a slot whole? ----------------------------------------------------------- */

static stepc_status read_bytes(const stepc_storage *storage, unsigned slot, size_t at, void *bytes, size_t count)
{
    return count == 0 || storage->read(storage->context, slot, at, bytes, count) == 0 ? STEPC_OK : STEPC_E_IO;
}

static stepc_status read_header(const stepc_storage *storage, unsigned slot, stepc_checkpoint_info *info)
{
    unsigned char header[HEADER_BYTES] = {0};
    if (storage->slot_bytes < HEADER_BYTES + MARK_BYTES)
        return STEPC_E_CORRUPT;
    const stepc_status status = read_bytes(storage, slot, 0, header, HEADER_BYTES);
    if (status != STEPC_OK)
        return status;
    if (memcmp(header, magic, sizeof magic) != 0 ||
        load_32(header + HEADER_CHECKED) != crc_add(0, header, HEADER_CHECKED))
        return STEPC_E_CORRUPT;
    if (load_32(header + 8) != STEPC_CHECKPOINT_VERSION)
        return STEPC_E_MISMATCH;
    const uint64_t end = load_number(header + 24, 8);
    if (load_32(header + 32) != 0 || end < HEADER_BYTES || end > storage->slot_bytes - MARK_BYTES)
        return STEPC_E_CORRUPT;
    info->variables = load_32(header + 12);
    info->sequence = load_number(header + 16, 8);
    info->end = (size_t)end;
    return STEPC_OK;
}

/* Without a header: was the slot ever written? Erased storage reads as FF, some as 0. */
static stepc_status blank_or_damaged(const stepc_storage *storage, unsigned slot, unsigned char *work,
                                     size_t work_bytes)
{
    unsigned char blank = 0xFF;
    for (size_t at = 0, n; at < storage->slot_bytes; at += n) {
        const size_t left = storage->slot_bytes - at;
        n = left < work_bytes ? left : work_bytes;
        if (read_bytes(storage, slot, at, work, n) != STEPC_OK)
            return STEPC_E_CORRUPT;
        if (at == 0 && work[0] == 0)
            blank = 0;
        for (size_t i = 0; i < n; i++)
            if (work[i] != blank)
                return STEPC_E_CORRUPT;
    }
    return storage->slot_bytes > 0 ? STEPC_E_BLANK : STEPC_E_CORRUPT;
}

stepc_status stepc_checkpoint_check(const stepc_storage *storage, unsigned slot, stepc_checkpoint_info *info,
                                    void *work, size_t work_bytes)
{
    unsigned char mark[MARK_BYTES] = {0};
    uint32_t crc = 0;
    if (work == NULL || work_bytes == 0)
        return STEPC_E_ARGUMENT;
    memset(info, 0, sizeof *info);
    stepc_status status = read_header(storage, slot, info);
    if (status == STEPC_E_CORRUPT)
        return blank_or_damaged(storage, slot, (unsigned char *)work, work_bytes);
    for (size_t at = 0; status == STEPC_OK && at < info->end;) {
        const size_t left = info->end - at, n = left < work_bytes ? left : work_bytes;
        status = read_bytes(storage, slot, at, work, n);
        if (status == STEPC_OK)
            crc = crc_add(crc, (const unsigned char *)work, n);
        at += n;
    }
    if (status == STEPC_OK)
        status = read_bytes(storage, slot, info->end, mark, MARK_BYTES);
    if (status != STEPC_OK)
        return status;
    const int whole = memcmp(mark, end_magic, sizeof end_magic) == 0 && load_32(mark + 8) == 0 &&
                      load_32(mark + MARK_CHECKED) == crc_add(crc, mark, MARK_CHECKED);
    return whole ? STEPC_OK : STEPC_E_CORRUPT;
}

/* ---- reading one slot ------------------------------------------------------------ */

struct reader {
    const stepc_model *model;
    const stepc_storage *storage;
    unsigned slot;
    const struct work *work;
    const stepc_load_options *options;
    stepc_checkpoint_info info;
};

/* One variable of the checkpoint: where its parts are. */
struct record {
    uint32_t dtype, rank;
    size_t name_bytes, value_bytes;
    size_t dims_at, name_at, values_at, next;
};

/* The name, cut to the staging memory, with a NUL. */
static stepc_status read_name(const struct reader *r, const struct record *record)
{
    const size_t most = r->work->staging_bytes - 1, n = record->name_bytes < most ? record->name_bytes : most;
    r->work->staging[n] = '\0';
    return read_bytes(r->storage, r->slot, record->name_at, r->work->staging, n);
}

/* Everything lies before the end mark afterwards, and the name in the staging memory. */
static stepc_status read_record(const struct reader *r, size_t at, struct record *out)
{
    unsigned char fixed[RECORD_BYTES] = {0}, bytes[8] = {0};
    size_t left = r->info.end - at;
    if (left < RECORD_BYTES + 8)
        return STEPC_E_CORRUPT;
    stepc_status status = read_bytes(r->storage, r->slot, at, fixed, sizeof fixed);
    if (status != STEPC_OK)
        return status;
    left -= RECORD_BYTES + 8;
    out->dtype = load_32(fixed + 4);
    out->rank = load_32(fixed + 12);
    if (out->rank > MOST_RANK || left < 8 * (size_t)out->rank)
        return STEPC_E_CORRUPT;
    left -= 8 * (size_t)out->rank;
    out->dims_at = at + RECORD_BYTES;
    out->name_at = out->dims_at + 8 * (size_t)out->rank + 8;
    status = read_bytes(r->storage, r->slot, out->name_at - 8, bytes, sizeof bytes);
    if (status != STEPC_OK)
        return status;
    if (load_32(fixed) > left || load_number(bytes, 8) > left - load_32(fixed))
        return STEPC_E_CORRUPT;
    out->name_bytes = (size_t)load_32(fixed);
    out->value_bytes = (size_t)load_number(bytes, 8);
    out->values_at = out->name_at + out->name_bytes;
    const size_t end = out->values_at + out->value_bytes, padding = (8 - end % 8) % 8;
    if (padding > r->info.end - end)
        return STEPC_E_CORRUPT;
    out->next = end + padding;
    return read_name(r, out);
}

static stepc_status has_shape(const struct reader *r, const struct record *record, const stepc_tensor_info *t,
                              int *same)
{
    *same = record->rank == t->rank;
    for (unsigned i = 0; i < t->rank && *same; i++) {
        unsigned char dim[8] = {0};
        const stepc_status status = read_bytes(r->storage, r->slot, record->dims_at + 8 * (size_t)i, dim, sizeof dim);
        if (status != STEPC_OK)
            return status;
        *same = load_number(dim, 8) == t->dims[i];
    }
    return STEPC_OK;
}

/* The number of the variable with that name; that behind the last where there is none. */
static unsigned find_named(const struct reader *r, const struct record *record)
{
    for (unsigned i = 0; i < r->model->variable_count; i++) {
        const char *name = r->model->variables[i].tensor.name;
        if (strlen(name) == record->name_bytes && memcmp(r->work->staging, name, record->name_bytes) == 0)
            return i;
    }
    return r->model->variable_count;
}

static int is_wanted(const struct reader *r, const stepc_variable_info *v)
{
    return r->options == NULL || r->options->wants == NULL || r->options->wants(r->options->context, v);
}

/* What becomes of a record of this variable. NULL: the model has none of its name. */
static stepc_status judge(const struct reader *r, const struct record *record, const stepc_variable_info *v,
                          stepc_load_outcome *outcome)
{
    int same = 0;
    *outcome = STEPC_LOAD_UNKNOWN;
    if (v == NULL)
        return STEPC_OK;
    const stepc_status status = has_shape(r, record, &v->tensor, &same);
    *outcome = !is_wanted(r, v)                            ? STEPC_LOAD_UNWANTED
               : record->dtype != (uint32_t)v->tensor.dtype ? STEPC_LOAD_OTHER_DTYPE
               : !same                                      ? STEPC_LOAD_OTHER_SHAPE
                                                            : STEPC_LOADED;
    if (status == STEPC_OK && *outcome == STEPC_LOADED && record->value_bytes != stepc_tensor_bytes(&v->tensor))
        return STEPC_E_CORRUPT;
    return status;
}

static void report(const struct reader *r, stepc_load_outcome outcome, const char *name, const stepc_variable_info *v)
{
    if (r->options != NULL && r->options->report != NULL)
        r->options->report(r->options->context, outcome, name, v);
}

static int is_own(const char *name)
{
    return strncmp(name, STEPC_CHECKPOINT_OWN_PREFIX, sizeof STEPC_CHECKPOINT_OWN_PREFIX - 1) == 0;
}

/* Goes through all records without touching the state. *fits: nothing is missing, left over or different. */
static stepc_status compare_with_model(const struct reader *r, int *fits)
{
    const stepc_model *model = r->model;
    unsigned char *seen = r->work->seen;
    struct record record = {0};
    size_t at = HEADER_BYTES;
    *fits = 1;
    for (uint32_t i = 0; i < r->info.variables; i++, at = record.next) {
        stepc_load_outcome outcome = STEPC_LOAD_UNKNOWN;
        stepc_status status = read_record(r, at, &record);
        if (status != STEPC_OK)
            return status;
        const unsigned index = find_named(r, &record);
        const stepc_variable_info *v = index < r->model->variable_count ? &r->model->variables[index] : NULL;
        status = judge(r, &record, v, &outcome);
        if (status != STEPC_OK)
            return status;
        const char *name = v != NULL ? v->tensor.name : (const char *)r->work->staging;
        if (v != NULL) {
            if ((seen[index / 8] >> (index % 8)) & 1)
                return STEPC_E_CORRUPT; /* twice */
            seen[index / 8] = (unsigned char)(seen[index / 8] | 1u << (index % 8));
        } else if (is_own(name)) {
            continue;
        }
        *fits &= outcome == STEPC_LOADED || outcome == STEPC_LOAD_UNWANTED;
        report(r, outcome, name, v);
    }
    for (unsigned i = 0; i < model->variable_count; i++) {
        const stepc_variable_info *v = &model->variables[i];
        if ((seen[i / 8] >> (i % 8)) & 1)
            continue;
        const stepc_load_outcome outcome = is_wanted(r, v) ? STEPC_LOAD_MISSING : STEPC_LOAD_UNWANTED;
        *fits &= outcome == STEPC_LOAD_UNWANTED;
        report(r, outcome, v->tensor.name, v);
    }
    return STEPC_OK;
}

/* As the state keeps them: native byte order, truth values 0 or 1. */
static void to_native(unsigned char *values, size_t bytes, stepc_dtype dtype)
{
    if (!is_little_endian())
        reverse_elements(values, bytes, stepc_dtype_size(dtype));
    for (size_t i = 0; dtype == STEPC_BOOL && i < bytes; i++)
        values[i] = values[i] != 0;
}

static stepc_status load_values(const struct reader *r, const struct record *record, const stepc_variable_info *v,
                                void *state)
{
    const size_t bytes = stepc_tensor_bytes(&v->tensor), element = stepc_dtype_size(v->tensor.dtype);
    stepc_status status = STEPC_OK;
    if (v->write == NULL) {
        unsigned char *to = (unsigned char *)state + v->offset;
        status = read_bytes(r->storage, r->slot, record->values_at, to, bytes);
        if (status == STEPC_OK)
            to_native(to, bytes, v->tensor.dtype);
        return status;
    }
    for (size_t first = 0, count = bytes / element, n; first < count && status == STEPC_OK; first += n) {
        union piece piece;
        n = piece_count(first, count, element);
        status = read_bytes(r->storage, r->slot, record->values_at + first * element, piece.bytes, n * element);
        to_native(piece.bytes, n * element, v->tensor.dtype);
        if (status == STEPC_OK)
            v->write(state, piece.bytes, first, n);
    }
    return status;
}

/* The variable of the record at *at, which moves behind it. */
static stepc_status load_next(const struct reader *r, size_t *at, void *state)
{
    struct record record = {0};
    stepc_load_outcome outcome = STEPC_LOAD_UNKNOWN;
    stepc_status status = read_record(r, *at, &record);
    if (status != STEPC_OK)
        return status;
    const unsigned index = find_named(r, &record);
    const stepc_variable_info *v = index < r->model->variable_count ? &r->model->variables[index] : NULL;
    *at = record.next;
    status = judge(r, &record, v, &outcome);
    return status == STEPC_OK && v != NULL && outcome == STEPC_LOADED ? load_values(r, &record, v, state) : status;
}

static stepc_status load_all(const struct reader *r, void *state)
{
    size_t at = HEADER_BYTES;
    stepc_status status = STEPC_OK;
    for (uint32_t i = 0; i < r->info.variables && status == STEPC_OK; i++)
        status = load_next(r, &at, state);
    return status;
}

stepc_status stepc_checkpoint_read_slot(const stepc_model *model, void *state, const stepc_storage *storage,
                                        unsigned slot, const stepc_load_options *options, void *work_memory,
                                        size_t work_bytes)
{
    struct work work;
    struct reader r = {model, storage, slot, &work, options, {0, 0, 0}};
    int fits = 0;
    if (!split_work(model, storage->unit, work_memory, work_bytes, &work))
        return STEPC_E_ARGUMENT;
    stepc_status status = stepc_checkpoint_check(storage, slot, &r.info, work.staging, work.staging_bytes);
    if (status == STEPC_OK)
        status = compare_with_model(&r, &fits);
    if (status == STEPC_OK && !fits && (options == NULL || !options->partial))
        status = STEPC_E_MISMATCH;
    return status == STEPC_OK ? load_all(&r, state) : status;
}

/* ---- two slots -------------------------------------------------------------------- */

struct slots {
    stepc_status status[2];
    stepc_checkpoint_info info[2];
    int newest; /* -1: neither is whole */
    uint64_t sequence; /* the largest that a header says, of a whole one or not */
};

static void check_slots(const stepc_storage *storage, const struct work *work, struct slots *s)
{
    for (unsigned i = 0; i < 2; i++) {
        s->status[i] = stepc_checkpoint_check(storage, i, &s->info[i], work->staging, work->staging_bytes);
        if (s->status[i] == STEPC_OK && (s->newest < 0 || s->info[i].sequence > s->info[s->newest].sequence))
            s->newest = (int)i;
        s->sequence = s->info[i].sequence > s->sequence ? s->info[i].sequence : s->sequence;
    }
}

/* Flash with error correction reads as an error where power was lost while it was programmed, until it is erased: for
 * ever, if nobody saved there. So the one that is whole is kept; where none is, the one that can be read is written
 * first, since the other may yet be whole and its error a passing one. */
static unsigned slot_to_write(const struct slots *s)
{
    if (s->newest >= 0)
        return s->newest == 0 ? 1u : 0u;
    return s->status[0] == STEPC_E_IO && s->status[1] != STEPC_E_IO ? 1u : 0u;
}

stepc_status stepc_checkpoint_save(const stepc_model *model, const void *state, const stepc_storage *storage,
                                   void *work_memory, size_t work_bytes)
{
    struct work work;
    struct slots s = {{STEPC_OK, STEPC_OK}, {{0, 0, 0}, {0, 0, 0}}, -1, 0};
    stepc_checkpoint_info written = {0, 0, 0};
    if (!split_work(model, storage->unit, work_memory, work_bytes, &work))
        return STEPC_E_ARGUMENT;
    check_slots(storage, &work, &s);
    const unsigned slot = slot_to_write(&s);
    const uint64_t sequence = (s.newest < 0 ? s.sequence : s.info[s.newest].sequence) + 1;
    const stepc_status status =
        stepc_checkpoint_write_slot(model, state, storage, slot, sequence, work_memory, work_bytes);
    if (status != STEPC_OK)
        return status;
    return stepc_checkpoint_check(storage, slot, &written, work.staging, work.staging_bytes) == STEPC_OK &&
                   written.sequence == sequence
               ? STEPC_OK
               : STEPC_E_IO;
}

stepc_status stepc_checkpoint_load(const stepc_model *model, void *state, const stepc_storage *storage,
                                   const stepc_load_options *options, void *work_memory, size_t work_bytes)
{
    struct work work;
    struct slots s = {{STEPC_OK, STEPC_OK}, {{0, 0, 0}, {0, 0, 0}}, -1, 0};
    if (!split_work(model, storage->unit, work_memory, work_bytes, &work))
        return STEPC_E_ARGUMENT;
    check_slots(storage, &work, &s);
    if (s.newest >= 0)
        return stepc_checkpoint_read_slot(model, state, storage, (unsigned)s.newest, options, work_memory, work_bytes);
    if (s.status[0] == STEPC_E_IO || s.status[1] == STEPC_E_IO)
        return STEPC_E_IO;
    if (s.status[0] == STEPC_E_BLANK && s.status[1] == STEPC_E_BLANK)
        return STEPC_E_BLANK;
    return s.status[0] == STEPC_E_MISMATCH || s.status[1] == STEPC_E_MISMATCH ? STEPC_E_MISMATCH : STEPC_E_CORRUPT;
}

/* ---- copies ------------------------------------------------------------------------ */

static void copy_pieces(const stepc_variable_info *v, void *state, const void *from)
{
    const size_t element = stepc_dtype_size(v->tensor.dtype), count = stepc_tensor_bytes(&v->tensor) / element;
    for (size_t first = 0, n; first < count; first += n) {
        union piece piece;
        n = piece_count(first, count, element);
        v->read(from, piece.bytes, first, n);
        v->write(state, piece.bytes, first, n);
    }
}

stepc_status stepc_copy_variables(const stepc_model *model, void *state, const void *from, void *context,
                                  int (*wants)(void *context, const stepc_variable_info *variable), void *work_memory,
                                  size_t work_bytes)
{
    struct work work;
    if (!split_work(model, 1, work_memory, work_bytes, &work))
        return STEPC_E_ARGUMENT;
    for (unsigned i = 0; i < model->variable_count; i++) {
        const stepc_variable_info *v = &model->variables[i];
        if (wants != NULL && !wants(context, v))
            continue;
        if (is_packed(v)) {
            copy_pieces(v, state, from);
        } else {
            memcpy((unsigned char *)state + v->offset, (const unsigned char *)from + v->offset,
                   stepc_tensor_bytes(&v->tensor));
        }
    }
    return STEPC_OK;
}
