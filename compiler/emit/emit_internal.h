/* What the files of emit/ share; included nowhere else. */
#ifndef STEPC_EMIT_EMIT_INTERNAL_H
#define STEPC_EMIT_EMIT_INTERNAL_H

#include "base/words.h"
#include "emit/emit.h"
#include "emit/names.h"
#include "emit/number.h"
#include "emit/writer.h"
#include "lower/state_layout.h"
#include "tree/equal.h"
#include "tree/template.h"
#include "tune/tune.h"

/* An emitted kernel function; equal ones are shared. */
struct kernel_function {
    const char *name;
    VEC(const char *) comments; /* one per kernel that uses it, and if these are many: */
    VEC(const char *) served;   /* which node each of them is, */
    const char *operators;      /* what it does there, */
    int kernels;                /* how many they are */
    const char *text;           /* those that it calls, "" for none, */
    const char *definition;     /* and itself */
    struct tree_function *tree; /* what is called */
    /* the same functions as trees, in the order of their text */
    VEC(const struct tree_function *) functions;
};

/* Kernels that are equal but for the memory that they are given (kernel_key.c). */
struct kernel_group {
    const struct plan *plan; /* of the first one, */
    const struct kernel *kernel;
    struct kernel_trees *trees; /* and its functions */
    struct kernel_class *class;
    const struct expr **sizes; /* what it gives for those of the class */
    const uint64_t *words; /* its key */
    size_t word_count;
    struct kernel_group *next; /* of the same hash */
    int kernels;
    const char **names; /* by parameter: the model's name, or what all names have in common, or NULL */
    bool is_shared;     /* some are not the same for all */
};

/* Groups that share a function (kernel_class.c). */
struct kernel_class {
    VEC(struct kernel_group *) groups;
    struct kernel_group *first; /* whose kernel the functions are made of */
    struct kernel_class *next;  /* of the same hash */
    struct kernel_trees *trees;
    const char **names; /* by parameter of these: what all names have in common, or NULL */
    bool is_shared;     /* some are not the same for all */
    tree_vars sizes;    /* parameters for what differs, and what constant i of the key is (NULL: itself) */
    const struct expr **values;
    struct kernel_function *function; /* once it is made */
};

/* A kernel as numbers (kernel_key.c). */
struct kernel_key {
    struct arena *arena;
    word_list words;
    VEC(const struct buffer *) buffers; /* by their numbers in the key */
    VEC(const struct expr *) nodes;     /* the same of expressions */
    bool is_partial;                    /* something has no number: the key says nothing */
};

/* The block of random numbers that a loop nest is in, for a node that draws. */
struct kept_block {
    const struct expr *draw;
    struct tree_var *numbers, *block;
};

struct region_function;

/* A place in the arena with a name in the header. */
struct arena_mark {
    const char *name, *member; /* DIGITS_STEP_HIDDEN_AT, floats */
    const struct entry *entry;
    size_t at; /* in elements of the member */
    const char *const *about; /* what lies there and until when, once the entry is whole */
};

