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
