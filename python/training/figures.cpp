// Means over an epoch and over a test, and which test is the best.

#include "messages/json_text.h"
#include "python/training/values.h"
#include "training/best_metric.h"
#include "training/test_means.h"
#include "training/training_record.h"

namespace gradus::python {
namespace {

using training::BestMetric;
using training::EpochFigures;
using training::TestMeans;

PyTypeObject *bestType = nullptr, *figuresType = nullptr, *meansType = nullptr;

//===-- the best test -----------------------------------------------------===//

/// best_metric("accuracy:max")
PyObject *makeBest(PyObject *, PyObject *name) {
  std::string text;
  if (!read(name, text))
    return nullptr;
  auto best = BestMetric::parse(text);
  if (!best.ok())
    return raise(runtime::at(best.status(), "best"));
  return hold(bestType, std::make_unique<BestMetric>(*std::move(best)));
}

/// update(figures, step): whether they are the best so far.
PyObject *update(PyObject *self, PyObject *arguments) {
  PyObject *dictionary = nullptr;
  long long step = 0;
  std::vector<training::Metric> figures;
  if (!PyArg_ParseTuple(arguments, "OL:update", &dictionary, &step) ||
      !read(dictionary, figures))
    return nullptr;
  auto &best = valueOf<BestMetric>(self);
  return PyBool_FromLong(best.update(figures, step));
}

/// verify(names): fails unless the metric is among those of a test.
PyObject *verify(PyObject *self, PyObject *list) {
  std::vector<std::string> names;
  if (!read(list, names))
    return nullptr;
  runtime::Status status = valueOf<BestMetric>(self).verifyIsAmong(names);
  if (!status.ok())
    return raise(runtime::at(status, "best"));
  Py_RETURN_NONE;
}

template <typename Value> PyObject *save(PyObject *self, PyObject *) {
  return toText(jsonText(valueOf<Value>(self).toJson()));
}

PyObject *restoreBest(PyObject *self, PyObject *json) {
  std::string text;
  if (!read(json, text))
    return nullptr;
  valueOf<BestMetric>(self).restore(parsedJson(text));
  Py_RETURN_NONE;
}

PyObject *stale(PyObject *self, void *) {
  return PyLong_FromLongLong(valueOf<BestMetric>(self).stale());
}

PyObject *bestText(PyObject *self, void *) {
  return toText(valueOf<BestMetric>(self).text());
}

PyMethodDef bestMethods[] = {
    {"verify", guarded<verify>, METH_O, nullptr},
    {"update", guarded<update>, METH_VARARGS, nullptr},
    {"to_json", guarded<save<BestMetric>>, METH_NOARGS, nullptr},
    {"restore", guarded<restoreBest>, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef bestProperties[] = {
    {"stale", guarded<stale>, nullptr, nullptr, nullptr},
    {"text", guarded<bestText>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

//===-- the means of an epoch ---------------------------------------------===//

PyObject *makeFigures(PyObject *, PyObject *) {
  return hold(figuresType, std::make_unique<EpochFigures>());
}

PyObject *add(PyObject *self, PyObject *dictionary) {
  std::vector<training::Metric> figures;
  if (!read(dictionary, figures))
    return nullptr;
  valueOf<EpochFigures>(self).add(figures);
  Py_RETURN_NONE;
}

PyObject *means(PyObject *self, PyObject *) {
  return toDict(valueOf<EpochFigures>(self).figures());
}

PyObject *restoreFigures(PyObject *self, PyObject *json) {
  std::string text;
  if (!read(json, text))
    return nullptr;
  return PyBool_FromLong(valueOf<EpochFigures>(self).restore(parsedJson(text)));
}

PyMethodDef figuresMethods[] = {
    {"add", guarded<add>, METH_O, nullptr},
    {"means", guarded<means>, METH_NOARGS, nullptr},
    {"to_json", guarded<save<EpochFigures>>, METH_NOARGS, nullptr},
    {"restore", guarded<restoreFigures>, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

//===-- the means of a test -----------------------------------------------===//

/// test_means(names, whether the loss is a sum over samples)
PyObject *makeMeans(PyObject *, PyObject *arguments) {
  PyObject *list = nullptr;
  int lossIsTotal = 0;
  std::vector<std::string> names;
  if (!PyArg_ParseTuple(arguments, "Op:test_means", &list, &lossIsTotal) ||
      !read(list, names))
    return nullptr;
  return hold(meansType, std::make_unique<TestMeans>(names, lossIsTotal));
}

/// add([value for each name], labels, weight)
PyObject *addBatch(PyObject *self, PyObject *arguments) {
  PyObject *list = nullptr;
  training::BatchShare share;
  if (!PyArg_ParseTuple(arguments, "O!dd:add", &PyList_Type, &list,
                        &share.labels, &share.weight))
    return nullptr;
  std::vector<double> values;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i)
    values.push_back(PyFloat_AsDouble(PyList_GetItem(list, i)));
  if (PyErr_Occurred())
    return nullptr;
  auto &means = valueOf<TestMeans>(self);
  if (values.size() != means.figures().size())
    return raise(runtime::invalid("a batch has ", values.size(),
                                  " values, expected ",
                                  means.figures().size()));
  means.add(values, share);
  Py_RETURN_NONE;
}

PyObject *testFigures(PyObject *self, PyObject *) {
  return toDict(valueOf<TestMeans>(self).figures());
}

PyObject *weight(PyObject *self, void *) {
  return PyFloat_FromDouble(valueOf<TestMeans>(self).share().weight);
}

PyMethodDef meansMethods[] = {
    {"add", guarded<addBatch>, METH_VARARGS, nullptr},
    {"figures", guarded<testFigures>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef meansProperties[] = {
    {"weight", guarded<weight>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef functions[] = {
    {"best_metric", guarded<makeBest>, METH_O, nullptr},
    {"epoch_figures", guarded<makeFigures>, METH_NOARGS, nullptr},
    {"test_means", guarded<makeMeans>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

bool addFigures(PyObject *module) {
  return (bestType = addType<BestMetric>(module, "gradus._training.BestMetric",
                                         {{Py_tp_methods, bestMethods},
                                          {Py_tp_getset, bestProperties}})) &&
         (figuresType =
              addType<EpochFigures>(module, "gradus._training.EpochFigures",
                                    {{Py_tp_methods, figuresMethods}})) &&
         (meansType = addType<TestMeans>(module, "gradus._training.TestMeans",
                                         {{Py_tp_methods, meansMethods},
                                          {Py_tp_getset, meansProperties}})) &&
         PyModule_AddFunctions(module, functions) == 0;
}

} // namespace gradus::python
