//! The layout.

use crate::lang::format;

#[test]
fn roots_are_laid_out_in_one_way() {
    let text = "// head

(* block
   two *)
in  order:   Struct<id: Str, amount: Float,country: Str>  // the order
in  refund:  Float


// about large
out large:   Bool  = order.amount > 1000.0 // trailing
   // own line after
aux spent          = sum(order.amount over 1h) - sum(refund over 1h by 10s) + default(spent[1], 0.0) * 100.0 + mean(order.amount over last 10)
out alarm:   Bool  = large && !default(large[1], false) // why
    && spent > 5000.0
out y:List<Int>=[1,2,  -3 ,(* x *) - 4,]
out z = if large then \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" else if alarm then \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\" else \"c\"
aux f:(Int->Int)=\\a:Int,b:(Int,Int)->a+b.0*2
out q = default(dynamic(s:Int,{order,refund}), List.fold(\\a, b -> a + b * 12345678, 0, [1,2,3,4,5,6,7])) - - -2
q2 = x
out t: Struct<in: Int, ...> = {in: 1}
// end";
    let wanted = "// head

(* block
   two *)
in order: Struct<id: Str, amount: Float, country: Str> // the order
in refund: Float

// about large
out large: Bool = order.amount > 1000.0 // trailing
// own line after
aux spent = sum(order.amount over 1h)
    - sum(refund over 1h by 10s)
    + default(spent[1], 0.0) * 100.0
    + mean(order.amount over last 10)
out alarm: Bool = large
    && !default(large[1], false) // why
    && spent > 5000.0
out y: List<Int> = [1, 2, -3, (* x *) -4,]
out z = if large then \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"
    else if alarm then \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"
    else \"c\"
aux f: (Int -> Int) = \\a: Int, b: (Int, Int) -> a + b.0 * 2
out q = default(
        dynamic(s: Int, {order, refund}),
        List.fold(\\a, b -> a + b * 12345678, 0, [1, 2, 3, 4, 5, 6, 7])
    )
    - --2
q2 = x
out t: Struct<in: Int, ...> = {in: 1}
// end
";
    let laid_out = format(text).unwrap();
    assert_eq!(laid_out, wanted);
    assert_eq!(format(&laid_out).unwrap(), laid_out);
}

#[test]
fn what_cannot_be_read_is_not_laid_out() {
    assert_eq!(format("out y = (1").unwrap_err().reports()[0].code, "MR1008");
    assert_eq!(format("").unwrap(), "");
    assert_eq!(format("// only").unwrap(), "// only\n");
    assert_eq!(format("out y = nothing").unwrap(), "out y = nothing\n");
}
