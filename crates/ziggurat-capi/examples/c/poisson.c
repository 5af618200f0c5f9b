/* Solves the Poisson equation on a square of n x n points, then with another coefficient.
 *
 *   cc poisson.c $(pkg-config --cflags --libs ziggurat) -o poisson && ./poisson 300
 */
#include <stdio.h>
#include <stdlib.h>
#include <ziggurat.h>

static int fail(const ziggurat_solver *solver) {
  fprintf(stderr, "%s\n", ziggurat_error(solver));
  return 1;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 300;
  if (n < 1 || n > 5000) {
    fprintf(stderr, "usage: poisson [points per side, 1 to 5000]\n");
    return 1;
  }
  int rows = n * n, entries = 0;
  int *row_ptr = malloc((rows + 1) * sizeof *row_ptr), *columns = malloc(5 * rows * sizeof *columns);
  double *values = malloc(5 * rows * sizeof *values);
  double *b = malloc(rows * sizeof *b), *x = malloc(rows * sizeof *x);
  if (!row_ptr || !columns || !values || !b || !x) return 1;
  for (int row = 0; row < rows; row++) {
    int i = row % n, j = row / n;
    row_ptr[row] = entries;
    /* Columns may be in any order: the diagonal comes first here. */
    columns[entries] = row, values[entries++] = 4.0;
    if (j > 0) columns[entries] = row - n, values[entries++] = -1.0;
    if (i > 0) columns[entries] = row - 1, values[entries++] = -1.0;
    if (i < n - 1) columns[entries] = row + 1, values[entries++] = -1.0;
    if (j < n - 1) columns[entries] = row + n, values[entries++] = -1.0;
    b[row] = 1.0;
  }
  row_ptr[rows] = entries;

  ziggurat_report report;
  ziggurat_solver *solver = ziggurat_create();
  if (ziggurat_set_option(solver, "stopping.rtol", "1e-10") ||
      ziggurat_setup_i32(solver, rows, row_ptr, columns, values, 0) ||
      ziggurat_solve(solver, b, x, 0, &report))
    return fail(solver);
  printf("%d rows: %s in %d iterations, relative residual %.1e, setup %.3f s, solve %.3f s\n", rows,
         report.stop_reason, (int)report.iterations, report.relative_residual, report.setup_seconds,
         report.solve_seconds);
  double middle = x[rows / 2 + n / 2];

  /* A time step: other values, the same pattern, and the last solution as the guess. */
  for (int k = 0; k < entries; k++) values[k] *= 2.0;
  if (ziggurat_update_values(solver, entries, values) || ziggurat_solve(solver, b, x, 1, &report))
    return fail(solver);
  printf("twice the coefficient: %d iterations, x in the middle %.6f, half of %.6f\n",
         (int)report.iterations, x[rows / 2 + n / 2], middle);

  ziggurat_destroy(&solver);
  free(row_ptr), free(columns), free(values), free(b), free(x);
  return 0;
}
