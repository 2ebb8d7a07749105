//! Any bytes are an assembly: reading its types, methods, fields and signatures neither panics nor takes unbounded memory.
#![no_main]

use std::path::Path;

use clr_metadata::image::PeImage;

/// Of each kind so many are looked at.
const SOME: usize = 64;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzzed.dll");
    let parsed = PeImage::parse(path, bytes);
    let Ok(image) = parsed.or_else(|_| PeImage::from_metadata(path, bytes.to_vec())) else { return };
    let metadata = &image.metadata;
    for token in metadata.type_tokens().take(SOME) {
        metadata.find_type(&metadata.type_name(token));
        metadata.enclosing_type(token);
        metadata.base_name(token);
        metadata.interfaces(token);
        metadata.property_infos(token);
        metadata.generic_parameters(token);
        metadata.attributes(token).take(SOME).for_each(drop);
        for field in metadata.fields(token).into_iter().take(SOME) {
            metadata.field_type(field.token);
            metadata.constant(field.token);
            metadata.literal(field.token);
        }
        for method in metadata.methods(token).take(SOME) {
            metadata.method_name(method);
            metadata.method_signature(method);
            metadata.parameters(method);
            metadata.tuple_names_of_parameter(method, None);
        }
    }
    metadata.extensions();
    metadata.is_optimized();
    clr_metadata::signature::method_signature(bytes);
    clr_metadata::signature::type_signature(bytes);
    clr_metadata::il::calls(bytes);
});
