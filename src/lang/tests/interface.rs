//! What the next room relies on.

use super::{checked, ops};
use crate::lang::checked::{Equation, Op, StreamId, TextMode};
use crate::lang::syntax::{Literal, Window};
use crate::lang::types::Type;

fn names(checked: &crate::lang::checked::Checked, ids: &[StreamId]) -> Vec<String> {
    ids.iter().map(|id| checked.stream(*id).unwrap().name.to_string()).collect()
}

/// Operands stand before users, everything is needed, types are settled, and function bodies hold no state.
fn sound(checked: &crate::lang::checked::Checked) {
    let mut functions = std::collections::BTreeSet::new();
    for body in &checked.bodies {
        functions.extend(body.nodes.iter().filter_map(|node| node.op.closure()).map(|closure| closure.body));
    }
    for (id, body) in (0..).map(crate::lang::checked::BodyId).zip(&checked.bodies) {
        assert!(body.node(body.root).is_some());
        for (at, node) in body.nodes.iter().enumerate() {
            assert!(node.op.operands().iter().all(|operand| (operand.0 as usize) < at));
            assert!(!node.ty.has(|ty| *ty == Type::Unknown));
            if let Some(closure) = node.op.closure() {
                assert_eq!(checked.body(closure.body).unwrap().captures.len(), closure.captures.len());
            }
            let outside =
                matches!(node.op, Op::Stream(_) | Op::Delay { .. } | Op::Window { .. } | Op::Text { .. } | Op::Hold(_) | Op::When(_));
            assert!(!outside || !functions.contains(&id), "{node:?}");
            let inside = matches!(node.op, Op::Parameter(_) | Op::Capture(_));
            assert!(!inside || functions.contains(&id), "{node:?}");
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for id in &checked.order {
        let reads = &checked.stream(*id).unwrap().reads;
        let available = |to: &StreamId| seen.contains(to) || !matches!(checked.stream(*to).unwrap().equation, Equation::Body(_));
        assert!(reads.iter().all(available));
        seen.insert(*id);
    }
}

#[test]
fn bodies_are_straight_line_code() {
    for text in [
        "in x: Int\nin k: Int\naux f = \\v -> List.map(\\w -> w * k + v, [x])\nout y = f(x)\nout z = List.fold(\\a, v -> List.fold(\\b, w -> b + w * k + a, v, [a]), 0, [x])",
        "in c: Bool\nin x: Int\naux f = if c then \\v: Int -> v + x else \\v: Int -> v\nout y = List.map(f, [x])\nout z = f(x) + f(1)",
        "in n: Int\nin k: Int\nout f = fix(\\self: (Int -> Int), v -> if v <= k then 1 else v * self(v - 1))(n)",
        "in a\nin l: List<Int>\nout y = List.filter(a, l)\nout z = fix(a)(1)",
        "in x: Int\naux add = \\a, b -> a + b\nout y = List.map(add(x[1]), [x])\nout z = List.fold(add, 0, [1])",
    ] {
        sound(&checked(text));
    }
}

#[test]
fn known_calls_are_expanded_with_held_operands() {
    let text = "in x: Int\nin k: Int\naux f = \\v -> v[1] + k\nout y = f(x) + f(x * 2)\nout z = (\\v -> v)(1)";
    let checked = checked(text);
    sound(&checked);
    assert_eq!(checked.find("f").unwrap().1.equation, Equation::Template);
    let ops = ops(&checked, "y");
    let count = |wanted: &dyn Fn(&Op) -> bool| ops.iter().filter(|op| wanted(op)).count();
    assert_eq!(count(&|op| matches!(op, Op::Delay { ticks: 1, .. })), 2);
    assert_eq!(count(&|op| matches!(op, Op::Hold(_))), 3);
    assert_eq!(count(&|op| matches!(op, Op::Call(..) | Op::Closure(_))), 0);
    assert_eq!(super::ops(&checked, "z"), [&Op::Const(Literal::Int(1))]);
    assert_eq!(names(&checked, &checked.order), ["y", "z"]);
}

#[test]
fn casts_stand_where_types_change() {
    let checked =
        checked("in i: Int\nin a\nout x: Float = i\nout y: Int = a\nout z: Float = 1\nout w = if a then i else 0.5\nout v = i + 0.5");
    assert!(matches!(ops(&checked, "x")[..], [Op::Stream(_), Op::Cast(_)]));
    assert!(matches!(ops(&checked, "y")[..], [Op::Stream(_), Op::Cast(_)]));
    assert_eq!(ops(&checked, "z"), [&Op::Const(Literal::Float(1.0))]);
    assert!(matches!(ops(&checked, "w")[..], [Op::Stream(_), Op::Cast(_), Op::Stream(_), Op::Const(_), Op::Cast(_), Op::If(..)]));
    assert!(matches!(ops(&checked, "v")[..], [Op::Stream(_), Op::Const(_), Op::Binary(..)]));
}

#[test]
fn delays_do_not_order_and_windows_do() {
    let checked = checked(
        "in x: Int\nout a = (b + a + x)[1]\nout b = a + x[0]\nout c = count(b over 5m)\nout d = sum(c[1] + x over last 7)\nout e = mean(x[1] over 1h by 10s)",
    );
    sound(&checked);
    assert_eq!(names(&checked, &checked.order), ["a", "b", "c", "d", "e"]);
    assert!(checked.find("a").unwrap().1.reads.is_empty());
    let window = |name: &str| {
        let found = ops(&checked, name)
            .into_iter()
            .find_map(|op| if let Op::Window { window, reads, .. } = op { Some((*window, reads.clone())) } else { None });
        found.unwrap()
    };
    let (shape, reads) = window("c");
    assert_eq!((shape, names(&checked, &reads)), (Window::Time { micros: 300_000_000 }, vec!["b".to_owned()]));
    assert_eq!(names(&checked, &checked.inputs_behind(&reads)), ["x"]);
    let (shape, reads) = window("d");
    assert_eq!((shape, names(&checked, &reads)), (Window::Last { count: 7 }, vec!["x".to_owned()]));
    let (shape, reads) = window("e");
    assert_eq!((shape, reads), (Window::Panes { pane_micros: 10_000_000, panes: 360 }, Vec::new()));
}

#[test]
fn texts_know_what_they_may_name() {
    let text = "in s: Str\nin x: Int\naux f = \\v -> v\nout a = dynamic(s: Int, {x})\nout b = eval(s)\nout c = b + 1\nout d = defer(s: Str)\nout e = f(x)";
    let checked = checked(text);
    sound(&checked);
    let text = |name: &str| {
        let found = ops(&checked, name)
            .into_iter()
            .find_map(|op| if let Op::Text { mode, scope, .. } = op { Some((*mode, scope.clone())) } else { None });
        let (mode, scope) = found.unwrap();
        (mode, names(&checked, &scope).join(" "))
    };
    assert_eq!(text("a"), (TextMode::Dynamic, "x".to_owned()));
    assert_eq!(text("b"), (TextMode::Dynamic, "s x a d e".to_owned()));
    assert_eq!(text("d"), (TextMode::Defer, "s x a e".to_owned()));
    assert_eq!(names(&checked, &checked.order), ["a", "e", "d", "b", "c"]);
}

#[test]
fn a_minus_belongs_to_the_literal_and_operators_to_their_levels() {
    let checked = checked(
        "out a = -2 ** 2\nout b = -9223372036854775808\nout c = 2 ** 3 ** 2\nout d = 1 - 2 - 3\nout e = !true || false && true\nout f = true => false => true",
    );
    let consts: Vec<_> = ops(&checked, "a").into_iter().filter(|op| matches!(op, Op::Const(_))).collect();
    assert_eq!(consts, [&Op::Const(Literal::Int(-2)), &Op::Const(Literal::Int(2))]);
    assert_eq!(ops(&checked, "b"), [&Op::Const(Literal::Int(i64::MIN))]);
    let shape =
        |name: &str| ops(&checked, name).iter().map(|op| if let Op::Binary(op, ..) = op { op.symbol() } else { "." }).collect::<String>();
    assert_eq!(shape("c"), "...****");
    assert_eq!(shape("d"), "..-.-");
    assert_eq!(shape("e"), ".. ..&&||".replace(' ', ""));
    assert_eq!(shape("f"), "...=>=>");
}

#[test]
fn words_have_meanings_only_in_their_places() {
    let text = "in o: Struct<in: Int, over: Int, true: Int, List: Int>\nout y = o.in + o.over + o.true + o.List\nout z = {if: 1, Int: 2}\nvar w = z.if\nout v:List<Int>=[w]\nout b = (  )\n";
    sound(&checked(text));
    let nested =
        checked("out t = ((1, 2), 3)\nout a = t.0.1\nout b = t . 0 . 1\nin x: Int\nout c = x[1][2].f\n".replace("[2].f", "[2]").as_str());
    assert_eq!(nested.find("a").unwrap().1.ty, Type::Int);
    assert_eq!(checked("in x: Int y = x out y").streams.len(), 2);
    assert_eq!(checked("\u{feff}in x: Int\r\nout y = x // c\r\n").streams.len(), 2);
}

#[test]
fn everything_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<crate::lang::checked::Checked>();
    shared::<crate::lang::checked::CheckedExpr>();
    shared::<crate::lang::diagnostic::Diagnostics>();
    assert!(size_of::<crate::lang::diagnostic::Diagnostics>() <= 128);
}
