//! `gguf_speed FILE WHERE [PROMPT] [DECODE]` measures the speed of a model. It prints tokens per
//! second for a prompt and for decoding after it, the bytes of the weights and of the file, peak
//! resident memory and the first decoded tokens. FILE is a GGUF file or a model folder; WHERE is a
//! number of threads, `cuda`, or `tensors` (the GPU's computation on the CPU). Used by
//! `benches/peers/llama_cpp_engine.py` and `benches/peers/transformers_engine_gpu.py`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;
use std::time::Instant;

use engine::{DecodeSession, Engine, EngineDevice, EngineError};
use model::{GgufModel, ModelFolder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, place, rest @ ..] = args.as_slice() else {
        return Err("gguf_speed FILE WHERE [PROMPT] [DECODE]".into());
    };
    let number = |i: usize, usual: usize| rest.get(i).map_or(Ok(usual), |text| text.parse());
    let (prompt, decode) = (number(0, 512)?, number(1, 64)?);
    let (processor, threads) = match place.as_str() {
        "cuda" => (EngineDevice::Cuda, 0),
        "tensors" => (EngineDevice::Tensors, 0),
        threads => (EngineDevice::Cpu, threads.parse()?),
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let path = Path::new(file);
    let (engine, file_bytes) = if path.is_file() {
        let model = GgufModel::open(path)?;
        (
            Engine::on(processor, model.config.clone(), &model)?,
            std::fs::metadata(path)?.len(),
        )
    } else {
        let folder = ModelFolder::open(path)?;
        (
            Engine::on(processor, folder.config.clone(), &folder.weights()?)?,
            std::fs::metadata(path.join("model.safetensors"))?.len(),
        )
    };
    let vocab = engine.config().vocab_size;
    let ids: Vec<u32> = (0..prompt).map(|i| ((i * 7919) % vocab) as u32).collect();
    let (mut read, mut write) = (f64::MAX, f64::MAX);
    let start = Instant::now();
    // On one thread, CPU time is measured, so that other load on the machine does not count.
    let alone = pool.current_num_threads() == 1;
    let clock = || match std::fs::read_to_string("/proc/thread-self/schedstat") {
        Ok(times) if alone => {
            times
                .split(' ')
                .next()
                .and_then(|ns| ns.parse::<f64>().ok())
                .unwrap_or(f64::NAN)
                / 1e9
        }
        _ => start.elapsed().as_secs_f64(),
    };
    let mut first = Vec::new();
    for _ in 0..3 {
        pool.install(|| -> Result<(), EngineError> {
            let mut session = DecodeSession::new(&engine);
            let begun = clock();
            session.feed(&ids)?;
            read = read.min(clock() - begun);
            first.clear();
            let begun = clock();
            for _ in 0..decode {
                let logits = session.logits();
                let best =
                    (0..logits.len()).fold(
                        0,
                        |best, at| if logits[at] > logits[best] { at } else { best },
                    );
                first.push(best);
                session.feed(&[best as u32])?;
            }
            write = write.min(clock() - begun);
            Ok(())
        })?;
    }
    let peak = std::fs::read_to_string("/proc/self/status")?;
    let peak: f64 = peak
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .split(' ')
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(0.0);
    println!(
        "{{\"prefill\": {:.2}, \"decode\": {:.2}, \"weights\": {}, \"file\": {file_bytes}, \"peak\": {}, \"first\": {:?}}}",
        prompt as f64 / read,
        decode as f64 / write,
        engine.bytes(),
        peak * 1024.0,
        &first[..first.len().min(8)]
    );
    Ok(())
}
