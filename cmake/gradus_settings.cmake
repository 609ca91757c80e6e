# Flags that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(GRADUS_WERROR)
  # libstdc++ 12 itself uses what it has deprecated.
  add_compile_options(-Werror -Wno-error=deprecated-declarations)
endif()
# The flatbuffers and MLIR headers are built without RTTI checks in mind.
set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined
  -fno-sanitize=vptr -fno-omit-frame-pointer -g1 -O1)
if(GRADUS_SANITIZE)
  set(GRADUS_SANITIZERS ${sanitizers})
  add_compile_options(${GRADUS_SANITIZERS})
  add_link_options(-fsanitize=address,undefined)
  # The sanitizers keep a place in the sources for each of their checks. Where a
  # program lies where it was linked, it starts without relocating millions of
  # them.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

# Folders that read files of others add these: the runtime, the ways in, and what
# fuzzes them. What only compiles is spared, which is most of the time to build.
if(GRADUS_FUZZ)
  set(GRADUS_FUZZ_OPTIONS -fsanitize=fuzzer-no-link ${sanitizers})
  add_link_options(-fsanitize=address,undefined)
endif()
# For code that nobody waits for: with sanitizers it takes longer to compile than
# to run, and without optimization less than half of that.
set(GRADUS_SELDOM_RUN $<$<BOOL:${GRADUS_SANITIZE}>:-O0>)

include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/through_ccache.sh ${PROJECT_SOURCE_DIR})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(LLD_PROGRAM NAMES ld.lld-22)
if(LLD_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=${LLD_PROGRAM})
endif()

# What is shipped alone has libstdc++ and the arithmetic of libgcc in it, so that it
# runs where these are older, and nothing for debuggers. Exceptions are unwound by
# the system's libgcc_s: the archive's way of it asks for the newest glibc.
if(GRADUS_STATIC_LLVM)
  add_link_options(-static-libstdc++ -lgcc -Wl,--gc-sections -Wl,--icf=safe
    -Wl,--exclude-libs,ALL -Wl,--strip-all)
endif()

# Exceptions are off but where third-party code throws (frontends).
set(GRADUS_NO_EXCEPTIONS -fno-exceptions)
