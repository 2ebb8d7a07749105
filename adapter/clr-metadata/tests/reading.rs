//! A small assembly and its PDB, built from `tests/data/Sample.cs`, read whole; and read after damage.

use std::path::{Path, PathBuf};

use clr_metadata::image::PeImage;
use clr_metadata::pdb::{Pdb, PdbError};
use proptest::prelude::*;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn line_of(text: &str) -> u32 {
    let source = std::fs::read_to_string(data("Sample.cs")).expect("the source is kept beside this test");
    source.lines().position(|line| line.contains(text)).expect("the text is in the source") as u32 + 1
}

#[test]
fn types_methods_fields_and_constants_are_found_by_name() {
    let image = PeImage::open(&data("Sample.dll")).unwrap();
    let metadata = &image.metadata;
    let shape = metadata.find_type("Sample.Shape").unwrap();
    assert_eq!(
        metadata.fields(shape).iter().map(|field| field.name.as_str()).collect::<Vec<_>>(),
        ["sides", "Count"]
    );
    let properties = metadata.properties(shape);
    assert_eq!(properties.iter().map(|property| property.name.as_str()).collect::<Vec<_>>(), ["Sides"]);
    assert_eq!(metadata.method_name(properties[0].getter), "get_Sides");
    assert_eq!(metadata.owner_of(properties[0].getter), shape);
    let color = metadata.find_type("Sample.Color").unwrap();
    assert_eq!(metadata.base_name(color).as_deref(), Some("System.Enum"));
    let green = metadata.fields(color).into_iter().find(|field| field.name == "Green").unwrap();
    assert_eq!((green.is_literal, metadata.constant(green.token)), (true, Some(7)));
    assert_eq!(metadata.method_name(image.entry_point), "Main");
    assert!(metadata.find_type("Sample.Shape.Inner`1").is_some());
    assert!(!metadata.is_optimized());
}

#[test]
fn lines_bind_where_code_is_and_locals_have_their_scopes() {
    let image = PeImage::open(&data("Sample.dll")).unwrap();
    let pdb = Pdb::open_for(&image, &[]).unwrap();
    let document = pdb.find_document("/elsewhere/Sample.cs").unwrap();
    let at = pdb.locations(document, line_of("BP sum"), None);
    assert_eq!((at.len(), at[0].point.line), (1, line_of("BP sum")));
    let locals = |il| pdb.locals(at[0].method, il).into_iter().map(|local| local.name).collect::<Vec<_>>();
    assert_eq!(locals(at[0].point.il), ["total", "index"]);
    // A breakpoint on a comment binds to the statement after it; a lambda inside a statement needs its
    // column.
    assert_eq!(pdb.locations(document, line_of("slides"), None)[0].point.line, line_of("BP after comment"));
    let outer = pdb.locations(document, line_of("BP lambda"), None);
    assert_eq!(outer.len(), 1);
    let inner = pdb.statements(document, line_of("BP lambda")..=line_of("BP lambda"));
    let inner = inner.iter().find(|at| at.method != outer[0].method).unwrap();
    let by_column = pdb.locations(document, line_of("BP lambda"), Some(inner.point.column + 1));
    assert_eq!((by_column.len(), by_column[0].method), (1, inner.method));
    assert!(pdb.locations(document, 10_000, None).is_empty());
    let within = pdb.locations(document, line_of("within"), None);
    assert_eq!(within[0].point.line, line_of("BP long"));
}

#[test]
fn an_async_method_knows_its_awaits_and_its_name() {
    let image = PeImage::open(&data("Sample.dll")).unwrap();
    let pdb = Pdb::open_for(&image, &[]).unwrap();
    let document = pdb.find_document("Sample.cs").unwrap();
    let at = pdb.locations(document, line_of("BP await"), None)[0];
    assert_eq!(pdb.await_steps(at.method).len(), 1);
    assert_eq!(image.metadata.method_name(pdb.kickoff(at.method).unwrap()), "Later");
    assert_eq!(image.metadata.kickoff(at.method), pdb.kickoff(at.method));
}

