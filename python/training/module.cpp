// The module gradus._training: of the library training/ what the package's loop
// of training stands on. Data sets, figures, logs and the page of a run are
// those of `gradus train`, so that both read, decide and write the same.

#include "python/training/values.h"

namespace {

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_training",
                          "What Gradus' loops of training share.",
                          -1,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

} // namespace

PyMODINIT_FUNC PyInit__training() {
  using namespace gradus::python;
  Owned module(PyModule_Create(&definition));
  if (!module || !findExceptions(module.get()) || !addFeeds(module.get()) ||
      !addFigures(module.get()) || !addLabelShares(module.get()) ||
      !addLog(module.get()) || !addReport(module.get()))
    return nullptr;
  return module.release();
}
