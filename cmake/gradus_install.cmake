# Installs a tree that can be moved, whole or by component:
#   runtime      libgradus.so, oneDNN, and the licences
#   development  the C header, what find_package(Gradus) and pkg-config need
#   static       libgradus.a
#   training     libgradus_training.a, libgradus_data.a and their headers
#   cuda         libgradus_cuda.so
#   emulated     libgradus_emulated.so
#   mpi          libgradus_mpi.so, where MPI was found
#   tools        gradus
#   compiler     libgradus_compiler.so, gradus-opt, the headers of plug-ins
# runtime and development need the target gradus_shared built and no other.
include(CMakePackageConfigHelpers)
set(package lib/cmake/Gradus)

#===-- runtime --------------------------------------------------------------===#

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
include(gradus_licences)
target_include_directories(gradus_shared INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(gradus_shared PROPERTIES EXPORT_NAME gradus)
install(TARGETS gradus_shared EXPORT gradus_targets
  LIBRARY DESTINATION lib NAMELINK_COMPONENT development)
if(GRADUS_ONEDNN)
  file(REAL_PATH ${GRADUS_ONEDNN_FOLDER}/libdnnl.so.3 onednn)
  install(FILES ${onednn} DESTINATION lib RENAME libdnnl.so.3)
endif()

install(TARGETS gradus_cuda LIBRARY DESTINATION lib COMPONENT cuda)
install(TARGETS gradus_emulated_gpu LIBRARY DESTINATION lib COMPONENT emulated)
if(GRADUS_MPI)
  install(TARGETS gradus_mpi LIBRARY DESTINATION lib COMPONENT mpi)
endif()
install(TARGETS gradus RUNTIME DESTINATION bin COMPONENT tools)

#===-- the static library ---------------------------------------------------===#

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME static)
target_include_directories(gradus_runtime INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(gradus_runtime PROPERTIES EXPORT_NAME gradus_static)
install(TARGETS gradus_runtime EXPORT gradus_static_targets ARCHIVE DESTINATION lib)
install(EXPORT gradus_static_targets FILE GradusStaticTargets.cmake
  NAMESPACE Gradus:: DESTINATION ${package})

#===-- the loop of training -------------------------------------------------===#

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME training)
# Programs include as ours do: "training/trainer.h". The headers stand on these
# of the runtime, FlatBuffers and nlohmann-json.
set(headers include/gradus/training)
target_include_directories(gradus_data INTERFACE $<INSTALL_INTERFACE:${headers}>)
target_compile_features(gradus_data INTERFACE cxx_std_20)
set_target_properties(gradus_training PROPERTIES EXPORT_NAME training)
set_target_properties(gradus_data PROPERTIES EXPORT_NAME data)
install(TARGETS gradus_training gradus_data EXPORT gradus_training_targets ARCHIVE DESTINATION lib)
install(EXPORT gradus_training_targets FILE GradusTrainingTargets.cmake
  NAMESPACE Gradus:: DESTINATION ${package})
install(DIRECTORY training runtime ${PROJECT_BINARY_DIR}/runtime DESTINATION ${headers}
  FILES_MATCHING PATTERN "*.h" PATTERN "CMakeFiles" EXCLUDE PATTERN "precompiled.h" EXCLUDE PATTERN "cuda" EXCLUDE
  PATTERN "emulated" EXCLUDE PATTERN "cpu" EXCLUDE PATTERN "commands" EXCLUDE PATTERN "device" EXCLUDE)

#===-- what compiles --------------------------------------------------------===#

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME compiler)
# Sources of plug-ins include as ours do: "ir/gradus.h", "ir/arithmetic.h".
if(GRADUS_COMPILER)
  set(headers include/gradus/compiler)
  target_include_directories(gradus_compiler INTERFACE $<INSTALL_INTERFACE:${headers}>)
  target_compile_features(gradus_compiler INTERFACE cxx_std_20)
  set_target_properties(gradus_compiler PROPERTIES EXPORT_NAME compiler)
  install(TARGETS gradus_compiler EXPORT gradus_compiler_targets LIBRARY DESTINATION lib)
  install(EXPORT gradus_compiler_targets FILE GradusCompilerTargets.cmake
    NAMESPACE Gradus:: DESTINATION ${package})
  install(TARGETS gradus-opt RUNTIME DESTINATION bin)
  foreach(folder ir recipe passes)
    install(DIRECTORY ${folder} ${PROJECT_BINARY_DIR}/${folder} DESTINATION ${headers}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.h.inc"
      PATTERN "CMakeFiles" EXCLUDE PATTERN "precompiled.h" EXCLUDE)
  endforeach()
  install(FILES runtime/well_known.h DESTINATION ${headers}/runtime) # names that passes write
endif()

#===-- how it is found ------------------------------------------------------===#

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(FILES runtime/gradus.h DESTINATION include/gradus)
install(EXPORT gradus_targets FILE GradusTargets.cmake NAMESPACE Gradus:: DESTINATION ${package})
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
Libs.private: -lstdc++ -lm -lpthread -ldl
")
install(FILES ${PROJECT_BINARY_DIR}/gradus.pc DESTINATION lib/pkgconfig)
