//! The scanner: JSON as bytes, forwards, once.
//!
//! Owns: structure, depth, texts, numbers, words; what is skipped is held against the whole grammar too.
//! May not: make values; `read` does.

use super::Limits;
use super::error::{DecodeError, Fault, cut};
use super::number::{self, Number};
use super::shapes::Shapes;
use super::text::{self, NoEscape};
use crate::dataflow::value::MAX_DEPTH;

/// What a scanner uses and leaves behind: kept from record to record, so that nothing is allocated again.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// The text that was unescaped last.
    pub(super) scratch: String,
    /// Names of structs that were seen.
    pub(super) shapes: Shapes,
    /// Names that stood twice in an object, where the program reads.
    pub(super) duplicates: u64,
}

/// How a value begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Object,
    Array,
    Text,
    Number,
    True,
    False,
    Null,
}

/// A text that was read: as it stands, or unescaped in [`Tools::scratch`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Spelled<'a> {
    Plain(&'a str),
    Escaped,
}

/// A place in a payload.
pub(super) struct Scanner<'a, 't> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// How many more arrays and objects may open.
    depth: u16,
    /// How many more bytes the value being read may take.
    pub(super) left: usize,
    pub(super) limits: &'t Limits,
    pub(super) tools: &'t mut Tools,
}

const SEND_JSON: &str = "send one JSON object";

/// The byte-order mark.
pub(super) const MARK: char = '\u{feff}';

/// A payload as text.
pub(super) fn text_of(payload: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(payload)
        .map_err(|error| syntax("the payload is no UTF-8", "send text in UTF-8; binary encodings are not read", error.valid_up_to()))
}

#[cold]
fn syntax(what: impl Into<std::borrow::Cow<'static, str>>, mend: &'static str, at: usize) -> DecodeError {
    DecodeError::Syntax(Fault::new(what, mend).at(at))
}

