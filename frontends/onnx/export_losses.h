// What an exporter's default options have taken out of a model that is to be
// trained. Such a file computes the right outputs, but training it is not
// training the model that it was made of.
#pragma once

#include "frontends/onnx/export_marks.h"

namespace gradus::onnx {

/// A sentence for each kind of loss that the file shows, with the names and how
/// to export it instead; none for a file that has everything.
///
/// Batch normalizations folded into convolutions; weights that are transposed,
/// reshaped or packed copies without their names; tables and weights replaced
/// by values computed of them; parameters that the file's own list has and the
/// file has not; parameters of equal values merged into one; a tied weight that
/// has become two.
std::vector<std::string> exportLosses(ModelFile &file,
                                      const ExportMarks &marks);

} // namespace gradus::onnx
