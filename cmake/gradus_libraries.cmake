# Where what is built finds the libraries that it needs: beside itself, in the
# build folder as in an installed tree. No file that is installed has a path of
# the machine that built it, but of libraries of the system; and no list of
# folders has an empty entry, which is the current folder to the loader.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# gradus_finds_libraries_in(TARGET FOLDER): the same, built and installed. CMake
# would fill up a shorter entry with empty ones.
function(gradus_finds_libraries_in target folder)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH ${folder}
    INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
endfunction()

# gradus_link_beside(FILE [NAME]): what programs open while they run, as if it
# stood with our libraries; tests look for it beside themselves.
function(gradus_link_beside file)
  cmake_path(GET file FILENAME name)
  if(ARGC GREATER 1)
    set(name ${ARGV1})
  endif()
  foreach(folder lib tests/lib)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
    file(CREATE_LINK ${file} ${PROJECT_BINARY_DIR}/${folder}/${name} SYMBOLIC)
  endforeach()
endfunction()

# gradus_take_archives(TARGET...): of the libraries that this folder has found so
# far (find_package), and of these that the project has found, programs link the
# archives where the system has them: a program then starts where no such package
# is. Not for folders whose code goes into a shared library, for which Debian's
# archives are not made.
function(gradus_take_archives)
  get_directory_property(targets IMPORTED_TARGETS)
  foreach(target ${targets} ${ARGN})
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    set(properties IMPORTED_LOCATION)
    if(configurations)
      list(TRANSFORM configurations PREPEND IMPORTED_LOCATION_ OUTPUT_VARIABLE more)
      list(APPEND properties ${more})
    endif()
    foreach(property ${properties})
      get_target_property(file ${target} ${property})
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${file}")
      if(EXISTS ${archive} AND NOT archive STREQUAL file)
        set_target_properties(${target} PROPERTIES ${property} ${archive})
      endif()
    endforeach()
  endforeach()
endfunction()
