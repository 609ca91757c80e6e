// Reads an ONNX file: protobuf, and tensor data from the five locations where
// they may be. Checks every size in the file against the data.

#include "frontends/onnx/file/model_file.h"

#include "frontends/onnx/file/data_file.h"
#include "frontends/onnx/file/embedded_values.h"
#include "frontends/onnx/file/float_size.h"
#include "frontends/onnx/file/functions.h"

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/own_statistics.h"
#include "frontends/onnx/file/size_limits.h"
#include "messages/error_kind.h"
#include "messages/message.h"

#include "ir/evaluator/values_in_place.h"

#include "mlir/IR/Builders.h"

#include <google/protobuf/io/coded_stream.h>

#include <set>

namespace gradus::onnx {
namespace {

using namespace mlir;
using ::onnx::TensorProto;

std::string external(const TensorProto &tensor, const char *key) {
  for (const auto &entry : tensor.external_data())
    if (entry.key() == key)
      return entry.value();
  return "";
}

bool isExternal(const TensorProto &tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

/// Copies repeated values as elements of type T.
template <typename T, typename Values>
void copyAs(const Values &values, std::string &storage) {
  storage.reserve(values.size() * sizeof(T));
  for (auto value : values) {
    T element = static_cast<T>(value);
    storage.append(reinterpret_cast<const char *>(&element), sizeof(T));
  }
}

/// Converts the typed fields of a tensor to the bytes that raw_data would have.
void copyTyped(const TensorProto &tensor, std::string &storage) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return copyAs<float>(tensor.float_data(), storage);
  case TensorProto::DOUBLE:
    return copyAs<double>(tensor.double_data(), storage);
  case TensorProto::INT64:
    return copyAs<int64_t>(tensor.int64_data(), storage);
  case TensorProto::INT32:
    return copyAs<int32_t>(tensor.int32_data(), storage);
  case TensorProto::UINT64:
    return copyAs<uint64_t>(tensor.uint64_data(), storage);
  case TensorProto::UINT32:
    return copyAs<uint32_t>(tensor.uint64_data(), storage);
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return copyAs<uint8_t>(tensor.int32_data(), storage);
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return copyAs<uint16_t>(tensor.int32_data(), storage);
  }
}

uint64_t bytesOf(Type element) {
  return element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8;
}

DenseElementsAttr makeElements(RankedTensorType type, llvm::StringRef bytes) {
  ArrayRef<char> raw(bytes.data(), bytes.size());
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, raw);
  SmallVector<bool> bits(raw.begin(), raw.end());
  return DenseElementsAttr::get(type, ArrayRef<bool>(bits));
}

absl::StatusOr<uint64_t> parseNumber(const std::string &text,
                                     uint64_t fallback) {
  uint64_t number = fallback;
  if (!text.empty() && llvm::StringRef(text).getAsInteger(10, number))
    return invalid("\"", text, "\" is no size");
  return number;
}

/// Parses with protobuf's own limit of 32 nested graphs; a deeper file is
/// parsed once more.
bool parse(::onnx::ModelProto &model, llvm::StringRef bytes) {
  if (model.ParseFromArray(bytes.data(), bytes.size()))
    return true;
  constexpr int kLevelsOfGraph = 3; // graph, node, attribute
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  stream.SetRecursionLimit(kLevelsOfGraph * kMostGraphs + 10);
  return model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

} // namespace

Type elementType(int dataType, MLIRContext &context) {
  Builder builder(&context);
  switch (dataType) {
  case TensorProto::FLOAT:
    return builder.getF32Type();
  case TensorProto::DOUBLE:
    return builder.getF64Type();
  case TensorProto::FLOAT16:
    return builder.getF16Type();
  case TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return builder.getI64Type();
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return builder.getI32Type();
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return builder.getI16Type();
  case TensorProto::INT8:
  case TensorProto::UINT8:
    return builder.getI8Type();
  case TensorProto::BOOL:
    return builder.getI1Type();
  }
  return {};
}

