"""Output: tables, pictures, plots and HTML pages."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse

import ziggurat
from ziggurat import gallery

EMPTY = {"area", "br", "circle", "col", "hr", "img", "input", "line", "link", "meta", "path", "polygon", "polyline", "rect"}


class Balanced(HTMLParser):
    """Fails on an element that is closed in the wrong place or not at all."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
            self.open.pop()


def elements(text):
    """The elements of an HTML fragment. Fails if they are not balanced."""
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser.seen


@pytest.fixture
def fresh(poisson):
    return ziggurat.solver(poisson)


@pytest.fixture
def info(ml, b):
    return ml.solve(b, verify_every=2, return_info=True)[1]


# ---- text


def test_a_solver_prints_a_line_for_every_level(ml):
    text = str(ml)
    for index, level in enumerate(ml.levels):
        assert f"\n      {index}  " in text
        assert f"{level.rows:,}" in text
        assert f"{level.nnz:,}" in text
    assert text.startswith("MultilevelSolver (sa, cg, f64)")
    assert f"operator complexity {ml.operator_complexity():.2f}, grid complexity {ml.grid_complexity():.2f}" in text


def test_reprs(ml, info):
    assert repr(ml) == "<MultilevelSolver: 8000 rows, 3 levels, sa, cg, f64>"
    assert repr(ml.levels[0]).startswith("<Level 0: 8000 rows, 53600 entries, f64 dia, ")
    assert repr(info) == f"<SolveInfo: converged in {info.iterations} iterations, relative residual {info.relative_residual:.2e}>"


def test_one_is_singular():
    one = ziggurat.solver(sparse.csr_array([[2.0]]))
    assert repr(one).startswith("<MultilevelSolver: 1 row, 1 level, ")
    assert repr(one.levels[0]).startswith("<Level 0: 1 row, 1 entry, ")
    assert str(ziggurat.diagnose(sparse.csr_array([[2.0]]))).startswith("1 row, 1 entry, symmetric")


def test_a_solve_that_failed_says_so(ml, b):
    _, info = ml.solve(b, maxiter=1, return_info=True)
    assert "NOT converged (max_iterations) in 1 iteration" in repr(info)
    assert "NOT converged" in str(info)


def test_an_info_prints_as_a_report(info):
    text = str(info)
    assert f"converged in {info.iterations} iterations: relative residual" in text
    assert "tolerance 1e-8" in text


def test_memory_is_that_of_the_levels(fresh, b):
    levels = fresh.levels
    assert fresh.nbytes == sum(level.bytes + level.transfer_bytes for level in levels)
    assert 12 * levels[0].nnz / 2 < fresh.nbytes < 5 * 12 * levels[0].nnz
    _, info = fresh.solve(b, return_info=True)
    assert info.nbytes == fresh.nbytes
    # The peak of the process has all of Python in it.
    assert info.to_dict()["peak_bytes"] is None
    assert "peak" not in str(info) and "peak" not in info._repr_html_()
    assert f", {fresh.nbytes / 1024**2:.1f} MiB with transfers, " in str(fresh)


def test_levels_are_matrices(ml, poisson):
    levels = ml.levels
    assert abs(levels[0].A - poisson).max() == 0
    for fine, coarse in zip(levels, levels[1:]):
        assert fine.P.shape == (fine.rows, coarse.rows)
        assert abs(fine.R - fine.P.T).max() < 1e-14
        galerkin = fine.R @ fine.A @ fine.P
        assert abs(galerkin - coarse.A).max() <= 1e-12 * abs(coarse.A).max()
        assert coarse.A.nnz == coarse.nnz
    assert levels[-1].P is None and levels[-1].R is None


def test_complexities_are_sums_over_levels(ml):
    levels = ml.levels
    assert ml.operator_complexity() == pytest.approx(sum(level.nnz for level in levels) / levels[0].nnz)
    assert ml.grid_complexity() == pytest.approx(sum(level.rows for level in levels) / levels[0].rows)


