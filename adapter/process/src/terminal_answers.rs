//! Answers to what a program asks its terminal: where the cursor is, what the terminal is and can do, its
//! size and colours.
//!
//! A terminal answers by typing. Without an answer many programs wait for ever (.NET's `Console.CursorLeft`,
//! line editors, `vim`). Pure: bytes in, bytes out; [`drain`](super::drain) types them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use vt100::{Callbacks, Parser, Screen};

use super::terminal_size::TerminalSize;

/// Answers that are not typed yet are dropped beyond so many bytes: the program asks and does not read.
const MAX_UNTYPED: usize = 4096;

/// "VT220 with colours", as terminals of the family of `xterm-256color` say it.
const ATTRIBUTES: &str = "\x1b[?62;22c";
/// A terminal with a version and without its own keyboard.
const SECOND_ATTRIBUTES: &str = "\x1b[>1;10;0c";
const THIRD_ATTRIBUTES: &str = "\x1bP!|00000000\x1b\\";
/// The answer to `CSI > q`: name and version.
const NAME: &str = "\x1bP>|Tandem\x1b\\";
/// Colours as OSC 10, 11 and 12 have them: text, background and cursor of a dark terminal.
const COLOURS: [(&[u8], &str); 3] =
    [(b"10", "rgb:cccc/cccc/cccc"), (b"11", "rgb:0000/0000/0000"), (b"12", "rgb:cccc/cccc/cccc")];
/// Modes that are always on (auto wrap), and always off (origin, column, reverse).
const MODES_ON: [u16; 1] = [7];
const MODES_OFF: [u16; 3] = [3, 5, 6];

/// A terminal that takes the output of the program and answers its queries.
pub(super) struct TerminalAnswers(Parser<Queries>);

#[derive(Default)]
struct Queries {
    answers: Vec<u8>,
}

impl std::fmt::Debug for TerminalAnswers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TerminalAnswers").finish_non_exhaustive()
    }
}

impl TerminalAnswers {
    /// The answers of a terminal of this size.
    pub(super) fn new(size: TerminalSize) -> Self {
        Self(Parser::new_with_callbacks(size.rows(), size.columns(), 0, Queries::default()))
    }

    /// The terminal has another size from now on; what it shows stays.
    pub(super) fn resize(&mut self, size: TerminalSize) {
        let screen = self.0.screen_mut();
        let resized = catch_unwind(AssertUnwindSafe(|| screen.set_size(size.rows(), size.columns())));
        if resized.is_err() {
            tracing::warn!("the program's terminal cannot show its output in its new size; it begins again");
            *self = Self::new(size);
        }
    }

    /// Takes what the program printed; a query may be cut anywhere.
    pub(super) fn print(&mut self, bytes: &[u8]) {
        let (rows, columns) = self.0.screen().size();
        let parser = &mut self.0;
        let processed = catch_unwind(AssertUnwindSafe(|| {
            // Ours puts no `\r` before `\n`, as others do: there `\n` begins a line.
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                parser.process(line);
                if line.ends_with(b"\n") {
                    parser.process(b"\r");
                }
            }
        }));
        // No output may end the thread that drains it. The parser is another crate's, and what it holds after
        // a panic is not used.
        if processed.is_err() {
            tracing::warn!(
                "the program's output cannot be shown as a terminal shows it; its cursor begins again"
            );
            self.0 = Parser::new_with_callbacks(rows, columns, 0, Queries::default());
        }
    }

    /// The answers that are still to be typed.
    pub(super) fn untyped(&self) -> &[u8] {
        &self.0.callbacks().answers
    }

    /// So many bytes of it were typed.
    pub(super) fn note_typed(&mut self, count: usize) {
        let answers = &mut self.0.callbacks_mut().answers;
        answers.drain(..count.min(answers.len()));
    }
}

impl Queries {
    fn push_answer(&mut self, text: &str) {
        if self.answers.len() + text.len() <= MAX_UNTYPED {
            self.answers.extend_from_slice(text.as_bytes());
        }
    }
}

