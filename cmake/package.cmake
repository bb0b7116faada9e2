# What other projects get: `cmake --install`, and the package `stepc` with stepc_add_model(). The build folder holds the
# package too, so that a project can be pointed at it (-Dstepc_DIR=BUILD_FOLDER) without an installation.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stepc)
set(runtime_dir ${CMAKE_INSTALL_DATADIR}/stepc/runtime)

install(TARGETS stepc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The runtime goes out as source: it is compiled for the machine that the model is compiled for.
install(DIRECTORY runtime/ DESTINATION ${runtime_dir} FILES_MATCHING PATTERN "*.h" PATTERN "*.c" PATTERN "LICENSE")
# Also for this machine, as library and headers: what pkg-config finds.
install(TARGETS stepc_runtime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(GLOB runtime_headers CONFIGURE_DEPENDS runtime/*.h runtime/blas/*.h)
install(FILES ${runtime_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepc)
install(DIRECTORY runtime/kernels DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepc FILES_MATCHING PATTERN "*.h")
file(RELATIVE_PATH STEPC_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" STEPC_PC_PREFIX "${STEPC_PC_PREFIX}")
set(STEPC_PC_PREFIX "\${pcfiledir}/${STEPC_PC_PREFIX}") # the installed tree may be moved
set(STEPC_RUNTIME_FOLDER ${runtime_dir})
configure_file(cmake/stepc.pc.in ${PROJECT_BINARY_DIR}/install/stepc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/stepc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET stepc_runtime_blas)
  install(TARGETS stepc_runtime_blas ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  configure_file(cmake/stepc_blas.pc.in ${PROJECT_BINARY_DIR}/install/stepc_blas.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/install/stepc_blas.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(STEPC_PACKAGE_EXECUTABLE ${CMAKE_INSTALL_BINDIR}/stepc)
set(STEPC_PACKAGE_RUNTIME ${runtime_dir})
configure_package_config_file(cmake/stepcConfig.cmake.in ${PROJECT_BINARY_DIR}/install/stepcConfig.cmake
                              INSTALL_DESTINATION ${package_dir}
                              PATH_VARS STEPC_PACKAGE_EXECUTABLE STEPC_PACKAGE_RUNTIME)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/stepcConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/install/stepcConfig.cmake ${PROJECT_BINARY_DIR}/install/stepcConfigVersion.cmake
              cmake/stepc_add_model.cmake
        DESTINATION ${package_dir})

set(STEPC_PACKAGE_EXECUTABLE ${PROJECT_BINARY_DIR}/stepc)
set(STEPC_PACKAGE_RUNTIME ${PROJECT_SOURCE_DIR}/runtime)
configure_package_config_file(cmake/stepcConfig.cmake.in ${PROJECT_BINARY_DIR}/stepcConfig.cmake
                              INSTALL_DESTINATION ${PROJECT_BINARY_DIR} INSTALL_PREFIX ${PROJECT_BINARY_DIR}
                              PATH_VARS STEPC_PACKAGE_EXECUTABLE STEPC_PACKAGE_RUNTIME)
configure_file(${PROJECT_BINARY_DIR}/install/stepcConfigVersion.cmake ${PROJECT_BINARY_DIR}/stepcConfigVersion.cmake COPYONLY)
configure_file(cmake/stepc_add_model.cmake ${PROJECT_BINARY_DIR}/stepc_add_model.cmake COPYONLY)
