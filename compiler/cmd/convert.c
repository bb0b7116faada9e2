/* stepc convert IN OUT: one form of a model into another. */
#include "cmd/cmd.h"

#include "base/str.h"
#include "model/model.h"
#include <stdio.h>

static const struct option_spec specs[] = {
    {"lossy", 0, OPTION_FLAG, NULL, "write .onnxtxt even where it cannot hold everything"}, {0}};
static const struct option_spec *const tables[] = {specs, NULL};

static bool is_model_file(const char *path)
{
    return str_ends_with(path, ".onnx") || str_ends_with(path, ".onnxtxt");
}

static bool usage_error(const char *path)
{
    if (str_ends_with(path, ".safetensors"))
        fprintf(stderr,
                "stepc convert: '%s': weights in .safetensors are not supported by this version; models are .onnx or "
                ".onnxtxt\n",
                path);
    else
        fprintf(stderr, "stepc convert: '%s': a model's file name ends in .onnx or .onnxtxt\n", path);
    return false;
}

static bool check_arguments(const struct options *o)
{
    if (o->arguments.count != 2) {
        fprintf(stderr, "stepc convert: expected IN and OUT, got %zu argument%s\nTry 'stepc help convert'.\n",
                o->arguments.count, o->arguments.count == 1 ? "" : "s");
        return false;
    }
    for (size_t i = 0; i < 2; i++)
        if (!is_model_file(o->arguments.data[i]))
            return usage_error(o->arguments.data[i]);
    return true;
}

static bool convert(struct session *s, const char *in, const char *out, bool lossy)
{
    struct model *m;
    if (!model_read(&s->diag, &s->arena, in, &m))
        return false;
    return str_ends_with(out, ".onnxtxt") ? model_write_text(&s->diag, m, out, lossy) : model_write(&s->diag, m, out);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o) || !check_arguments(&o))
        return EXIT_USAGE;
    return session_end(&s, convert(&s, o.arguments.data[0], o.arguments.data[1], option_given(&o, "lossy")));
}

const struct command command_convert = {
    .name = "convert",
    .arguments = "IN OUT [--lossy]",
    .summary = "rewrite a model: .onnx <-> .onnxtxt (text with @training_info)",
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
        "characters, operators, domains, overloads and attributes named by no identifier, nesting deeper than 32.\n",
    .run = run,
};
