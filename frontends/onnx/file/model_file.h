// An ONNX file and the data files beside it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class GraphProto;
class ModelProto;
class TensorProto;
} // namespace onnx

namespace gradus::onnx {

/// The element type of an ONNX data type; null if we have none.
mlir::Type elementType(int dataType, mlir::MLIRContext &context);
bool hasElementType(int dataType);
/// Whether the integers of a data type are unsigned; the types of elementType()
/// are signless (i8), as graphs compute with them.
bool isUnsigned(int dataType);
/// The name, such as FLOAT16, for errors.
std::string dataTypeName(int dataType);

/// The version of a model's default operator set; 0 if it names only others.
int64_t opsetOf(const ::onnx::ModelProto &model);

/// A model's messages hold all values, so that it can be written again, or
/// large values stay in the file, to be read once.
enum class Contents { separated, whole };

class ModelFile {
public:
  static absl::StatusOr<std::unique_ptr<ModelFile>>
  open(const std::string &path, Contents contents = Contents::separated);
  /// Reads a model in memory, which lives as long as its values; `path` is its
  /// name. So do its data files, by the names that it has for them, of which it
  /// must have each; those that are not given are in its folder, or without a
  /// folder missing.
  static absl::StatusOr<std::unique_ptr<ModelFile>>
  fromBytes(llvm::StringRef bytes, const std::string &path, bool hasFolder,
            const std::map<std::string, llvm::StringRef> &dataFiles = {});
  ~ModelFile();

  const std::string &path() const { return path_; }
  const ::onnx::GraphProto &graph() const;
  /// The model; it can be written again only if its contents are whole.
  ::onnx::ModelProto &model() { return *model_; }
  /// opsetOf() the model.
  int64_t opset() const;
  /// Whether it names any operator set.
  bool hasOpset() const;

  /// The type of an initializer or constant.
  absl::StatusOr<mlir::RankedTensorType> type(const ::onnx::TensorProto &tensor,
                                              mlir::MLIRContext &context) const;
  /// The tensor's elements, wherever they are stored.
  absl::StatusOr<mlir::DenseElementsAttr>
  elements(const ::onnx::TensorProto &tensor, mlir::MLIRContext &context);
  /// The tensor's elements without a copy of large ones: they stay in the
  /// mapped file, which lives as long as they do.
  absl::StatusOr<mlir::ElementsAttr>
  elementsInPlace(const ::onnx::TensorProto &tensor,
                  mlir::MLIRContext &context);

  /// The tensor's bytes; in `storage` if the file does not have them in this
  /// form.
  absl::StatusOr<llvm::StringRef> floatBytes(const ::onnx::TensorProto &tensor,
                                             std::string &storage);

  /// Whether the tensor's data file is missing.
  bool isMissing(const ::onnx::TensorProto &tensor);
  /// The size of the file and of the data files beside it.
  uint64_t storedBytes() const;
  /// All initializers of the model, including those in nested graphs.
  std::vector<::onnx::TensorProto *> initializers() const;
  /// Paths of the initializers' data files, present or missing.
  std::vector<std::string> dataFiles() const;
  /// Missing data files and the initializers in them.
  std::map<std::string, std::vector<std::string>> missing();

private:
  ModelFile();
  absl::Status read(Contents contents);
  bool parse(llvm::StringRef bytes, Contents contents);
  absl::StatusOr<llvm::StringRef> typedBytes(const ::onnx::TensorProto &tensor,
                                             mlir::RankedTensorType type,
                                             std::string &storage);
  absl::StatusOr<llvm::StringRef> bytes(const ::onnx::TensorProto &tensor,
                                        uint64_t expected,
                                        std::string &storage);
  absl::StatusOr<llvm::StringRef>
  externalBytes(const ::onnx::TensorProto &tensor, uint64_t expected);
  using DataFile = absl::StatusOr<std::shared_ptr<llvm::MemoryBuffer>>;
  const DataFile &dataFile(const std::string &location);
  absl::Status checkDataFiles();
  std::string pathOf(const std::string &location) const;
  /// Names of the data files of all its tensors.
  std::set<std::string> locations() const;

  std::string path_;
  bool hasFolder_ = true;
  std::unique_ptr<::onnx::ModelProto> model_;
  std::shared_ptr<llvm::MemoryBuffer> file_;
  /// The bytes in `file_` of initializers that are not in the messages.
  llvm::DenseMap<const ::onnx::TensorProto *, llvm::StringRef> values_;
  llvm::StringMap<DataFile> dataFiles_;
};

} // namespace gradus::onnx
