/* -u'' = 1 in two dimensions, on the ranks of a communicator other than the world: every rank
 * assembles its lines of an n x n grid.
 *
 *   mpicc poisson.c -I../../include -L../../../../target/release -lziggurat_mpi -o poisson
 *   LD_LIBRARY_PATH=../../../../target/release mpirun -n 4 ./poisson 200
 */
#include "ziggurat_mpi.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int64_t n = argc > 1 ? atol(argv[1]) : 100;
  int rank, size;
  MPI_Comm comm;
  /* The solver runs on any communicator; here it is a duplicate of the world. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);

  int64_t first = n * rank / size * n, end = n * (rank + 1) / size * n, rows = end - first;
  int64_t *row_ptr = malloc((rows + 1) * sizeof *row_ptr);
  int64_t *columns = malloc((5 * rows + 1) * sizeof *columns);
  double *values = malloc((5 * rows + 1) * sizeof *values);
  double *b = malloc((rows + 1) * sizeof *b), *x = malloc((rows + 1) * sizeof *x);
  int64_t entries = 0;
  row_ptr[0] = 0;
  for (int64_t k = 0; k < rows; ++k) {
    int64_t i = first + k, line = i / n, place = i % n;
    int64_t neighbours[5] = {line > 0 ? i - n : -1, place > 0 ? i - 1 : -1, i, place < n - 1 ? i + 1 : -1,
                             line < n - 1 ? i + n : -1};
    for (int j = 0; j < 5; ++j)
      if (neighbours[j] >= 0) {
        columns[entries] = neighbours[j];
        values[entries++] = neighbours[j] == i ? 4.0 : -1.0;
      }
    row_ptr[k + 1] = entries;
    b[k] = 1.0;
  }

  ziggurat_mpi_report report;
  char message[500] = "";
  int code = ziggurat_mpi_solve(comm, rows, row_ptr, columns, values, b, x, NULL, &report, message, sizeof message);
  if (rank == 0) {
    if (code == ZIGGURAT_MPI_ERROR)
      printf("error: %s\n", message);
    else
      printf("%s in %lld iterations on %d ranks: relative residual %.2e, %lld levels\n",
             code == ZIGGURAT_MPI_CONVERGED ? "converged" : "NOT converged", (long long)report.iterations, size,
             report.relative_residual, (long long)report.levels);
  }
  free(row_ptr), free(columns), free(values), free(b), free(x);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return code;
}
