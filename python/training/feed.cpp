// Data sets of `gradus train` for Python: files or arrays in, batches out.

#include "python/extension/tensors.h"
#include "python/training/columns.h"
#include "python/training/values.h"
#include "runtime/origin.h"
#include "training/data/batches.h"
#include "training/feeds.h"
#include "training/test_means.h"

#include <algorithm>

namespace gradus::python {
namespace {

using training::ArtifactOutline;

PyTypeObject *feedType = nullptr, *batchesType = nullptr, *shownType = nullptr;
/// More than any machine has cores.
constexpr int kMostThreads = 1 << 16;

/// A type of the artifact's schema is of the same number in the C API.
static_assert(static_cast<int>(runtime::DType::u64) == GRADUS_U64);

/// An input as Python's buffers describe it.
Tensor tensorOf(const runtime::TensorInfo &info) {
  return Tensor({info.name.c_str(), static_cast<gradus_dtype>(info.type.dtype),
                 static_cast<int>(info.type.shape.size()),
                 info.type.shape.data(), info.bytes});
}

/// The data set that a user gave, which several graphs may read.
struct Source {
  Buffers arrays;
  data::Dataset dataset;
  bool isOfFiles = false; // which are prepared as the recipe says
};

struct Feed {
  std::shared_ptr<Source> source = std::make_shared<Source>();
  data::Feed feed;
  std::vector<Tensor> inputs;
};

//===-- making one --------------------------------------------------------===//

/// Opens what a user gave as a data set: the arguments of `--data`, or arrays
/// where `what` names them. Sets Python's error on failure.
bool openDataset(PyObject *source, const char *what, Source &made) {
  std::vector<data::Column> columns;
  std::vector<std::string> files;
  if (what ? !readArrays(source, made.arrays, columns) : !read(source, files))
    return false;
  auto opened = unlocked([&] {
    return what ? data::Dataset::of(std::move(columns), what)
                : data::Dataset::open(files);
  });
  if (!opened.ok())
    return raise(opened.status()) != nullptr;
  made.dataset = *std::move(opened);
  made.isOfFiles = !what;
  return true;
}

training::Use useOf(const std::string &graph) {
  return graph == "train" ? training::Use::training : training::Use::evaluation;
}

runtime::Status match(const std::string &outline, const std::string &graph,
                      Feed &made) {
  auto artifact = ArtifactOutline::parse(outline);
  GRADUS_TRY(artifact.status());
  const training::GraphOutline *found = artifact->find(graph);
  if (!found)
    return runtime::invalid("there is no graph '", graph, "'");
  GRADUS_ASSIGN(made.feed,
                training::feedOf(*artifact, *found, made.source->dataset,
                                 useOf(graph), made.source->isOfFiles));
  for (const runtime::TensorInfo &input : found->inputs)
    made.inputs.push_back(tensorOf(input));
  return {};
}

/// feed(outline of the artifact, graph, [argument of --data...], None, names of
/// classes), or with [(name, type, array)...] and what they are called.
PyObject *makeFeed(PyObject *, PyObject *arguments) {
  const char *outline = nullptr, *graph = nullptr, *what = nullptr;
  PyObject *source = nullptr, *classes = nullptr;
  std::vector<std::string> names;
  if (!PyArg_ParseTuple(arguments, "ssOzO:feed", &outline, &graph, &source,
                        &what, &classes) ||
      !read(classes, names))
    return nullptr;
  auto made = std::make_unique<Feed>();
  if (!openDataset(source, what, *made->source))
    return nullptr;
  data::Dataset &dataset = made->source->dataset;
  runtime::Status status;
  if (!names.empty() && dataset.classes())
    status = dataset.countClassesAs(names, "the training data");
  if (status.ok())
    status = unlocked([&] { return match(outline, graph, *made); });
  return status.ok() ? hold(feedType, std::move(made)) : raise(status);
}

/// hold_out(outline of the artifact, graph, part, seed): the feed of a test on
/// a part of the samples, which the seed chooses; the others stay. No batches
/// of this feed may have been begun.
PyObject *holdOut(PyObject *self, PyObject *arguments) {
  const char *outline = nullptr, *graph = nullptr;
  double part = 0;
  unsigned long long seed = 0;
  if (!PyArg_ParseTuple(arguments, "ssdK:hold_out", &outline, &graph, &part,
                        &seed))
    return nullptr;
  if (!(part > 0 && part < 1))
    return raise(runtime::invalid("validation: expected a part between 0 and "
                                  "1, found ",
                                  part));
  auto &rest = valueOf<Feed>(self);
  auto made = std::make_unique<Feed>();
  made->source = rest.source;
  runtime::Status status = unlocked([&]() -> runtime::Status {
    GRADUS_TRY(match(outline, graph, *made));
    training::TrainingFeeds feeds{rest.feed, made->feed};
    GRADUS_TRY(feeds.split(rest.feed.source(), part, seed));
    rest.feed = std::move(feeds.train);
    made->feed = *std::move(feeds.test);
    return {};
  });
  return status.ok() ? hold(feedType, std::move(made)) : raise(status);
}

//===-- asking it ---------------------------------------------------------===//

PyObject *samples(PyObject *self, void *) {
  return PyLong_FromLongLong(valueOf<Feed>(self).feed.samples());
}

PyObject *batch(PyObject *self, void *) {
  return PyLong_FromLongLong(valueOf<Feed>(self).feed.batch());
}

/// The batches of an epoch of training.
PyObject *perEpoch(PyObject *self, void *) {
  return PyLong_FromLongLong(
      data::Batches::perEpoch(valueOf<Feed>(self).feed, /*shuffle=*/true));
}

/// The samples that a test uses.
PyObject *evaluated(PyObject *self, void *) {
  return PyLong_FromLongLong(
      training::evaluatedSamples(valueOf<Feed>(self).feed));
}

PyObject *remarks(PyObject *self, void *) {
  const Feed &feed = valueOf<Feed>(self);
  std::vector<std::string> all = feed.source->dataset.remarks();
  for (const std::string &note : feed.feed.notes())
    all.push_back(feed.feed.source() + ": " + note);
  return toList(all);
}

/// The names of the classes that labels count; none if they have no names.
PyObject *classes(PyObject *self, void *) {
  const auto *names = valueOf<Feed>(self).source->dataset.classes();
  return toList(names ? *names : std::vector<std::string>());
}

PyObject *verifyEvaluates(PyObject *self, PyObject *) {
  const Feed &feed = valueOf<Feed>(self);
  runtime::Status status = unlocked(
      [&] { return training::verifyEvaluates(feed.feed, feed.feed.source()); });
  if (!status.ok())
    return raise(status);
  Py_RETURN_NONE;
}

/// share(number of a batch of a test): the labels that count, and their weight.
PyObject *share(PyObject *self, PyObject *number) {
  long long batch = PyLong_AsLongLong(number);
  if (PyErr_Occurred())
    return nullptr;
  const data::Feed &feed = valueOf<Feed>(self).feed;
  int64_t all = training::evaluatedSamples(feed);
  int64_t batches = (all + feed.batch() - 1) / feed.batch();
  if (batch < 0 || batch >= batches)
    return raise(runtime::invalid("batch ", batch, ": the test has ", batches,
                                  " batches, counted from 0"));
  int64_t first = batch * feed.batch();
  int64_t count = std::min(feed.batch(), all - first);
  auto found = unlocked([&] { return training::shareOf(feed, first, count); });
  if (!found.ok())
    return raise(found.status());
  return Py_BuildValue("(dd)", found->labels, found->weight);
}

/// loss_is_total(outline of the artifact)
PyObject *lossIsTotal(PyObject *, PyObject *text) {
  std::string outline;
  if (!read(text, outline))
    return nullptr;
  auto artifact = ArtifactOutline::parse(outline);
  return artifact.ok()
             ? PyBool_FromLong(training::lossIsTotal(artifact->recipe))
             : raise(artifact.status());
}

//===-- its batches -------------------------------------------------------===//

/// An iterator over batches, each a tuple of buffers that are valid until the
/// next one is asked for: then they show another one, and their memory stays
/// as long as somebody has them.
struct Batches {
  Owned feed; // which must outlive the batches
  std::shared_ptr<data::Batches> batches;
  const data::Chunk *chunk = nullptr;
  int64_t at = 0;         // the next batch in the chunk
  Owned shown;            // the buffers of the last batch
  bool busy = false;      // in next(), in any thread
  runtime::Origin origin; // the process that has the threads
};

/// Fails unless the batches exist, and their samples can be counted.
runtime::Status verify(const data::BatchOptions &options,
                       const data::Feed &feed) {
  int64_t most = INT64_MAX / feed.batch() -
                 data::Batches::perEpoch(feed, /*shuffle=*/false);
  if (options.first < 0 || options.end < options.first || options.end > most)
    return runtime::invalid("batches ", options.first, " up to ", options.end,
                            ": expected two numbers in order, from 0 to ",
                            most);
  if (options.threads < 1 || options.threads > kMostThreads)
    return runtime::invalid(options.threads, " threads: expected 1 to ",
                            kMostThreads);
  return {};
}

/// batches(first, end, seed, shuffle, threads): batch `first` up to `end` of
/// all, which are counted from the first epoch on.
PyObject *makeBatches(PyObject *self, PyObject *arguments) {
  data::BatchOptions options;
  long long first = 0, end = 0;
  unsigned long long seed = 0;
  int shuffle = 0;
  if (!PyArg_ParseTuple(arguments, "LLKpi:batches", &first, &end, &seed,
                        &shuffle, &options.threads))
    return nullptr;
  options.first = first;
  options.end = end;
  options.seed = seed;
  options.shuffle = shuffle;
  runtime::Status status = verify(options, valueOf<Feed>(self).feed);
  if (!status.ok())
    return raise(status);
  auto made = std::make_unique<Batches>();
  made->feed = Owned::of(self);
  made->batches =
      std::make_shared<data::Batches>(valueOf<Feed>(self).feed, options);
  return hold(batchesType, std::move(made));
}

/// Owns one input of a batch, which a buffer of Python's shows.
struct Shown {
  Owned feed; // which has the type
  std::shared_ptr<data::Batches> batches;
  Tensor &tensor;
  const void *memory;
};

int fill(PyObject *self, Py_buffer *view, int flags) {
  const Shown &shown = valueOf<Shown>(self);
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "a batch can only be read");
    return -1;
  }
  *view = {};
  view->buf = const_cast<void *>(shown.memory);
  view->obj = Py_NewRef(self);
  view->len = shown.tensor.bytes;
  view->itemsize = sizeOf(shown.tensor.dtype);
  view->readonly = 1;
  view->ndim = static_cast<int>(shown.tensor.shape.size());
  view->format = const_cast<char *>(formatOf(shown.tensor.dtype));
  view->shape = shown.tensor.shape.data();
  view->strides = shown.tensor.strides.data();
  return 0;
}

