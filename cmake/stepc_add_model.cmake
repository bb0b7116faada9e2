# stepc_add_model(NAME MODEL FILE [MACHINE NAME | DISPATCH] [PREPARE OPTION...] [OPTIONS OPTION...] [DEPENDS FILE...])
#
# Adds the static library NAME: the C that `stepc compile` makes of the model FILE, linked to the runtime. Its header is
# NAME.h, and every name in it starts with NAME. It is made anew when FILE, its external data, a file that an option names, an
# option or stepc itself changes; when the C comes out as it was, nothing is compiled. Paths in options are relative to the
# folder of the CMakeLists.txt.
#
#   PREPARE   FILE is an inference model: options of `stepc prepare`, which makes a training model of it first, in a file that
#             `stepc strip` and `stepc run` read, too: the target's property STEPC_TRAINING_MODEL
#   OPTIONS   options of `stepc compile`; with --weights the target's property STEPC_WEIGHTS is the weights file; with --blas the
#             library is linked to stepc::blas, which is OpenBLAS unless the project has made a target of that name before
#   MACHINE   the machine that the C is for, of those that `stepc help machines` lists; without it the Cortex-M that a build for a
#             bare machine names (CMAKE_SYSTEM_NAME Generic, -mcpu= in CMAKE_C_FLAGS or CMAKE_SYSTEM_PROCESSOR), else generic
#   DISPATCH  the library has code for every x86 of 64 bits, and a program takes what its processor has: compile --dispatch with all
#             levels. Where the project is built for other processors it means nothing
#   DEPENDS   more files to watch
#
#   stepc_add_model(digits MODEL model.onnx PREPARE --loss softmax-cross-entropy --optimizer adam OPTIONS --dim batch=32)
#   target_link_libraries(my_program PRIVATE digits)
#
# stepc runs on this machine, also when the project is built for another: it is that of the package, or what the variable or
# environment variable STEPC_EXECUTABLE names.
cmake_policy(PUSH)
cmake_policy(VERSION 3.20...3.25)

