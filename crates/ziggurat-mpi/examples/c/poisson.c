/* The Poisson equation in two dimensions on a communicator of the caller: each rank assembles some
 * lines of an n x n grid. With several unknowns per node, as many coupled equations.
 *
 *   mpicc poisson.c $(pkg-config --cflags --libs ziggurat_mpi) -o poisson
 *   mpirun -n 4 ./poisson 200        one unknown per node
 *   mpirun -n 4 ./poisson 200 2      two unknowns per node
 *   mpirun -n 4 ./poisson 200 2 0    the same, detected by the library
 */
#include "ziggurat_mpi.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int64_t n = argc > 1 ? atol(argv[1]) : 100;
  int64_t unknowns = argc > 2 ? atol(argv[2]) : 1, block_size = argc > 3 ? atol(argv[3]) : unknowns;
  int rank, size;
  MPI_Comm comm;
  /* Any communicator will do, not only the world. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);

  /* Whole lines of nodes, so that each rank has whole nodes. */
  int64_t first = n * rank / size * n, end = n * (rank + 1) / size * n, rows = (end - first) * unknowns;
  int64_t *row_ptr = malloc((rows + 1) * sizeof *row_ptr);
  int64_t *columns = malloc((5 * unknowns * rows + 1) * sizeof *columns);
  double *values = malloc((5 * unknowns * rows + 1) * sizeof *values);
  double *b = malloc((rows + 1) * sizeof *b), *x = malloc((rows + 1) * sizeof *x);
  int64_t entries = 0;
  row_ptr[0] = 0;
  for (int64_t k = 0; k < rows; ++k) {
    int64_t node = first + k / unknowns, own = k % unknowns, line = node / n, place = node % n;
    int64_t neighbours[5] = {line > 0 ? node - n : -1, place > 0 ? node - 1 : -1, node,
                             place < n - 1 ? node + 1 : -1, line < n - 1 ? node + n : -1};
    for (int j = 0; j < 5; ++j)
      for (int64_t other = 0; other < unknowns && neighbours[j] >= 0; ++other) {
        columns[entries] = neighbours[j] * unknowns + other;
        /* Unknowns of a node are coupled to each other half as strongly as to themselves. */
        values[entries++] = (neighbours[j] == node ? 4.0 : -1.0) * (other == own ? 1.0 : 0.5);
      }
    row_ptr[k + 1] = entries;
    b[k] = 1.0;
  }

  ziggurat_mpi_report report;
  char message[500] = "";
  int code = ziggurat_mpi_solve(comm, rows, block_size, row_ptr, columns, values, b, x, NULL, &report, message,
                                sizeof message);
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
