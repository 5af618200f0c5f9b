"""FEniCSx with PETSc's KSP: `-pc_type ziggurat` against gamg and hypre, in one run.

Usage: mpirun -n RANKS /usr/bin/python3 fenicsx.py PLUG_IN ROUNDS PROBLEM…

PROBLEM is elasticity:N (displacements of a beam, linear elements on N x N x 4N cells) or poisson:N
(quadratic elements on N^3 cells). Every preconditioner gets the same matrix, with its block size,
the rigid-body modes as near-null space, and CG to a relative residual of 1e-8 in the true norm. The
settings of the others are those that the manuals of PETSc and hypre and the demos of FEniCSx
recommend. Prints one JSON object: of each preconditioner the round with the shortest total.
"""

import json
import sys
import time

import petsc4py

plug_in, rounds, problems = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
petsc4py.init(["fenicsx", "-dll_append", plug_in])

import numpy as np
import ufl
from dolfinx import fem, la, mesh
from mpi4py import MPI
from petsc4py import PETSc

CHEBYSHEV = {"mg_levels_ksp_type": "chebyshev", "mg_levels_pc_type": "jacobi",
             "mg_levels_ksp_chebyshev_esteig_steps": 10}
# The demo of FEniCSx for elasticity uses gamg so; 0.5 is hypre's advice for problems in space.
OTHERS = {
    "gamg": {"pc_type": "gamg", **CHEBYSHEV},
    "hypre": {"pc_type": "hypre", "pc_hypre_type": "boomeramg",
              "pc_hypre_boomeramg_strong_threshold": 0.5,
              "pc_hypre_boomeramg_coarsen_type": "HMIS",
              "pc_hypre_boomeramg_interp_type": "ext+i",
              "pc_hypre_boomeramg_P_max": 4, "pc_hypre_boomeramg_agg_nl": 1},
}
# hypre's advice for systems: unknown-based, without aggressive coarsening. It gets no near-null
# space: with one, PCSetUp_HYPRE of PETSc 3.18 crashed in VecHYPRE_IJVectorCreate.
HYPRE_SYSTEMS = {"pc_hypre_boomeramg_agg_nl": 0}


def rigid_body_modes(space):
    """The six modes, orthonormal, as a near-null space."""
    vectors = [la.create_petsc_vector(space.dofmap.index_map, space.dofmap.index_map_bs) for _ in range(6)]
    x = space.tabulate_dof_coordinates()[: space.dofmap.index_map.size_local]
    fields = [np.zeros_like(x) for _ in range(6)]
    for axis in range(3):
        fields[axis][:, axis] = 1.0
    for mode, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)], start=3):
        fields[mode][:, i], fields[mode][:, j] = -x[:, j], x[:, i]
    for vector, field in zip(vectors, fields):
        vector.array[:] = field.ravel()
    for k, vector in enumerate(vectors):
        for earlier in vectors[:k]:
            vector.axpy(-vector.dot(earlier), earlier)
        vector.normalize()
    return PETSc.NullSpace().create(vectors=vectors)


def elasticity(n):
    domain = mesh.create_box(MPI.COMM_WORLD, [[0.0] * 3, [1.0, 1.0, 4.0]], [n, n, 4 * n])
    space = fem.VectorFunctionSpace(domain, ("Lagrange", 1))
    u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
    strain = lambda w: ufl.sym(ufl.grad(w))
    stress = lambda w: 2.0 * 0.4 * strain(w) + 0.6 * ufl.nabla_div(w) * ufl.Identity(3)
    a = ufl.inner(stress(u), strain(v)) * ufl.dx
    rhs = ufl.inner(fem.Constant(domain, PETSc.ScalarType((0.0, -1.0, 0.0))), v) * ufl.dx
    fixed = fem.locate_dofs_geometrical(space, lambda x: np.isclose(x[2], 0.0))
    bc = fem.dirichletbc(np.zeros(3, dtype=PETSc.ScalarType), fixed, space)
    return (*assembled(a, rhs, [bc]), rigid_body_modes(space))


def poisson(n):
    domain = mesh.create_unit_cube(MPI.COMM_WORLD, n, n, n)
    space = fem.FunctionSpace(domain, ("Lagrange", 2))
    u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
    a = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
    rhs = ufl.inner(fem.Constant(domain, PETSc.ScalarType(1.0)), v) * ufl.dx
    fixed = fem.locate_dofs_geometrical(space, lambda x: np.isclose(x[0], 0.0))
    bc = fem.dirichletbc(PETSc.ScalarType(0.0), fixed, space)
    return (*assembled(a, rhs, [bc]), None)


def assembled(a, rhs, bcs):
    form = fem.form(a)
    A = fem.petsc.assemble_matrix(form, bcs)
    A.assemble()
    b = fem.petsc.assemble_vector(fem.form(rhs))
    fem.petsc.apply_lifting(b, [form], [bcs])
    b.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
    fem.petsc.set_bc(b, bcs)
    A.setOption(PETSc.Mat.Option.SPD, True)
    return A, b


def solve(A, b, options):
    """Seconds of setup and solve, iterations and the true relative residual."""
    for key, value in options.items():
        PETSc.Options()[f"race_{key}"] = value
    ksp = PETSc.KSP().create(A.comm)
    ksp.setOptionsPrefix("race_")
    ksp.setOperators(A)
    ksp.setType("cg")
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.setTolerances(rtol=1e-8, max_it=1000)
    ksp.setFromOptions()
    x, r = b.duplicate(), b.duplicate()
    MPI.COMM_WORLD.barrier()
    start = time.perf_counter()
    ksp.setUp()
    MPI.COMM_WORLD.barrier()
    middle = time.perf_counter()
    ksp.solve(b, x)
    MPI.COMM_WORLD.barrier()
    end = time.perf_counter()
    A.mult(x, r)
    r.aypx(-1.0, b)
    done = {"setup_seconds": middle - start, "solve_seconds": end - middle,
            "iterations": ksp.getIterationNumber(), "relative_residual": r.norm() / b.norm()}
    ksp.destroy()
    for key in options:
        PETSc.Options().delValue(f"race_{key}")
    return done


measured = []
for problem in problems:
    name, n = problem.split(":")
    A, b, modes = {"elasticity": elasticity, "poisson": poisson}[name](int(n))
    hypre = OTHERS["hypre"]
    if modes is not None:
        hypre = {**hypre, **HYPRE_SYSTEMS}
    racers = {"ziggurat": {"pc_type": "ziggurat"}, "gamg": OTHERS["gamg"], "hypre": hypre}
    best = {}
    for _ in range(rounds):
        for who, options in racers.items():
            if modes is not None:
                A.setNearNullSpace(PETSc.NullSpace() if who == "hypre" else modes)
            done = solve(A, b, options)
            total = lambda run: run["setup_seconds"] + run["solve_seconds"]
            if who not in best or total(done) < total(best[who]):
                best[who] = done
    measured.append({"problem": problem, "unknowns": A.getSize()[0], "entries": A.getInfo()["nz_used"],
                     "runs": best})
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps({"ranks": MPI.COMM_WORLD.size, "problems": measured}))
