# A draft of the package for Spack. Not built yet: there is no release.
from spack.package import *


class Ziggurat(Package):
    """Algebraic multigrid for large sparse linear systems, designed for 16-bit storage: the command
    and a library for C, C++ and Fortran."""

    homepage = "RELEASE_URL"
    url = "RELEASE_URL"

    license("MIT OR Apache-2.0")

    version("0.1.0", sha256="RELEASE_SHA256")

    variant("mpi", default=False, description="The command under mpirun")

    depends_on("c", type="build")  # mimalloc
    depends_on("rust@1.95:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("llvm+clang", when="+mpi", type="build")  # the crate mpi reads mpi.h with libclang

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("xtask", "install", "--prefix", prefix)
        if spec.satisfies("+mpi"):
            cargo("install", "--path", "crates/ziggurat-cli", "--features", "mpi", "--root", prefix, "--force")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def solve_a_model_problem(self):
        Executable(self.prefix.bin.ziggurat)("solve", "--problem", "poisson3d:20")
