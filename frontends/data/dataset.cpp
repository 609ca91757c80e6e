// Which reader a file goes to, and how several files make one data set.

#include "frontends/data/dataset.h"

#include "frontends/data/formats.h"
#include "runtime/status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

#include <cstring>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

struct Argument {
  std::string name; // empty where not given
  std::string path;
};

Argument parse(const std::string &text) {
  size_t equals = text.find('=');
  // A '=' behind a '/' belongs to a path.
  if (equals == std::string::npos || text.find('/') < equals)
    return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

runtime::Status needsName(const Argument &argument) {
  if (!argument.name.empty())
    return runtime::Status();
  return invalid("holds one tensor without a name; write NAME=", argument.path,
                 " with the name of a graph input");
}

runtime::StatusOr<std::vector<Column>>
single(runtime::StatusOr<Column> column) {
  GRADUS_TRY(column.status());
  return std::vector<Column>{*std::move(column)};
}

runtime::StatusOr<std::vector<Column>> readBytes(const Argument &argument) {
  GRADUS_ASSIGN(FileBytes file, readFile(argument.path));
  if (absl::EndsWith(argument.path, ".npz"))
    return readNpz(file);
  if (absl::EndsWith(argument.path, ".bin"))
    return readCifar(file, argument.name.empty() ? "image" : argument.name);
  bool npy = absl::EndsWith(argument.path, ".npy");
  if (!npy && !isIdx(file.bytes))
    return invalid("is not a data set: expected .safetensors, .npz, .npy, "
                   "CIFAR .bin or an IDX file");
  GRADUS_TRY(needsName(argument));
  return single(npy ? readNpy(file, argument.name)
                    : readIdx(file, argument.name));
}

runtime::StatusOr<std::vector<Column>> readColumns(const Argument &argument) {
  if (absl::EndsWith(argument.path, ".safetensors"))
    return readSafetensorsColumns(argument.path);
  auto columns = readBytes(argument);
  if (!columns.ok() &&
      !absl::StrContains(columns.status().message(), argument.path))
    return at(columns.status(), argument.path);
  return columns;
}

bool sameSamples(const TensorType &a, const TensorType &b) {
  return a.dtype == b.dtype && a.shape.size() == b.shape.size() &&
         std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1);
}

/// `first` followed by `second` along the samples.
Column join(const Column &first, const Column &second) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(first.bytes.begin(),
                                                      first.bytes.end());
  bytes->insert(bytes->end(), second.bytes.begin(), second.bytes.end());
  Column joined = first;
  joined.type.shape[0] += second.type.shape[0];
  joined.bytes = *bytes;
  joined.owner = bytes;
  return joined;
}

} // namespace

runtime::StatusOr<Dataset>
Dataset::open(const std::vector<std::string> &arguments) {
  Dataset dataset;
  std::vector<std::string> paths;
  for (const std::string &text : arguments) {
    Argument argument = parse(text);
    paths.push_back(argument.path);
    GRADUS_ASSIGN(std::vector<Column> columns, readColumns(argument));
    for (Column &column : columns)
      GRADUS_TRY(at(dataset.add(std::move(column)), argument.path));
  }
  dataset.source_ = absl::StrJoin(paths, ", ");
  return dataset;
}

std::string Dataset::pathOf(const std::string &argument) {
  return parse(argument).path;
}

runtime::Status Dataset::add(Column column) {
  for (Column &present : columns_) {
    if (present.name != column.name)
      continue;
    if (column.type.shape.empty() || !sameSamples(present.type, column.type))
      return invalid("tensor '", column.name, "' is ", toString(column.type),
                     " and does not continue the ", toString(present.type),
                     " of the files before it");
    present = join(present, column);
    return runtime::Status();
  }
  columns_.push_back(std::move(column));
  return runtime::Status();
}

const Column *Dataset::find(const std::string &name) const {
  for (const Column &column : columns_)
    if (column.name == name)
      return &column;
  return nullptr;
}

std::string Dataset::contents() const {
  if (columns_.empty())
    return "nothing";
  return absl::StrJoin(
      columns_, ", ", [](std::string *out, const Column &column) {
        absl::StrAppend(out, column.name, " ", toString(column.type));
      });
}

} // namespace gradus::data
