// A further kind of command: what asks the interface covers it.

#include "codegen/memory/liveness.h"
#include "codegen/memory/memory_plan.h"
#include "codegen/plan/passes.h"

#include "written_graph.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gradus;

namespace trial {

/// Sends a value somewhere and receives another, which it may do only once.
class SendOp : public Op<SendOp, OpTrait::ZeroRegions, OpTrait::OneResult,
                         OpTrait::ZeroSuccessors, OpTrait::OneOperand,
                         plan::Command::Trait> {
public:
  using Op::Op;
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  static StringRef getOperationName() { return "trial.send"; }
  int64_t getScratchBytes() { return 100; }
  int64_t getInplaceOperand(unsigned) { return 0; }
  bool mayRunTwice() { return false; }
  /// Writes what the schema has for lack of a command of its own: a copy.
  void write(CommandWriter &writer) {
    uint32_t from = writer.bufferOf(getOperand()),
             to = writer.bufferOf((*this)->getResult(0));
    writer.add(getLoc(), artifact::CreateCopyCommand(writer.tables(), from, to),
               {"send"});
  }
};

class TrialDialect : public Dialect {
public:
  explicit TrialDialect(MLIRContext *context)
      : Dialect("trial", context, TypeID::get<TrialDialect>()) {
    addOperations<SendOp>();
  }
  static StringRef getDialectNamespace() { return "trial"; }
};

} // namespace trial

namespace {

DialectRegistry withTrial() {
  DialectRegistry registry;
  registry.insert<trial::TrialDialect>();
  return registry;
}

/// Text with operations of the dialect `trial`.
struct TrialText : ProgramText {
  explicit TrialText(const char *text) : ProgramText(text, withTrial()) {}
  /// Runs a pass on the graph @train.
  bool run(std::unique_ptr<Pass> pass) {
    PassManager manager(&context, GraphOp::getOperationName());
    manager.addPass(std::move(pass));
    return succeeded(manager.run(graph("train")));
  }
};

/// A forward pass that sends, and a backward pass that reads what it received.
const char *const sending = R"(
gradus.program @p {
  gradus.graph @train(%x: tensor<64xf32>) -> (loss: tensor<64xf32>) {
    %a = plan.launch @a(%x) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<64xf32>
    %s = "trial.send"(%a) : (tensor<64xf32>) -> tensor<64xf32>
    %b = plan.launch @b(%s) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<64xf32>
    %m = plan.launch @m(%b) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<64xf32>
    %c:4 = plan.launch @c(%m) items [1] grain 1 inplace [-1, -1, -1, -1] : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
    %d = plan.launch @d(%c#0, %c#1, %c#2, %c#3) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %e = plan.launch @e(%d, %s, %b) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    gradus.return %e : tensor<64xf32>
  }
})";

} // namespace

TEST(Command, HasALiveRangeAndScratchWhateverItsKind) {
  TrialText text(sending);
  GraphOp graph = text.graph("train");
  auto commands = commandsOf(graph);
  ASSERT_EQ(commands.size(), 7u);
  EXPECT_TRUE(isa<trial::SendOp>(commands[1]));
  EXPECT_EQ(scratchBytes(commands[1]), 128);
  EXPECT_EQ(scratchBytes(commands[0]), 0);
  auto ranges = liveRanges(graph, commands);
  EXPECT_EQ(ranges[commands[1]->getResult(0)].begin, 1);
  EXPECT_EQ(ranges[commands[1]->getResult(0)].end, 7);
}

TEST(Command, IsScheduledWhateverItsKind) {
  TrialText text(sending);
  ASSERT_TRUE(text.run(createSchedule()));
  auto commands = commandsOf(text.graph("train"));
  ASSERT_EQ(commands.size(), 7u);
  EXPECT_TRUE(isa<trial::SendOp>(commands[1]));
}

TEST(Command, TakesOverTheMemoryThatItNames) {
  TrialText text(sending);
  GraphOp graph = text.graph("train");
  ConstantPlaces constants;
  GraphMemory memory =
      planMemory(graph, placeStates(text.program()), constants);
  auto commands = commandsOf(graph);
  Value sent = commands[0]->getResult(0), received = commands[1]->getResult(0);
  EXPECT_EQ(memory.at(sent).offset, memory.at(received).offset);
  EXPECT_TRUE(memory.scratch.count(commands[1]));
}

TEST(Command, RunsOnceIfItMayNotRunTwice) {
  TrialText text(sending);
  ASSERT_TRUE(text.run(createRecompute({/*segments=*/2, /*recomputed=*/1})));
  std::vector<std::string> names;
  for (Operation *command : commandsOf(text.graph("train")))
    names.push_back(isa<trial::SendOp>(command)
                        ? "send"
                        : cast<plan::LaunchOp>(command).getKernel().str());
  EXPECT_EQ(llvm::count(names, "send"), 1) << llvm::join(names, " ");
  EXPECT_EQ(llvm::count(names, "a"), 1) << llvm::join(names, " ");
  // The command that reads runs again, from the result of the one that
  // receives.
  EXPECT_EQ(llvm::count(names, "b"), 2) << llvm::join(names, " ");
}

TEST(Command, IsWrittenByItself) {
  WrittenGraph written(R"(
gradus.program @p {
  gradus.graph @train(%x: tensor<64xf32>) -> (y: tensor<64xf32>) {
    %y = "trial.send"(%x) : (tensor<64xf32>) -> tensor<64xf32>
    gradus.return %y : tensor<64xf32>
  }
})",
                       {}, withTrial());
  EXPECT_EQ(written.command(0).name()->str(), "send");
  EXPECT_TRUE(written.command(0).kind_as_CopyCommand());
}
