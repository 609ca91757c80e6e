// States: their names and roles, views, copies, numbers and checkpoints.

#include "python/extension/arguments.h"
#include "python/extension/session.h"
#include "python/extension/views.h"

namespace gradus::python {
namespace {

SessionObject *of(PyObject *self) {
  return reinterpret_cast<SessionObject *>(self);
}

const char *textOf(PyObject *name) {
  return PyUnicode_AsUTF8AndSize(name, nullptr);
}

const char *roleText(int role) {
  static const char *const kNames[] = {
      "parameter", "buffer", "slot",    "counter", "hyperparameter", "seed",
      "copy",      "place",  "scratch", "fixed",   "number"};
  bool known = role >= 0 && role < static_cast<int>(std::size(kNames));
  return known ? kNames[role] : "other";
}

/// The state of this name, or -1 with Python's error set.
int find(gradus_session *session, PyObject *name, Tensor &tensor) {
  const char *text = textOf(name);
  if (!text)
    return -1;
  int state = gradus_find_state(session, text);
  gradus_tensor found;
  if (state < 0 || gradus_state(session, state, &found) != GRADUS_OK) {
    raiseInvalid("the artifact has no state \"%s\"", text);
    return -1;
  }
  tensor = Tensor(found);
  return state;
}

/// A file's name, or bytes, given in one argument.
class Source {
public:
  bool read(PyObject *object) {
    if (PyObject_CheckBuffer(object)) {
      viewed_ = PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) == 0;
      return viewed_;
    }
    PyObject *encoded = nullptr;
    if (!PyUnicode_FSConverter(object, &encoded))
      return false;
    path_ = Owned(encoded);
    return true;
  }
  ~Source() {
    if (viewed_)
      PyBuffer_Release(&view_);
  }

  const char *path() const {
    return path_ ? PyBytes_AsString(path_.get()) : nullptr;
  }
  const void *bytes() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

private:
  Owned path_;
  Py_buffer view_ = {};
  bool viewed_ = false;
};

using FromFile = gradus_status (*)(gradus_session *, const char *);
using FromMemory = gradus_status (*)(gradus_session *, const void *, size_t);

PyObject *loadFrom(PyObject *self, PyObject *object, FromFile file,
                   FromMemory memory) {
  Source source;
  if (!source.read(object))
    return nullptr;
  Call call(of(self), Call::Kind::runs);
  if (!call.ok())
    return nullptr;
  const char *path = source.path();
  bool done = call.run([&] {
    return path ? file(call.handle(), path)
                : memory(call.handle(), source.bytes(), source.size());
  });
  if (!done)
    return nullptr;
  Py_RETURN_NONE;
}

} // namespace

PyObject *states(PyObject *self, PyObject *) {
  Call call(of(self));
  if (!call.ok())
    return nullptr;
  int count = gradus_state_count(call.handle());
  Owned list(PyList_New(0));
  for (int i = 0; list && i < count; ++i) {
    gradus_tensor found;
    if (gradus_status status = gradus_state(call.handle(), i, &found))
      return raise(status, call.handle());
    Owned described(describe(Tensor(found)));
    if (!described)
      return nullptr;
    Owned row(Py_BuildValue("(Os)", described.get(),
                            roleText(gradus_state_role(call.handle(), i))));
    if (!row || PyList_Append(list.get(), row.get()) < 0)
      return nullptr;
  }
  return list.release();
}

PyObject *view(PyObject *self, PyObject *name) {
  SessionObject *session = of(self);
  Tensor tensor;
  int state = -1;
  void *data = nullptr;
  {
    Call call(session, Call::Kind::runs);
    if (!call.ok() || (state = find(call.handle(), name, tensor)) < 0 ||
        !call.run(
            [&] { return gradus_state_data(call.handle(), state, &data); }))
      return nullptr;
  }
  return showState(session, state, std::move(tensor), data, session->onHost);
}

PyObject *read(PyObject *self, PyObject *name) {
  Call call(of(self), Call::Kind::runs);
  Tensor tensor;
  if (!call.ok() || find(call.handle(), name, tensor) < 0)
    return nullptr;
  Owned bytes(PyByteArray_FromStringAndSize(nullptr, tensor.bytes));
  if (!bytes)
    return nullptr;
  char *data = PyByteArray_AsString(bytes.get());
  if (!call.run([&] {
        return gradus_read_state(call.handle(), tensor.name.c_str(), data,
                                 static_cast<size_t>(tensor.bytes));
      }))
    return nullptr;
  return showOutput(bytes.get(), tensor, data);
}

PyObject *write(PyObject *self, PyObject *arguments) {
  PyObject *name = nullptr, *value = nullptr;
  if (!PyArg_ParseTuple(arguments, "UO:write", &name, &value))
    return nullptr;
  Call call(of(self), Call::Kind::runs);
  Tensor tensor;
  Argument argument;
  if (!call.ok() || find(call.handle(), name, tensor) < 0 ||
      !argument.read("state", tensor, value) || !call.run([&] {
        return gradus_write_state(call.handle(), tensor.name.c_str(),
                                  argument.data(),
                                  static_cast<size_t>(tensor.bytes));
      }))
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *number(PyObject *self, PyObject *path) {
  const char *text = textOf(path);
  if (!text)
    return nullptr;
  Call call(of(self));
  double value = 0;
  if (!call.ok() ||
      !call.run([&] { return gradus_number(call.handle(), text, &value); }))
    return nullptr;
  return PyFloat_FromDouble(value);
}

PyObject *setNumber(PyObject *self, PyObject *arguments) {
  const char *path = nullptr;
  double value = 0;
  if (!PyArg_ParseTuple(arguments, "sd:set_number", &path, &value))
    return nullptr;
  Call call(of(self));
  if (!call.ok() ||
      !call.run([&] { return gradus_set_number(call.handle(), path, value); }))
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *reset(PyObject *self, PyObject *) {
  Call call(of(self), Call::Kind::runs);
  if (!call.ok() || !call.run([&] { return gradus_reset(call.handle()); }))
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *saveCheckpoint(PyObject *self, PyObject *path) {
  Source source;
  bool toFile = path != Py_None;
  if (toFile && !source.read(path))
    return nullptr;
  Call call(of(self), Call::Kind::runs);
  void *bytes = nullptr;
  size_t size = 0;
  const char *file = toFile ? source.path() : nullptr;
  if (!call.ok() || !call.run([&] {
        return toFile ? gradus_save_checkpoint(call.handle(), file)
                      : gradus_save_checkpoint_memory(call.handle(), &bytes,
                                                      &size);
      }))
    return nullptr;
  if (toFile)
    Py_RETURN_NONE;
  PyObject *made = PyBytes_FromStringAndSize(static_cast<const char *>(bytes),
                                             static_cast<Py_ssize_t>(size));
  gradus_free_bytes(bytes);
  return made;
}

PyObject *loadCheckpoint(PyObject *self, PyObject *source) {
  return loadFrom(self, source, gradus_load_checkpoint,
                  gradus_load_checkpoint_memory);
}

PyObject *loadWeights(PyObject *self, PyObject *source) {
  return loadFrom(self, source, gradus_load_weights,
                  gradus_load_weights_memory);
}

} // namespace gradus::python
