# Installs a tree that can be moved: tools, libraries, the C header, oneDNN, what
# find_package(Gradus) and pkg-config need, and the licences.
include(CMakePackageConfigHelpers)
include(gradus_licences)

target_include_directories(gradus_shared INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(gradus_shared PROPERTIES EXPORT_NAME gradus)
install(TARGETS gradus_shared EXPORT gradus_targets LIBRARY DESTINATION lib)
install(TARGETS gradus_runtime ARCHIVE DESTINATION lib)
install(FILES runtime/gradus.h DESTINATION include/gradus)
if(GRADUS_ONEDNN)
  file(REAL_PATH ${GRADUS_ONEDNN_FOLDER}/libdnnl.so.3 onednn)
  install(FILES ${onednn} DESTINATION lib RENAME libdnnl.so.3)
endif()

set(package lib/cmake/Gradus)
install(EXPORT gradus_targets FILE GradusConfig.cmake NAMESPACE Gradus:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/GradusConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/GradusConfigVersion.cmake DESTINATION ${package})

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
