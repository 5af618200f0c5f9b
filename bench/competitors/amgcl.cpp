/* Conjugate gradients with AMGCL on a system written by `cargo xtask bench race`.
 *
 *   OMP_NUM_THREADS=2 amgcl SYSTEM SOLUTION COARSENING RELAXATION STRENGTH
 *
 * Files and output are described in `system.h`. Compiled with -O3 -march=native -fopenmp against the
 * headers of AMGCL 1.0, from the source archive of pyamgcl. COARSENING is smoothed_aggregation,
 * ruge_stuben, modes (smoothed aggregation with the rigid-body modes) or blocks (smoothed
 * aggregation of a matrix of 3x3 blocks); STRENGTH is eps_strong. The race tries smoothed
 * aggregation with SPAI-0 at 0 and at the default 0.08, and Ruge-Stuben, which needs far fewer
 * iterations on jump3d (14 instead of 86 on one thread); on elastic bodies blocks with ILU(0) or
 * SPAI-0 at 0, and the modes. */
#include "system.h"
#include <boost/range.hpp> /* AMGCL 1.0 relies on it being included */

#include <amgcl/adapter/block_matrix.hpp>
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/ruge_stuben.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_block_solver.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/ilu0.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>
#include <amgcl/value_type/static_matrix.hpp>
#include <chrono>

typedef amgcl::backend::builtin<double> Scalars;
typedef amgcl::backend::builtin<amgcl::static_matrix<double, 3, 3>> Blocks;
typedef boost::property_tree::ptree Parameters;

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Solver, class Matrix>
static void run(const RaceSystem &s, const Matrix &a, const Parameters &parameters, const char *path) {
    std::vector<double> b(s.rhs, s.rhs + s.own), x(s.own, 0.0);
    double start = now();
    Solver solver(a, parameters);
    double middle = now();
    size_t iterations;
    double error;
    boost::tie(iterations, error) = solver(b, x);
    double finish = now(), peak = race_peak();
    race_write(path, &s, x.data());
    race_print(middle - start, finish - middle, (int)iterations, peak);
}

template <template <class> class Relaxation>
using Blockwise = amgcl::make_block_solver<
    amgcl::amg<Blocks, amgcl::coarsening::smoothed_aggregation, Relaxation>, amgcl::solver::cg<Blocks>>;

template <class Coarsening, template <class> class Relaxation>
using Pointwise = amgcl::make_solver<amgcl::amg<Scalars, Coarsening, Relaxation>, amgcl::solver::cg<Scalars>>;

int main(int count, char **arguments) {
    if (count != 6) race_fail("usage: amgcl SYSTEM SOLUTION COARSENING RELAXATION STRENGTH");
    RaceSystem s = race_read(arguments[1], 0, 1);
    std::string coarsening = arguments[3], relaxation = arguments[4], strength = arguments[5];
    bool modes = coarsening == "modes", blocks = coarsening == "blocks";
    if ((modes || blocks) && s.unknowns != 3) race_fail("modes and blocks are for three unknowns per node");
    std::vector<ptrdiff_t> starts(s.starts, s.starts + s.own + 1), columns(s.columns, s.columns + starts.back());
    std::vector<double> values(s.values, s.values + starts.back()), vectors;
    free(s.columns);
    free(s.values);

    Parameters p;
    p.put("solver.tol", 1e-8);
    p.put("solver.maxiter", 500);
    bool classical = coarsening == "ruge_stuben";
    p.put(classical ? "precond.coarsening.eps_strong" : "precond.coarsening.aggr.eps_strong", strength);
    if (s.singular) p.put("precond.direct_coarse", false);
    if (modes) {
        for (int row = 0; row < s.own; row++)
            for (int mode = 0; mode < s.modes; mode++) vectors.push_back(s.mode_values[(size_t)mode * s.own + row]);
        p.put("precond.coarsening.aggr.block_size", s.unknowns);
        p.put("precond.coarsening.nullspace.cols", s.modes);
        p.put("precond.coarsening.nullspace.rows", s.own);
        p.put("precond.coarsening.nullspace.B", vectors.data());
    }
    size_t rows = s.own;
    auto a = boost::tie(rows, starts, columns, values);
    typedef amgcl::coarsening::smoothed_aggregation Aggregates;
    bool ilu0 = relaxation == "ilu0";
    if (blocks && ilu0)
        run<Blockwise<amgcl::relaxation::ilu0>>(s, a, p, arguments[2]);
    else if (blocks)
        run<Blockwise<amgcl::relaxation::spai0>>(s, a, p, arguments[2]);
    else if (classical)
        run<Pointwise<amgcl::coarsening::ruge_stuben, amgcl::relaxation::spai0>>(s, a, p, arguments[2]);
    else if (ilu0)
        run<Pointwise<Aggregates, amgcl::relaxation::ilu0>>(s, a, p, arguments[2]);
    else
        run<Pointwise<Aggregates, amgcl::relaxation::spai0>>(s, a, p, arguments[2]);
    return 0;
}