bool hasElementType(int dataType) {
  return dataType >= TensorProto::FLOAT && dataType <= TensorProto::BFLOAT16 &&
         dataType != TensorProto::STRING &&
         dataType != TensorProto::COMPLEX64 &&
         dataType != TensorProto::COMPLEX128;
}

bool isUnsigned(int dataType) {
  return dataType == TensorProto::UINT8 || dataType == TensorProto::UINT16 ||
         dataType == TensorProto::UINT32 || dataType == TensorProto::UINT64;
}

std::string dataTypeName(int dataType) {
  static const char *const kNames[] = {
      "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
      "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
      "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  if (dataType >= 0 && dataType < int(std::size(kNames)))
    return kNames[dataType];
  return message("type ", dataType);
}

ModelFile::ModelFile() : model_(std::make_unique<::onnx::ModelProto>()) {}
ModelFile::~ModelFile() = default;

absl::StatusOr<std::unique_ptr<ModelFile>>
ModelFile::open(const std::string &path, Contents contents) {
  GRADUS_ASSIGN_OR_RETURN(auto buffer, openRegularFile(path));
  std::unique_ptr<ModelFile> file(new ModelFile);
  file->path_ = path;
  file->file_ = std::move(buffer);
  GRADUS_RETURN_IF_ERROR(file->read(contents));
  return file;
}

absl::StatusOr<std::unique_ptr<ModelFile>>
ModelFile::fromBytes(llvm::StringRef bytes, const std::string &path,
                     bool hasFolder,
                     const std::map<std::string, llvm::StringRef> &dataFiles) {
  std::unique_ptr<ModelFile> file(new ModelFile);
  file->path_ = path;
  file->hasFolder_ = hasFolder;
  file->file_ = llvm::MemoryBuffer::getMemBuffer(
      bytes, path, /*RequiresNullTerminator=*/false);
  for (const auto &[name, contents] : dataFiles)
    file->dataFiles_[name] = std::shared_ptr(llvm::MemoryBuffer::getMemBuffer(
        contents, name, /*RequiresNullTerminator=*/false));
  GRADUS_RETURN_IF_ERROR(file->read(Contents::separated));
  const std::set<std::string> locations = file->locations();
  for (const auto &[name, contents] : dataFiles)
    if (!locations.contains(name))
      return invalid("names no data file \"", name, "\", which is given");
  return file;
}

absl::Status ModelFile::read(Contents contents) {
  if (file_->getBufferSize() > INT_MAX)
    return invalid("is larger than 2 GiB, which protobuf cannot read; store "
                   "its weights as external data");
  if (!parse(file_->getBuffer(), contents))
    return invalid("is no ONNX model, is damaged, or has graphs more than ",
                   kMostGraphs,
                   " deep in one another: protobuf cannot parse "
                   "it");
  if (!model_->has_graph())
    return invalid("is no ONNX model: it has no graph");
  GRADUS_RETURN_IF_ERROR(inlineFunctions(*model_));
  giveOwnStatistics(*model_->mutable_graph());
  return checkDataFiles();
}

/// Returns false if protobuf cannot parse the file.
bool ModelFile::parse(llvm::StringRef bytes, Contents contents) {
  std::optional<SeparatedModel> separated;
  if (contents == Contents::separated)
    separated = separateValues(bytes);
  if (!separated)
    return onnx::parse(*model_, bytes);
  if (!onnx::parse(*model_, separated->rest))
    return false;
  for (auto [number, values] : separated->values)
    values_[&model_->graph().initializer(number)] = values;
  return true;
}

const ::onnx::GraphProto &ModelFile::graph() const { return model_->graph(); }

int64_t opsetOf(const ::onnx::ModelProto &model) {
  for (const auto &set : model.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx")
      return set.version();
  return 0;
}

int64_t ModelFile::opset() const { return opsetOf(*model_); }

bool ModelFile::hasOpset() const { return model_->opset_import_size() > 0; }

absl::StatusOr<RankedTensorType> ModelFile::type(const TensorProto &tensor,
                                                 MLIRContext &context) const {
  Type element = elementType(tensor.data_type(), context);
  if (!element)
    return unsupported("tensor \"", tensor.name(), "\" has elements of ",
                       dataTypeName(tensor.data_type()),
                       ", which is not supported");
  if (!isWithin(tensor.dims(), kMostElements))
    return invalid("tensor \"", tensor.name(), "\" has the impossible shape [",
                   joined(tensor.dims(), ", "), "]");
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  return RankedTensorType::get(shape, element);
}

absl::StatusOr<DenseElementsAttr> ModelFile::elements(const TensorProto &tensor,
                                                      MLIRContext &context) {
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType tensorType, type(tensor, context));
  std::string storage;
  GRADUS_ASSIGN_OR_RETURN(llvm::StringRef data,
                          typedBytes(tensor, tensorType, storage));
  return makeElements(tensorType, data);
}

absl::StatusOr<ElementsAttr>
ModelFile::elementsInPlace(const TensorProto &tensor, MLIRContext &context) {
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType tensorType, type(tensor, context));
  std::string storage;
  GRADUS_ASSIGN_OR_RETURN(llvm::StringRef data,
                          typedBytes(tensor, tensorType, storage));
  std::shared_ptr<llvm::MemoryBuffer> file =
      isExternal(tensor)          ? *dataFile(external(tensor, "location"))
      : values_.contains(&tensor) ? file_
                                  : nullptr;
  if (!file)
    return makeElements(tensorType, data);
  return valuesInPlace(tensorType, ArrayRef<char>(data.data(), data.size()),
                       tensor.name(), [file] { file->dontNeedIfMmap(); });
}