struct emission {
    struct arena *arena;
    struct diag *diag;
    const struct program *program;
    struct plan *const *plans;
    const struct emit_options *options;
    const char *name, *upper; /* prefix, PREFIX */
    const char *stem;         /* of the two files */
    struct name_scope file;   /* file-level identifiers */
    const char **member;      /* state member of each variable, by index */
    struct map helpers;       /* elementary functions used, by name (values unused) */
    struct map includes;      /* headers of kernels used, "kernels/stepc_tile.h" (values unused) */
    struct map shared_pieces; /* functions that several template kernels may use: name -> text */
    VEC(struct kernel_function *) functions;
    struct map checks;        /* text of a check -> its function */
    struct map keyed;         /* hash of a key -> struct kernel_group * */
    VEC(const struct plan *) all_plans; /* of the entries, and of regions in them */
    VEC(const char *) plan_entries;     /* by place there: the name of the entry */
    VEC(struct region_function *) regions; /* what is known of each (region.c) */
    struct kernel_group ***groups; /* [place in all_plans][kernel's id] */
    VEC(struct kernel_group *) group_list;
    VEC(struct kernel_class *) classes;
    struct kernel_key key;    /* of the kernel at hand */
    struct map updates;       /* how optimizers make variables -> the function that says it (formula.c) */
    struct map param_names;   /* of the model, which kernels may give to parameters (values unused) */
    struct map constants;     /* hash of the content -> struct constant */
    VEC(struct constant *) constant_list; /* in the order in which they are first named */
    struct weights_file {     /* weights.c */
        enum emit_weights kind; /* as the options say, or as the size does */
        struct weights_image *image;
        struct map places;    /* dtype and digest of the content -> where it is */
        struct strbuf layout; /* names and offsets: what the mark has a hash of */
        bool *entries;        /* by entry: it reads the file */
        struct map of_model;  /* places in memory of the model's initializers */
    } weights;
    size_t constant_bytes, largest_constant;
    VEC(const struct tree_function *) trees; /* what is emitted */
    struct entry_parts {
        VEC(const struct tree_function *) functions; /* that the entry is cut into */
    } *entry_parts;                                  /* [entry] */
    struct writer entries_text;
    struct tree_function **entry_functions; /* [entry] */
    unsigned arena_members;   /* bit i: some temporary lies in array i of arena_members (arena_map.c) */
    VEC(struct arena_mark) arena_marks;
    struct name_scope arena_names; /* of these */
    const char ***input_names, ***output_names; /* [entry][i] */
    const char **count_names; /* [entry]: the member of its inputs that says which count of the range it is */
    bool has_shares;          /* some kernel is cut into shares */
    bool has_blas;            /* some kernel calls a BLAS */
    /* Of the kernel at hand: */
    VEC(uint32_t) kernel_counters;  /* what the parameters counter, counter_2 ... stand for */
    tree_vars counter_vars;         /* these */
    struct tree_var *seed_var;
    struct tree_var *count_var;     /* how many of the program's range there are; NULL: nothing depends on it */
    bool kernel_is_shared;
    tree_vars kernel_outer;         /* variables of the kernel that functions of its templates may name */
    struct template_instance instance; /* these functions, and what they use */
    VEC(int) instance_stages;       /* by function: of which stage, 0: there are none */
    VEC(struct kept_block) kernel_draws; /* of the kernel at hand: nodes of which it keeps a block of numbers */
    bool random_state;        /* the state carries seed and counters: an entry other than init draws */
    const char ***calls;       /* see struct emitted */
    uint64_t build_id;         /* what stands in both files: a hash of the header, which names model and options */
    struct writer c, h;
};

/* ---- expressions (expr_text.c) ----------------------------------------------------------------------------------- */

/* One parameter of a kernel function. */
struct kernel_param {
    struct buffer *buffer;
    const struct buffer *replaces; /* what is read there before the buffer takes its place, or NULL */
    const char *name;
    bool written, by_value, is_scratch;
    bool is_local; /* no parameter: a variable that the body declares */
    struct tree_var *var; /* made when it is first asked for: param_var() */
};
typedef VEC(struct kernel_param) kernel_params;

/* A kernel as functions. */
struct kernel_trees {
    /* Those of its template, the kernel or a share of it, and what runs its shares: the last one is called. */
    VEC(struct tree_function *) functions;
    VEC(int) stages; /* by function of a template: of which stage, 0: there are none */
    bool has_shares;
    kernel_params params;
    const struct tree_var *seed, *count; /* NULL: not read */
    tree_vars counters;
    VEC(uint32_t) counter_numbers; /* which counters of the program these are */
    struct tree_key key;
};

struct expr_local { /* a value that was computed into a named local */
    const struct expr *expr;
    const struct tree_var *var;
};

/* How the names of one place in a kernel read. */
struct expr_scope {
    struct emission *e;
    struct arena *arena;
    const kernel_params *params;
    const struct expr *index[LOOP_MAX_DIMS]; /* of each loop, in a tree; NULL: 0 */
    const struct expr *result;               /* the same of EXPR_RESULT */
    VEC(struct expr_local) locals;
    const char *index_type; /* of loop variables: see kernel_index_type() */
    bool in_template;
    bool keeps_blocks;      /* random numbers are drawn a block at a time */
    bool knows_model;       /* the kernel stands for itself: locals may be called by the model's values */
    bool in_loop;           /* many elements are computed alike */
    bool selects_by_bits;   /* selects between floats are calls of stepc_select() */
    bool in_long_function;  /* what is resolved belongs to the argument of an elementary function */
    bool marks_breaks;      /* blanks at which a line may end are LINE_MAY_BREAK: see tree_text.c */
    bool divides_wide;      /* quotients by roots are calls of QUOTIENT */
    int shares;             /* > 1: the kernel is cut into so many */
    const struct tree_var *share; /* the number of the one to compute; NULL: all is computed */
    const struct tree_var *pass;  /* the same of the pass, for kernels that take several */
};

