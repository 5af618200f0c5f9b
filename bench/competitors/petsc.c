/* Conjugate gradients with PETSc's GAMG on a system written by `cargo xtask bench race`.
 *
 *   mpirun -n 2 petsc SYSTEM SOLUTION PETSC_OPTIONS
 *
 * Files and output are described in `system.h`. GAMG is smoothed aggregation; elastic bodies get
 * their block size and their rigid-body modes as the near-null space, as the manual recommends, and
 * singular matrices their null space. The race tries the defaults and a strength threshold of 0.01,
 * each with the default smoother (Chebyshev with Jacobi). */
#include "system.h"
#include <petscksp.h>

static Vec mode(const RaceSystem *s, Vec like, int index) {
    Vec vector;
    double *entries;
    PetscCallAbort(PETSC_COMM_WORLD, VecDuplicate(like, &vector));
    PetscCallAbort(PETSC_COMM_WORLD, VecGetArray(vector, &entries));
    memcpy(entries, s->mode_values + (size_t)index * s->own, 8 * (size_t)s->own);
    PetscCallAbort(PETSC_COMM_WORLD, VecRestoreArray(vector, &entries));
    return vector;
}

/* Gives the near-null space to the matrix, orthonormalised as PETSc requires. */
static void attach(const RaceSystem *s, Mat a, Vec like) {
    Vec *modes = (Vec *)malloc(sizeof(Vec) * s->modes);
    for (int i = 0; i < s->modes; i++) {
        modes[i] = mode(s, like, i);
        for (int j = 0; j < i; j++) {
            PetscScalar along;
            PetscCallAbort(PETSC_COMM_WORLD, VecDot(modes[i], modes[j], &along));
            PetscCallAbort(PETSC_COMM_WORLD, VecAXPY(modes[i], -along, modes[j]));
        }
        PetscCallAbort(PETSC_COMM_WORLD, VecNormalize(modes[i], NULL));
    }
    MatNullSpace space;
    PetscCallAbort(PETSC_COMM_WORLD,
                   MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, s->modes, modes, &space));
    PetscCallAbort(PETSC_COMM_WORLD, MatSetNearNullSpace(a, space));
    PetscCallAbort(PETSC_COMM_WORLD, MatNullSpaceDestroy(&space));
    for (int i = 0; i < s->modes; i++) PetscCallAbort(PETSC_COMM_WORLD, VecDestroy(&modes[i]));
    free(modes);
}

int main(int count, char **arguments) {
    PetscCall(PetscInitialize(&count, &arguments, NULL, NULL));
    if (count < 3) race_fail("usage: petsc SYSTEM SOLUTION PETSC_OPTIONS");
    int rank, ranks;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    RaceSystem s = race_read(arguments[1], rank, ranks);
    PetscInt *starts = (PetscInt *)malloc(sizeof(PetscInt) * (s.own + 1));
    for (int row = 0; row <= s.own; row++) starts[row] = (PetscInt)s.starts[row];

    Mat a;
    PetscCall(MatCreate(PETSC_COMM_WORLD, &a));
    PetscCall(MatSetSizes(a, s.own, s.own, s.rows, s.rows));
    PetscCall(MatSetBlockSize(a, s.unknowns));
    PetscCall(MatSetType(a, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocationCSR(a, starts, s.columns, s.values));
    PetscCall(MatMPIAIJSetPreallocationCSR(a, starts, s.columns, s.values));
    PetscCall(MatSetOption(a, MAT_SYMMETRIC, PETSC_TRUE));
    if (!s.singular) PetscCall(MatSetOption(a, MAT_SPD, PETSC_TRUE));
    free(starts);
    free(s.columns);
    free(s.values);
    Vec b, x;
    double *entries;
    PetscCall(MatCreateVecs(a, &x, &b));
    PetscCall(VecGetArray(b, &entries));
    memcpy(entries, s.rhs, 8 * (size_t)s.own);
    PetscCall(VecRestoreArray(b, &entries));
    PetscCall(VecSet(x, 0));
    if (s.modes > 1) attach(&s, a, b);
    if (s.singular) {
        MatNullSpace constants;
        PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
        PetscCall(MatSetNullSpace(a, constants));
        PetscCall(MatNullSpaceDestroy(&constants));
    }
    KSP ksp;
    PC pc;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, a, a));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-8, 1e-50, 1e10, 500));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(KSPSetFromOptions(ksp));

    MPI_Barrier(PETSC_COMM_WORLD);
    double start = MPI_Wtime();
    PetscCall(KSPSetUp(ksp));
    MPI_Barrier(PETSC_COMM_WORLD);
    double middle = MPI_Wtime();
    PetscCall(KSPSolve(ksp, b, x));
    MPI_Barrier(PETSC_COMM_WORLD);
    double finish = MPI_Wtime();

    PetscInt iterations;
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    double own_peak = race_peak(), peak;
    MPI_Reduce(&own_peak, &peak, 1, MPI_DOUBLE, MPI_SUM, 0, PETSC_COMM_WORLD);
    PetscCall(VecGetArray(x, &entries));
    race_write(arguments[2], &s, entries);
    PetscCall(VecRestoreArray(x, &entries));
    if (rank == 0) race_print(middle - start, finish - middle, (int)iterations, peak);
    PetscCall(PetscFinalize());
    return 0;
}
