# Installs the licences: ours, and those of the parts that are shipped with us or
# compiled into our libraries (docs/third_party.md lists them).
set(licences share/doc/gradus)
install(FILES LICENSE docs/third_party.md DESTINATION ${licences})
install(DIRECTORY ${GRADUS_DEPS}/onednn-3.2/licenses/ DESTINATION ${licences}/onednn OPTIONAL)

# Debian keeps each package's licence at one place.
set(parts libabsl-dev libflatbuffers-dev nlohmann-json3-dev libpng-dev libjpeg62-turbo-dev zlib1g-dev)
if(GRADUS_COMPILER)
  list(APPEND parts libcli11-dev libprotobuf-dev libllvm22 libmlir-22)
  install(DIRECTORY ${GRADUS_DEPS}/onnx-1.23.2/licenses/ DESTINATION ${licences}/onnx OPTIONAL)
endif()
foreach(part ${parts})
  install(FILES /usr/share/doc/${part}/copyright DESTINATION ${licences} RENAME ${part} OPTIONAL)
endforeach()
