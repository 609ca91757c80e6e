// Loading, closing and asking an artifact about itself.

#include "python/extension/session.h"

#include "python/extension/graph.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace gradus::python {

PyTypeObject *sessionType = nullptr;

namespace {

SessionObject *of(PyObject *self) {
  return reinterpret_cast<SessionObject *>(self);
}

void freeHandle(SessionObject *session) {
  if (!session->handle)
    return;
  gradus_session *handle = std::exchange(session->handle, nullptr);
  Py_BEGIN_ALLOW_THREADS;
  gradus_free(handle);
  Py_END_ALLOW_THREADS;
}

/// Whether a call of the session runs in another thread. One that ran while
/// this process was forked is the parent's: its thread is not in here, and
/// never ends the call.
bool isInUse(SessionObject *session) {
  pid_t process = getpid();
  if (session->process != process) {
    session->process = process;
    session->busy = 0;
  }
  return session->busy;
}

void deallocate(PyObject *self) {
  SessionObject *session = of(self);
  freeHandle(session);
  delete session->shown;
  freeObject(session);
}

PyObject *close(PyObject *self, PyObject *) {
  SessionObject *session = of(self);
  if (isInUse(session))
    return raiseInvalid("a step runs in another thread; end it before close(), "
                        "as by cancel()");
  session->closed = 1;
  if (!session->views)
    freeHandle(session);
  Py_RETURN_NONE;
}

PyObject *cancel(PyObject *self, PyObject *) {
  if (of(self)->handle)
    gradus_cancel(of(self)->handle);
  Py_RETURN_NONE;
}

PyObject *graphs(PyObject *self, PyObject *) {
  Call call(of(self));
  if (!call.ok())
    return nullptr;
  int count = gradus_graph_count(call.handle());
  Owned names(PyTuple_New(count));
  for (int i = 0; names && i < count; ++i) {
    PyObject *name = toText(gradus_graph_name(call.handle(), i));
    if (!name || PyTuple_SetItem(names.get(), i, name) < 0)
      return nullptr;
  }
  return names.release();
}

PyObject *graph(PyObject *self, PyObject *name) {
  const char *text = PyUnicode_AsUTF8AndSize(name, nullptr);
  if (!text)
    return nullptr;
  int number = -1;
  {
    Call call(of(self));
    if (!call.ok())
      return nullptr;
    number = gradus_find_graph(call.handle(), text);
  }
  if (number < 0)
    return raiseInvalid("the artifact has no graph \"%s\"", text);
  return makeGraph(of(self), number);
}

PyObject *recipe(PyObject *self, PyObject *) {
  Call call(of(self));
  return call.ok() ? toText(gradus_recipe(call.handle())) : nullptr;
}

PyObject *metadata(PyObject *self, PyObject *key) {
  const char *text = PyUnicode_AsUTF8AndSize(key, nullptr);
  if (!text)
    return nullptr;
  Call call(of(self));
  if (!call.ok())
    return nullptr;
  const char *json = gradus_metadata(call.handle(), text);
  if (!json)
    Py_RETURN_NONE;
  return toText(json);
}

PyObject *memory(PyObject *self, PyObject *) {
  Call call(of(self));
  if (!call.ok())
    return nullptr;
  gradus_memory sizes;
  if (gradus_status status = gradus_memory_of(call.handle(), &sizes))
    return raise(status, call.handle());
  return Py_BuildValue("{sKsKsKsKsKsKsK}", "state", sizes.state, "arena",
                       sizes.arena, "constants", sizes.constants, "code",
                       sizes.code, "predicted", sizes.predicted, "bound",
                       sizes.bound, "at_load",
                       gradus_bytes_at_load(call.handle()));
}

PyObject *ranks(PyObject *self, PyObject *) {
  Call call(of(self));
  if (!call.ok())
    return nullptr;
  return Py_BuildValue("(iii)", gradus_rank(call.handle()),
                       gradus_ranks(call.handle()),
                       gradus_turns(call.handle()));
}

PyObject *isClosed(PyObject *self, void *) {
  return PyBool_FromLong(of(self)->closed);
}

PyMethodDef methods[] = {
    {"close", close, METH_NOARGS, nullptr},
    {"cancel", cancel, METH_NOARGS, nullptr},
    {"graphs", graphs, METH_NOARGS, nullptr},
    {"graph", graph, METH_O, nullptr},
    {"recipe", recipe, METH_NOARGS, nullptr},
    {"metadata", metadata, METH_O, nullptr},
    {"memory", memory, METH_NOARGS, nullptr},
    {"ranks", ranks, METH_NOARGS, nullptr},
    {"states", states, METH_NOARGS, nullptr},
    {"view", view, METH_O, nullptr},
    {"read", read, METH_O, nullptr},
    {"write", write, METH_VARARGS, nullptr},
    {"number", number, METH_O, nullptr},
    {"set_number", setNumber, METH_VARARGS, nullptr},
    {"reset", reset, METH_NOARGS, nullptr},
    {"save_checkpoint", saveCheckpoint, METH_O, nullptr},
    {"load_checkpoint", loadCheckpoint, METH_O, nullptr},
    {"load_weights", loadWeights, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"closed", isClosed, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"gradus._core.Session", sizeof(SessionObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

} // namespace

bool makeSessionType() { return (sessionType = makeType(spec)) != nullptr; }

/// Tells the session which states may have been written since it was last told:
/// those of which a writable array is left, or was.
static void tellWritten(SessionObject *session) {
  for (size_t state = 0; state < session->shown->size(); ++state) {
    Shown &shown = (*session->shown)[state];
    if (shown.views || std::exchange(shown.written, false))
      gradus_state_changed(session->handle, static_cast<int>(state));
  }
  session->written = 0;
}

Call::Call(SessionObject *session, Kind kind) {
  if (session->closed || !session->handle) {
    raiseInvalid("this step was closed");
    return;
  }
  if (isInUse(session)) {
    raiseInvalid("this step is in use by another thread; one thread at a time "
                 "may use a step, and different steps are independent");
    return;
  }
  if (kind == Kind::runs && (session->writers || session->written))
    tellWritten(session);
  session->busy = 1;
  session_ = session;
}

Call::~Call() {
  if (session_)
    session_->busy = 0;
}

void forgetView(SessionObject *session, int state, bool writable) {
  if (writable) {
    Shown &shown = (*session->shown)[static_cast<size_t>(state)];
    --shown.views;
    --session->writers;
    shown.written = true;
    session->written = 1;
  }
  if (!--session->views && session->closed)
    freeHandle(session);
}

/// The device "cuda:1" in DLPack.
static dlpack::Device deviceOf(const char *device) {
  std::string_view name = device ? device : "cpu";
  if (name == "cpu")
    return dlpack::kHost;
  if (!name.starts_with("cuda"))
    return {dlpack::kEmulated, 0};
  const char *number = std::strchr(device, ':');
  return {dlpack::kCuda, number ? std::atoi(number + 1) : 0};
}

PyObject *load(PyObject *, PyObject *arguments) {
  PyObject *path = nullptr;
  Py_buffer bytes = {};
  const char *device = nullptr, *collectives = nullptr;
  gradus_options options = gradus_default_options();
  PyObject *memory = nullptr;
  if (!PyArg_ParseTuple(arguments, "OOipzpz:load", &path, &memory,
                        &options.threads, &options.deterministic, &device,
                        &options.trust, &collectives))
    return nullptr;
  if (device)
    options.device = device;
  options.collectives = collectives;
  Owned file;
  if (path != Py_None) {
    PyObject *encoded = nullptr;
    if (!PyUnicode_FSConverter(path, &encoded))
      return nullptr;
    file = Owned(encoded);
  } else if (PyObject_GetBuffer(memory, &bytes, PyBUF_SIMPLE) < 0) {
    return nullptr;
  }
  gradus_session *handle = nullptr;
  gradus_status status;
  const char *name = file ? PyBytes_AsString(file.get()) : nullptr;
  Py_BEGIN_ALLOW_THREADS;
  status = name ? gradus_load(name, &options, &handle)
                : gradus_load_memory(bytes.buf, static_cast<size_t>(bytes.len),
                                     &options, &handle);
  Py_END_ALLOW_THREADS;
  if (!name)
    PyBuffer_Release(&bytes);
  if (status != GRADUS_OK)
    return raise(status, nullptr);
  auto *session = PyObject_New(SessionObject, sessionType);
  if (!session) {
    gradus_free(handle);
    return nullptr;
  }
  session->handle = handle;
  session->process = getpid();
  session->closed = session->busy = 0;
  session->onHost = !device || std::string(device) == "cpu";
  session->device = deviceOf(device);
  session->views = session->writers = 0;
  session->written = 0;
  session->shown =
      new std::vector<Shown>(static_cast<size_t>(gradus_state_count(handle)));
  return reinterpret_cast<PyObject *>(session);
}

} // namespace gradus::python
