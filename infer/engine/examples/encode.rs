//! `encode FOLDER LINES OUT` encodes the lines of a file and writes their vectors, for comparison
//! with sentence-transformers. Prints sentences per second, without and then with the cache.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use engine::encoder::Encoder;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, lines, out] = &args[..] else {
        return Err("encode FOLDER LINES OUT".into());
    };
    let text = std::fs::read_to_string(lines)?;
    let texts: Vec<&str> = text.lines().collect();
    let encoder = Encoder::open(Path::new(folder), None)?;
    // The first text reads the weights.
    encoder.encode(&["warm"])?;
    let begun = Instant::now();
    let vectors = encoder.encode(&texts)?;
    let first = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    encoder.encode(&texts)?;
    let second = begun.elapsed().as_secs_f64();
    let mut file = std::io::BufWriter::new(std::fs::File::create(out)?);
    for vector in &vectors {
        for x in vector.iter() {
            file.write_all(&x.to_le_bytes())?;
        }
    }
    file.flush()?;
    println!(
        "{} texts: {:.0} per second computed, {:.0} per second from the cache (ratio {:.0})",
        texts.len(),
        texts.len() as f64 / first,
        texts.len() as f64 / second,
        first / second
    );
    Ok(())
}
