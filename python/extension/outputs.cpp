// The outputs of one run of a graph: each is an attribute (out.loss) and an
// item (out["loss"]).

#include "python/extension/outputs.h"

#include "python/extension/errors.h"
#include "python/extension/views.h"

namespace gradus::python {

PyTypeObject *outputsType = nullptr;

namespace {

constexpr size_t kAlignment = 64;

constexpr char kAbout[] =
    "The outputs of one step: each is an attribute (out.loss) and an item "
    "(out[\"loss\"]).\n\nThose of shape [] are Python's numbers, others numpy "
    "arrays over the memory\nthat the step wrote. dict(out) has all of them.";

struct OutputsObject {
  PyObject_HEAD std::shared_ptr<const OutputPlan> *plan;
  char *memory; // as allocated
  char *data;   // of it, aligned
};

OutputsObject *of(PyObject *self) {
  return reinterpret_cast<OutputsObject *>(self);
}

void deallocate(PyObject *self) {
  OutputsObject *outputs = of(self);
  delete outputs->plan;
  PyMem_Free(outputs->memory);
  freeObject(outputs);
}

PyObject *valueAt(PyObject *self, size_t number) {
  const OutputPlan &plan = **of(self)->plan;
  const Tensor &tensor = plan.tensors()[number];
  char *data = of(self)->data + plan.offset(number);
  return tensor.shape.empty() ? numberAt(data, tensor.dtype)
                              : showOutput(self, tensor, data);
}

/// The number of an output by its name; -1 if there is none.
Py_ssize_t numberOf(PyObject *self, PyObject *name) {
  PyObject *number =
      PyDict_GetItemWithError((*of(self)->plan)->numbers(), name);
  return number ? PyLong_AsSsize_t(number) : -1;
}

PyObject *namesOf(PyObject *self) {
  return PySequence_List((*of(self)->plan)->numbers());
}

PyObject *getAttribute(PyObject *self, PyObject *name) {
  Py_ssize_t number = numberOf(self, name);
  if (number >= 0)
    return valueAt(self, static_cast<size_t>(number));
  if (PyErr_Occurred())
    return nullptr;
  PyObject *found = PyObject_GenericGetAttr(self, name);
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    if (Owned names(namesOf(self)); names)
      PyErr_Format(PyExc_AttributeError, "no output is called %R; there are %R",
                   name, names.get());
  }
  return found;
}

/// Lists what an interactive Python completes behind `out.`.
PyObject *directory(PyObject *self, PyObject *) {
  Owned own(PyObject_Dir(reinterpret_cast<PyObject *>(Py_TYPE(self))));
  Owned names(namesOf(self));
  return own && names ? PySequence_Concat(names.get(), own.get()) : nullptr;
}

/// Lists what IPython completes behind `out["`.
PyObject *completions(PyObject *self, PyObject *) { return namesOf(self); }

PyObject *getItem(PyObject *self, PyObject *name) {
  Py_ssize_t number = numberOf(self, name);
  if (number >= 0)
    return valueAt(self, static_cast<size_t>(number));
  if (!PyErr_Occurred()) {
    if (Owned names(namesOf(self)); names)
      PyErr_Format(PyExc_KeyError, "no output is called %R; there are %R", name,
                   names.get());
  }
  return nullptr;
}

Py_ssize_t length(PyObject *self) {
  return static_cast<Py_ssize_t>((*of(self)->plan)->tensors().size());
}

PyObject *keys(PyObject *self, PyObject *) {
  return PyDict_Keys((*of(self)->plan)->numbers());
}

/// Refuses to be taken apart: a dictionary would give names, where
/// `loss, accuracy = step(image, label)` means values.
PyObject *refuseToIterate(PyObject *self) {
  if (Owned names(namesOf(self)); names)
    PyErr_Format(PyExc_TypeError,
                 "outputs are taken by name, as out.loss or out[\"loss\"], and "
                 "not in an order; there are %R. dict(out) has all of them, "
                 "out.keys() their names",
                 names.get());
  return nullptr;
}

int contains(PyObject *self, PyObject *name) {
  return PyDict_Contains((*of(self)->plan)->numbers(), name);
}

/// "Outputs(loss=2.30, logits=f32[32,10])"
PyObject *represent(PyObject *self) {
  Owned text(PyUnicode_FromString("Outputs("));
  const std::vector<Tensor> &tensors = (*of(self)->plan)->tensors();
  for (size_t i = 0; text && i < tensors.size(); ++i) {
    const char *separator = i ? ", " : "";
    if (!tensors[i].shape.empty()) {
      text = Owned(PyUnicode_FromFormat("%U%s%s=%s", text.get(), separator,
                                        tensors[i].name.c_str(),
                                        typeText(tensors[i]).c_str()));
      continue;
    }
    Owned value(valueAt(self, i));
    text =
        Owned(value ? PyUnicode_FromFormat("%U%s%s=%R", text.get(), separator,
                                           tensors[i].name.c_str(), value.get())
                    : nullptr);
  }
  return text ? PyUnicode_FromFormat("%U)", text.get()) : nullptr;
}

PyMethodDef methods[] = {
    {"keys", keys, METH_NOARGS, "The names of the outputs."},
    {"__dir__", directory, METH_NOARGS, nullptr},
    {"_ipython_key_completions_", completions, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>(kAbout)},
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_getattro, reinterpret_cast<void *>(getAttribute)},
    {Py_tp_iter, reinterpret_cast<void *>(refuseToIterate)},
    {Py_tp_repr, reinterpret_cast<void *>(represent)},
    {Py_tp_methods, methods},
    {Py_mp_subscript, reinterpret_cast<void *>(getItem)},
    {Py_mp_length, reinterpret_cast<void *>(length)},
    {Py_sq_contains, reinterpret_cast<void *>(contains)},
    {0, nullptr},
};

PyType_Spec spec = {"gradus._core.Outputs", sizeof(OutputsObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

} // namespace

bool OutputPlan::add(Tensor tensor) {
  if (!numbers_ && !(numbers_ = PyDict_New()))
    return false;
  Owned number(PyLong_FromSize_t(tensors_.size()));
  Owned name(toText(tensor.name.c_str()));
  if (!number || !name ||
      PyDict_SetItem(numbers_, name.get(), number.get()) < 0)
    return false;
  offsets_.push_back(bytes_);
  bytes_ += static_cast<size_t>(tensor.bytes);
  bytes_ = (bytes_ + 7) / 8 * 8;
  tensors_.push_back(std::move(tensor));
  return true;
}

bool makeOutputsType() { return (outputsType = makeType(spec)) != nullptr; }

PyObject *makeOutputs(const std::shared_ptr<const OutputPlan> &plan,
                      void **addresses) {
  auto *outputs = PyObject_New(OutputsObject, outputsType);
  if (!outputs)
    return nullptr;
  outputs->plan = new std::shared_ptr<const OutputPlan>(plan);
  bool large = plan->bytes() > kAlignment;
  outputs->memory = static_cast<char *>(
      PyMem_Malloc(plan->bytes() + (large ? kAlignment : 1)));
  Owned made(reinterpret_cast<PyObject *>(outputs));
  if (!outputs->memory)
    return PyErr_NoMemory();
  size_t beyond = reinterpret_cast<uintptr_t>(outputs->memory) % kAlignment;
  outputs->data = outputs->memory + (large && beyond ? kAlignment - beyond : 0);
  for (size_t i = 0; i < plan->tensors().size(); ++i)
    addresses[i] = outputs->data + plan->offset(i);
  return made.release();
}

} // namespace gradus::python