def test_stages_are_parts_of_setup(fresh):
    names = [name for name, _ in fresh.stages]
    assert "Galerkin product" in names
    assert names[0] == "diagnosis" and names[-1] == "conversion"
    assert len(names) == len(set(names))
    assert 0 < sum(seconds for _, seconds in fresh.stages) <= fresh.setup_seconds * 1.05


def test_the_last_info(fresh, b):
    assert fresh.info is None
    _, info = fresh.solve(b, return_info=True)
    assert fresh.info is info
    assert info.to_dict()["iterations"] == info.iterations
    assert info.setup_seconds > 0 and info.solve_seconds > 0
    assert info.promotion is None


def test_the_default_configuration_is_complete():
    config = ziggurat.default_config()
    assert {"method", "precision", "stopping", "hierarchy", "smoother", "cycle"} <= set(config)
    # The whole of it is a valid configuration.
    ml = ziggurat.solver(gallery.poisson2d(10), config=config)
    assert ml.config["stopping"] == config["stopping"]


# ---- notebooks


def test_a_solver_has_html_before_and_after_a_solve(fresh, b):
    before = fresh._repr_html_()
    assert {"table", "svg"} <= set(elements(before))
    info = fresh.solve(b, return_info=True)[1]
    after = fresh._repr_html_()
    assert after == info._repr_html_()
    assert {"table", "svg"} <= set(elements(after))
    assert f"{info.iterations} iterations" in after
    for text in (before, after):
        assert "<script" not in text


def test_a_page_is_one_file(fresh, b, tmp_path):
    with pytest.raises(RuntimeError, match="there is nothing to report yet: call solve first"):
        fresh.report(tmp_path / "page.html")
    fresh.solve(b)
    fresh.report(tmp_path / "page.html", name="a cube <&>", command="python cube.py")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "a cube &lt;&amp;&gt;" in page and "python cube.py" in page
    assert "svg" in elements(page)
    for outside in ("src=", "@import", "<link", "url(http"):
        assert outside not in page


def test_spy(poisson, tmp_path):
    picture = ziggurat.spy(poisson, pixels=30)
    assert picture.svg.startswith("<svg")
    assert "svg" in elements(picture._repr_svg_())
    assert "bytes of SVG" in repr(picture)
    picture.save(tmp_path / "spy.svg")
    assert (tmp_path / "spy.svg").read_text(encoding="utf-8") == picture.svg
    assert len(ziggurat.spy(poisson, pixels=5).svg) < len(picture.svg)


# ---- matplotlib


