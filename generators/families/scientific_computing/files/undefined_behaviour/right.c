static double *take(int *n)
{
    static double v[1000];
    if (scanf("%d", n) != 1 || *n < 1 || *n > 1000)
        exit(1);
    for (int i = 0; i < *n; i++)
        if (scanf("%lf", &v[i]) != 1)
            exit(1);
    return v;
}

static double f_var(const double *v, int n)
{
    double mean = 0, q = 0, rest = 0;
    for (int i = 0; i < n; i++)
        mean += (v[i] - v[0]) / n;
    for (int i = 0; i < n; i++) {
        double d = v[i] - v[0] - mean;
        q += d * d;
        rest += d;
    }
    return (q - rest * rest / n) / (n - 1);
}

static void f_roots(double a, double b, double c)
{
    double r = sqrt(b * b - 4 * a * c);
    double q = b < 0 ? (r - b) / 2 : -(b + r) / 2;
    double x = q / a, y = c / q;
    printf("%.15e %.15e\n", x < y ? x : y, x < y ? y : x);
}

static long long f_mid(int i, int j)
{
    long long s = (long long)i + j;
    return s / 2 - (s % 2 < 0);
}

static long long f_add(int i, int j)
{
    long long s = (long long)i + j;
    return s > INT_MAX ? INT_MAX : s < INT_MIN ? INT_MIN : s;
}

static double f_peak(const double *v, int n)
{
    double best = 0;
    for (int i = 0; i < n; i++)
        if (fabs(v[i]) > best)
            best = fabs(v[i]);
    return best;
}

static double f_sum(const double *v, int n)
{
    double s = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        double t = s + v[i];
        lost += fabs(s) >= fabs(v[i]) ? s - t + v[i] : v[i] - t + s;
        s = t;
    }
    return s + lost;
}

static long long f_round(double x)
{
    x = round(x);
    return x >= INT_MAX ? INT_MAX : x <= INT_MIN ? INT_MIN : (long long)x;
}

static long long f_gap(int i, int j)
{
    return llabs((long long)i - j);
}
