// The module gradus._core: the C API for the package's Python, which has the
// functions that users call.

#include "python/extension/compile.h"
#include "python/extension/errors.h"
#include "python/extension/graph.h"
#include "python/extension/outputs.h"
#include "python/extension/session.h"
#include "python/extension/views.h"

namespace gradus::python {
namespace {

PyObject *version(PyObject *, PyObject *) {
  return PyUnicode_FromString(gradus_version());
}

PyMethodDef functions[] = {
    {"load", load, METH_VARARGS, nullptr},
    {"compile", compile, METH_O, nullptr},
    {"compiler_identity", compilerIdentity, METH_NOARGS, nullptr},
    {"set_array_maker", setArrayMaker, METH_O, nullptr},
    {"version", version, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_core",
                          "Gradus' C API.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

} // namespace
} // namespace gradus::python

PyMODINIT_FUNC PyInit__core() {
  using namespace gradus::python;
  Owned module(PyModule_Create(&definition));
  if (!module || !addExceptions(module.get()) || !makeSessionType() ||
      !makeArrayType() || !makeGraphTypes())
    return nullptr;
  for (auto [name, flag] :
       {std::pair("NO_PROGRAM", GRADUS_NO_PROGRAM),
        std::pair("NODE_OUTPUTS", GRADUS_NODE_OUTPUTS),
        std::pair("GRADIENT_OUTPUTS", GRADUS_GRADIENT_OUTPUTS)})
    if (PyModule_AddIntConstant(module.get(), name, flag) < 0)
      return nullptr;
  for (PyTypeObject *type : {sessionType, arrayType, outputsType})
    if (PyModule_AddType(module.get(), type) < 0)
      return nullptr;
  return module.release();
}
