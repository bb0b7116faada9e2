/* Included before everything else when an emitted model is compiled for `--profile`: the hook between kernels. */
#ifndef STEPC_BENCH_TRACE_H
#define STEPC_BENCH_TRACE_H

void bench_trace(int kernel, const char *name);
#define STEPC_TRACE(kernel, name) bench_trace((kernel), (name))

#endif
