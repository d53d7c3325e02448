//! A tree of files as text: the repository's, or a fixture's.
//!
//! Owns what is read and what is left out: what is built, what Git ignores by a plain line in `.gitignore`, what is not
//! text, and, among Rust files, the fixtures of other tests. It judges nothing.

use std::path::Path;
use std::{fs, io};

use walkdir::WalkDir;

use super::tokens::{self, Token};

/// Never part of the repository, whatever `.gitignore` says.
const NEVER: [&str; 3] = [".git", "target", "node_modules"];

/// Longer than any text that a person writes: data is not read.
const LONGEST: u64 = 8 << 20;

/// One file; a Rust file with its tokens, or with the line and the reason why it has none.
#[derive(Debug)]
pub(super) struct File {
    /// From the root of the tree, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) tokens: Result<Vec<Token>, (usize, String)>,
}

impl File {
    pub(super) fn new(path: String, text: String) -> Self {
        let rust = is_rust(&path);
        let tokens = if rust { tokens::read(&text) } else { Ok(Vec::new()) };
        Self { path, text, tokens }
    }

    /// The tokens, none where the file could not be read (`manners` says so).
    pub(super) fn tokens(&self) -> &[Token] {
        self.tokens.as_deref().unwrap_or_default()
    }

    pub(super) fn is_under(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    pub(super) fn is_fixture(&self) -> bool {
        is_fixture(&self.path)
    }
}

fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| part == "fixtures")
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "rs") && !is_fixture(path)
}

/// The files of a tree in the order of their paths.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: Vec<File>,
}

impl Tree {
    pub(super) fn of_files(mut files: Vec<File>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// Reads a folder. A file that goes away meanwhile is left out.
    pub(super) fn of_folder(root: &Path) -> io::Result<Self> {
        let ignored = ignored(root);
        let mut files = Vec::new();
        let walk = WalkDir::new(root).into_iter().filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            let path = relative(root, entry.path());
            entry.depth() == 0 || !(NEVER.contains(&name.as_ref()) || ignored.iter().any(|one| *one == name || *one == path))
        });
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => continue,
                Err(error) => return Err(error.into()),
            };
            let is_read = entry.file_type().is_file() && entry.metadata().is_ok_and(|data| data.len() <= LONGEST);
            if !is_read {
                continue;
            }
            match fs::read_to_string(entry.path()) {
                Ok(text) => files.push(File::new(relative(root, entry.path()), text)),
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self::of_files(files))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files under these folders.
    pub(super) fn rust<'t>(&'t self, folders: &'t [&str]) -> impl Iterator<Item = &'t File> {
        self.files.iter().filter(|file| is_rust(&file.path) && folders.iter().any(|folder| file.is_under(folder)))
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
}

/// The plain lines of the root's `.gitignore`; patterns and exceptions are not understood and leave nothing out.
fn ignored(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.contains(['*', '?', '[', '!', '#']));
    lines.map(|line| line.trim_matches('/').to_owned()).collect()
}

#[test]
fn the_walk_leaves_out_what_is_built_ignored_or_not_text() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    for (path, bytes) in [
        ("src/lib.rs", b"//! Read.".as_slice()),
        (".ci/run", b"read"),
        (".gitignore", b"# a remark\n/cache/\n*.log\n"),
        ("cache/x.rs", b"ignored"),
        ("target/debug/x.rs", b"built"),
        ("bed/node_modules/x.js", b"fetched"),
        ("logo.png", b"\xff\xfe\x00"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, bytes)?;
    }
    let tree = Tree::of_folder(root)?;
    let read: Vec<&str> = tree.files().map(|file| file.path.as_str()).collect();
    assert_eq!(read, [".ci/run", ".gitignore", "src/lib.rs"]);
    Ok(())
}

#[test]
fn fixtures_are_text_and_no_source() {
    let tree = Tree::of_files(vec![
        File::new("tests/local/fixtures/broken.rs".into(), "fn (".into()),
        File::new("tests/local/main.rs".into(), "fn main() {}".into()),
        File::new("testsuite/main.rs".into(), String::new()),
    ]);
    let rust: Vec<&str> = tree.rust(&["tests"]).map(|file| file.path.as_str()).collect();
    assert_eq!(rust, ["tests/local/main.rs"]);
}
