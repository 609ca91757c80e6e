// Exporters store equal tensors once. In a net that has not been trained all
// running variances are ones, as all scales are, and all means zeros, as all
// biases: one tensor is then several that training must move by themselves.
#pragma once

namespace onnx {
class GraphProto;
} // namespace onnx

namespace gradus::onnx {

/// Gives running statistics of BatchNormalizations that share an initializer
/// with anything else, by its name or through Identity, one of their own: under
/// the name that the node uses (`norm2.running_mean`), or one made of the
/// scale's. Nodes that agree in all four names, two of them the statistics',
/// are one normalization that runs several times, and go on sharing.
///
/// Where only the statistics' name is left, the scale or bias was a constant of
/// a normalization without parameters, and becomes one again.
void giveOwnStatistics(::onnx::GraphProto &graph);

} // namespace gradus::onnx
