// The type `Session`: a loaded artifact with its state, and how calls of it are
// kept apart.

#pragma once

#include "python/extension/dlpack.h"
#include "python/extension/errors.h"
#include "python/extension/tensors.h"

#include <sys/types.h>

namespace gradus::python {

/// The arrays that may write a state.
struct Shown {
  int views = 0;
  bool written = false; // by one that is gone
};

/// Python's object. Its memory of the C API goes when it is closed and no view
/// of a state is left.
struct SessionObject {
  PyObject_HEAD gradus_session *handle;
  int closed;
  pid_t process;             // whose threads `busy` is about
  int busy;                  // a call runs, in any thread
  int onHost;                // states lie in the host's memory
  dlpack::Device device;     // in whose memory inputs may lie beside the host's
  Py_ssize_t views;          // arrays that show states
  Py_ssize_t writers;        // of them those that may write
  int written;               // some state may have been written through one
  std::vector<Shown> *shown; // for each state
};

extern PyTypeObject *sessionType;
bool makeSessionType();

/// Module functions: load(path or None, bytes or None, threads, deterministic,
/// device, trust, collectives).
PyObject *load(PyObject *, PyObject *arguments);

/// One call of the C API with a session. Without one (`ok()` is false) Python's
/// error is set: the session is closed, or in use by another thread.
class Call {
public:
  /// Whether the call runs steps, or reads or saves states: those have to see
  /// what was written through views. Others only ask what is there.
  enum class Kind { asks, runs };

  explicit Call(SessionObject *session, Kind kind = Kind::asks);
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  ~Call();

  bool ok() const { return session_ != nullptr; }
  gradus_session *handle() const { return session_->handle; }

  /// Runs `function` without Python's lock; false with Python's error set where
  /// it fails.
  template <typename Function> bool run(const Function &function) {
    gradus_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = function();
    Py_END_ALLOW_THREADS;
    if (status == GRADUS_OK)
      return true;
    raise(status, session_->handle);
    return false;
  }

private:
  SessionObject *session_ = nullptr;
};

/// An array that shows a state went away.
void forgetView(SessionObject *session, int state, bool writable);

/// Calls on states, for the table of methods.
PyObject *states(PyObject *self, PyObject *);
PyObject *view(PyObject *self, PyObject *name);
PyObject *read(PyObject *self, PyObject *name);
PyObject *write(PyObject *self, PyObject *arguments);
PyObject *number(PyObject *self, PyObject *path);
PyObject *setNumber(PyObject *self, PyObject *arguments);
PyObject *reset(PyObject *self, PyObject *);
PyObject *saveCheckpoint(PyObject *self, PyObject *path);
PyObject *loadCheckpoint(PyObject *self, PyObject *source);
PyObject *loadWeights(PyObject *self, PyObject *source);

} // namespace gradus::python
