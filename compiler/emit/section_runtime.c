/* How an emitted header gets the runtime: by #include, or with --standalone as text. There its functions are static,
 * and guards of its own keep it single where several such headers meet, or one meets the stepc.h of another model. */
#include "emit/emit_internal.h"
#include "emit/runtime_text.h"

#include "base/str.h"
#include "stepc.h"

/* The source behind the #include of its own header, which stands above it already. */
static void write_source(struct writer *h)
{
    const struct runtime_file *f = runtime_files;
    while (!str_equal(f->name, "stepc.c"))
        f++;
    for (const struct runtime_piece *p = f->pieces; p->include;)
        strbuf_add(&h->text, (++p)->text);
}

void section_runtime(struct emission *e)
{
    struct strbuf *const h = &e->h.text;
    if (!e->options->standalone) {
        strbuf_add(h, "#include \"stepc.h\"\n\n");
        return;
    }
    strbuf_addf(h,
                "/* ======== the runtime, which this header brings along ======== */\n\n"
                "#ifndef STEPC_H\n"
                "#define STEPC_STANDALONE\n"
                "#endif\n"
                "%s\n"
                "#if defined(STEPC_STANDALONE) && !defined(STEPC_STANDALONE_FUNCTIONS)\n"
                "#define STEPC_STANDALONE_FUNCTIONS\n",
                runtime_stepc_h);
    write_source(&e->h);
    strbuf_addf(h,
                "#endif\n\n"
                "#if STEPC_ABI != %u\n"
                "#error \"a header before this one has the runtime of another version of stepc\"\n"
                "#endif\n\n"
                "/* ======== the model ======== */\n\n",
                STEPC_ABI);
}
