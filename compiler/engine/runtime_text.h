/* The runtime's header as text, made by the build from runtime/stepc.h: generated code is compiled against it anywhere. */
#ifndef STEPC_ENGINE_RUNTIME_TEXT_H
#define STEPC_ENGINE_RUNTIME_TEXT_H

extern const char runtime_stepc_h[];

#endif