/* C text with the precedence of at least `precedence` (PREC_*). */
enum {
    PREC_NONE = 0,
    PREC_SELECT = 3,
    PREC_EITHER = 4,
    PREC_BOTH = 5,
    PREC_BITS = 6,
    PREC_EQUAL = 9,
    PREC_LESS = 10,
    PREC_ADD = 12,
    PREC_MUL = 13,
    PREC_UNARY = 15,
    PREC_PRIMARY = 16
};
#define LINE_MAY_BREAK '\v'
const char *tree_expr_text(struct expr_scope *s, const struct expr *e, int precedence);
/* Where a kernel of these parameters is resolved and printed. */
struct expr_scope scope_for(struct emission *e, const kernel_params *params);
/* Text converted for storing into an element of its dtype (bool from a condition). */
const char *tree_stored_text(struct expr_scope *s, const struct expr *e);
/* What the expression of a kernel is in a tree, at this place. */
const struct expr *expr_resolve(struct expr_scope *s, const struct expr *e);
const struct expr *access_element(struct expr_scope *s, const struct access *a);
const struct tree_var *param_var(const struct expr_scope *s, const struct buffer *b);
struct kernel_param *find_param(const struct expr_scope *s, const struct buffer *b);
/* What a local wishes to be called that holds the value of x, among `count` that are declared together
 * (value_names.c). */
const char *value_wish(const struct expr_scope *s, const struct expr *x, const struct expr *const *all, size_t count);
/* The same of a local for what is stored there. */
const char *store_wish(const struct expr_scope *s, const struct store *to);
/* A local of the kernel goes by the name of the variable that holds its value; false: it is none that stays, or the
 * local has a name. */
bool takes_name_of(const struct expr_scope *s, const struct buffer *local, const struct expr *value);
/* Declares locals for what several of the expressions (or several places of one) share, and for what is loaded in a
 * branch of a select; the expressions then read them. The array is rewritten to expressions in which equal parts are
 * one. */
void expr_hoist(struct expr_scope *s, struct tree_builder *b, const struct expr **e, size_t count);
/* Declares, at the builder's place, what a kernel keeps of the blocks of random numbers that it draws from. */
void declare_kept_blocks(struct emission *e, struct tree_builder *b);
/* The functions of runtime/stepc_math.h and of the headers beside it that an operation of a tree is: of what it gives,
 * or of what `inner` gives; NULL: it is C's own (needs.c). */
struct op_helpers {
    const char *name, *inner;
};
struct op_helpers op_helpers(struct arena *a, const struct expr *e);
/* Does it call the function of the runtime of this name? */
bool tree_calls_helper(struct arena *a, const struct tree_function *f, const char *helper);
/* Notes the headers and helpers that the function needs. */
void note_needs(struct emission *e, const struct tree_function *f);
/* "float", "int64_t" ... as the emitted C spells a dtype */
const char *c_type(enum dtype d);
/* Does C spell it otherwise? Floats of 16 bits and less, bool and small integers lie in memory as others. */
bool dtype_is_hidden(struct arena *a, enum dtype d);

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* All stores of a part at the current point (values first, then writes). */
void emit_stores(struct expr_scope *s, struct tree_builder *b, const struct part *p);
/* A loop nest with its reduction (kernel_loops.c), inside `rows` loops whose indices the scope has, and what is
 * summed in the same walk of the parts that follow; returns how many parts that is, of `count`. */
size_t emit_loops(struct expr_scope *s, struct tree_builder *b, const struct part *parts, size_t count, int rows);
/* How often the loops from number `from` on run, together. */
int64_t part_iterations(const struct part *p, int from);
/* Opens a loop of `to` iterations, at most `extent`, or what share number `share` has of them; returns its variable. */
const struct expr *emit_open_loop(struct tree_builder *b, const char *type, const char *name, int64_t extent,
                                  const struct expr *to, const struct tree_var *share, int shares);
