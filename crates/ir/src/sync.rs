//! What the ops that communicate between threads carry.

macro_rules! modes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The name in IR text.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|mode| mode.name() == name)
            }
        }
    };
}

modes! {
    /// Who sees memory in the order that `fence` asks for.
    FenceScope {
        Block "block",
        Device "device",
        System "system",
    }
}

modes! {
    /// Which lane `shuffle` reads from.
    ShuffleMode {
        Index "idx",
        Up "up",
        Down "down",
        Xor "xor",
    }
}

modes! {
    /// What `vote` asks of a warp.
    VoteMode {
        All "all",
        Any "any",
        Uniform "uni",
        Ballot "ballot",
    }
}
