
void init_arrays()
{
  int i1, i2;
  for (i1=0; i1<N; i1++)
    for (i2=0; i2<N; i2++) {
      X[i1][i2] = (i1+i2) % 5 + 1;
      A[i1][i2] = (i1*(i2+1)) % 3 * 0.1;
      B[i1][i2] = 10 + i1 % 7;
    }
}
