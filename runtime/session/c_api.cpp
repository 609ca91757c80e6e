// The C API (runtime/gradus.h) over runtime/session/session.h.

#include "runtime/session/c_api.h"

#include "runtime/collectives/agreement.h"
#include "runtime/collectives/open_mpi.h"
#include "runtime/flat.h"
#include "runtime/session/c_api_handle.h"
#include "runtime/session/c_options.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

using namespace gradus::runtime;

static thread_local std::string lastError;

static gradus_status codeOf(const Status &status) {
  switch (status.code()) {
  case StatusCode::ok:
    return GRADUS_OK;
  case StatusCode::cancelled:
    return GRADUS_CANCELLED;
  case StatusCode::invalid:
    return GRADUS_INVALID;
  default:
    return GRADUS_FAILED;
  }
}

gradus_status gradus::runtime::report(const gradus_session *session,
                                      const Status &status) {
  if (!status.ok())
    (session ? session->error : lastError) = std::string(status.message());
  return codeOf(status);
}

gradus_status gradus::runtime::reject(const gradus_session *session,
                                      const std::string &words) {
  return report(session, invalid(words));
}

namespace {

const GraphInfo *graphOf(const gradus_session *session, int graph) {
  if (!session || graph < 0 || graph >= gradus_graph_count(session))
    return nullptr;
  return &session->session->graphs()[graph];
}

template <typename Infos> int find(const Infos &infos, const char *name) {
  for (size_t i = 0; name && i < infos.size(); ++i)
    if (infos[i].name == name)
      return static_cast<int>(i);
  return -1;
}

gradus_tensor tensorOf(const TensorInfo &info) {
  return {info.name.c_str(), static_cast<gradus_dtype>(info.type.dtype),
          static_cast<int>(info.type.shape.size()), info.type.shape.data(),
          info.bytes};
}

template <typename Infos>
gradus_status describe(const gradus_session *session, const Infos &infos,
                       int number, gradus_tensor *tensor) {
  if (!tensor || number < 0 || static_cast<size_t>(number) >= infos.size())
    return reject(session, "number " + std::to_string(number) +
                               " is not one of " +
                               std::to_string(infos.size()));
  *tensor = tensorOf(infos[number]);
  return GRADUS_OK;
}

SessionOptions sessionOptions(const gradus_options &given) {
  SessionOptions options;
  options.threads = given.threads;
  options.deterministic = given.deterministic != 0;
  options.device = given.device ? given.device : "cpu";
  if (given.log)
    options.log = [log = given.log, context = given.log_context](
                      const std::string &line) { log(context, line.c_str()); };
  return options;
}

using Opened = StatusOr<std::shared_ptr<const Artifact>>;

/// Connects this process with the others; null if the options ask for none.
StatusOr<std::shared_ptr<CommunicationThread>>
connect(const gradus_options &options) {
  std::string kind = options.collectives ? options.collectives : "";
  if (kind.empty())
    return std::shared_ptr<CommunicationThread>();
  if (kind != "mpi")
    return invalid("collectives '", kind, "': expected NULL or 'mpi'");
  GRADUS_ASSIGN(OpenCommunicator open, openMpi());
  GRADUS_ASSIGN(std::unique_ptr<CommunicationThread> thread,
                CommunicationThread::start(std::move(open), {}));
  return std::shared_ptr<CommunicationThread>(std::move(thread));
}

StatusOr<std::unique_ptr<Session>>
create(Opened artifact, const gradus_options &options,
       const std::shared_ptr<CommunicationThread> &ranks) {
  GRADUS_TRY(artifact.status());
  SessionOptions loading = sessionOptions(options);
  loading.collectives = ranks;
  auto session = Session::create(*std::move(artifact), std::move(loading));
  if (session.ok() && ranks)
    GRADUS_TRY(agree(
        *ranks, {{"the hash of the artifact",
                  inWords((*session)->artifact().header().header_hash())},
                 {"the plan that runs", textOf((*session)->plan().target())},
                 {"the version of Gradus", gradus_version()}}));
  return session;
}

/// A rank that was cancelled leaves its step; the others would wait for it.
Status endIfCancelled(const gradus_session &handle, const Status &status) {
  if (handle.ranks && status.code() == StatusCode::cancelled)
    (void)handle.ranks->fail(failed("was cancelled")); // It returns that.
  return status;
}

gradus_status start(Opened artifact, const gradus_options &options,
                    gradus_session **result) {
  auto ranks = connect(options);
  if (!ranks.ok())
    return report(nullptr, ranks.status());
  auto session = create(std::move(artifact), options, *ranks);
  if (!session.ok()) {
    Status status = session.status();
    if (*ranks) {
      status = (*ranks)->fail(status);
      (void)(*ranks)->end(); // It returns the same.
    }
    return report(nullptr, status);
  }
  *result = handleOf(*std::move(session));
  (*result)->ranks = *std::move(ranks);
  return GRADUS_OK;
}

/// Merges the addresses of a call with the bound ones, which count where the
/// call gives none.
template <typename Pointer>
void merge(const Pointer *given, const std::vector<Pointer> &bound,
           std::vector<Pointer> &merged) {
  for (size_t i = 0; i < bound.size(); ++i)
    merged[i] = given && given[i] ? given[i] : bound[i];
}

/// A bound address, which counts where the call gives none, is the host's.
Status stepOnce(gradus_session &handle, int graph, const void *const *inputs,
                void *const *outputs, const OnDevice &given) {
  Bindings &bindings = handle.bindings[graph];
  merge(inputs, bindings.inputs, bindings.mergedInputs);
  merge(outputs, bindings.outputs, bindings.mergedOutputs);
  OnDevice on = given;
  if (!given.flags.empty()) {
    for (size_t i = 0; i < given.flags.size(); ++i)
      bindings.mergedFlags[i] = inputs && inputs[i] && given.flags[i];
    on.flags = bindings.mergedFlags;
  }
  return handle.session->step(graph, bindings.mergedInputs,
                              bindings.mergedOutputs, on);
}

gradus_status noGraph(const gradus_session *session, int graph) {
  return reject(session,
                session ? "graph " + std::to_string(graph) + " does not exist"
                        : kNoSession);
}

} // namespace

