// AdamW alone on 30 M parameters; made by make.py.
gradus.program @adamw_30m attributes {recipe = {optimizer = {type = "adamw", learning_rate = 1.0e-3, betas = [9.0e-1, 9.99e-1], epsilon = 1.0e-8, weight_decay = 1.0e-2}}} {
  gradus.state @w0 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g0 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w1 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g1 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w2 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g2 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w3 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g3 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w4 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g4 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w5 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g5 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w6 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g6 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w7 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g7 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w8 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g8 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w9 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g9 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w10 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g10 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w11 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g11 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w12 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g12 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w13 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g13 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w14 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g14 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w15 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g15 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w16 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g16 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w17 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g17 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w18 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g18 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w19 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g19 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w20 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g20 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w21 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g21 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w22 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g22 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w23 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g23 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w24 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g24 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w25 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g25 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w26 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g26 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w27 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g27 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w28 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g28 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.state @w29 : tensor<1000x1000xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}
  gradus.state @g29 : tensor<1000x1000xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 0.01 : f64>}
  gradus.graph @train() -> (sum: tensor<1x1xf32>) {
    %w0 = gradus.read @w0 : tensor<1000x1000xf32>
    %n0 = arith.truncf %w0 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e0 = gradus.slice %n0 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f0 = arith.extf %e0 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s0 = arith.addf %f0, %f0 : tensor<1x1xf32>
    %g0 = gradus.read @g0 : tensor<1000x1000xf32>
    gradus.update @w0, %g0 : tensor<1000x1000xf32>
    %w1 = gradus.read @w1 : tensor<1000x1000xf32>
    %n1 = arith.truncf %w1 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e1 = gradus.slice %n1 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f1 = arith.extf %e1 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s1 = arith.addf %s0, %f1 : tensor<1x1xf32>
    %g1 = gradus.read @g1 : tensor<1000x1000xf32>
    gradus.update @w1, %g1 : tensor<1000x1000xf32>
    %w2 = gradus.read @w2 : tensor<1000x1000xf32>
    %n2 = arith.truncf %w2 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e2 = gradus.slice %n2 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f2 = arith.extf %e2 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s2 = arith.addf %s1, %f2 : tensor<1x1xf32>
    %g2 = gradus.read @g2 : tensor<1000x1000xf32>
    gradus.update @w2, %g2 : tensor<1000x1000xf32>
    %w3 = gradus.read @w3 : tensor<1000x1000xf32>
    %n3 = arith.truncf %w3 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e3 = gradus.slice %n3 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f3 = arith.extf %e3 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s3 = arith.addf %s2, %f3 : tensor<1x1xf32>
    %g3 = gradus.read @g3 : tensor<1000x1000xf32>
    gradus.update @w3, %g3 : tensor<1000x1000xf32>
    %w4 = gradus.read @w4 : tensor<1000x1000xf32>
    %n4 = arith.truncf %w4 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e4 = gradus.slice %n4 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f4 = arith.extf %e4 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s4 = arith.addf %s3, %f4 : tensor<1x1xf32>
    %g4 = gradus.read @g4 : tensor<1000x1000xf32>
    gradus.update @w4, %g4 : tensor<1000x1000xf32>
    %w5 = gradus.read @w5 : tensor<1000x1000xf32>
    %n5 = arith.truncf %w5 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e5 = gradus.slice %n5 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f5 = arith.extf %e5 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s5 = arith.addf %s4, %f5 : tensor<1x1xf32>
    %g5 = gradus.read @g5 : tensor<1000x1000xf32>
    gradus.update @w5, %g5 : tensor<1000x1000xf32>
    %w6 = gradus.read @w6 : tensor<1000x1000xf32>
    %n6 = arith.truncf %w6 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e6 = gradus.slice %n6 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f6 = arith.extf %e6 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s6 = arith.addf %s5, %f6 : tensor<1x1xf32>
    %g6 = gradus.read @g6 : tensor<1000x1000xf32>
    gradus.update @w6, %g6 : tensor<1000x1000xf32>
    %w7 = gradus.read @w7 : tensor<1000x1000xf32>
    %n7 = arith.truncf %w7 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e7 = gradus.slice %n7 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f7 = arith.extf %e7 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s7 = arith.addf %s6, %f7 : tensor<1x1xf32>
    %g7 = gradus.read @g7 : tensor<1000x1000xf32>
    gradus.update @w7, %g7 : tensor<1000x1000xf32>
    %w8 = gradus.read @w8 : tensor<1000x1000xf32>
    %n8 = arith.truncf %w8 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e8 = gradus.slice %n8 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f8 = arith.extf %e8 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s8 = arith.addf %s7, %f8 : tensor<1x1xf32>
    %g8 = gradus.read @g8 : tensor<1000x1000xf32>
    gradus.update @w8, %g8 : tensor<1000x1000xf32>
    %w9 = gradus.read @w9 : tensor<1000x1000xf32>
    %n9 = arith.truncf %w9 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e9 = gradus.slice %n9 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f9 = arith.extf %e9 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s9 = arith.addf %s8, %f9 : tensor<1x1xf32>
    %g9 = gradus.read @g9 : tensor<1000x1000xf32>
    gradus.update @w9, %g9 : tensor<1000x1000xf32>
    %w10 = gradus.read @w10 : tensor<1000x1000xf32>
    %n10 = arith.truncf %w10 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e10 = gradus.slice %n10 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f10 = arith.extf %e10 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s10 = arith.addf %s9, %f10 : tensor<1x1xf32>
    %g10 = gradus.read @g10 : tensor<1000x1000xf32>
    gradus.update @w10, %g10 : tensor<1000x1000xf32>
    %w11 = gradus.read @w11 : tensor<1000x1000xf32>
    %n11 = arith.truncf %w11 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e11 = gradus.slice %n11 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f11 = arith.extf %e11 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s11 = arith.addf %s10, %f11 : tensor<1x1xf32>
    %g11 = gradus.read @g11 : tensor<1000x1000xf32>
    gradus.update @w11, %g11 : tensor<1000x1000xf32>
    %w12 = gradus.read @w12 : tensor<1000x1000xf32>
    %n12 = arith.truncf %w12 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e12 = gradus.slice %n12 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f12 = arith.extf %e12 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s12 = arith.addf %s11, %f12 : tensor<1x1xf32>
    %g12 = gradus.read @g12 : tensor<1000x1000xf32>
    gradus.update @w12, %g12 : tensor<1000x1000xf32>
    %w13 = gradus.read @w13 : tensor<1000x1000xf32>
    %n13 = arith.truncf %w13 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e13 = gradus.slice %n13 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f13 = arith.extf %e13 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s13 = arith.addf %s12, %f13 : tensor<1x1xf32>
    %g13 = gradus.read @g13 : tensor<1000x1000xf32>
    gradus.update @w13, %g13 : tensor<1000x1000xf32>
    %w14 = gradus.read @w14 : tensor<1000x1000xf32>
    %n14 = arith.truncf %w14 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e14 = gradus.slice %n14 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f14 = arith.extf %e14 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s14 = arith.addf %s13, %f14 : tensor<1x1xf32>
    %g14 = gradus.read @g14 : tensor<1000x1000xf32>
    gradus.update @w14, %g14 : tensor<1000x1000xf32>
    %w15 = gradus.read @w15 : tensor<1000x1000xf32>
    %n15 = arith.truncf %w15 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e15 = gradus.slice %n15 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f15 = arith.extf %e15 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s15 = arith.addf %s14, %f15 : tensor<1x1xf32>
    %g15 = gradus.read @g15 : tensor<1000x1000xf32>
    gradus.update @w15, %g15 : tensor<1000x1000xf32>
    %w16 = gradus.read @w16 : tensor<1000x1000xf32>
    %n16 = arith.truncf %w16 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e16 = gradus.slice %n16 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f16 = arith.extf %e16 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s16 = arith.addf %s15, %f16 : tensor<1x1xf32>
    %g16 = gradus.read @g16 : tensor<1000x1000xf32>
    gradus.update @w16, %g16 : tensor<1000x1000xf32>
    %w17 = gradus.read @w17 : tensor<1000x1000xf32>
    %n17 = arith.truncf %w17 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e17 = gradus.slice %n17 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f17 = arith.extf %e17 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s17 = arith.addf %s16, %f17 : tensor<1x1xf32>
    %g17 = gradus.read @g17 : tensor<1000x1000xf32>
    gradus.update @w17, %g17 : tensor<1000x1000xf32>
    %w18 = gradus.read @w18 : tensor<1000x1000xf32>
    %n18 = arith.truncf %w18 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e18 = gradus.slice %n18 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f18 = arith.extf %e18 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s18 = arith.addf %s17, %f18 : tensor<1x1xf32>
    %g18 = gradus.read @g18 : tensor<1000x1000xf32>
    gradus.update @w18, %g18 : tensor<1000x1000xf32>
    %w19 = gradus.read @w19 : tensor<1000x1000xf32>
    %n19 = arith.truncf %w19 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e19 = gradus.slice %n19 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f19 = arith.extf %e19 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s19 = arith.addf %s18, %f19 : tensor<1x1xf32>
    %g19 = gradus.read @g19 : tensor<1000x1000xf32>
    gradus.update @w19, %g19 : tensor<1000x1000xf32>
    %w20 = gradus.read @w20 : tensor<1000x1000xf32>
    %n20 = arith.truncf %w20 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e20 = gradus.slice %n20 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f20 = arith.extf %e20 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s20 = arith.addf %s19, %f20 : tensor<1x1xf32>
    %g20 = gradus.read @g20 : tensor<1000x1000xf32>
    gradus.update @w20, %g20 : tensor<1000x1000xf32>
    %w21 = gradus.read @w21 : tensor<1000x1000xf32>
    %n21 = arith.truncf %w21 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e21 = gradus.slice %n21 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f21 = arith.extf %e21 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s21 = arith.addf %s20, %f21 : tensor<1x1xf32>
    %g21 = gradus.read @g21 : tensor<1000x1000xf32>
    gradus.update @w21, %g21 : tensor<1000x1000xf32>
    %w22 = gradus.read @w22 : tensor<1000x1000xf32>
    %n22 = arith.truncf %w22 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e22 = gradus.slice %n22 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f22 = arith.extf %e22 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s22 = arith.addf %s21, %f22 : tensor<1x1xf32>
    %g22 = gradus.read @g22 : tensor<1000x1000xf32>
    gradus.update @w22, %g22 : tensor<1000x1000xf32>
    %w23 = gradus.read @w23 : tensor<1000x1000xf32>
    %n23 = arith.truncf %w23 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e23 = gradus.slice %n23 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f23 = arith.extf %e23 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s23 = arith.addf %s22, %f23 : tensor<1x1xf32>
    %g23 = gradus.read @g23 : tensor<1000x1000xf32>
    gradus.update @w23, %g23 : tensor<1000x1000xf32>
    %w24 = gradus.read @w24 : tensor<1000x1000xf32>
    %n24 = arith.truncf %w24 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e24 = gradus.slice %n24 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f24 = arith.extf %e24 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s24 = arith.addf %s23, %f24 : tensor<1x1xf32>
    %g24 = gradus.read @g24 : tensor<1000x1000xf32>
    gradus.update @w24, %g24 : tensor<1000x1000xf32>
    %w25 = gradus.read @w25 : tensor<1000x1000xf32>
    %n25 = arith.truncf %w25 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e25 = gradus.slice %n25 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f25 = arith.extf %e25 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s25 = arith.addf %s24, %f25 : tensor<1x1xf32>
    %g25 = gradus.read @g25 : tensor<1000x1000xf32>
    gradus.update @w25, %g25 : tensor<1000x1000xf32>
    %w26 = gradus.read @w26 : tensor<1000x1000xf32>
    %n26 = arith.truncf %w26 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e26 = gradus.slice %n26 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f26 = arith.extf %e26 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s26 = arith.addf %s25, %f26 : tensor<1x1xf32>
    %g26 = gradus.read @g26 : tensor<1000x1000xf32>
    gradus.update @w26, %g26 : tensor<1000x1000xf32>
    %w27 = gradus.read @w27 : tensor<1000x1000xf32>
    %n27 = arith.truncf %w27 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e27 = gradus.slice %n27 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f27 = arith.extf %e27 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s27 = arith.addf %s26, %f27 : tensor<1x1xf32>
    %g27 = gradus.read @g27 : tensor<1000x1000xf32>
    gradus.update @w27, %g27 : tensor<1000x1000xf32>
    %w28 = gradus.read @w28 : tensor<1000x1000xf32>
    %n28 = arith.truncf %w28 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e28 = gradus.slice %n28 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f28 = arith.extf %e28 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s28 = arith.addf %s27, %f28 : tensor<1x1xf32>
    %g28 = gradus.read @g28 : tensor<1000x1000xf32>
    gradus.update @w28, %g28 : tensor<1000x1000xf32>
    %w29 = gradus.read @w29 : tensor<1000x1000xf32>
    %n29 = arith.truncf %w29 : tensor<1000x1000xf32> to tensor<1000x1000xbf16>
    %e29 = gradus.slice %n29 starts [0, 0] steps [1, 1] : tensor<1000x1000xbf16> -> tensor<1x1xbf16>
    %f29 = arith.extf %e29 : tensor<1x1xbf16> to tensor<1x1xf32>
    %s29 = arith.addf %s28, %f29 : tensor<1x1xf32>
    %g29 = gradus.read @g29 : tensor<1000x1000xf32>
    gradus.update @w29, %g29 : tensor<1000x1000xf32>
    gradus.return %s29 : tensor<1x1xf32>
  }
}
