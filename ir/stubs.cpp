// Methods that follow in the next steps.
#include "ir/gradus.h"
#include "ir/external_models.h"
using namespace mlir;
using namespace gradus;
#define PULLBACK(Op) SmallVector<Value> Op::pullback(OpBuilder &, ValueRange) { return SmallVector<Value>((*this)->getNumOperands()); }
#define EVALUATE(Op) FailureOr<SmallVector<HostTensor>> Op::evaluate(ArrayRef<HostTensor>) { return emitOpError("has no evaluation yet"); }
#define BOTH(Op) PULLBACK(Op) EVALUATE(Op)
BOTH(ReshapeOp) BOTH(TransposeOp) BOTH(BroadcastOp) BOTH(ReduceOp) EVALUATE(IotaOp) BOTH(MatmulOp) BOTH(ReluOp) BOTH(SigmoidOp) BOTH(GeluOp)
BOTH(ConvolutionOp) BOTH(ConvolutionBackwardDataOp) BOTH(ConvolutionBackwardWeightsOp) BOTH(MaxPoolOp) EVALUATE(MaxPoolBackwardOp)
BOTH(AveragePoolOp) BOTH(AveragePoolBackwardOp) BOTH(SoftmaxCrossEntropyOp) EVALUATE(SoftmaxCrossEntropyBackwardOp) BOTH(MeanSquaredErrorOp) EVALUATE(AccuracyOp)
void gradus::registerGradientModels(DialectRegistry &) {}
void gradus::registerEvaluationModels(DialectRegistry &) {}
