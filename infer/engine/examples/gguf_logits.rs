//! `gguf_logits MODEL ID ID …` prints the logits of a GGUF file or a model folder after every
//! token, one JSON list per line. `benches/peers/llama_cpp_parity.py` compares them with
//! llama.cpp's.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use engine::{DecodeSession, Engine};
use model::{GgufModel, ModelFolder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, ids @ ..] = args.as_slice() else {
        return Err("gguf_logits MODEL ID ID …".into());
    };
    let path = Path::new(path);
    let engine = if path.is_file() {
        let model = GgufModel::open(path)?;
        Engine::new(model.config.clone(), &model)?
    } else {
        let folder = ModelFolder::open(path)?;
        Engine::new(folder.config.clone(), &folder.weights()?)?
    };
    let mut session = DecodeSession::new(&engine);
    for id in ids {
        session.feed(&[id.parse()?])?;
        println!("{}", serde_json::to_string(session.logits())?);
    }
    Ok(())
}
