/* Implicit time steps of the heat equation on n^2 points: (I + dt L) u' = u, with a step that grows, so
 * that the values of the matrix change and its pattern does not. One setup, and an update per step.
 *
 *   mpicc steps.c $(pkg-config --cflags --libs ziggurat_mpi) -o steps && mpirun -n 4 ./steps 200 */
#include "ziggurat_mpi.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t n = argc > 1 ? atoll(argv[1]) : 200;
  const int64_t first = n * n * rank / size, end = n * n * (rank + 1) / size, rows = end - first;
  int64_t *row_ptr = malloc((rows + 1) * sizeof *row_ptr), *columns = malloc((5 * rows + 1) * sizeof *columns);
  double *values = malloc((5 * rows + 1) * sizeof *values), *u = malloc((rows + 1) * sizeof *u);
  double *next = malloc((rows + 1) * sizeof *next);
  if (n < 1 || !row_ptr || !columns || !values || !u || !next) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int64_t k = 0; k < rows; ++k) u[k] = 1.0;

  ziggurat_mpi_solver *solver = ziggurat_mpi_solver_create(MPI_COMM_WORLD);
  for (int step = 0; step < 5 && !status; ++step) {
    const double dt = 10.0 * (step + 1);
    int64_t entries = row_ptr[0] = 0;
    for (int64_t row = first; row < end; ++row) {
      const int64_t neighbours[4] = {row - n, row - 1, row + 1, row + n};
      const int inside[4] = {row >= n, row % n > 0, row % n < n - 1, row < n * n - n};
      columns[entries] = row, values[entries++] = 1.0 + 4.0 * dt;
      for (int k = 0; k < 4; ++k)
        if (inside[k]) columns[entries] = neighbours[k], values[entries++] = -dt;
      row_ptr[row - first + 1] = entries;
    }
    ziggurat_report report;
    status = step ? ziggurat_mpi_solver_update_values(solver, entries, values)
                  : ziggurat_mpi_solver_setup_i64(solver, rows, row_ptr, columns, values, 0);
    if (!status) status = ziggurat_mpi_solver_solve(solver, u, next, 0, &report);
    double heat = 0.0, total;
    for (int64_t k = 0; k < rows; ++k) heat += u[k] = next[k];
    MPI_Allreduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!status && rank == 0)
      printf("step %d: %lld iterations, heat %.6f\n", step, (long long)report.iterations, total);
  }
  if (status && rank == 0) fprintf(stderr, "%s\n", ziggurat_mpi_solver_error(solver));
  ziggurat_mpi_solver_destroy(&solver);
  free(row_ptr), free(columns), free(values), free(u), free(next);
  MPI_Finalize();
  return status;
}
