// Methods that follow in the next steps.
#include "ir/gradus.h"
#include "ir/external_models.h"
using namespace mlir;
using namespace gradus;
#define EVALUATE(Op) FailureOr<SmallVector<HostTensor>> Op::evaluate(ArrayRef<HostTensor>) { return emitOpError("has no evaluation yet"); }
EVALUATE(ReshapeOp) EVALUATE(TransposeOp) EVALUATE(BroadcastOp) EVALUATE(ReduceOp) EVALUATE(IotaOp) EVALUATE(MatmulOp) EVALUATE(ReluOp) EVALUATE(SigmoidOp) EVALUATE(GeluOp) EVALUATE(ConvolutionOp) EVALUATE(ConvolutionBackwardDataOp) EVALUATE(ConvolutionBackwardWeightsOp) EVALUATE(MaxPoolOp) EVALUATE(MaxPoolBackwardOp) EVALUATE(AveragePoolOp) EVALUATE(AveragePoolBackwardOp) EVALUATE(SoftmaxCrossEntropyOp) EVALUATE(SoftmaxCrossEntropyBackwardOp) EVALUATE(MeanSquaredErrorOp) EVALUATE(AccuracyOp)
void gradus::registerEvaluationModels(DialectRegistry &) {}
