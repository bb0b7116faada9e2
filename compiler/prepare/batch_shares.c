/* --devices N: ONNX's annotations of data parallel training (docs/devices.md). What is stated here are the inputs with
 * samples, in N parts along the axis of the batch, and with --shards the sums of gradients that each share of the
 * update reads; all else follows. */
#include "prepare/prepare_internal.h"

#include "devices/devices.h"
#include "model/check_model.h"
#include "prepare/strip.h"

/* Once: an algorithm may have an input that is called like one of the main graph. */
static void add_part(struct preparer *p, struct devices_annotation *what, struct model_graph *g, const char *tensor,
                     int axis)
{
    vec_each_ptr(const struct devices_part, x, &what->parts)
        if (x->graph == g && str_equal(x->tensor, tensor))
            return;
    vec_push(p->arena, &what->parts, ((struct devices_part){g, tensor, axis, -1}));
}

/* The first input on which the loss depends, and where its batch is; NULL: there is none. */
static const struct model_value_info *first_batch(const struct preparer *p, int *axis)
{
    vec_each(const struct model_value_info *, vi, &p->model->graph->inputs) {
        *axis = batch_dim_of_input(p, vi->name, true);
        if (dim_of_input(vi, *axis) && !model_find_initializer(p->model->graph, vi->name) &&
            map_has(&p->ancestors, vi->name))
            return vi;
    }
    return NULL;
}

const char *count_samples(struct preparer *p, enum dtype dtype)
{
    int axis;
    const struct model_value_info *const vi = first_batch(p, &axis);
    if (!vi)
        return NULL;
    const char *const shape = add_op(p, "samples.shape", "Shape", vi->name);
    const char *const size = add_op(p, "samples.int64", "Gather", shape, add_int(p, "samples.axis", axis));
    return add_cast(p, "samples", size, dtype);
}

/* An input of the main graph is read there and in algorithms; the batch is that of the first one on which the loss
 * depends. */
static bool add_main_inputs(struct preparer *p, struct devices_annotation *what, struct model_dim *batch)
{
    struct model_graph *const g = p->model->graph;
    int axis;
    const struct model_value_info *const first = first_batch(p, &axis);
    if (!first)
        return diag_error(p->diag, &p->loc, "--devices: the loss depends on no input with samples");
    *batch = *dim_of_input(first, axis);
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        axis = batch_dim_of_input(p, vi->name, true);
        const struct model_dim *const dim = dim_of_input(vi, axis);
        if (!dim || model_find_initializer(g, vi->name) || !same_dim(dim, batch))
            continue;
        add_part(p, what, g, vi->name, axis);
        vec_each(const struct model_training *, t, &p->model->training)
            add_part(p, what, t->algorithm, vi->name, axis);
    }
    return true;
}

static void add_own_inputs(struct preparer *p, struct devices_annotation *what, const struct model_dim *batch)
{
    vec_each(const struct model_training *, t, &p->model->training)
        for (size_t i = 0; t->algorithm && i < t->algorithm->inputs.count; i++) {
            const struct model_value_info *const vi = t->algorithm->inputs.data[i];
            const int axis = batch_dim_of_input(p, vi->name, false);
            const struct model_dim *const dim = dim_of_input(vi, axis);
            if (dim && same_dim(dim, batch))
                add_part(p, what, t->algorithm, vi->name, axis);
        }
}

/* Shard s of the update is device s modulo N, as runtime/mpi has it; its entries stand behind accumulate. */
static void add_shards(struct preparer *p, struct devices_annotation *what)
{
    for (size_t s = 0; s < p->shard_count; s++)
        vec_each_ptr(const struct trainable, t, &p->trainables)
            vec_push(p->arena, &what->parts,
                     ((struct devices_part){p->model->training.data[1 + s]->algorithm, t->sum, 0,
                                            (int64_t)s % what->devices}));
}

bool annotate_devices(struct preparer *p)
{
    struct devices_annotation what = {.configuration = "data_parallel", .devices = p->options->devices};
    struct import_options import = p->options->import ? *p->options->import : (struct import_options){0};
    struct model_dim batch = {.value = -1, .param = ""};
    model_drop_stale_devices(p->diag, p->model);
    if (!model_check_devices(p->diag, p->model))
        return false;
    if (what.devices > MOST_DEVICES)
        return diag_error(p->diag, &p->loc, "--devices %lld: at most %d", (long long)what.devices, MOST_DEVICES);
    if (!add_main_inputs(p, &what, &batch))
        return false;
    if (batch.value >= 0 && batch.value % what.devices != 0)
        return diag_error(p->diag, &p->loc, "--devices %lld: the batch is %lld, which is no multiple",
                          (long long)what.devices, (long long)batch.value);
    add_own_inputs(p, &what, &batch);
    add_shards(p, &what);
    vec_each_ptr(const struct model_devices, x, &p->model->configurations)
        if (str_equal(x->name, what.configuration))
            return diag_error(p->diag, &p->loc, "--devices: the model has a device configuration '%s' already",
                              what.configuration);
    strip_remember_devices(p->arena, p->model, what.configuration);
    import.provisional_dim = 2 * what.devices;
    if (!devices_annotate(p->diag, p->arena, p->model, &what, &import))
        return false;
    say(p, "devices: %lld, in configuration 'data_parallel'; each has its share of the samples and all weights",
        (long long)what.devices);
    return true;
}
