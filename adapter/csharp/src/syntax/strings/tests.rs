//! Tests of string literals and interpolations.

use super::*;

fn shown(text: &str) -> String {
    let tokens = match Lexer::new(text).all() {
        Ok(tokens) => tokens,
        Err(error) => return format!("! {}", error.code),
    };
    match &tokens[0].tok {
        Tok::Literal(constant) => constant.invariant_text(),
        Tok::Utf8(text) => format!("u8 {text}"),
        Tok::Interpolated(parts) => parts
            .iter()
            .map(|part| match part {
                LexedStringPart::Text(text) => text.clone(),
                LexedStringPart::Interpolation(tokens, format) => {
                    format!(
                        "<{}{}>",
                        tokens.len() - 1,
                        format.as_ref().map(|f| format!(":{f}")).unwrap_or_default()
                    )
                }
            })
            .collect(),
        other => format!("{other:?}"),
    }
}

#[test]
fn strings_of_all_styles_are_read() {
    for (text, expected) in [
        (r#""a\tb\\c\"d""#, "a\tb\\c\"d"),
        (r#"@"c:\dir""q""#, "c:\\dir\"q"),
        (r#""""a "quoted" b""""#, "a \"quoted\" b"),
        (r#""""" has """ inside """""#, " has \"\"\" inside "),
        ("\"\"\"\n    one\n      two\n    \"\"\"", "one\n  two"),
        (r#""x"u8"#, "u8 x"),
        (r#"$"a{b}c""#, "a<1>c"),
        (r#"$"{{ {x} }}""#, "{ <1> }"),
        (r#"$"{{}}{{{i}}}""#, "{}{<1>}"),
        (r##"$$"""{{{i}}} {x}""""##, "{<1>} {x}"),
        (r#"$"{x:F2}|{y,4}|{z,-7:D3}""#, "<1:F2>|<3>|<4:D3>"),
        (r#"$"{(a ? "b" : "c")}""#, "<7>"),
        (r#"$@"\{one}""#, "\\<1>"),
        (r#"@$"\{one}""#, "\\<1>"),
        (r#"$"{$"{x}"}""#, "<1>"),
        (r#"$"{d:yyyy-MM-dd HH:mm}""#, "<1:yyyy-MM-dd HH:mm>"),
        ("\"open", "! CS1010"),
        (r#"$"{a""#, "! CS1010"),
        (r#"$"a}""#, "! CS8086"),
        (r#""\q""#, "! CS1009"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn a_raw_string_loses_the_blanks_of_its_last_line() {
    assert_eq!(shown("$\"\"\"\n  a{x}\n   b\n  \"\"\""), "a<1>\n b");
}
