// How libFuzzer forges the program of an artifact: bytes of its section alone.

#include "target.h"

#include "runtime/artifact/artifact.h"
#include "tests/runtime/test_artifact.h"

using namespace gradus;

extern "C" size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t,
                                          unsigned) {
  fuzz::Bytes file(bytes, bytes + size);
  test::reseal(file);
  auto artifact = runtime::Artifact::fromBytes(file, "whole");
  if (!artifact.ok() || !(*artifact)->header().program())
    return size;
  const artifact::Section &section =
      *(*artifact)->header().program()->bytecode();
  LLVMFuzzerMutate(bytes + section.offset(), section.size(), section.size());
  return size;
}
