/* SPDX-License-Identifier: 0BSD */
/* checkpoint.h: the state of a model on storage that may lose power at any moment.
 *
 * Storage is two slots. A save goes into the slot that does not hold the newest whole checkpoint, so that one whole
 * checkpoint is there at any time once the first is written. Variables are known by name, type and shape: a model that
 * has changed can load what still fits. Values are row-major and little-endian, whatever the layout of the state and
 * the machine: files may be carried from one machine to another, and between the interpreter and generated code.
 *
 * Nothing allocates; the caller gives a work buffer. What is read is not trusted: damaged, truncated and foreign
 * contents are refused before the state is touched. (The checksum finds accidents; it is no signature.)
 *
 * The format, version 1; all numbers little-endian; every checkpoint starts at the beginning of its slot:
 *
 *   offset  bytes
 *        0      8  89 'S' 'T' 'E' 'P' 'C' 0D 0A
 *        8      4  version of the format
 *       12      4  number of variables
 *       16      8  sequence number: the newer of two has the larger one
 *       24      8  offset of the end mark, a multiple of the program unit of the storage it was written for
 *       32      4  0
 *       36      4  CRC-32 of the 36 bytes before
 *       40         the variables, then bytes FF up to the end mark:
 *                    4 bytes of name, n; 4 dtype (ONNX's number); 4 role; 4 rank; 8 for each dimension; 8 bytes of
 *                    values, v; n name, without NUL; v values; 0 to 7 bytes of 0, up to a multiple of 8 from the slot's
 *                    beginning
 *  end mark      8  "STEPCEND"
 *                4  0
 *                4  CRC-32 of everything before the end mark, then of the 12 bytes of it before this number
 *
 * CRC-32 is that of zip and Ethernet (polynomial 04C11DB7, reflected). The end mark is written last. */
#ifndef STEPC_CHECKPOINT_H
#define STEPC_CHECKPOINT_H

#include "stepc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STEPC_CHECKPOINT_VERSION 1u
/* Names with this beginning belong to tools and to the random numbers. A model that does not know one passes it
 * over. */
#define STEPC_CHECKPOINT_OWN_PREFIX "stepc."

/* ---- storage ----------------------------------------------------------------- */

/* Callbacks return 0 for success. A write or erase may be cut short by a loss of power at any byte. */
typedef struct stepc_storage {
    void *context;
    size_t slot_bytes; /* of each of the two slots */
    size_t unit;       /* program unit: writes start at multiples of it and are as long; 1 if there is none */
    int (*read)(void *context, unsigned slot, size_t offset, void *bytes, size_t count);
    /* Makes the whole slot writable, before each save to it. NULL: not needed. */
    int (*erase)(void *context, unsigned slot);
    /* In ascending order, each unit once after an erase. */
    int (*write)(void *context, unsigned slot, size_t offset, const void *bytes, size_t count);
    /* Returns when everything written is really there. NULL: it always is. */
    int (*sync)(void *context, unsigned slot);
} stepc_storage;

/* Bytes of a slot that the model's checkpoint takes; 0 if they do not fit size_t. */
size_t stepc_checkpoint_bytes(const stepc_model *model, size_t unit);
/* Bytes of work memory that every function below needs; more makes larger reads and writes. It must have the alignment
 * of stepc_max_align. */
size_t stepc_checkpoint_work_bytes(const stepc_model *model, size_t unit);

/* ---- saving and loading ------------------------------------------------------- */

/* Saves all variables and reads them back. Whatever happens, a whole checkpoint that was there before is still there,
 * or its successor is. A slot that cannot be read (flash with error correction, where power was lost) is written again.
 * STEPC_E_ARGUMENT: a slot or the work memory is too small. STEPC_E_IO: a callback failed, or what was read back is not
 * what was written. */
stepc_status stepc_checkpoint_save(const stepc_model *model, const void *state, const stepc_storage *storage,
                                   void *work, size_t work_bytes);

