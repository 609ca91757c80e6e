// The log of a training: lines of JSON, and TensorBoard's events.

#include "python/training/values.h"
#include "training/training_log.h"

namespace gradus::python {
namespace {

using training::Metric;
using training::TrainingLog;

PyTypeObject *logType = nullptr;

/// A log, and the remarks that it made since they were last taken.
struct Log {
  std::vector<std::string> remarks;
  std::unique_ptr<TrainingLog> log;
};

PyObject *done(const runtime::Status &status) {
  if (!status.ok())
    return raise(status);
  Py_RETURN_NONE;
}

/// A path; None is an empty one.
bool readPath(PyObject *object, std::string &path) {
  return object == Py_None || read(object, path);
}

/// log(file or None, folder of events or None, step after which a run resumes
/// or None, whether it is inside an epoch)
PyObject *makeLog(PyObject *, PyObject *arguments) {
  PyObject *file = nullptr, *events = nullptr, *from = nullptr;
  int isInside = 0;
  training::LogOptions options;
  if (!PyArg_ParseTuple(arguments, "OOOp:log", &file, &events, &from,
                        &isInside) ||
      !readPath(file, options.file) || !readPath(events, options.events))
    return nullptr;
  if (from != Py_None) {
    options.from = PyLong_AsLongLong(from);
    if (PyErr_Occurred())
      return nullptr;
  }
  options.isInside = isInside;
  options.eventsRole = "tensorboard";
  auto made = std::make_unique<Log>();
  options.tell = [log = made.get()](training::Remark,
                                    const std::string &words) {
    log->remarks.push_back(words);
  };
  auto opened = unlocked([&] { return TrainingLog::open(std::move(options)); });
  if (!opened.ok())
    return raise(opened.status());
  made->log = *std::move(opened);
  return hold(logType, std::move(made));
}

/// step(step, epoch, figures)
PyObject *step(PyObject *self, PyObject *arguments) {
  long long number = 0, epoch = 0;
  PyObject *dictionary = nullptr;
  std::vector<Metric> figures;
  if (!PyArg_ParseTuple(arguments, "LLO:step", &number, &epoch, &dictionary) ||
      !read(dictionary, figures))
    return nullptr;
  training::StepReport report{number, epoch, figures, {}, {}};
  return done(valueOf<Log>(self).log->onStep(report));
}

/// epoch(epoch, step, means, figures of its test, seconds a step)
PyObject *epoch(PyObject *self, PyObject *arguments) {
  long long number = 0, step = 0;
  PyObject *train = nullptr, *test = nullptr;
  training::EpochReport report;
  if (!PyArg_ParseTuple(arguments, "LLOOd:epoch", &number, &step, &train, &test,
                        &report.secondsPerStep) ||
      !read(train, report.train) || !read(test, report.test))
    return nullptr;
  report.epoch = number;
  report.step = step;
  return done(valueOf<Log>(self).log->onEpoch(report));
}

/// Writes all lines out: a log must never be behind the state.
PyObject *flush(PyObject *self, PyObject *) {
  return done(valueOf<Log>(self).log->onSave({}));
}

/// The warnings since they were last taken.
PyObject *takeRemarks(PyObject *self, PyObject *) {
  std::vector<std::string> taken;
  taken.swap(valueOf<Log>(self).remarks);
  return toList(taken);
}

PyMethodDef methods[] = {
    {"step", guarded<step>, METH_VARARGS, nullptr},
    {"epoch", guarded<epoch>, METH_VARARGS, nullptr},
    {"flush", guarded<flush>, METH_NOARGS, nullptr},
    {"take_remarks", guarded<takeRemarks>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef functions[] = {
    {"log", guarded<makeLog>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

bool addLog(PyObject *module) {
  return (logType = addType<Log>(module, "gradus._training.Log",
                                 {{Py_tp_methods, methods}})) &&
         PyModule_AddFunctions(module, functions) == 0;
}

} // namespace gradus::python