#[test]
fn missing_and_foreign_symbols_are_distinguished() {
    let mut image = PeImage::open(&data("Sample.dll")).unwrap();
    let (_, id) = image.code_view.clone().unwrap();
    image.code_view = Some(("/nowhere/Other.pdb".into(), id));
    assert!(matches!(Pdb::open_for(&image, &[]), Err(PdbError::NotFound { looked }) if looked.len() == 2));
    image.code_view = Some(("Sample.pdb".into(), [0; 16]));
    assert!(matches!(Pdb::open_for(&image, &[]), Err(PdbError::IdMismatch(_))));
}

fn read_everything(image: &PeImage) {
    let metadata = &image.metadata;
    for row in 0..200u32 {
        let (kind, method) = (0x0200_0000 | row, 0x0600_0000 | row);
        drop((
            metadata.type_name(kind),
            metadata.fields(kind),
            metadata.properties(kind),
            metadata.base_name(kind),
        ));
        drop((metadata.owner_of(method), metadata.parameters(method), metadata.constant(0x0400_0000 | row)));
        std::hint::black_box(metadata.kickoff(method));
    }
    std::hint::black_box((metadata.find_type("x"), metadata.is_optimized()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn damage_makes_no_panic(hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()),
        1..12)) {
        let mut dll = std::fs::read(data("Sample.dll")).unwrap();
        let mut symbols = std::fs::read(data("Sample.pdb")).unwrap();
        for (at, value) in &hits {
            let (one, other) = (at.index(dll.len()), at.index(symbols.len()));
            dll[one] = *value;
            symbols[other] = *value;
        }
        if let Ok(image) = PeImage::parse(Path::new("x.dll"), &dll) {
            read_everything(&image);
        }
        if let Some(pdb) = Pdb::parse(symbols) {
            for method in 0x0600_0000u32..0x0600_0040 {
                drop((pdb.locals(method, 3), pdb.await_steps(method), pdb.kickoff(method),
                    pdb.point_at(method, 5)));
            }
            for document in 0..4 {
                drop((pdb.locations(document, 20, None), pdb.locations(document, 20, Some(9))));
            }
        }
    }
}

#[test]
fn a_pdb_that_was_cut_off_is_not_sound() {
    let whole = std::fs::read(data("Sample.pdb")).unwrap();
    assert!(Pdb::parse(whole.clone()).is_some());
    for length in [0, 100, whole.len() / 2, whole.len() * 3 / 4] {
        assert!(Pdb::parse(whole[..length].to_vec()).is_none(), "{length} of {}", whole.len());
    }
}

#[test]
fn a_pdb_has_a_key_for_symbol_servers_and_its_checksum_is_of_the_file_without_the_id() {
    use clr_metadata::pdb::symbol_key;
    let image = PeImage::open(&data("Sample.dll")).unwrap();
    let (written, id) = image.code_view.clone().unwrap();
    let key = symbol_key(&written, &id).unwrap();
    let parts: Vec<&str> = key.split('/').collect();
    assert_eq!((parts.len(), parts[0], parts[2]), (3, "Sample.pdb", "Sample.pdb"));
    assert!(parts[1].len() == 40 && parts[1].ends_with("ffffffff"), "{key}");
    for wrong in ["", "/a/..", "C:\\x\\.", "/a/", "a:b"] {
        assert_eq!(symbol_key(wrong, &id), None, "{wrong}");
    }
    let file = std::fs::read(data("Sample.pdb")).unwrap();
    let pdb = Pdb::parse(file.clone()).unwrap();
    let (before, after) = pdb.parts_around_id(&file).unwrap();
    assert_eq!(before.len() + 20 + after.len(), file.len());
    assert!(pdb.matches_id(&file[before.len()..][..16].try_into().unwrap()));
    assert_eq!(pdb.source_link(), None);
}