//===-- loading -----------------------------------------------------------===//

gradus_session *gradus::runtime::handleOf(std::unique_ptr<Session> session) {
  auto handle = std::make_unique<gradus_session>();
  handle->session = std::move(session);
  for (const GraphInfo &graph : handle->session->graphs()) {
    Bindings bindings;
    bindings.inputs.resize(graph.inputs.size());
    bindings.outputs.resize(graph.outputs.size());
    bindings.mergedInputs = bindings.inputs;
    bindings.mergedFlags.resize(graph.inputs.size());
    bindings.mergedOutputs = bindings.outputs;
    handle->bindings.push_back(std::move(bindings));
  }
  return handle.release();
}

void gradus_set_default_options(gradus_options *options, size_t size) {
  gradus_options defaults = {};
  defaults.device = "cpu";
  setDefaults(options, size, defaults);
}

/// The size of the options of 0.1, whose last field was `collectives`.
static constexpr size_t kFirstSize =
    offsetof(gradus_options, collectives) + sizeof(gradus_options::collectives);

gradus_status gradus_load(const char *path, const gradus_options *given,
                          gradus_session **session) {
  if (!session)
    return reject(nullptr, "the place for the session is NULL");
  *session = nullptr;
  if (!path)
    return reject(nullptr, "the path is NULL");
  auto options =
      complete(given, gradus_default_options(), kFirstSize, "gradus_options");
  if (!options.ok())
    return report(nullptr, options.status());
  return start(Artifact::open(path, {options->trust != 0}), *options, session);
}

