// Runs one graph of a session: a step, a queue of steps, bound arrays.

#include "python/extension/graph.h"

#include "python/extension/arguments.h"
#include "python/extension/outputs.h"

#include <ctime>

namespace gradus::python {
namespace {

PyTypeObject *graphType = nullptr;

/// The array that steps read an input from where they are given none, or none.
using Binding = std::unique_ptr<Argument>;

/// The integers that an input may have.
struct Range {
  int64_t low = 0, high = 0; // low <= value < high; both 0: any
  int64_t ignored = 0;       // and this one
};

struct Graph {
  int number = 0;
  std::string name;
  std::vector<Tensor> inputs;
  std::shared_ptr<const OutputPlan> outputs;
  std::vector<Binding> bindings; // for each input
  std::vector<Range> ranges;     // for each input
};

struct GraphObject {
  PyObject_HEAD SessionObject *session;
  Graph *graph;
};

GraphObject *of(PyObject *self) {
  return reinterpret_cast<GraphObject *>(self);
}

/// An array that is bound may reach the step, and so this graph, by an
/// attribute: Python's collector has to see what is held here.
int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (Graph *graph = of(self)->graph)
    for (const Binding &binding : graph->bindings)
      if (binding)
        Py_VISIT(binding->object());
  return 0;
}

int clear(PyObject *self) {
  // The arrays go last: what their end runs finds nothing bound.
  std::vector<Binding> gone;
  if (Graph *graph = of(self)->graph)
    for (Binding &binding : graph->bindings)
      gone.push_back(std::move(binding));
  return 0;
}

void deallocate(PyObject *self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  GraphObject *graph = of(self);
  delete graph->graph;
  Py_XDECREF(reinterpret_cast<PyObject *>(graph->session));
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_Del(graph);
  Py_DECREF(type);
}

/// "image, label"
std::string namesOf(const std::vector<Tensor> &tensors) {
  std::string names;
  for (const Tensor &tensor : tensors)
    names += (names.empty() ? "" : ", ") + tensor.name;
  return names;
}

/// False with Python's error set, which names the first integer outside.
template <typename Integer>
bool checkAll(const Tensor &tensor, const Range &range, const void *data) {
  auto *values = static_cast<const Integer *>(data);
  Py_ssize_t count = tensor.bytes / static_cast<Py_ssize_t>(sizeof(Integer));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Integer value = values[i];
    if ((std::cmp_less(value, range.low) ||
         std::cmp_greater_equal(value, range.high)) &&
        std::cmp_not_equal(value, range.ignored)) {
      raiseInvalid("input \"%s\": element %zd is %s; expected %lld to %lld",
                   tensor.name.c_str(), i, std::to_string(value).c_str(),
                   static_cast<long long>(range.low),
                   static_cast<long long>(range.high - 1));
      return false;
    }
  }
  return true;
}

bool check(const Tensor &tensor, const Range &range, const void *data) {
  if (range.low == range.high)
    return true;
  switch (tensor.dtype) {
  case GRADUS_I8:
    return checkAll<int8_t>(tensor, range, data);
  case GRADUS_U8:
    return checkAll<uint8_t>(tensor, range, data);
  case GRADUS_I16:
    return checkAll<int16_t>(tensor, range, data);
  case GRADUS_U16:
    return checkAll<uint16_t>(tensor, range, data);
  case GRADUS_I32:
    return checkAll<int32_t>(tensor, range, data);
  case GRADUS_U32:
    return checkAll<uint32_t>(tensor, range, data);
  case GRADUS_I64:
    return checkAll<int64_t>(tensor, range, data);
  case GRADUS_U64:
    return checkAll<uint64_t>(tensor, range, data);
  default:
    return true; // These are no indices.
  }
}

/// The arrays of one call, in memory of the caller: each input has one.
class Inputs {
public:
  Inputs(Graph &graph, const dlpack::Device &device)
      : graph_(graph), device_(device) {}

  /// Sets `onDevice` for each address; false with Python's error set.
  bool read(PyObject *const *given, Py_ssize_t count, Argument *arguments,
            const void **addresses, unsigned char *onDevice) const {
    auto wanted = static_cast<Py_ssize_t>(graph_.inputs.size());
    if (count != wanted && count != 0) {
      raiseInvalid("graph \"%s\" takes %zd inputs (%s), found %zd",
                   graph_.name.c_str(), wanted, namesOf(graph_.inputs).c_str(),
                   count);
      return false;
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Argument *argument =
          find(i, count ? given[i] : Py_None, arguments[i]);
      if (!argument)
        return false;
      onDevice[i] = argument->onDevice();
      if (!onDevice[i] &&
          !check(graph_.inputs[i], graph_.ranges[i], argument->data()))
        return false;
      addresses[i] = argument->data();
    }
    return true;
  }

private:
  /// The array for input i: that of this call, read into `own`, or the bound
  /// one; nullptr with Python's error set.
  const Argument *find(size_t i, PyObject *object, Argument &own) const {
    const Tensor &tensor = graph_.inputs[i];
    if (object != Py_None)
      return own.read("input", tensor, object, device_) ? &own : nullptr;
    if (!graph_.bindings[i])
      raiseInvalid("input \"%s\" of graph \"%s\": nothing is given or bound",
                   tensor.name.c_str(), graph_.name.c_str());
    return graph_.bindings[i].get();
  }