impl<'a, 't> Scanner<'a, 't> {
    /// At the beginning, behind the byte-order mark where there is one.
    pub(super) fn new(text: &'a str, limits: &'t Limits, tools: &'t mut Tools) -> Self {
        let at = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
        Self { text, at, depth: limits.depth.min(MAX_DEPTH), left: limits.value_bytes, limits, tools }
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// What begins here, behind blanks.
    #[inline]
    pub(super) fn start(&mut self) -> Result<Start, DecodeError> {
        self.blanks();
        Ok(match self.peek() {
            Some(b'"') => Start::Text,
            Some(b'-' | b'0'..=b'9') => Start::Number,
            Some(b'{') => Start::Object,
            Some(b'[') => Start::Array,
            Some(b't') => Start::True,
            Some(b'f') => Start::False,
            Some(b'n') => Start::Null,
            _ => return Err(self.unexpected("a value")),
        })
    }

    /// Holds that an object begins here, behind blanks.
    pub(super) fn object(&mut self) -> Result<(), DecodeError> {
        self.blanks();
        match self.peek() {
            Some(b'{') => Ok(()),
            Some(_) => Err(syntax(format!("the payload begins with `{}`, and not with an object", self.ahead()), SEND_JSON, self.at)),
            None => Err(syntax("the payload is empty", SEND_JSON, self.at)),
        }
    }

    /// Holds that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), DecodeError> {
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(syntax(
                format!("`{}` follows the value", self.ahead()),
                "send one JSON object in each record, and nothing behind it",
                self.at,
            )),
        }
    }

    /// Steps into an object or array.
    #[inline]
    pub(super) fn open(&mut self) -> Result<(), DecodeError> {
        match self.depth.checked_sub(1) {
            Some(depth) => self.depth = depth,
            None => return Err(self.too_deep()),
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn too_deep(&self) -> DecodeError {
        let most = self.limits.depth.min(MAX_DEPTH);
        let fault = Fault::new(format!("arrays and objects nest more than {most} deep"), "send flatter records");
        DecodeError::Bound(fault.at(self.at))
    }

    fn close(&mut self) {
        self.at += 1;
        self.depth = self.depth.saturating_add(1);
    }

    /// Within an object, behind its brace or a member's value: the name of the next member, whose value stands next; none
    /// at its end, which is stepped over.
    #[inline]
    pub(super) fn member(&mut self, first: bool) -> Result<Option<Spelled<'a>>, DecodeError> {
        self.blanks();
        match self.peek() {
            Some(b'}') => {
                self.close();
                return Ok(None);
            }
            Some(b',') if !first => {
                self.at += 1;
                self.blanks();
            }
            Some(b'"') if first => {}
            _ => return Err(self.unexpected(if first { "a name or `}`" } else { "`,` or `}`" })),
        }
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a name in double quotes"));
        }
        let name = self.spelled()?;
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Within an array, behind its bracket or an element: whether another follows; at its end, which is stepped over, none
    /// does.
    #[inline]
    pub(super) fn element(&mut self, first: bool) -> Result<bool, DecodeError> {
        self.blanks();
        match self.peek() {
            Some(b']') => {
                self.close();
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                Ok(true)
            }
            _ if first => Ok(true),
            _ => Err(self.unexpected("`,` or `]`")),
        }
    }

    /// The text that begins here.
    #[inline]
    pub(super) fn spelled(&mut self) -> Result<Spelled<'a>, DecodeError> {
        let start = self.at + 1;
        let end = text::plain_end(self.text.as_bytes(), start);
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Spelled::Plain(self.text.get(start..end).unwrap_or_default()));
        }
        self.unescape(start)?;
        Ok(Spelled::Escaped)
    }

    fn unescape(&mut self, start: usize) -> Result<(), DecodeError> {
        self.tools.scratch.clear();
        let bytes = self.text.as_bytes();
        self.at = start;
        loop {
            let end = text::plain_end(bytes, self.at);
            self.tools.scratch.push_str(self.text.get(self.at..end).unwrap_or_default());
            self.at = end;
            match bytes.get(end) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => match text::escape(bytes.get(end + 1..).unwrap_or_default()) {
                    Ok((c, used)) => {
                        self.tools.scratch.push(c);
                        self.at += used + 1;
                    }
                    Err(NoEscape::Unknown) => return Err(syntax("a backslash begins no escape", "escape texts as JSON does", end)),
                    Err(NoEscape::Lone) => {
                        return Err(syntax(
                            "half of a surrogate pair stands alone",
                            "send whole characters: the producer cuts texts inside one",
                            end,
                        ));
                    }
                },
                Some(_) => return Err(syntax("a control character stands in a text", "escape it, as \\n or \\u001f", end)),
                None => return Err(self.unexpected("the end of a text")),
            }
        }
    }

    /// What was read last.
    #[inline]
    pub(super) fn str<'s>(&'s self, spelled: Spelled<'a>) -> &'s str
    where
        'a: 's,
    {
        match spelled {
            Spelled::Plain(text) => text,
            Spelled::Escaped => &self.tools.scratch,
        }
    }

    /// The number that begins here.
    #[inline]
    pub(super) fn number(&mut self) -> Result<Number<'a>, DecodeError> {
        match number::scan(self.text, self.at) {
            Ok((number, end)) => {
                self.at = end;
                Ok(number)
            }
            Err(stop) => {
                self.at = stop;
                Err(self.unexpected("a digit"))
            }
        }
    }

    /// The word `true`, `false` or `null` that begins here.
    #[inline]
    pub(super) fn word(&mut self, word: &'static str) -> Result<(), DecodeError> {
        let is = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        if !is {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Steps over the value that begins here.
    #[inline]
    pub(super) fn skip(&mut self) -> Result<(), DecodeError> {
        match self.start()? {
            Start::Text => self.spelled().map(drop),
            Start::Number => self.number().map(drop),
            Start::True => self.word("true"),
            Start::False => self.word("false"),
            Start::Null => self.word("null"),
            Start::Object => self.skip_object(),
            Start::Array => self.skip_array(),
        }
    }

    fn skip_object(&mut self) -> Result<(), DecodeError> {
        self.open()?;
        let mut first = true;
        while self.member(first)?.is_some() {
            self.skip()?;
            first = false;
        }
        Ok(())
    }

    fn skip_array(&mut self) -> Result<(), DecodeError> {
        self.open()?;
        let mut first = true;
        while self.element(first)? {
            self.skip()?;
            first = false;
        }
        Ok(())
    }

    /// What stands here, for a message.
    fn ahead(&self) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        cut(rest, 16).into_owned()
    }

    #[cold]
    fn unexpected(&self, wanted: &str) -> DecodeError {
        let what = match self.peek() {
            None => format!("the payload ends where {wanted} must stand"),
            Some(_) => format!("{wanted} must stand where `{}` does", self.ahead()),
        };
        syntax(what, SEND_JSON, self.at)
    }
}
