//! Texts of the framework's own types, from their fields: nothing runs. Supports each runtime since .NET Core
//! 3.1; if their fields differ, both names are tried. Numbers: [`super::numbers`]; types and members:
//! [`super::reflection`]; other types have displays ([`super::displays`]).

use std::net::{Ipv4Addr, Ipv6Addr};

use cordebug::value::Value as ClrValue;

use super::formatted_value::shown_text;
use super::numbers::{big_integer, half, wide};
use super::primitive::{DAY, date, date_time, guid, rune, time_of_day, time_span};
use super::synthetic_children::NAMES;
use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::typed_value::{Constant, Format};
use crate::types::ClrTypeSystem;

/// Classes whose text is in a field, with that field. It is shown in braces, like a `ToString`.
const SAID: [(&str, &str); 7] = [
    ("System.Uri", "_string"),
    ("System.IO.FileSystemInfo", "OriginalPath"),
    ("System.Globalization.CultureInfo", "_name"),
    ("System.Text.RegularExpressions.Regex", "pattern"),
    ("System.Xml.Linq.XText", "text"),
    ("System.Net.Http.HttpMethod", "_method"),
    ("System.TimeZoneInfo", "_displayName"),
];
/// Most attributes of an XML element in its row.
const MAX_ATTRIBUTES: usize = 16;
/// Longest text of which a part is read, UTF-16 units.
const MAX_WHOLE_LEN: u32 = 1 << 20;
/// Longest BigInteger that is read, words.
const MAX_WORDS: u32 = 1 << 16;

/// States of a Task, by the bits of its state field; the first bit that is set decides.
const TASK_STATES: [(u32, &str); 7] = [
    (0x20_0000, "Faulted"),
    (0x40_0000, "Canceled"),
    (0x100_0000, "RanToCompletion"),
    (0x80_0000, "WaitingForChildrenToComplete"),
    (0x2_0000, "Running"),
    (0x1_0000, "WaitingToRun"),
    (0x200_0000, "WaitingForActivation"),
];

impl ClrTypeSystem {
    /// The text of a framework struct.
    pub(super) fn struct_text(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        name: &str,
        format: &Format,
    ) -> Option<String> {
        let bytes = || value.bytes().ok();
        let word = || bytes()?.get(..4)?.try_into().ok().map(i32::from_le_bytes);
        let long = || bytes()?.get(..8)?.try_into().ok().map(i64::from_le_bytes);
        match name {
            "System.DateTime" => date_time(&bytes()?),
            "System.TimeSpan" => time_span(&bytes()?),
            "System.Guid" => guid(&bytes()?),
            "System.DateTimeOffset" => self.date_time_offset(value),
            "System.DateOnly" => date(i64::from(word()?) * DAY),
            "System.TimeOnly" => Some(time_of_day(long()?)),
            "System.Int128" => wide(&bytes()?, true, format.hex),
            "System.UInt128" => wide(&bytes()?, false, format.hex),
            "System.Half" => Some(half(bytes()?.get(..2)?.try_into().ok().map(u16::from_le_bytes)?)),
            "System.Numerics.BigInteger" => self.big_integer(debuggee, value, format),
            "System.Numerics.Complex" => {
                let part = |field| Some(self.constant_of(&self.field_named(value, field)?)?.invariant_text());
                Some(format!("<{}; {}>", part("m_real")?, part("m_imaginary")?))
            }
            "System.Index" => word().map(index),
            "System.Range" => {
                let part = |field| Some(index(self.number_field(value, field)? as i32));
                Some(format!("{}..{}", part("Start")?, part("End")?))
            }
            "System.Text.Rune" => rune(word()? as u32),
            "System.Memory`1" | "System.ReadOnlyMemory`1" => {
                let text = bare(&self.field_named(value, "_object")?)?;
                let part = self.part_of(&text, (value, "_index", "_length"))?;
                Some(shown_text(part, self.number_field(value, "_length")?, format))
            }
            _ => None,
        }
    }

