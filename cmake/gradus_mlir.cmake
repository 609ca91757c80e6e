# Finds MLIR and gives one helper to run its TableGen.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# What our libraries link. Of the archives the linker takes the members that are
# asked for, so the order of their names is no matter to it. They are made for
# shared libraries; where there is no libzstd.a, the wheel takes the library along.
if(GRADUS_STATIC_LLVM)
  file(GLOB archives ${LLVM_LIBRARY_DIR}/libLLVM*.a ${LLVM_LIBRARY_DIR}/libMLIR*.a)
  if(NOT archives)
    message(FATAL_ERROR "GRADUS_STATIC_LLVM needs the archives of LLVM and MLIR; there are none in ${LLVM_LIBRARY_DIR}")
  endif()
  find_library(GRADUS_ZLIB_ARCHIVE libz.a REQUIRED)
  find_library(GRADUS_ZSTD NAMES libzstd.a libzstd.so.1 REQUIRED)
  set(GRADUS_LLVM ${archives} ${GRADUS_ZSTD} ${GRADUS_ZLIB_ARCHIVE})
else()
  set(GRADUS_LLVM MLIR LLVM)
endif()

# gradus_tablegen(TARGET file.td (OUTPUT -gen-flags...)...): one generated file
# each, under the build folder at the path of the .td file.
function(gradus_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(outputs)
  set(name)
  foreach(argument ${ARGN})
    if(argument MATCHES "^-")
      list(APPEND flags ${argument})
    else()
      if(name)
        mlir_tablegen(${name} ${flags} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR})
      endif()
      set(name ${argument})
      set(flags)
    endif()
  endforeach()
  mlir_tablegen(${name} ${flags} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR})
  add_custom_target(${target} DEPENDS ${TABLEGEN_OUTPUT})
endfunction()
