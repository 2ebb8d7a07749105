fn main() {
    let mut line = String::new();
    println!("how far?");
    std::io::stdin().read_line(&mut line).unwrap();
    let metres: f64 = line.trim().parse().unwrap();
    let feet = metres / 0.3048;
    println!("{feet:.1} feet");
}