absl::StatusOr<llvm::StringRef> ModelFile::typedBytes(const TensorProto &tensor,
                                                      RankedTensorType type,
                                                      std::string &storage) {
  uint64_t expected = type.getNumElements() * bytesOf(type.getElementType());
  absl::StatusOr<llvm::StringRef> data = bytes(tensor, expected, storage);
  if (!data.ok())
    return invalid("tensor \"", tensor.name(), "\": ", data.status().message());
  return data;
}

absl::StatusOr<llvm::StringRef> ModelFile::floatBytes(const TensorProto &tensor,
                                                      std::string &storage) {
  uint64_t expected = floatSize(tensor);
  if (expected == 0)
    return invalid("tensor \"", tensor.name(), "\" holds no floats");
  if (!isWithin(tensor.dims(), kMostElements))
    return invalid("tensor \"", tensor.name(), "\" has an impossible shape");
  for (int64_t extent : tensor.dims())
    expected *= extent;
  return bytes(tensor, expected, storage);
}

absl::StatusOr<llvm::StringRef> ModelFile::bytes(const TensorProto &tensor,
                                                 uint64_t expected,
                                                 std::string &storage) {
  if (isExternal(tensor))
    return externalBytes(tensor, expected);
  auto inFile = values_.find(&tensor);
  bool isRaw = tensor.has_raw_data() || inFile != values_.end();
  if (!isRaw)
    copyTyped(tensor, storage);
  llvm::StringRef data = inFile != values_.end() ? inFile->second
                         : isRaw ? llvm::StringRef(tensor.raw_data())
                                 : llvm::StringRef(storage);
  if (data.size() != expected)
    return invalid("has ", data.size(), " bytes of data; its shape needs ",
                   expected);
  return data;
}

