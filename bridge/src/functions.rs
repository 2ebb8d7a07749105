//! Functions by their names in the text of sources, for debuggers without function breakpoints. It knows how
//! declarations look in JavaScript and its relatives, Python, Ruby, Rust, Go and shells, and no more of those
//! languages.

use regex::Regex;

/// The source and the first line of the body of a function, in the first of these sources that declares it.
pub fn find(function: &str, sources: &[String]) -> Option<(String, u64)> {
    let name = regex::escape(function.rsplit(['.', '#', ':']).next().unwrap_or(function));
    let declares = Regex::new(&format!(
        r"(?x) ^\s* (?:
            (?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*{name}\s*(?:<|\()
          | (?:export\s+)?(?:const|let|var)\s+{name}\s*=\s*(?:async\s*)?(?:function|\(|\w+\s*=>)
          | (?:[\w.]+\.)?{name}\s*[=:]\s*(?:async\s*)?(?:function|\(.*\)\s*=>|\w+\s*=>)
          | (?:(?:static|async|public|private|protected|override|get|set)\s+)*[\#*]?{name}\s*\([^;]*\{{\s*$
          | (?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe)\s+)*fn\s+{name}\s*(?:<|\()
          | func\s+(?:\([^)]*\)\s*)?{name}\s*(?:\[|\()
          | (?:async\s+)?def\s+(?:self\.)?{name}\b
          | (?:function\s+)?{name}\s*\(\)\s*\{{?
          | function\s+{name}\b
        )"
    ))
    .ok()?;
    sources.iter().find_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        Some((path.clone(), body(&text, &declares)?))
    })
}

/// The first line with code after the head of a declaration.
fn body(text: &str, declares: &Regex) -> Option<u64> {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| declares.is_match(line))?;
    let is_code = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !["//", "#", "*", "/*", "{"].iter().any(|start| line.starts_with(start))
    };
    // The list of parameters may take several lines.
    let mut open = 0i64;
    for (at, line) in lines.iter().enumerate().skip(head) {
        open += line.matches('(').count() as i64 - line.matches(')').count() as i64;
        let rest = line.rsplit_once('{').map(|(_, rest)| rest.trim()).unwrap_or_default();
        if open <= 0 && !rest.is_empty() && rest != "}" {
            return Some(at as u64 + 1);
        }
        if open <= 0 {
            let next = lines.iter().enumerate().skip(at + 1).find(|(_, line)| is_code(line));
            return next.map(|(next, _)| next as u64 + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_body_is_found_however_it_is_declared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.js").display().to_string();
        let text = "const x = far();\nfunction far(a,\n  b) {\n  // note\n  return 1;\n}\n\
            function near(a) { shelf = a; }\n\
                    class A {\n  deep(a) {\n    work();\n  }\n}\nconst arrow = (a) => {\n  b();\n};\n\
                    far();\n";
        std::fs::write(&path, text).unwrap();
        for (name, line) in [("far", 5), ("near", 7), ("A.deep", 10), ("arrow", 14)] {
            assert_eq!(find(name, std::slice::from_ref(&path)), Some((path.clone(), line)), "{name}");
        }
        assert_eq!(find("gone", &[path]), None);
    }
}
