# Writes a C file with files of the runtime as a table (emit/runtime_text.h):
# cmake -DROOT=FOLDER -DFILES=A.h,kernels/B.h -DOUT=... -P embed_runtime.cmake
# A file is cut at its #include "..." lines. Comments that begin with "Why:" are left out.
function(c_string text result)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

# The pieces of a file, and the row of the table.
function(add_file file)
  file(READ "${ROOT}/${file}" text)
  string(REGEX REPLACE "/\\* Why:([^*]|\\*+[^*/])*\\*+/\n" "" text "${text}")
  string(MAKE_C_IDENTIFIER "${file}" name)
  set(pieces "")
  while("${text}" MATCHES "#include \"([^\"\n]*)\"[^\n]*\n")
    set(line "${CMAKE_MATCH_0}")
    set(included "${CMAKE_MATCH_1}")
    string(FIND "${text}" "${line}" begin)
    string(LENGTH "${line}" length)
    string(SUBSTRING "${text}" 0 ${begin} before)
    math(EXPR end "${begin} + ${length}")
    string(SUBSTRING "${text}" ${end} -1 text)
    c_string("${before}" before)
    string(APPEND pieces "    {${before},\n     \"${included}\"},\n")
  endwhile()
  c_string("${text}" text)
  string(APPEND pieces "    {${text},\n     NULL},\n")
  set(repeats false)
  if(file MATCHES "_body\\.h$|/stepc_for_[a-z]+\\.h$|/stepc_level_[be][a-z]+\\.h$")
    set(repeats true)
  endif()
  set(arrays "${arrays}static const struct runtime_piece ${name}[] = {\n${pieces}};\n" PARENT_SCOPE)
  set(rows "${rows}    {\"${file}\", ${repeats}, ${name}},\n" PARENT_SCOPE)
endfunction()

set(arrays "")
set(rows "")
string(REPLACE "," ";" FILES "${FILES}")
foreach(file ${FILES})
  add_file(${file})
endforeach()
file(WRITE "${OUT}" "/* Made from files of runtime/; do not edit. */
#include \"emit/runtime_text.h\"

${arrays}
const struct runtime_file runtime_files[] = {
${rows}};
const size_t runtime_file_count = sizeof runtime_files / sizeof *runtime_files;
")
