/* Ziggurat on MPI ranks: algebraic multigrid for a matrix whose rows are distributed over the ranks of
 * a caller's communicator, for C and whatever calls C.
 *
 *   ziggurat_mpi_solver *solver = ziggurat_mpi_solver_create(MPI_COMM_WORLD);
 *   if (ziggurat_mpi_solver_setup_i32(solver, rows_here, row_ptr, columns, values, 0) ||
 *       ziggurat_mpi_solver_solve(solver, b, x, 0, &report))
 *     fprintf(stderr, "%s\n", ziggurat_mpi_solver_error(solver));
 *   ziggurat_mpi_solver_destroy(&solver);
 *
 * Link with -lziggurat_mpi (`cargo xtask install --prefix DIR --mpi` installs the library, the headers,
 * a Fortran module, a pkg-config file and a CMake package). MPI is neither initialised nor finalised.
 * examples/c/steps.c is a whole program, and examples/c/poisson.c one with ziggurat_mpi_solve, which
 * sets up and solves in one call. Statuses and the report are those of ziggurat.h, for one process.
 *
 * Arrays are copied: none is kept after a call. Nothing is printed. MPI is called by the calling
 * thread only, so MPI_THREAD_FUNNELED suffices.
 *
 * Failures. An error on one rank is an error on all ranks: a bad argument, an invalid matrix, too
 * little memory, a call in the wrong order, or options that differ between ranks. The call returns the
 * same status everywhere, with the sentence of the lowest rank that failed. The exception is what a
 * rank cannot tell the others: a NULL solver, and a solver that another thread is using. If a rank
 * fails at a place where the others wait for its messages, it writes its sentence to standard error
 * and calls MPI_Abort after 30 seconds; after an internal fault (a panic) at once. So no rank waits for
 * ever. Errors of MPI are fatal on the library's duplicate of comm, whatever the error handler of comm
 * is. */
#ifndef ZIGGURAT_MPI_H
#define ZIGGURAT_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <ziggurat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of threads of this rank, for all its solvers; to be called before the first one is made,
 * also before MPI_Init. By default, or with 0, it is RAYON_NUM_THREADS, else OMP_NUM_THREADS, else
 * SLURM_CPUS_PER_TASK, as they are on the first rank of the communicator of the first solver; else the
 * cores to which its ranks are bound, divided by the ranks that share them. Returns ZIGGURAT_ORDER if
 * another number of threads is running; ziggurat_mpi_solver_error(NULL) has the sentence. */
int ziggurat_mpi_set_threads(int64_t threads);

/* A solver: its options and, after setup, the multigrid levels of a distributed matrix. */
typedef struct ziggurat_mpi_solver ziggurat_mpi_solver;

/* Makes a solver with default options on a duplicate of comm; the second function takes a communicator
 * of Fortran, for the module fortran/ziggurat_mpi.f90. All ranks of comm call it. Returns NULL if MPI
 * is not initialised, or if comm is not an intracommunicator; ziggurat_mpi_solver_error(NULL) then
 * says so. */
ziggurat_mpi_solver *ziggurat_mpi_solver_create(MPI_Comm comm);
ziggurat_mpi_solver *ziggurat_mpi_solver_create_f(MPI_Fint comm);

/* Frees a solver and sets the pointer to NULL. All ranks call it, before MPI_Finalize. */
void ziggurat_mpi_solver_destroy(ziggurat_mpi_solver **solver);

/* The reason why the last call failed; with NULL, why this thread could not make a solver or
 * set threads. Valid until the same thread asks again. */
const char *ziggurat_mpi_solver_error(const ziggurat_mpi_solver *solver);

/* Options, as ziggurat_set_option and ziggurat_set_config of ziggurat.h. They concern the calling
 * rank; setup and solve refuse options that differ between ranks. The method cpr, a new order of the
 * unknowns, refinement, and the fallback to a stronger smoother or to sparse factors are for
 * ziggurat.h; direct needs a communicator of one rank. */
int ziggurat_mpi_solver_set_option(ziggurat_mpi_solver *solver, const char *key, const char *value);
int ziggurat_mpi_solver_set_config(ziggurat_mpi_solver *solver, const char *toml);

