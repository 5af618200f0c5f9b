/* Algebraic multigrid on the ranks of a caller's communicator: one call.
 *
 * Link with -lziggurat_mpi (`cargo build --release -p ziggurat-mpi` builds libziggurat_mpi.so).
 * The library neither initialises nor finalises MPI. An example is examples/c/poisson.c. */
#ifndef ZIGGURAT_MPI_H
#define ZIGGURAT_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The outcome of a solve. Seconds are those of the calling rank. */
typedef struct {
  int64_t iterations;
  double relative_residual; /* |b - A x| / |b|, recomputed from x */
  int64_t levels;
  double setup_seconds;
  double solve_seconds;
} ziggurat_mpi_report;

/* The return values: the same on every rank. */
enum { ZIGGURAT_MPI_CONVERGED = 0, ZIGGURAT_MPI_ERROR = 1, ZIGGURAT_MPI_NOT_CONVERGED = 2 };

/* Solves A x = b. All ranks of comm call it. Every rank gives rows_here rows, which follow those of
 * the previous rank; a rank may have none. row_ptr has rows_here + 1 numbers and starts at 0.
 * columns are global ids from 0 on, which increase within each row. b and x have rows_here
 * elements. config is JSON as printed by `ziggurat solve --dump-config`, or NULL for automatic
 * settings. report and message may be NULL. On an error, message receives at most message_length
 * bytes of text, including the terminating zero. */
int ziggurat_mpi_solve(MPI_Comm comm, int64_t rows_here, const int64_t *row_ptr, const int64_t *columns,
                       const double *values, const double *b, double *x, const char *config,
                       ziggurat_mpi_report *report, char *message, size_t message_length);

/* The same with a Fortran communicator. */
int ziggurat_mpi_solve_f(MPI_Fint comm, int64_t rows_here, const int64_t *row_ptr, const int64_t *columns,
                         const double *values, const double *b, double *x, const char *config,
                         ziggurat_mpi_report *report, char *message, size_t message_length);

#ifdef __cplusplus
}
#endif

#endif
