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
  return program ? program : op->getParentOfType<ProgramOp>();
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
    // Passes inside another manager stand behind it, which has a stage.
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
  /// What only runs others: on the parts of a program, which has no argument,
  /// or those that the recipe adds.
  static bool isPass(Pass *pass) {
    return !pass->getArgument().empty() && pass->getArgument() != kAdded;
  }

  /// Whether it ran last, on another graph. Added passes may follow one another
  /// in one place of memory.
  bool isLast(Pass *pass) const {
    return pass == last_ && trace_->passes.back().stage == stage_ &&
           trace_->passes.back().pass == pass->getArgument();
  }

  /// A pass on graphs runs once for each, and is one record.
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
  // Fails only where the context has a listener already.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<Listener>(trace_),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
}

void PassTrace::stageAdded(StringRef stage, OpPassManager &program) {
  for (Pass &pass : program.getPasses())
    stages_.try_emplace(&pass, stage.str());
}

void PassTrace::watch(PassManager &manager) {
  // Another manager's passes may lie where this one's did.
  auto stages = std::exchange(stages_, decltype(stages_)());
  manager.addInstrumentation(
      std::make_unique<Instrumentation>(trace_, std::move(stages)));
}

} // namespace gradus::compiler
