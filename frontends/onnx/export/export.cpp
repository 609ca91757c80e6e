// Writes trained values into a model. Of a file, names, nodes and metadata stay
// as its exporter wrote them; only initializers change, and with
// ExportOptions::inference the form of two ops. Running statistics that shared
// a tensor get their own (own_statistics.h).

#include "frontends/onnx/export/export.h"

#include "frontends/onnx/export/export_normalization.h"
#include "frontends/onnx/export/program_model.h"
#include "frontends/onnx/file/model_file.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/importer/thrown.h"
#include "frontends/onnx/operators/random.h"
#include "messages/error_kind.h"
#include "messages/message.h"
#include "runtime/float_conversion.h"
#include "runtime/well_known.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace gradus {
namespace onnx {
namespace {

using ::onnx::NodeProto;
using ::onnx::TensorProto;

const char *dtypeOf(const TensorProto &tensor) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return "f32";
  case TensorProto::DOUBLE:
    return "f64";
  case TensorProto::FLOAT16:
    return "f16";
  case TensorProto::BFLOAT16:
    return "bf16";
  }
  return nullptr;
}

constexpr const char *kFromArtifact = "gradus export STEP.gradus --checkpoint "
                                      "FILE.safetensors -o FILE.onnx";

void setBytes(TensorProto &tensor, std::string bytes) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(bytes));
}

/// Converts values to a floating-point type.
std::string bytesAs(const char *dtype, const TrainedTensor &trained) {
  if (dtype == trained.dtype)
    return std::string(trained.bytes.begin(), trained.bytes.end());
  auto bytesOf = [](std::string_view type) {
    return type == "f64" ? 8 : type == "f32" ? 4 : 2;
  };
  size_t count = trained.bytes.size() / bytesOf(trained.dtype);
  std::string bytes(count * bytesOf(dtype), '\0');
  runtime::convertFloats(trained.dtype, dtype, trained.bytes.data(),
                         bytes.data(), count);
  return bytes;
}

absl::Status setTrained(TensorProto &tensor, const TrainedTensor &trained) {
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  bool converts = runtime::areFloats(trained.dtype, dtypeOf(tensor));
  if (shape != trained.shape || !converts)
    return invalid("\"", trained.name, "\" is [", joined(trained.shape),
                   "] of ", trained.dtype, "; the model's is [", joined(shape),
                   "] of ", dtypeOf(tensor));
  setBytes(tensor, bytesAs(dtypeOf(tensor), trained));
  return absl::OkStatus();
}

//===-- inference ---------------------------------------------------------===//

void removeAttribute(NodeProto &node, const std::string &name) {
  for (int i = node.attribute_size(); i-- > 0;)
    if (node.attribute(i).name() == name)
      node.mutable_attribute()->DeleteSubrange(i, 1);
}

/// Turns batch normalization and dropout into their inference forms.
void makeInference(NodeProto &node) {
  if (node.op_type() == "BatchNormalization") {
    removeAttribute(node, "training_mode");
    while (node.output_size() > 1)
      node.mutable_output()->RemoveLast();
  }
  if (node.op_type() == "Dropout" && node.input_size() > 2)
    node.mutable_input()->RemoveLast();
}

/// Returns the first node that draws random numbers, also in nested graphs;
/// null if there is none.
const NodeProto *findDrawing(const ::onnx::GraphProto &graph) {
  for (const NodeProto &node : graph.node()) {
    if (llvm::any_of(randomOperators(), [&](const Operator &drawing) {
          return node.op_type() == drawing.name;
        }))
      return &node;
    for (const auto &attribute : node.attribute())
      if (const NodeProto *nested = findDrawing(attribute.g()))
        return nested;
  }
  return nullptr;
}

/// Only a program tells which random numbers are masks of dropout.
absl::Status refuseRandom(const ::onnx::GraphProto &graph) {
  const NodeProto *drawing = findDrawing(graph);
  if (!drawing)
    return absl::OkStatus();
  return invalid("draws random numbers (", drawing->op_type(), " \"",
                 drawing->name(),
                 "\"); --inference of such a model needs the "
                 "artifact in place of the file, and --inference again: ",
                 kFromArtifact);
}

//===-- sizes -------------------------------------------------------------===//

/// Sets symbolic sizes, which have the importer's names: their own, or
/// `input.0` if they have none.
void bindInputs(::onnx::GraphProto &graph,
                const std::map<std::string, int64_t> &sizes) {
  for (auto &input : *graph.mutable_input()) {
    auto &shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      auto &dimension = *shape.mutable_dim(axis);
      bool isKnown = dimension.has_dim_value() && dimension.dim_value() > 0;
      auto size = sizes.find(dimension.dim_param().empty()
                                 ? message(input.name(), ".", axis)
                                 : dimension.dim_param());
      if (!isKnown && size != sizes.end())
        dimension.set_dim_value(size->second);
    }
  }
}

