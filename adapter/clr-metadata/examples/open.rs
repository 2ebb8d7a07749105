//! Measurement of the time to open an assembly and to find its last type:
//! `cargo run --release --example open ASSEMBLY`.

use std::time::Instant;

use clr_metadata::image::PeImage;

const TIMES: usize = 11;

#[allow(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name an assembly")?;
    let (mut opened, mut found) = (Vec::new(), Vec::new());
    let mut methods = 0;
    for _ in 0..TIMES {
        let start = Instant::now();
        let image = PeImage::open(std::path::Path::new(&path))?;
        opened.push(start.elapsed());
        methods = image.metadata.all_methods().count();
        let last = image.metadata.type_tokens().last().map(|token| image.metadata.type_name(token));
        let start = Instant::now();
        image.metadata.find_type(&last.unwrap_or_default());
        found.push(start.elapsed());
    }
    opened.sort();
    found.sort();
    println!("{methods} methods: opened in {:?}, a type found in {:?}", opened[TIMES / 2], found[TIMES / 2]);
    Ok(())
}