/* What a size is when the kernel at hand runs; `constant` where it does not depend on the program's range. */
const struct expr *late_size(const struct emission *e, const struct late_size *s, int64_t constant);
/* Opens the loops that all parts of a kernel share, from number `from` on; returns how many are to be closed. */
int emit_open_rows(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, int from);
/* Statements as lines (tree_text.c). */
void print_statements(struct expr_scope *s, struct writer *w, const stmt_list *list);
/* Functions as C: their comments, heads and bodies (tree_text.c). */
void print_function(struct expr_scope *s, struct writer *w, const struct tree_function *f);
const char *function_text(struct expr_scope *s, const struct tree_function *f);
/* A function that stands by itself, and a blank line; emit.c has it. */
void write_tree(struct emission *e, struct writer *w, struct tree_function *f);
/* A parameter `void *name` of such a function. */
struct tree_var *untyped_var(struct arena *a, const char *name, bool written);
/* "static void f(const float *x)", and what follows on the line. */
void print_head(struct arena *a, struct writer *w, const struct tree_function *f, const char *after);
/* What the call names. */
const char *called_name(const struct tree_call *c);
/* The comment of a function of the template of kernel k, with the names that are there; NULL: it says nothing. */
const char *template_comment(struct arena *a, const struct tree_function *f, const struct kernel *k,
                             const kernel_params *params);
/* The body of a template kernel; functions that it calls go to the emission's `instance` (kernel_template.c). */
void emit_template_body(struct expr_scope *s, struct tree_builder *b, const struct kernel *k);
/* Where a stage of a kernel stands: the scope has the loops' indices, the last of which is the block's first row. */
struct block_place {
    int stage;                        /* 1 ..: part of the names of its functions */
    const struct expr *skip, *before; /* how many of its rows were in the block before; how many in all of them */
};
/* The first so many of the loops around a template's body, or around stages; returns how many are to be closed. */
int open_outer(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, int count);
/* All stages, block by block (kernel_stages.c). */
void emit_stages(struct expr_scope *s, struct tree_builder *b, const struct kernel *k);
void emit_template_stage(struct expr_scope *s, struct tree_builder *b, const struct kernel *k,
                         const struct block_place *place);
/* Notes a variable of the kernel's body that functions of its templates may name. */
void note_outer(struct emission *e, const struct expr *read);
/* The parts of a kernel of loops, one after the other, inside so many loops that are open. */
void emit_parts(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, int open);
/* Functions of the kernel's template, which may stand in the file as they are called there. */
void reserve_template_functions(struct emission *e, const struct kernel *k);
/* Copies a constant. GCC 12 for AVX-512 writes wrong code for memcpy() of a short constant that it sees: {1, 1, 1,
 * 1, 1, 1, 0, 0} becomes ones. */
#define COPY_CONSTANT "copy_constant"
/* What divides by a root where large vectors wait for the divider (runtime/stepc_math.h). */
#define QUOTIENT "stepc_quotientf"
/* No operators, brackets or blanks? */
bool text_is_word(const char *text);

/* Finds or makes the function of a kernel (kernel.c); what the entry calls. Checks of the
 * kernel become functions of their own. */
