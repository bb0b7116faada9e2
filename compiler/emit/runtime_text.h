/* The runtime as text, made by the build from runtime/: generated code is compiled against it anywhere, and
 * --standalone puts it into the emitted header. */
#ifndef STEPC_EMIT_RUNTIME_TEXT_H
#define STEPC_EMIT_RUNTIME_TEXT_H

extern const char runtime_stepc_h[], runtime_stepc_c[], runtime_stepc_blas_h[];

#endif
