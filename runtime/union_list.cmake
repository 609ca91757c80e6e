# Writes the members of a union of the schema as lines `MACRO(Name, ...)` of a
# .def file, so that they are listed once: cmake -DSCHEMA=artifact.fbs
# -DUNION=CommandKind -DMACRO=GRADUS_COMMAND -DOUT=commands.def -P this file.
#
# A member `name : Table` becomes MACRO(name, Table), and a member FewWordsCommand
# becomes MACRO(FewWords, "few words").
file(READ ${SCHEMA} text)
string(REGEX REPLACE "//[^\n]*" "" text "${text}")
if(NOT text MATCHES "union ${UNION} *{([^}]*)}")
  message(FATAL_ERROR "${SCHEMA}: has no union ${UNION}")
endif()
string(REGEX REPLACE "[ \n]" "" members "${CMAKE_MATCH_1}")
string(REPLACE "," ";" members "${members}")
set(lines "// Made of the union ${UNION} of the artifact's schema.\n")
foreach(member ${members})
  if(member MATCHES "^([A-Za-z0-9_]+):([A-Za-z0-9]+)$")
    string(APPEND lines "${MACRO}(${CMAKE_MATCH_1}, ${CMAKE_MATCH_2})\n")
  elseif(member MATCHES "^([A-Za-z0-9]+)Command$")
    set(name ${CMAKE_MATCH_1})
    string(REGEX REPLACE "([a-z0-9])([A-Z])" "\\1 \\2" words ${name})
    string(TOLOWER "${words}" words)
    string(APPEND lines "${MACRO}(${name}, \"${words}\")\n")
  else()
    message(FATAL_ERROR "${SCHEMA}: the union ${UNION} has a member '${member}', "
      "expected a name that ends in Command, or 'name : Table'")
  endif()
endforeach()
file(WRITE ${OUT} "${lines}#undef ${MACRO}\n")
