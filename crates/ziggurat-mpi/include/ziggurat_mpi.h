/* Algebraic multigrid on the ranks of a caller's communicator: one call.
 *
 * Link with -lziggurat_mpi (cargo build --release -p ziggurat-mpi makes libziggurat_mpi.so). MPI is neither initialised nor
 * finalised. A program is in examples/c/poisson.c. */
#ifndef ZIGGURAT_MPI_H
#define ZIGGURAT_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a solve went. Seconds are those of the calling rank. */
typedef struct {
  int64_t iterations;
  double relative_residual; /* |b - A x| / |b|, computed afresh */
  int64_t levels;
  double setup_seconds;
  double solve_seconds;
} ziggurat_mpi_report;

/* What a call returns: the same on every rank. */
enum { ZIGGURAT_MPI_CONVERGED = 0, ZIGGURAT_MPI_ERROR = 1, ZIGGURAT_MPI_NOT_CONVERGED = 2 };

/* Solves A x = b. All ranks of comm call it. Every rank gives rows_here rows, which follow those of the rank before;
 * a rank may have none. row_ptr has rows_here + 1 numbers from 0 on; columns are global, from 0 on, and increase within
 * each row. b and x have rows_here elements. config is JSON as in `ziggurat solve --dump-config`, or NULL for
 * everything automatic. report and message may be NULL; a message says what went wrong. */
int ziggurat_mpi_solve(MPI_Comm comm, int64_t rows_here, const int64_t *row_ptr, const int64_t *columns,
                       const double *values, const double *b, double *x, const char *config,
                       ziggurat_mpi_report *report, char *message, size_t message_length);

/* The same with a communicator of Fortran. */
int ziggurat_mpi_solve_f(MPI_Fint comm, int64_t rows_here, const int64_t *row_ptr, const int64_t *columns,
                         const double *values, const double *b, double *x, const char *config,
                         ziggurat_mpi_report *report, char *message, size_t message_length);

#ifdef __cplusplus
}
#endif

#endif
