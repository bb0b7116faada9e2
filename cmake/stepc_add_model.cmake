# stepc_add_model(NAME MODEL FILE [PREPARE OPTION...] [OPTIONS OPTION...] [DEPENDS FILE...])
#
# Adds the static library NAME: the C that `stepc compile` makes of the model FILE, linked to the runtime. Its header is
# NAME.h, and every name in it starts with NAME. It is made anew when FILE, a file of DEPENDS (external data) or stepc itself
# changes.
#
#   PREPARE   FILE is an inference model: options of `stepc prepare`, which makes a training model of it first
#   OPTIONS   options of `stepc compile`
#
#   stepc_add_model(digits MODEL model.onnx PREPARE --loss softmax-cross-entropy --optimizer adam OPTIONS --dim batch=32)
#   target_link_libraries(my_program PRIVATE digits)
function(stepc_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODEL" "PREPARE;OPTIONS;DEPENDS")
  if(NOT arg_MODEL OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "usage: stepc_add_model(NAME MODEL FILE [PREPARE OPTION...] [OPTIONS OPTION...] [DEPENDS FILE...])")
  endif()
  cmake_path(ABSOLUTE_PATH arg_MODEL NORMALIZE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_model)
  file(MAKE_DIRECTORY ${folder})
  set(model ${arg_MODEL})
  if(arg_PREPARE)
    set(model ${folder}/${name}.onnx)
    add_custom_command(
      OUTPUT ${model}
      COMMAND ${STEPC_EXECUTABLE} prepare ${arg_MODEL} -o ${model} ${arg_PREPARE}
      COMMAND ${CMAKE_COMMAND} -E touch ${model} # stepc leaves equal content untouched
      DEPENDS ${arg_MODEL} ${arg_DEPENDS} ${STEPC_EXECUTABLE}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      COMMENT "stepc prepare ${arg_MODEL}"
      VERBATIM)
  endif()
  add_custom_command(
    OUTPUT ${folder}/${name}.c ${folder}/${name}.h
    COMMAND ${STEPC_EXECUTABLE} compile ${model} -o ${folder}/${name}.c --name ${name} ${arg_OPTIONS}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/${name}.c ${folder}/${name}.h
    DEPENDS ${model} ${arg_DEPENDS} ${STEPC_EXECUTABLE}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "stepc compile ${model}"
    VERBATIM)
  add_library(${name} STATIC ${folder}/${name}.c ${folder}/${name}.h)
  set_target_properties(${name} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PUBLIC ${folder})
  target_link_libraries(${name} PUBLIC stepc::runtime)
  if("--reproducible" IN_LIST arg_OPTIONS)
    target_compile_options(${name} PRIVATE -ffp-contract=off)
  endif()
endfunction()
