/* Conjugate gradients (Belos) with Trilinos' MueLu on a system written by `cargo xtask bench race`.
 *
 *   mpirun -n 2 muelu SYSTEM SOLUTION SMOOTHER DROP_TOLERANCE
 *
 * Files and output are described in `system.h`. Smoothed aggregation on Tpetra matrices; elastic
 * bodies get the number of equations per node and their rigid-body modes as the null space. SMOOTHER
 * is sgs (one symmetric Gauss-Seidel sweep) or chebyshev (degree 2). The race tries both
 * without dropping, and sgs with a drop tolerance of 0.02.
 *
 * Open: on two ranks it converges badly where one rank does well (norne_pressure, sgs 0.02: 500
 * iterations instead of 32; elasticity3d:6, which is one level: no convergence). The coarse solver on
 * two ranks or this driver is suspected, so such results do not count against MueLu. */
#include "system.h"
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <MueLu_CreateTpetraPreconditioner.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

typedef Tpetra::Map<> Map;
typedef Map::local_ordinal_type Local;
typedef Map::global_ordinal_type Global;
typedef Map::node_type Node;
typedef Tpetra::CrsMatrix<double, Local, Global, Node> Matrix;
typedef Tpetra::MultiVector<double, Local, Global, Node> Vectors;
typedef Tpetra::Operator<double, Local, Global, Node> Operator;

static Teuchos::RCP<Matrix> matrix(RaceSystem &s, const Teuchos::RCP<const Map> &map) {
    Teuchos::Array<size_t> lengths(s.own);
    for (int row = 0; row < s.own; row++) lengths[row] = s.starts[row + 1] - s.starts[row];
    auto a = Teuchos::rcp(new Matrix(map, lengths()));
    std::vector<Global> columns;
    for (int row = 0; row < s.own; row++) {
        columns.assign(s.columns + s.starts[row], s.columns + s.starts[row + 1]);
        a->insertGlobalValues(s.first + row, (Local)columns.size(), s.values + s.starts[row], columns.data());
    }
    free(s.columns);
    free(s.values);
    a->fillComplete();
    return a;
}

static Teuchos::ParameterList parameters(const RaceSystem &s, const std::string &smoother, double drop) {
    Teuchos::ParameterList p, smoothing;
    p.set("verbosity", "none");
    p.set("number of equations", s.unknowns);
    p.set("aggregation: drop tol", drop);
    p.set("coarse: max size", 1000);
    if (smoother == "chebyshev") {
        p.set("smoother: type", "CHEBYSHEV");
        smoothing.set("chebyshev: degree", 2);
    } else {
        p.set("smoother: type", "RELAXATION");
        smoothing.set("relaxation: type", "Symmetric Gauss-Seidel");
    }
    p.set("smoother: params", smoothing);
    if (s.singular) {
        /* A direct solver needs a regular matrix; several sweeps do instead. */
        Teuchos::ParameterList sweeps;
        sweeps.set("relaxation: type", "Symmetric Gauss-Seidel");
        sweeps.set("relaxation: sweeps", 20);
        p.set("coarse: type", "RELAXATION");
        p.set("coarse: params", sweeps);
        p.set("coarse: max size", 100);
    }
    return p;
}

static void solve(int count, char **arguments) {
    if (count != 5) race_fail("usage: muelu SYSTEM SOLUTION SMOOTHER DROP_TOLERANCE");
    auto comm = Tpetra::getDefaultComm();
    RaceSystem s = race_read(arguments[1], comm->getRank(), comm->getSize());
    Teuchos::RCP<const Map> map = Teuchos::rcp(new Map(s.rows, s.own, 0, comm));
    auto a = matrix(s, map);
    auto x = Teuchos::rcp(new Vectors(map, 1)), b = Teuchos::rcp(new Vectors(map, 1));
    for (int row = 0; row < s.own; row++) b->replaceLocalValue(row, 0, s.rhs[row]);
    auto p = parameters(s, arguments[3], atof(arguments[4]));
    if (s.modes > 1) {
        auto modes = Teuchos::rcp(new Vectors(map, s.modes));
        for (int mode = 0; mode < s.modes; mode++)
            for (int row = 0; row < s.own; row++)
                modes->replaceLocalValue(row, mode, s.mode_values[(size_t)mode * s.own + row]);
        p.sublist("user data").set("Nullspace", modes);
    }

    comm->barrier();
    double start = MPI_Wtime();
    Teuchos::RCP<Operator> as_operator = a;
    auto m = MueLu::CreateTpetraPreconditioner<double, Local, Global, Node>(as_operator, p);
    comm->barrier();
    double middle = MPI_Wtime();
    auto problem = Teuchos::rcp(new Belos::LinearProblem<double, Vectors, Operator>(a, x, b));
    problem->setRightPrec(m);
    problem->setProblem();
    auto stopping = Teuchos::rcp(new Teuchos::ParameterList);
    stopping->set("Convergence Tolerance", 1e-8);
    stopping->set("Maximum Iterations", 500);
    Belos::PseudoBlockCGSolMgr<double, Vectors, Operator> cg(problem, stopping);
    cg.solve();
    comm->barrier();
    double finish = MPI_Wtime(), own_peak = race_peak(), peak;
    MPI_Reduce(&own_peak, &peak, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    race_write(arguments[2], &s, x->getData(0).getRawPtr());
    if (comm->getRank() == 0) race_print(middle - start, finish - middle, cg.getNumIters(), peak);
}

int main(int count, char **arguments) {
    Tpetra::ScopeGuard guard(&count, &arguments);
    solve(count, arguments);
    return 0;
}
