//! Line breaking: groups go on one line where they fit.

/// Lines are at most this long, where breaking helps.
const WIDTH: usize = 100;
/// One step of indentation.
const STEP: usize = 4;

/// A step of the layout.
#[derive(Clone, Debug)]
pub(super) enum Step<'text> {
    /// A token or comment.
    Text(&'text str),
    /// A blank, unless one or the start of a line is there.
    Space,
    /// A line break where the group is broken, else a blank.
    Line,
    /// A line break where the group is broken, else nothing.
    Soft,
    /// A line break.
    Hard,
    /// An empty line.
    Blank,
    /// A group: broken as a whole, or not.
    Begin,
    /// Its end.
    End,
    /// Further in from the next line on.
    Indent,
    /// Back again.
    Dedent,
}

/// The characters of a text, as a measure of its width.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Writes the steps.
pub(super) fn lay_out(steps: &[Step<'_>]) -> String {
    let flat = flat_widths(steps);
    let mut out = Output { text: String::new(), column: 0, start: true, indent: 0 };
    let mut broken = vec![true];
    for (at, (step, flat)) in steps.iter().zip(&flat).enumerate() {
        let breaks = broken.last().copied().unwrap_or(true);
        match step {
            Step::Text(text) => out.text(text),
            Step::Space => out.space(),
            Step::Line if !breaks => out.space(),
            Step::Soft if !breaks => {}
            Step::Line | Step::Soft | Step::Hard => out.newline(),
            Step::Blank => out.blank(),
            Step::Begin => {
                let indent = if out.start { out.indent * STEP } else { 0 };
                let fits = flat.is_some_and(|flat| flat <= WIDTH && out.column + indent + flat + tail(steps, at) <= WIDTH);
                broken.push(!fits);
            }
            Step::End => {
                broken.pop();
            }
            Step::Indent => out.indent += 1,
            Step::Dedent => out.indent = out.indent.saturating_sub(1),
        }
    }
    out.newline();
    out.text
}

/// By `Begin`: how wide its group is on one line; nothing where it has a line break of its own.
fn flat_widths(steps: &[Step<'_>]) -> Vec<Option<usize>> {
    let mut widths = vec![None; steps.len()];
    let mut open: Vec<(usize, usize, bool)> = Vec::new();
    let (mut sum, mut hard) = (0, false);
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Text(text) => {
                sum += width(text);
                hard |= text.contains('\n');
            }
            Step::Space | Step::Line => sum += 1,
            Step::Hard | Step::Blank => hard = true,
            Step::Begin => {
                open.push((at, sum, hard));
                hard = false;
            }
            Step::End => {
                let Some((begin, before, outer)) = open.pop() else { continue };
                if let Some(width) = widths.get_mut(begin).filter(|_| !hard) {
                    *width = Some(sum - before);
                }
                hard |= outer;
            }
            Step::Soft | Step::Indent | Step::Dedent => {}
        }
    }
    widths
}

/// How much stands after a group on its last line, up to where the line can break.
fn tail(steps: &[Step<'_>], begin: usize) -> usize {
    let (mut depth, mut sum) = (0_usize, 0);
    for step in steps.iter().skip(begin) {
        match step {
            Step::Begin => depth += 1,
            Step::End => depth = depth.saturating_sub(1),
            Step::Line | Step::Soft | Step::Hard | Step::Blank if depth == 0 => return sum,
            Step::Text(text) if depth == 0 => sum += width(text),
            Step::Space if depth == 0 => sum += 1,
            _ => {}
        }
        if sum > WIDTH {
            return sum;
        }
    }
    sum
}

struct Output {
    text: String,
    column: usize,
    /// Nothing stands on the line yet.
    start: bool,
    indent: usize,
}

impl Output {
    fn text(&mut self, text: &str) {
        if self.start {
            self.column = self.indent * STEP;
            self.text.push_str(&" ".repeat(self.column));
            self.start = false;
        }
        self.text.push_str(text);
        self.column = text.rsplit_once('\n').map_or(self.column, |_| 0) + width(text.rsplit('\n').next().unwrap_or_default());
    }

    fn space(&mut self) {
        if !self.start && !self.text.ends_with(' ') {
            self.text.push(' ');
            self.column += 1;
        }
    }

    fn newline(&mut self) {
        if !self.start {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.text.push('\n');
            (self.column, self.start) = (0, true);
        }
    }

    fn blank(&mut self) {
        self.newline();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}
