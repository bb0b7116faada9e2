# Writes a C file with the content of a text file as one string: cmake -DIN=... -DOUT=... -DNAME=... -P embed_text.cmake
# Comments that begin with "Why:" are left out, as templates/template.h says.
file(READ "${IN}" text)
string(REGEX REPLACE "/\\* Why:([^*]|\\*+[^*/])*\\*+/\n" "" text "${text}")
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE "${OUT}" "/* Made from ${NAME}; do not edit. */\nextern const char ${NAME}[];\nconst char ${NAME}[] =\n    \"${text}\";\n")
