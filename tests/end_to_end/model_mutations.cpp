// Damaging models in the ways that exporters, editors and disks do.

#include "model_mutations.h"

#include "frontends/onnx/file/onnx.pb.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <sstream>

namespace gradus::test {
namespace {

using Json = nlohmann::json;
using Random = std::mt19937_64;

size_t below(Random &random, size_t limit) {
  return limit ? random() % limit : 0;
}

template <typename List> auto &pick(Random &random, List &list) {
  return *(std::begin(list) +
           static_cast<ptrdiff_t>(below(random, std::size(list))));
}

/// Numbers at which sizes, axes and counters go wrong.
int64_t oddInteger(Random &random) {
  static constexpr int64_t kNumbers[] = {0,         1,
                                         -1,        2,
                                         -2,        3,
                                         4,         7,
                                         16,        100,
                                         1000,      65536,
                                         1 << 20,   1 << 28,
                                         INT32_MAX, INT32_MIN,
                                         1LL << 31, 1LL << 32,
                                         1LL << 40, INT64_MAX,
                                         INT64_MIN, INT64_MAX - 1};
  return pick(random, kNumbers);
}

double oddNumber(Random &random) {
  static constexpr double kNumbers[] = {0,    -0.0,     1,         -1,    0.5,
                                        2,    1e-30,    1e30,      -1e30, 1e300,
                                        3.14, INFINITY, -INFINITY, NAN};
  return pick(random, kNumbers);
}

//===-- bytes -------------------------------------------------------------===//

void mutateByte(Random &random, std::string &bytes) {
  if (bytes.empty())
    return;
  size_t at = below(random, bytes.size());
  switch (below(random, 6)) {
  case 0:
    bytes.resize(at);
    return;
  case 1:
    bytes.insert(at,
                 bytes.substr(below(random, bytes.size()), 1 + random() % 40));
    return;
  case 2:
    bytes.erase(at, 1 + random() % 40);
    return;
  case 3:
    bytes[at] = static_cast<char>(random());
    return;
  default:
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
  }
}

//===-- structure ---------------------------------------------------------===//

/// The bodies of Loop, If and Scan in a graph, and in those.
void collectBodies(::onnx::GraphProto &graph,
                   std::vector<::onnx::GraphProto *> &all) {
  for (::onnx::NodeProto &node : *graph.mutable_node())
    for (::onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g()) {
        all.push_back(attribute.mutable_g());
        collectBodies(*attribute.mutable_g(), all);
      }
}

/// The model's graph, or one time in three a body in it.
::onnx::GraphProto &anyGraph(Random &random, ::onnx::ModelProto &model) {
  std::vector<::onnx::GraphProto *> bodies;
  collectBodies(*model.mutable_graph(), bodies);
  if (bodies.empty() || random() % 3)
    return *model.mutable_graph();
  return *pick(random, bodies);
}

/// One change of a model's structure.
class Editor {
public:
  Editor(Random &random, ::onnx::ModelProto &model)
      : random_(random), model_(model), graph_(anyGraph(random, model)) {}

  void edit() {
    using Edit = void (Editor::*)();
    static constexpr Edit kEdits[] = {
        &Editor::dropNode,        &Editor::duplicateNode,
        &Editor::moveNode,        &Editor::changeInput,
        &Editor::changeInput,     &Editor::renameOutput,
        &Editor::changeType,      &Editor::changeType,
        &Editor::dropAttribute,   &Editor::addAttribute,
        &Editor::editAttribute,   &Editor::editAttribute,
        &Editor::editAttribute,   &Editor::editTensor,
        &Editor::editTensor,      &Editor::editTensor,
        &Editor::editPort,        &Editor::editPort,
        &Editor::dropInitializer, &Editor::editOpset};
    (this->*pick(random_, kEdits))();
  }

private:
  bool hasNodes() const { return graph_.node_size() > 0; }
  ::onnx::NodeProto &node() {
    return *graph_.mutable_node(int(below(random_, graph_.node_size())));
  }

