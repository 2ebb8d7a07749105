/* Replaces lines of a text by patches that stdin has: `FIRST LAST TEXT`, lines from 1. `parchment wards` runs two wards instead. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct leaf {
    char text[24];
    struct leaf *next;
};

static struct leaf *book;
static int patched;

static struct leaf *turn_to(int number) {
    struct leaf *at = book;
    for (int i = 1; i < number; i++)
        at = at->next;
    return at;
}

static int replace(int first, int last, const char *text) {
    int count = last - first + 1;
    struct leaf *at = turn_to(first);
    for (int i = 0; i < count; i++) {
        strncpy(at->text, text, sizeof at->text - 1);
        at = at->next;
    }
    patched += count;
    return count;
}

static int blot(int rounds) {
    int ink = 9;
    for (int round = 1; round <= rounds; round++) {
        ink = (ink * 19 + round * round) % 641;
        if (ink % 5 == 0)
            ink = ink / 5 + round;
    }
    return ink;
}

static pthread_mutex_t inkwell = PTHREAD_MUTEX_INITIALIZER, quillbox = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *ward(void *swapped) {
    pthread_mutex_t *one = swapped ? &quillbox : &inkwell, *two = swapped ? &inkwell : &quillbox;
    pthread_mutex_lock(one);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(two);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "wards") == 0) {
        pthread_t elda, morn;
        pthread_barrier_init(&both, NULL, 2);
        pthread_create(&elda, NULL, ward, NULL);
        pthread_create(&morn, NULL, ward, "swapped");
        pthread_join(elda, NULL);
        pthread_join(morn, NULL);
    }
    for (int i = 12; i >= 1; i--) {
        struct leaf *leaf = calloc(1, sizeof *leaf);
        snprintf(leaf->text, sizeof leaf->text, "leaf %d", i);
        leaf->next = book;
        book = leaf;
    }
    int first, last, blotted = blot(20);
    char text[24];
    while (scanf("%d %d %23s", &first, &last, text) == 3)
        replace(first, last, text);
    printf("%d %d\n", patched, blotted);
    return 0;
}