  Graph &graph_;
  dlpack::Device device_;
};

/// The options of a call where inputs may be on the device.
gradus_step_options optionsFor(const unsigned char *onDevice) {
  gradus_step_options options = gradus_default_step_options();
  options.on_device = onDevice;
  return options;
}

/// Room for a few elements on the stack, for more on the heap.
template <typename Element, size_t few> class Some {
public:
  explicit Some(size_t count) {
    if (count > few)
      many_ = std::make_unique<Element[]>(count);
  }
  Element *get() { return many_ ? many_.get() : few_; }

private:
  Element few_[few];
  std::unique_ptr<Element[]> many_;
};

PyObject *step(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  Graph &graph = *of(self)->graph;
  Call call(of(self)->session, Call::Kind::runs);
  if (!call.ok())
    return nullptr;
  size_t inputs = graph.inputs.size();
  Some<Argument, 4> arguments(inputs);
  Some<const void *, 8> from(inputs);
  Some<unsigned char, 8> onDevice(inputs);
  Some<void *, 8> to(graph.outputs->tensors().size());
  if (!Inputs(graph, of(self)->session->device)
           .read(given, count, arguments.get(), from.get(), onDevice.get()))
    return nullptr;
  gradus_step_options options = optionsFor(onDevice.get());
  Owned outputs(makeOutputs(graph.outputs, to.get()));
  if (!outputs || !call.run([&] {
        return gradus_steps_with(call.handle(), graph.number, 1, from.get(),
                                 to.get(), nullptr, &options);
      }))
    return nullptr;
  return outputs.release();
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

/// A queue of batches with the memory of their outputs.
class Queue {
public:
  Queue(Graph &graph, const dlpack::Device &device)
      : graph_(graph), device_(device) {}

  /// Reads batches, each a sequence of arrays in the order of inputs; false
  /// with Python's error set.
  bool read(PyObject *batches) {
    count_ = PySequence_Size(batches);
    if (count_ < 0)
      return false;
    size_t inputs = graph_.inputs.size(), steps = static_cast<size_t>(count_);
    size_t outputs = graph_.outputs->tensors().size();
    arguments_ = std::make_unique<Argument[]>(steps * inputs);
    from_.resize(steps * inputs);
    onDevice_.resize(steps * inputs);
    to_.resize(steps * outputs);
    for (size_t i = 0; i < steps; ++i) {
      Owned batch(PySequence_GetItem(batches, static_cast<Py_ssize_t>(i)));
      if (!batch || !readBatch(batch.get(), i))
        return false;
      results_.emplace_back(
          makeOutputs(graph_.outputs, to_.data() + i * outputs));
      if (!results_.back())
        return false;
    }
    return true;
  }

  /// Runs all, and asks for signals every 50 ms: those that are done are in the
  /// list `done`, also where Python's error is set and the result is false.
  bool run(Call &call, PyObject *done) {
    Py_ssize_t piece = 1;
    for (Py_ssize_t i = 0; i < count_;) {
      Py_ssize_t steps = std::min(piece, count_ - i);
      double start = now();
      int64_t complete = 0;
      bool fine = call.run([&] {
        auto first = static_cast<size_t>(i);
        size_t input = first * graph_.inputs.size();
        gradus_step_options options = optionsFor(onDevice_.data() + input);
        return gradus_steps_with(
            call.handle(), graph_.number, steps, from_.data() + input,
            to_.data() + first * graph_.outputs->tensors().size(), &complete,
            &options);
      });
      for (Py_ssize_t k = 0; k < complete; ++k)
        if (PyList_Append(done, results_[static_cast<size_t>(i + k)].get()) < 0)
          return false;
      if (!fine || PyErr_CheckSignals() < 0)
        return false;
      i += steps;
      if (now() - start < kBetweenSignals / 2)
        piece *= 2;
    }
    return true;
  }

private:
  static constexpr double kBetweenSignals = 0.05; // seconds

  bool readBatch(PyObject *batch, size_t number) {
    Owned fast(PySequence_Tuple(batch));
    if (!fast)
      return false;
    std::vector<PyObject *> given;
    for (Py_ssize_t i = 0; i < PyTuple_Size(fast.get()); ++i)
      given.push_back(PyTuple_GetItem(fast.get(), i));
    size_t first = number * graph_.inputs.size();
    return Inputs(graph_, device_)
        .read(given.data(), static_cast<Py_ssize_t>(given.size()),
              arguments_.get() + first, from_.data() + first,
              onDevice_.data() + first);
  }

  Graph &graph_;
  dlpack::Device device_;
  Py_ssize_t count_ = 0;
  std::unique_ptr<Argument[]> arguments_;
  std::vector<const void *> from_;
  std::vector<unsigned char> onDevice_;
  std::vector<void *> to_;
  std::vector<Owned> results_;
};

/// steps(batches, done): appends outputs to the list `done`.
PyObject *steps(PyObject *self, PyObject *arguments) {
  PyObject *batches = nullptr, *done = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO:steps", &batches, &done))
    return nullptr;
  // The call begins before arrays are read, so that what is bound stays.
  Call call(of(self)->session, Call::Kind::runs);
  Queue queue(*of(self)->graph, of(self)->session->device);
  if (!call.ok() || !queue.read(batches) || !queue.run(call, done))
    return nullptr;
  Py_RETURN_NONE;
}

/// bind(name, array or None): steps without this input read the array's memory.
PyObject *bind(PyObject *self, PyObject *arguments) {
  const char *name = nullptr;
  PyObject *object = nullptr;
  if (!PyArg_ParseTuple(arguments, "sO:bind", &name, &object))
    return nullptr;
  Graph &graph = *of(self)->graph;
  Call call(of(self)->session);
  if (!call.ok())
    return nullptr;
  int input = gradus_find_input(call.handle(), graph.number, name);
  if (input < 0)
    return raiseInvalid("graph \"%s\" has no input \"%s\"; it has %s",
                        graph.name.c_str(), name,
                        namesOf(graph.inputs).c_str());
  const Tensor &tensor = graph.inputs[static_cast<size_t>(input)];
  Binding next;
  if (object != Py_None) {
    next = std::make_unique<Argument>();
    if (!next->read("input", tensor, object, of(self)->session->device))
      return nullptr;
    if (next->onDevice())
      return raiseInvalid("input \"%s\": an array that is bound lies in the "
                          "host's memory; give one on the GPU with each call, "
                          "which waits for what fills it",
                          name);
    if (next->copied())
      return raiseInvalid("input \"%s\": an array that is bound must be dense "
                          "and of type %s, so that no copy of it is needed",
                          name, nameOf(tensor.dtype));
  }
  // Each step is given the address, so the session keeps none. What was bound
  // goes at the end of this function.
  std::swap(graph.bindings[static_cast<size_t>(input)], next);
  Py_RETURN_NONE;
}

/// limit(name, low, high, ignored): integers of this input lie in [low, high),
/// or are `ignored`; others are refused before a step.
PyObject *limit(PyObject *self, PyObject *arguments) {
  const char *name = nullptr;
  long long low = 0, high = 0, ignored = 0;
  if (!PyArg_ParseTuple(arguments, "sLLL:limit", &name, &low, &high, &ignored))
    return nullptr;
  Graph &graph = *of(self)->graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].name == name)
      graph.ranges[i] = {low, high, ignored};
  Py_RETURN_NONE;
}