  /// The name of any value, or one that is none.
  std::string anyName() {
    switch (below(random_, 12)) {
    case 0:
      return "";
    case 1:
      return "nobody";
    case 2:
    case 3:
      if (graph_.initializer_size())
        return pick(random_, graph_.initializer()).name();
      break;
    case 4:
      if (graph_.input_size())
        return pick(random_, graph_.input()).name();
      break;
    }
    if (!hasNodes() || node().output_size() == 0)
      return "x";
    const auto &outputs = node().output();
    return outputs.empty() ? "y" : pick(random_, outputs);
  }

  void dropNode() {
    if (hasNodes())
      graph_.mutable_node()->DeleteSubrange(
          int(below(random_, graph_.node_size())), 1);
  }
  void duplicateNode() {
    if (!hasNodes())
      return;
    ::onnx::NodeProto copy = node();
    if (random_() % 2)
      for (std::string &output : *copy.mutable_output())
        output += "_2";
    *graph_.add_node() = copy;
  }
  void moveNode() {
    if (hasNodes())
      std::swap(node(), node());
  }
  void changeInput() {
    if (!hasNodes())
      return;
    ::onnx::NodeProto &changed = node();
    if (changed.input_size() == 0 || random_() % 8 == 0)
      changed.add_input(anyName());
    else if (random_() % 8 == 0)
      changed.mutable_input()->RemoveLast();
    else
      *changed.mutable_input(int(below(random_, changed.input_size()))) =
          anyName();
  }
  void renameOutput() {
    if (!hasNodes())
      return;
    ::onnx::NodeProto &changed = node();
    if (changed.output_size() == 0 || random_() % 4 == 0)
      changed.add_output(anyName());
    else
      *changed.mutable_output(int(below(random_, changed.output_size()))) =
          anyName();
  }
  void changeType();

  ::onnx::AttributeProto *attribute() {
    for (int tries = 0; hasNodes() && tries < 20; ++tries)
      if (::onnx::NodeProto &found = node(); found.attribute_size())
        return found.mutable_attribute(
            int(below(random_, found.attribute_size())));
    return nullptr;
  }
  void dropAttribute() {
    if (hasNodes())
      if (auto &attributes = *node().mutable_attribute(); attributes.size())
        attributes.DeleteSubrange(int(below(random_, attributes.size())), 1);
  }
  void addAttribute();
  void editAttribute();
  void editIntegers(::google::protobuf::RepeatedField<int64_t> &numbers) {
    if (numbers.empty() || random_() % 6 == 0)
      numbers.Add(oddInteger(random_));
    else if (random_() % 6 == 0)
      numbers.RemoveLast();
    else
      pick(random_, numbers) = oddInteger(random_);
  }

  /// An initializer, or the value of a Constant node.
  ::onnx::TensorProto *tensor();
  void editTensor();
  void editElements(::onnx::TensorProto &edited);
  void editPort();
  void dropInitializer() {
    if (graph_.initializer_size())
      graph_.mutable_initializer()->DeleteSubrange(
          int(below(random_, graph_.initializer_size())), 1);
  }
  void editOpset() {
    if (model_.opset_import_size())
      model_.mutable_opset_import(0)->set_version(
          random_() % 2 ? int64_t(random_() % 30) : oddInteger(random_));
  }