/// A buffer of Python's that shows an input of a batch.
PyObject *show(const Batches &batches, Tensor &tensor, const void *memory) {
  Owned shown(hold(shownType, std::unique_ptr<Shown>(
                                  new Shown{Owned::of(batches.feed.get()),
                                            batches.batches, tensor, memory})));
  return shown ? PyMemoryView_FromObject(shown.get()) : nullptr;
}

/// An error of Python's that is set aside: while one is set, no method may be
/// called.
class SetAside {
public:
  SetAside() { PyErr_Fetch(&type_, &value_, &trace_); }
  SetAside(const SetAside &) = delete;
  ~SetAside() { PyErr_Restore(type_, value_, trace_); }

private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

/// Makes the buffers of the last batch tell who still asks them that they are
/// gone. One that is in use stays; its user was told.
void takeBack(Batches &batches) {
  Owned shown = std::move(batches.shown);
  Py_ssize_t count = shown ? PyTuple_Size(shown.get()) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Owned done(PyObject_CallMethod(PyTuple_GetItem(shown.get(), i), "release",
                                   nullptr));
    if (!done)
      PyErr_Clear();
  }
}

/// A call of next(), however it ends.
class InUse {
public:
  explicit InUse(Batches &batches) : batches_(batches) { batches_.busy = true; }
  InUse(const InUse &) = delete;
  ~InUse() { batches_.busy = false; }

private:
  Batches &batches_;
};

