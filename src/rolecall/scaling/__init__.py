"""Changes the number of worker pods in a Kubernetes cluster.

    service ──► scaler_for(settings) ──┬─► Kubernetes   extra `kubernetes` installed, and a cluster configured
                                       └─► NoCluster    raises an error with the reason

A scaler knows nothing about tasks and workers. The service decides which pods have the least to lose. A Deployment
deletes the pods with the lowest cost annotation first, a StatefulSet those with the highest ordinals.
"""

from __future__ import annotations

from rolecall.scaling.scaler import NoCluster, Scaler, scaler_for

__all__ = ["NoCluster", "Scaler", "scaler_for"]
