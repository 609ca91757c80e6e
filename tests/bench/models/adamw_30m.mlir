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
  gradus.graph @train() -> () {
    %g0 = gradus.read @g0 : tensor<1000x1000xf32>
    gradus.update @w0, %g0 : tensor<1000x1000xf32>
    %g1 = gradus.read @g1 : tensor<1000x1000xf32>
    gradus.update @w1, %g1 : tensor<1000x1000xf32>
    %g2 = gradus.read @g2 : tensor<1000x1000xf32>
    gradus.update @w2, %g2 : tensor<1000x1000xf32>
    %g3 = gradus.read @g3 : tensor<1000x1000xf32>
    gradus.update @w3, %g3 : tensor<1000x1000xf32>
    %g4 = gradus.read @g4 : tensor<1000x1000xf32>
    gradus.update @w4, %g4 : tensor<1000x1000xf32>
    %g5 = gradus.read @g5 : tensor<1000x1000xf32>
    gradus.update @w5, %g5 : tensor<1000x1000xf32>
    %g6 = gradus.read @g6 : tensor<1000x1000xf32>
    gradus.update @w6, %g6 : tensor<1000x1000xf32>
    %g7 = gradus.read @g7 : tensor<1000x1000xf32>
    gradus.update @w7, %g7 : tensor<1000x1000xf32>
    %g8 = gradus.read @g8 : tensor<1000x1000xf32>
    gradus.update @w8, %g8 : tensor<1000x1000xf32>
    %g9 = gradus.read @g9 : tensor<1000x1000xf32>
    gradus.update @w9, %g9 : tensor<1000x1000xf32>
    %g10 = gradus.read @g10 : tensor<1000x1000xf32>
    gradus.update @w10, %g10 : tensor<1000x1000xf32>
    %g11 = gradus.read @g11 : tensor<1000x1000xf32>
    gradus.update @w11, %g11 : tensor<1000x1000xf32>
    %g12 = gradus.read @g12 : tensor<1000x1000xf32>
    gradus.update @w12, %g12 : tensor<1000x1000xf32>
    %g13 = gradus.read @g13 : tensor<1000x1000xf32>
    gradus.update @w13, %g13 : tensor<1000x1000xf32>
    %g14 = gradus.read @g14 : tensor<1000x1000xf32>
    gradus.update @w14, %g14 : tensor<1000x1000xf32>
    %g15 = gradus.read @g15 : tensor<1000x1000xf32>
    gradus.update @w15, %g15 : tensor<1000x1000xf32>
    %g16 = gradus.read @g16 : tensor<1000x1000xf32>
    gradus.update @w16, %g16 : tensor<1000x1000xf32>
    %g17 = gradus.read @g17 : tensor<1000x1000xf32>
    gradus.update @w17, %g17 : tensor<1000x1000xf32>
    %g18 = gradus.read @g18 : tensor<1000x1000xf32>
    gradus.update @w18, %g18 : tensor<1000x1000xf32>
    %g19 = gradus.read @g19 : tensor<1000x1000xf32>
    gradus.update @w19, %g19 : tensor<1000x1000xf32>
    %g20 = gradus.read @g20 : tensor<1000x1000xf32>
    gradus.update @w20, %g20 : tensor<1000x1000xf32>
    %g21 = gradus.read @g21 : tensor<1000x1000xf32>
    gradus.update @w21, %g21 : tensor<1000x1000xf32>
    %g22 = gradus.read @g22 : tensor<1000x1000xf32>
    gradus.update @w22, %g22 : tensor<1000x1000xf32>
    %g23 = gradus.read @g23 : tensor<1000x1000xf32>
    gradus.update @w23, %g23 : tensor<1000x1000xf32>
    %g24 = gradus.read @g24 : tensor<1000x1000xf32>
    gradus.update @w24, %g24 : tensor<1000x1000xf32>
    %g25 = gradus.read @g25 : tensor<1000x1000xf32>
    gradus.update @w25, %g25 : tensor<1000x1000xf32>
    %g26 = gradus.read @g26 : tensor<1000x1000xf32>
    gradus.update @w26, %g26 : tensor<1000x1000xf32>
    %g27 = gradus.read @g27 : tensor<1000x1000xf32>
    gradus.update @w27, %g27 : tensor<1000x1000xf32>
    %g28 = gradus.read @g28 : tensor<1000x1000xf32>
    gradus.update @w28, %g28 : tensor<1000x1000xf32>
    %g29 = gradus.read @g29 : tensor<1000x1000xf32>
    gradus.update @w29, %g29 : tensor<1000x1000xf32>
    gradus.return
  }
}
