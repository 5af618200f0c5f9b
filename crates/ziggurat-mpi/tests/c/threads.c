/* Counts the threads of the library on every rank, after the number that is given has been set; 0 for
 * none. All ranks then solve a small system. */
#include "ziggurat_mpi.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads of this process that have names of the library. */
static int count_threads(void) {
  int found = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *task; tasks && (task = readdir(tasks));) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (!file) continue;
    if (fgets(name, sizeof name, file) && !strncmp(name, "ziggurat-", 9)) found++;
    fclose(file);
  }
  if (tasks) closedir(tasks);
  return found;
}

int main(int argc, char **argv) {
  int rank, size;
  const int64_t given = argc > 1 ? atoi(argv[1]) : 0;
  if (given && ziggurat_mpi_set_threads(given)) return 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ziggurat_mpi_solver *solver = ziggurat_mpi_solver_create(MPI_COMM_WORLD);
  const int64_t row_ptr[2] = {0, 1}, column[1] = {rank};
  const double value[1] = {2.0}, b[1] = {1.0};
  double x[1] = {0.0};
  const int status = ziggurat_mpi_solver_setup_i64(solver, 1, row_ptr, column, value, 0) ||
                     ziggurat_mpi_solver_solve(solver, b, x, 0, NULL);
  if (status) fprintf(stderr, "%s\n", ziggurat_mpi_solver_error(solver));
  printf("rank %d of %d: %d threads\n", rank, size, count_threads());
  ziggurat_mpi_solver_destroy(&solver);
  MPI_Finalize();
  return status || x[0] != 0.5;
}
