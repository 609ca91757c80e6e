// RUN: gradus-opt %s --form-kernels=most-blocks=0 --verify-diagnostics

// expected-error @below {{form-kernels: most-blocks is 0, expected at least 2}}
gradus.program @p {
}
