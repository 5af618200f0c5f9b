/* Loads a matrix, a vector and a dense matrix that ziggurat wrote, and writes them again: the
 * matrix and the vector to one file, the dense matrix to another.
 *
 *   petsc_files A.petsc b.petsc X.petsc  system.petsc dense.petsc */
#include <petscmat.h>

static PetscErrorCode open_file(const char *name, PetscFileMode mode, PetscViewer *viewer) {
  PetscFunctionBeginUser;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, mode, viewer));
  /* No file beside it with options. */
  PetscCall(PetscViewerBinarySetSkipInfo(*viewer, PETSC_TRUE));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  Mat A, X;
  Vec b, y;
  PetscViewer viewer;
  PetscReal norm;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(open_file(argv[1], FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatLoad(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(open_file(argv[2], FILE_MODE_READ, &viewer));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &b));
  PetscCall(VecLoad(b, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(open_file(argv[3], FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &X));
  PetscCall(MatSetType(X, MATDENSE));
  PetscCall(MatLoad(X, viewer));
  PetscCall(PetscViewerDestroy(&viewer));

  PetscCall(VecDuplicate(b, &y));
  PetscCall(MatMult(A, b, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.17g\n", (double)norm));

  PetscCall(open_file(argv[4], FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(VecView(b, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(open_file(argv[5], FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_NATIVE));
  PetscCall(MatView(X, viewer));
  PetscCall(PetscViewerDestroy(&viewer));

  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(PetscFinalize());
  return 0;
}
