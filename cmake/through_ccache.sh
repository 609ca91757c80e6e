#!/usr/bin/env bash
# Calls a compiler by way of ccache, so that a second checkout, and a second build
# folder, take over what was compiled in the first: SOURCE_FOLDER COMPILER ARGUMENT...
# Runs in the build folder, as all compilations do.
#
# ccache itself makes paths below its base folder relative, but not those that follow
# -Xclang, by which CMake names precompiled headers. A precompiled header has absolute
# paths in it, so it is compiled anew by each build folder, and ccache tells two of
# them apart by what went into them: the sum beside them.
set -euo pipefail
export CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
shift

# Writes the hash of the compiler, of its arguments and of all headers that it read.
write_sum() { # OUTPUT COMPILER ARGUMENT...
  local output=$1
  shift
  {
    "$1" --version
    printf '%s\n' "${@//"$PWD"/.}" | sed "s,$CCACHE_BASEDIR,..,"
    sed -e 's/^[^:]*: //' -e 's/\\$//' "$output.d" | xargs cat
  } | sha256sum >"$output.sum"
}

arguments=()
option=
output=
for argument in "$@"; do
  case $option=$argument in -o=*.pch) output=$argument ;; esac
  option=$argument
  arguments+=("${argument#"$PWD"/}")
done
if [ -n "$output" ]; then
  "$@"
  write_sum "$output" "$@"
else
  exec ccache "${arguments[@]}"
fi
