/* Every function of a handle with null pointers, wrong sizes and in the wrong order, on all ranks or on
 * the last one only: the same status and a sentence on all ranks, never a crash or a hang. Prints a
 * line for each row that ends otherwise. */
#include "ziggurat_mpi.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0, rows_of_table = 0, rank, size, last;

/* One row: the status that a call returned, the expected one, and a part of the sentence. */
static void row(const char *what, const ziggurat_mpi_solver *solver, int status, int expected,
                const char *words) {
  rows_of_table++;
  const char *text = ziggurat_mpi_solver_error(solver);
  if (status != expected || (words[0] && !strstr(text, words))) {
    failures++;
    printf("rank %d, %s: status %d (expected %d): %s\n", rank, what, status, expected, text);
  }
}

static int events = 0;
static void count_events(int level, const char *text, void *context) {
  if (level >= 1 && level <= 3 && text[0]) ++*(int *)context;
}

/* Stops on the last rank only, and uses the solver, which is busy. */
static int stop(int64_t iteration, double residual, void *context) {
  (void)iteration, (void)residual;
  return last && ziggurat_mpi_solver_rows(context) == 0;
}

enum { ROWS = 700, MOST = 3 * ROWS }; /* not a multiple of what ranks own inside */

int main(int argc, char **argv) {
  ziggurat_mpi_solver *early_solver = ziggurat_mpi_solver_create(MPI_COMM_WORLD);
  row("before MPI_Init", NULL, early_solver == NULL, 1, "no solver was made");
  early_solver = ziggurat_mpi_solver_create_f(0);
  row("Fortran before MPI_Init", NULL, early_solver == NULL, 1, "no solver was made");
  row("threads -1", NULL, ziggurat_mpi_set_threads(-1), ZIGGURAT_ARGUMENT, "threads is -1");
  row("threads many", NULL, ziggurat_mpi_set_threads(INT64_MAX), ZIGGURAT_ARGUMENT, "at most 1024");
  row("threads 3", NULL, ziggurat_mpi_set_threads(3), ZIGGURAT_OK, "");
  row("threads 0", NULL, ziggurat_mpi_set_threads(0), ZIGGURAT_OK, "");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  last = rank == size - 1;
  char text[64];
  ziggurat_report report;

  /* -u'' + u on all ranks, counted from 0 and from 1; columns are not sorted. */
  const int64_t first = (int64_t)ROWS * rank, all = (int64_t)ROWS * size;
  static int32_t ptr[ROWS + 1], cols[MOST];
  static int64_t ptr64[ROWS + 1], cols64[MOST];
  static double vals[MOST], twice[MOST], b[ROWS], x[ROWS], z[ROWS], ones[2 * ROWS], points[ROWS];
  int32_t entries = 0;
  ptr64[0] = 1;
  for (int k = 0; k < ROWS; k++) {
    const int64_t i = first + k;
    const int64_t near[3] = {i, i + 1, i - 1};
    for (int j = 0; j < 3; j++) {
      if (near[j] < 0 || near[j] >= all) continue;
      cols[entries] = (int32_t)near[j], cols64[entries] = near[j] + 1;
      vals[entries] = j ? -1.0 : 3.0, twice[entries] = 2 * vals[entries];
      entries++;
    }
    ptr[k + 1] = entries, ptr64[k + 1] = entries + 1;
    b[k] = 1.0 + (i == 0) + (i == all - 1), ones[k] = ones[ROWS + k] = 1.0, points[k] = (double)i;
  }

  /* No solver, on any rank. */
  ziggurat_mpi_solver *none = NULL;
  ziggurat_mpi_solver_destroy(NULL), ziggurat_mpi_solver_destroy(&none);
  none = ziggurat_mpi_solver_create(MPI_COMM_NULL);
  row("null communicator", none, none == NULL, 1, "no solver was made");
  none = ziggurat_mpi_solver_create_f(MPI_Comm_c2f(MPI_COMM_NULL));
  row("null of Fortran", none, none == NULL, 1, "no solver was made");
  row("option", none, ziggurat_mpi_solver_set_option(none, "method", "sa"), ZIGGURAT_ARGUMENT, "");
  row("config", none, ziggurat_mpi_solver_set_config(none, ""), ZIGGURAT_ARGUMENT, "");
  row("block", none, ziggurat_mpi_solver_set_block_size(none, 1), ZIGGURAT_ARGUMENT, "");
  row("points", none, ziggurat_mpi_solver_set_coordinates(none, 1, 1, vals), ZIGGURAT_ARGUMENT, "");
  row("near null", none, ziggurat_mpi_solver_set_near_null_space(none, 1, 3, vals), ZIGGURAT_ARGUMENT, "");
  row("log", none, ziggurat_mpi_solver_set_log(none, NULL, NULL), ZIGGURAT_ARGUMENT, "");
  row("monitor", none, ziggurat_mpi_solver_set_monitor(none, NULL, NULL), ZIGGURAT_ARGUMENT, "");
  row("setup", none, ziggurat_mpi_solver_setup_i32(none, ROWS, ptr, cols, vals, 0), ZIGGURAT_ARGUMENT, "");
  row("update", none, ziggurat_mpi_solver_update_values(none, entries, vals), ZIGGURAT_ARGUMENT, "");
  row("solve", none, ziggurat_mpi_solver_solve(none, b, x, 0, NULL), ZIGGURAT_ARGUMENT, "");
  row("apply", none, ziggurat_mpi_solver_apply(none, b, z), ZIGGURAT_ARGUMENT, "");
  row("save", none, ziggurat_mpi_solver_save(none, argv[0]), ZIGGURAT_ARGUMENT, "");
  row("load", none, ziggurat_mpi_solver_load(none, ROWS, argv[0]), ZIGGURAT_ARGUMENT, "");
  row("rows", none, (int)ziggurat_mpi_solver_rows(none), 0, "");
  row("describe", none, (int)ziggurat_mpi_solver_describe(none, text, sizeof text), 0, "");

  /* Too early. */
  ziggurat_mpi_solver *s = ziggurat_mpi_solver_create(MPI_COMM_WORLD);
  const char *early = "no matrix yet";
  row("threads late", NULL, ziggurat_mpi_set_threads(977), ZIGGURAT_ORDER, "before the first solver");
  row("early update", s, ziggurat_mpi_solver_update_values(s, entries, vals), ZIGGURAT_ORDER, early);
  row("early solve", s, ziggurat_mpi_solver_solve(s, b, x, 0, NULL), ZIGGURAT_ORDER, early);
  row("early apply", s, ziggurat_mpi_solver_apply(s, b, z), ZIGGURAT_ORDER, early);
  row("early save", s, ziggurat_mpi_solver_save(s, "/nowhere/at/all"), ZIGGURAT_ORDER, early);
  row("early describe", s, (int)ziggurat_mpi_solver_describe(s, text, sizeof text), 0, "");
  /* Ranks in different functions: the failure of one ends the others. */
  int status = last ? ziggurat_mpi_solver_solve(s, b, x, 0, NULL)
                    : ziggurat_mpi_solver_setup_i32(s, ROWS, ptr, cols, vals, 0);
  row("other order", s, status, ZIGGURAT_ORDER, early);

  /* Options. */
  row("no key", s, ziggurat_mpi_solver_set_option(s, NULL, "1"), ZIGGURAT_ARGUMENT, "key is a null");
  row("no value", s, ziggurat_mpi_solver_set_option(s, "method", NULL), ZIGGURAT_ARGUMENT, "value is a null");
  row("unknown key", s, ziggurat_mpi_solver_set_option(s, "rtol", "1"), ZIGGURAT_ARGUMENT, "stopping.rtol");
  row("unknown name", s, ziggurat_mpi_solver_set_option(s, "method", "classic"), ZIGGURAT_ARGUMENT, "classical");
  row("bad TOML", s, ziggurat_mpi_solver_set_config(s, "method = ["), ZIGGURAT_ARGUMENT, "TOML");
  row("rtol", s, ziggurat_mpi_solver_set_option(s, "stopping.rtol", "1e-12"), ZIGGURAT_OK, "");
  row("block -1", s, ziggurat_mpi_solver_set_block_size(s, -1), ZIGGURAT_ARGUMENT, "block_size is -1");
  row("dimension", s, ziggurat_mpi_solver_set_coordinates(s, 4, 3, vals), ZIGGURAT_ARGUMENT, "1, 2 or 3");
  row("no vectors", s, ziggurat_mpi_solver_set_near_null_space(s, 0, 3, vals), ZIGGURAT_ARGUMENT, "0 vectors");
  row("many vectors", s, ziggurat_mpi_solver_set_near_null_space(s, INT64_MAX, 0, vals), ZIGGURAT_ARGUMENT,
      "vectors of 0 rows");

  /* Matrices that are wrong on the last rank. */
  const int32_t *null32 = NULL, *p = ptr, *c = cols;
  const double *v = vals;
#define SETUP(rows, p, c, v, base) ziggurat_mpi_solver_setup_i32(s, rows, p, c, v, base)
  row("rows", s, SETUP(last ? -1 : ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "rows is -1");
  row("many rows", s, SETUP(last ? INT64_MAX : ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "memory");
  row("no row_ptr", s, SETUP(ROWS, last ? null32 : p, c, v, 0), ZIGGURAT_ARGUMENT, "row_ptr is a null");
  row("no columns", s, SETUP(ROWS, p, last ? null32 : c, v, 0), ZIGGURAT_ARGUMENT, "columns is a null");
  row("no values", s, SETUP(ROWS, p, c, last ? NULL : v, 0), ZIGGURAT_ARGUMENT, "values is a null");
  row("base", s, SETUP(ROWS, p, c, v, last ? 2 : 0), ZIGGURAT_ARGUMENT, "0 or 1");
  row("wrong base", s, SETUP(ROWS, p, c, v, last ? 1 : 0), ZIGGURAT_ARGUMENT, "counted from 1");
  const int32_t kept = cols[4];
  const double kept_value = vals[4];
  if (last) cols[4] = -1;
  row("negative", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "columns[4] is -1");
  if (last) cols[4] = (int32_t)all;
  row("too wide", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "outside a matrix");
  if (last) cols[4] = cols[3];
  row("twice", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "columns must increase");
  cols[4] = kept;
  if (last) vals[4] = NAN;
  row("NaN", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "NaN");
  vals[4] = kept_value;
  row("still none", s, ziggurat_mpi_solver_solve(s, b, x, 0, NULL), ZIGGURAT_ORDER, early);
  ziggurat_mpi_solver_set_block_size(s, 3);
  row("cut nodes", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "whole nodes");
  ziggurat_mpi_solver_set_block_size(s, 0);
  ziggurat_mpi_solver_set_option(s, "method", "direct");
  row("direct", s, SETUP(ROWS, p, c, v, 0), size > 1 ? ZIGGURAT_ARGUMENT : ZIGGURAT_OK,
      size > 1 ? "needs one process" : "");
  ziggurat_mpi_solver_set_option(s, "method", "sa");
  ziggurat_mpi_solver_set_near_null_space(s, 2, ROWS, ones);
  row("dependent", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "combination");
  ziggurat_mpi_solver_set_near_null_space(s, 1, last ? ROWS - 1 : ROWS, ones);
  row("short vector", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "near-kernel vector");
  ziggurat_mpi_solver_set_near_null_space(s, 1, ROWS, NULL);
  ziggurat_mpi_solver_set_coordinates(s, 1, last ? ROWS - 1 : ROWS, points);
  row("few points", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "one row per node");
  ziggurat_mpi_solver_set_coordinates(s, 1, ROWS, points);
  row("by points", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_OK, "");
  ziggurat_mpi_solver_set_coordinates(s, 1, ROWS, NULL);
  ziggurat_mpi_solver_set_near_null_space(s, 1, ROWS, ones);
  row("by vector", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_OK, "");
  ziggurat_mpi_solver_set_near_null_space(s, 1, ROWS, NULL);
  if (size > 1) {
    ziggurat_mpi_solver_set_option(s, "restart", last ? "20" : "30");
    row("options differ", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "configuration differs");
    ziggurat_mpi_solver_set_option(s, "restart", "30");
    ziggurat_mpi_solver_set_block_size(s, last);
    row("blocks differ", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_ARGUMENT, "block size differs");
    ziggurat_mpi_solver_set_block_size(s, 0);
  }

  /* It works, in every form. */
  ziggurat_mpi_solver_set_log(s, count_events, &events);
  row("setup", s, SETUP(ROWS, p, c, v, 0), ZIGGURAT_OK, "");
  row("events", s, rank > 0 || events > 0, 1, "");
  row("solve", s, ziggurat_mpi_solver_solve(s, b, x, 0, &report), ZIGGURAT_OK, "");
  double apart = 0;
  for (int k = 0; k < ROWS; k++) apart = fmax(apart, fabs(x[k] - 1));
  row("solution", s, apart < 1e-10, 1, "");
  row("reason", s, strcmp(report.stop_reason, "converged"), 0, "");
  row("levels", s, report.levels > 1 && report.operator_complexity > 1, 1, "");
  row("rows here", s, ziggurat_mpi_solver_rows(s) == ROWS, 1, "");
  row("setup 64", s, ziggurat_mpi_solver_setup_i64(s, ROWS, ptr64, cols64, vals, 1), ZIGGURAT_OK, "");
  row("update", s, ziggurat_mpi_solver_update_values(s, entries, twice), ZIGGURAT_OK, "");
  row("solve again", s, ziggurat_mpi_solver_solve(s, b, x, 1, &report), ZIGGURAT_OK, "");
  apart = 0;
  for (int k = 0; k < ROWS; k++) apart = fmax(apart, fabs(x[k] - 0.5));
  row("half of it", s, apart < 1e-10, 1, "");
  row("few values", s, ziggurat_mpi_solver_update_values(s, last ? entries - 1 : entries, vals),
      ZIGGURAT_ARGUMENT, "entries");
  row("no new values", s, ziggurat_mpi_solver_update_values(s, entries, last ? NULL : vals),
      ZIGGURAT_ARGUMENT, "values is a null");
  if (last) vals[4] = INFINITY;
  row("infinite values", s, ziggurat_mpi_solver_update_values(s, entries, vals), ZIGGURAT_ARGUMENT, "inf");
  vals[4] = kept_value;
  row("old values", s, ziggurat_mpi_solver_solve(s, b, x, 1, &report), ZIGGURAT_OK, "");
  row("at once", s, report.iterations == 0, 1, "");

  /* Vectors that are wrong on the last rank. */
  row("no b", s, ziggurat_mpi_solver_solve(s, last ? NULL : b, x, 0, NULL), ZIGGURAT_ARGUMENT, "b is a null");
  row("no x", s, ziggurat_mpi_solver_solve(s, b, last ? NULL : x, 0, NULL), ZIGGURAT_ARGUMENT, "x is a null");
  row("x is b", s, ziggurat_mpi_solver_solve(s, last ? x : b, x, 0, NULL), ZIGGURAT_ARGUMENT, "overlap");
  if (size > 1) /* a guess on one rank only */
    row("guess", s, ziggurat_mpi_solver_solve(s, b, x, last, NULL), ZIGGURAT_ARGUMENT, "guess");
  row("no r", s, ziggurat_mpi_solver_apply(s, last ? NULL : b, z), ZIGGURAT_ARGUMENT, "r is a null");
  row("no z", s, ziggurat_mpi_solver_apply(s, b, last ? NULL : z), ZIGGURAT_ARGUMENT, "z is a null");
  row("z is r", s, ziggurat_mpi_solver_apply(s, last ? z : b, z), ZIGGURAT_ARGUMENT, "overlap");
  row("apply", s, ziggurat_mpi_solver_apply(s, b, z), ZIGGURAT_OK, "");
  row("a cycle", s, fabs(z[ROWS / 2] - 0.5) < 0.4, 1, "");

  /* Files. */
  char file[512];
  snprintf(file, sizeof file, "%s.levels", argv[0]);
  row("no path", s, ziggurat_mpi_solver_save(s, last ? NULL : file), ZIGGURAT_ARGUMENT, "path is a null");
  row("bad path", s, ziggurat_mpi_solver_save(s, "/nowhere/at/all"), ZIGGURAT_FILE, "/nowhere/at/all");
  row("save", s, ziggurat_mpi_solver_save(s, file), ZIGGURAT_OK, "");
  row("no file", s, ziggurat_mpi_solver_load(s, ROWS, last ? NULL : file), ZIGGURAT_ARGUMENT, "path is a null");
  row("few rows", s, ziggurat_mpi_solver_load(s, last ? ROWS - 1 : ROWS, file), ZIGGURAT_ARGUMENT, "rows on all ranks");
  row("minus rows", s, ziggurat_mpi_solver_load(s, last ? -1 : ROWS, file), ZIGGURAT_ARGUMENT, "rows_here is -1");
  row("not levels", s, ziggurat_mpi_solver_load(s, ROWS, argv[0]), ZIGGURAT_FILE, "hierarchy");
  row("load", s, ziggurat_mpi_solver_load(s, ROWS, file), ZIGGURAT_OK, "");
  row("solve loaded", s, ziggurat_mpi_solver_solve(s, b, x, 0, NULL), ZIGGURAT_OK, "");
  row("same solution", s, fabs(x[ROWS / 2] - 0.5) < 1e-10, 1, "");
  if (rank == 0) remove(file);

  /* Monitor, limits, texts. */
  row("monitor", s, ziggurat_mpi_solver_set_monitor(s, stop, s), ZIGGURAT_OK, "");
  row("stopped", s, ziggurat_mpi_solver_solve(s, ones, x, 0, &report), ZIGGURAT_NOT_CONVERGED, "interrupted");
  row("interrupted", s, strcmp(report.stop_reason, "interrupted"), 0, "");
  if (size > 1) {
    ziggurat_mpi_solver_set_monitor(s, last ? stop : NULL, s);
    row("one monitor", s, ziggurat_mpi_solver_solve(s, b, x, 0, NULL), ZIGGURAT_ARGUMENT, "observer");
  }
  ziggurat_mpi_solver_set_monitor(s, NULL, NULL);
  size_t whole = ziggurat_mpi_solver_get_config(s, text, sizeof text);
  row("config", s, whole > 1000 && strlen(text) < sizeof text && strlen(text) > 50, 1, "");
  row("describe", s, ziggurat_mpi_solver_describe(s, text, sizeof text) > 100, 1, "");

  /* All rows on the last rank. */
  ziggurat_mpi_solver *uneven = ziggurat_mpi_solver_create_f(MPI_Comm_c2f(MPI_COMM_WORLD));
  const int32_t nothing[1] = {0}, diagonal[4] = {0, 1, 2, 3}, third[3] = {2, 0, 1};
  row("uneven", uneven, ziggurat_mpi_solver_setup_i32(uneven, last ? 3 : 0, last ? diagonal : nothing,
      last ? third : NULL, last ? ones : NULL, 0), ZIGGURAT_OK, "");
  row("uneven solve", uneven, ziggurat_mpi_solver_solve(uneven, last ? b : NULL, last ? x : NULL, 0, NULL) <= 2, 1, "");
  row("uneven apply", uneven, ziggurat_mpi_solver_apply(uneven, last ? b : NULL, last ? z : NULL), ZIGGURAT_OK, "");
  ziggurat_mpi_solver_destroy(&uneven);
  ziggurat_mpi_solver_destroy(&s);
  row("destroyed", NULL, s == NULL, 1, "");
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d rows end otherwise, of %d on each rank\n", failures, rows_of_table);
  MPI_Finalize();
  return failures ? 1 : 0;
}
