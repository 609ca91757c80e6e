// The page of a run, as `gradus train --report` writes it.

#include "messages/json_text.h"
#include "python/training/values.h"
#include "tool/report/curve.h"
#include "tool/report/page.h"

namespace gradus::python {
namespace {

PyTypeObject *curvesType = nullptr;

PyObject *makeCurves(PyObject *, PyObject *) {
  return hold(curvesType, std::make_unique<cli::Curves>());
}

/// add(of, step, figures)
PyObject *add(PyObject *self, PyObject *arguments) {
  const char *of = nullptr;
  long long step = 0;
  PyObject *dictionary = nullptr;
  std::vector<training::Metric> figures;
  if (!PyArg_ParseTuple(arguments, "sLO:add", &of, &step, &dictionary) ||
      !read(dictionary, figures))
    return nullptr;
  valueOf<cli::Curves>(self).add(of, step, figures);
  Py_RETURN_NONE;
}

PyObject *toJson(PyObject *self, PyObject *) {
  return toText(jsonText(valueOf<cli::Curves>(self).json()));
}

/// page(data, name): the file of a report of a run, whose data are JSON.
PyObject *page(PyObject *, PyObject *arguments) {
  const char *data = nullptr, *name = nullptr;
  if (!PyArg_ParseTuple(arguments, "ss:page", &data, &name))
    return nullptr;
  auto given = parsedJson<nlohmann::ordered_json>(data);
  if (!given.is_object())
    return raise(runtime::invalid("the data of a report are no object"));
  nlohmann::ordered_json report = cli::reportHead("run");
  report.update(given);
  return toText(cli::reportText(name, report));
}

PyMethodDef methods[] = {
    {"add", guarded<add>, METH_VARARGS, nullptr},
    {"to_json", guarded<toJson>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef functions[] = {
    {"curves", guarded<makeCurves>, METH_NOARGS, nullptr},
    {"page", guarded<page>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

bool addReport(PyObject *module) {
  return (curvesType = addType<cli::Curves>(module, "gradus._training.Curves",
                                            {{Py_tp_methods, methods}})) &&
         PyModule_AddFunctions(module, functions) == 0;
}

} // namespace gradus::python
