/* {thing} calculator: commands on standard input, one answer a line */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

{functions}

int main(void)
{
    char word[32];
    int n, i, j;
    double a, b, c, *list;
    while (scanf("%31s", word) == 1) {
{calls}    }
    return 0;
}
