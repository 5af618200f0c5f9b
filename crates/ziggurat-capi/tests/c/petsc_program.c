/* A program of PETSc that does not know ziggurat: -Laplace on n^3 points, in several steps with other
 * values in the same pattern. Prints the iterations and the true relative residual of each solve, and
 * the bytes of the process after half of the steps and at the end. */
#include <petscksp.h>

int main(int argc, char **argv) {
  Mat A;
  Vec b, x, r;
  KSP ksp;
  PetscInt n = 20, steps = 3, first, end;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n * n, n * n * n, 7, NULL, 7, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt row = first; row < end; row++) {
    PetscInt stride = 1;
    PetscCall(MatSetValue(A, row, row, 6.0, INSERT_VALUES));
    for (int axis = 0; axis < 3; axis++, stride *= n) {
      PetscInt at = row / stride % n;
      if (at > 0) PetscCall(MatSetValue(A, row, row - stride, -1.0, INSERT_VALUES));
      if (at < n - 1) PetscCall(MatSetValue(A, row, row + stride, -1.0, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscLogDouble half = 0, all = 0;
  for (int step = 0; step < steps; step++) {
    PetscInt iterations;
    PetscReal residual, norm;
    if (step) PetscCall(MatScale(A, step % 4 < 2 ? 2.0 : 0.5));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %d: %d iterations, residual %.1e\n", step, (int)iterations,
                          (double)(residual / norm)));
    if (step == steps / 2) PetscCall(PetscMemoryGetCurrentUsage(&half));
  }
  PetscCall(PetscMemoryGetCurrentUsage(&all));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bytes %.0f %.0f\n", half, all));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  return PetscFinalize();
}