    /// The text of an object of a framework class, or of a derived one.
    pub(super) fn class_text(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        name: &str,
        format: &Format,
        deeper: usize,
    ) -> Option<String> {
        if let Some((_, field)) = SAID.iter().find(|(class, _)| *class == name) {
            let text = self.text_field(value, field).filter(|text| !text.is_empty())?;
            return Some(format!("{{{text}}}"));
        }
        match name {
            "System.Text.StringBuilder" => self.built_text(debuggee, value, format),
            "System.Version" => {
                let part = |field| self.number_field(value, field).map(|part| part as i32);
                let parts = [part("_Major")?, part("_Minor")?, part("_Build")?, part("_Revision")?];
                let parts = parts.iter().take_while(|part| **part >= 0).map(i32::to_string);
                Some(format!("{{{}}}", parts.collect::<Vec<_>>().join(".")))
            }
            "System.Text.RegularExpressions.Capture" => {
                let (from, length) =
                    (self.number_field(value, "Index")?, self.number_field(value, "Length")?);
                let text = bare(&self.field_named(value, "Text")?)?;
                let units =
                    text.as_string()?.units(from.checked_add(length)?.min(super::MAX_TEXT_LEN)).ok()?;
                Some(format!("{{{}}}", String::from_utf16_lossy(units.get(from as usize..)?)))
            }
            "System.Net.IPAddress" => Some(format!("{{{}}}", self.ip_address(debuggee, value)?)),
            "System.Net.IPEndPoint" => {
                let address = self.ip_address(debuggee, &bare(&self.field_named(value, "_address")?)?)?;
                let address = if address.contains(':') { format!("[{address}]") } else { address };
                Some(format!("{{{address}:{}}}", self.number_field(value, "_port")?))
            }
            "System.Xml.Linq.XElement" => self.xml_element(value).map(|text| format!("{{{text}}}")),
            "System.Xml.Linq.XAttribute" => self.xml_attribute(value).map(|text| format!("{{{text}}}")),
            "System.Text.Json.Nodes.JsonValue`1" if deeper > 0 => {
                Some(self.show_as(debuggee, &self.field_named(value, "Value")?, format, deeper - 1).text)
            }
            NAMES if self.is_names(&self.declared_ty(value)) => {
                self.count_items(value, name).map(|items| format!("Count = {items}"))
            }
            "System.Threading.Tasks.Task" => self.task(debuggee, value, format, deeper),
            _ => self.member_text(debuggee, value, name),
        }
    }

    fn big_integer(&self, debuggee: &ClrDebuggee, value: &ClrValue, format: &Format) -> Option<String> {
        let sign = self.number_field(value, "_sign")? as i32;
        let Some(bits) = bare(&self.field_named(value, "_bits")?) else {
            return Some(big_integer(sign, &[], format.hex));
        };
        let array = bits.as_array()?;
        let first = array.element(0).ok()?;
        let words = array.count().ok()?.checked_mul(first.size().ok()? / 4)?;
        (words <= MAX_WORDS).then_some(())?;
        let bytes = debuggee.process().ok()?.read_memory(first.address().ok()?, words * 4).ok()?;
        let word = |four: &[u8]| four.try_into().map_or(0, u32::from_le_bytes);
        let words: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
        Some(big_integer(sign, &words, format.hex))
    }

    /// System.Net.IPAddress: four bytes, or eight numbers and the scope's id.
    fn ip_address(&self, debuggee: &ClrDebuggee, value: &ClrValue) -> Option<String> {
        let address = self.number_field(value, "_addressOrScopeId")?;
        let Some(numbers) = bare(&self.field_named(value, "_numbers")?) else {
            return Some(Ipv4Addr::from(address.to_le_bytes()).to_string());
        };
        let array = numbers.as_array()?;
        (array.count().ok()? == 8).then_some(())?;
        let bytes = debuggee.process().ok()?.read_memory(array.element(0).ok()?.address().ok()?, 16).ok()?;
        let number = |two: &[u8]| two.try_into().map_or(0, u16::from_le_bytes);
        let numbers: Vec<u16> = bytes.chunks_exact(2).map(number).collect();
        let text = Ipv6Addr::from(<[u16; 8]>::try_from(numbers).ok()?).to_string();
        Some(if address == 0 { text } else { format!("{text}%{address}") })
    }