struct call_argument {
    const struct buffer *buffer;
    bool by_value; /* its element, not a pointer to it */
};
struct kernel_call {
    const char *name;   /* "product_nt_relu_32x32x64"; NULL for checks alone */
    struct tree_function *function;
    const char *status; /* of a check: its function returns this or STEPC_OK */
    VEC(struct call_argument) arguments;
    bool takes_arena;       /* the arena follows, if so; */
    bool draws;             /* the seed, if so, */
    VEC(uint32_t) counters; /* the values of these counters of the program, */
    bool takes_count;       /* and how many of the program's range there are */
    VEC(const struct expr *) sizes; /* and these */
    VEC(struct kernel_call) checks;
};
struct kernel_call emit_kernel(struct emission *e, const struct plan *plan, const struct kernel *k);
/* The same of a check of the kernel (kernel_checks.c). */
struct kernel_call check_call(struct emission *e, const struct kernel *k, const struct check *c);
/* How many of the program's range there are, as a parameter. */
struct tree_var *make_count_var(struct emission *e, const char *index_type);
/* The same of a kernel that runs a region: a function with the loop over its steps (region.c). */
struct kernel_call emit_region(struct emission *e, const struct kernel *k);
/* A function of the file, which stands with f. */
void note_tree(struct emission *e, struct kernel_function *f, const struct tree_function *tree);
/* What is wrong with a tree is a mistake of whoever built it: found in tests and debug builds. */
void verify_function(struct emission *e, const char *label, const struct tree_function *f);
/* The same of an entry, whose state is given, and of its parts. */
void check_entry(struct emission *e, const struct tree_function *f, const struct tree_var *state);
/* What stands above the function of kernels (kernel.c). */
void write_kernel_comments(struct emission *e, struct writer *w, const struct kernel_function *f);
/* Which nodes a kernel came from; beside a formula, those that the model has names for. */
const char *nodes_text(struct emission *e, const struct kernel *k, bool has_formula);
/* The plans of the emission, in a stable order: before any kernel is emitted. */
void list_plans(struct emission *e);
/* The name of the entry that a plan is for, or stands in. */
const char *entry_of_plan(const struct emission *e, const struct plan *plan);
/* The parameters of a kernel, with names by what it does with them: y what it writes, w what it updates in place, x
 * what it reads, s a scalar; operands of templates keep the template's names. */
kernel_params find_params(struct emission *e, const struct kernel *k);
/* Finds out which kernels are equal; before any is emitted. */
void group_kernels(struct emission *e);
void classify_kernels(struct emission *e); /* then */
/* Which constants of functions may be parameters. */
enum tree_sizes sizes_of(const struct emission *e);
/* The functions of a kernel, without names. */
struct kernel_trees *build_kernel(struct emission *e, const struct kernel *k, const kernel_params *params);
/* Gives names to all in them, and comments. */
void finish_kernel(struct emission *e, const struct kernel *k, struct kernel_trees *trees);
/* Which parameter of its kernels is that of the class's functions; more than there are: none, it is not read. */
size_t group_param(const struct kernel_group *g, size_t param);
/* Which variable of the class's functions is that parameter of its kernels, or NULL. */
const struct tree_var *class_var(const struct kernel_group *g, size_t param);
/* Which counter of the program is the class's counter. */
uint32_t group_counter(const struct kernel_group *g, size_t at);
/* What memory of the kernel itself is called; NULL: it is none. */
const char *own_name(const struct kernel *k, const struct buffer *b);
struct kernel_group *group_of(const struct emission *e, const struct plan *plan, const struct kernel *k);
/* "hidden[32,32] = Relu(..); ..", a formula for each result, or NULL where one has none (formula.c). `updates` knows
 * which function said first how variables are made; one of its calls may say all of it again. */
const char *formulas_text(struct arena *a, const struct kernel *k, const struct graph *g,
                          const struct buffer *const *results, size_t count, const char *function,
                          struct map *updates);
/* The value that is in the buffer at the end of the entry, or NULL. */
const struct value *value_of_buffer(const struct graph *g, const struct buffer *b);
/* Its shape for comments: "[32,10]", "[batch,10]". */
const char *buffer_shape_text(struct arena *a, const struct graph *g, const struct buffer *b);

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* keeps what entries call their temporaries from being file-level names */
void reserve_temporaries(struct emission *e);
void reserve_prefix_macros(const struct emission *e, struct name_scope *names); /* DIGITS_H and the like */
const char *name_of_local(const struct emission *e, const char *wish); /* name_mangle(), and none of these */
void reserve_written_functions(struct name_scope *names); /* copy_constant() and the like */
/* What functions call the arena. */
struct tree_var *arena_var(struct emission *e);
/* Where the buffer lies in the arena: arena->floats + 12. The same by a name in the header, DIGITS_STEP_WISH_AT, or
 * .._SCRATCH_AT for what only the kernel of that name uses; *about says what it is, when the header is written. */
const struct expr *arena_place(struct emission *e, const struct tree_var *arena, const struct buffer *b);
const struct expr *arena_named_place(struct emission *e, const struct tree_var *arena, const struct entry *entry,
                                     const char *wish, bool is_scratch, const struct buffer *b,
                                     const char *const *about);
