// Calls the compiler, without Python's lock while it works.

#include "python/extension/compile.h"

#include "python/extension/errors.h"
#include "python/extension/views.h"

#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <vector>

namespace gradus::python {
namespace {

/// Options with the memory that they point to.
class Options {
public:
  ~Options() {
    for (Py_buffer &view : views_)
      PyBuffer_Release(&view);
  }

  /// False with Python's error set.
  bool read(PyObject *dictionary) {
    return source(dictionary, "model", options_.model) &&
           source(dictionary, "recipe", options_.recipe) &&
           source(dictionary, "weights", options_.weights) &&
           list(dictionary, "overrides", options_.overrides) &&
           list(dictionary, "dims", options_.dims) &&
           list(dictionary, "targets", options_.targets) &&
           list(dictionary, "plugins", options_.plugins) &&
           text(dictionary, "libraries", options_.libraries) &&
           text(dictionary, "memory_limit", options_.memory_limit) &&
           text(dictionary, "stop_after", options_.stop_after) &&
           number(dictionary, "threads", options_.threads) &&
           number(dictionary, "flags", options_.flags) &&
           source(dictionary, "basis", options_.basis) &&
           list(dictionary, "extra", options_.extra) && dataFiles(dictionary) &&
           path(dictionary, "artifact", artifact_);
  }

  gradus_status compile(gradus_compiled **result) const {
    return gradus_compile_with(&options_, dataFiles_.data(), dataFiles_.size(),
                               artifact_, result);
  }

private:
  /// A value that is there and not None, else nullptr; look for an error then.
  static PyObject *find(PyObject *dictionary, const char *key) {
    PyObject *value = PyDict_GetItemString(dictionary, key);
    return value == Py_None ? nullptr : value;
  }

  const char *keep(const char *key, PyObject *value) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (!text)
      return nullptr;
    if (std::strlen(text) != static_cast<size_t>(size)) {
      raiseInvalid("%s: expected a text without a zero byte, found %R", key,
                   value);
      return nullptr;
    }
    return texts_.emplace_back(text, static_cast<size_t>(size)).c_str();
  }

  bool text(PyObject *dictionary, const char *key, const char *&target) {
    PyObject *value = find(dictionary, key);
    return !value || (target = keep(key, value));
  }

  template <typename Number>
  bool number(PyObject *dictionary, const char *key, Number &target) {
    PyObject *value = find(dictionary, key);
    if (!value)
      return true;
    using Limits = std::numeric_limits<Number>;
    int beyond = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &beyond);
    if (number == -1 && PyErr_Occurred())
      return false;
    if (beyond || number < Limits::min() || number > Limits::max()) {
      raiseInvalid("%s: expected an integer from %lld to %lld, found %R", key,
                   static_cast<long long>(Limits::min()),
                   static_cast<long long>(Limits::max()), value);
      return false;
    }
    target = static_cast<Number>(number);
    return true;
  }

  bool list(PyObject *dictionary, const char *key, const char *const *&target) {
    PyObject *value = find(dictionary, key);
    if (!value)
      return true;
    std::vector<const char *> &strings = lists_.emplace_back();
    Py_ssize_t count = PySequence_Size(value);
    for (Py_ssize_t i = 0; i < count; ++i) {
      Owned item(PySequence_GetItem(value, i));
      if (!item || !strings.emplace_back(keep(key, item.get())))
        return false;
    }
    strings.push_back(nullptr);
    target = strings.data();
    return count >= 0;
  }

  bool source(PyObject *dictionary, const char *key, gradus_source &target) {
    PyObject *value = find(dictionary, key);
    return !value || source(value, target);
  }

  bool path(PyObject *dictionary, const char *key, const char *&target) {
    PyObject *value = find(dictionary, key), *encoded = nullptr;
    if (!value)
      return true;
    if (!PyUnicode_FSConverter(value, &encoded))
      return false;
    Owned owned(encoded);
    target = texts_.emplace_back(PyBytes_AsString(encoded)).c_str();
    return true;
  }

