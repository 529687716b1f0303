
void init_input_vars() {
  int i, j;
  a = 1.5; b = 2.5;
  for (i=0; i<=N-1; i++) {
    u1[i] = i; u2[i] = (i+1)/N/2.0; v1[i] = (i+1)/N/4.0; v2[i] = (i+1)/N/6.0;
    y[i] = (i+1)/N/8.0; z[i] = (i+1)/N/9.0; x[i] = 0.0; w[i] = 0.0;
    for (j=0; j<=N-1; j++) A[i][j] = ((double) i*j)/N;
  }
}
