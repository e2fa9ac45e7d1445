static double *take(int *n)
{
    static double v[64];
    if (scanf("%d", n) != 1)
        exit(1);
    for (int i = 0; i < *n; i++)
        if (scanf("%lf", &v[i]) != 1)
            exit(1);
    return v;
}

static double f_var(const double *v, int n)
{
    double s = 0, q = 0;
    for (int i = 0; i < n; i++) {
        s += v[i];
        q += v[i] * v[i];
    }
    return (q - s * s / n) / (n - 1);
}

static void f_roots(double a, double b, double c)
{
    double r = sqrt(b * b - 4 * a * c);
    double x = (-b - r) / (2 * a), y = (-b + r) / (2 * a);
    printf("%.15e %.15e\n", x < y ? x : y, x < y ? y : x);
}

static long long f_mid(int i, int j)
{
    return (i + j) / 2;
}

static long long f_add(int i, int j)
{
    int s = i + j;
    if (i > 0 && j > 0 && s < 0)
        return INT_MAX;
    if (i < 0 && j < 0 && s >= 0)
        return INT_MIN;
    return s;
}

static double f_peak(const double *v, int n)
{
    double best;
    for (int i = 0; i <= n; i++)
        if (!(fabs(v[i]) <= best))
            best = fabs(v[i]);
    return best;
}

static double f_sum(const double *v, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += v[i];
    return s;
}

static long long f_round(double x)
{
    return (int)(x + 0.5);
}

static long long f_gap(int i, int j)
{
    return abs(i - j);
}