/* Knowledge about the unknowns of this rank, for the next setup.
 *
 * block_size   unknowns per node, the same on every rank, numbered node by node; each rank has whole
 *              nodes. 0 to detect it, which is the default; if ranks then cut nodes apart, it is 1.
 * coordinates  one point per node or per unknown of this rank, 1 to 3 numbers each, point by point:
 *              rigid-body modes of an elastic body follow from them. NULL to forget them.
 * near null space  vectors of rows_here numbers, one after the other, that A maps to almost zero. NULL
 *              to forget them; they take precedence over coordinates. A rank without rows gives any
 *              other pointer and the number of vectors. */
int ziggurat_mpi_solver_set_block_size(ziggurat_mpi_solver *solver, int64_t block_size);
int ziggurat_mpi_solver_set_coordinates(ziggurat_mpi_solver *solver, int64_t dimension, int64_t points,
                                        const double *coordinates);
int ziggurat_mpi_solver_set_near_null_space(ziggurat_mpi_solver *solver, int64_t vectors,
                                            int64_t rows_here, const double *values);

/* Functions that receive log events of this rank, and that are called after every iteration; see
 * ziggurat.h. Either all ranks or none have a monitor. If it asks to stop on one rank, all stop. */
int ziggurat_mpi_solver_set_log(ziggurat_mpi_solver *solver, ziggurat_log function, void *context);
int ziggurat_mpi_solver_set_monitor(ziggurat_mpi_solver *solver, ziggurat_monitor function,
                                    void *context);

/* Sets up the solver for a square matrix. All ranks call it.
 *
 * rows_here  rows of this rank, which follow those of the previous rank; may be 0
 * row_ptr    rows_here + 1 numbers, counted from base
 * columns    row_ptr[rows_here] - base global numbers, counted from base; in any order within a row
 * values     as many
 * base       0 or 1 */
int ziggurat_mpi_solver_setup_i32(ziggurat_mpi_solver *solver, int64_t rows_here,
                                  const int32_t *row_ptr, const int32_t *columns,
                                  const double *values, int base);
int ziggurat_mpi_solver_setup_i64(ziggurat_mpi_solver *solver, int64_t rows_here,
                                  const int64_t *row_ptr, const int64_t *columns,
                                  const double *values, int base);

/* New values for the rows of this rank, in the order of setup. Coarsening, interpolation and the
 * distribution of the levels are kept. After an error, the old values stay. All ranks call it. */
int ziggurat_mpi_solver_update_values(ziggurat_mpi_solver *solver, int64_t entries_here,
                                      const double *values);

/* Solves A x = b; b and x have an element for each row of this rank. With use_guess, the same on all
 * ranks, the iteration starts from x instead of zero. report may be NULL; its seconds are those of the
 * calling rank. All ranks call it. */
int ziggurat_mpi_solver_solve(ziggurat_mpi_solver *solver, const double *b, double *x, int use_guess,
                              ziggurat_report *report);

/* One multigrid cycle, z = M r, as a preconditioner of the caller's own iteration. It is symmetric
 * positive definite if the matrix is. All ranks call it. */
int ziggurat_mpi_solver_apply(ziggurat_mpi_solver *solver, const double *r, double *z);

/* Writes the levels to a file, and reads them in place of a setup; rank 0 does both. The file is that
 * of one process, so any number of ranks can read it, and ziggurat_load, and ranks a file of
 * ziggurat_save. rows_here are the rows of this rank, as in setup. After loading, new values are given
 * with increasing columns in each row. All ranks call it. */
int ziggurat_mpi_solver_save(ziggurat_mpi_solver *solver, const char *path);
int ziggurat_mpi_solver_load(ziggurat_mpi_solver *solver, int64_t rows_here, const char *path);

/* Number of rows of this rank; 0 before setup. */
int64_t ziggurat_mpi_solver_rows(ziggurat_mpi_solver *solver);

/* Texts: the solver's choices and its levels over all ranks, and all options as TOML with comments. At
 * most room bytes are written, with a zero at the end. Returns the length of the whole text, 0 after
 * an error. */
size_t ziggurat_mpi_solver_describe(ziggurat_mpi_solver *solver, char *buffer, size_t room);
size_t ziggurat_mpi_solver_get_config(ziggurat_mpi_solver *solver, char *buffer, size_t room);

/* Setup and solve in one call. */

/* How that call went. Seconds are those of the calling rank. */
typedef struct {
  int64_t iterations;
  double relative_residual; /* |b - A x| / |b|, computed afresh */
  int64_t levels;
  double setup_seconds;
  double solve_seconds;
} ziggurat_mpi_report;

/* Its return value: the same on every rank. */
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
