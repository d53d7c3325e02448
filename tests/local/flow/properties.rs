//! What holds of every program and every input.

use super::bed::at;
use super::programs::{INPUTS, rows, streams, tape};
use super::reference::Reference;
use millrace::dataflow::value::Cell;
use millrace::dataflow::{Decision, Limits, Monitor, Plan, Scratch, TickError, Transfer};
use millrace::lang;
use proptest::prelude::*;

pub(super) fn program(lines: &[String]) -> String {
    format!("{INPUTS}{}\n", lines.join("\n"))
}

type Rows = Vec<(i64, Vec<Cell>)>;

fn timed(rows: &Rows) -> Vec<(i64, &[Cell])> {
    let mut now = 1_000_000_000;
    rows.iter()
        .map(|(seconds, row)| {
            now += seconds * 1_000_000;
            (now, row.as_slice())
        })
        .collect()
}

pub(super) fn tick(plan: &Plan, monitor: &mut Monitor, scratch: &mut Scratch, (time, row): (i64, &[Cell])) -> Result<Vec<Cell>, TickError> {
    monitor.tick(plan, row, at(time), scratch).map(|row| row.cells().collect())
}

pub(super) fn config() -> ProptestConfig {
    let cases = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
    ProptestConfig {
        cases,
        rng_seed: std::env::var("SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .map_or(proptest::test_runner::RngSeed::Random, proptest::test_runner::RngSeed::Fixed),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        max_global_rejects: 1_000_000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// The evaluator and the reference interpreter give the same rows, and fail in the same tick at the same stream.
    #[test]
    fn evaluator_equals_reference(tape in tape(), rows in rows()) {
        let root = program(&streams(&tape));
        let checked = lang::check(&root);
        prop_assume!(checked.is_ok());
        let checked = checked.unwrap();
        let plan = Plan::new(&checked, Limits::default());
        let (mut monitor, mut scratch, mut reference) = (Monitor::new(&plan), Scratch::default(), Reference::new(&checked));
        for (nth, (time, row)) in timed(&rows).into_iter().enumerate() {
            match (tick(&plan, &mut monitor, &mut scratch, (time, row)), reference.tick(row, time)) {
                (Ok(got), Ok(wanted)) => prop_assert_eq!(got, wanted, "tick {}\n{}", nth, root),
                (Err(TickError::Failed(got)), Err((stream, failure))) => {
                    prop_assert_eq!((got.stream(), got.code()), (&stream, failure.code()), "tick {}\n{}", nth, root);
                    break;
                }
                (got, wanted) => prop_assert!(false, "tick {}: {:?}, wanted {:?}\n{}", nth, got, wanted, root),
            }
        }
    }

    /// A monitor that was snapshot and restored at any cut goes on as one that never stopped; a clone is not touched by what
    /// the other does; writing again gives the same bytes.
    #[test]
    fn scenario_34_restored_equals_never_stopped(tape in tape(), rows in rows(), cut in 0_usize..16) {
        let lines = streams(&tape);
        let root = program(&lines);
        let checked = lang::check(&root);
        prop_assume!(checked.is_ok());
        let plan = Plan::new(&checked.unwrap(), Limits::default());
        // The same streams among others, in another order.
        let mut other: Vec<String> = lines.iter().rev().cloned().collect();
        other.insert(0, "out z0: Int = default(z0[12], 0) + sum(b over last 2) + (a[3] + when(s)[1])".replace(" + when(s)[1]", ""));
        let other = Plan::new(&lang::check(&program(&other)).unwrap(), Limits::default());
        let (mut monitor, mut scratch) = (Monitor::new(&plan), Scratch::default());
        let mut apart = Scratch::default();
        let mut restored: Option<(Monitor, Monitor)> = None;
        for (nth, (time, row)) in timed(&rows).into_iter().enumerate() {
            if nth == cut {
                let bytes = monitor.snapshot(&plan);
                let again = Monitor::restore(&plan, &bytes).unwrap();
                prop_assert_eq!(again.snapshot(&plan), bytes.clone(), "{}", root);
                let moved = Transfer::apply(&plan, &plan, &monitor);
                prop_assert!(monitor.failure().is_some() || moved.snapshot(&plan) == bytes, "{}", root);
                restored = Some((again, Monitor::restore(&other, &bytes).unwrap()));
            }
            let clone = monitor.clone();
            let before = clone.snapshot(&plan);
            let got = tick(&plan, &mut monitor, &mut scratch, (time, row));
            prop_assert_eq!(clone.snapshot(&plan), before, "{}", root);
            if let Some((again, elsewhere)) = &mut restored {
                prop_assert_eq!(&tick(&plan, again, &mut apart, (time, row)), &got, "tick {}\n{}", nth, root);
                let there = tick(&other, elsewhere, &mut scratch, (time, row));
                if let (Ok(got), Ok(there)) = (&got, &there) {
                    for (slot, stream) in plan.streams().iter().enumerate() {
                        let other = other.slot(&stream.name).unwrap();
                        prop_assert_eq!(&got[slot], &there[other], "tick {}: {}\n{}", nth, stream.name, root);
                    }
                }
            }
        }
    }

    /// A tick that fails leaves all but the failure as it was; the failure stays, through a snapshot too, until a cutover.
    #[test]
    fn a_failed_tick_leaves_no_trace(tape in tape(), rows in rows()) {
        let root = program(&streams(&tape));
        let checked = lang::check(&root);
        prop_assume!(checked.is_ok());
        let plan = Plan::new(&checked.unwrap(), Limits::default());
        let (mut monitor, mut scratch) = (Monitor::new(&plan), Scratch::default());
        for (time, row) in timed(&rows) {
            let before = monitor.snapshot(&plan);
            let short = tick(&plan, &mut monitor, &mut scratch, (time, &row[1..]));
            let refused = matches!(short, Err(TickError::Arity { .. }));
            prop_assert!(refused);
            prop_assert_eq!(monitor.snapshot(&plan), before.clone());
            let Err(failed) = tick(&plan, &mut monitor, &mut scratch, (time, row)) else { continue };
            let TickError::Failed(first) = failed else { panic!("{failed}") };
            prop_assert_eq!(Transfer::apply(&plan, &plan, &monitor).snapshot(&plan), before, "{}", root);
            let again = Monitor::restore(&plan, &monitor.snapshot(&plan)).unwrap();
            for monitor in &mut [monitor, again] {
                prop_assert_eq!(tick(&plan, monitor, &mut scratch, (time, row)), Err(TickError::MonitorFailed(first.clone())));
            }
            break;
        }
    }

    /// From A to B: every stream that is kept, and computed as before, has the values that B gives from the start.
    #[test]
    fn kept_streams_are_as_from_the_start(tape in tape(), other in tape(), rows in rows(), cut in 0_usize..16, gone in 0_usize..5) {
        let lines = streams(&tape);
        let old = lang::check(&program(&lines));
        prop_assume!(old.is_ok());
        let old = Plan::new(&old.unwrap(), Limits::default());
        // B: some of A's streams, in another order, beside others of A's or of new names.
        let mut next: Vec<String> = lines.iter().take(lines.len().saturating_sub(gone).max(1)).rev().cloned().collect();
        let taken: Vec<String> = next.iter().map(|line| line.split([' ', ':']).nth(1).unwrap().to_owned()).collect();
        next.extend(streams(&other).into_iter().filter(|line| !taken.iter().any(|name| line.split([' ', ':']).nth(1) == Some(name))));
        let root = program(&next);
        let checked = lang::check(&root);
        prop_assume!(checked.is_ok());
        let new = Plan::new(&checked.unwrap(), Limits::default());
        let transfer = Transfer::new(&old, &new);
        let (mut was, mut start, mut scratch) = (Monitor::new(&old), Monitor::new(&new), Scratch::default());
        let mut moved = None;
        for (nth, timed) in timed(&rows).into_iter().enumerate() {
            if nth == cut {
                moved = Some(Transfer::apply(&old, &new, &was));
            }
            let Ok(wanted) = tick(&new, &mut start, &mut scratch, timed) else { break };
            match &mut moved {
                None => {
                    if tick(&old, &mut was, &mut scratch, timed).is_err() {
                        break;
                    }
                }
                Some(moved) => {
                    let Ok(got) = tick(&new, moved, &mut scratch, timed) else { break };
                    for stream in transfer.streams.iter().filter(|stream| stream.exact) {
                        prop_assert_eq!(stream.decision, Decision::Keep);
                        let slot = new.slot(&stream.stream).unwrap();
                        prop_assert_eq!(&got[slot], &wanted[slot], "tick {}: {}\n{}\n{}", nth, stream.stream, program(&lines), root);
                    }
                }
            }
        }
    }

    /// A plan to itself: all kept, all exact.
    #[test]
    fn to_itself_nothing_changes(tape in tape()) {
        let root = program(&streams(&tape));
        let checked = lang::check(&root);
        prop_assume!(checked.is_ok());
        let checked = checked.unwrap();
        let (one, next) = (Plan::new(&checked, Limits::default()), Plan::new(&checked, Limits::default()));
        prop_assert_eq!(one.digest(), next.digest());
        let transfer = Transfer::new(&one, &next);
        for stream in &transfer.streams {
            prop_assert_eq!((stream.decision, stream.exact), (Decision::Keep, true), "{} {}\n{}", stream.stream, stream.reason, root);
        }
        prop_assert!(transfer.gone.is_empty());
    }

    /// Damaged snapshots are refused or restore something; they never panic.
    #[test]
    fn garbage_does_not_panic(tape in tape(), rows in rows(), holes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let checked = lang::check(&program(&streams(&tape)));
        prop_assume!(checked.is_ok());
        let plan = Plan::new(&checked.unwrap(), Limits::default());
        let (mut monitor, mut scratch) = (Monitor::new(&plan), Scratch::default());
        for timed in timed(&rows) {
            let _done = tick(&plan, &mut monitor, &mut scratch, timed);
        }
        let mut bytes = monitor.snapshot(&plan);
        for (at, byte) in holes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(bytes.len() - usize::from(byte % 7 == 0));
            if let Ok(mut monitor) = Monitor::restore(&plan, &bytes) {
                for timed in timed(&rows) {
                    let _done = tick(&plan, &mut monitor, &mut scratch, timed);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
    }
}

/// How many of the generated programs compile: the others test nothing.
#[test]
fn most_programs_compile() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut bad = Vec::new();
    for _ in 0..200 {
        let root = program(&streams(&tape().new_tree(&mut runner).unwrap().current()));
        if let Err(errors) = lang::check(&root) {
            bad.push(format!("{root}\n{errors}"));
        }
    }
    assert!(bad.len() < 40, "{}: {}", bad.len(), bad.iter().take(3).cloned().collect::<Vec<_>>().join("\n"));
}

/// What the generated runs are like: most go on for some ticks, and have values.
#[test]
fn runs_are_not_trivial() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut ticks, mut values, mut failed, mut compiled) = (0, 0, 0, 0);
    for _ in 0..300 {
        let root = program(&streams(&tape().new_tree(&mut runner).unwrap().current()));
        let Ok(checked) = lang::check(&root) else { continue };
        compiled += 1;
        let plan = Plan::new(&checked, Limits::default());
        let (mut monitor, mut scratch) = (Monitor::new(&plan), Scratch::default());
        let rows = rows().new_tree(&mut runner).unwrap().current();
        for timed in timed(&rows) {
            let Ok(row) = tick(&plan, &mut monitor, &mut scratch, timed) else {
                failed += 1;
                break;
            };
            ticks += 1;
            values += row[plan.inputs()..].iter().filter(|cell| cell.value().is_some()).count();
        }
    }
    println!("{compiled} of 300 compile, {ticks} ticks, {values} values, {failed} fail");
    assert!(ticks > compiled * 2 && values > ticks / 2, "{ticks} ticks, {values} values, {failed} of {compiled} fail");
}
