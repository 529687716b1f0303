/* lengths of x and y in for (i=0;i<=N-1;i++) for (j=0;j<M;j++) y[i+j+2] = x[2*i] + x[j]; */

y[M >= 1 && N >= 1 ? M + N + 1 : 0];
x[(M >= 1 && N >= 1 ? 2 * N - 1 : 0) > (M >= 1 && N >= 1 ? M : 0) ? (M >= 1 && N >= 1 ? 2 * N - 1 : 0) : (M >= 1 && N >= 1 ? M : 0)];
