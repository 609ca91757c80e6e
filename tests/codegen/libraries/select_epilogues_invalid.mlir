// RUN: gradus-opt %s --select=epilogues=some --verify-diagnostics

// expected-error @below {{select: epilogues is 'some', expected all, bias or none}}
gradus.program @p {
}
