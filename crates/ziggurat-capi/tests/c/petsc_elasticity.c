/* A program of PETSc that does not know ziggurat: an elastic body from files, with what is known about
 * its nodes (-known nothing, blocks, modes or points). Solves three times: as read, with other values
 * in the same pattern, and with another pattern. Prints the iterations and the true relative residual
 * of each solve. With -zero_row N that row has no diagonal entry, and the reason is printed. */
#include <petscksp.h>

int main(int argc, char **argv) {
  Mat A, wider;
  Vec b, x, r, points;
  KSP ksp;
  PC pc;
  PetscViewer file;
  char known[32] = "blocks", path[512] = "", type[32] = MATAIJ;
  PetscInt zero = -1, first, end;
  PetscBool same;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-known", known, sizeof known, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", path, sizeof path, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof type, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-zero_row", &zero, NULL));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &file));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, type));
  PetscCall(PetscStrcmp(known, "nothing", &same));
  PetscCall(MatSetBlockSize(A, same ? 1 : 3));
  PetscCall(MatLoad(A, file));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &points));
  PetscCall(VecSetBlockSize(points, 3));
  PetscCall(VecLoad(points, file));
  PetscCall(PetscViewerDestroy(&file));
  PetscCall(PetscStrcmp(known, "modes", &same));
  if (same) {
    MatNullSpace modes;
    PetscCall(MatNullSpaceCreateRigidBody(points, &modes));
    PetscCall(MatSetNearNullSpace(A, modes));
    PetscCall(MatNullSpaceDestroy(&modes));
  }
  if (zero >= 0) {
    PetscCall(MatGetOwnershipRange(A, &first, &end));
    if (zero >= first && zero < end) PetscCall(MatSetValue(A, zero, zero, 0.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscStrcmp(known, "points", &same));
  if (same) {
    PetscReal *coordinates;
    PetscInt count;
    PetscCall(VecGetLocalSize(points, &count));
    PetscCall(VecGetArray(points, &coordinates));
    PetscCall(PCSetCoordinates(pc, 3, count / 3, coordinates));
    PetscCall(VecRestoreArray(points, &coordinates));
  }
  for (int step = 0; step < 3; step++) {
    PetscInt iterations;
    PetscReal residual, norm;
    KSPConvergedReason reason;
    if (step == 1) PetscCall(MatScale(A, 2.0));
    if (step == 2) { /* one entry more, on one process */
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &wider));
      PetscCall(MatSetOption(wider, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(MatGetOwnershipRange(wider, &first, &end));
      if (first == 0 && end > 0) {
        PetscInt last;
        PetscCall(MatGetSize(wider, &last, NULL));
        PetscCall(MatSetValue(wider, 0, last - 1, 0.0, INSERT_VALUES));
      }
      PetscCall(MatAssemblyBegin(wider, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(wider, MAT_FINAL_ASSEMBLY));
      PetscCall(KSPSetOperators(ksp, wider, wider));
      PetscCall(MatDestroy(&wider));
    }
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %d: %d iterations, residual %.1e, reason %s\n", step,
                          (int)iterations, (double)(residual / norm), KSPConvergedReasons[reason]));
    if (zero >= 0) break;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&points));
  PetscCall(MatDestroy(&A));
  return PetscFinalize();
}
