// Chooses the reader of a file, and joins several files to one data set.

#include "training/data/dataset.h"

#include "runtime/status.h"
#include "training/data/formats.h"
#include "training/data/guarded_read.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

/// Extensions of files behind which an argument may name a part.
constexpr std::string_view kBeforeParts[] = {".csv:", ".npz:"};

struct Argument {
  std::string name; // empty if not given
  std::string path;
  std::string part; // columns of .csv or an array of .npz; empty: not given
};

/// Returns the position and length of the last of kBeforeParts in a text.
std::pair<size_t, size_t> findPart(const std::string &text) {
  for (std::string_view before : kBeforeParts)
    if (size_t at = text.rfind(before); at != std::string::npos)
      return {at, before.size()};
  return {std::string::npos, 0};
}

Argument parse(const std::string &text) {
  Argument argument{"", text, ""};
  size_t equals = text.find('=');
  // A '=' after a '/' belongs to a path, one after ".csv:" to a column.
  if (equals != std::string::npos && text.find('/') > equals &&
      findPart(text).first > equals)
    argument = {text.substr(0, equals), text.substr(equals + 1), ""};
  auto [before, size] = findPart(argument.path);
  if (before != std::string::npos) {
    argument.part = argument.path.substr(before + size);
    argument.path.resize(before + size - 1);
  }
  return argument;
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

/// Refuses images that have the name of the labels beside them.
runtime::StatusOr<std::vector<Column>>
withLabels(runtime::StatusOr<std::vector<Column>> columns) {
  GRADUS_TRY(columns.status());
  if (columns->size() == 2 && (*columns)[0].name == (*columns)[1].name)
    return invalid("its images cannot be named '", (*columns)[0].name,
                   "', which is the name of its labels; write another NAME=");
  return columns;
}

/// A .bin file is read as tokens if it has their header, or if it has a NAME
/// and is not CIFAR; otherwise it is read as CIFAR.
runtime::StatusOr<std::vector<Column>> readBin(const Argument &argument,
                                               const std::string &image,
                                               const FileBytes &file) {
  if (hasTokenHeader(file.bytes)) {
    GRADUS_TRY(needsName(argument));
    return single(readTokens(file, argument.name, false));
  }
  if (!argument.name.empty() && !isCifar(file.bytes))
    return single(readTokens(file, argument.name, false));
  return withLabels(readCifar(file, image));
}

runtime::StatusOr<std::vector<Column>> readCsvFile(const Argument &argument,
                                                   const FileBytes &file) {
  if (argument.name.empty() && argument.part.empty())
    return readCsv(file);
  if (argument.name.empty() || argument.part.empty())
    return invalid("write NAME=FILE.csv:COLUMN,COLUMN,... for a tensor of "
                   "several columns, or FILE.csv for a tensor of each");
  return single(readCsvColumns(file, argument.name, argument.part));
}

/// Reads the bytes of a file by its format. Errors do not name the file.
runtime::StatusOr<std::vector<Column>> readBytes(const Argument &argument,
                                                 const std::string &image,
                                                 const FileBytes &file) {
  auto endsIn = [&](absl::string_view ending) {
    return absl::EndsWith(argument.path, ending);
  };
  if (endsIn(".npz"))
    return readNpz(file, argument.part);
  if (endsIn(".csv"))
    return readCsvFile(argument, file);
  if (endsIn(".bin"))
    return readBin(argument, image, file);
  bool npy = endsIn(".npy"), tokens = endsIn(".u16") || endsIn(".u32");
  if (!npy && !tokens && !isIdx(file.bytes))
    return invalid("is not a data set: expected .safetensors, .npz, .npy, "
                   ".csv, CIFAR .bin, tokens (.bin, .u16, .u32), an IDX "
                   "file or a folder of images");
  GRADUS_TRY(needsName(argument));
  if (tokens)
    return single(readTokens(file, argument.name, endsIn(".u32")));
  return single(npy ? readNpy(file, argument.name)
                    : readIdx(file, argument.name));
}

/// Reads images from a folder, or a file that is opened here.
runtime::StatusOr<std::vector<Column>>
readImagesOrBytes(const Argument &argument) {
  std::string image = argument.name.empty() ? "image" : argument.name;
  runtime::StatusOr<std::vector<Column>> columns = runtime::Status();
  if (std::error_code none;
      std::filesystem::is_directory(argument.path, none)) {
    GRADUS_ASSIGN(auto images, readImageFolder(argument.path, image));
    columns = withLabels(std::move(images));
  } else {
    GRADUS_ASSIGN(FileBytes file, readFile(argument.path));
    columns = readBytes(argument, image, file);
  }
  GRADUS_TRY(at(columns.status(), argument.path));
  return columns;
}

/// Gives the only tensor of a file another name.
runtime::Status rename(std::vector<Column> &columns, const Argument &argument) {
  if (argument.name.empty())
    return runtime::Status();
  if (columns.size() != 1) {
    std::string names =
        absl::StrJoin(columns, ", ", [](std::string *out, const Column &each) {
          out->append(each.name);
        });
    return invalid(argument.path, ": its tensors have names of their own (",
                   names, "); write it without ", argument.name, "=",
                   absl::EndsWith(argument.path, ".npz")
                       ? inWords(", or ", argument.name, "=", argument.path,
                                 ":", columns.front().name, " for one of them")
                       : "");
  }
  columns[0].name = argument.name;
  return runtime::Status();
}

runtime::StatusOr<std::vector<Column>> readColumns(const Argument &argument) {
  bool named = absl::EndsWith(argument.path, ".safetensors");
  auto columns = named ? readSafetensorsColumns(argument.path)
                       : readImagesOrBytes(argument);
  GRADUS_TRY(columns.status());
  if (named || absl::EndsWith(argument.path, ".npz"))
    GRADUS_TRY(rename(*columns, argument));
  return columns;
}

bool sameSamples(const TensorType &a, const TensorType &b) {
  return a.dtype == b.dtype && a.shape.size() == b.shape.size() &&
         std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1);
}

