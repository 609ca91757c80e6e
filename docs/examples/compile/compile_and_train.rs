//! Compiles a model and trains it, all in memory: no tool, and no file but the
//! model and the data. The declarations below are those of gradus.h that it uses.
//!   compile_and_train lenet.onnx train.safetensors test.safetensors
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::mem::{size_of, MaybeUninit};
use std::{env, fs, process, ptr};

#[repr(C)]
struct Session {
    _private: [u8; 0],
}
#[repr(C)]
struct Compiled {
    _private: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
struct Source {
    path: *const c_char,
    bytes: *const c_void,
    size: usize,
}
#[repr(C)]
struct CompileOptions {
    size: usize,
    model: Source,
    recipe: Source,
    weights: Source,
    lists: [*const *const c_char; 4], // overrides, dims, targets, plugins
    words: [*const c_char; 3], // libraries, memory_limit, stop_after
    threads: c_int,
    flags: u32,
    basis: Source,
    extra: *const *const c_char,
}
#[repr(C)]
struct Diagnostic {
    severity: c_int,
    pass: *const c_char,
    place: *const c_char,
    text: *const c_char,
}

#[link(name = "gradus")]
extern "C" {
    fn gradus_set_default_compile_options(options: *mut CompileOptions, size: usize);
    fn gradus_compile(options: *const CompileOptions, result: *mut *mut Compiled) -> c_int;
    fn gradus_compiled_artifact(result: *const Compiled, bytes: *mut *const c_void, size: *mut usize) -> c_int;
    fn gradus_compiled_diagnostic_count(result: *const Compiled) -> c_int;
    fn gradus_compiled_diagnostic(result: *const Compiled, number: c_int, told: *mut Diagnostic) -> c_int;
    fn gradus_compiled_free(result: *mut Compiled);
    fn gradus_load_memory(bytes: *const c_void, size: usize, options: *const c_void, session: *mut *mut Session) -> c_int;
    fn gradus_find_graph(session: *const Session, name: *const c_char) -> c_int;
    fn gradus_step(session: *mut Session, graph: c_int, inputs: *const *const c_void, outputs: *const *mut c_void) -> c_int;
    fn gradus_set_number(session: *mut Session, path: *const c_char, number: f64) -> c_int;
    fn gradus_last_error(session: *const Session) -> *const c_char;
    fn gradus_free(session: *mut Session);
}

const BATCH: usize = 32;
const PIXELS: usize = 28 * 28;
const EPOCHS: usize = 12;
const RECIPE: &str = r#"{"inputs": {"dims": {"batch": 32}},
  "loss": {"type": "softmax_cross_entropy", "output": "logits"},
  "metrics": ["accuracy"],
  "optimizer": {"type": "adamw", "learning_rate": 0.002}}"#;

