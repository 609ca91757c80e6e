// RUN: gradus-opt %s --select=provider=mkl --verify-diagnostics

// expected-error @below {{select: provider is 'mkl', expected onednn or cuda}}
gradus.program @p {
}
