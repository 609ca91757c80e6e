# Joins the page of reports and its scripts into the text of a raw string, so
# that the tool has them in itself:
# cmake -DPAGE=template.html -DSCRIPTS="a.js b.js" -DOUT=template.inc -P this file.
file(READ ${PAGE} page)
separate_arguments(SCRIPTS)
set(script "")
foreach(each ${SCRIPTS})
  file(READ ${each} text)
  string(APPEND script "${text}")
endforeach()
string(REPLACE "@SCRIPT@\n" "${script}" page "${page}")
if(page MATCHES "@SCRIPT@" OR page MATCHES "\\)page\"" OR NOT page MATCHES "@DATA@")
  message(FATAL_ERROR "${PAGE}: expected one line @SCRIPT@, a mark @DATA@, and no end of a raw string")
endif()
file(WRITE ${OUT} "R\"page(${page})page\"\n")