//===-- large models ------------------------------------------------------===//

void addEntry(TensorProto &tensor, const char *key, const std::string &value) {
  auto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

/// Moves the raw bytes of the initializers into one data file.
std::string moveOut(const std::vector<TensorProto *> &initializers,
                    const std::string &name) {
  constexpr size_t kAlignment = 4096; // lets a reader map it
  std::string data;
  for (TensorProto *each : initializers) {
    TensorProto &tensor = *each;
    if (tensor.raw_data().size() < 1024)
      continue;
    data.resize((data.size() + kAlignment - 1) / kAlignment * kAlignment);
    addEntry(tensor, "location", name);
    addEntry(tensor, "offset", std::to_string(data.size()));
    addEntry(tensor, "length", std::to_string(tensor.raw_data().size()));
    data += tensor.raw_data();
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
  }
  return data;
}

//===-- the export --------------------------------------------------------===//

using TrainedTensors = std::map<std::string, const TrainedTensor *>;

TrainedTensors byName(const std::vector<TrainedTensor> &trained) {
  TrainedTensors all;
  for (const TrainedTensor &tensor : trained)
    all[tensor.name] = &tensor;
  return all;
}

/// Gives a model its trained values and writes it.
class Exporter {
public:
  Exporter(::onnx::ModelProto &model, std::vector<TensorProto *> initializers,
           const std::vector<TrainedTensor> &trained,
           const ExportOptions &options)
      : model_(model), initializers_(std::move(initializers)),
        options_(options), trained_(byName(trained)) {}

  /// `bringIn` moves a value that stays from its data file into the model, or
  /// refuses one that must not stay.
  absl::StatusOr<ExportedOnnx>
  run(llvm::function_ref<absl::Status(TensorProto &)> bringIn) {
    for (TensorProto *tensor : initializers_)
      GRADUS_RETURN_IF_ERROR(write(*tensor, bringIn));
    if (result_.written.empty())
      return invalid("none of the ", trained_.size(),
                     " trained tensors is an initializer of the model");
    GRADUS_RETURN_IF_ERROR(normalize());
    if (bytes_ > options_.largestInside)
      result_.data = moveOut(initializers_, options_.dataName);
    if (!model_.SerializeToString(&result_.model))
      return invalid("takes more than 2 GiB without its initializers, which a "
                     "file of ONNX's cannot hold");
    return std::move(result_);
  }

private:
  absl::Status normalize() {
    auto normalizations = ofInputs(model_.graph(), options_.normalizations);
    if (options_.withNormalization)
      return addNormalization(model_, normalizations);
    for (const InputNormalization &each : normalizations)
      result_.wantNormalized.push_back(each.input);
    return absl::OkStatus();
  }

  absl::Status write(TensorProto &tensor,
                     llvm::function_ref<absl::Status(TensorProto &)> bringIn) {
    auto found = trained_.find(tensor.name());
    if (found != trained_.end() && dtypeOf(tensor)) {
      GRADUS_RETURN_IF_ERROR(setTrained(tensor, *found->second));
      result_.written.push_back(tensor.name());
    } else {
      GRADUS_RETURN_IF_ERROR(bringIn(tensor));
      if (dtypeOf(tensor) && tensor.dims_size())
        result_.kept.push_back(tensor.name());
    }
    bytes_ += tensor.raw_data().size();
    return absl::OkStatus();
  }

  ::onnx::ModelProto &model_;
  std::vector<TensorProto *> initializers_;
  const ExportOptions &options_;
  TrainedTensors trained_;
  ExportedOnnx result_;
  uint64_t bytes_ = 0;
};

//===-- models that methods changed ---------------------------------------===//

/// The trained values of a file's initializers show whether a method changed
/// the model that was trained.
class Unchanged {
public:
  Unchanged(const ::onnx::GraphProto &graph, const TrainedTensors &trained)
      : graph_(graph), trained_(trained) {
    for (const TensorProto &tensor : graph.initializer()) {
      initializers_.insert(tensor.name());
      layers_.insert(layerOf(tensor.name()));
    }
  }

  absl::Status check() const {
    for (const auto &[name, tensor] : trained_)
      if (isMultiplier(name))
        return refuse("\"" + name + "\", which fc_to_fn adds to a layer");
    // Weights that are no checkpoint of a training may lack some.
    if (trained_.contains(well_known::kStep))
      for (const NodeProto &node : graph_.node())
        if (lacksStates(node))
          return refuse("no state of the batch normalization of \"" +
                        node.input(1) + "\", as less_bn leaves it");
    return absl::OkStatus();
  }

private:
  static llvm::StringRef layerOf(llvm::StringRef name) {
    return name.rsplit('.').first;
  }

  bool isMultiplier(llvm::StringRef name) const {
    return !initializers_.contains(name) &&
           name.consume_back(well_known::kMultiplier) && layers_.contains(name);
  }

  /// Whether the file has running statistics of a batch normalization that was
  /// not trained. Scale and bias may be those of other layers, too.
  bool lacksStates(const NodeProto &node) const {
    if (node.op_type() != "BatchNormalization" || node.input_size() != 5)
      return false;
    const std::string &mean = node.input(3), &variance = node.input(4);
    return (initializers_.contains(mean) || initializers_.contains(variance)) &&
           !trained_.contains(mean) && !trained_.contains(variance);
  }

  static absl::Status refuse(const std::string &found) {
    return invalid("is not the model that was trained: the checkpoint has ",
                   found,
                   "; its artifact carries the changed model: ", kFromArtifact);
  }

  const ::onnx::GraphProto &graph_;
  const TrainedTensors &trained_;
  llvm::StringSet<> initializers_, layers_;
};

//===-- a file ------------------------------------------------------------===//

absl::Status bringIn(ModelFile &file, TensorProto &tensor) {
  if (tensor.data_location() != TensorProto::EXTERNAL)
    return absl::OkStatus();
  mlir::MLIRContext context;
  GRADUS_ASSIGN_OR_RETURN(mlir::DenseElementsAttr elements,
                          file.elements(tensor, context));
  llvm::ArrayRef<char> raw = elements.getRawData();
  std::string bytes(raw.begin(), raw.end());
  if (elements.isSplat()) // stored once
    for (int64_t i = 1; i < elements.getNumElements(); ++i)
      bytes.append(raw.begin(), raw.end());
  setBytes(tensor, std::move(bytes));
  return absl::OkStatus();
}

absl::StatusOr<ExportedOnnx>
exportFile(ModelFile &file, const std::vector<TrainedTensor> &trained,
           const ExportOptions &options) {
  ::onnx::GraphProto &graph = *file.model().mutable_graph();
  TrainedTensors trainedByName = byName(trained);
  GRADUS_RETURN_IF_ERROR(Unchanged(graph, trainedByName).check());
  if (options.inference) {
    GRADUS_RETURN_IF_ERROR(refuseRandom(graph));
    for (NodeProto &node : *graph.mutable_node())
      makeInference(node);
  }
  std::vector<std::string> dataFiles = file.dataFiles();
  bindInputs(graph, options.dims);
  auto exported =
      Exporter(file.model(), file.initializers(), trained, options)
          .run([&](TensorProto &tensor) { return bringIn(file, tensor); });
  if (exported.ok())
    exported->read = std::move(dataFiles);
  return exported;
}

std::vector<TensorProto *> initializersOf(::onnx::GraphProto &graph) {
  std::vector<TensorProto *> all;
  for (TensorProto &tensor : *graph.mutable_initializer())
    all.push_back(&tensor);
  return all;
}

} // namespace
} // namespace onnx