absl::StatusOr<llvm::StringRef>
ModelFile::externalBytes(const TensorProto &tensor, uint64_t expected) {
  std::string location = external(tensor, "location");
  const DataFile &opened = dataFile(location);
  if (!opened.ok())
    return opened.status();
  const llvm::MemoryBuffer &file = **opened;
  GRADUS_ASSIGN_OR_RETURN(uint64_t offset,
                          parseNumber(external(tensor, "offset"), 0));
  GRADUS_ASSIGN_OR_RETURN(uint64_t length,
                          parseNumber(external(tensor, "length"), expected));
  if (length != expected)
    return invalid("has ", length, " bytes of data; its shape needs ",
                   expected);
  if (offset > file.getBufferSize() || expected > file.getBufferSize() - offset)
    return invalid("ends at byte ", offset + expected, " of \"", location,
                   "\", which has ", file.getBufferSize());
  return file.getBuffer().substr(offset, expected);
}

const ModelFile::DataFile &ModelFile::dataFile(const std::string &location) {
  auto [entry, isNew] = dataFiles_.try_emplace(location);
  if (isNew)
    entry->second =
        hasFolder_ ? openDataFile(path_, location)
                   : absl::NotFoundError("the model is in memory, without a "
                                         "folder for its data files");
  return entry->second;
}

/// A data file may be missing, but it must not be one that we may not read.
absl::Status ModelFile::checkDataFiles() {
  for (const TensorProto *tensor : initializers())
    if (isExternal(*tensor) && !isMissing(*tensor))
      if (const DataFile &file = dataFile(external(*tensor, "location"));
          !file.ok())
        return invalid("tensor \"", tensor->name(),
                       "\": ", file.status().message());
  return absl::OkStatus();
}

std::string ModelFile::pathOf(const std::string &location) const {
  return dataPath(path_, location);
}

/// Visits the initializers of a graph and of those inside of it, and with
/// `constants` the tensors among attributes of nodes, too.
static void visitTensors(::onnx::GraphProto &graph, bool constants,
                         llvm::function_ref<void(TensorProto &)> visit) {
  llvm::for_each(*graph.mutable_initializer(), visit);
  for (::onnx::NodeProto &node : *graph.mutable_node())
    for (::onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (constants && attribute.has_t())
        visit(*attribute.mutable_t());
      if (constants)
        llvm::for_each(*attribute.mutable_tensors(), visit);
      if (attribute.has_g())
        visitTensors(*attribute.mutable_g(), constants, visit);
      for (::onnx::GraphProto &inner : *attribute.mutable_graphs())
        visitTensors(inner, constants, visit);
    }
}

std::vector<TensorProto *> ModelFile::initializers() const {
  std::vector<TensorProto *> all;
  visitTensors(*model_->mutable_graph(), /*constants=*/false,
               [&](TensorProto &tensor) { all.push_back(&tensor); });
  return all;
}

std::set<std::string> ModelFile::locations() const {
  std::set<std::string> all;
  visitTensors(*model_->mutable_graph(), /*constants=*/true,
               [&](TensorProto &tensor) {
                 if (isExternal(tensor))
                   all.insert(external(tensor, "location"));
               });
  return all;
}

std::vector<std::string> ModelFile::dataFiles() const {
  std::vector<std::string> paths;
  for (const std::string &location : locations())
    paths.push_back(pathOf(location));
  return paths;
}

uint64_t ModelFile::storedBytes() const {
  uint64_t bytes = file_->getBufferSize();
  for (const auto &entry : dataFiles_)
    if (const DataFile &file = entry.second; file.ok())
      bytes += (*file)->getBufferSize();
  return bytes;
}

bool ModelFile::isMissing(const TensorProto &tensor) {
  return isExternal(tensor) &&
         absl::IsNotFound(dataFile(external(tensor, "location")).status());
}

std::map<std::string, std::vector<std::string>> ModelFile::missing() {
  std::map<std::string, std::vector<std::string>> result;
  for (const TensorProto *tensor : initializers())
    if (isMissing(*tensor))
      result[external(*tensor, "location")].push_back(tensor->name());
  return result;
}

} // namespace gradus::onnx
