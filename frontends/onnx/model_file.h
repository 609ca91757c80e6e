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
#include <string>
#include <vector>

namespace onnx {
class GraphProto;
class ModelProto;
class TensorProto;
} // namespace onnx

namespace gradus::onnx {

/// The element type of an ONNX data type, or null where we have none.
mlir::Type elementType(int dataType, mlir::MLIRContext &context);
bool hasElementType(int dataType);
/// Integers have the types without sign that graphs compute with (i8), and this
/// says which stand for numbers from 0 on.
bool isUnsigned(int dataType);
/// Its name, such as FLOAT16; for errors.
std::string dataTypeName(int dataType);

/// Whether a model's messages hold all of its values, to be written again, or
/// large ones stay in the file, to be read once.
enum class Contents { separated, whole };

class ModelFile {
public:
  static absl::StatusOr<std::unique_ptr<ModelFile>>
  open(const std::string &path, Contents contents = Contents::separated);
  ~ModelFile();

  const std::string &path() const { return path_; }
  const ::onnx::GraphProto &graph() const;
  /// The model, which can be written again where its contents are whole.
  ::onnx::ModelProto &model() { return *model_; }
  /// The version of the default operator set; 0 where it names others alone.
  int64_t opset() const;
  /// Whether it names any operator set.
  bool hasOpset() const;

  /// The type of an initializer or constant.
  absl::StatusOr<mlir::RankedTensorType> type(const ::onnx::TensorProto &tensor,
                                              mlir::MLIRContext &context) const;
  /// Its elements, wherever they are stored.
  absl::StatusOr<mlir::DenseElementsAttr>
  elements(const ::onnx::TensorProto &tensor, mlir::MLIRContext &context);
  /// The same, of large ones without a copy: they stay in the mapped file,
  /// which outlives this object for them.
  absl::StatusOr<mlir::ElementsAttr>
  elementsInPlace(const ::onnx::TensorProto &tensor,
                  mlir::MLIRContext &context);

  /// Their bytes; in `storage` where the file does not hold them as such.
  absl::StatusOr<llvm::StringRef> floatBytes(const ::onnx::TensorProto &tensor,
                                             std::string &storage);

  /// True if the tensor lies in a file that is missing.
  bool isMissing(const ::onnx::TensorProto &tensor);
  /// The size of the file and of the data files beside it.
  uint64_t storedBytes() const;
  /// All of the model's, those of branches and of loops' bodies too.
  std::vector<::onnx::TensorProto *> initializers() const;
  /// Paths of the data files that initializers lie in, there or missing.
  std::vector<std::string> dataFiles() const;
  /// Missing data files and the initializers in them.
  std::map<std::string, std::vector<std::string>> missing();

private:
  ModelFile();
  bool read(llvm::StringRef bytes, Contents contents);
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

  std::string path_;
  std::unique_ptr<::onnx::ModelProto> model_;
  std::shared_ptr<llvm::MemoryBuffer> file_;
  /// Of initializers whose values stay in `file_`.
  llvm::DenseMap<const ::onnx::TensorProto *, llvm::StringRef> values_;
  llvm::StringMap<DataFile> dataFiles_;
};

} // namespace gradus::onnx