typedef enum stepc_load_outcome {
    STEPC_LOADED,            /* from the checkpoint */
    STEPC_LOAD_MISSING,      /* the checkpoint has no variable of this name */
    STEPC_LOAD_OTHER_DTYPE,  /* it has one of another type */
    STEPC_LOAD_OTHER_SHAPE,  /* or of another shape */
    STEPC_LOAD_UNKNOWN,      /* the model has no such variable; names beginning with "stepc." are not reported */
    STEPC_LOAD_UNWANTED      /* `wants` said no */
} stepc_load_outcome;

typedef struct stepc_load_options {
    void *context;
    int partial; /* not 0: what fits is loaded, the rest stays as it is. 0: STEPC_E_MISMATCH unless everything fits */
    /* Not 0 if the variable is to be loaded; what is not wanted need not fit. NULL: all are. With it, optimizer or
     * named weights start anew: init(), then a load of everything else. */
    int (*wants)(void *context, const stepc_variable_info *variable);
    /* Told once about each variable of the model and each other one of the checkpoint, before the state is touched.
     * `variable` is NULL for STEPC_LOAD_UNKNOWN; `name` may then be cut to what work memory holds. NULL:
     * nobody is told. */
    void (*report)(void *context, stepc_load_outcome outcome, const char *name, const stepc_variable_info *variable);
} stepc_load_options;

/* Loads the newest whole checkpoint; options NULL: everything must fit. On failure the state is as it was, with one
 * exception: STEPC_E_IO or STEPC_E_CORRUPT from storage that gives other bytes when read a second time.
 * STEPC_E_BLANK: every byte of both slots is FF, or 0, as in storage to which nothing was ever written: a device's
 * first start. STEPC_E_CORRUPT: there is no whole checkpoint, but something was written. STEPC_E_IO: there is none that
 * can be read; a first save that was cut leaves this in flash with error correction, and a save mends it.
 * STEPC_E_MISMATCH: it is of another version or model. */
stepc_status stepc_checkpoint_load(const stepc_model *model, void *state, const stepc_storage *storage,
                                   const stepc_load_options *options, void *work, size_t work_bytes);

/* Gives variables the values that they have in another state of the model: with a state fresh from init(), a reset of
 * the optimizer or of named weights. `wants` as above; NULL: all. */
stepc_status stepc_copy_variables(const stepc_model *model, void *state, const void *from, void *context,
                                  int (*wants)(void *context, const stepc_variable_info *variable), void *work,
                                  size_t work_bytes);

/* ---- one slot: for storage of another kind ------------------------------------ */

typedef struct stepc_checkpoint_info {
    uint64_t sequence;
    uint32_t variables;
    size_t end; /* offset of the end mark */
} stepc_checkpoint_info;

/* Is there a whole checkpoint in the slot? STEPC_OK, STEPC_E_BLANK, STEPC_E_CORRUPT, STEPC_E_MISMATCH (another version)
 * or STEPC_E_IO. */
stepc_status stepc_checkpoint_check(const stepc_storage *storage, unsigned slot, stepc_checkpoint_info *info,
                                    void *work, size_t work_bytes);
stepc_status stepc_checkpoint_write_slot(const stepc_model *model, const void *state, const stepc_storage *storage,
                                         unsigned slot, uint64_t sequence, void *work, size_t work_bytes);
stepc_status stepc_checkpoint_read_slot(const stepc_model *model, void *state, const stepc_storage *storage,
                                        unsigned slot, const stepc_load_options *options, void *work,
                                        size_t work_bytes);

/* ---- files (checkpoint_file.c, POSIX) ------------------------------------------ */

/* The file holds one slot. Saving writes a file beside it, under a name of its own, waits until it is on the disk, and
 * renames it: the name stands for the old checkpoint or for the new one, also if several programs save at once. A link
 * stays; what it names is replaced. Devices and pipes are written to. */
stepc_status stepc_checkpoint_save_file(const stepc_model *model, const void *state, const char *path, void *work,
                                        size_t work_bytes);
stepc_status stepc_checkpoint_load_file(const stepc_model *model, void *state, const char *path,
                                        const stepc_load_options *options, void *work, size_t work_bytes);

#ifdef __cplusplus
}
#endif

#endif