gradus_status gradus_load_memory(const void *bytes, size_t size,
                                 const gradus_options *given,
                                 gradus_session **session) {
  if (!session)
    return reject(nullptr, "the place for the session is NULL");
  *session = nullptr;
  if (!bytes)
    return reject(nullptr, "the bytes are NULL");
  auto options =
      complete(given, gradus_default_options(), kFirstSize, "gradus_options");
  if (!options.ok())
    return report(nullptr, options.status());
  return start(Artifact::fromBytes({static_cast<const uint8_t *>(bytes), size},
                                   "artifact in memory", {options->trust != 0}),
               *options, session);
}

/// The ranks part before the memory goes that their sums may be in.
void gradus_free(gradus_session *session) {
  if (session && session->ranks)
    (void)session->ranks->end(); // What failed was said by the call that did.
  delete session;
}

const char *gradus_last_error(const gradus_session *session) {
  return session ? session->error.c_str() : lastError.c_str();
}

const char *gradus_version(void) { return GRADUS_VERSION; }

//===-- graphs, inputs, outputs and states --------------------------------===//

int gradus_graph_count(const gradus_session *session) {
  return session ? static_cast<int>(session->session->graphs().size()) : 0;
}

const char *gradus_graph_name(const gradus_session *session, int graph) {
  const GraphInfo *info = graphOf(session, graph);
  return info ? info->name.c_str() : nullptr;
}

int gradus_find_graph(const gradus_session *session, const char *name) {
  return session ? find(session->session->graphs(), name) : -1;
}

int gradus_input_count(const gradus_session *session, int graph) {
  const GraphInfo *info = graphOf(session, graph);
  return info ? static_cast<int>(info->inputs.size()) : 0;
}

int gradus_output_count(const gradus_session *session, int graph) {
  const GraphInfo *info = graphOf(session, graph);
  return info ? static_cast<int>(info->outputs.size()) : 0;
}

int gradus_state_count(const gradus_session *session) {
  return session ? static_cast<int>(session->session->states().size()) : 0;
}

int gradus_find_input(const gradus_session *session, int graph,
                      const char *name) {
  const GraphInfo *info = graphOf(session, graph);
  return info ? find(info->inputs, name) : -1;
}

int gradus_find_output(const gradus_session *session, int graph,
                       const char *name) {
  const GraphInfo *info = graphOf(session, graph);
  return info ? find(info->outputs, name) : -1;
}

int gradus_find_state(const gradus_session *session, const char *name) {
  return session ? find(session->session->states(), name) : -1;
}

gradus_status gradus_input(const gradus_session *session, int graph, int input,
                           gradus_tensor *tensor) {
  const GraphInfo *info = graphOf(session, graph);
  return info ? describe(session, info->inputs, input, tensor)
              : noGraph(session, graph);
}

gradus_status gradus_output(const gradus_session *session, int graph,
                            int output, gradus_tensor *tensor) {
  const GraphInfo *info = graphOf(session, graph);
  return info ? describe(session, info->outputs, output, tensor)
              : noGraph(session, graph);
}

gradus_status gradus_state(const gradus_session *session, int state,
                           gradus_tensor *tensor) {
  return session ? describe(session, session->session->states(), state, tensor)
                 : reject(nullptr, kNoSession);
}

//===-- running -----------------------------------------------------------===//

gradus_status gradus_step(gradus_session *session, int graph,
                          const void *const *inputs, void *const *outputs) {
  return gradus_steps(session, graph, 1, inputs, outputs, nullptr);
}

gradus_status gradus_steps(gradus_session *session, int graph, int64_t count,
                           const void *const *inputs, void *const *outputs,
                           int64_t *done) {
  return gradus_steps_with(session, graph, count, inputs, outputs, done,
                           nullptr);
}

void gradus_set_default_step_options(gradus_step_options *options,
                                     size_t size) {
  setDefaults(options, size, gradus_step_options{});
}