impl Callbacks for Queries {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        second: Option<u8>,
        parameters: &[&[u16]],
        last: char,
    ) {
        let number = parameters.first().and_then(|group| group.first()).copied().unwrap_or(0);
        let (row, column) = screen.cursor_position();
        let (row, column) = (row + 1, column + 1);
        match (first, second, last, number) {
            (None, None, 'n', 5) => self.push_answer("\x1b[0n"),
            (None, None, 'n', 6) => self.push_answer(&format!("\x1b[{row};{column}R")),
            (Some(b'?'), None, 'n', 6) => self.push_answer(&format!("\x1b[?{row};{column}R")),
            (None, None, 'c', 0) => self.push_answer(ATTRIBUTES),
            (Some(b'>'), None, 'c', 0) => self.push_answer(SECOND_ATTRIBUTES),
            (Some(b'='), None, 'c', 0) => self.push_answer(THIRD_ATTRIBUTES),
            (Some(b'>'), None, 'q', 0) => self.push_answer(NAME),
            (None, None, 't', 18) => {
                let (rows, columns) = screen.size();
                self.push_answer(&format!("\x1b[8;{rows};{columns}t"));
            }
            // The keyboard protocol of kitty: none of its flags is set.
            (Some(b'?'), None, 'u', _) => self.push_answer("\x1b[?0u"),
            (Some(b'?'), Some(b'$'), 'p', mode) => {
                let state = state_of(screen, mode);
                self.push_answer(&format!("\x1b[?{mode};{state}$y"));
            }
            (Some(b'$'), None, 'p', mode) => self.push_answer(&format!("\x1b[{mode};0$y")),
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut Screen, parameters: &[&[u8]]) {
        if let [number, b"?"] = parameters
            && let Some((number, colour)) = COLOURS.iter().find(|(known, _)| known == number)
        {
            let number = String::from_utf8_lossy(number);
            self.push_answer(&format!("\x1b]{number};{colour}\x1b\\"));
        }
    }
}

