#include "emit/runtime_text.h"

#include "base/str.h"
#include <string.h>

const struct runtime_file *runtime_file_find(const char *name)
{
    for (size_t i = 0; i < runtime_file_count; i++) {
        const char *const path = runtime_files[i].name;
        if (str_equal(path, name) || (str_ends_with(path, name) && path[strlen(path) - strlen(name) - 1] == '/'))
            return &runtime_files[i];
    }
    return NULL;
}
