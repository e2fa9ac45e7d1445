static double *take(int *n)
{
    static double *v;
    if (scanf("%d", n) != 1 || *n < 1)
        exit(1);
    v = realloc(v, (size_t)*n * sizeof *v);
    for (double *p = v; p < v + *n; p++)
        if (scanf("%lf", p) != 1)
            exit(1);
    return v;
}

static double f_var(const double *v, int n)
{
    double mean = 0, q = 0;
    for (int i = 0; i < n; i++) {
        double x = v[i] - v[0], d = x - mean;
        mean += d / (i + 1);
        q += d * (x - mean);
    }
    return q / (n - 1);
}

static void f_roots(double a, double b, double c)
{
    double big = -(b + copysign(sqrt(b * b - 4 * a * c), b)) / (2 * a);
    double other = c / a / big;
    printf("%.16g %.16g\n", fmin(big, other), fmax(big, other));
}

static long long f_mid(int i, int j)
{
    return (long long)floor(((double)i + j) / 2);
}

static long long f_add(int i, int j)
{
    int s;
    if (__builtin_add_overflow(i, j, &s))
        return i < 0 ? INT_MIN : INT_MAX;
    return s;
}

static double f_peak(const double *v, int n)
{
    double best = fabs(v[0]);
    while (n-- > 1)
        best = fmax(best, fabs(v[n]));
    return best;
}

static double f_sum(const double *v, int n)
{
    double hi = 0, lo = 0;
    for (int i = 0; i < n; i++) {
        double t = hi + v[i], z = t - hi;
        lo += (hi - (t - z)) + (v[i] - z);
        hi = t;
    }
    return hi + lo;
}

static long long f_round(double x)
{
    double whole = trunc(fmax(fmin(x, INT_MAX), INT_MIN)), rest = x - whole;
    if (whole < INT_MAX && rest >= 0.5)
        whole += 1;
    if (whole > INT_MIN && rest <= -0.5)
        whole -= 1;
    return (long long)whole;
}

static long long f_gap(int i, int j)
{
    return i > j ? (unsigned)i - (unsigned)j : (unsigned)j - (unsigned)i;
}