/// The size of the options of 0.1, whose last field was `stream`.
static constexpr size_t kFirstStepSize =
    offsetof(gradus_step_options, stream) + sizeof(gradus_step_options::stream);

gradus_status gradus_steps_with(gradus_session *session, int graph,
                                int64_t count, const void *const *inputs,
                                void *const *outputs, int64_t *done,
                                const gradus_step_options *given) {
  int64_t ignored;
  int64_t &ran = done ? *done : ignored;
  ran = 0;
  const GraphInfo *info = graphOf(session, graph);
  if (!info)
    return noGraph(session, graph);
  if (count < 0)
    return reject(session, "expected a count of 0 steps or more, found " +
                               std::to_string(count));
  auto options = complete(given, gradus_default_step_options(), kFirstStepSize,
                          "gradus_step_options");
  if (!options.ok())
    return report(session, options.status());
  size_t stride = info->inputs.size();
  for (; ran < count; ++ran) {
    OnDevice on = {{}, options->stream};
    if (options->on_device)
      on.flags = {options->on_device + ran * stride, stride};
    Status status =
        stepOnce(*session, graph, inputs ? inputs + ran * stride : nullptr,
                 outputs ? outputs + ran * info->outputs.size() : nullptr, on);
    if (!status.ok())
      return report(session, endIfCancelled(*session, status));
  }
  return GRADUS_OK;
}

gradus_status gradus_bind_input(gradus_session *session, int graph,
                                const char *name, const void *data) {
  int input = gradus_find_input(session, graph, name);
  if (input < 0)
    return graphOf(session, graph)
               ? reject(session, std::string("there is no input ") +
                                     (name ? name : "NULL"))
               : noGraph(session, graph);
  session->bindings[graph].inputs[input] = data;
  return GRADUS_OK;
}

gradus_status gradus_bind_output(gradus_session *session, int graph,
                                 const char *name, void *data) {
  int output = gradus_find_output(session, graph, name);
  if (output < 0)
    return graphOf(session, graph)
               ? reject(session, std::string("there is no output ") +
                                     (name ? name : "NULL"))
               : noGraph(session, graph);
  session->bindings[graph].outputs[output] = data;
  return GRADUS_OK;
}

void *gradus_input_buffer(gradus_session *session, int graph, int input) {
  bool exists = input >= 0 && input < gradus_input_count(session, graph);
  return exists ? session->session->inputBuffer(graph, input) : nullptr;
}

const void *gradus_output_buffer(gradus_session *session, int graph,
                                 int output) {
  bool exists = output >= 0 && output < gradus_output_count(session, graph);
  return exists ? session->session->outputBuffer(graph, output) : nullptr;
}

void gradus_cancel(gradus_session *session) {
  if (session)
    session->session->cancel();
}

//===-- memory and ranks --------------------------------------------------===//

gradus_status gradus_memory_of(const gradus_session *session,
                               gradus_memory *memory) {
  if (!session || !memory)
    return reject(session,
                  session ? "the place for the figures is NULL" : kNoSession);
  MemoryInfo info = session->session->memory();
  *memory = {info.state, info.arena,       info.constants,
             info.code,  info.predicted(), info.bound};
  return GRADUS_OK;
}

uint64_t gradus_bytes_at_load(const gradus_session *session) {
  return session ? session->session->memory().atLoad : 0;
}

int gradus_rank(const gradus_session *session) {
  return session && session->ranks ? session->ranks->rank() : 0;
}

int gradus_ranks(const gradus_session *session) {
  return session && session->ranks ? session->ranks->ranks() : 1;
}

int gradus_turns(const gradus_session *session) {
  return session ? static_cast<int>(session->session->turns()) : 1;
}

gradus_status gradus_fail(gradus_session *session, const char *words) {
  if (!session || !words)
    return reject(session, session ? "the words are NULL" : kNoSession);
  if (session->ranks)
    (void)session->ranks->fail(failed(words)); // It returns these words.
  return GRADUS_OK;
}
