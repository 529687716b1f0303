
double A[N][N];
double u1[N]; double u2[N]; double v1[N]; double v2[N];
double w[N]; double x[N]; double y[N]; double z[N];
double B[N][N];
double a; double b;
