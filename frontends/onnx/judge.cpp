// Calls the checks in the table of ops for each node, without values.

#include "frontends/onnx/judge.h"

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/signatures.h"

namespace gradus::onnx {

absl::Status judge(const Operator &op, const Node &node) {
  if (node.opset() != 0 && node.opset() < op.support.since)
    return node.error("is an op of opset ", op.support.since,
                      " and later; the model is of opset ", node.opset(),
                      ", in which it is not supported");
  GRADUS_RETURN_IF_ERROR(checkSignature(node));
  return op.support.judge ? op.support.judge(node) : absl::OkStatus();
}

void judgeInside(const ::onnx::NodeProto &proto, int64_t opset,
                 Problems &problems) {
  for (const ::onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.has_g())
      judgeNodes(attribute.g(), opset, problems);
}

void judgeNodes(const ::onnx::GraphProto &graph, int64_t opset,
                Problems &problems) {
  int index = 0;
  for (const ::onnx::NodeProto &proto : graph.node()) {
    Node node(proto, index++, opset);
    const Operator *op = findOperator(node.type());
    if (!op)
      problems.addMissing(node);
    else if (absl::Status status = judge(*op, node); !status.ok())
      problems.addError(node, status);
    judgeInside(proto, opset, problems);
  }
}

} // namespace gradus::onnx
