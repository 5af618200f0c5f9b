/* A program of PETSc that does not know ziggurat: -Laplace on n^3 points, three times with other
 * values in the same pattern. Prints the iterations and the true relative residual of each solve. */
#include <petscksp.h>

int main(int argc, char **argv) {
  Mat A;
  Vec b, x, r;
  KSP ksp;
  PetscInt n = 20, first, end;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
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
  for (int step = 0; step < 3; step++) {
    PetscInt iterations;
    PetscReal residual, norm;
    if (step) PetscCall(MatScale(A, 2.0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %d: %d iterations, residual %.1e\n", step, (int)iterations,
                          (double)(residual / norm)));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  return PetscFinalize();
}
