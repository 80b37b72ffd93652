//! A value in a JSON file that knows its path, so that an error can say where it stands.
//!
//! Reading into a structure with serde is shorter, but its errors know a line and a column, not
//! the field, the value and what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::input::{BadInput, shortened};

/// A value and its place.
pub(crate) struct Node<'a> {
    file: &'a str,
    path: String,
    value: &'a Value,
}

impl<'a> Node<'a> {
    pub(crate) fn root(file: &'a str, value: &'a Value) -> Node<'a> {
        Node { file, path: String::new(), value }
    }

    pub(crate) fn error(&self, value: &str, allowed: String) -> BadInput {
        let whole = self.path.is_empty();
        let place = if whole { "the whole file".to_owned() } else { self.path.clone() };
        BadInput::value(self.file, place, value, allowed)
    }

    /// Refuses fields that are not among `known`: a misspelt one would be left out silently.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), BadInput> {
        let Value::Object(fields) = self.value else {
            return Err(self.wrong("an object"));
        };
        match fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, value)) => {
                let unknown = self.below(name, value);
                Err(unknown.error(&value.to_string(), format!("only {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Node<'a>>, BadInput> {
        match self.value {
            Value::Object(fields) => Ok(fields.get(name).map(|value| self.below(name, value))),
            _ => Err(self.wrong("an object")),
        }
    }

    pub(crate) fn needed(&self, name: &str) -> Result<Node<'a>, BadInput> {
        let missing = || {
            let node = self.below(name, &Value::Null);
            node.error("nothing", "a value (the field is needed)".to_owned())
        };
        self.get(name)?.ok_or_else(missing)
    }

    pub(crate) fn items(&self) -> Result<Vec<Node<'a>>, BadInput> {
        match self.value {
            Value::Array(items) if !items.is_empty() => {
                let item = |(index, value)| Node {
                    file: self.file,
                    path: format!("{}[{index}]", self.path),
                    value,
                };
                Ok(items.iter().enumerate().map(item).collect())
            }
            _ => Err(self.wrong("a list of at least one")),
        }
    }

    pub(crate) fn text(&self) -> Result<String, BadInput> {
        // It becomes a value in a recording, which is a line that is read without its blanks.
        let plain = |text: &&str| text.trim() == *text && !text.contains(char::is_control);
        let text = self.value.as_str().filter(|text| !text.is_empty()).filter(plain);
        let allowed = "a text that is not empty, without control characters or blanks around it";
        text.map(str::to_owned).ok_or_else(|| self.wrong(allowed))
    }

    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, BadInput> {
        let (from, to) = (range.start(), range.end());
        let whole = self.value.as_u64().filter(|whole| range.contains(whole));
        whole.ok_or_else(|| self.wrong(format!("a whole number from {from} to {to}")))
    }

    pub(crate) fn whole_or(
        &self,
        name: &str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, BadInput> {
        self.get(name)?.map_or(Ok(default), |node| node.whole(range))
    }

    pub(crate) fn number(&self, from: f64, to: f64) -> Result<f64, BadInput> {
        let number = self.value.as_f64().filter(|number| (from..=to).contains(number));
        number.ok_or_else(|| self.wrong(format!("a number from {from} to {to}")))
    }

    /// Two whole numbers, the second not below the first.
    pub(crate) fn span(&self, range: RangeInclusive<u64>) -> Result<(u64, u64), BadInput> {
        let (from, to) = (range.start(), range.end());
        let allowed = || format!("two whole numbers in order, from {from} to {to}");
        let items = self.value.as_array().map(Vec::as_slice);
        let span = match items {
            Some([first, second]) => first.as_u64().zip(second.as_u64()),
            _ => None,
        };
        span.filter(|(first, second)| from <= first && first <= second && second <= to)
            .ok_or_else(|| self.wrong(allowed()))
    }

    fn below<'b>(&self, name: &str, value: &'b Value) -> Node<'b>
    where
        'a: 'b,
    {
        let dot = if self.path.is_empty() { "" } else { "." };
        // A name is whatever the file says, and the error that shows it is one line.
        let name = if name.is_empty() { "\"\"".to_owned() } else { shown(name) };
        let path = format!("{}{dot}{name}", self.path);
        Node { file: self.file, path, value }
    }

    fn wrong(&self, allowed: impl Display) -> BadInput {
        self.error(&self.value.to_string(), allowed.to_string())
    }
}

fn shown(name: &str) -> String {
    shortened(name).escape_debug().to_string()
}