  Random &random_;
  ::onnx::ModelProto &model_;
  ::onnx::GraphProto &graph_;
};

std::vector<std::string> words(const std::string &text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Another op, of those that the importer knows or none that it does.
void Editor::changeType() {
  static const std::vector<std::string> kTypes = words(
      "Add Sub Mul Div Relu Reshape Transpose Slice Gather Concat Split "
      "Pad Tile Expand Conv MaxPool AveragePool LpPool MatMul Gemm "
      "Softmax LSTM GRU Resize TopK ReduceSum ReduceMax CumSum OneHot "
      "Einsum ScatterND GatherND GridSample DFT Col2Im Cast Shape "
      "Constant Range Where Attention ConvTranspose Upsample Trilu Clip "
      "BitShift Unsqueeze Squeeze Flatten Identity Dropout "
      "LayerNormalization QuantizeLinear Unknown BatchNormalization "
      "ConstantOfShape GatherElements ScatterElements DepthToSpace "
      "CenterCropPad ReduceProd SplitToSequence SequenceAt SequenceInsert "
      "ConcatFromSequence Loop If Scan ArgMax Pow EyeLike Compress");
  if (hasNodes())
    node().set_op_type(pick(random_, kTypes));
}

void Editor::addAttribute() {
  static constexpr const char *kKeys[] = {
      "axis",        "axes",         "pads",        "strides",    "dilations",
      "group",       "keepdims",     "perm",        "to",         "direction",
      "mode",        "auto_pad",     "ceil_mode",   "epsilon",    "alpha",
      "hidden_size", "kernel_shape", "split",       "shape",      "largest",
      "k",           "blocksize",    "num_heads",   "block_size", "batch_dims",
      "value",       "value_int",    "output_shape"};
  if (!hasNodes())
    return;
  ::onnx::AttributeProto &added = *node().add_attribute();
  added.set_name(pick(random_, kKeys));
  added.set_type(::onnx::AttributeProto::INT);
  added.set_i(oddInteger(random_));
  for (size_t count = below(random_, 5); count > 0; --count)
    added.add_ints(oddInteger(random_));
}

void Editor::editAttribute() {
  ::onnx::AttributeProto *edited = attribute();
  if (!edited)
    return;
  if (edited->ints_size() && random_() % 8)
    return editIntegers(*edited->mutable_ints());
  if (edited->has_t() && random_() % 8)
    return editElements(*edited->mutable_t());
  switch (below(random_, 4)) {
  case 0:
    return edited->set_f(float(oddNumber(random_)));
  case 1:
    return edited->set_s(random_() % 2 ? "" : "nonsense");
  default:
    return edited->set_i(oddInteger(random_));
  }
}

::onnx::TensorProto *Editor::tensor() {
  if (random_() % 2 && graph_.initializer_size())
    return graph_.mutable_initializer(
        int(below(random_, graph_.initializer_size())));
  for (int tries = 0; hasNodes() && tries < 20; ++tries)
    for (auto &each : *node().mutable_attribute())
      if (each.has_t())
        return each.mutable_t();
  return nullptr;
}

/// Whole numbers in the data: shapes, axes, indices.
void Editor::editElements(::onnx::TensorProto &edited) {
  std::string &raw = *edited.mutable_raw_data();
  if (edited.data_type() == ::onnx::TensorProto::INT64 && raw.size() >= 8) {
    int64_t number = oddInteger(random_);
    std::memcpy(raw.data() + below(random_, raw.size() / 8) * 8, &number, 8);
  } else if (edited.int64_data_size()) {
    edited.clear_raw_data();
    pick(random_, *edited.mutable_int64_data()) = oddInteger(random_);
  } else {
    mutateByte(random_, raw);
  }
}

void Editor::editTensor() {
  ::onnx::TensorProto *edited = tensor();
  if (!edited)
    return;
  switch (below(random_, 6)) {
  case 0:
    return editIntegers(*edited->mutable_dims());
  case 1:
    return edited->set_data_type(int(below(random_, 26)));
  case 2:
    return edited->set_name(anyName());
  case 3:
    return edited->clear_raw_data();
  default:
    return editElements(*edited);
  }
}

void Editor::editPort() {
  bool isInput = random_() % 4;
  auto &ports = isInput ? *graph_.mutable_input() : *graph_.mutable_output();
  if (ports.empty())
    return;
  ::onnx::ValueInfoProto &port = pick(random_, ports);
  auto &type = *port.mutable_type()->mutable_tensor_type();
  auto &dims = *type.mutable_shape()->mutable_dim();
  switch (below(random_, 6)) {
  case 0:
    return type.set_elem_type(int(below(random_, 26)));
  case 1:
    return port.set_name(anyName());
  case 2:
    return type.mutable_shape()->add_dim()->set_dim_value(oddInteger(random_));
  case 3:
    return dims.empty() ? ports.RemoveLast() : dims.RemoveLast();
  default:
    if (!dims.empty())
      pick(random_, dims).set_dim_value(oddInteger(random_));
  }
}

//===-- donors ------------------------------------------------------------===//

/// A node of the donor, with the names that it reads and gives here.
void graftNode(Random &random, ::onnx::GraphProto &graph,
               const ::onnx::GraphProto &donor) {
  if (!graph.node_size() || !donor.node_size())
    return;
  ::onnx::NodeProto given = pick(random, donor.node());
  ::onnx::NodeProto &here = pick(random, *graph.mutable_node());
  if (random() % 4)
    for (int i = 0; i < given.input_size() && i < here.input_size(); ++i)
      given.set_input(i, here.input(i));
  *given.mutable_output() = here.output();
  here = given;
}

/// A value of the donor, under a name of this graph's where it has one.
void graftValue(Random &random, ::onnx::GraphProto &graph,
                const ::onnx::GraphProto &donor) {
  if (!donor.initializer_size())
    return;
  ::onnx::TensorProto given = pick(random, donor.initializer());
  if (graph.initializer_size() && random() % 4) {
    ::onnx::TensorProto &here = pick(random, *graph.mutable_initializer());
    given.set_name(here.name());
    here = given;
  } else {
    *graph.add_initializer() = given;
  }
}

/// Nodes of the donor that follow each other, with their own names.
void graftRun(Random &random, ::onnx::GraphProto &graph,
              const ::onnx::GraphProto &donor) {
  if (!donor.node_size())
    return;
  size_t first = below(random, donor.node_size()), count = 1 + random() % 5;
  for (size_t i = first; i < first + count && i < size_t(donor.node_size());
       ++i)
    *graph.add_node() = donor.node(int(i));
}

//===-- recipes -----------------------------------------------------------===//

/// Pointers to every value of a document.
void collect(Json &json, std::vector<Json *> &all) {
  all.push_back(&json);
  if (json.is_structured())
    for (Json &each : json)
      collect(each, all);
}

Json oddJson(Random &random) {
  switch (below(random, 9)) {
  case 0:
    return nullptr;
  case 1:
    return true;
  case 2:
    return "nonsense";
  case 3:
    return "";
  case 4:
    return Json::array();
  case 5:
    return Json::object();
  case 6:
    return oddNumber(random);
  case 7:
    return Json::array({oddInteger(random), "x"});
  default:
    return oddInteger(random);
  }
}

/// As text; bytes that are no UTF-8 any more are left out.
std::string dumped(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::ignore);
}

void mutateJson(Random &random, std::string &text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return mutateByte(random, text);
  std::vector<Json *> all;
  collect(json, all);
  Json &chosen = *pick(random, all);
  static constexpr const char *kKeys[] = {"type",
                                          "dims",
                                          "optimizer",
                                          "learning_rate",
                                          "memory_limit",
                                          "recompute",
                                          "trainable",
                                          "fixed",
                                          "epochs",
                                          "loss",
                                          "gradient_clipping",
                                          "precision",
                                          "schedule",
                                          "nonsense",
                                          ""};
  if (chosen.is_object() && random() % 2)
    chosen[pick(random, kKeys)] = oddJson(random);
  else if (chosen.is_object() && !chosen.empty())
    chosen.erase(chosen.begin());
  else
    chosen = oddJson(random);
  text = dumped(json);
}

/// Sizes for the names that the recipe has none for; whether there are names.
bool bindSizes(const ::onnx::ModelProto &model, Json &recipe) {
  bool isOpen = false;
  for (const ::onnx::ValueInfoProto &input : model.graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty()) {
        isOpen = true;
        Json &dims = recipe["inputs"]["dims"];
        if (!dims.contains(dim.dim_param()))
          dims[dim.dim_param()] = 4;
      }
  return isOpen;
}

/// Puts a value of the donor's in place of the one that this object has under
/// the same key, or adds it.
void graftKey(Random &random, Json &json, const Json &donor) {
  Json copy = donor;
  std::vector<Json *> all, givers;
  collect(json, all);
  collect(copy, givers);
  Json &here = *pick(random, all), &giver = *pick(random, givers);
  if (!here.is_object() || !giver.is_object() || giver.empty()) {
    here = giver;
    return;
  }
  auto given = giver.begin();
  std::advance(given, below(random, giver.size()));
  here[given.key()] = given.value();
}

} // namespace

std::string recipeFor(const std::string &model, const std::string &recipe) {
  ::onnx::ModelProto proto;
  Json json = Json::parse(recipe, nullptr, /*allow_exceptions=*/false);
  if (!proto.ParseFromString(model) || !json.is_object())
    return recipe;
  if (!bindSizes(proto, json))
    json.erase("inputs");
  if (json.contains("loss"))
    json["loss"].erase("output");
  return dumped(json);
}

std::string editedModel(const std::string &model, uint64_t seed) {
  Random random(seed);
  std::string bytes = model;
  ::onnx::ModelProto proto;
  size_t changes = random() % 2 ? 1 : 1 + below(random, 3);
  if (!proto.ParseFromString(model)) {
    mutateByte(random, bytes);
    return bytes;
  }
  for (; changes > 0; --changes)
    Editor(random, proto).edit();
  return proto.SerializeAsString();
}

std::string graftedModel(const std::string &model, const std::string &donor,
                         uint64_t seed) {
  Random random(seed);
  ::onnx::ModelProto proto, other;
  if (!proto.ParseFromString(model) || !other.ParseFromString(donor))
    return model;
  using Graft =
      void (*)(Random &, ::onnx::GraphProto &, const ::onnx::GraphProto &);
  static constexpr Graft kGrafts[] = {graftNode, graftNode, graftValue,
                                      graftRun};
  for (size_t changes = 1 + below(random, 3); changes > 0; --changes)
    pick(random, kGrafts)(random, anyGraph(random, proto),
                          anyGraph(random, other));
  return proto.SerializeAsString();
}

std::string editedRecipe(const std::string &recipe, uint64_t seed) {
  Random random(seed);
  std::string text = recipe;
  for (size_t changes = 1 + below(random, 3); changes > 0; --changes)
    if (random() % 4)
      mutateJson(random, text);
    else
      mutateByte(random, text);
  return text;
}

std::string graftedRecipe(const std::string &recipe, const std::string &donor,
                          uint64_t seed) {
  Random random(seed);
  Json json = Json::parse(recipe, nullptr, /*allow_exceptions=*/false),
       other = Json::parse(donor, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || other.is_discarded())
    return recipe;
  graftKey(random, json, other);
  return dumped(json);
}

ModelAndRecipe mutated(const ModelAndRecipe &whole, uint64_t seed,
                       int64_t number) {
  Random random(seed * 1'000'003 + static_cast<uint64_t>(number));
  ModelAndRecipe result = whole;
  switch (below(random, 4)) {
  case 0:
  case 1:
    result.model = editedModel(whole.model, random());
    break;
  case 2:
    for (size_t changes = 1 + below(random, 3); changes > 0; --changes)
      mutateByte(random, result.model);
    break;
  default:
    result.recipe = editedRecipe(whole.recipe, random());
  }
  return result;
}

} // namespace gradus::test
