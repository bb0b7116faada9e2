# Writes a C file with the content of a text file as one string: cmake -DIN=... -DOUT=... -DNAME=... -P embed_text.cmake
file(READ "${IN}" text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE "${OUT}" "/* Made from ${NAME}; do not edit. */\nextern const char ${NAME}[];\nconst char ${NAME}[] =\n    \"${text}\";\n")
