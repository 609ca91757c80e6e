// Sessions of several ranks in threads; see sessions.h.

#include "sessions.h"

#include <cstdlib>
#include <sstream>

using namespace gradus;

std::vector<int> gradus::ranksToTest() {
  const char *asked = std::getenv("GRADUS_RANKS");
  std::istringstream list(asked ? asked : "2,3");
  std::vector<int> ranks;
  for (std::string number; std::getline(list, number, ',');)
    ranks.push_back(std::stoi(number));
  return ranks;
}

template <typename Number>
static std::vector<Number> slice(const std::vector<Number> &all, size_t size,
                                 int part) {
  auto begin = all.begin() + static_cast<ptrdiff_t>(size) * part;
  return {begin, begin + static_cast<ptrdiff_t>(size)};
}

NamedTensors gradus::partOf(const NamedTensors &inputs,
                            const runtime::GraphInfo &graph, int rank) {
  NamedTensors parts;
  for (const runtime::TensorInfo &input : graph.inputs) {
    const HostTensor &all = inputs.at(input.name);
    const std::vector<int64_t> &shape = input.type.shape;
    HostTensor part =
        zeros(llvm::ArrayRef(shape.data(), shape.size()), all.isFloat);
    auto size = static_cast<size_t>(part.size());
    int number = all.size() == part.size() ? 0 : rank;
    if (all.isFloat)
      part.floats = slice(all.floats, size, number);
    else
      part.integers = slice(all.integers, size, number);
    parts[input.name] = std::move(part);
  }
  return parts;
}

RankSessions::RankSessions(
    const std::vector<char> &artifact,
    const std::vector<runtime::OpenCommunicator> &openers) {
  for (const runtime::OpenCommunicator &open : openers) {
    auto thread = runtime::CommunicationThread::start(open, runtime::patient());
    EXPECT_TRUE(thread.ok()) << thread.status();
    threads_.push_back(std::move(*thread));
  }
  sessions_.resize(threads_.size());
  onEach([&](int rank) { // They agree on a plan.
    runtime::SessionOptions options;
    options.threads = 1;
    options.collectives = threads_[static_cast<size_t>(rank)];
    sessions_[static_cast<size_t>(rank)] =
        std::make_unique<Compiled>(artifact, options);
  });
}

RankSessions::~RankSessions() {
  onEach([&](int rank) { (void)thread(rank).end(); });
}

void RankSessions::onEach(const std::function<void(int)> &run) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks(); ++rank)
    threads.emplace_back(run, rank);
  for (std::thread &thread : threads)
    thread.join();
}

std::vector<NamedTensors> RankSessions::run(const std::string &graph,
                                            const NamedTensors &inputs) {
  std::vector<NamedTensors> outputs(sessions_.size());
  onEach([&](int rank) {
    runtime::Session &session = on(rank).session();
    const auto &info =
        session.graphs()[static_cast<size_t>(session.findGraph(graph))];
    outputs[static_cast<size_t>(rank)] =
        on(rank).run(graph, partOf(inputs, info, rank));
  });
  return outputs;
}

std::map<std::string, std::vector<uint8_t>> RankSessions::replicated(int rank) {
  std::map<std::string, std::vector<uint8_t>> bits;
  runtime::Session &session = on(rank).session();
  for (size_t i = 0; i < session.states().size(); ++i) {
    const runtime::StateInfo &state = session.states()[i];
    if (state.role == artifact::Role::place || state.isPerRank)
      continue;
    auto bytes = session.stateBytes(static_cast<int>(i));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    bits[state.name].assign(bytes->begin(), bytes->end());
  }
  return bits;
}

void RankSessions::expectReplicas() {
  auto first = replicated(0);
  for (int rank = 1; rank < ranks(); ++rank)
    for (const auto &[name, bits] : replicated(rank))
      EXPECT_EQ(bits, first[name]) << name << " of rank " << rank;
}
