//! A mine of invented ores: lifts, carts, and a record that panics.
use std::collections::HashMap;

#[derive(Debug, Clone)]
struct Cart {
    ore: String,
    load: Vec<u32>,
    owner: Option<String>,
}

fn lift(cart: &mut Cart, rounds: u32) -> u32 {
    let mut strain = cart.load[0] * 5 + 3;
    for round in 0..rounds {
        strain = (strain * 37 + round * 11) % 769;
        if strain % 3 == 0 {
            cart.load.push(strain / 3);
        }
    }
    strain
}

fn assay(cart: &Cart, grade: u32) -> Option<u32> {
    let best = cart.load.iter().copied().filter(|piece| piece % 7 == grade).max()?;
    Some(best + grade)
}

fn enter(record: &mut HashMap<String, i64>, ore: &str, worth: u32) {
    let row = record.entry(ore.to_owned()).or_insert(500);
    *row -= i64::from(worth) * 2;
    if *row < -700 {
        panic!("the record of a cart is overdrawn");
    }
}

fn main() {
    let ores = ["galen", "wolfram", "jasp", "orpiment"];
    let mut record = HashMap::new();
    for shift in 0..24u32 {
        let ore = ores[(shift * 7 % 4) as usize];
        let mut cart = Cart { ore: ore.to_owned(), load: vec![shift], owner: None };
        if shift % 5 == 2 {
            cart.owner = Some(format!("digger {}", shift * 3));
        }
        let strain = lift(&mut cart, 8 + shift % 3);
        let worth = assay(&cart, strain % 7).unwrap_or(0);
        enter(&mut record, &cart.ore, worth + strain / 9);
    }
    println!("{}", record.len());
}
