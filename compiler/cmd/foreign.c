#include "cmd/foreign.h"

#include "prepare/known_names.h"
#include "train/combine.h"

bool read_weight_options(struct session *s, const struct options *o, struct weight_options *out)
{
    const str_list renames = option_list(o, "rename");
    bool ok = true;
    *out = (struct weight_options){.transpose = option_list(o, "transpose"), .partial = option_given(o, "partial")};
    vec_each(const char *, pair, &renames) {
        struct weight_rename r;
        if (option_pair(&s->arena, pair, &r.in_model, &r.in_file))
            vec_push(&s->arena, &out->renames, r);
        else
            ok = diag_usage(&s->diag, "--rename %s: expected NAME=NAME", pair);
    }
    return ok;
}

bool read_fill_options(struct session *s, const struct options *o, struct fill_options *out)
{
    const char *const parameters = option_text(o, "parameters");
    long long steps;
    *out = (struct fill_options){.reset = option_list(o, "reset")};
    if (!option_count(o, "steps-made", 0, &steps))
        return false;
    if (option_given(o, "steps-made"))
        out->steps = arena_copy(&s->arena, &(int64_t){steps}, sizeof(int64_t), alignof(int64_t));
    return read_weight_options(s, o, &out->weights) &&
           (!parameters || read_lines(&s->diag, &s->arena, parameters, &out->parameters));
}

bool fill_model(struct session *s, struct model *m, struct checkpoint *c, struct fill_options *fill,
                struct strbuf *report, struct filled *out)
{
    *out = (struct filled){.set.arena = &s->arena};
    fill->sums.arena = &s->arena;
    combine_find_sums(&s->arena, m, &fill->sums);
    return checkpoint_fill(&s->diag, &s->arena, m, c, fill, report, out);
}

bool refuse_nothing(struct session *s, const struct filled *filled, const char *path)
{
    return !filled->nothing ||
           diag_error(&s->diag, &LOC_FILE(path), "it sets nothing in the model: no weight, and nothing that an "
                                                 "optimizer keeps");
}

bool fill_from(struct session *s, const struct options *o, struct model *m, const char *path, struct strbuf *report,
               struct filled *out)
{
    struct fill_options fill;
    struct checkpoint *const c = arena_new(&s->arena, struct checkpoint);
    return read_fill_options(s, o, &fill) && checkpoint_read(&s->diag, &s->arena, path, m, c) &&
           fill_model(s, m, c, &fill, report, out);
}
