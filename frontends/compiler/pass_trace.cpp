// An instrumentation of the pass manager and a listener of its remarks.

#include "frontends/compiler/pass_trace.h"

#include "frontends/compiler/diagnostics.h"
#include "frontends/compiler/statistics.h"
#include "frontends/compiler/step_schedule.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"

using namespace mlir;
using Clock = std::chrono::steady_clock;

namespace gradus::compiler {
namespace {

//===-- remarks -----------------------------------------------------------===//

class Listener final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Listener(std::shared_ptr<Trace> trace) : trace_(std::move(trace)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text;
    for (const auto &argument : remark.getArgs())
      text += argument.val;
    trace_->remarks.push_back({remark.getCategoryName().str(),
                               remark.getRemarkName().str(), kindOf(remark),
                               placeOf(remark.getLocation()), std::move(text)});
    bool isOfLast = !trace_->passes.empty() &&
                    trace_->passes.back().pass == remark.getCategoryName();
    if (isOfLast)
      ++trace_->passes.back().remarks;
  }

private:
  static std::string kindOf(const remark::detail::Remark &remark) {
    switch (remark.getRemarkType()) {
    case llvm::remarks::Type::Passed:
      return "done";
    case llvm::remarks::Type::Missed:
      return "left";
    case llvm::remarks::Type::Failure:
      return "failed";
    default:
      return "note";
    }
  }

  std::shared_ptr<Trace> trace_;
};

ProgramOp programOf(Operation *op) {
  auto program = dyn_cast<ProgramOp>(op);
  if (!program)
    program = op->getParentOfType<ProgramOp>();
  // A part that a pass lowers by itself is a program in the program.
  bool isPart = program && program->getParentOfType<ProgramOp>();
  return isPart ? ProgramOp() : program;
}

} // namespace

//===-- passes ------------------------------------------------------------===//

constexpr StringLiteral kAdded = "added-passes";

class PassTrace::Instrumentation final : public PassInstrumentation {
public:
  Instrumentation(std::shared_ptr<Trace> trace,
                  llvm::DenseMap<Pass *, std::string> stages)
      : trace_(std::move(trace)), stages_(std::move(stages)) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    // Passes of a nested manager follow it; the manager has a stage.
    if (auto stage = stages_.find(pass); stage != stages_.end())
      stage_ = stage->second;
    ProgramOp program = programOf(op);
    if (!isPass(pass) || !program)
      return;
    if (!isLast(pass))
      begin(pass, program);
    began_ = Clock::now();
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    auto ended = Clock::now();
    ProgramOp program = programOf(op);
    if (!isPass(pass) || !program)
      return;
    std::chrono::duration<double, std::milli> elapsed = ended - began_;
    PassRecord &record = trace_->passes.back();
    record.milliseconds += elapsed.count();
    record.after = countProgram(program);
    updateStepSchedules(program, trace_->schedules);
  }

private:
  /// False for a pass that only runs others: on parts of a program (no
  /// argument), or those that the recipe adds.
  static bool isPass(Pass *pass) {
    return !pass->getArgument().empty() && pass->getArgument() != kAdded;
  }

  /// Whether the pass ran last, on another graph. Passes that the recipe adds
  /// may follow one another at the same address.
  bool isLast(Pass *pass) const {
    return pass == last_ && trace_->passes.back().stage == stage_ &&
           trace_->passes.back().pass == pass->getArgument();
  }

  /// Begins a record. A pass on graphs runs once for each graph, as one record.
  void begin(Pass *pass, ProgramOp program) {
    PassRecord record;
    record.stage = stage_;
    record.pass = pass->getArgument().str();
    record.before = last_ ? trace_->passes.back().after : countProgram(program);
    trace_->passes.push_back(std::move(record));
    last_ = pass;
  }

  std::shared_ptr<Trace> trace_;
  llvm::DenseMap<Pass *, std::string> stages_;
  std::string stage_;
  Pass *last_ = nullptr;
  Clock::time_point began_;
};

PassTrace::PassTrace(MLIRContext &context) {
  const std::string any = ".*";
  remark::RemarkCategories all;
  all.passed = all.missed = all.analysis = all.failed = any;
  // This fails only if the context has a listener already.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<Listener>(trace_),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
}

void PassTrace::stageAdded(StringRef stage, OpPassManager &program) {
  for (Pass &pass : program.getPasses())
    stages_.try_emplace(&pass, stage.str());
}

void PassTrace::watch(PassManager &manager) {
  // Passes of the next manager may get the same addresses.
  auto stages = std::exchange(stages_, decltype(stages_)());
  manager.addInstrumentation(
      std::make_unique<Instrumentation>(trace_, std::move(stages)));
}

} // namespace gradus::compiler
