//! Commands as a shell takes them.

use std::ffi::OsStr;

/// A command line of these words.
pub(crate) fn command(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let words = words.into_iter().map(|word| quoted(&word.as_ref().to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// A word between single quotes, unless it is plain.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed_again() {
        let words = ["ziggurat", "solve", "--problem", "poisson3d:8", "--rtol=1e-6"];
        assert_eq!(command(words), "ziggurat solve --problem poisson3d:8 --rtol=1e-6");
        assert_eq!(command(["a b", "it's", "", "$HOME;*"]), r"'a b' 'it'\''s' '' '$HOME;*'");
    }

    /// A shell gives back the words that were quoted.
    #[cfg(unix)]
    #[test]
    fn shells_take_them_as_they_were() {
        let words = ["printf", "%s|", "a b", "it's", "", "$HOME;*", "\"<&>\"", "\\n", "~", "ü"];
        let output = std::process::Command::new("sh").arg("-c").arg(command(words)).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), words[2..].join("|") + "|");
    }
}