/// Of a private mode, as DECRPM has it: 0 not known, 1 set, 2 reset, 3 always set, 4 always reset.
fn state_of(screen: &Screen, mode: u16) -> u8 {
    let set = match mode {
        1 => screen.application_cursor(),
        25 => !screen.hide_cursor(),
        47 | 1047 | 1049 => screen.alternate_screen(),
        2004 => screen.bracketed_paste(),
        _ if MODES_ON.contains(&mode) => return 3,
        _ if MODES_OFF.contains(&mode) => return 4,
        _ => return 0,
    };
    if set { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers_of(pieces: &[&[u8]]) -> String {
        let mut terminal = TerminalAnswers::new(TerminalSize::default());
        for piece in pieces {
            terminal.print(piece);
        }
        String::from_utf8(terminal.untyped().to_vec()).unwrap()
    }

    #[test]
    fn each_query_has_its_answer_and_other_output_has_none() {
        for (query, answer) in [
            ("\x1b[5n", "\x1b[0n"),
            ("Hello\x1b[6n", "\x1b[1;6R"),
            ("a\nb\x1b[6n", "\x1b[2;2R"),
            ("\x1b[12;34H\x1b[?6n", "\x1b[?12;34R"),
            ("\x1b[999;999H\x1b[6n", "\x1b[40;120R"),
            ("\x1b[c", "\x1b[?62;22c"),
            ("\x1b[0c", "\x1b[?62;22c"),
            ("\x1b[>c", "\x1b[>1;10;0c"),
            ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
            ("\x1b[>0q", "\x1bP>|Tandem\x1b\\"),
            ("\x1b[18t", "\x1b[8;40;120t"),
            ("\x1b[?u", "\x1b[?0u"),
            ("\x1b]10;?\x07", "\x1b]10;rgb:cccc/cccc/cccc\x1b\\"),
            ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
            ("\x1b[?2004$p", "\x1b[?2004;2$y"),
            ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
            ("\x1b[?25$p", "\x1b[?25;1$y"),
            ("\x1b[?7$p", "\x1b[?7;3$y"),
            ("\x1b[?2026$p", "\x1b[?2026;0$y"),
            ("\x1b[4$p", "\x1b[4;0$y"),
            ("plain \x1b[31mred\x1b[0m\n\x1b[2J\x1b[1;2R\x1b]0;title\x07\x1b]11;red\x07\x1b[8;9;9t", ""),
        ] {
            assert_eq!(answers_of(&[query.as_bytes()]), answer, "{query:?}");
        }
    }

    fn size(columns: u16, rows: u16) -> TerminalSize {
        TerminalSize::parse(&serde_json::json!({ "columns": columns, "rows": rows })).unwrap()
    }

    #[test]
    fn answers_follow_the_size_of_the_terminal() {
        let mut terminal = TerminalAnswers::new(TerminalSize::default());
        terminal.print(b"\x1b[39;100Hx");
        for (columns, rows, answer) in [
            (80, 24, "\x1b[8;24;80t\x1b[24;80R"),
            (1, 1, "\x1b[8;1;1t\x1b[1;1R"),
            (200, 60, "\x1b[8;60;200t\x1b[60;200R"),
        ] {
            terminal.resize(size(columns, rows));
            terminal.print(b"\x1b[18t\x1b[999;999H\x1b[6n");
            assert_eq!(String::from_utf8_lossy(terminal.untyped()), answer);
            terminal.note_typed(usize::MAX);
        }
    }

    #[test]
    fn a_query_may_be_cut_anywhere() {
        let whole = b"x\x1b[6n\x1b]11;?\x1b\\\x1b[?1049$p\x1b[c";
        let expected = answers_of(&[whole]);
        assert!(expected.starts_with("\x1b[1;2R\x1b]11;"), "{expected:?}");
        for cut in 0..whole.len() {
            let (before, behind) = whole.split_at(cut);
            assert_eq!(answers_of(&[before, behind]), expected, "at {cut}");
        }
    }

    #[test]
    fn a_program_that_asks_and_does_not_read_gets_a_bounded_answer() {
        let mut terminal = TerminalAnswers::new(TerminalSize::default());
        for _ in 0..10_000 {
            terminal.print(b"\x1b[6n");
        }
        assert!(terminal.untyped().len() <= MAX_UNTYPED);
        let whole = terminal.untyped().len();
        terminal.note_typed(6);
        assert_eq!(terminal.untyped().len(), whole - 6);
        assert!(terminal.untyped().starts_with(b"\x1b[1;1R"));
        terminal.note_typed(usize::MAX);
        assert!(terminal.untyped().is_empty());
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut terminal = TerminalAnswers::new(TerminalSize::default());
        let pieces = [
            "\x1b[", "\x1b[?", "\x1b]", "65535", "0", "7", ";", "A", "B", "C", "D", "H", "L", "M", "P", "S",
            "T", "X", "@", "J", "K", "r", "h", "l", "m", "n", "x", "\u{4e2d}", "\u{301}", "\n", "\r", "\t",
            "\x08", "\x1bM", "\x1b7", "\x1b8", "\x1bc", "47", "1049", "6", "\x1b\\", "\u{7f}", "\u{fffd}",
        ];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let piece = usize::try_from(state >> 40).unwrap() % pieces.len();
            terminal.print(pieces[piece].as_bytes());
        }
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(5000).collect();
        terminal.print(&bytes);
        // Output that the parser cannot take: it panics where a wide character meets a single column.
        let mut narrow = TerminalAnswers::new(size(1, 1));
        narrow.print("\u{4e2d}".as_bytes());
        narrow.print(b"\x1b[5n");
        assert_eq!(narrow.untyped(), b"\x1b[0n");
        terminal.print(b"\x1b[65535;65535H\x1b[6n\x1b[99999999999999999999n\x1b[;;;;;;;;;;6n\x1b[?\x1b[6");
        terminal.print(b"n");
    }
}
