/* stepc convert IN OUT: one form of a model into another; weights out of a model, checkpoints into it. */
#include "base/clean.h"
#include "cmd/files.h"
#include "cmd/foreign.h"

#include "base/str.h"
#include "model/model.h"
#include "model/weights.h"
#include "prepare/tidy.h"
#include <stdio.h>

static const struct option_spec specs[] = {
    {"lossy", 0, OPTION_FLAG, NULL, "write .onnxtxt even where it cannot hold everything"},
    {"model", 0, OPTION_TEXT, "MODEL",
     "the model that the weights of IN go into; OUT is a copy of it with them"},
    {"rename", 0, OPTION_LIST, "NAME=NAME",
     "name of a tensor in the model = name in OUT, or in the weights file; 'encoder.*=bert.encoder.*' for many"},
    {"sort", 0, OPTION_FLAG, NULL, "nodes of the model stand behind those whose results they read"},
    {"no-value-info", 0, OPTION_FLAG, NULL, "leave out the declared types of inner values, which may be wrong"},
    {"transpose", 0, OPTION_LIST, "GLOB", "matrices that stand transposed in the weights file, square ones too"},
    FOREIGN_PARAMETERS,
    FOREIGN_STEPS,
    {"partial", 0, OPTION_FLAG, NULL,
     "weights that are missing or do not fit are warnings, and what the model has stays"},
    {0}};
static const struct option_spec *const tables[] = {specs, NULL};

static bool is_model_file(const char *path)
{
    return str_ends_with(path, ".onnx") || str_ends_with(path, ".onnxtxt");
}

static bool is_weight_file(const char *path)
{
    return str_ends_with(path, ".safetensors");
}

/* IN alone may be another framework's checkpoint. */
static bool is_checkpoint(const char *path)
{
    return !is_model_file(path) && (str_ends_with(path, ".bin") || checkpoint_is_one(path));
}

static bool check_arguments(const struct options *o)
{
    if (o->arguments.count != 2) {
        say_text("stepc convert: expected IN and OUT, got %zu arguments\nTry 'stepc help convert'.\n",
                 o->arguments.count);
        return false;
    }
    const char *const in = o->arguments.data[0], *const out = o->arguments.data[1];
    vec_each(const char *, path, &o->arguments)
        if (!is_model_file(path) && !is_weight_file(path) && !(path == in && is_checkpoint(path))) {
            say_text("stepc convert: '%s': a model's file name ends in .onnx or .onnxtxt, "
                     "that of weights in .safetensors%s\n",
                     path, path == in ? "; no checkpoint of a framework is there" : "");
            return false;
        }
    if (is_checkpoint(in) && is_weight_file(out)) {
        say_text("stepc convert: IN or OUT must be a model\n");
        return false;
    }
    static const char *const of_models[] = {"sort", "no-value-info"}, *const of_checkpoints[] = {"parameters",
                                                                                                 "steps-made"};
    for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++)
        if (option_given(o, of_models[i]) && (is_checkpoint(in) || is_weight_file(out))) {
            say_text("stepc convert: --%s is for models\n", of_models[i]);
            return false;
        }
    for (size_t i = 0; i < sizeof of_checkpoints / sizeof *of_checkpoints; i++)
        if (option_given(o, of_checkpoints[i]) && !option_given(o, "model")) {
            say_text("stepc convert: --%s belongs to --model\n", of_checkpoints[i]);
            return false;
        }
    if (is_checkpoint(in) != option_given(o, "model")) {
        say_text(is_checkpoint(in) ? "stepc convert: --model MODEL says which model the weights go into\n"
                                    : "stepc convert: --model belongs to IN.safetensors\n");
        return false;
    }
    return true;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static bool write_model(struct session *s, const struct options *o, const struct model *m, const char *out)
{
    return str_ends_with(out, ".onnxtxt") ? model_write_text(&s->diag, m, out, option_given(o, "lossy"))
                                          : model_write(&s->diag, m, out);
}

/* weights: the file of them that is read too, or NULL. A model may be edited in place: OUT.onnx is IN or --model. */
static bool check_files(struct session *s, const struct options *o, const char *path, const struct model *m,
                        const char *weights, const char *out)
{
    named_files read = {0}, written = {0};
    files_read(&s->arena, o, path, m, is_model_file(out) ? "out" : NULL, &read);
    if (weights)
        files_add(&s->arena, &read, "the weights", weights);
    vec_push(&s->arena, &written, ((struct named_file){.text = out, .path = out, .option = "out"}));
    return files_check(&s->diag, &read, &written);
}

