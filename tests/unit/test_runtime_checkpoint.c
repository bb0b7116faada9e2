/* Checkpoints: power cut at every byte, truncation at every byte, every bit flipped, forged contents, models
 * that have changed. */
#include "checkpoint.h"
#include "suite.h"

#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* For mkstemp() and mkdtemp(), below $TMPDIR or /tmp. */
static void temporary_name(char path[PATH_MAX], const char *name)
{
    const char *const parent = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/stepc-%s-XXXXXX", parent && *parent ? parent : "/tmp", name);
}

/* ---- a model ----------------------------------------------------------------------------------------------------- */

enum { PACKED = 37 }; /* more than is transposed at a time, and no multiple of it */

struct state {
    float w[2][3];
    double rate;
    uint8_t mask[5];
    uint16_t half[3];
    int64_t step;
    uint32_t packed[PACKED]; /* kept in reverse order */
    uint64_t seed;
};

static void read_packed(const void *state, void *values, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)values + 4 * i, &((const struct state *)state)->packed[PACKED - 1 - first - i], 4);
}

static void write_packed(void *state, const void *values, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&((struct state *)state)->packed[PACKED - 1 - first - i], (const char *)values + 4 * i, 4);
}

static const size_t dims_2_3[] = {2, 3}, dims_5[] = {5}, dims_3[] = {3}, dims_4[] = {4}, dims_packed[] = {PACKED};

static const stepc_variable_info variables[] = {
    {{"fc1.weight", STEPC_FLOAT, 2, dims_2_3}, offsetof(struct state, w), STEPC_ROLE_WEIGHT, NULL, NULL},
    {{"mask", STEPC_BOOL, 1, dims_5}, offsetof(struct state, mask), STEPC_ROLE_STATISTIC, NULL, NULL},
    {{"half", STEPC_FLOAT16, 1, dims_3}, offsetof(struct state, half), STEPC_ROLE_STATISTIC, NULL, NULL},
    {{"rate", STEPC_DOUBLE, 0, NULL}, offsetof(struct state, rate), STEPC_ROLE_OPTIMIZER, NULL, NULL},
    {{"packed", STEPC_UINT32, 1, dims_packed}, offsetof(struct state, packed), STEPC_ROLE_WEIGHT, read_packed,
     write_packed},
    {{"step_count", STEPC_INT64, 0, NULL}, offsetof(struct state, step), STEPC_ROLE_COUNTER, NULL, NULL},
    {{"stepc.random_seed", STEPC_UINT64, 0, NULL}, offsetof(struct state, seed), STEPC_ROLE_COUNTER, NULL, NULL},
};
enum { VARIABLES = sizeof variables / sizeof *variables };

static stepc_model model_of(const stepc_variable_info *v, unsigned count)
{
    return (stepc_model){.abi = STEPC_ABI, .name = "m", .fingerprint = "", .state_bytes = sizeof(struct state),
                         .variable_count = count, .variables = v};
}

/* A state that differs from every other in every byte that counts. */
static struct state state_number(unsigned n)
{
    struct state s;
    memset(&s, 0, sizeof s);
    for (unsigned i = 0; i < 6; i++)
        s.w[i / 3][i % 3] = (float)(n * 10 + i);
    s.rate = 1.0 / (n + 1);
    for (unsigned i = 0; i < 5; i++)
        s.mask[i] = (uint8_t)((n >> i) & 1u);
    for (unsigned i = 0; i < 3; i++)
        s.half[i] = (uint16_t)(n * 100 + i);
    s.step = -(int64_t)n;
    for (unsigned i = 0; i < PACKED; i++)
        s.packed[i] = n * 1000 + i;
    s.seed = UINT64_C(0x0123456789ABCDEF) + n;
    return s;
}

