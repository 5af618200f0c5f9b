"""Effective resistances in graphs of networkx: many right-hand sides with one Laplacian.

Run it with ``pip install ziggurat networkx`` and ``python networkx_resistance.py``;
``python networkx_resistance.py 200000 200`` has 200,000 edges and 200 right-hand sides.

A current of one ampere enters at one node and leaves at another; every edge is a resistor of one
ohm. A geometric graph resembles a mesh, and multigrid pays. The others have nodes with very many
neighbours and a diameter of a few edges, where the smoother alone (``method="none"``) also needs
few iterations.
"""

import sys
import time

import networkx as nx
import numpy as np
from verdict import checked

import ziggurat


def graphs(edges: int):
    """Connected graphs with about this many edges."""
    nodes = edges // 5
    # A point has pi r² n neighbours on average: here ten.
    geometric = nx.random_geometric_graph(nodes, np.sqrt(10.0 / (np.pi * nodes)), seed=1)
    yield "geometric", geometric.subgraph(max(nx.connected_components(geometric), key=len))
    yield "Barabási–Albert", nx.barabasi_albert_graph(nodes, 5, seed=1)
    yield "power-law cluster", nx.powerlaw_cluster_graph(nodes, 5, 0.3, seed=1)


def main(edges: int, count: int) -> None:
    ways = {
        "defaults": {},
        "many solves": {"config": {"effort": "many-solves"}},
        "smoother alone": {"method": "none"},
    }
    for name, graph in graphs(edges):
        L = nx.laplacian_matrix(graph)
        n = L.shape[0]
        rng = np.random.default_rng(0)
        ends = np.array([rng.choice(n, 2, replace=False) for _ in range(count)])
        B = np.zeros((n, count))
        B[ends[:, 0], np.arange(count)], B[ends[:, 1], np.arange(count)] = 1.0, -1.0
        print(f"{name}: {n} nodes, {graph.number_of_edges()} edges, {count} right-hand sides")
        resistances = {}
        for way, arguments in ways.items():
            start = time.perf_counter()
            ml = ziggurat.solver(L, **arguments)
            X, infos = ml.solve(B, return_info=True)
            seconds = time.perf_counter() - start
            for column, info in enumerate(infos):
                residual = np.linalg.norm(B[:, column] - L @ X[:, column]) / np.linalg.norm(B[:, column])
                assert info.converged and residual <= 1.001e-8, (column, info.reason, residual)
            checked(f"{way}, the last column", L, B[:, -1], X[:, -1], infos[-1], seconds)
            resistances[way] = X[ends[:, 0], np.arange(count)] - X[ends[:, 1], np.arange(count)]
        print(f"  mean effective resistance {resistances['defaults'].mean():.4f}")
        for way in ways:
            assert np.allclose(resistances[way], resistances["defaults"], rtol=1e-5), way


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000, int(sys.argv[2]) if len(sys.argv) > 2 else 4)