fn text(words: *const c_char) -> String {
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// The words of a session's last error, or of the last call without one.
fn error(session: *const Session) -> String {
    text(unsafe { gradus_last_error(session) })
}

/// A compiled model with its state.
struct Step(*mut Session);

impl Drop for Step {
    fn drop(&mut self) {
        unsafe { gradus_free(self.0) }
    }
}

impl Step {
    fn compile(model: &str) -> Result<Step, String> {
        let path = CString::new(model).map_err(|error| error.to_string())?;
        unsafe {
            let mut options = MaybeUninit::<CompileOptions>::uninit();
            gradus_set_default_compile_options(options.as_mut_ptr(), size_of::<CompileOptions>());
            let mut options = options.assume_init();
            options.model.path = path.as_ptr();
            options.recipe.bytes = RECIPE.as_ptr().cast();
            options.recipe.size = RECIPE.len();
            let mut compiled = ptr::null_mut();
            let mut status = gradus_compile(&options, &mut compiled);
            for number in 0..gradus_compiled_diagnostic_count(compiled) {
                let mut told = Diagnostic { severity: 0, pass: ptr::null(), place: ptr::null(), text: ptr::null() };
                if gradus_compiled_diagnostic(compiled, number, &mut told) == 0 {
                    eprintln!("{}", text(told.text));
                }
            }
            let (mut bytes, mut size, mut session) = (ptr::null(), 0, ptr::null_mut());
            if status == 0 {
                status = gradus_compiled_artifact(compiled, &mut bytes, &mut size);
            }
            if status == 0 {
                status = gradus_load_memory(bytes, size, ptr::null(), &mut session);
            }
            gradus_compiled_free(compiled);
            if status == 0 { Ok(Step(session)) } else { Err(error(ptr::null())) }
        }
    }

    /// Runs a graph over all whole batches; the mean of its accuracy.
    fn run(&mut self, graph: &str, samples: &Samples) -> Result<f64, String> {
        let name = CString::new(graph).unwrap();
        let number = unsafe { gradus_find_graph(self.0, name.as_ptr()) };
        let batches = samples.labels.len() / BATCH;
        let mut sum = 0.0;
        for batch in 0..batches {
            let images = &samples.images[batch * BATCH * PIXELS..][..BATCH * PIXELS];
            let labels = &samples.labels[batch * BATCH..][..BATCH];
            let counted = BATCH as i64; // samples of the batch, for `evaluate`
            let inputs = [images.as_ptr().cast::<c_void>(), labels.as_ptr().cast(), ptr::from_ref(&counted).cast()];
            let (mut loss, mut accuracy) = (0f32, 0f32);
            let outputs = [ptr::from_mut(&mut loss).cast::<c_void>(), ptr::from_mut(&mut accuracy).cast()];
            if unsafe { gradus_step(self.0, number, inputs.as_ptr(), outputs.as_ptr()) } != 0 {
                return Err(error(self.0));
            }
            sum += f64::from(accuracy);
        }
        Ok(sum / batches as f64)
    }

    fn set_rate(&mut self, rate: f64) -> Result<(), String> {
        let path = CString::new("optimizer.learning_rate").unwrap();
        match unsafe { gradus_set_number(self.0, path.as_ptr(), rate) } {
            0 => Ok(()),
            _ => Err(error(self.0)),
        }
    }
}

struct Samples {
    images: Vec<f32>,
    labels: Vec<i64>,
}

/// A .safetensors file is the length of a header, the header (which we know: all
/// images, then all labels) and the tensors.
fn read_samples(path: &str) -> Result<Samples, String> {
    let file = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let header = file.get(..8).ok_or("the data are cut short")?;
    let header = u64::from_le_bytes(header.try_into().unwrap()) as usize;
    let data = file.get(8 + header..).ok_or("the data are cut short")?;
    let count = data.len() / (PIXELS * 4 + 8);
    let (images, labels) = data.split_at(count * PIXELS * 4);
    Ok(Samples {
        images: images.chunks_exact(4).map(|each| f32::from_le_bytes(each.try_into().unwrap())).collect(),
        labels: labels.chunks_exact(8).map(|each| i64::from_le_bytes(each.try_into().unwrap())).collect(),
    })
}

fn train(model: &str, train: &str, test: &str) -> Result<(), String> {
    let mut step = Step::compile(model)?;
    let (train, test) = (read_samples(train)?, read_samples(test)?);
    for epoch in 1..=EPOCHS {
        if epoch == EPOCHS * 3 / 4 {
            step.set_rate(5e-4)?; // The rate falls at the end.
        }
        println!("epoch {epoch}: accuracy {:.3}", step.run("train", &train)?);
    }
    println!("test accuracy: {:.3}", step.run("evaluate", &test)?);
    Ok(())
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let done = match &arguments[..] {
        [_, model, samples, test] => train(model, samples, test),
        _ => Err("expected MODEL TRAIN TEST".into()),
    };
    if let Err(words) = done {
        eprintln!("compile_and_train: {words}");
        process::exit(1);
    }
}