/// Marks bytes of rank 3 or more as images, in every file format.
void markPixels(Column &column) {
  if (column.type.dtype == DType::u8 && column.type.shape.size() >= 3)
    column.meaning = Meaning::pixels;
}

/// The members that describe a wrong cell.
constexpr std::string Column::*kNotes[] = {
    &Column::notNumber, &Column::notInteger, &Column::notF32};

/// Puts the file name in front of what is said about cells.
void nameFile(Column &column, const std::string &path) {
  for (auto note : kNotes)
    if (!(column.*note).empty())
      column.*note = inWords(path, ": ", column.*note);
}

bool canContinue(const Column &present, const Column &column) {
  return !column.type.shape.empty() && present.meaning == column.meaning &&
         sameSamples(present.type, column.type);
}

/// Changes a folder's labels to indices of its classes in `names`.
runtime::Status recount(Column &labels, const std::vector<std::string> &names,
                        const std::string &of) {
  std::vector<int64_t> places;
  for (const std::string &name : *labels.classes) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return invalid("its folder '", name, "' is none of the classes of ", of,
                     " (", absl::StrJoin(names, ", ").substr(0, 400), ")");
    places.push_back(found - names.begin());
  }
  auto owner = std::make_shared<std::vector<int64_t>>(labels.type.shape[0]);
  std::memcpy(owner->data(), labels.bytes.data(), labels.bytes.size());
  for (int64_t &label : *owner)
    label = places[label];
  labels.bytes = {reinterpret_cast<const uint8_t *>(owner->data()),
                  owner->size() * sizeof(int64_t)};
  labels.owner = owner;
  labels.classes = std::make_shared<const std::vector<std::string>>(names);
  return runtime::Status();
}

/// Concatenates two columns along the samples.
runtime::StatusOr<Column> join(const Column &first, const Column &second) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(first.bytes.size() +
                                                      second.bytes.size());
  uint8_t *to = bytes->data();
  for (const Column *each : {&first, &second}) {
    GRADUS_TRY(copySamples(each->name, each->type.shape[0], each->bytes, to));
    to += each->bytes.size();
  }
  Column joined = first;
  joined.type.shape[0] += second.type.shape[0];
  joined.bytes = *bytes;
  joined.owner = bytes;
  if (first.files) {
    auto files = std::make_shared<std::vector<std::string>>(*first.files);
    files->insert(files->end(), second.files->begin(), second.files->end());
    joined.files = files;
  }
  for (auto note : kNotes)
    if ((joined.*note).empty())
      joined.*note = second.*note;
  return joined;
}

} // namespace

runtime::StatusOr<Dataset>
Dataset::open(const std::vector<std::string> &arguments) {
  Dataset dataset;
  std::vector<std::string> paths;
  bool several = std::any_of(arguments.begin(), arguments.end(),
                             [&](const std::string &text) {
                               return pathOf(text) != pathOf(arguments.front());
                             });
  for (const std::string &text : arguments) {
    Argument argument = parse(text);
    if (std::find(paths.begin(), paths.end(), argument.path) == paths.end())
      paths.push_back(argument.path);
    GRADUS_ASSIGN(std::vector<Column> columns, readColumns(argument));
    for (Column &column : columns) {
      markPixels(column);
      if (!column.remark.empty())
        dataset.remarks_.push_back(inWords(argument.path, ": ", column.remark));
      if (several)
        nameFile(column, argument.path);
      GRADUS_TRY(at(dataset.add(std::move(column)), argument.path));
    }
  }
  dataset.source_ = absl::StrJoin(paths, ", ");
  return dataset;
}

runtime::StatusOr<Dataset> Dataset::of(std::vector<Column> columns,
                                       const std::string &source) {
  Dataset dataset;
  dataset.source_ = source;
  for (Column &column : columns)
    GRADUS_TRY(at(dataset.add(std::move(column)), source));
  return dataset;
}

std::string Dataset::pathOf(const std::string &argument) {
  return parse(argument).path;
}

runtime::Status Dataset::add(Column column) {
  for (Column &present : columns_) {
    if (present.name != column.name)
      continue;
    if (present.classes && column.classes)
      GRADUS_TRY(recount(column, *present.classes, "the files before it"));
    if (!canContinue(present, column))
      return invalid("tensor '", column.name, "' is ", toString(column.type),
                     " and does not continue the ", toString(present.type),
                     " of the files before it");
    GRADUS_ASSIGN(present, join(present, column));
    return runtime::Status();
  }
  columns_.push_back(std::move(column));
  return runtime::Status();
}

const std::vector<std::string> *Dataset::classes() const {
  for (const Column &column : columns_)
    if (column.classes)
      return column.classes.get();
  return nullptr;
}

runtime::Status Dataset::countClassesAs(const std::vector<std::string> &names,
                                        const std::string &of) {
  for (Column &column : columns_)
    if (column.classes && *column.classes != names)
      GRADUS_TRY(at(recount(column, names, of), source_));
  return runtime::Status();
}

const Column *Dataset::find(const std::string &name) const {
  for (const Column &column : columns_)
    if (column.name == name)
      return &column;
  return nullptr;
}

const Column *Dataset::stream() const {
  auto isStream = [](const Column &column) {
    return column.meaning == Meaning::tokens;
  };
  auto only = std::find_if(columns_.begin(), columns_.end(), isStream);
  if (only == columns_.end() ||
      std::find_if(only + 1, columns_.end(), isStream) != columns_.end())
    return nullptr;
  return &*only;
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