static int same_state(const struct state *a, const struct state *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static union {
    stepc_max_align align;
    unsigned char bytes[8192];
} work;

/* ---- storage that can be cut off --------------------------------------------------------------------------------- */

enum { SLOT = 2048 };

struct flash {
    unsigned char slot[2][SLOT];
    unsigned char programmed[2][SLOT]; /* since the last erase */
    size_t unit;
    long power; /* bytes until it goes; < 0: it stays */
    bool torn;  /* the unit that is being programmed then holds anything */
    bool ecc;   /* it reads as an error then, until it is erased */
    unsigned char error[2][SLOT];
    long used;  /* bytes erased and programmed in all */
    int fail_read;
};

/* As ck_assert, which leaves a note in a file each time. */
static void require(bool ok, const char *what)
{
    if (!ok)
        ck_abort_msg("%s", what);
}

/* How many of `count` bytes get done. */
static size_t spend(struct flash *f, size_t count)
{
    size_t done = count;
    if (f->power >= 0) {
        done = (size_t)f->power < count ? (size_t)f->power : count;
        f->power -= (long)done;
    }
    f->used += (long)done;
    return done;
}

static int flash_read(void *context, unsigned slot, size_t offset, void *bytes, size_t count)
{
    struct flash *f = context;
    require(slot < 2 && offset <= SLOT && count <= SLOT - offset, "a read past the slot");
    memcpy(bytes, f->slot[slot] + offset, count);
    for (size_t i = 0; i < count; i++)
        if (f->error[slot][offset + i])
            return 1;
    return f->fail_read && --f->fail_read == 0;
}

static int flash_erase(void *context, unsigned slot)
{
    struct flash *f = context;
    const size_t done = spend(f, SLOT);
    memset(f->slot[slot], 0xFF, done);
    memset(f->programmed[slot], 0, done);
    memset(f->error[slot], 0, done);
    return done < SLOT;
}

static int flash_write(void *context, unsigned slot, size_t offset, const void *bytes, size_t count)
{
    struct flash *f = context;
    require(slot < 2 && offset % f->unit == 0 && count % f->unit == 0, "a write of parts of units");
    require(offset <= SLOT && count <= SLOT - offset, "a write past the slot");
    const size_t done = spend(f, count);
    for (size_t i = 0; i < done; i++) {
        require(!f->programmed[slot][offset + i], "a unit is programmed twice");
        f->programmed[slot][offset + i] = 1;
    }
    memcpy(f->slot[slot] + offset, bytes, done);
    if (done < count && f->torn)
        for (size_t i = done; i < count && i < done / f->unit * f->unit + f->unit; i++)
            f->slot[slot][offset + i] = (unsigned char)rand();
    if (done < count && f->ecc)
        memset(f->error[slot] + offset + done / f->unit * f->unit, 1, f->unit);
    return done < count;
}

static stepc_storage storage_of(struct flash *f)
{
    return (stepc_storage){f, SLOT, f->unit, flash_read, flash_erase, flash_write, NULL};
}

static void flash_reset(struct flash *f, size_t unit)
{
    memset(f, 0, sizeof *f);
    memset(f->slot, 0x5A, sizeof f->slot); /* never erased */
    f->unit = unit;
    f->power = -1;
}

static struct flash flash, before;

static stepc_status save(unsigned n)
{
    const stepc_model m = model_of(variables, VARIABLES);
    const stepc_storage s = storage_of(&flash);
    const struct state state = state_number(n);
    return stepc_checkpoint_save(&m, &state, &s, &work, sizeof work);
}

/* The number of the state that is loaded, or -1 with the status: then the state must be untouched. */
static int load(stepc_status *status)
{
    const stepc_model m = model_of(variables, VARIABLES);
    const stepc_storage s = storage_of(&flash);
    struct state state = state_number(77);
    const struct state untouched = state;
    *status = stepc_checkpoint_load(&m, &state, &s, NULL, &work, sizeof work);
    if (*status != STEPC_OK) {
        require(same_state(&state, &untouched), "a load that fails has touched the state");
        return -1;
    }
    const struct state expected = state_number((unsigned)-state.step);
    require(same_state(&state, &expected), "the loaded state is a mixture");
    return (int)-state.step;
}

/* ---- there and back ---------------------------------------------------------------------------------------------- */

static const size_t units[] = {1, 2, 4, 8, 24, 256, 1000};
enum { UNITS = sizeof units / sizeof *units };

START_TEST(saves_alternate_and_the_newest_is_loaded)
{
    stepc_status status;
    flash_reset(&flash, units[_i]);
    ck_assert_int_eq(load(&status), -1);
    ck_assert_int_eq(status, STEPC_E_CORRUPT);
    for (unsigned n = 1; n < 6; n++) {
        ck_assert_int_eq(save(n), STEPC_OK);
        ck_assert_int_eq(load(&status), (int)n);
    }
}
END_TEST

/* A first start is told from a loss: every byte is as erasing leaves it. */
START_TEST(blank_storage)
{
    static const unsigned char erased[] = {0xFF, 0};
    const stepc_model m = model_of(variables, VARIABLES);
    stepc_status status;
    stepc_checkpoint_info info;
    for (size_t i = 0; i < sizeof erased; i++) {
        flash_reset(&flash, 8);
        memset(flash.slot, erased[i], sizeof flash.slot);
        const stepc_storage s = storage_of(&flash);
        ck_assert(load(&status) == -1 && status == STEPC_E_BLANK);
        ck_assert_int_eq(stepc_checkpoint_check(&s, 1, &info, &work, sizeof work), STEPC_E_BLANK);
        flash.slot[1][SLOT - 1] ^= 1; /* anything at all */
        ck_assert(load(&status) == -1 && status == STEPC_E_CORRUPT);
        flash.slot[1][SLOT - 1] ^= 1;
        ck_assert_int_eq(save(1), STEPC_OK);
        ck_assert_int_eq(load(&status), 1);
        flash.slot[0][100] ^= 1; /* the only one, while the other is blank still */
        ck_assert(load(&status) == -1 && status == STEPC_E_CORRUPT);
    }
    memset(flash.slot, 0x5A, sizeof flash.slot);
    ck_assert(load(&status) == -1 && status == STEPC_E_CORRUPT);

    char path[PATH_MAX]; /* zeros are what a crash may leave of a file */
    temporary_name(path, "blank");
    const int fd = mkstemp(path);
    ck_assert(fd >= 0 && ftruncate(fd, SLOT) == 0 && close(fd) == 0);
    struct state state = state_number(1);
    ck_assert_int_eq(stepc_checkpoint_load_file(&m, &state, path, NULL, &work, sizeof work), STEPC_E_CORRUPT);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static long used_at_sync[4];
static unsigned syncs;

static int note_sync(void *context, unsigned slot)
{
    (void)slot;
    require(syncs < 4, "more than four syncs");
    used_at_sync[syncs++] = ((const struct flash *)context)->used;
    return 0;
}

/* Storage may write in another order until it is told to wait: the mark must not be there before what it stands for. */
START_TEST(contents_are_there_before_the_mark)
{
    const stepc_model m = model_of(variables, VARIABLES);
    const struct state state = state_number(1);
    flash_reset(&flash, units[_i]);
    stepc_storage s = storage_of(&flash);
    s.sync = note_sync;
    syncs = 0;
    ck_assert_int_eq(stepc_checkpoint_save(&m, &state, &s, &work, sizeof work), STEPC_OK);
    ck_assert_uint_eq(syncs, 2);
    ck_assert_int_gt(used_at_sync[0], SLOT); /* erased, and something written */
    ck_assert_int_lt(used_at_sync[0], used_at_sync[1]);
    ck_assert_int_eq(used_at_sync[1], flash.used);
}
END_TEST

START_TEST(least_work_memory_is_enough_and_less_is_refused)
{
    const stepc_model m = model_of(variables, VARIABLES);
    const struct state state = state_number(1);
    struct state loaded = state_number(2);
    flash_reset(&flash, units[_i]);
    const stepc_storage s = storage_of(&flash);
    const size_t least = stepc_checkpoint_work_bytes(&m, s.unit);
    void *exact = malloc(least); /* sanitizers see one byte more */
    ck_assert_int_eq(stepc_checkpoint_save(&m, &state, &s, exact, least - 1), STEPC_E_ARGUMENT);
    ck_assert_int_eq(stepc_checkpoint_save(&m, &state, &s, exact, least), STEPC_OK);
    ck_assert_int_eq(stepc_checkpoint_load(&m, &loaded, &s, NULL, exact, least - 1), STEPC_E_ARGUMENT);
    ck_assert_int_eq(stepc_checkpoint_load(&m, &loaded, &s, NULL, exact, least), STEPC_OK);
    ck_assert(same_state(&state, &loaded));
    free(exact);
}
END_TEST

/* docs/state.md states it: a variable of another layout goes through in pieces. */
START_TEST(work_memory_does_not_grow_with_variables)
{
    static const size_t large[] = {2048, 2048};
    const stepc_variable_info wide[] = {
        {{"packed", STEPC_FLOAT, 2, large}, 0, STEPC_ROLE_WEIGHT, read_packed, write_packed},
        {{"w", STEPC_FLOAT, 2, large}, 0, STEPC_ROLE_WEIGHT, NULL, NULL},
    };
    const stepc_model m = model_of(wide, 2);
    ck_assert_uint_le(stepc_checkpoint_work_bytes(&m, 1), 256 + 8);
    ck_assert_uint_le(stepc_checkpoint_work_bytes(&m, 512), 512 + 8);
}
END_TEST

START_TEST(slot_that_is_too_small_is_refused_untouched)
{
    const stepc_model m = model_of(variables, VARIABLES);
    const struct state state = state_number(2);
    stepc_status status;
    flash_reset(&flash, 8);
    ck_assert_int_eq(save(1), STEPC_OK);
    stepc_storage s = storage_of(&flash);
    s.slot_bytes = stepc_checkpoint_bytes(&m, 8) - 1;
    before = flash;
    ck_assert_int_eq(stepc_checkpoint_save(&m, &state, &s, &work, sizeof work), STEPC_E_ARGUMENT);
    ck_assert(memcmp(before.slot, flash.slot, sizeof flash.slot) == 0);
    s.slot_bytes++;
    ck_assert_int_eq(stepc_checkpoint_save(&m, &state, &s, &work, sizeof work), STEPC_OK);
    ck_assert_int_eq(load(&status), 2);
}
END_TEST

/* ---- power ------------------------------------------------------------------------------------------------------- */

/* The third save is cut after `power` bytes of erasing and programming; whoever comes next finds state 2 or 3. */
START_TEST(power_cut_at_every_byte)
{
    stepc_status status;
    flash_reset(&flash, units[_i % UNITS]);
    flash.torn = _i >= UNITS;
    ck_assert_int_eq(save(1), STEPC_OK);
    ck_assert_int_eq(save(2), STEPC_OK);
    before = flash;
    flash.used = 0;
    ck_assert_int_eq(save(3), STEPC_OK);
    const long all = flash.used;
    ck_assert_int_gt(all, SLOT);
    for (long power = 0; power <= all; power += power < SLOT - 32 ? 31 : 1) { /* erasing, then each byte of the save */
        flash = before;
        flash.power = power;
        const stepc_status saved = save(3);
        flash.power = -1;
        const int found = load(&status);
        ck_assert_msg(found == 3 || (found == 2 && saved != STEPC_OK), "cut after %ld of %ld bytes: %d (%s)", power,
                      all, found, stepc_status_text(saved));
        if (power < all)
            ck_assert_int_eq(saved, STEPC_E_IO);
        if (power % 97 != 0)
            continue;
        ck_assert_int_eq(save(4), STEPC_OK); /* life goes on */
        ck_assert_int_eq(load(&status), 4);
    }
}
END_TEST

/* The first save of all: nothing, or the whole of it. */
START_TEST(power_cut_in_the_first_save)
{
    stepc_status status;
    flash_reset(&before, 8);
    flash = before;
    ck_assert_int_eq(save(1), STEPC_OK);
    const long all = flash.used;
    for (long power = 0; power < all; power += power < SLOT - 32 ? 31 : 1) {
        flash = before;
        flash.power = power;
        ck_assert_int_eq(save(1), STEPC_E_IO);
        flash.power = -1;
        const int found = load(&status);
        ck_assert(found == 1 || (found == -1 && status == STEPC_E_CORRUPT));
    }
}
END_TEST

static int power_step(long power)
{
    return power < SLOT - 32 ? 31 : 1; /* erasing, then each byte of the save */
}

/* Flash with error correction: the unit that was being programmed cannot be read until its slot is erased. Whatever was
 * cut, the checkpoint before stays, and the next save succeeds; so it does when that one is cut as well. */
START_TEST(unreadable_units_do_not_end_saving)
{
    stepc_status status;
    flash_reset(&flash, units[_i]);
    flash.ecc = true;
    ck_assert_int_eq(save(1), STEPC_OK);
    ck_assert_int_eq(save(2), STEPC_OK);
    before = flash;
    flash.used = 0;
    ck_assert_int_eq(save(3), STEPC_OK);
    const long all = flash.used;
    for (long power = 0; power < all; power += power_step(power)) {
        flash = before;
        flash.power = power;
        require(save(3) == STEPC_E_IO, "a save that was cut says so");
        flash.power = power % 7 * all / 7;
        require(save(4) == STEPC_E_IO, "the one after it as well");
        flash.power = -1;
        require(load(&status) == 2, "the newest whole one is loaded");
        require(save(5) == STEPC_OK && load(&status) == 5, "life goes on");
        require(save(6) == STEPC_OK && load(&status) == 6, "in both slots");
    }
}
END_TEST

/* Nothing was there before: neither slot is whole, and both may be unreadable. */
START_TEST(unreadable_units_of_the_first_saves)
{
    stepc_status status;
    flash_reset(&before, 8);
    before.ecc = true;
    flash = before;
    ck_assert_int_eq(save(1), STEPC_OK);
    const long all = flash.used;
    for (long power = 0; power < all; power += power_step(power)) {
        for (long second = 0; second < all; second += 13 * power_step(second)) {
            flash = before;
            flash.power = power;
            require(save(1) == STEPC_E_IO, "the first save was cut");
            flash.power = second;
            require(save(2) == STEPC_E_IO, "the second save was cut");
            flash.power = -1;
            require(load(&status) == -1 && (status == STEPC_E_CORRUPT || status == STEPC_E_IO),
                    "there is no checkpoint");
            require(save(3) == STEPC_OK && load(&status) == 3, "the third save is whole");
            require(save(4) == STEPC_OK && load(&status) == 4, "the fourth as well");
        }
    }
}
END_TEST

/* Neither slot is whole, and one of them cannot be read today: it may be whole tomorrow, and must not be newer then
 * than what was saved. */
START_TEST(unreadable_slot_is_left_for_the_other)
{
    stepc_status status;
    flash_reset(&flash, 8);
    for (unsigned n = 1; n < 8; n++)
        ck_assert_int_eq(save(n), STEPC_OK);
    memset(flash.slot[1], 0, SLOT);  /* 6 is lost, */
    flash.error[0][64] = 1;          /* 7 cannot be read */
    ck_assert_int_eq(load(&status), -1);
    ck_assert_int_eq(status, STEPC_E_IO);
    before = flash;
    ck_assert_int_eq(save(8), STEPC_OK);
    ck_assert(memcmp(before.slot[0], flash.slot[0], SLOT) == 0);
    memset(flash.error, 0, sizeof flash.error);
    ck_assert_int_eq(load(&status), 8);
}
END_TEST

START_TEST(failing_reads_are_errors_and_never_cost_a_checkpoint)
{
    stepc_status status;
    flash_reset(&flash, 8);
    ck_assert_int_eq(save(1), STEPC_OK);
    ck_assert_int_eq(save(2), STEPC_OK);
    before = flash;
    for (int read = 1; read < 12; read++) {
        flash = before;
        flash.fail_read = read;
        const stepc_status saved = save(3);
        flash.fail_read = 0;
        const int found = load(&status);
        ck_assert_msg(found == 3 || (found == 2 && saved == STEPC_E_IO), "read %d: %d", read, found);
    }
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------------------ */

START_TEST(every_bit_flipped)
{
    const stepc_model m = model_of(variables, VARIABLES);
    stepc_status status;
    flash_reset(&flash, 8);
    ck_assert_int_eq(save(1), STEPC_OK);
    ck_assert_int_eq(save(2), STEPC_OK); /* in slot 1 */
    const size_t bytes = stepc_checkpoint_bytes(&m, 8);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        flash.slot[1][bit / 8] ^= (unsigned char)(1u << (bit % 8));
        require(load(&status) == 1, "a flipped bit is overlooked");
        flash.slot[1][bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    ck_assert_int_eq(load(&status), 2);
}
END_TEST

START_TEST(truncated_at_every_byte)
{
    const stepc_model m = model_of(variables, VARIABLES);
    flash_reset(&flash, 1);
    ck_assert_int_eq(save(1), STEPC_OK);
    stepc_storage s = storage_of(&flash);
    const size_t bytes = stepc_checkpoint_bytes(&m, 1);
    for (s.slot_bytes = 0; s.slot_bytes <= bytes; s.slot_bytes++) {
        struct state state = state_number(9);
        const struct state untouched = state;
        const stepc_status status = stepc_checkpoint_read_slot(&m, &state, &s, 0, NULL, &work, sizeof work);
        ck_assert_int_eq(status, s.slot_bytes < bytes ? STEPC_E_CORRUPT : STEPC_OK);
        ck_assert(s.slot_bytes == bytes || same_state(&state, &untouched));
    }
}
END_TEST

/* ---- the format, by hand ----------------------------------------------------------------------------------------- */

static uint32_t plain_crc(const unsigned char *bytes, size_t count)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ (crc & 1u ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

struct forged {
    unsigned char bytes[2048];
    size_t count;
};

static void forge(struct forged *f, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        f->bytes[f->count++] = (unsigned char)(x >> (8 * i));
}

static void forge_at(struct forged *f, size_t at, uint64_t x, int bytes)
{
    const size_t count = f->count;
    f->count = at;
    forge(f, x, bytes);
    f->count = count;
}

static void forge_header(struct forged *f, uint32_t variable_count, uint64_t sequence)
{
    f->count = 0;
    memset(f->bytes, 0, sizeof f->bytes);
    forge(f, UINT64_C(0x0A0D435045545389), 8); /* 89 S T E P C 0D 0A */
    forge(f, 1, 4);
    forge(f, variable_count, 4);
    forge(f, sequence, 8);
    f->count = 40;
}

static void forge_record(struct forged *f, const char *name, uint32_t dtype, uint32_t rank, const uint64_t *dims,
                         uint64_t bytes)
{
    forge(f, strlen(name), 4);
    forge(f, dtype, 4);
    forge(f, 0, 4);
    forge(f, rank, 4);
    for (uint32_t i = 0; i < rank; i++)
        forge(f, dims[i], 8);
    forge(f, bytes, 8);
    memcpy(f->bytes + f->count, name, strlen(name));
    f->count += strlen(name);
}

static void forge_values(struct forged *f, size_t count, unsigned char first)
{
    for (size_t i = 0; i < count; i++)
        f->bytes[f->count++] = (unsigned char)(first + i);
    f->count = (f->count + 7) / 8 * 8;
}

static void forge_end(struct forged *f)
{
    forge_at(f, 24, f->count, 8);
    forge_at(f, 36, plain_crc(f->bytes, 36), 4);
    memcpy(f->bytes + f->count, "STEPCEND\0\0\0", 12);
    f->count += 12;
    forge(f, plain_crc(f->bytes, f->count), 4);
}

/* One variable `b`, uint8[3] = {1, 2, 3}. */
static const size_t dims_one[] = {3};
static const stepc_variable_info one_variable[] = {{{"b", STEPC_UINT8, 1, dims_one}, 0, STEPC_ROLE_WEIGHT, NULL, NULL}};

static stepc_status read_forged(const struct forged *f, unsigned char state[3])
{
    const stepc_model m = model_of(one_variable, 1);
    flash_reset(&flash, 1);
    memcpy(flash.slot[0], f->bytes, f->count);
    stepc_storage s = storage_of(&flash);
    s.slot_bytes = f->count;
    return stepc_checkpoint_read_slot(&m, state, &s, 0, NULL, &work, sizeof work);
}

START_TEST(format_is_as_documented)
{
    const stepc_model m = model_of(one_variable, 1);
    const uint64_t three = 3;
    struct forged f;
    unsigned char state[3] = {1, 2, 3};
    forge_header(&f, 1, 1);
    forge_record(&f, "b", STEPC_UINT8, 1, &three, 3);
    forge_values(&f, 3, 1);
    forge_end(&f);
    flash_reset(&flash, 1);
    const stepc_storage s = storage_of(&flash);
    ck_assert_int_eq(stepc_checkpoint_save(&m, state, &s, &work, sizeof work), STEPC_OK);
    ck_assert_uint_eq(stepc_checkpoint_bytes(&m, 1), f.count);
    ck_assert(memcmp(flash.slot[0], f.bytes, f.count) == 0);
    memset(state, 0, sizeof state);
    ck_assert_int_eq(read_forged(&f, state), STEPC_OK);
    ck_assert(state[0] == 1 && state[1] == 2 && state[2] == 3);
}
END_TEST

/* Contents that no save writes, under valid checksums. */
START_TEST(forged_contents_are_refused)
{
    static const uint64_t dims[65] = {3};
    static const struct {
        const char *what;
        uint32_t count, name, rank;
        uint64_t bytes, end;
        stepc_status status;
    } cases[] = {
        {"as it should be", 1, 1, 1, 3, 0, STEPC_OK},
        {"twice the same variable", 2, 1, 1, 3, 0, STEPC_E_CORRUPT},
        {"more variables than there are", 3, 1, 1, 3, 0, STEPC_E_CORRUPT},
        {"variables without end", 0xFFFFFFFFu, 1, 1, 3, 0, STEPC_E_CORRUPT},
        {"name beyond the end", 1, 1000, 1, 3, 0, STEPC_E_CORRUPT},
        {"name of 4 GiB", 1, 0xFFFFFFFFu, 1, 3, 0, STEPC_E_CORRUPT},
        {"values beyond the end", 1, 1, 1, 200, 0, STEPC_E_CORRUPT},
        {"values of 2^64 bytes", 1, 1, 1, UINT64_MAX, 0, STEPC_E_CORRUPT},
        {"values just before the end mark's end", 1, 1, 1, 60, 0, STEPC_E_CORRUPT},
        {"nameless values beyond the end", 1, 0, 1, 200, 0, STEPC_E_CORRUPT},
        {"fewer values than the shape says", 1, 1, 1, 2, 0, STEPC_E_CORRUPT},
        {"more values than the shape says", 1, 1, 1, 4, 0, STEPC_E_CORRUPT},
        {"rank 65", 1, 1, 65, 3, 0, STEPC_E_CORRUPT},
        {"rank 2^32 - 1", 1, 1, 0xFFFFFFFFu, 3, 0, STEPC_E_CORRUPT},
        {"another rank", 1, 1, 0, 3, 0, STEPC_E_MISMATCH},
        {"no variables", 0, 1, 1, 3, 0, STEPC_E_MISMATCH},
        {"end mark in the header", 1, 1, 1, 3, 8, STEPC_E_CORRUPT},
        {"end mark far away", 1, 1, 1, 3, UINT64_MAX - 7, STEPC_E_CORRUPT},
    };
    struct forged f;
    unsigned char state[3] = {7, 8, 9};
    forge_header(&f, cases[_i].count, 1);
    for (int i = 0; i < 2; i++) { /* the second record is behind what a count of 1 says */
        const size_t at = f.count;
        forge_record(&f, "b", STEPC_UINT8, cases[_i].rank < 66 ? cases[_i].rank : 1, dims, cases[_i].bytes);
        forge_at(&f, at, cases[_i].name, 4);
        forge_at(&f, at + 12, cases[_i].rank, 4);
        forge_values(&f, 3, 1);
    }
    forge_end(&f);
    if (cases[_i].end) {
        forge_at(&f, 24, cases[_i].end, 8);
        forge_at(&f, 36, plain_crc(f.bytes, 36), 4);
    }
    const stepc_status status = read_forged(&f, state);
    ck_assert_msg(status == cases[_i].status, "%s: %s", cases[_i].what, stepc_status_text(status));
    ck_assert_int_eq(state[0], status == STEPC_OK ? 1 : 7);
}
END_TEST
enum { FORGED_CASES = 18 };

START_TEST(another_version_is_a_mismatch)
{
    const uint64_t three = 3;
    struct forged f;
    unsigned char state[3] = {7, 8, 9};
    forge_header(&f, 1, 1);
    forge_at(&f, 8, 2, 4);
    forge_record(&f, "b", STEPC_UINT8, 1, &three, 3);
    forge_values(&f, 3, 1);
    forge_end(&f);
    ck_assert_int_eq(read_forged(&f, state), STEPC_E_MISMATCH);
    ck_assert_int_eq(state[0], 7);
}
END_TEST

/* ---- models that have changed ------------------------------------------------------------------------------------ */

struct told {
    stepc_load_outcome outcome[16];
    char name[16][64];
    int count;
    unsigned roles; /* wanted, a bit each */
};

static void tell(void *context, stepc_load_outcome outcome, const char *name, const stepc_variable_info *variable)
{
    struct told *t = context;
    ck_assert_int_lt(t->count, 16);
    ck_assert((variable == NULL) == (outcome == STEPC_LOAD_UNKNOWN));
    t->outcome[t->count] = outcome;
    snprintf(t->name[t->count++], 64, "%s", name);
}

static int wants_role(void *context, const stepc_variable_info *variable)
{
    return (int)((((struct told *)context)->roles >> variable->role) & 1u);
}

static bool was_told(const struct told *t, const char *name, stepc_load_outcome outcome)
{
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->name[i], name) == 0)
            return t->outcome[i] == outcome;
    return false;
}

/* Renamed, retyped, reshaped, and one more than there was; `half` and the seed are gone. */
static const stepc_variable_info changed[] = {
    {{"fc1.weight", STEPC_FLOAT, 2, dims_2_3}, offsetof(struct state, w), STEPC_ROLE_WEIGHT, NULL, NULL},
    {{"mask", STEPC_BOOL, 1, dims_4}, offsetof(struct state, mask), STEPC_ROLE_STATISTIC, NULL, NULL},
    {{"rate", STEPC_INT64, 0, NULL}, offsetof(struct state, rate), STEPC_ROLE_OPTIMIZER, NULL, NULL},
    {{"packed", STEPC_UINT32, 1, dims_packed}, offsetof(struct state, packed), STEPC_ROLE_WEIGHT, read_packed,
     write_packed},
    {{"steps", STEPC_INT64, 0, NULL}, offsetof(struct state, step), STEPC_ROLE_COUNTER, NULL, NULL},
};

START_TEST(changed_model_loads_what_fits)
{
    const stepc_model m = model_of(changed, 5);
    struct state state = state_number(5);
    const struct state untouched = state, saved = state_number(1);
    struct told told = {.count = 0};
    stepc_load_options o = {&told, 0, NULL, tell};
    flash_reset(&flash, 8);
    ck_assert_int_eq(save(1), STEPC_OK);
    const stepc_storage s = storage_of(&flash);
    ck_assert_int_eq(stepc_checkpoint_load(&m, &state, &s, &o, &work, sizeof work), STEPC_E_MISMATCH);
    ck_assert(same_state(&state, &untouched));
    o.partial = 1;
    told.count = 0;
    ck_assert_int_eq(stepc_checkpoint_load(&m, &state, &s, &o, &work, sizeof work), STEPC_OK);
    ck_assert_int_eq(told.count, 7); /* the seed is not reported */
    ck_assert(was_told(&told, "fc1.weight", STEPC_LOADED));
    ck_assert(was_told(&told, "packed", STEPC_LOADED));
    ck_assert(was_told(&told, "mask", STEPC_LOAD_OTHER_SHAPE));
    ck_assert(was_told(&told, "rate", STEPC_LOAD_OTHER_DTYPE));
    ck_assert(was_told(&told, "steps", STEPC_LOAD_MISSING));
    ck_assert(was_told(&told, "half", STEPC_LOAD_UNKNOWN));
    ck_assert(was_told(&told, "step_count", STEPC_LOAD_UNKNOWN));
    ck_assert(memcmp(state.w, saved.w, sizeof state.w) == 0 &&
              memcmp(state.packed, saved.packed, sizeof state.packed) == 0);
    ck_assert(memcmp(state.mask, untouched.mask, sizeof state.mask) == 0 && state.step == untouched.step);
}
END_TEST

START_TEST(optimizer_starts_anew)
{
    const stepc_model m = model_of(variables, VARIABLES);
    struct told told = {.roles = 1u << STEPC_ROLE_WEIGHT | 1u << STEPC_ROLE_STATISTIC};
    const stepc_load_options o = {&told, 0, wants_role, tell};
    struct state state = state_number(5);
    const struct state fresh = state, saved = state_number(1);
    flash_reset(&flash, 8);
    ck_assert_int_eq(save(1), STEPC_OK);
    const stepc_storage s = storage_of(&flash);
    ck_assert_int_eq(stepc_checkpoint_load(&m, &state, &s, &o, &work, sizeof work), STEPC_OK);
    ck_assert(was_told(&told, "rate", STEPC_LOAD_UNWANTED));
    ck_assert(memcmp(state.w, saved.w, sizeof state.w) == 0 &&
              memcmp(state.packed, saved.packed, sizeof state.packed) == 0);
    ck_assert(state.rate == fresh.rate && state.step == fresh.step && state.seed == fresh.seed);
    /* The same from a fresh state in memory, the other way round. */
    struct state later = saved;
    told.roles = 1u << STEPC_ROLE_OPTIMIZER | 1u << STEPC_ROLE_COUNTER;
    ck_assert_int_eq(stepc_copy_variables(&m, &later, &fresh, &told, wants_role, &work, sizeof work), STEPC_OK);
    ck_assert(same_state(&state, &later));
    ck_assert_int_eq(stepc_copy_variables(&m, &later, &saved, NULL, NULL, &work, sizeof work), STEPC_OK);
    ck_assert(same_state(&later, &saved));
}
END_TEST

START_TEST(truth_values_of_any_byte_become_one)
{
    static const stepc_variable_info truth[] = {{{"b", STEPC_BOOL, 1, dims_one}, 0, STEPC_ROLE_WEIGHT, NULL, NULL}};
    const stepc_model m = model_of(truth, 1);
    unsigned char state[3] = {0, 2, 255}, loaded[3] = {9, 9, 9};
    flash_reset(&flash, 1);
    const stepc_storage s = storage_of(&flash);
    ck_assert_int_eq(stepc_checkpoint_save(&m, state, &s, &work, sizeof work), STEPC_OK);
    ck_assert_int_eq(stepc_checkpoint_load(&m, loaded, &s, NULL, &work, sizeof work), STEPC_OK);
    ck_assert(loaded[0] == 0 && loaded[1] == 1 && loaded[2] == 1);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------- */

START_TEST(files)
{
    const stepc_model m = model_of(variables, VARIABLES);
    const struct state first = state_number(1), second = state_number(2);
    struct state state = state_number(3);
    const struct state untouched = state;
    char folder[PATH_MAX], path[PATH_MAX + 16], beside[PATH_MAX + 16];
    temporary_name(folder, "checkpoint");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/state", folder);
    snprintf(beside, sizeof beside, "%s/state.new", folder);
    ck_assert_int_eq(stepc_checkpoint_load_file(&m, &state, path, NULL, &work, sizeof work), STEPC_E_IO);
    ck_assert_int_eq(stepc_checkpoint_save_file(&m, &first, path, &work, sizeof work), STEPC_OK);
    ck_assert_int_eq(stepc_checkpoint_save_file(&m, &second, path, &work, sizeof work), STEPC_OK);
    ck_assert_int_ne(access(beside, F_OK), 0);
    for (long cut = (long)stepc_checkpoint_bytes(&m, 1); cut >= 0; cut -= 7) { /* a file is never longer again */
        ck_assert_int_eq(truncate(path, cut), 0);
        const stepc_status status = stepc_checkpoint_load_file(&m, &state, path, NULL, &work, sizeof work);
        ck_assert_int_eq(status, cut == (long)stepc_checkpoint_bytes(&m, 1) ? STEPC_OK : STEPC_E_CORRUPT);
        if (status == STEPC_OK)
            ck_assert(same_state(&state, &second));
        else
            ck_assert(same_state(&state, &untouched));
        state = untouched;
    }
    ck_assert_int_eq(stepc_checkpoint_save_file(&m, &first, "/nonexistent/state", &work, sizeof work), STEPC_E_IO);
    ck_assert_int_eq(stepc_checkpoint_load_file(&m, &state, folder, NULL, &work, sizeof work), STEPC_E_IO);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* The disk is full after each number of bytes: the old file stays, and nothing is left beside it. */
START_TEST(file_that_cannot_be_written_to_its_end)
{
    const stepc_model m = model_of(variables, VARIABLES);
    const struct state first = state_number(1), second = state_number(2);
    char folder[PATH_MAX], path[PATH_MAX + 16], beside[PATH_MAX + 16];
    struct rlimit limit;
    temporary_name(folder, "checkpoint");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/state", folder);
    snprintf(beside, sizeof beside, "%s/state.new", folder);
    ck_assert_int_eq(stepc_checkpoint_save_file(&m, &first, path, &work, sizeof work), STEPC_OK);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit all = limit;
    for (limit.rlim_cur = 0; limit.rlim_cur < stepc_checkpoint_bytes(&m, 1); limit.rlim_cur++) {
        struct state state = state_number(3);
        int set = setrlimit(RLIMIT_FSIZE, &limit);
        const stepc_status saved = stepc_checkpoint_save_file(&m, &second, path, &work, sizeof work);
        set |= setrlimit(RLIMIT_FSIZE, &all);
        const stepc_status loaded = stepc_checkpoint_load_file(&m, &state, path, NULL, &work, sizeof work);
        require(set == 0 && saved == STEPC_E_IO && loaded == STEPC_OK && same_state(&state, &first),
                "the old file is lost");
        require(access(beside, F_OK) != 0, "a file is left beside it");
    }
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("checkpoint");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, saves_alternate_and_the_newest_is_loaded, 0, UNITS);
    tcase_add_test(t, blank_storage);
    tcase_add_loop_test(t, least_work_memory_is_enough_and_less_is_refused, 0, UNITS);
    tcase_add_test(t, work_memory_does_not_grow_with_variables);
    tcase_add_loop_test(t, contents_are_there_before_the_mark, 0, UNITS);
    tcase_add_test(t, slot_that_is_too_small_is_refused_untouched);
    tcase_add_loop_test(t, power_cut_at_every_byte, 0, 2 * UNITS);
    tcase_add_test(t, power_cut_in_the_first_save);
    tcase_add_test(t, failing_reads_are_errors_and_never_cost_a_checkpoint);
    tcase_add_loop_test(t, unreadable_units_do_not_end_saving, 0, UNITS);
    tcase_add_test(t, unreadable_units_of_the_first_saves);
    tcase_add_test(t, unreadable_slot_is_left_for_the_other);
    tcase_add_test(t, every_bit_flipped);
    tcase_add_test(t, truncated_at_every_byte);
    tcase_add_test(t, format_is_as_documented);
    tcase_add_loop_test(t, forged_contents_are_refused, 0, FORGED_CASES);
    tcase_add_test(t, another_version_is_a_mismatch);
    tcase_add_test(t, changed_model_loads_what_fits);
    tcase_add_test(t, optimizer_starts_anew);
    tcase_add_test(t, truth_values_of_any_byte_become_one);
    tcase_add_test(t, files);
    tcase_add_test(t, file_that_cannot_be_written_to_its_end);
    return run_tests("checkpoint", t);
}