def test_plots_can_be_saved(fresh, b, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = fresh.plot()
    assert len(before.axes) == 2
    fresh.solve(b)
    after = fresh.plot()
    assert len(after.axes) == 3
    for number, figure in enumerate((before, after)):
        figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 1000
        pyplot.close(figure)


@pytest.mark.parametrize("name", ["poisson2d:20", "poisson3d:30", "elasticity3d:8"])
@pytest.mark.parametrize("method", ["sa", "classical", "pairwise"])
def test_nothing_overlaps_or_is_cut_off(name, method):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    problem = gallery.problem(name)
    ml = ziggurat.solver(problem.A, method)
    ml.solve(problem.b)
    figure = ml.plot()
    figure.canvas.draw()
    levels, stages, history = figure.axes
    page = figure.bbox
    for ax in figure.axes:
        box = ax.get_tightbbox()  # with the labels that are drawn
        assert page.x0 <= box.x0 + 1 and box.x1 <= page.x1 + 1 and page.y0 <= box.y0 + 1 and box.y1 <= page.y1 + 1
    for ax in (levels, stages):
        heights = sorted((box.y0, box.y1) for box in (text.get_window_extent() for text in ax.get_yticklabels()))
        assert all(below[1] <= above[0] + 1 for below, above in zip(heights, heights[1:]))
    frame, legend = levels.get_window_extent(), levels.get_legend().get_window_extent()
    assert len(levels.texts) == len(ml.levels)
    for text in levels.texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1 + 1
        assert not box.overlaps(legend)
    assert legend.x1 <= page.x1 and legend.y0 >= page.y0
    # Axes do not run into each other.
    assert levels.get_tightbbox().y0 >= stages.get_tightbbox().y1 - 1
    assert stages.get_tightbbox().y0 >= history.get_tightbbox().y1 - 1
    pyplot.close(figure)


def test_levels_are_drawn_in_megabytes_and_in_the_colours_of_the_page(poisson, b, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.colors import to_hex

    from ziggurat import _palette

    ml = ziggurat.solver(poisson, precision="f16")
    ml.solve(b)
    figure = ml.plot()
    levels, stages, history = figure.axes
    assert levels.get_xlabel() == "matrix in MB"
    assert levels.patches[0].get_width() == pytest.approx(ml.levels[0].bytes / 1e6)
    assert levels.texts[0].get_text().endswith(" MB")
    drawn = {to_hex(patch.get_facecolor()).upper() for ax in (levels, stages) for patch in ax.patches}
    assert drawn == {_palette.colour("f16"), _palette.colour("setup"), _palette.colour("solve")}
    assert history.get_lines()[1].get_color() == _palette.CURVES[0]
    assert _palette.colour("f8") == _palette.colour("other") and len(_palette.CURVES) == 6
    ml.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8").upper()
    assert all(colour in page for colour in (*drawn, _palette.CURVES[0]))
    pyplot.close(figure)


def test_convergence_can_be_overlaid(ml, b, info):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = info.plot(label="first")
    assert ax.get_yscale() == "log"
    lines = len(ax.get_lines())
    _, other = ml.solve(b, accel="bicgstab", return_info=True)
    assert other.plot(ax, label="second") is ax
    assert len(ax.get_lines()) == 2 * lines - 1  # the tolerance is drawn once
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "second"]
    (drawn,) = [line.get_ydata() for line in ax.get_lines() if line.get_label() == "first"]
    assert list(drawn[1:]) == pytest.approx(info.residuals.tolist())
    pyplot.close(ax.figure)


def test_solves_without_iterations_can_be_drawn(ml):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    _, info = ml.solve(np.zeros(8000), return_info=True)
    pyplot.close(info.plot().figure)


def test_without_matplotlib_the_error_says_what_to_install(ml, info, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot in (ml.plot, info.plot):
        with pytest.raises(ImportError, match=r'pip install "ziggurat\[plot\]"'):
            plot()


def test_bytes_are_formatted_with_units():
    from ziggurat._plot import in_bytes

    sizes = [1, 999, 1000, 1024, 10 * 1024, 150 * 1024, 5 * 1024**2, 3 * 1024**3, 2 * 1024**4]
    words = ["1 B", "999 B", "1.0 KiB", "1.0 KiB", "10.0 KiB", "150 KiB", "5.0 MiB", "3.0 GiB", "2.0 TiB"]
    assert [in_bytes(size) for size in sizes] == words


# ---- matrices


def test_diagnoses():
    beam = ziggurat.diagnose(gallery.elasticity3d(4))
    assert (beam["rows"], beam["symmetric"], beam["graph"]["block_size"]) == (300, True, 3)
    assert str(beam).splitlines()[0] == f"300 rows, {beam['nnz']} entries, symmetric"
    assert "not symmetric" in str(ziggurat.diagnose(gallery.convection3d(5)))
    singular = ziggurat.diagnose(gallery.neumann3d(5))
    assert any("singular" in advice for advice in singular.advice)


@pytest.mark.parametrize("name", [name for name, _ in gallery.names()])
def test_every_problem_has_a_function(name):
    problem = gallery.problem(f"{name}:4")
    direct = getattr(gallery, name)(4)
    assert abs(direct - problem.A).nnz == 0
    assert problem.A.shape[0] == len(problem.b) == len(problem.coords) * problem.block_size


def test_rigid_body_modes_cost_no_energy():
    problem = gallery.problem("elasticity3d:4")
    modes = gallery.rigid_body_modes(problem.coords)
    assert np.linalg.matrix_rank(modes) == 6
    energy = problem.A @ modes
    clamped = np.abs(energy).max(axis=1) > 1e-9 * abs(problem.A).max()
    # Only rows next to the clamped face have energy.
    assert 0 < clamped.sum() < len(clamped) / 2


def test_the_version_is_a_version():
    assert ziggurat.__version__.count(".") == 2
