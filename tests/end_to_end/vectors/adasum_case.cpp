// AdaSum of recorded changes of weights: those of a compiled step of plain
// descent, whose weights begin at 0. All ranks of a server make the same one.

#include "vector_file.h"

#include "ranks/sessions.h"

namespace gradus::vectors {
namespace {

std::string textOf(llvm::ArrayRef<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// A step that moves each tensor against its input.
std::string programOf(const Json &tensors, const Json &recipe) {
  std::string states, inputs, updates;
  for (const auto &[name, tensor] : tensors.items()) {
    std::string type = textOf(shapeOf(tensor));
    states += "gradus.state @" + name + " : " + type +
              " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
    inputs += (inputs.empty() ? "%" : ", %") + name + ": " + type;
    updates += "gradus.update @" + name + ", %" + name + " : " + type + "\n";
  }
  return "gradus.program @p attributes {recipe = " + recipeText(recipe) +
         "} {\n" + states + "gradus.graph @train(" + inputs + ") {\n" +
         updates + "gradus.return\n}\n}";
}

} // namespace

void checkAdasum(const VectorFile &file) {
  const Settings settings(file.hyperparameters());
  int devices = settings.at("devices_per_server");
  int servers = settings.at("servers");
  settings.expectAllRead();
  Json recipe = {{"optimizer", {{"type", "sgd"}, {"learning_rate", 1.0}}},
                 {"distribution",
                  {{"mode", "data_parallel"},
                   {"reduce", "adasum"},
                   {"adasum", {{"of", "weights"}, {"within", devices}}},
                   {"compat", "mindspore"}}}};
  const Json &deltas = file.inputs().at("deltas");
  ASSERT_EQ(deltas.size(), static_cast<size_t>(servers));
  NamedTensors batch;
  for (const Json &delta : deltas)
    for (const auto &[name, tensor] : delta.items()) {
      HostTensor &all = batch[name];
      for (int device = 0; device < devices; ++device)
        for (double number : numbersOf(tensor))
          all.floats.push_back(number);
      all.shape = {static_cast<int64_t>(all.floats.size())};
    }
  RankSessions ranks(artifactOf(programOf(deltas[0], recipe)),
                     servers * devices);
  ranks.run("train", batch);
  for (int rank = 0; rank < ranks.ranks(); ++rank)
    for (const auto &[name, wanted] : file.expected().at("combined").items()) {
      HostTensor weights = ranks.on(rank).states().at(name);
      std::vector<double> moved;
      for (double weight : weights.floats)
        moved.push_back(-weight);
      file.expectNear(name + " of rank " + std::to_string(rank), moved, wanted);
    }
  ranks.expectReplicas();
}

} // namespace gradus::vectors
