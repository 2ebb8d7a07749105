//! Any bytes are the symbols of an assembly: reading all there is in them neither panics nor takes unbounded memory.
#![no_main]

use clr_metadata::pdb::Pdb;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(pdb) = Pdb::parse(bytes.to_vec()) else { return };
    for row in 0..8 {
        let document = pdb.document(row).to_owned();
        pdb.find_document(&document);
        pdb.locations(row, row * 7 + 1, Some(1));
        pdb.statements(row, 1..=40);
        let method = clr_metadata::metadata::method_token(row);
        pdb.points(method);
        pdb.point_at(method, row * 3);
        pdb.kickoff(method);
        pdb.move_next(method);
    }
});
