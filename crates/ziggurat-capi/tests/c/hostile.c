/* Every function with null pointers, wrong sizes, in the wrong order and from two threads: a status
 * and a sentence, never a crash. Prints a line for each row that ends otherwise. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ziggurat.h>

static int failures = 0, rows_of_table = 0;

/* One row: the status that a call returned, the expected one, and a part of the sentence. */
static void row(const char *what, const ziggurat_solver *solver, int status, int expected,
                const char *words) {
  rows_of_table++;
  const char *text = ziggurat_error(solver);
  if (status != expected || (words[0] && !strstr(text, words))) {
    failures++;
    printf("%s: status %d (expected %d): %s\n", what, status, expected, text);
  }
}

/* 2 -1 / -1 2 -1 / -1 2, counted from 0. */
enum { N = 3, ENTRIES = 7 };
static const int32_t ptr[N + 1] = {0, 2, 5, 7}, cols[ENTRIES] = {0, 1, 0, 1, 2, 1, 2};
static const int64_t ptr64[N + 1] = {1, 3, 6, 8}, cols64[ENTRIES] = {1, 2, 1, 2, 3, 2, 3};
static const double vals[ENTRIES] = {2, -1, -1, 2, -1, -1, 2}, b[N] = {1, 0, 1};

static int stop(int64_t iteration, double residual, void *context) {
  (void)iteration, (void)residual;
  /* The solver is in use: a call from its own callback is refused. */
  return ziggurat_apply(context, b, NULL) == ZIGGURAT_BUSY ? 1 : 0;
}

static void count_events(int level, const char *text, void *context) {
  if (level >= 1 && level <= 3 && text[0]) ++*(int *)context;
}

/* A second thread, which uses the solver at the same time. */
static void *other(void *solver) {
  double x[N];
  for (int k = 0; k < 2000; k++) {
    int status = ziggurat_solve(solver, b, x, 0, NULL);
    if (status != ZIGGURAT_OK && status != ZIGGURAT_BUSY) return "wrong";
    if (status == ZIGGURAT_BUSY) (void)ziggurat_error(solver);
  }
  return NULL;
}