static bool weights_out(struct session *s, const struct options *o, const struct weight_options *w, const char *in,
                        const char *out)
{
    struct model *m;
    named_tensors list = {0};
    if (!model_read(&s->diag, &s->arena, in, &m) || !check_files(s, o, in, m, NULL, out))
        return false;
    struct weight_options own;
    weights_as_noted(&s->arena, m, false, w, &own);
    weights_list(&s->arena, m, &own, &list);
    if (list.count == 0)
        return diag_error(&s->diag, &LOC_FILE(in), "the model has no floating-point initializer");
    return safetensors_write(&s->diag, out, &list);
}

static bool weights_in(struct session *s, const struct options *o, const char *in, const char *out)
{
    struct model *m;
    struct filled filled;
    struct strbuf report = {.arena = &s->arena, .clean = true};
    const char *const model = option_text(o, "model");
    if (!model_read(&s->diag, &s->arena, model, &m) || !check_files(s, o, model, m, in, out) ||
        !fill_from(s, o, m, in, &report, &filled) || !refuse_nothing(s, &filled, in) ||
        !check_files(s, o, model, m, in, out) || !write_model(s, o, m, out))
        return false;
    print_lines(strbuf_text(&report));
    return true;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static bool convert(struct session *s, const struct options *o)
{
    const char *const in = o->arguments.data[0], *const out = o->arguments.data[1];
    struct weight_options w;
    struct model *m;
    if (!read_weight_options(s, o, &w))
        return false;
    if (is_weight_file(out))
        return weights_out(s, o, &w, in, out);
    if (is_checkpoint(in))
        return weights_in(s, o, in, out);
    if (!model_read(&s->diag, &s->arena, in, &m) || !check_files(s, o, in, m, NULL, out) ||
        (option_given(o, "sort") && !sort_nodes(&s->diag, m)) || !rename_tensors(&s->diag, &s->arena, m, &w))
        return false;
    if (option_given(o, "no-value-info"))
        drop_value_infos(m);
    return write_model(s, o, m, out);
}

static int run(struct session *s, const struct options *o)
{
    if (!check_arguments(o))
        return EXIT_USAGE;
    return exit_status(convert(s, o));
}

const struct command command_convert = {
    .name = "convert",
    .arguments = "IN OUT [options]",
    .summary = "rewrite a model: .onnx <-> .onnxtxt (text); its weights: <-> .safetensors, <- .pt, .npz, folders",
    .example = "stepc convert digits_train.onnx digits_train.onnxtxt",
    .options = tables,
    .notes =
        "The extensions of IN and OUT say what they are. External data is brought inside. Converting there and back "
        "gives\n"
        "an equal model. What the text syntax has no place for is refused, with a list; with --lossy\n"
        "  left out         doc strings of graphs, nodes, values and attributes; metadata_props of all but the model;\n"
        "                   quantization annotations; denotations; value types without element type\n"
        "  made dense       sparse initializers, the sparse value of a Constant\n"
        "  made spaces      control characters in strings, other than line ends and tabs\n"
        "  made plain       NaN with a payload\n"
        "Refused always, since anything else would be another model: other sparse attributes, names with control\n"
        "characters, operators, domains, overloads and attributes named by no identifier, nesting deeper than 32.\n\n"
        "Weights: MODEL to OUT.safetensors writes all floating-point initializers. IN to OUT.onnx with --model MODEL "
        "sets\n"
        "them by name. Types are converted; a matrix that fits only transposed is transposed, and this is said. "
        "Everything\n"
        "that is missing or does not fit is listed, and then nothing is written. IN is .safetensors, a file of "
        "torch.save\n"
        "(.pt, .pth, .bin), .npz, a folder of Hugging Face's, a checkpoint of TensorFlow (its prefix or folder, a "
        "SavedModel)\n"
        "or of flax (.msgpack). What an optimizer kept, its step count and learning rate go into the variables of a "
        "training\n"
        "model (docs/checkpoints-of-frameworks.md).\n",
    .run = run,
};
