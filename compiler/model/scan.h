/* A look over the bytes of a protobuf message before protobuf-c unpacks them: after it, unpacking neither recurses
 * deeply nor takes memory out of proportion to the file, and what is wrong has been said with its place. Trusted: the
 * descriptor. Not trusted: every byte of the message. */
#ifndef STEPC_MODEL_SCAN_H
#define STEPC_MODEL_SCAN_H

#include "base/diag.h"
#include <protobuf-c/protobuf-c.h>

#define SCAN_MAX_DEPTH 100  /* nested messages; protobuf's own limit */
#define SCAN_MAX_MERGES 100 /* second and later occurrences of a singular message, in the whole file */

/* What unpacking and the model made of it may take: a fixed part and a multiple of the file's size. A packed int64 of
 * one byte becomes 8 bytes twice (unpacked, tensor): honest files need the factor 16. A repeated empty message takes 2
 * bytes in the file and hundreds in memory: the fixed part bounds what small files can do with that. */
#define SCAN_MEMORY_FIXED ((size_t)150 << 20)
#define SCAN_MEMORY_FACTOR 16

/* Checks that bytes[0..size) is a well-formed message of the given kind: tags and wire types, lengths within what holds
 * them, varints, packed lists, depth, estimated memory. Unknown fields are checked for their frame only. Reports the
 * first error. */
bool scan_message(struct diag *d, const struct loc *at, const ProtobufCMessageDescriptor *kind,
                  const unsigned char *bytes, size_t size) MUST_USE;

#endif
