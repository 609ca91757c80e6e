// Forges the program of an artifact, with hashes that fit.
//
//   forge_program FILE --compiler OUT   says that another compiler wrote it
//   forge_program FILE --cut OUT        has zeros in its second half
//   forge_program FILE --trials COUNT   compiles changed ones up to `optimize`

#include "runtime/artifact_hash.h"
#include "tests/runtime/test_artifact.h"
#include "tool/carried_program.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

using namespace gradus;

extern "C" compiler::Compiler *gradus_compiler();

namespace {

using Bytes = std::vector<uint8_t>;

Bytes contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

void writeForged(Bytes file, const std::string &path) {
  test::reseal(file);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), file.size());
}

const artifact::Program &programOf(Bytes &file) {
  return *artifact::GetSizePrefixedHeader(file.data())->program();
}

/// Replaces the first digit, as another version has another.
void forgeCompiler(Bytes file, const std::string &path) {
  const char *name = programOf(file).compiler()->c_str();
  size_t at = reinterpret_cast<const uint8_t *>(name) - file.data();
  file[at + std::string(name).find_first_of("0123456789")] = '9';
  writeForged(std::move(file), path);
}

void cut(Bytes file, const std::string &path) {
  const artifact::Section &section = *programOf(file).bytecode();
  size_t begin = section.offset(), size = section.size();
  std::fill_n(file.begin() + begin + size / 2, size - size / 2, 0);
  writeForged(std::move(file), path);
}

Bytes changed(Bytes bytes, std::mt19937 &random) {
  for (size_t count = 1 + random() % 2; count > 0; --count) {
    uint8_t &byte = bytes[random() % bytes.size()];
    byte = random() % 2 ? byte ^ 1 << random() % 8 : random() % 256;
  }
  return bytes;
}

/// Counts what is refused in words and what compiles; 1 if one is neither.
int tryMany(const std::string &path, int count) {
  compiler::Request request;
  request.model = path;
  request.wanted.stopAfter = "optimize";
  auto opened = cli::openProgram(request);
  const auto whole = request.carried->bytecode;
  std::mt19937 random(1);
  int refused = 0, compiled = 0;
  for (int trial = 0; trial < count; ++trial) {
    Bytes forged = changed({whole.begin(), whole.end()}, random);
    request.carried->bytecode = forged;
    auto result = gradus_compiler()->compile(request);
    ++(result.ok() ? compiled : refused);
    if (!result.ok() && result.status().message().empty())
      return 1;
  }
  std::printf("%d refused, %d compiled\n", refused, compiled);
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 4)
    return 2;
  std::string file = arguments[1], option = arguments[2], last = arguments[3];
  if (option == "--trials")
    return tryMany(file, std::atoi(last.c_str()));
  (option == "--cut" ? cut : forgeCompiler)(contentOf(file), last);
  return 0;
}