int main(int argc, char **argv) {
  const char *file = argc > 1 ? argv[1] : "hierarchy.zig";
  double x[N] = {0, 0, 0}, z[N];
  char text[64];
  ziggurat_report report;

  /* No solver. */
  ziggurat_solver *none = NULL;
  ziggurat_destroy(NULL), ziggurat_destroy(&none);
  const char *null = "null pointer";
  row("option", none, ziggurat_set_option(none, "method", "sa"), ZIGGURAT_ARGUMENT, null);
  row("config", none, ziggurat_set_config(none, ""), ZIGGURAT_ARGUMENT, null);
  row("threads", none, ziggurat_set_threads(none, 1), ZIGGURAT_ARGUMENT, null);
  row("block", none, ziggurat_set_block_size(none, 1), ZIGGURAT_ARGUMENT, null);
  row("coordinates", none, ziggurat_set_coordinates(none, 3, 1, vals), ZIGGURAT_ARGUMENT, null);
  row("near null", none, ziggurat_set_near_null_space(none, 1, 3, vals), ZIGGURAT_ARGUMENT, null);
  row("log", none, ziggurat_set_log(none, NULL, NULL), ZIGGURAT_ARGUMENT, null);
  row("monitor", none, ziggurat_set_monitor(none, NULL, NULL), ZIGGURAT_ARGUMENT, null);
  row("setup", none, ziggurat_setup_i32(none, N, ptr, cols, vals, 0), ZIGGURAT_ARGUMENT, null);
  row("update", none, ziggurat_update_values(none, ENTRIES, vals), ZIGGURAT_ARGUMENT, null);
  row("solve", none, ziggurat_solve(none, b, x, 0, NULL), ZIGGURAT_ARGUMENT, null);
  row("transposed", none, ziggurat_solve_transposed(none, b, x, 0, NULL), ZIGGURAT_ARGUMENT, null);
  row("apply", none, ziggurat_apply(none, b, z), ZIGGURAT_ARGUMENT, null);
  row("save", none, ziggurat_save(none, file), ZIGGURAT_ARGUMENT, null);
  row("load", none, ziggurat_load(none, file), ZIGGURAT_ARGUMENT, null);
  row("rows", none, (int)ziggurat_rows(none), 0, "");
  row("describe", none, (int)ziggurat_describe(none, text, sizeof text), 0, "");

  /* Too early. */
  ziggurat_solver *s = ziggurat_create();
  const char *early = "no matrix yet";
  row("early update", s, ziggurat_update_values(s, ENTRIES, vals), ZIGGURAT_ORDER, early);
  row("early solve", s, ziggurat_solve(s, b, x, 0, NULL), ZIGGURAT_ORDER, early);
  row("early transposed", s, ziggurat_solve_transposed(s, b, x, 0, NULL), ZIGGURAT_ORDER, early);
  row("early apply", s, ziggurat_apply(s, b, z), ZIGGURAT_ORDER, early);
  row("early save", s, ziggurat_save(s, file), ZIGGURAT_ORDER, early);
  row("early describe", s, (int)ziggurat_describe(s, text, sizeof text), 0, "");

  /* Options. */
  row("no key", s, ziggurat_set_option(s, NULL, "1"), ZIGGURAT_ARGUMENT, "key is a null");
  row("no value", s, ziggurat_set_option(s, "method", NULL), ZIGGURAT_ARGUMENT, "value is a null");
  row("unknown key", s, ziggurat_set_option(s, "rtol", "1e-6"), ZIGGURAT_ARGUMENT, "stopping.rtol");
  row("unknown name", s, ziggurat_set_option(s, "method", "classic"), ZIGGURAT_ARGUMENT, "classical");
  row("bad number", s, ziggurat_set_option(s, "restart", "-1"), ZIGGURAT_ARGUMENT, "restart");
  row("bad text", s, ziggurat_set_option(s, "method", "\xff"), ZIGGURAT_ARGUMENT, "UTF-8");
  row("empty key", s, ziggurat_set_option(s, "", ""), ZIGGURAT_ARGUMENT, "key");
  row("bad TOML", s, ziggurat_set_config(s, "method = ["), ZIGGURAT_ARGUMENT, "TOML");
  row("rtol", s, ziggurat_set_option(s, "stopping.rtol", "1e-12"), ZIGGURAT_OK, "");
  row("threads -1", s, ziggurat_set_threads(s, -1), ZIGGURAT_ARGUMENT, "threads is -1");
  row("threads many", s, ziggurat_set_threads(s, INT64_MAX), ZIGGURAT_ARGUMENT, "at most");
  row("threads 2", s, ziggurat_set_threads(s, 2), ZIGGURAT_OK, "");
  row("block -1", s, ziggurat_set_block_size(s, -1), ZIGGURAT_ARGUMENT, "block_size is -1");
  row("dimension", s, ziggurat_set_coordinates(s, 4, 3, vals), ZIGGURAT_ARGUMENT, "1, 2 or 3");
  row("points", s, ziggurat_set_coordinates(s, 3, -1, vals), ZIGGURAT_ARGUMENT, "points is -1");
  row("many points", s, ziggurat_set_coordinates(s, 3, INT64_MAX, vals), ZIGGURAT_ARGUMENT, "memory");
  row("no vectors", s, ziggurat_set_near_null_space(s, 0, 3, vals), ZIGGURAT_ARGUMENT, "0 vectors");

  /* Matrices. */
  const int32_t down[N + 1] = {0, 5, 2, 7}, wide[ENTRIES] = {0, 1, 0, 1, 3, 1, 2};
  const int32_t twice[ENTRIES] = {0, 0, 0, 1, 2, 1, 2}, negative[ENTRIES] = {-1, 1, 0, 1, 2, 1, 2};
  const double nan_vals[ENTRIES] = {NAN, -1, -1, 2, -1, -1, 2};
  row("rows", s, ziggurat_setup_i32(s, -1, ptr, cols, vals, 0), ZIGGURAT_ARGUMENT, "rows is -1");
  row("many rows", s, ziggurat_setup_i32(s, INT64_MAX, ptr, cols, vals, 0), ZIGGURAT_ARGUMENT, "memory");
  row("no row_ptr", s, ziggurat_setup_i32(s, N, NULL, cols, vals, 0), ZIGGURAT_ARGUMENT, "row_ptr is a null");
  row("no columns", s, ziggurat_setup_i32(s, N, ptr, NULL, vals, 0), ZIGGURAT_ARGUMENT, "columns is a null");
  row("no values", s, ziggurat_setup_i32(s, N, ptr, cols, NULL, 0), ZIGGURAT_ARGUMENT, "values is a null");
  row("base 2", s, ziggurat_setup_i32(s, N, ptr, cols, vals, 2), ZIGGURAT_ARGUMENT, "0 or 1");
  row("wrong base", s, ziggurat_setup_i32(s, N, ptr, cols, vals, 1), ZIGGURAT_ARGUMENT, "counted from 1");
  row("decreasing", s, ziggurat_setup_i32(s, N, down, cols, vals, 0), ZIGGURAT_ARGUMENT, "decreases at row 1");
  row("too wide", s, ziggurat_setup_i32(s, N, ptr, wide, vals, 0), ZIGGURAT_ARGUMENT, "3");
  row("negative", s, ziggurat_setup_i32(s, N, ptr, negative, vals, 0), ZIGGURAT_ARGUMENT, "columns[0] is -1");
  row("twice", s, ziggurat_setup_i32(s, N, ptr, twice, vals, 0), ZIGGURAT_ARGUMENT, "row 0");
  row("NaN", s, ziggurat_setup_i32(s, N, ptr, cols, nan_vals, 0), ZIGGURAT_ARGUMENT, "NaN");
  row("misaligned", s, ziggurat_setup_i32(s, N, (const int32_t *)((const char *)ptr + 1), cols, vals, 0),
      ZIGGURAT_ARGUMENT, "aligned");
  row("still none", s, ziggurat_solve(s, b, x, 0, NULL), ZIGGURAT_ORDER, early);
  row("block 2", s, ziggurat_set_block_size(s, 2), ZIGGURAT_OK, "");
  row("blocks of 2", s, ziggurat_setup_i32(s, N, ptr, cols, vals, 0), ZIGGURAT_ARGUMENT, "2");
  row("block 0", s, ziggurat_set_block_size(s, 0), ZIGGURAT_OK, "");

  /* It works, in every form. */
  row("setup", s, ziggurat_setup_i32(s, N, ptr, cols, vals, 0), ZIGGURAT_OK, "");
  row("solve", s, ziggurat_solve(s, b, x, 0, &report), ZIGGURAT_OK, "");
  row("solution", s, fabs(x[0] - 1) + fabs(x[1] - 1) + fabs(x[2] - 1) < 1e-11, 1, "");
  row("reason", s, strcmp(report.stop_reason, "converged"), 0, "");
  row("rows 3", s, ziggurat_rows(s) == N ? 0 : 1, 0, "");
  row("setup 64", s, ziggurat_setup_i64(s, N, ptr64, cols64, vals, 1), ZIGGURAT_OK, "");
  const int32_t mixed[ENTRIES] = {1, 0, 2, 0, 1, 2, 1};
  const double mixed_vals[ENTRIES] = {-1, 2, -1, -1, 2, 2, -1};
  row("unsorted", s, ziggurat_setup_i32(s, N, ptr, mixed, mixed_vals, 0), ZIGGURAT_OK, "");
  double half[ENTRIES];
  for (int k = 0; k < ENTRIES; k++) half[k] = mixed_vals[k] / 2;
  row("update", s, ziggurat_update_values(s, ENTRIES, half), ZIGGURAT_OK, "");
  row("solve again", s, ziggurat_solve(s, b, x, 0, NULL), ZIGGURAT_OK, "");
  row("solution again", s, fabs(x[0] - 2) + fabs(x[1] - 2) + fabs(x[2] - 2) < 1e-11, 1, "");
  row("few values", s, ziggurat_update_values(s, 6, half), ZIGGURAT_ARGUMENT, "7 entries");
  row("no new values", s, ziggurat_update_values(s, ENTRIES, NULL), ZIGGURAT_ARGUMENT, "values is a null");
  row("NaN values", s, ziggurat_update_values(s, ENTRIES, nan_vals), ZIGGURAT_ARGUMENT, "NaN");
  row("old values", s, ziggurat_solve(s, b, x, 0, NULL), ZIGGURAT_OK, "");

  /* Vectors. */
  row("no b", s, ziggurat_solve(s, NULL, x, 0, NULL), ZIGGURAT_ARGUMENT, "b is a null");
  row("no x", s, ziggurat_solve(s, b, NULL, 0, NULL), ZIGGURAT_ARGUMENT, "x is a null");
  row("x is b", s, ziggurat_solve(s, x, x, 0, NULL), ZIGGURAT_ARGUMENT, "overlap");
  row("no transposed b", s, ziggurat_solve_transposed(s, NULL, x, 0, NULL), ZIGGURAT_ARGUMENT, "b is a null");
  row("no transposed x", s, ziggurat_solve_transposed(s, b, NULL, 0, NULL), ZIGGURAT_ARGUMENT, "x is a null");
  row("transposed x is b", s, ziggurat_solve_transposed(s, x, x, 0, NULL), ZIGGURAT_ARGUMENT, "overlap");
  row("symmetric", s, ziggurat_solve_transposed(s, b, x, 0, &report), ZIGGURAT_OK, "");
  row("its solution", s, fabs(x[0] - 2) + fabs(x[1] - 2) + fabs(x[2] - 2) < 1e-11, 1, "");
  row("no r", s, ziggurat_apply(s, NULL, z), ZIGGURAT_ARGUMENT, "r is a null");
  row("no z", s, ziggurat_apply(s, b, NULL), ZIGGURAT_ARGUMENT, "z is a null");
  row("z is r", s, ziggurat_apply(s, z, z + 1), ZIGGURAT_ARGUMENT, "overlap");
  row("apply", s, ziggurat_apply(s, b, z), ZIGGURAT_OK, "");
  const double infinite[N] = {1, INFINITY, 1};
  row("infinite b", s, ziggurat_solve(s, infinite, x, 0, NULL) != ZIGGURAT_OK, 1, "");
  row("guess", s, ziggurat_solve(s, b, x, 1, NULL) <= ZIGGURAT_NOT_CONVERGED, 1, "");

  /* The solver has another order: 0, 2, 1. Values and vectors keep the caller's order. */
  const int32_t path_ptr[N + 1] = {0, 2, 4, 7}, path_cols[ENTRIES] = {0, 2, 1, 2, 0, 1, 2};
  const double path_vals[ENTRIES] = {3, -1, 4, -1, -1, -1, 5}, path_b[N] = {0, 5, 12};
  row("reorder", s, ziggurat_set_option(s, "reorder", "on"), ZIGGURAT_OK, "");
  row("reordered", s, ziggurat_setup_i32(s, N, path_ptr, path_cols, half, 0), ZIGGURAT_OK, "");
  row("its values", s, ziggurat_update_values(s, ENTRIES, path_vals), ZIGGURAT_OK, "");
  row("solve it", s, ziggurat_solve(s, path_b, x, 0, NULL), ZIGGURAT_OK, "");
  row("its solution", s, fabs(x[0] - 1) + fabs(x[1] - 2) + fabs(x[2] - 3) < 1e-9, 1, "");
  row("its cycle", s, ziggurat_apply(s, path_b, z), ZIGGURAT_OK, "");
  row("its order", s, fabs(z[0] - 1) + fabs(z[1] - 2) + fabs(z[2] - 3) < 1e-9, 1, "");
  row("given order", s, ziggurat_set_option(s, "reorder", "auto"), ZIGGURAT_OK, "");

  /* The transpose of 2 -1 / 2 -1 / 2, with new values and from a guess. */
  const int32_t upper_ptr[N + 1] = {0, 2, 4, 5}, upper_cols[5] = {0, 1, 1, 2, 2};
  const double upper_vals[5] = {2, -1, 2, -1, 2}, lower_b[N] = {2, 3, 4}, double_b[N] = {4, 6, 8};
  row("upper", s, ziggurat_setup_i32(s, N, upper_ptr, upper_cols, upper_vals, 0), ZIGGURAT_OK, "");
  row("lower", s, ziggurat_solve_transposed(s, lower_b, x, 0, &report), ZIGGURAT_OK, "");
  row("lower solution", s, fabs(x[0] - 1) + fabs(x[1] - 2) + fabs(x[2] - 3) < 1e-9, 1, "");
  row("lower residual", s, report.relative_residual <= 1e-12, 1, "");
  const double twice_vals[5] = {4, -2, 4, -2, 4};
  row("twice upper", s, ziggurat_update_values(s, 5, twice_vals), ZIGGURAT_OK, "");
  row("twice lower", s, ziggurat_solve_transposed(s, double_b, x, 1, &report), ZIGGURAT_OK, "");
  row("from a guess", s, report.iterations == 0, 1, "");
  row("same solution", s, fabs(x[0] - 1) + fabs(x[1] - 2) + fabs(x[2] - 3) < 1e-9, 1, "");

  /* Callbacks, limits, files, texts. */
  int events = 0;
  row("log", s, ziggurat_set_log(s, count_events, &events), ZIGGURAT_OK, "");
  row("monitor", s, ziggurat_set_monitor(s, stop, s), ZIGGURAT_OK, "");
  row("method", s, ziggurat_set_option(s, "hierarchy.coarse_rows", "1"), ZIGGURAT_OK, "");
  row("setup again", s, ziggurat_setup_i32(s, N, ptr, cols, vals, 0), ZIGGURAT_OK, "");
  row("events", s, events > 0, 1, "");
  const double ramp[N] = {1, 2, 4};
  row("limit", s, ziggurat_set_option(s, "stopping.rtol", "1e-300"), ZIGGURAT_OK, "");
  row("stopped", s, ziggurat_solve(s, ramp, x, 0, &report), ZIGGURAT_NOT_CONVERGED, "not converged");
  row("interrupted", s, strcmp(report.stop_reason, "interrupted"), 0, "");
  row("no monitor", s, ziggurat_set_monitor(s, NULL, NULL), ZIGGURAT_OK, "");
  row("rtol again", s, ziggurat_set_option(s, "stopping.rtol", "1e-10"), ZIGGURAT_OK, "");
  row("bad path", s, ziggurat_save(s, "/nowhere/at/all"), ZIGGURAT_FILE, "/nowhere/at/all");
  row("no path", s, ziggurat_load(s, NULL), ZIGGURAT_ARGUMENT, "path is a null");
  row("save", s, ziggurat_save(s, file), ZIGGURAT_OK, "");
  row("load", s, ziggurat_load(s, file), ZIGGURAT_OK, "");
  row("solve loaded", s, ziggurat_solve(s, b, x, 0, NULL), ZIGGURAT_OK, "");
  row("not a hierarchy", s, ziggurat_load(s, argv[0]), ZIGGURAT_FILE, "hierarchy");
  size_t whole = ziggurat_get_config(s, text, sizeof text);
  row("config", s, whole > 1000 && strlen(text) < sizeof text && strlen(text) > 50, 1, "");
  row("config length", s, ziggurat_get_config(s, NULL, 0) == whole, 1, "");
  row("describe", s, ziggurat_describe(s, text, sizeof text) > 20, 1, "");

  /* A solve that goes on with factors, because the matrix is indefinite, and a cycle after it. */
  enum { SIDE = 40, ALL = SIDE * SIDE };
  static int32_t many_ptr[ALL + 1], many_cols[5 * ALL];
  static double many_vals[5 * ALL], ones[ALL], many_x[ALL], many_z[ALL];
  int32_t k = 0;
  for (int32_t i = 0; i < ALL; i++) {
    many_ptr[i] = k, ones[i] = 1;
    many_cols[k] = i, many_vals[k++] = 3.5;
    if (i >= SIDE) many_cols[k] = i - SIDE, many_vals[k++] = -1;
    if (i % SIDE) many_cols[k] = i - 1, many_vals[k++] = -1;
    if (i % SIDE < SIDE - 1) many_cols[k] = i + 1, many_vals[k++] = -1;
    if (i < ALL - SIDE) many_cols[k] = i + SIDE, many_vals[k++] = -1;
  }
  many_ptr[ALL] = k;
  ziggurat_solver *indefinite = ziggurat_create();
  row("indefinite", indefinite, ziggurat_setup_i32(indefinite, ALL, many_ptr, many_cols, many_vals, 0), 0, "");
  row("before", indefinite, ziggurat_apply(indefinite, ones, many_x), ZIGGURAT_OK, "");
  row("by factors", indefinite, ziggurat_solve(indefinite, ones, many_x, 0, NULL), ZIGGURAT_OK, "");
  row("after", indefinite, ziggurat_apply(indefinite, ones, many_z), ZIGGURAT_OK, "");
  double largest = 0, apart = 0; /* factors solve in one application */
  for (int i = 0; i < ALL; i++) {
    largest = fmax(largest, fabs(many_x[i])), apart = fmax(apart, fabs(many_x[i] - many_z[i]));
  }
  row("exact", indefinite, apart <= 1e-6 * largest, 1, "");
  ziggurat_destroy(&indefinite);

  /* Two threads. */
  pthread_t thread;
  void *result = "not started";
  if (!pthread_create(&thread, NULL, other, s)) {
    void *here = other(s);
    pthread_join(thread, &result);
    row("threads", s, !here && !result, 1, "");
  }
  ziggurat_destroy(&s);
  row("destroyed", NULL, s == NULL, 1, "null pointer");
  printf("%d of %d rows end otherwise\n", failures, rows_of_table);
  return failures ? 1 : 0;
}
