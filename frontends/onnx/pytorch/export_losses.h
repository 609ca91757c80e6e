// Finds what an exporter's default options have removed from a model. Such a
// file computes the right outputs, but training it differs from training the
// original model.
#pragma once

#include "frontends/onnx/pytorch/export_marks.h"

namespace gradus::onnx {

/// Returns a sentence for each kind of missing information, with the names and
/// how to export instead; empty if nothing is missing.
///
/// Reported are: batch normalizations folded into convolutions; weights that
/// are transposed, reshaped or packed copies without their names; tables and
/// weights replaced by values computed from them; parameters in the file's own
/// list that are not in the file; parameters of equal values merged into one; a
/// tied weight that has become two.
std::vector<std::string> exportLosses(ModelFile &file,
                                      const ExportMarks &marks);

} // namespace gradus::onnx
