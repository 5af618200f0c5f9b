/* The system file of `cargo xtask bench race`, for drivers in C and C++.
 *
 * The file contains rows, entries (64 bits each); rows + 1 row pointers (64 bits); columns (32 bits);
 * values; right-hand side; unknowns per node, 1 if the matrix is singular with the constants as its
 * null space, number of near-null-space vectors (64 bits each); these vectors, one after the other.
 * Every process reads its own rows and writes its own part of the solution. */
#ifndef RACE_SYSTEM_H
#define RACE_SYSTEM_H
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int64_t rows, entries; /* of the whole matrix */
    int first, end, own;   /* own rows: first <= row < end */
    int64_t *starts;       /* own row pointers, from 0 */
    int *columns;
    double *values, *rhs;
    int unknowns, singular, modes;
    double *mode_values; /* own rows of one vector after the other */
} RaceSystem;

static void race_fail(const char *reason) {
    fprintf(stderr, "%s\n", reason);
    exit(1);
}

static void *race_part(FILE *file, int64_t offset, size_t size, size_t count) {
    void *data = malloc(size * count + 1);
    if (data == NULL || fseek(file, offset, SEEK_SET) != 0 || fread(data, size, count, file) != count)
        race_fail("the system file ends too early");
    return data;
}

/* Rows are divided between processes by nodes. */
static RaceSystem race_read(const char *path, int rank, int ranks) {
    RaceSystem s;
    FILE *file = fopen(path, "rb");
    if (file == NULL) race_fail("the system file cannot be opened");
    int64_t *extents = (int64_t *)race_part(file, 0, 8, 2);
    s.rows = extents[0];
    s.entries = extents[1];
    free(extents);
    int64_t columns_at = 16 + 8 * (s.rows + 1), values_at = columns_at + 4 * s.entries;
    int64_t rhs_at = values_at + 8 * s.entries, trailer_at = rhs_at + 8 * s.rows;
    int64_t *trailer = (int64_t *)race_part(file, trailer_at, 8, 3);
    s.unknowns = (int)trailer[0];
    s.singular = (int)trailer[1];
    s.modes = (int)trailer[2];
    free(trailer);
    int64_t nodes = s.rows / s.unknowns;
    s.first = (int)(nodes * rank / ranks) * s.unknowns;
    s.end = (int)(nodes * (rank + 1) / ranks) * s.unknowns;
    s.own = s.end - s.first;
    s.starts = (int64_t *)race_part(file, 16 + 8 * (int64_t)s.first, 8, s.own + 1);
    int64_t start = s.starts[0], own_entries = s.starts[s.own] - start;
    for (int row = 0; row <= s.own; row++) s.starts[row] -= start;
    s.columns = (int *)race_part(file, columns_at + 4 * start, 4, own_entries);
    s.values = (double *)race_part(file, values_at + 8 * start, 8, own_entries);
    s.rhs = (double *)race_part(file, rhs_at + 8 * (int64_t)s.first, 8, s.own);
    s.mode_values = (double *)malloc(8 * (size_t)s.own * s.modes + 1);
    if (s.mode_values == NULL) race_fail("out of memory");
    for (int mode = 0; mode < s.modes; mode++) {
        int64_t offset = trailer_at + 24 + 8 * (mode * s.rows + s.first);
        double *values = (double *)race_part(file, offset, 8, s.own);
        memcpy(s.mode_values + (size_t)mode * s.own, values, 8 * (size_t)s.own);
        free(values);
    }
    fclose(file);
    return s;
}

/* Writes the own part of the solution. */
static void race_write(const char *path, const RaceSystem *s, const double *x) {
    int file = open(path, O_WRONLY | O_CREAT, 0644);
    const char *bytes = (const char *)x;
    size_t left = 8 * (size_t)s->own;
    off_t offset = 8 * (off_t)s->first;
    while (left > 0) {
        ssize_t written = file < 0 ? -1 : pwrite(file, bytes, left, offset);
        if (written <= 0) race_fail("the solution cannot be written");
        bytes += written;
        offset += written;
        left -= written;
    }
    close(file);
}

/* Peak memory of this process in MB (10^6 bytes). */
static double race_peak(void) {
    char line[256];
    double kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0) kib = atof(line + 6);
    if (status != NULL) fclose(status);
    return kib * 1024 / 1e6;
}

/* The line that the benchmark reads. */
static void race_print(double setup, double solve, int iterations, double peak) {
    printf("RESULT %.6f %.6f %d %.1f\n", setup, solve, iterations, peak);
}
#endif
