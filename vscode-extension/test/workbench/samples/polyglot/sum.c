#include <stdio.h>

int main(void)
{
    int first, second;
    printf("two numbers? ");
    fflush(stdout);
    if (scanf("%d %d", &first, &second) != 2)
        return 2;
    int sum = first + second;
    printf("%d\n", sum);
    return 0;
}