    /// A task's status and result. Its `Id` is left out: reading it would create one.
    fn task(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        format: &Format,
        deeper: usize,
    ) -> Option<String> {
        let state = self.number_field(value, "m_stateFlags")?;
        let status = TASK_STATES.iter().find(|(bit, _)| state & bit != 0).map_or("Created", |(_, name)| name);
        let result =
            self.field_named(value, "m_result").filter(|_| status == "RanToCompletion" && deeper > 0);
        let result = result.map(|result| self.show_as(debuggee, &result, format, deeper - 1));
        Some(match result.filter(|result| result.kind != "System.Threading.Tasks.VoidTaskResult") {
            Some(result) => format!("Status = {status}, Result = {}", result.text),
            None => format!("Status = {status}"),
        })
    }

    /// A substring, by the fields of a value with its offset and length.
    fn part_of(&self, text: &ClrValue, (value, from, length): (&ClrValue, &str, &str)) -> Option<String> {
        let from = self.number_field(value, from)? & super::item_layout::INDEX_MASK;
        let length = self.number_field(value, length)?.min(super::MAX_TEXT_LEN);
        let text = text.as_string()?;
        let units = text.units(from.checked_add(length)?.min(MAX_WHOLE_LEN)).ok()?;
        Some(String::from_utf16_lossy(units.get(from as usize..)?))
    }

    /// System.DateTimeOffset: a time in UTC, and the offset from it.
    fn date_time_offset(&self, value: &ClrValue) -> Option<String> {
        let time = self.field_named(value, "_dateTime").or_else(|| self.field_named(value, "m_dateTime"))?;
        let minutes = self
            .field_named(value, "_offsetMinutes")
            .or_else(|| self.field_named(value, "m_offsetMinutes"))?;
        let minutes = match self.constant_of(&minutes)? {
            Constant::Int(_, minutes) => minutes as i64,
            _ => return None,
        };
        let ticks = time.bytes().ok()?.get(..8)?.try_into().ok().map(i64::from_le_bytes)?;
        let local = (ticks & 0x3fff_ffff_ffff_ffff) + minutes * 600_000_000;
        let sign = if minutes < 0 { '-' } else { '+' };
        let text = date_time(&local.to_le_bytes())?;
        Some(format!("{text} {sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60))
    }

    /// `<item id="1">text</item>`; inner elements are an ellipsis.
    fn xml_element(&self, value: &ClrValue) -> Option<String> {
        let name = self.xml_name(value)?;
        let mut tag = format!("<{name}");
        // Attributes are a ring; the last one refers to the first.
        if let Some(last) = bare(&self.field_named(value, "lastAttr")?) {
            let mut at = last.clone();
            for _ in 0..MAX_ATTRIBUTES {
                at = bare(&self.field_named(&at, "next")?)?;
                tag.push_str(&format!(" {}", self.xml_attribute(&at)?));
                if at.address().ok()? == last.address().ok()? {
                    break;
                }
            }
        }
        let Some(content) = bare(&self.field_named(value, "content")?) else {
            return Some(format!("{tag} />"));
        };
        let text = match content.as_string() {
            Some(text) => shown_text(
                text.text(super::MAX_TEXT_LEN).ok()?,
                text.length().ok()?,
                &Format { bare: true, ..Format::default() },
            ),
            None => "…".into(),
        };
        Some(format!("{tag}>{text}</{name}>"))
    }

    fn xml_attribute(&self, value: &ClrValue) -> Option<String> {
        Some(format!("{}=\"{}\"", self.xml_name(value)?, self.text_field(value, "value")?))
    }

    fn xml_name(&self, value: &ClrValue) -> Option<String> {
        self.text_field(&self.field_named(value, "name")?, "_localName")
    }
}

/// System.Index: `^1` is the last.
fn index(value: i32) -> String {
    if value < 0 { format!("^{}", !value) } else { value.to_string() }
}