void write_arena_members(struct emission *e, size_t bytes); /* in the header */
void write_arena_map(struct emission *e);
/* writes entries_text; runs first: it finds kernels and constants */
void section_entries(struct emission *e);
void section_header(struct emission *e);  /* the whole .h file */
void section_runtime(struct emission *e); /* part of it */
void write_origin(struct emission *e, struct writer *w, const char *ending); /* the first lines of either file */
void section_arithmetic(struct emission *e); /* what the C compiler's numbers must be: for the preprocessor */
void section_data(struct emission *e);    /* constants and initial values */
void section_includes(struct emission *e); /* register tiles and elementary functions */
/* "kernels/stepc_levels.h": an #include of it, or with --standalone its text. */
void write_runtime_header(struct emission *e, const char *name);
/* With --dispatch, else nothing: what stands around sections. */
void levels_begin(struct emission *e); /* before constants, which all levels share */
void levels_include(struct emission *e); /* behind them: the levels above the first */
void levels_choose(struct emission *e); /* behind the entries */
void levels_end(struct emission *e);    /* behind all */
const char *helper_with_double(const struct emission *e); /* an elementary function that is used, or NULL */
const struct double_user *find_double_user(struct emission *e);
/* Is the text without vectors, so that it says nothing about vectors? (machine.c) */
bool emits_plain(const struct emit_options *o);
/* What shape passes are told of the machine. */
struct tune emit_machine(const struct emission *e);
void section_model(struct emission *e);

/* Which entry of the program it is. */
int entry_index(const struct emission *e, const struct entry *entry);
/* Is its state not const? */
bool entry_mutates(const struct entry *entry);
/* Gives names to the inputs and outputs of all entries: before anybody asks for one. */
void name_entry_arguments(struct emission *e);
/* "stepc_status digits_step(digits_state *state, ...)", and what follows on the line. */
void write_entry_head(struct emission *e, struct writer *w, const struct entry *entry, const char *after);
const char *counter_member(const struct emission *e, size_t i); /* member of the state: counter i of the program */
/* Has the entry a struct of inputs? */
bool has_inputs(const struct emission *e, const struct entry *entry);
/* The member of it that says how many of the program's range there are. */
const char *count_name(const struct emission *e, const struct entry *entry);
const char *input_name(struct emission *e, const struct entry *entry, size_t i);  /* member of the inputs struct */
const char *output_name(struct emission *e, const struct entry *entry, size_t i);

/* A file-level name for something of the model's: none that a kernel may give to a parameter or local. */
const char *file_name(struct emission *e, const char *wish);
/* Name of the const array that holds a tensor (made on first use). */
const char *constant_array(struct emission *e, const struct tensor *t, const char *wish);
/* Is the tensor one for the weights file? */
bool weights_has(const struct emission *e, const struct tensor *t);         /* a constant */
bool weights_has_initial(const struct emission *e, const struct tensor *t); /* of a variable */
/* Where it lies there. */
struct weights_place {
    const char *name; /* of a pointer to its elements */
    size_t at;        /* in elements of its type */
};
const struct weights_place *weights_place(struct emission *e, const struct tensor *t, bool by_columns,
                                          const char *wish);
/* Does the entry take the file's content as an input? */
bool weights_is_input(const struct emission *e, const struct entry *entry);
const char *weights_expression(const struct emission *e); /* its address, as entries write it */
const struct tree_var *weights_var(struct emission *e, const struct tree_var *in); /* its bytes */
void weights_begin(struct emission *e);
void weights_write(struct emission *e);     /* part of section_data() */
void weights_describe(struct emission *e);  /* in the header */
void weights_finish(struct emission *e, struct emitted *out);
/* Bytes of a member and its alignment in the state; offsets are the C compiler's. */
size_t emission_state_bytes(const struct emission *e);
size_t emission_arena_bytes(const struct emission *e);
/* "a string literal", quotes included. */
const char *c_string(struct arena *a, const char *s);
/* Whose header STEM.h would hide from those who compile; NULL: nobody's. */
const char *header_hidden(const char *stem);
/* Has the runtime a source STEM.c, whose object a build would mix up with that of a STEM.c of ours? */
bool is_runtime_source(const char *stem);
/* "[32][64]", "" for a scalar. */
const char *dims_text(struct arena *a, const struct shape *s);

#endif
