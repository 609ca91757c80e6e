# Writes a header with the name of a build: the version, and a number that is
# another one where one of the sources changed. Their names stand in the file LIST.
#   cmake -DLIST=... -DVERSION=... -DOUT=... -P name_build.cmake
file(STRINGS ${LIST} sources)
set(number)
foreach(source ${sources})
  file(SHA256 ${source} hash)
  string(SHA256 number "${number}${hash}")
endforeach()
string(SUBSTRING "${number}" 0 12 number)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
// Made by cmake/name_build.cmake.
#pragma once

/// The build of Gradus that this is.
#define GRADUS_BUILD "@VERSION@ (sources @number@)"
]])
