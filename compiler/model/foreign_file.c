/* Files that people take for models: what they are, and what to do. Known by how they begin. */
#include "model/model_internal.h"

#include "base/str.h"
#include <ctype.h>
#include <string.h>

enum { TEXT_LEAST = 16 }; /* fewer bytes say nothing */

#define EXPORT "torch.onnx.export(model, example, \"model.onnx\") writes an ONNX file"

/* What a file begins with, and at which byte. */
static const struct {
    size_t at, length;
    const char *bytes, *what;
} beginnings[] = {
    {0, 4, "PK\x03\x04",
     "a zip archive, as torch.save and Keras write them: 'stepc convert FILE.pt OUT.onnx --model MODEL' puts a "
     "checkpoint into a model; " EXPORT},
    {0, 4, "PK\x05\x06", "an empty zip archive"},
    {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes; tf2onnx converts Keras models"},
    {0, 6, "\x93NUMPY", "a NumPy array; arrays go to --feed and --data"},
    {0, 2, "\x1f\x8b", "compressed by gzip: unpack it first"},
    {0, 6, "\xfd" "7zXZ\0", "compressed by xz: unpack it first"},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"},
    {0, 3, "BZh", "compressed by bzip2: unpack it first"},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it first"},
    {0, 4, "GGUF", "a GGUF file, weights for llama.cpp; export the model from the framework that trained it"},
    {0, 4, "\x7f" "ELF", "an executable"},
    {0, 19, "version https://git", "a Git LFS pointer, in the place of the file: 'git lfs pull' fetches it"},
    {257, 5, "ustar", "a tar archive: unpack it first"},
};

static bool begins_text(const unsigned char *bytes, size_t size, const char *word)
{
    size_t i = 0;
    while (i < size && isspace(bytes[i]))
        i++;
    size_t k = 0;
    while (word[k] && i + k < size && tolower(bytes[i + k]) == word[k])
        k++;
    return word[k] == '\0';
}

static uint64_t little_endian(const unsigned char *bytes, int count)
{
    uint64_t x = 0;
    for (int i = 0; i < count; i++)
        x |= (uint64_t)bytes[i] << (8 * i);
    return x;
}

/* FlatBuffers: where the root is, then four letters. */
static bool is_flatbuffer(const unsigned char *bytes, size_t size, const char *letters)
{
    return size >= 8 && memcmp(bytes + 4, letters, 4) == 0 && little_endian(bytes, 4) < 4096;
}

/* "\x80", a protocol from 2 to 5, then what torch.save and pickle write. */
static bool is_pickle(const unsigned char *bytes, size_t size)
{
    return size >= 4 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

/* The length of a header, then the header, which is JSON. */
static bool is_safetensors(const unsigned char *bytes, size_t size)
{
    return size >= 10 && bytes[8] == '{' && (bytes[9] == '"' || bytes[9] == '}' || isspace(bytes[9])) &&
           little_endian(bytes, 8) < (uint64_t)1 << 32;
}

static bool is_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == 0x7f || (bytes[i] < 0x20 && !isspace(bytes[i])))
            return false;
    return size >= TEXT_LEAST;
}

const char *foreign_file(const unsigned char *bytes, size_t size)
{
    if (size == 0)
        return "the file is empty";
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (size >= beginnings[i].at + beginnings[i].length &&
            memcmp(bytes + beginnings[i].at, beginnings[i].bytes, beginnings[i].length) == 0)
            return beginnings[i].what;
    if (is_flatbuffer(bytes, size, "TFL3"))
        return "a TensorFlow Lite file, which can infer only; export the model it was made from (tf2onnx)";
    if (is_flatbuffer(bytes, size, "ORTM"))
        return "in ONNX Runtime's own format; take the ONNX file that it was made from";
    if (is_flatbuffer(bytes, size, "ODTC"))
        return "a checkpoint of ONNX Runtime's training, weights without a model; the forward model, with them, is the "
               "file that generate_artifacts() was given";
    if (is_pickle(bytes, size))
        return "a Python pickle, as older versions of torch.save write; " EXPORT;
    if (is_safetensors(bytes, size))
        return "a safetensors file, weights without a model; 'stepc convert FILE.safetensors OUT.onnx --model MODEL' "
               "puts them into one";
    if (begins_text(bytes, size, "<!doctype html") || begins_text(bytes, size, "<html"))
        return "a web page: the download gave the page around it";
    return is_text(bytes, size) ? "text; a model in text form has a name that ends in .onnxtxt" : NULL;
}
