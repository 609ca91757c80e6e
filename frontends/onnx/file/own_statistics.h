// Separates running statistics from tensors that they share.
//
// Exporters store equal tensors once. In an untrained net all running variances
// are ones, like all scales, and all means zeros, like all biases: one tensor
// is then several that training must change separately.
#pragma once

namespace onnx {
class GraphProto;
} // namespace onnx

namespace gradus::onnx {

/// Gives running statistics of BatchNormalizations that share an initializer
/// with anything else, by its name or through Identity, their own: under the
/// name that the node uses (`norm2.running_mean`), or one derived from the
/// scale's. Nodes that agree in all four names, two of them the statistics',
/// are one normalization that runs several times, and remain shared.
///
/// If only the statistics' name is left, the scale or bias was a constant of a
/// normalization without parameters, and becomes one again.
void giveOwnStatistics(::onnx::GraphProto &graph);

} // namespace gradus::onnx
