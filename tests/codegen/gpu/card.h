// Kernels of the GPU emitter as nodes of one graph on the emulated card,
// without a plan: tests choose their buffers and may falsify what nodes say.
// What makes nodes of a plan's commands is runtime/cuda/step_nodes.
#pragma once

#include "check.h"

#include "runtime/cuda/graph.h"
#include "runtime/emulated/emulated_image.h"
#include "runtime/emulated/fake_driver.h"

namespace gradus::test {

namespace cuda = gradus::runtime::cuda;

class KernelsOnCard {
public:
  KernelsOnCard(llvm::ArrayRef<plan::KernelOp> kernels,
                const cuda::FakeOptions &options)
      : kernels_(kernels), fake_(options),
        card_(*cuda::Card::open(fake_.driver(), 0)),
        stream_(*card_->createStream()) {
    GpuCode gpu = llvm::cantFail(
        emitGpu(kernels, *plan::KernelOp(kernels.front())->getContext()));
    EmulatedCode emulated =
        llvm::cantFail(emulateGpu(gpu, llvm::cantFail(cpuTarget("cpu"))));
    facts_ = gpu.kernels;
    std::vector<cuda::EmulatedFunction> functions;
    for (auto [facts, kernel] : llvm::zip(facts_, emulated.kernels)) {
      size_t arguments = facts.piece
                             ? 3
                             : plan::KernelOp(kernels_[functions.size()])
                                       .getArgumentTypes()
                                       .size() +
                                   facts.scratchBytes.size();
      functions.push_back({kernel.name, kernel.entry,
                           uint64_t(kernel.sharedBytes),
                           uint64_t(facts.threads), arguments});
    }
    auto *code = reinterpret_cast<const uint8_t *>(emulated.code.data());
    image_ = cuda::packImage(functions, {code, emulated.code.size()});
    module_ = *card_->load(image_.data(), "kernels");
  }

  cuda::Card &card() { return *card_; }
  cuda::FakeDriver &fake() { return fake_; }
  runtime::cuda::Stream stream() const { return stream_.get(); }

  /// Memory that holds so many bytes.
  cuda::DevicePointer send(const void *data, size_t bytes) {
    memory_.push_back(*card_->allocate({"test", bytes}));
    fake_.driver().copyToDevice(memory_.back().get(), data, bytes,
                                stream_.get());
    return memory_.back().get();
  }

  /// A launch of kernel i on buffers of the card; flat ones over `items`.
  cuda::Node node(size_t i, llvm::ArrayRef<cuda::DevicePointer> buffers,
                  int64_t items, int64_t blocks) {
    const GpuKernel &facts = facts_[i];
    plan::KernelOp kernel = kernels_[i];
    cuda::Node node;
    node.name = facts.name;
    cuda::KernelNode work;
    work.function = *card_->function(module_.get(), facts.name);
    work.threads = uint32_t(facts.threads);
    work.blocks =
        uint32_t(facts.piece ? blocks : std::min(blocks, facts.mostBlocks));
    std::vector<int64_t> row = {0, items};
    for (auto [a, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      auto memref = llvm::cast<mlir::MemRefType>(type);
      int64_t width = bytesOf(memref.getElementType());
      int64_t count = memref.hasStaticShape() ? memref.getNumElements() : items;
      bool writes = a >= kernel.getInputs();
      node.accesses.push_back(
          {buffers[a], uint64_t(count * width), uint32_t(width), writes});
      work.arguments.push_back(buffers[a]);
      row.push_back(int64_t(buffers[a]));
    }
    for (int64_t bytes : facts.scratchBytes) {
      memory_.push_back(*card_->allocate({"scratch", size_t(bytes)}));
      work.arguments.push_back(memory_.back().get());
      node.accesses.push_back({memory_.back().get(), uint64_t(bytes), 1, true});
    }
    if (facts.piece) {
      cuda::DevicePointer table = send(row.data(), row.size() * 8);
      node.accesses.push_back({table, row.size() * 8, 8, false});
      work.arguments = {table, 1,
                        uint64_t((items + facts.piece - 1) / facts.piece)};
    }
    node.work = work;
    return node;
  }

  /// Runs nodes as one graph; what is wrong, or nothing.
  std::string run(std::span<const cuda::Node> nodes, cuda::Order order) {
    auto graph = cuda::StepGraph::build(*card_, nodes, order);
    if (!graph.ok())
      return graph.status().message();
    if (auto status = graph->launch(stream_.get()); !status.ok())
      return status.message();
    return card_->synchronize().message();
  }

  void receive(void *data, cuda::DevicePointer from, size_t bytes) {
    fake_.driver().copyToHost(data, from, bytes, stream_.get());
  }

private:
  std::vector<plan::KernelOp> kernels_;
  cuda::FakeDriver fake_;
  std::unique_ptr<cuda::Card> card_;
  cuda::Owned<runtime::cuda::Stream> stream_;
  std::vector<GpuKernel> facts_;
  std::vector<uint8_t> image_;
  cuda::Owned<cuda::Module> module_;
  std::vector<cuda::Owned<cuda::DevicePointer>> memory_;
};

/// All kernels as one graph, each on arguments of its own: what the CPU's code
/// gives, in any order.
inline void checkOnCard(llvm::ArrayRef<plan::KernelOp> kernels, unsigned seed,
                        double tolerance = 1e-5, double scale = 1) {
  constexpr int64_t kItems = 3000;
  cuda::FakeOptions options;
  options.seed = seed;
  KernelsOnCard card(kernels, options);
  Code cpu(llvm::cantFail(emitCpu(kernels, llvm::cantFail(cpuTarget("cpu")))));
  std::vector<cuda::Node> nodes;
  std::vector<std::vector<Buffer>> expected, found;
  std::vector<std::vector<cuda::DevicePointer>> places;
  std::vector<std::vector<Tensor>> wanted;
  auto sizeOf = [](const Tensor &tensor) {
    return tensor.elements.size() * bytesOf(tensor.type.getElementType());
  };
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    std::vector<Tensor> arguments = argumentsOf(kernel, kItems, scale);
    expected.emplace_back(arguments.begin(), arguments.end());
    found.emplace_back(arguments.begin(), arguments.end());
    places.emplace_back();
    for (auto [tensor, buffer] : llvm::zip(arguments, expected.back()))
      places.back().push_back(card.send(buffer.data(), sizeOf(tensor)));
    std::vector<void *> table;
    for (Buffer &buffer : expected.back())
      table.push_back(buffer.data());
    bool isFlat = plan::KernelOp(kernel).getSplit() == plan::Split::flat;
    cpu.run(i, table.data(), 0,
            isFlat ? kItems : plan::KernelOp(kernel).getItems());
    nodes.push_back(card.node(i, places.back(), kItems, /*blocks=*/6));
    wanted.push_back(std::move(arguments));
  }
  ASSERT_EQ(card.run(nodes, cuda::Order::bytes), "");
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    for (size_t a = 0; a < wanted[i].size(); ++a) {
      card.receive(found[i][a].data(), places[i][a], sizeOf(wanted[i][a]));
      if (a >= plan::KernelOp(kernel).getInputs())
        for (size_t e = 0; e < wanted[i][a].elements.size(); ++e)
          wanted[i][a].elements[e] = expected[i][a].at(e);
    }
    compare(kernel, wanted[i], found[i], tolerance,
            "on the card, kernel " + plan::KernelOp(kernel).getSymName().str());
  }
  EXPECT_EQ(card.fake().report(), "");
}

} // namespace gradus::test
