# Installs a tree that can be moved: tools, libraries, the C header, the headers
# that plug-ins of passes are made with, oneDNN, what find_package(Gradus) and
# pkg-config need, and the licences.
include(CMakePackageConfigHelpers)
include(gradus_licences)

set(package lib/cmake/Gradus)
target_include_directories(gradus_shared INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(gradus_shared PROPERTIES EXPORT_NAME gradus)
install(TARGETS gradus_shared EXPORT gradus_targets LIBRARY DESTINATION lib)
install(EXPORT gradus_targets FILE GradusTargets.cmake NAMESPACE Gradus:: DESTINATION ${package})
install(TARGETS gradus_runtime ARCHIVE DESTINATION lib)
install(TARGETS gradus_cuda LIBRARY DESTINATION lib)
install(FILES runtime/gradus.h DESTINATION include/gradus)
if(GRADUS_ONEDNN)
  file(REAL_PATH ${GRADUS_ONEDNN_FOLDER}/libdnnl.so.3 onednn)
  install(FILES ${onednn} DESTINATION lib RENAME libdnnl.so.3)
endif()

#===-- what compiles --------------------------------------------------------===#

# Sources of plug-ins include as ours do: "ir/gradus.h", "passes/arithmetic.h".
if(GRADUS_COMPILER)
  set(headers include/gradus/compiler)
  target_include_directories(gradus_compiler INTERFACE $<INSTALL_INTERFACE:${headers}>)
  target_compile_features(gradus_compiler INTERFACE cxx_std_20)
  set_target_properties(gradus_compiler PROPERTIES EXPORT_NAME compiler)
  install(TARGETS gradus_compiler EXPORT gradus_compiler_targets LIBRARY DESTINATION lib)
  install(EXPORT gradus_compiler_targets FILE GradusCompilerTargets.cmake
    NAMESPACE Gradus:: DESTINATION ${package})
  install(TARGETS gradus-opt RUNTIME DESTINATION bin)
  foreach(folder ir passes)
    install(DIRECTORY ${folder} ${PROJECT_BINARY_DIR}/${folder} DESTINATION ${headers}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.h.inc"
      PATTERN "CMakeFiles" EXCLUDE PATTERN "precompiled.h" EXCLUDE PATTERN "optimizers" EXCLUDE)
  endforeach()
endif()

#===-- how it is found ------------------------------------------------------===#

configure_package_config_file(cmake/GradusConfig.cmake.in ${PROJECT_BINARY_DIR}/GradusConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/GradusConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/GradusConfig.cmake ${PROJECT_BINARY_DIR}/GradusConfigVersion.cmake
  DESTINATION ${package})

file(WRITE ${PROJECT_BINARY_DIR}/gradus.pc
"prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
Name: gradus
Description: Runs compiled training steps
Version: ${PROJECT_VERSION}
Cflags: -I\${prefix}/include
Libs: -L\${libdir} -lgradus
")
install(FILES ${PROJECT_BINARY_DIR}/gradus.pc DESTINATION lib/pkgconfig)