PyObject *listOf(const std::vector<Tensor> &tensors) {
  Owned list(PyList_New(0));
  for (const Tensor &tensor : tensors) {
    Owned row(describe(tensor));
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0)
      return nullptr;
  }
  return list.release();
}

PyObject *inputs(PyObject *self, void *) {
  return listOf(of(self)->graph->inputs);
}

PyObject *outputs(PyObject *self, void *) {
  return listOf(of(self)->graph->outputs->tensors());
}

PyMethodDef methods[] = {
    {"step", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(step)),
     METH_FASTCALL, nullptr},
    {"steps", steps, METH_VARARGS, nullptr},
    {"bind", bind, METH_VARARGS, nullptr},
    {"limit", limit, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"inputs", inputs, nullptr, nullptr, nullptr},
    {"outputs", outputs, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"gradus._core.Graph", sizeof(GraphObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

/// Asks a session for the inputs and outputs; false with Python's error set.
bool describeGraph(gradus_session *session, Graph &graph) {
  graph.name = gradus_graph_name(session, graph.number);
  gradus_tensor found;
  for (int i = 0; i < gradus_input_count(session, graph.number); ++i) {
    if (gradus_status status = gradus_input(session, graph.number, i, &found))
      return raise(status, session);
    graph.inputs.emplace_back(found);
  }
  graph.bindings = std::vector<Binding>(graph.inputs.size());
  graph.ranges.resize(graph.inputs.size());
  auto plan = std::make_shared<OutputPlan>();
  for (int i = 0; i < gradus_output_count(session, graph.number); ++i) {
    if (gradus_status status = gradus_output(session, graph.number, i, &found))
      return raise(status, session);
    if (!plan->add(Tensor(found)))
      return false;
  }
  graph.outputs = std::move(plan);
  return true;
}

} // namespace

bool makeGraphTypes() {
  return (graphType = makeType(spec)) && makeOutputsType();
}

PyObject *makeGraph(SessionObject *session, int number) {
  auto graph = std::make_unique<Graph>();
  graph->number = number;
  {
    Call call(session);
    if (!call.ok() || !describeGraph(call.handle(), *graph))
      return nullptr;
  }
  auto *object = PyObject_GC_New(GraphObject, graphType);
  if (!object)
    return nullptr;
  object->session = session;
  Py_INCREF(reinterpret_cast<PyObject *>(session));
  object->graph = graph.release();
  PyObject_GC_Track(object);
  return reinterpret_cast<PyObject *>(object);
}

} // namespace gradus::python
