/* Functions that texts for GPUs use, in the macros that CUDA C++ and OpenCL C share: each only where it is used.
   @T is an element, @s ends names (f32), @f ends names of the library. */

//: index
TW_FUNCTION int tw_min(int a, int b) { return a < b ? a : b; }
TW_FUNCTION int tw_max(int a, int b) { return a > b ? a : b; }
TW_FUNCTION int tw_floordiv(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
TW_FUNCTION int tw_ceildiv(int a, int b) { return tw_floordiv(a + b - 1, b); }
TW_FUNCTION int tw_floormod(int a, int b) { return a - b * tw_floordiv(a, b); }
//: minimum
TW_FUNCTION @T tw_minimum_@s(@T a, @T b) { return (a < b || a != a) ? a : b; }
//: maximum
TW_FUNCTION @T tw_maximum_@s(@T a, @T b) { return (a > b || a != a) ? a : b; }
//: where
TW_FUNCTION @T tw_where_@s(int a, @T b, @T c) { return a ? b : c; }
//: number
TW_FUNCTION @T tw_number_@s(int a) { return a ? 1 : 0; }
//: not
TW_FUNCTION int tw_not_@s(int a) { return !a; }
//: abs
TW_FUNCTION @T tw_abs_@s(@T a) { return @magnitude; }
//: over_sqrt
TW_FUNCTION @T tw_over_sqrt_@s(@T a, @T x) { return a * rsqrt@f(x); }
//: library
TW_FUNCTION @T tw_@name_@s(@T a) { return @called@f(a); }
//: library pair
TW_FUNCTION @T tw_@name_@s(@T a, @T b) { return @called@f(a, b); }
