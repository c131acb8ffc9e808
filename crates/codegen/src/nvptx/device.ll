; Functions for code on the GPU that neither an instruction nor our own IR provides.

; C's fmod, exact: long division of the significands, eleven bits a round.
; |x| = mx 2^(ex - 1075) and |y| = my 2^(ey - 1075), so x mod y = (mx 2^(ex - ey) mod my) 2^(ey - 1075).
define double @gs_fmod(double %x, double %y) nounwind memory(none) {
entry:
  %ux = bitcast double %x to i64
  %uy = bitcast double %y to i64
  %ax = and i64 %ux, 9223372036854775807
  %ay = and i64 %uy, 9223372036854775807
  %sign = and i64 %ux, -9223372036854775808
  %x.special = icmp uge i64 %ax, 9218868437227405312
  %y.nan = icmp ugt i64 %ay, 9218868437227405312
  %y.zero = icmp eq i64 %ay, 0
  %either = or i1 %x.special, %y.nan
  %invalid = or i1 %either, %y.zero
  br i1 %invalid, label %nan, label %valid

nan:
  ret double 0x7FF8000000000000

valid:
  %less = icmp ult i64 %ax, %ay
  br i1 %less, label %same, label %divide

same:
  ret double %x

divide:
  %ex.bits = lshr i64 %ax, 52
  %ey.bits = lshr i64 %ay, 52
  %ex = call i64 @llvm.umax.i64(i64 %ex.bits, i64 1)
  %ey = call i64 @llvm.umax.i64(i64 %ey.bits, i64 1)
  %x.normal = icmp ne i64 %ex.bits, 0
  %y.normal = icmp ne i64 %ey.bits, 0
  %x.hidden = select i1 %x.normal, i64 4503599627370496, i64 0
  %y.hidden = select i1 %y.normal, i64 4503599627370496, i64 0
  %x.low = and i64 %ax, 4503599627370495
  %y.low = and i64 %ay, 4503599627370495
  %mx = or i64 %x.low, %x.hidden
  %my = or i64 %y.low, %y.hidden
  %first = urem i64 %mx, %my
  %distance = sub i64 %ex, %ey
  br label %round

round:
  %r = phi i64 [ %first, %divide ], [ %next, %step ]
  %left = phi i64 [ %distance, %divide ], [ %fewer, %step ]
  %done = icmp eq i64 %left, 0
  %exact = icmp eq i64 %r, 0
  %stop = or i1 %done, %exact
  br i1 %stop, label %pack, label %step

step:
  %bits = call i64 @llvm.umin.i64(i64 %left, i64 11)
  %wide = shl i64 %r, %bits
  %next = urem i64 %wide, %my
  %fewer = sub i64 %left, %bits
  br label %round

pack:
  br i1 %exact, label %zero, label %nonzero

zero:
  %signed.zero = bitcast i64 %sign to double
  ret double %signed.zero

nonzero:
  %leading = call i64 @llvm.ctlz.i64(i64 %r, i1 true)
  %shift = sub i64 %leading, 11
  %room = sub i64 %ey, 1
  %normal = icmp ule i64 %shift, %room
  %by = call i64 @llvm.umin.i64(i64 %shift, i64 %room)
  %significand = shl i64 %r, %by
  %exponent = sub i64 %ey, %shift
  %exponent.bits = shl i64 %exponent, 52
  %fraction = and i64 %significand, 4503599627370495
  %normal.bits = or i64 %fraction, %exponent.bits
  %magnitude = select i1 %normal, i64 %normal.bits, i64 %significand
  %result.bits = or i64 %magnitude, %sign
  %result = bitcast i64 %result.bits to double
  ret double %result
}

declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.ctlz.i64(i64, i1)
