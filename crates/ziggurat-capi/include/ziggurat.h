/* Ziggurat: algebraic multigrid for large sparse linear systems A x = b, for C and whatever calls C.
 *
 *   ziggurat_solver *solver = ziggurat_create();
 *   if (ziggurat_setup_i32(solver, rows, row_ptr, columns, values, 0) ||
 *       ziggurat_solve(solver, b, x, 0, &report))
 *     fprintf(stderr, "%s\n", ziggurat_error(solver));
 *   ziggurat_destroy(&solver);
 *
 * Link with -lziggurat (`cargo xtask install --prefix DIR` installs the library, this header, a
 * pkg-config file and a CMake package). examples/c/poisson.c is a whole program.
 *
 * Arrays are copied: none is kept after a call. Nothing is printed. A wrong argument, a call in the
 * wrong order or a fault of the library ends with a status and a sentence (ziggurat_error), as long as
 * pointers point to as many elements as said here. Each solver serves one thread at a time: a call
 * while another one is running returns ZIGGURAT_BUSY. Different solvers are independent.
 *
 * For matrices that are distributed over MPI ranks, see ziggurat_mpi.h. */
#ifndef ZIGGURAT_H
#define ZIGGURAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A solver: its options and, after setup, the multigrid levels of a matrix. */
typedef struct ziggurat_solver ziggurat_solver;

/* The return value of most functions: 0 if all went well. */
enum {
  ZIGGURAT_OK = 0,
  ZIGGURAT_ARGUMENT = 1,      /* an argument, an option or the matrix is invalid */
  ZIGGURAT_NOT_CONVERGED = 2, /* x holds the best approximation */
  ZIGGURAT_ORDER = 3,         /* there is no matrix yet */
  ZIGGURAT_SETUP = 4,         /* multigrid cannot be set up for this matrix, or not in stopping.max_seconds */
  ZIGGURAT_BUSY = 5,          /* the solver is in use by another thread, or by its own callback */
  ZIGGURAT_FILE = 6,          /* a file cannot be read or written */
  ZIGGURAT_INTERNAL = 7       /* a fault of the library; the solver has lost its matrix */
};

/* How a solve went. */
typedef struct ziggurat_report {
  int64_t iterations;
  double relative_residual;   /* |b - A x| / |b|, computed anew in double precision */
  double left_out;            /* for a singular A: the part of b that no x reaches, relative to |b| */
  double setup_seconds;
  double solve_seconds;
  int64_t levels;
  double operator_complexity; /* entries on all levels, relative to the finest */
  char stop_reason[32];       /* such as "converged" or "max_iterations" */
} ziggurat_report;

/* The version of the library, such as "0.1.0". */
const char *ziggurat_version(void);

/* Makes a solver with default options. */
ziggurat_solver *ziggurat_create(void);

/* Frees a solver and sets the pointer to NULL. The solver must not be in use. */
void ziggurat_destroy(ziggurat_solver **solver);

/* The reason why the last call failed. Valid until the same thread asks again. */
const char *ziggurat_error(const ziggurat_solver *solver);

/* Options. Those of the iteration (stopping.*, krylov, restart, basis) hold from the next solve
 * on, all others from the next setup on. ziggurat_get_config lists all keys with their values.
 *
 *   ziggurat_set_option(solver, "stopping.rtol", "1e-6");
 *   ziggurat_set_option(solver, "method", "classical");  */
int ziggurat_set_option(ziggurat_solver *solver, const char *key, const char *value);

/* Replaces all options by those of a text in TOML; keys that are missing get their defaults. */
int ziggurat_set_config(ziggurat_solver *solver, const char *toml);

/* Number of threads. By default, or with 0, it is RAYON_NUM_THREADS, else OMP_NUM_THREADS, else
 * SLURM_CPUS_PER_TASK, as they are when the first solver is made, else as many cores as the process is
 * bound to. */
int ziggurat_set_threads(ziggurat_solver *solver, int64_t threads);

/* Knowledge about the unknowns, for the next setup.
 *
 * block_size   unknowns per node, numbered node by node; 0 to detect it, which is the default
 * coordinates  one point per node or per unknown, 1 to 3 numbers each, point by point: rigid-body modes
 *              of an elastic body follow from them. NULL to forget them.
 * near null space  vectors of `rows` numbers, one after the other, that A maps to almost zero. NULL to
 *              forget them; they take precedence over coordinates. */
int ziggurat_set_block_size(ziggurat_solver *solver, int64_t block_size);
int ziggurat_set_coordinates(ziggurat_solver *solver, int64_t dimension, int64_t points,
                             const double *coordinates);
int ziggurat_set_near_null_space(ziggurat_solver *solver, int64_t vectors, int64_t rows,
                                 const double *values);

/* A function that receives log events, with level 1 for warnings, 2 for information, 3 for details;
 * and one that is called after every iteration and stops the solve by returning another number than
 * 0. NULL for none. Both may be called from another thread, while the call waits. They must return
 * normally: no longjmp, no C++ exception. */
typedef void (*ziggurat_log)(int level, const char *text, void *context);
typedef int (*ziggurat_monitor)(int64_t iteration, double relative_residual, void *context);
int ziggurat_set_log(ziggurat_solver *solver, ziggurat_log function, void *context);
int ziggurat_set_monitor(ziggurat_solver *solver, ziggurat_monitor function, void *context);

/* Sets up the solver for a square matrix in compressed rows.
 *
 * row_ptr  rows + 1 numbers, counted from base
 * columns  row_ptr[rows] - base numbers, counted from base; in any order within a row
 * values   as many
 * base     0 or 1 */
int ziggurat_setup_i32(ziggurat_solver *solver, int64_t rows, const int32_t *row_ptr,
                       const int32_t *columns, const double *values, int base);
int ziggurat_setup_i64(ziggurat_solver *solver, int64_t rows, const int64_t *row_ptr,
                       const int64_t *columns, const double *values, int base);

/* New values for the same pattern, in the order of setup: costs a fraction of a setup. After an error,
 * the old values stay. */
int ziggurat_update_values(ziggurat_solver *solver, int64_t entries, const double *values);

/* Solves A x = b. With use_guess, the iteration starts from x instead of zero. report may be NULL. */
int ziggurat_solve(ziggurat_solver *solver, const double *b, double *x, int use_guess,
                   ziggurat_report *report);

/* Solves A^T x = b by the levels of A, as for adjoint equations; the residual is |b - A^T x|. The first
 * call transposes the levels, which doubles the memory of the solver, unless A is symmetric. */
int ziggurat_solve_transposed(ziggurat_solver *solver, const double *b, double *x, int use_guess,
                              ziggurat_report *report);

/* One multigrid cycle, z = M r, as a preconditioner of the caller's own iteration. It is symmetric
 * positive definite if the matrix is. */
int ziggurat_apply(ziggurat_solver *solver, const double *r, double *z);

/* Writes the levels to a file, and reads them in place of a setup. After loading, new values are
 * given with increasing columns in each row. */
int ziggurat_save(ziggurat_solver *solver, const char *path);
int ziggurat_load(ziggurat_solver *solver, const char *path);

/* Number of rows of the matrix; 0 before setup. */
int64_t ziggurat_rows(ziggurat_solver *solver);

/* Texts: the solver's choices and levels, and all options as TOML with comments. At most room bytes
 * are written, with a zero at the end. Returns the length of the whole text, 0 after an error. */
size_t ziggurat_describe(ziggurat_solver *solver, char *buffer, size_t room);
size_t ziggurat_get_config(ziggurat_solver *solver, char *buffer, size_t room);

#ifdef __cplusplus
}
#endif

#endif
