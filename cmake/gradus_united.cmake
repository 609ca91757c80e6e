# gradus_unite(TARGET [OWN name...] [ALONE file...]): with sanitizers the sources
# of a library are compiled some at a time, neighbours of a folder together: the
# functions of the headers that they share are then emitted, and made safe, once
# and not by each. The plain build compiles each source alone, so it finds what
# includes too little, and a changed source rebuilds no other.
# OWN: names that several sources give to something of their own; each source has
# its own for itself. ALONE: sources that are compiled alone, whose names hide others.
function(gradus_unite target)
  cmake_parse_arguments(ARG "" "" "OWN;ALONE" ${ARGN})
  if(NOT GRADUS_SANITIZE)
    return()
  endif()
  set(code "#define GRADUS_OWN_WORDS(a, b) a##b\n#define GRADUS_OWN(a, b) GRADUS_OWN_WORDS(a, b)\n")
  foreach(name ${ARG_OWN})
    string(APPEND code "#define ${name} GRADUS_OWN(${name}, GRADUS_OF_SOURCE)\n")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${ARG_ALONE})
    get_filename_component(source ${source} ABSOLUTE)
    list(REMOVE_ITEM sources ${source})
  endforeach()
  foreach(source ${sources})
    get_filename_component(folder ${source} ABSOLUTE)
    get_filename_component(folder ${folder} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} group)
    if(NOT DEFINED count_${group})
      set(count_${group} 0)
    endif()
    math(EXPR part "${count_${group}} / 8")
    math(EXPR count_${group} "${count_${group}} + 1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group}_${part})
  endforeach()
  if(ARG_OWN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_UNIQUE_ID GRADUS_OF_SOURCE
      UNITY_BUILD_CODE_BEFORE_INCLUDE "${code}")
  endif()
  set_source_files_properties(${ARG_ALONE} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