/// Goes on to the next chunk where the last one is done; false at the end, or
/// with Python's error set.
bool advance(Batches &batches) {
  if (batches.chunk && batches.at < batches.chunk->count)
    return true;
  {
    InUse use(batches);
    batches.chunk = unlocked([&] { return batches.batches->next(); });
  }
  batches.at = 0;
  if (!batches.chunk && !batches.batches->status().ok())
    raise(batches.batches->status());
  return batches.chunk != nullptr;
}

PyObject *next(PyObject *self) {
  auto &batches = valueOf<Batches>(self);
  if (batches.origin.isOther())
    return raise(runtime::invalid(
        "these batches were begun by the parent process, before fork, whose "
        "threads prepare them; begin others in this process"));
  if (batches.busy) {
    PyErr_SetString(PyExc_ValueError, "these batches are in use");
    return nullptr;
  }
  takeBack(batches);
  if (!advance(batches))
    return nullptr;
  std::vector<Tensor> &inputs = valueOf<Feed>(batches.feed.get()).inputs;
  auto places = batches.chunk->inputs.subspan(
      static_cast<size_t>(batches.at++) * inputs.size(), inputs.size());
  Owned tuple(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
  for (size_t i = 0; tuple && i < inputs.size(); ++i) {
    PyObject *array = show(batches, inputs[i], places[i]);
    if (!array ||
        PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), array) < 0)
      return nullptr;
  }
  batches.shown = Owned::of(tuple.get());
  return tuple.release();
}

