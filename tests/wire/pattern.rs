//! The patterns of the vectors: JSON that a message must contain, with variables.

use std::collections::BTreeMap;

use serde_json::Value;

pub type Variables = BTreeMap<String, Value>;

/// The name in `"$name"`. A method such as `$/cancelRequest` is no variable.
fn variable(text: &str) -> Option<&str> {
    text.strip_prefix('$').filter(|name| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric()))
}

/// The one operator in `{"$operator": argument}`.
fn operator(pattern: &Value) -> Option<(&str, &Value)> {
    let object = pattern.as_object().filter(|object| object.len() == 1)?;
    let (name, argument) = object.iter().next()?;
    name.strip_prefix('$').filter(|name| !name.starts_with('/')).map(|name| (name, argument))
}

/// Puts the values of variables where their names stand.
pub fn fill_in(value: &Value, variables: &Variables) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match variable(text) {
            Some(name) => variables.get(name).cloned().ok_or_else(|| format!("the vector uses ${name} before anything set it"))?,
            None => value.clone(),
        },
        Value::Array(items) => Value::Array(items.iter().map(|item| fill_in(item, variables)).collect::<Result<_, _>>()?),
        Value::Object(fields) => {
            let filled = fields.iter().map(|(name, field)| Ok((name.clone(), fill_in(field, variables)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// A time as protocol 3 writes it: `2026-01-01T00:00:00.000Z`.
fn is_iso(text: &str) -> bool {
    let shape: String = text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    shape == "0000-00-00T00:00:00.000Z"
}

/// Whether `actual` has everything that `pattern` asks for; otherwise where it differs.
pub fn fits(pattern: &Value, actual: &Value, variables: &mut Variables) -> Result<(), String> {
    fits_at("", pattern, actual, variables)
}

fn fits_at(path: &str, pattern: &Value, actual: &Value, variables: &mut Variables) -> Result<(), String> {
    let differs = |what: String| Err(format!("at {}: {what}", if path.is_empty() { "the top" } else { path }));
    if let Some((name, argument)) = operator(pattern) {
        return match name {
            "any" => Ok(()),
            "integer" if actual.is_i64() || actual.is_u64() => Ok(()),
            "contains" if actual.as_str().zip(argument.as_str()).is_some_and(|(text, part)| text.contains(part)) => Ok(()),
            "exactly" => {
                let wanted = fill_in(argument, variables)?;
                if wanted == *actual { Ok(()) } else { differs(format!("expected exactly {wanted}, got {actual}")) }
            }
            "iso" if actual.as_str().is_some_and(is_iso) => Ok(()),
            "integer" | "contains" | "iso" => differs(format!("expected {pattern}, got {actual}")),
            _ => differs(format!("the vector has an unknown operator ${name}")),
        };
    }
    match (pattern, actual) {
        (Value::String(text), _) if variable(text).is_some() => {
            let name = variable(text).unwrap_or_default();
            match variables.get(name) {
                Some(bound) if bound == actual => Ok(()),
                Some(bound) => differs(format!("${name} is {bound}, got {actual}")),
                None => {
                    variables.insert(name.to_owned(), actual.clone());
                    Ok(())
                }
            }
        }
        (Value::Object(wanted), Value::Object(got)) => {
            for (name, field) in wanted {
                let inner = format!("{path}.{name}");
                match (operator(field), got.get(name)) {
                    (Some(("absent", _)), None) => {}
                    (Some(("absent", _)), Some(value)) => return Err(format!("at {inner}: expected no such field, got {value}")),
                    (_, Some(value)) => fits_at(&inner, field, value, variables)?,
                    (_, None) => return Err(format!("at {inner}: expected {field}, but there is no such field")),
                }
            }
            Ok(())
        }
        (Value::Array(wanted), Value::Array(got)) => {
            if wanted.len() != got.len() {
                return differs(format!("expected {} items, got {}: {actual}", wanted.len(), got.len()));
            }
            wanted.iter().zip(got).enumerate().try_for_each(|(at, (item, value))| fits_at(&format!("{path}[{at}]"), item, value, variables))
        }
        _ if pattern == actual => Ok(()),
        _ => differs(format!("expected {pattern}, got {actual}")),
    }
}
