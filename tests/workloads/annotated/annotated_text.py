"""An annotated file, to be varied."""

AXPY = "for (i = 0; i <= n-1; i++) y[i] += a*x[i];"
SPEC = """
  def build { arg build_command = 'gcc -O3 @CFLAGS'; }
  def performance_params { param UF[] = range(1,5);  # a comment
    param CFLAGS[] = map(join, product(['', '-g'], ['-O2'])); constraint even = (UF % 2 == 0); }
  def input_params { let K = 10; param N[] = [K, 2*K]; }
  def input_vars { decl static double x[N] = random; decl dynamic double y[N] = 0; decl double a = 1.5;
    decl static int off[3] = {-1,0,1}; }
"""


def annotated(code, body=AXPY, spec=SPEC):
    return (
        "void f(int n, double *x, double *y, double a) {\n  int i;\n"
        f"  /*@ begin PerfTuning ({spec}) @*/\n  int n = N;\n  /*@ begin Loop({code}) @*/\n  {body}\n"
        "  /*@ end @*/\n  /*@ end @*/\n}\n"
    )
