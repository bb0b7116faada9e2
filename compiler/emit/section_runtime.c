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
    struct writer *h = &e->h;
    if (!e->options->standalone) {
        write_line(h, "#include \"stepc.h\"");
        write_blank(h);
        return;
    }
    write_line(h, "/* ======== the runtime, which this header brings along ======== */");
    write_blank(h);
    write_line(h, "#ifndef STEPC_H");
    write_line(h, "#define STEPC_STANDALONE");
    write_line(h, "#endif");
    strbuf_add(&h->text, runtime_stepc_h);
    write_blank(h);
    write_line(h, "#if defined(STEPC_STANDALONE) && !defined(STEPC_STANDALONE_FUNCTIONS)");
    write_line(h, "#define STEPC_STANDALONE_FUNCTIONS");
    write_source(h);
    write_line(h, "#endif");
    write_blank(h);
    write_line(h, "#if STEPC_ABI != %u", STEPC_ABI);
    write_line(h, "#error \"a header before this one has the runtime of another version of stepc\"");
    write_line(h, "#endif");
    write_blank(h);
    write_line(h, "/* ======== the model ======== */");
    write_blank(h);
}
