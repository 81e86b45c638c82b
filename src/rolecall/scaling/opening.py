"""Chooses the scaler that the settings and the installed packages allow."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from rolecall.config import ScalingSettings
from rolecall.scaling.scaler import NoCluster, Scaler

__all__ = ["scaler_for"]


class _HasKubernetes(Protocol):
    """What `rolecall.scaling.kubernetes` offers."""

    def Kubernetes(self, settings: ScalingSettings) -> Scaler: ...  # noqa: N802 - it is a class


def scaler_for(settings: ScalingSettings) -> Scaler:
    """Return what scales the set that the settings name; it connects when it is asked something."""
    if settings.kubeconfig is None and not settings.in_cluster:
        return NoCluster("this process runs in no pod, and KUBECONFIG names no file")
    if find_spec("lightkube") is None:
        return NoCluster("the extra `kubernetes` is not installed: pip install 'rolecall[kubernetes]'")
    # By name: the extra may be missing, and only who asks a cluster waits half a second for its import.
    module = cast("_HasKubernetes", import_module("rolecall.scaling.kubernetes"))
    return module.Kubernetes(settings)
