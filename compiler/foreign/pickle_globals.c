/* The globals that a checkpoint needs, and what calling one means here. The list is closed. */
#include "foreign/pickle_internal.h"

#include "base/checked.h"
#include "base/str.h"

#include <string.h>

typedef bool call_rule(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out);

static call_rule call_dict, call_list, call_same, call_opaque, call_method, call_rebuild, call_rebuild_typed,
    call_parameter, call_with_type, call_encode;

/* Without a rule: it may be mentioned, not called. dtype: of a storage, or what torch.float32 stands for. */
static const struct global {
    const char *module, *name;
    call_rule *call;
    enum dtype dtype;
    bool is_storage;
} globals[] = {
    {"collections", "OrderedDict", .call = call_dict},
    {"collections", "defaultdict", .call = call_dict},
    {"collections", "Counter", .call = call_dict},
    {"builtins", "dict", .call = call_dict},
    {"__builtin__", "dict", .call = call_dict},
    {"builtins", "list", .call = call_list},
    {"__builtin__", "list", .call = call_list},
    {"builtins", "set", .call = call_list},
    {"__builtin__", "set", .call = call_list},
    {"builtins", "frozenset", .call = call_list},
    {"__builtin__", "frozenset", .call = call_list},
    {"builtins", "int", .call = NULL},
    {"__builtin__", "int", .call = NULL},
    {"builtins", "float", .call = NULL},
    {"__builtin__", "float", .call = NULL},
    {"torch", "Size", .call = call_same},
    {"torch", "device", .call = call_opaque},
    {"torch", "Tensor", .call = NULL},
    {"torch.nn.parameter", "Parameter", .call = NULL},
    {"torch._utils", "_rebuild_tensor", .call = call_rebuild},
    {"torch._utils", "_rebuild_tensor_v2", .call = call_rebuild},
    {"torch._utils", "_rebuild_tensor_v3", .call = call_rebuild_typed},
    {"torch._utils", "_rebuild_parameter", .call = call_parameter},
    {"torch._utils", "_rebuild_parameter_with_state", .call = call_parameter},
    {"torch._tensor", "_rebuild_from_type_v2", .call = call_with_type},
    {"torch", "DoubleStorage", .dtype = DTYPE_DOUBLE, .is_storage = true},
    {"torch", "FloatStorage", .dtype = DTYPE_FLOAT, .is_storage = true},
    {"torch", "HalfStorage", .dtype = DTYPE_FLOAT16, .is_storage = true},
    {"torch", "BFloat16Storage", .dtype = DTYPE_BFLOAT16, .is_storage = true},
    {"torch", "LongStorage", .dtype = DTYPE_INT64, .is_storage = true},
    {"torch", "IntStorage", .dtype = DTYPE_INT32, .is_storage = true},
    {"torch", "ShortStorage", .dtype = DTYPE_INT16, .is_storage = true},
    {"torch", "CharStorage", .dtype = DTYPE_INT8, .is_storage = true},
    {"torch", "ByteStorage", .dtype = DTYPE_UINT8, .is_storage = true},
    {"torch", "BoolStorage", .dtype = DTYPE_BOOL, .is_storage = true},
    {"torch", "ComplexFloatStorage", .dtype = DTYPE_COMPLEX64, .is_storage = true},
    {"torch", "ComplexDoubleStorage", .dtype = DTYPE_COMPLEX128, .is_storage = true},
    {"torch", "UntypedStorage", .is_storage = true},
    {"torch.storage", "UntypedStorage", .is_storage = true},
    {"torch.storage", "_UntypedStorage", .is_storage = true},
    {"torch", "float64", .dtype = DTYPE_DOUBLE},
    {"torch", "float32", .dtype = DTYPE_FLOAT},
    {"torch", "float16", .dtype = DTYPE_FLOAT16},
    {"torch", "bfloat16", .dtype = DTYPE_BFLOAT16},
    {"torch", "int64", .dtype = DTYPE_INT64},
    {"torch", "int32", .dtype = DTYPE_INT32},
    {"torch", "int16", .dtype = DTYPE_INT16},
    {"torch", "int8", .dtype = DTYPE_INT8},
    {"torch", "uint64", .dtype = DTYPE_UINT64},
    {"torch", "uint32", .dtype = DTYPE_UINT32},
    {"torch", "uint16", .dtype = DTYPE_UINT16},
    {"torch", "uint8", .dtype = DTYPE_UINT8},
    {"torch", "bool", .dtype = DTYPE_BOOL},
    {"torch", "complex64", .dtype = DTYPE_COMPLEX64},
    {"torch", "complex128", .dtype = DTYPE_COMPLEX128},
    {"torch", "float8_e4m3fn", .dtype = DTYPE_FLOAT8E4M3FN},
    {"torch", "float8_e4m3fnuz", .dtype = DTYPE_FLOAT8E4M3FNUZ},
    {"torch", "float8_e5m2", .dtype = DTYPE_FLOAT8E5M2},
    {"torch", "float8_e5m2fnuz", .dtype = DTYPE_FLOAT8E5M2FNUZ},
    /* what many checkpoints hold beside: it is passed over */
    {"argparse", "Namespace", .call = call_opaque},
    {"types", "SimpleNamespace", .call = call_opaque},
    {"pathlib", "Path", .call = call_opaque},
    {"pathlib", "PosixPath", .call = call_opaque},
    {"pathlib", "WindowsPath", .call = call_opaque},
    {"pathlib", "PurePath", .call = call_opaque},
    {"pathlib", "PurePosixPath", .call = call_opaque},
    {"pathlib", "PureWindowsPath", .call = call_opaque},
    {"pathlib._local", "Path", .call = call_opaque}, /* Python 3.13 */
    {"pathlib._local", "PosixPath", .call = call_opaque},
    {"pathlib._local", "WindowsPath", .call = call_opaque},
    {"pathlib._local", "PurePath", .call = call_opaque},
    {"pathlib._local", "PurePosixPath", .call = call_opaque},
    {"pathlib._local", "PureWindowsPath", .call = call_opaque},
    {"datetime", "date", .call = call_opaque},
    {"datetime", "time", .call = call_opaque},
    {"datetime", "datetime", .call = call_opaque},
    {"datetime", "timedelta", .call = call_opaque},
    {"datetime", "timezone", .call = call_opaque},
    {"uuid", "UUID", .call = call_opaque},
    {"uuid", "SafeUUID", .call = call_opaque},
    {"decimal", "Decimal", .call = call_opaque},
    {"fractions", "Fraction", .call = call_opaque},
    {"collections", "deque", .call = call_opaque},
    {"builtins", "complex", .call = call_opaque},
    {"__builtin__", "complex", .call = call_opaque},
    {"builtins", "range", .call = call_opaque},
    {"__builtin__", "xrange", .call = call_opaque},
    {"builtins", "slice", .call = call_opaque},
    {"__builtin__", "slice", .call = call_opaque},
    {"builtins", "bytearray", .call = call_opaque},
    {"__builtin__", "bytearray", .call = call_opaque},
    {"torch.torch_version", "TorchVersion", .call = call_opaque},
    /* schedules hold their optimizer, OneCycleLR (until PyTorch 2) and SWALR a method */
    {"builtins", "getattr", .call = call_method},
    {"__builtin__", "getattr", .call = call_method},
    {"torch.optim.lr_scheduler", "StepLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "MultiStepLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "ExponentialLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "CosineAnnealingLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "CosineAnnealingWarmRestarts", .call = call_opaque},
    {"torch.optim.lr_scheduler", "ConstantLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "LinearLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "PolynomialLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "LambdaLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "MultiplicativeLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "SequentialLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "ChainedScheduler", .call = call_opaque},
    {"torch.optim.lr_scheduler", "CyclicLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "OneCycleLR", .call = call_opaque},
    {"torch.optim.lr_scheduler", "ReduceLROnPlateau", .call = call_opaque},
    {"torch.optim.swa_utils", "SWALR", .call = call_opaque},
    {"torch.optim.adadelta", "Adadelta", .call = call_opaque},
    {"torch.optim.adagrad", "Adagrad", .call = call_opaque},
    {"torch.optim.adam", "Adam", .call = call_opaque},
    {"torch.optim.adamax", "Adamax", .call = call_opaque},
    {"torch.optim.adamw", "AdamW", .call = call_opaque},
    {"torch.optim.asgd", "ASGD", .call = call_opaque},
    {"torch.optim.lbfgs", "LBFGS", .call = call_opaque},
    {"torch.optim.nadam", "NAdam", .call = call_opaque},
    {"torch.optim.radam", "RAdam", .call = call_opaque},
    {"torch.optim.rmsprop", "RMSprop", .call = call_opaque},
    {"torch.optim.rprop", "Rprop", .call = call_opaque},
    {"torch.optim.sgd", "SGD", .call = call_opaque},
    {"torch.optim.sparse_adam", "SparseAdam", .call = call_opaque},
    {"_codecs", "encode", .call = call_encode},
    {"numpy", "dtype", .call = call_opaque},
    {"numpy", "ndarray", .call = NULL},
    {"numpy.core.multiarray", "scalar", .call = call_opaque},
    {"numpy.core.multiarray", "_reconstruct", .call = call_opaque},
    {"numpy._core.multiarray", "scalar", .call = call_opaque},
    {"numpy._core.multiarray", "_reconstruct", .call = call_opaque},
};
enum { GLOBALS = sizeof globals / sizeof *globals, MOST_KEY = 64 /* PyTorch's are numbers */ };

const char *pickle_global_name(struct arena *a, size_t global)
{
    return arena_printf(a, "%s.%s", globals[global].module, globals[global].name);
}

bool pickle_find_global(struct pickler *p, const char *module, const char *name, size_t *out)
{
    for (size_t i = 0; i < GLOBALS; i++)
        if (str_equal(globals[i].module, module) && str_equal(globals[i].name, name)) {
            *out = i;
            return true;
        }
    pickle_report(p, "%s.%s is not among the globals that a checkpoint needs", module, name);
    diag_note(p->diag, &p->loc,
              "nothing of the file was executed; torch.save(net.state_dict(), FILE), or of a dict "
              "{'model': net.state_dict(), 'optimizer': optimizer.state_dict()}, needs none but these");
    return false;
}

bool pickle_call(struct pickler *p, const struct pickle_value *callee, const struct pickle_value *arguments,
                 struct pickle_value **out)
{
    if (arguments->kind != PICKLE_TUPLE)
        return pickle_fault(p, "the arguments of a call are %s", pickle_describe(p->arena, arguments));
    if (callee->kind != PICKLE_GLOBAL || !globals[callee->global].call)
        return pickle_fault(p, "%s cannot be called", pickle_describe(p->arena, callee));
    return globals[callee->global].call(p, arguments, out);
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

static size_t count_of(const struct pickle_value *v)
{
    return v->items->count;
}

static const struct pickle_value *item(const struct pickle_value *v, size_t i)
{
    return v->items->data[i];
}

static bool is_sequence(const struct pickle_value *v)
{
    return v->kind == PICKLE_LIST || v->kind == PICKLE_TUPLE;
}

/* OrderedDict(), defaultdict(type), Counter(dict). What would copy its argument could copy it often, and is refused. */
static bool call_dict(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    *out = pickle_new_items(p, PICKLE_DICT);
    if (count_of(arguments) > 1)
        return pickle_fault(p, "a dict is made of %zu arguments", count_of(arguments));
    const struct pickle_value *const from = count_of(arguments) > 0 ? item(arguments, 0) : NULL;
    if (!from || from->kind == PICKLE_GLOBAL || from->kind == PICKLE_NONE)
        return true;
    if (from->kind == PICKLE_DICT) {
        (*out)->items = from->items; /* shared: no copy, however often it is asked for */
        return true;
    }
    return pickle_fault(p, "a dict is made of %s", pickle_describe(p->arena, from));
}

/* list(), set([...]): the elements of the argument, which is shared. */
static bool call_list(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    *out = pickle_new_items(p, PICKLE_LIST);
    if (count_of(arguments) > 1 || (count_of(arguments) == 1 && !is_sequence(item(arguments, 0))))
        return pickle_fault(p, "a list is made of what is none");
    if (count_of(arguments) == 1)
        (*out)->items = item(arguments, 0)->items;
    return true;
}

/* torch.Size((2, 3)) */
static bool call_same(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    if (count_of(arguments) != 1 || !is_sequence(item(arguments, 0)))
        return pickle_fault(p, "a torch.Size is made of what is no list");
    *out = pickle_new(p, PICKLE_TUPLE);
    (*out)->items = item(arguments, 0)->items;
    return true;
}

static bool call_opaque(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    (void)arguments;
    *out = pickle_new(p, PICKLE_OPAQUE);
    (*out)->text = "an object";
    return true;
}

/* An object of which nothing is looked at, or what makes such. */
static bool is_passed_over(const struct pickle_value *v)
{
    return v->kind == PICKLE_OPAQUE || (v->kind == PICKLE_GLOBAL && globals[v->global].call == call_opaque);
}

/* getattr(object, "_annealing_cos"): the name of a method. */
static bool call_method(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    if (count_of(arguments) != 2 || !is_passed_over(item(arguments, 0)) || item(arguments, 1)->kind != PICKLE_TEXT)
        return pickle_fault(p, "an attribute of what is no object");
    *out = pickle_new(p, PICKLE_OPAQUE);
    (*out)->method = item(arguments, 1)->text;
    (*out)->text = arena_printf(p->arena, "the method '%.40s'", (*out)->method);
    return true;
}

/* How protocol 2 spells bytes. */
static bool call_encode(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    (void)arguments;
    *out = pickle_new(p, PICKLE_BYTES);
    return true;
}

/* ---- storages and tensors ---------------------------------------------------------------------------------------- */

bool pickle_load_storage(struct pickler *p, const struct pickle_value *id, struct pickle_value **out)
{
    if (id->kind != PICKLE_TUPLE || count_of(id) < 5 || item(id, 0)->kind != PICKLE_TEXT ||
        !str_equal(item(id, 0)->text, "storage") || item(id, 1)->kind != PICKLE_GLOBAL ||
        !globals[item(id, 1)->global].is_storage || item(id, 2)->kind != PICKLE_TEXT || item(id, 4)->kind != PICKLE_INT)
        return pickle_fault(p, "%s stands in the place of a storage", pickle_describe(p->arena, id));
    struct pickle_storage *const s = arena_new(p->arena, struct pickle_storage);
    *s = (struct pickle_storage){item(id, 2)->text, globals[item(id, 1)->global].dtype, item(id, 4)->i};
    if (strlen(s->key) > MOST_KEY)
        return pickle_fault(p, "the name of a storage has %zu letters", strlen(s->key));
    if (s->count < 0)
        return pickle_fault(p, "storage '%s' has %lld elements", s->key, (long long)s->count);
    *out = pickle_new(p, PICKLE_STORAGE);
    (*out)->storage = s;
    return true;
}

static bool find_sizes(struct pickler *p, const struct pickle_value *sizes, const struct pickle_value *strides,
                       struct pickle_tensor *t)
{
    if (!is_sequence(sizes) || !is_sequence(strides) || count_of(sizes) != count_of(strides))
        return pickle_fault(p, "a tensor's sizes and strides are no two lists of one length");
    if (count_of(sizes) > SHAPE_MAX_RANK)
        return pickle_fault(p, "a tensor has rank %zu; at most %d can be read", count_of(sizes), SHAPE_MAX_RANK);
    t->shape.rank = (int)count_of(sizes);
    for (int i = 0; i < t->shape.rank; i++) {
        const struct pickle_value *const size = item(sizes, (size_t)i), *const stride = item(strides, (size_t)i);
        if (size->kind != PICKLE_INT || stride->kind != PICKLE_INT || size->i < 0 || stride->i < 0)
            return pickle_fault(p, "size %s and stride %s of a tensor", pickle_describe(p->arena, size),
                                pickle_describe(p->arena, stride));
        t->shape.dim[i] = size->i;
        t->stride[i] = stride->i;
    }
    return true;
}

/* The last element lies in the storage, too, and there are not more of them than it has: one that repeats the elements
 * of its storage (a stride of 0) could be of any size. */
static bool check_extent(struct pickler *p, const struct pickle_tensor *t)
{
    int64_t count, last = t->offset, elements = t->storage->count;
    if (t->storage->dtype == DTYPE_UNDEFINED)
        elements /= (int64_t)dtype_size(t->dtype);
    if (!shape_count_checked(&t->shape, &count))
        return pickle_fault(p, "a tensor of shape %s is too large", shape_text(p->arena, &t->shape));
    for (int i = 0; i < t->shape.rank && count > 0; i++) {
        int64_t way;
        if (!checked_mul(t->shape.dim[i] - 1, t->stride[i], &way) || !checked_add(last, way, &last))
            return pickle_fault(p, "a tensor reaches beyond its storage '%s'", t->storage->key);
    }
    if (t->offset < 0 || (count > 0 && last >= elements))
        return pickle_fault(p, "a tensor of shape %s at element %lld reaches beyond the %lld of its storage '%s'",
                            shape_text(p->arena, &t->shape), (long long)t->offset, (long long)elements,
                            t->storage->key);
    if (count > elements)
        return pickle_fault(p,
                            "a tensor of shape %s repeats the %lld elements of its storage '%s': save a copy "
                            "(.contiguous())",
                            shape_text(p->arena, &t->shape), (long long)elements, t->storage->key);
    return true;
}

/* (storage, offset, sizes, strides, ...) */
static bool make_tensor(struct pickler *p, const struct pickle_value *arguments, enum dtype dtype,
                        struct pickle_value **out)
{
    struct pickle_tensor *const t = arena_new(p->arena, struct pickle_tensor);
    if (count_of(arguments) < 4 || item(arguments, 0)->kind != PICKLE_STORAGE || item(arguments, 1)->kind != PICKLE_INT)
        return pickle_fault(p, "a tensor is not made of storage, offset, sizes and strides");
    t->storage = item(arguments, 0)->storage;
    t->offset = item(arguments, 1)->i;
    t->dtype = t->storage->dtype != DTYPE_UNDEFINED ? t->storage->dtype : dtype;
    if (t->dtype == DTYPE_UNDEFINED || dtype_size(t->dtype) == 0)
        return pickle_fault(p, "a tensor of storage '%s' has no type", t->storage->key);
    if (!find_sizes(p, item(arguments, 2), item(arguments, 3), t) || !check_extent(p, t))
        return false;
    vec_push(p->arena, p->tensors, t);
    *out = pickle_new(p, PICKLE_TENSOR);
    (*out)->tensor = t;
    return true;
}

static bool call_rebuild(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    return make_tensor(p, arguments, DTYPE_UNDEFINED, out);
}

/* v3: (storage, offset, sizes, strides, requires_grad, hooks, dtype, ...), its storage counts bytes. */
static bool call_rebuild_typed(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    const struct pickle_value *const type = count_of(arguments) > 6 ? item(arguments, 6) : NULL;
    if (!type || type->kind != PICKLE_GLOBAL || globals[type->global].is_storage ||
        globals[type->global].dtype == DTYPE_UNDEFINED)
        return pickle_fault(p, "a tensor's type is none");
    return make_tensor(p, arguments, globals[type->global].dtype, out);
}

/* (data, requires_grad, hooks, ...): the data. */
static bool call_parameter(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    if (count_of(arguments) < 1 || item(arguments, 0)->kind != PICKLE_TENSOR)
        return pickle_fault(p, "a parameter is made of what is no tensor");
    *out = pickle_new(p, PICKLE_TENSOR);
    (*out)->tensor = item(arguments, 0)->tensor;
    return true;
}

/* (function, type, arguments, state): a tensor with attributes. */
static bool call_with_type(struct pickler *p, const struct pickle_value *arguments, struct pickle_value **out)
{
    const struct pickle_value *const callee = count_of(arguments) == 4 ? item(arguments, 0) : NULL;
    if (!callee || callee->kind != PICKLE_GLOBAL ||
        (globals[callee->global].call != call_rebuild && globals[callee->global].call != call_rebuild_typed))
        return pickle_fault(p, "a tensor with attributes is made of what is no tensor");
    return pickle_call(p, callee, item(arguments, 2), out);
}
