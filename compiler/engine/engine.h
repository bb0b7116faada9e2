/* One way to run a model for both answers: the interpreter, and the generated C compiled with the user's
 * compiler and loaded. */
#ifndef STEPC_ENGINE_ENGINE_H
#define STEPC_ENGINE_ENGINE_H

#include "engine/pipeline.h"
#include "eval/eval.h"

enum engine_kind { ENGINE_INTERPRETED, ENGINE_GENERATED };

struct engine_options {
    enum engine_kind kind;
    /* of the interpreter: DOUBLE runs the graph before simplification, SAME the canonical one */
    enum arithmetic arithmetic;
    bool reproducible;          /* of generated code: contraction off */
    const char *cc;             /* compiler and flags; NULL: $CC or cc, with -O2 */
    bool native;                /* and with -march=native, where neither says flags and the compiler knows it */
    struct pipeline_options pipeline;
};

struct engine;

/* Prepares everything: imports, and for generated code compiles and loads. */
bool engine_open(struct diag *d, struct arena *a, const struct model *m, const struct engine_options *o,
                 struct engine **out) MUST_USE;
/* The same for a program at hand (canonical, for generated code). */
bool engine_open_program(struct diag *d, struct arena *a, struct program *p, const struct engine_options *o,
                         struct engine **out) MUST_USE;
/* Has this machine room for each of the program's tensors, as the interpreter holds them? What has none is reported. */
bool engine_fits_memory(struct diag *d, struct arena *a, const struct program *p) MUST_USE;
/* Unloads and removes temporary files. */
void engine_close(struct engine *e);

const struct program *engine_program(const struct engine *e);
/* init() with a seed. */
bool engine_init(struct engine *e, uint64_t seed) MUST_USE;
/* Runs an entry: inputs in the graph's order (dtype and shape must fit: reported), outputs one per
 * graph output in `a`. */
bool engine_run(struct engine *e, const struct entry *entry, const struct tensor *const *inputs,
                struct tensor **outputs, struct arena *a) MUST_USE;
/* The same, but generated code is given NULL for outputs that are not wanted, and an arena that says nothing. What is
 * in outputs that are not wanted says nothing either. */
bool engine_run_some(struct engine *e, const struct entry *entry, const struct tensor *const *inputs,
                     const bool *wanted, struct tensor **outputs, struct arena *a) MUST_USE;
/* The program for as many samples as these inputs have, where it has a range: of one size, else as it is. */
bool engine_program_for(struct engine *e, const struct entry *entry, const struct tensor *const *inputs,
                        struct program **out) MUST_USE;
/* The content of a variable (in `a`), and setting it. */
struct tensor *engine_read(struct engine *e, const struct variable *v, struct arena *a);
void engine_write(struct engine *e, const struct variable *v, const struct tensor *t);
/* Seed and counters of random numbers (program->counters), for saving. */
uint64_t engine_seed(const struct engine *e);
void engine_set_seed(struct engine *e, uint64_t seed);
/* Unless an entry but init draws (emit/emit.h), the counters say nothing: 0. */
uint64_t engine_counter(const struct engine *e, size_t counter);
void engine_set_counter(struct engine *e, size_t counter, uint64_t x);
/* What the counter is called in emitted code and in checkpoints; where there is only one, "stepc.random_counter". */
const char *engine_counter_name(struct arena *a, const struct program *p, size_t counter);

#endif