/// Ends the threads, once they have prepared the sample that they are at. The
/// memory stays where a buffer is in use. In a child of fork there are none to
/// wait for, and they may have held a lock: there all of it stays for ever.
void end(const Batches &batches) {
  if (batches.origin.isOther()) {
    new std::shared_ptr<data::Batches>(batches.batches);
    return;
  }
  unlocked([&] {
    batches.batches->end();
    return 0;
  });
}

/// A loop that an exception leaves frees its batches while that one is set. Of
/// batches whose threads cannot be ended all stays for ever, as after a fork.
void deallocate(PyObject *self) {
  SetAside error;
  auto &batches = valueOf<Batches>(self);
  takeBack(batches);
  try {
    end(batches);
  } catch (const std::exception &) {
    raiseCaught();
    PyErr_WriteUnraisable(nullptr);
    return;
  }
  drop<Batches>(self);
}

PyMethodDef feedMethods[] = {
    {"hold_out", guarded<holdOut>, METH_VARARGS, nullptr},
    {"verify_evaluates", guarded<verifyEvaluates>, METH_NOARGS, nullptr},
    {"share", guarded<share>, METH_O, nullptr},
    {"batches", guarded<makeBatches>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef feedProperties[] = {
    {"samples", guarded<samples>, nullptr, nullptr, nullptr},
    {"batch", guarded<batch>, nullptr, nullptr, nullptr},
    {"per_epoch", guarded<perEpoch>, nullptr, nullptr, nullptr},
    {"evaluated", guarded<evaluated>, nullptr, nullptr, nullptr},
    {"remarks", guarded<remarks>, nullptr, nullptr, nullptr},
    {"classes", guarded<classes>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef functions[] = {
    {"feed", guarded<makeFeed>, METH_VARARGS, nullptr},
    {"loss_is_total", guarded<lossIsTotal>, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

bool addFeeds(PyObject *module) {
  return (feedType = addType<Feed>(module, "gradus._training.Feed",
                                   {{Py_tp_methods, feedMethods},
                                    {Py_tp_getset, feedProperties}})) &&
         (batchesType = addType<Batches, deallocate>(
              module, "gradus._training.Batches",
              {{Py_tp_iter, reinterpret_cast<void *>(PyObject_SelfIter)},
               {Py_tp_iternext, reinterpret_cast<void *>(guarded<next>)}})) &&
         (shownType = addType<Shown>(
              module, "gradus._training.Shown",
              {{Py_bf_getbuffer, reinterpret_cast<void *>(fill)}})) &&
         PyModule_AddFunctions(module, functions) == 0;
}

} // namespace gradus::python