absl::StatusOr<ExportedOnnx>
exportOnnx(const std::string &path, const std::vector<TrainedTensor> &trained,
           const ExportOptions &options) {
  try {
    auto file = onnx::ModelFile::open(path, onnx::Contents::whole);
    if (!file.ok())
      return at(file.status(), path);
    auto exported = onnx::exportFile(**file, trained, options);
    return exported.ok() ? exported : at(exported.status(), path);
  } catch (const std::exception &) {
    return invalid(path, ": ", onnx::wordsOfThrown());
  }
}

absl::StatusOr<ExportedOnnx>
exportProgram(ProgramOp program, const std::vector<TrainedTensor> &trained,
              const ExportOptions &options) {
  try {
    GRADUS_ASSIGN_OR_RETURN(onnx::ProgramModel written,
                            onnx::writeProgram(program, options.inference));
    auto initializers = onnx::initializersOf(*written.model.mutable_graph());
    return onnx::Exporter(written.model, initializers, trained, options)
        .run([&](::onnx::TensorProto &tensor) {
          return written.unset.count(tensor.name())
                     ? invalid("there is no trained value for \"",
                               tensor.name(),
                               "\", expected weights of this artifact")
                     : absl::OkStatus();
        });
  } catch (const std::exception &) {
    return invalid(onnx::wordsOfThrown());
  }
}

} // namespace gradus
