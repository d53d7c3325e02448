//! The architecture as data: the rooms of `src` and which may use which, and where a foreign crate may be named.
//!
//! Owns the table and nothing else; `edges` judges by it. A change here is a change of the architecture: the page on
//! the layout of `src` changes with it.

/// A top-level module and the others that it may use; [`COMMON`] comes on top for all but [`BARE`].
pub(super) struct Room {
    pub(super) name: &'static str,
    pub(super) may: &'static [&'static str],
}

/// The name under which `src/main.rs` stands in the table.
pub(super) const MAIN: &str = "main";

/// What every room may use.
const COMMON: &[&str] = &["env", "error", "telemetry"];

/// The rooms that get nothing beyond their own line.
const BARE: &[&str] = &["env", "error", "telemetry", MAIN];

pub(super) const ROOMS: &[Room] = &[
    Room { name: "env", may: &[] },
    Room { name: "error", may: &[] },
    Room { name: "telemetry", may: &["env", "error"] },
    Room { name: "flow", may: &[] },
    Room { name: "kinesis", may: &[] },
    Room { name: "api", may: &["flow"] },
    Room { name: "lang", may: &[] },
    Room { name: "dataflow", may: &["lang"] },
    Room { name: "codec", may: &["lang", "dataflow", "flow"] },
    Room { name: "program", may: &["flow", "api", "lang", "dataflow", "codec"] },
    Room { name: "state", may: &["flow", "dataflow"] },
    Room { name: "runtime", may: &["flow", "dataflow", "codec", "state"] },
    Room { name: "coordination", may: &["flow"] },
    Room { name: "source", may: &["flow", "coordination", "codec", "kinesis"] },
    Room { name: "sink", may: &["flow", "runtime", "codec", "kinesis"] },
    Room {
        name: "worker",
        may: &["flow", "api", "lang", "dataflow", "codec", "program", "state", "runtime", "coordination", "kinesis", "source", "sink"],
    },
    Room { name: "operator", may: &["api", "lang", "dataflow", "program", "flow", "coordination"] },
    Room {
        name: "cli",
        may: &[
            "flow",
            "api",
            "lang",
            "dataflow",
            "codec",
            "program",
            "state",
            "runtime",
            "coordination",
            "kinesis",
            "source",
            "sink",
            "worker",
            "operator",
        ],
    },
    Room { name: MAIN, may: &["cli", "error"] },
];

/// A part of a room that may use more than the room.
pub(super) struct Corner {
    pub(super) inside: &'static str,
    pub(super) may: &'static [&'static str],
}

pub(super) const CORNERS: &[Corner] = &[Corner { inside: "coordination::kubernetes", may: &["api"] }];

/// Crates that not every room may name. A name that ends in `*` stands for all that begin so.
pub(super) struct Foreign {
    pub(super) crates: &'static [&'static str],
    pub(super) places: Places,
}

/// The modules in which a foreign crate may be named, or those in which it may not.
pub(super) enum Places {
    Only(&'static [&'static str]),
    AnyBut(&'static [&'static str]),
}

pub(super) const FOREIGN: &[Foreign] = &[
    Foreign {
        crates: &["kube", "kube_client", "kube_core", "kube_derive", "kube_runtime"],
        places: Places::Only(&["api", "coordination::kubernetes", "worker", "operator", "cli"]),
    },
    Foreign { crates: &["aws_*"], places: Places::Only(&["coordination::dynamodb", "kinesis", "worker"]) },
    Foreign { crates: &["k8s_openapi"], places: Places::AnyBut(&["lang", "dataflow", "codec", "flow", "runtime"]) },
    Foreign { crates: &["tokio", "tokio_*"], places: Places::AnyBut(&["lang", "dataflow", "flow"]) },
];

pub(super) fn room(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

/// Whether a module (its path from the crate's root) may use the room `to`.
pub(super) fn may_use(module: &[String], to: &str) -> bool {
    let Some(from) = module.first() else {
        return true;
    };
    let own = room(from).is_some_and(|room| room.may.contains(&to));
    let common = COMMON.contains(&to) && !BARE.contains(&from.as_str());
    let corner = CORNERS.iter().any(|corner| is_inside(module, corner.inside) && corner.may.contains(&to));
    from == to || own || common || corner
}

/// Whether a module may name a foreign crate.
pub(super) fn may_name(module: &[String], foreign: &str) -> bool {
    let matches = |pattern: &&str| matches_name(pattern, foreign);
    FOREIGN.iter().filter(|rule| rule.crates.iter().any(matches)).all(|rule| match rule.places {
        Places::Only(places) => places.iter().any(|place| is_inside(module, place)),
        Places::AnyBut(places) => !places.iter().any(|place| is_inside(module, place)),
    })
}

/// Whether a name is the pattern's, which may end in `*`.
pub(super) fn matches_name(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// Whether a module is the place `a::b` or lies in it.
pub(super) fn is_inside(module: &[String], place: &str) -> bool {
    let mut parts = module.iter();
    place.split("::").all(|part| parts.next().is_some_and(|own| own == part))
}

#[test]
fn the_table_names_rooms_and_closes_no_circle() {
    let mut settled: Vec<&str> = Vec::new();
    for room in ROOMS {
        for used in room.may.iter().chain(if BARE.contains(&room.name) { &[] } else { COMMON }) {
            assert!(settled.contains(used), "`{}` uses `{used}`, which does not stand above it", room.name);
        }
        settled.push(room.name);
    }
    let places = FOREIGN.iter().flat_map(|rule| match rule.places {
        Places::Only(places) | Places::AnyBut(places) => places,
    });
    for place in places.copied().chain(CORNERS.iter().map(|corner| corner.inside)) {
        let first = place.split("::").next().unwrap_or_default();
        assert!(room(first).is_some(), "`{place}` is in no room");
    }
}
