"""Sessions as jobs of a cluster: of Slurm, of Ray, of Kubernetes; each does `gpassk run` on its node."""

from .cluster import Cluster, Seen
from .driver import ClusterDriver
from .work import Work

__all__ = ['Cluster', 'ClusterDriver', 'Seen', 'Work']