# The library may go into a shared one, where the system has these: unless the project says otherwise. On a bare machine, which
# has none, addresses in tables of constants would be data that a loader writes: they would take RAM.
function(stepc_position_independent target)
  get_property(shared GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS)
  if(shared AND NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

# Built from source like the runtime, with the BLAS of the machine that the project is for.
function(stepc_need_blas)
  if(TARGET stepc::blas)
    return()
  endif()
  find_path(STEPC_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
  find_library(STEPC_BLAS_LIBRARY NAMES openblas)
  if(NOT STEPC_CBLAS_INCLUDE_DIR OR NOT STEPC_BLAS_LIBRARY)
    message(FATAL_ERROR "stepc compile --blas needs a BLAS with its C interface, and OpenBLAS is not found: set STEPC_BLAS_LIBRARY and "
                        "STEPC_CBLAS_INCLUDE_DIR (the folder of cblas.h), or add a target stepc::blas")
  endif()
  add_library(stepc_package_blas STATIC EXCLUDE_FROM_ALL "${STEPC_RUNTIME_DIR}/blas/stepc_blas.c")
  target_include_directories(stepc_package_blas PUBLIC "${STEPC_RUNTIME_DIR}/blas" PRIVATE "${STEPC_CBLAS_INCLUDE_DIR}")
  set_target_properties(stepc_package_blas PROPERTIES C_STANDARD 99)
  stepc_position_independent(stepc_package_blas)
  target_link_libraries(stepc_package_blas PUBLIC "${STEPC_BLAS_LIBRARY}")
  add_library(stepc::blas ALIAS stepc_package_blas)
endfunction()

# What is known of the machine, as `stepc compile --machine` names it. Those that have no row of their own compute as one that has.
function(stepc_guess_machine result)
  set(${result} generic PARENT_SCOPE)
  if(NOT CMAKE_CROSSCOMPILING OR NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
    return()
  endif()
  string(TOLOWER "${CMAKE_C_FLAGS} ${CMAKE_SYSTEM_PROCESSOR}" said)
  if(NOT said MATCHES "cortex-m([0-9]+)")
    return()
  endif()
  set(number ${CMAKE_MATCH_1})
  set(like_0 0 1 23)
  set(like_3 3)
  set(like_4 4)
  set(like_7 7)
  set(like_33 33 35)
  set(like_55 52 55 85)
  foreach(row 0 3 4 7 33 55)
    if(number IN_LIST like_${row})
      set(${result} cortex-m${row} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(stepc_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "DISPATCH" "MODEL;MACHINE" "PREPARE;OPTIONS;DEPENDS")
  if(NOT arg_MODEL OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "usage: stepc_add_model(NAME MODEL FILE [MACHINE NAME | DISPATCH] [PREPARE OPTION...] [OPTIONS OPTION...] "
                        "[DEPENDS FILE...])")
  endif()
  if(arg_DISPATCH AND arg_MACHINE)
    message(FATAL_ERROR "stepc_add_model(${name}): MACHINE says which one processor the C is for, DISPATCH that it is for every x86")
  endif()
  if(NOT arg_MACHINE)
    stepc_guess_machine(arg_MACHINE)
  endif()
  if(NOT arg_MACHINE STREQUAL "generic" AND NOT "${arg_OPTIONS}" MATCHES "--machine")
    list(PREPEND arg_OPTIONS --machine ${arg_MACHINE})
  elseif(arg_DISPATCH)
    list(PREPEND arg_OPTIONS --dispatch x86-64,x86-64-v3,x86-64-v4)
  endif()
  get_property(stepc GLOBAL PROPERTY STEPC_EXECUTABLE)
  cmake_path(ABSOLUTE_PATH arg_MODEL NORMALIZE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_model)
  set(stamp ${folder}/${name}.stamp)
  set(depfile --depfile ${folder}/${name}.d --depfile-target ${stamp})
  set(made ${folder}/${name}.c ${folder}/${name}.h)

  set(model ${arg_MODEL})
  set(prepare "")
  if(arg_PREPARE)
    set(model ${folder}/${name}.onnx)
    list(APPEND made ${model})
    set(prepare COMMAND ${stepc} prepare ${arg_MODEL} -o ${model} ${arg_PREPARE} ${depfile})
    set(depfile "")
  endif()
  string(REGEX MATCH "--weights[ =;]*(file|incbin)" weights "${arg_OPTIONS}")
  if(weights)
    list(APPEND made ${folder}/${name}.weights)
  elseif(NOT "${arg_OPTIONS}" MATCHES "--weights")
    list(APPEND arg_OPTIONS --weights embed) # what is made must not depend on a model's size
  endif()

  # Make does not see that a command has changed; a file that it depends on shows it.
  set(options ${folder}/${name}.options)
  file(CONFIGURE OUTPUT ${options} @ONLY CONTENT "@arg_MODEL@\n@arg_PREPARE@\n@arg_OPTIONS@\n")
  # What stepc makes keeps its time where its content is as before, so a stamp says when it ran.
  add_custom_command(
    OUTPUT ${stamp}
    BYPRODUCTS ${made}
    ${prepare}
    COMMAND ${stepc} compile ${model} -o ${folder}/${name}.c --name ${name} ${arg_OPTIONS} ${depfile}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${arg_MODEL} ${arg_DEPENDS} ${options} ${stepc}
    DEPFILE ${folder}/${name}.d
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "stepc: ${arg_MODEL} -> ${name}.c"
    VERBATIM)
  add_custom_target(${name}_made DEPENDS ${stamp})

  add_library(${name} STATIC ${folder}/${name}.c ${folder}/${name}.h)
  add_dependencies(${name} ${name}_made)
  set_target_properties(${name} PROPERTIES C_STANDARD 99)
  stepc_position_independent(${name})
  target_include_directories(${name} PUBLIC ${folder})
  if(NOT "--standalone" IN_LIST arg_OPTIONS)
    target_link_libraries(${name} PUBLIC stepc::runtime)
  endif()
  if("--blas" IN_LIST arg_OPTIONS)
    stepc_need_blas()
    target_link_libraries(${name} PUBLIC stepc::blas)
  endif()
  if("--reproducible" IN_LIST arg_OPTIONS)
    target_compile_options(${name} PRIVATE -ffp-contract=off)
  endif()
  if(arg_PREPARE)
    set_target_properties(${name} PROPERTIES STEPC_TRAINING_MODEL ${model})
  endif()
  if(weights)
    string(TOUPPER ${name} upper)
    set_target_properties(${name} PROPERTIES STEPC_WEIGHTS ${folder}/${name}.weights)
    set_source_files_properties(${folder}/${name}.c PROPERTIES OBJECT_DEPENDS ${folder}/${name}.weights)
    target_compile_definitions(${name} PRIVATE ${upper}_WEIGHTS_PATH="${folder}/${name}.weights")
  endif()
endfunction()

cmake_policy(POP)