  /// Pairs of the model's name for a file and an array, whose memory is read
  /// where it is.
  bool dataFiles(PyObject *dictionary) {
    PyObject *value = find(dictionary, "data_files");
    Py_ssize_t count = value ? PySequence_Size(value) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      Owned pair(PySequence_GetItem(value, i));
      PyObject *name = nullptr, *bytes = nullptr;
      if (!pair || !PyArg_ParseTuple(pair.get(), "OO", &name, &bytes))
        return false;
      gradus_source &file = dataFiles_.emplace_back();
      file.path = keep("data_files", name);
      if (!file.path || !memory(bytes, file))
        return false;
    }
    return count >= 0;
  }

  /// A path and bytes, of which either may be None.
  bool source(PyObject *value, gradus_source &target) {
    PyObject *path = nullptr, *bytes = nullptr;
    if (!PyArg_ParseTuple(value, "OO", &path, &bytes))
      return false;
    if (path != Py_None) {
      PyObject *encoded = nullptr;
      if (!PyUnicode_FSConverter(path, &encoded))
        return false;
      Owned owned(encoded);
      target.path = texts_.emplace_back(PyBytes_AsString(encoded)).c_str();
    }
    return bytes == Py_None || memory(bytes, target);
  }

  bool memory(PyObject *bytes, gradus_source &target) {
    Py_buffer &view = views_.emplace_back();
    if (PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) < 0) {
      views_.pop_back();
      return false;
    }
    target.bytes = view.buf;
    target.size = static_cast<size_t>(view.len);
    return true;
  }

  gradus_compile_options options_ = gradus_default_compile_options();
  std::deque<std::string> texts_;
  std::deque<std::vector<const char *>> lists_;
  std::vector<Py_buffer> views_;
  std::vector<gradus_source> dataFiles_;
  const char *artifact_ = nullptr; // the file to write
};

PyObject *diagnosticsOf(const gradus_compiled *result) {
  Owned list(PyList_New(0));
  int count = result ? gradus_compiled_diagnostic_count(result) : 0;
  for (int i = 0; list && i < count; ++i) {
    gradus_diagnostic said;
    if (gradus_status status = gradus_compiled_diagnostic(result, i, &said))
      return raise(status, nullptr);
    const char *severity = said.severity == GRADUS_ERROR     ? "error"
                           : said.severity == GRADUS_WARNING ? "warning"
                                                             : "remark";
    Owned pass(toText(said.pass)), place(toText(said.place));
    Owned text(toText(said.text));
    Owned row(pass && place && text
                  ? Py_BuildValue("(sOOO)", severity, pass.get(), place.get(),
                                  text.get())
                  : nullptr);
    if (!row || PyList_Append(list.get(), row.get()) < 0)
      return nullptr;
  }
  return list.release();
}

void freeCompiled(PyObject *capsule) {
  gradus_compiled_free(
      static_cast<gradus_compiled *>(PyCapsule_GetPointer(capsule, nullptr)));
}

/// The artifact's bytes as an array over the compiler's memory, which `owner`
/// has: weights are many, and not copied. Or None.
PyObject *artifactOf(const gradus_compiled *result, PyObject *owner) {
  const void *bytes = nullptr;
  size_t size = 0;
  if (gradus_compiled_artifact(result, &bytes, &size) != GRADUS_OK)
    Py_RETURN_NONE;
  int64_t shape = static_cast<int64_t>(size);
  gradus_tensor tensor = {};
  tensor.name = "artifact";
  tensor.dtype = GRADUS_U8;
  tensor.rank = 1;
  tensor.shape = &shape;
  tensor.bytes = size;
  return showOutput(owner, Tensor(tensor), const_cast<void *>(bytes));
}

} // namespace

PyObject *compile(PyObject *, PyObject *dictionary) {
  Options options;
  if (!options.read(dictionary))
    return nullptr;
  gradus_compiled *result = nullptr;
  gradus_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = options.compile(&result);
  Py_END_ALLOW_THREADS;
  std::string words = status ? gradus_last_error(nullptr) : "";
  Owned owner(result ? PyCapsule_New(result, nullptr, freeCompiled)
                     : Py_NewRef(Py_None));
  if (!owner) {
    gradus_compiled_free(result);
    return nullptr;
  }
  Owned diagnostics(diagnosticsOf(result));
  Owned artifact(status ? Py_NewRef(Py_None) : artifactOf(result, owner.get()));
  const char *ir = gradus_compiled_ir(result);
  Owned program(diagnostics && artifact ? toText(ir ? ir : "") : nullptr);
  Owned error(!program ? nullptr
              : status ? toText(words.c_str())
                       : Py_NewRef(Py_None));
  if (!error)
    return nullptr;
  return Py_BuildValue("(iOOOO)", static_cast<int>(status), error.get(),
                       artifact.get(), program.get(), diagnostics.get());
}

PyObject *compilerIdentity(PyObject *, PyObject *) {
  const char *text = gradus_compiler_identity();
  return text ? toText(text) : raise(GRADUS_FAILED, nullptr);
}

} // namespace gradus::python
