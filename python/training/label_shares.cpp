// Counts the labels of a batch that a test gives to its graph as it is.

#include "python/training/columns.h"
#include "python/training/values.h"
#include "training/artifact_outline.h"
#include "training/data/counted_labels.h"

namespace gradus::python {
namespace {

using training::ArtifactOutline;

PyTypeObject *sharesType = nullptr;

/// The input with labels of which some are ignored, or weigh more than others;
/// without a name there is none, and all samples count alike.
struct LabelShares {
  runtime::TensorInfo input;
  data::LabelRules rules;
};

/// As in a data set, labels count by themselves where one input has all.
void findInput(const ArtifactOutline &artifact,
               const training::GraphOutline &graph, LabelShares &shares) {
  shares.rules = training::labelRules(artifact);
  if (shares.rules.size() != 1)
    return;
  const auto &[name, rule] = *shares.rules.begin();
  for (const runtime::TensorInfo &input : graph.inputs)
    if (input.name == name && !input.type.shape.empty() &&
        data::CountedLabels::areCounted(rule, input.type.dtype))
      shares.input = input;
}

/// label_shares(outline of the artifact, graph)
PyObject *makeShares(PyObject *, PyObject *arguments) {
  const char *outline = nullptr, *name = nullptr;
  if (!PyArg_ParseTuple(arguments, "ss:label_shares", &outline, &name))
    return nullptr;
  auto artifact = ArtifactOutline::parse(outline);
  if (!artifact.ok())
    return raise(artifact.status());
  const training::GraphOutline *graph = artifact->find(name);
  if (!graph)
    return raise(runtime::invalid("there is no graph '", name, "'"));
  auto made = std::make_unique<LabelShares>();
  findInput(*artifact, *graph, *made);
  return hold(sharesType, std::move(made));
}

/// The name of the input; None where all samples count alike.
PyObject *input(PyObject *self, void *) {
  const std::string &name = valueOf<LabelShares>(self).input.name;
  if (name.empty())
    Py_RETURN_NONE;
  return toText(name);
}

runtime::Status verify(const LabelShares &shares, const data::Column &column) {
  const runtime::TensorType &expected = shares.input.type;
  if (!data::isInteger(column.type.dtype))
    return runtime::invalid("input '", column.name, "': expected labels (",
                            runtime::nameOf(expected.dtype),
                            "), found numbers of type ",
                            runtime::nameOf(column.type.dtype));
  if (column.type.shape != expected.shape)
    return runtime::invalid("input '", column.name, "': expected labels ",
                            toString(expected), ", found ",
                            toString(column.type));
  return data::checkIntegers(column, shares.input, shares.rules);
}

/// of([(name, type, array)]): the labels of a batch that count, and their
/// weight.
PyObject *of(PyObject *self, PyObject *list) {
  const auto &shares = valueOf<LabelShares>(self);
  Buffers held;
  std::vector<data::Column> columns;
  if (!readArrays(list, held, columns))
    return nullptr;
  if (columns.size() != 1 || columns[0].name != shares.input.name)
    return raise(runtime::invalid("expected the array of the labels alone"));
  runtime::Status status = verify(shares, columns[0]);
  if (!status.ok())
    return raise(status);
  const runtime::TensorType &type = shares.input.type;
  int64_t samples = type.shape[0], each = 1;
  for (size_t axis = 1; axis < type.shape.size(); ++axis)
    each *= type.shape[axis];
  data::CountedLabels labels(columns[0], shares.rules.begin()->second,
                             {0, type.dtype, each});
  auto counted = labels.count({}, 0, samples);
  auto weight = labels.weight({}, 0, samples);
  if (!counted.ok() || !weight.ok())
    return raise(counted.ok() ? weight.status() : counted.status());
  return Py_BuildValue("(dd)", static_cast<double>(*counted), *weight);
}

PyMethodDef methods[] = {
    {"of", guarded<of>, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"input", guarded<input>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef functions[] = {
    {"label_shares", guarded<makeShares>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

bool addLabelShares(PyObject *module) {
  return (sharesType = addType<LabelShares>(
              module, "gradus._training.LabelShares",
              {{Py_tp_methods, methods}, {Py_tp_getset, properties}})) &&
         PyModule_AddFunctions(module, functions) == 0;
}

} // namespace gradus::python
