"""Changes how many pods of workers a cluster keeps: through Kubernetes, or not at all where there is none.

    service ──► scaler_for(settings) ──┬─► Kubernetes   extra `kubernetes` installed, and a cluster configured
                                       └─► NoCluster    everything it is asked is answered with the reason

A scaler knows no task and no worker: which pods have the least to lose is for the service to say. A Deployment
is told by a cost on each pod, and takes the cheapest; a StatefulSet asks nobody, and takes the highest ordinals.
"""

from __future__ import annotations

from rolecall.scaling.scaler import NoCluster, Scaler, scaler_for

__all__ = ["NoCluster", "Scaler", "scaler_for"]
