// Opens bases for the compiler; see basis_files.h.

#include "tool/basis_files.h"

#include "runtime/session/basis_file.h"

#include <memory>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

absl::Status asAbsl(const Status &status) {
  return status.ok() ? absl::OkStatus()
                     : absl::InvalidArgumentError(status.message());
}

absl::StatusOr<compiler::BasisFile> openFile(const std::string &path) {
  auto opened = Safetensors::open(path);
  if (!opened.ok())
    return asAbsl(opened.status());
  auto file = std::make_shared<Safetensors>(*std::move(opened));
  if (Status status = verifyBasisHeader(*file); !status.ok())
    return asAbsl(status);
  compiler::BasisFile basis;
  for (const NamedTensor &tensor : file->tensors())
    basis.parts.push_back({tensor.name, nameOf(tensor.type.dtype),
                           tensor.type.shape, tensor.data});
  basis.owner = file;
  basis.verify = [file] { return asAbsl(verifyBasisValues(*file)); };
  return basis;
}

} // namespace

void openBases(compiler::Request &request) { request.openBasis = openFile; }

} // namespace gradus::cli
