//! Choices that have a name: in options, configuration files, reports and error messages alike.
//!
//! [`choice!`](crate::choice!) defines an enum whose variants have a name, aliases and a one-line
//! description, and [`Choice`] lists them for whoever offers the choice: the configuration, the
//! command line and its completions, Python.

use std::str::FromStr;

use crate::UnknownName;

/// An enum of named values. The first one is the default.
///
/// ```
/// use ziggurat_sparse::{Choice, choice};
/// choice! {
///     /// The colour of a level.
///     Colour, "colour":
///     /// Chosen by the matrix.
///     Auto = "auto",
///     /// Dark blue.
///     Blue = "blue" | "navy",
/// }
/// assert_eq!("navy".parse(), Ok(Colour::Blue));
/// assert_eq!((Colour::default(), Colour::Blue.about()), (Colour::Auto, "Dark blue."));
/// let error = "bleu".parse::<Colour>().unwrap_err().to_string();
/// assert!(error.contains("did you mean `blue`?"), "{error}");
/// ```
pub trait Choice: Copy + FromStr<Err = UnknownName> + PartialEq + Send + Sync + 'static {
    /// The term for such a choice in error messages.
    const WHAT: &'static str;

    /// All values.
    const ALL: &'static [Self];

    /// The name in options, files and reports.
    fn name(self) -> &'static str;

    /// Other names that are understood.
    fn aliases(self) -> &'static [&'static str];

    /// A description in one line.
    fn about(self) -> &'static str;

    /// The value of this name or alias.
    ///
    /// # Errors
    /// If there is none; the error suggests the nearest.
    fn named(name: &str) -> Result<Self, UnknownName> {
        let is_named = |choice: &&Self| choice.name() == name || choice.aliases().contains(&name);
        let found = Self::ALL.iter().find(is_named).copied();
        found.ok_or_else(|| UnknownName::new(Self::WHAT, name, Self::ALL.iter().map(|choice| choice.name())))
    }
}

/// Defines an enum that is a [`Choice`](crate::Choice), with serde's traits: a value is its name.
/// The calling crate depends on serde. The one-line description of a value is its documentation.
#[macro_export]
macro_rules! choice {
    (
        $(#[$of_choice:meta])* $choice:ident, $what:literal:
        $(#[doc = $about:literal] $(#[$of:meta])* $variant:ident = $name:literal $(| $alias:literal)*,)+
    ) => {
        $(#[$of_choice])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "&'static str")]
        #[non_exhaustive]
        pub enum $choice {
            $(#[doc = $about] $(#[$of])* $variant,)+
        }

        impl $crate::Choice for $choice {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$($choice::$variant),+];

            fn name(self) -> &'static str {
                $choice::name(self)
            }

            fn aliases(self) -> &'static [&'static str] {
                match self {
                    $($choice::$variant => &[$($alias),*],)+
                }
            }

            fn about(self) -> &'static str {
                match self {
                    $($choice::$variant => $about.trim_ascii(),)+
                }
            }
        }

        impl $choice {
            /// All values; the first is the default.
            pub const ALL: &'static [$choice] = &[$($choice::$variant),+];

            /// The name in options, files and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($choice::$variant => $name,)+
                }
            }
        }

        impl Default for $choice {
            fn default() -> Self {
                $choice::ALL[0]
            }
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> Result<Self, $crate::UnknownName> {
                <$choice as $crate::Choice>::named(name)
            }
        }

        impl TryFrom<String> for $choice {
            type Error = $crate::UnknownName;

            fn try_from(name: String) -> Result<Self, $crate::UnknownName> {
                name.parse()
            }
        }

        impl From<$choice> for &'static str {
            fn from(choice: $choice) -> &'static str {
                choice.name()
            }
        }
    };
}
