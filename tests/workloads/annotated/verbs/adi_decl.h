
double X[N][N+20];
double A[N][N+20];
double B[N][N+20];
void init_arrays();
