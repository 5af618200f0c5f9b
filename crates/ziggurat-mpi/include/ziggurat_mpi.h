/* Algebraic multigrid on the ranks of a caller's communicator: one call.
 *
 * Link with -lziggurat_mpi (cargo build --release -p ziggurat-mpi makes libziggurat_mpi.so). MPI is neither initialised nor
 * finalised. A program is in examples/c/poisson.c.
 *
 * Failures. An error on one rank is an error on all ranks: a bad argument, an invalid matrix, too
 * little memory, or a config or block_size that differs between ranks. The call returns
 * ZIGGURAT_MPI_ERROR everywhere, with the message of the lowest rank that failed. If a rank fails at
 * a place where the others wait for its messages, it writes its message to standard error and calls
 * MPI_Abort after 30 seconds; after an internal fault (a panic) at once. So no rank waits for ever.
 * Errors of MPI are fatal on the library's duplicate of comm, whatever the error handler of comm is. */
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

/* Solves A x = b. All ranks of comm call it.
 *
 * rows_here   rows of this rank, which follow those of the previous rank; may be 0
 * block_size  unknowns per node, the same on every rank: 3 for elasticity in space, 1 for a scalar
 *             equation, 0 to detect it from the pattern of the matrix. The unknowns of a node are
 *             numbered one after the other, and each rank has whole nodes.
 * row_ptr     rows_here + 1 numbers; the first is 0
 * columns     global, counted from 0; they increase within each row
 * b, x        rows_here elements each; may be NULL only if rows_here is 0
 * config      JSON with the keys that `ziggurat solve --dump-config` prints, or NULL for the defaults
 * report      may be NULL
 * message     may be NULL; after an error it describes what is wrong, in at most message_length bytes
 *             including the terminating zero */
int ziggurat_mpi_solve(MPI_Comm comm, int64_t rows_here, int64_t block_size, const int64_t *row_ptr,
                       const int64_t *columns, const double *values, const double *b, double *x,
                       const char *config, ziggurat_mpi_report *report, char *message,
                       size_t message_length);

/* The same with a Fortran communicator. */
int ziggurat_mpi_solve_f(MPI_Fint comm, int64_t rows_here, int64_t block_size, const int64_t *row_ptr,
                         const int64_t *columns, const double *values, const double *b, double *x,
                         const char *config, ziggurat_mpi_report *report, char *message,
                         size_t message_length);

#ifdef __cplusplus
}
#endif

#endif
