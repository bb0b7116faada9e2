/* What is written for the models of the tests in other ways than the usual one.
 *   neighbours_ways FOLDER FILE...: writes FOLDER/NAME.txt for each FILE, NAME.onnxtxt
 *
 * Each model, and an inference model prepared for training as well, is compiled with every option of way.c, and for two
 * machines, which its text chooses: an option, and a hash of the C and of its header, or the errors. Of each there are
 * the reports. Then options that name a tensor get the names of its tensors: what comes of an output, of what is
 * trained, frozen or detached, of a training model in what strip leaves of it. tests/costs has models without options.
 */
#include "base/hash.h"
#include "base/str.h"
#include "change.h"
#include "prepare/outputs.h"
#include "prepare/prepare.h"
#include "prepare/strip.h"
#include "report/report.h"
#include "way.h"

#include <stdlib.h>
#include <string.h>

#define MACHINES 2    /* for each model */
#define PROVISIONAL 4 /* the size of dimensions that have a name only */
#define MOST_NAMES 8  /* of a model, evenly */

struct source {
    const char *file, *text;
};

struct trial {
    struct arena arena;
    struct diag diag;
    struct map none;
    struct way way;
    struct prepare_options training;
    struct model *model;
};

/* false: the model cannot be read. */
static bool begin(struct trial *t, const struct source *s)
{
    *t = (struct trial){.way = way_usual("net")};
    t->diag.arena = t->none.arena = &t->arena;
    struct import_options *const import = &t->way.pipeline.import;
    import->dims = import->shapes = import->bounds = &t->none;
    import->provisional_dim = PROVISIONAL;
    t->training = (struct prepare_options){.loss = LOSS_MSE, .class_axis = 1, .learning_rate = 0.5, .first_step = -1,
                                           .gradients = true, .import = import};
    return model_read_text(&t->diag, &t->arena, s->file, s->text, strlen(s->text), &t->model);
}

static bool train(struct trial *t)
{
    const bool ok = prepare_model(&t->diag, &t->arena, t->model, &t->training, &(struct strbuf){.arena = &t->arena});
    t->diag.messages.count = 0;
    return ok;
}

static void end(struct trial *t)
{
    arena_free(&t->arena);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool tell_way(FILE *out, const struct source *s, bool trained, uint64_t number)
{
    struct trial t;
    const bool ok = begin(&t, s) && (!trained || train(&t));
    if (ok) {
        fprintf(out, "%s%s: ", trained ? "trained, " : "", way_take_option(&t.way, number));
        fflush(out);
        way_print(out, &t.diag, &t.arena, t.model, &t.way);
    }
    end(&t);
    return ok;
}

static void tell_ways(FILE *out, const struct source *s, bool trained)
{
    const uint64_t chosen = hash_bytes(s->text, strlen(s->text)), machines = way_count() - way_option_count();
    bool ok = true;
    for (size_t i = 0; ok && i < way_option_count(); i++)
        ok = tell_way(out, s, trained, i);
    for (uint64_t i = 0; ok && i < MACHINES; i++)
        ok = tell_way(out, s, trained, way_option_count() + (chosen + i * (machines / MACHINES)) % machines);
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static const struct report *report_of(struct trial *t)
{
    struct program *p;
    struct plan **plans;
    struct emitted code;
    struct diag *const d = &t->diag;
    if (!pipeline_canonical(d, &t->arena, t->model, &t->way.pipeline, &p) ||
        !pipeline_plans(d, &t->arena, p, &t->way.pipeline, &plans) ||
        !emit_program(d, &t->arena, p, plans, &t->way.emit, &code))
        return NULL;
    const struct report_code sizes = {.state_bytes = code.state_bytes,
                                      .arena_bytes = code.arena_bytes,
                                      .constant_bytes = code.constant_bytes,
                                      .calls = (const char *const *const *)code.calls,
                                      .options_text = ""};
    return report_gather(&t->arena, p, plans, &sizes);
}

static void tell_reports(FILE *out, const struct source *s, bool trained)
{
    static const char *(*const prints[])(const struct report *) = {report_text, report_json, report_html, report_dot};
    struct trial t;
    const struct report *const r = begin(&t, s) && (!trained || train(&t)) ? report_of(&t) : NULL;
    if (r) {
        fprintf(out, "%sreports: accepted:", trained ? "trained, " : "");
        for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
            const char *const text = prints[i](r);
            fprintf(out, " %016llx", (unsigned long long)hash_bytes(text, strlen(text)));
        }
        fputc('\n', out);
    }
    end(&t);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

enum named { OUTPUT, TRAINED, FROZEN, DETACHED, NAMED };
static const char *const named_options[NAMED] = {"--outputs", "--train", "--freeze", "--detach"};

static void list_names(struct arena *a, const struct model_graph *g, str_list *names)
{
    vec_each(const struct model_value_info *, v, &g->inputs)
        vec_push(a, names, v->name);
    vec_each(const struct model_initializer *, x, &g->initializers)
        vec_push(a, names, x->name);
    vec_each(const struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            vec_push(a, names, name);
}

static void print_graphs(FILE *out, struct trial *t)
{
    struct program *p;
    if (!pipeline_canonical(&t->diag, &t->arena, t->model, &t->way.pipeline, &p))
        return;
    vec_each_ptr(const struct entry, e, &p->entries) {
        const char *const text = graph_print(&t->arena, e->graph);
        fprintf(out, " %016llx", (unsigned long long)hash_bytes(text, strlen(text)));
    }
}

static void tell_name(FILE *out, const struct source *s, enum named kind, const char *name)
{
    struct trial t;
    str_list list = {0};
    if (begin(&t, s)) {
        vec_push(&t.arena, &list, name);
        if (kind != OUTPUT && t.model->training.count > 0)
            strip_model(&t.diag, t.model, &(struct strbuf){.arena = &t.arena});
        t.training.train = kind == TRAINED ? list : t.training.train;
        t.training.freeze = kind == FROZEN ? list : t.training.freeze;
        t.training.detach = kind == DETACHED ? list : t.training.detach;
        const bool ok = kind == OUTPUT ? keep_outputs(&t.diag, &t.arena, t.model, &list)
                                       : prepare_model(&t.diag, &t.arena, t.model, &t.training,
                                                       &(struct strbuf){.arena = &t.arena});
        fprintf(out, "%s %s: %s:", named_options[kind], name, ok ? "accepted" : "refused");
        if (ok)
            print_graphs(out, &t);
        fputc('\n', out);
        print_messages(out, &t.diag);
    }
    end(&t);
}

static void tell_names(FILE *out, const struct source *s)
{
    struct trial t;
    str_list names = {0};
    if (begin(&t, s))
        list_names(&t.arena, t.model->graph, &names);
    const size_t step = names.count > MOST_NAMES ? names.count / MOST_NAMES : 1;
    for (int kind = 0; kind < NAMED; kind++)
        for (size_t i = 0; i < names.count; i += step)
            tell_name(out, s, (enum named)kind, names.data[i]);
    end(&t);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool tell_file(FILE *out, const char *name, const char *content, const void *none)
{
    const struct source s = {name, content};
    (void)none;
    for (int trained = 0; trained < 2; trained++) {
        tell_ways(out, &s, trained);
        tell_reports(out, &s, trained);
    }
    tell_names(out, &s);
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: neighbours_ways FOLDER FILE...\n");
        return 2;
    }
    return write_files(argv[1], argv + 2, tell_file, NULL) ? EXIT_SUCCESS : EXIT_FAILURE;
}
