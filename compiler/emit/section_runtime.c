/* How an emitted header gets the runtime: by #include, or with --standalone as text. There its functions are static,
 * and guards of its own keep it single where several such headers meet, or one meets the stepc.h of another model. */
#include "emit/emit_internal.h"
#include "emit/runtime_text.h"

#include "base/str.h"
#include "stepc.h"

void section_runtime(struct emission *e)
{
    struct strbuf *const h = &e->h.text;
    const struct runtime_file *source = runtime_files;
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
    while (!str_equal(source->name, "stepc.c"))
        source++;
    for (const struct runtime_piece *p = source->pieces; p->include;) /* behind that of its own header */
        strbuf_add(h, (++p)->text);
    strbuf_addf(h,
                "#endif\n\n"
                "#if STEPC_ABI != %u\n"
                "#error \"a header before this one has the runtime of another version of stepc\"\n"
                "#endif\n\n"
                "/* ======== the model ======== */\n\n",
                STEPC_ABI);
}
