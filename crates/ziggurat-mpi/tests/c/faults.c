/* Calls the library with a fault on rank 1, which the first argument names. Prints what each rank got. */
#include "ziggurat_mpi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *fault = rank == 1 && argc > 1 ? argv[1] : "";
  enum { ROWS = 40 };
  int64_t row_ptr[ROWS + 1], columns[ROWS];
  double values[ROWS], b[ROWS], x[ROWS];
  row_ptr[0] = 0;
  for (int64_t k = 0; k < ROWS; ++k) {
    row_ptr[k + 1] = k + 1, columns[k] = rank * ROWS + k;
    values[k] = 2.0, b[k] = 1.0;
  }
  int64_t rows = ROWS, block_size = 1;
  int64_t *row_ptr_given = row_ptr, *columns_given = columns;
  double *values_given = values, *b_given = b, *x_given = x;
  const char *config = NULL;
  MPI_Comm comm = MPI_COMM_WORLD;
  char message[500] = "";
  if (!strcmp(fault, "row_ptr")) row_ptr_given = NULL;
  if (!strcmp(fault, "columns")) columns_given = NULL;
  if (!strcmp(fault, "values")) values_given = NULL;
  if (!strcmp(fault, "b")) b_given = NULL;
  if (!strcmp(fault, "x")) x_given = NULL;
  if (!strcmp(fault, "aligned")) b_given = (double *)((char *)b + 1);
  if (!strcmp(fault, "rows")) rows = -3;
  if (!strcmp(fault, "many")) rows = INT64_MAX;
  if (!strcmp(fault, "decreases")) row_ptr[3] = 1;
  if (!strcmp(fault, "entries")) row_ptr[ROWS] = INT64_MAX;
  if (!strcmp(fault, "first")) row_ptr[0] = 1;
  if (!strcmp(fault, "column")) columns[5] = -1;
  if (!strcmp(fault, "block")) block_size = 2;
  if (!strcmp(fault, "detect")) block_size = 0;
  if (!strcmp(fault, "json")) config = "{";
  if (!strcmp(fault, "config")) config = "{\"stopping\": {\"rtol\": 1e-5}}";
  int code = ziggurat_mpi_solve(comm, rows, block_size, row_ptr_given, columns_given, values_given, b_given,
                                x_given, config, NULL, message, sizeof message);
  printf("rank %d: %d %s\n", rank, code, message);
  /* All ranks are here, and can communicate. */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
