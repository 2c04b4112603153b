"""``--dask``: a cluster that runs already, or one of this machine's cores, for as long as a command takes."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any

from unrelu.base.errors import InputError
from unrelu.base.printable import printable
from unrelu.data.counted import said
from unrelu.data.dask_graph import memory
from unrelu.data.dask_source import DaskSource

__all__ = ["LOCAL", "connected"]

LOCAL = "local"
# Seconds that a scheduler has to answer.
PATIENCE = 8
# Data that take no more than this share of the workers' memory are kept there.
SHARE = 0.5


@contextmanager
def connected(address: str | None, source: Any) -> Iterator[None]:
    """Let dask run on a cluster: its address, ``local`` for one worker on each core, or None for none.

    When a command ends, its connection ends too: a scheduler then drops what the command has submitted, and workers of
    this machine are ended with it.
    """
    if address is None:
        yield
        return
    if not address.strip():
        raise InputError("--dask takes the address of a scheduler, such as tcp://host:8786, or local; got nothing")
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise InputError(
            "--dask needs the package distributed, which is not installed; install it with pip install 'unrelu[dask]'"
        ) from error
    # What workers and connections say of themselves is not for the reader of a result.
    for name in ("distributed", *logging.root.manager.loggerDict):  # some have a level of their own
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        place: Any = address
        if address == LOCAL:
            quiet = logging.CRITICAL
            with _deaf_children():
                local = LocalCluster(threads_per_worker=1, dashboard_address=":0", silence_logs=quiet)
            place = stack.enter_context(local)
        try:
            client = stack.enter_context(Client(place, timeout=PATIENCE))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"--dask: no scheduler of dask answers at {printable(address)} ({said(error)}); start one with dask "
                "scheduler, check the address, such as tcp://host:8786, or say --dask local"
            ) from error
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise InputError(
                f"--dask: the scheduler at {printable(address)} has no workers; start some with dask worker "
                f"{printable(address)}, and run the command again"
            ) from error
        _hold_if_there_is_room(source)
        yield


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Let processes that are started here not hear Ctrl-C, which a terminal sends to all: they would complain of it.

    Those who start them are threads that begin here, and they inherit what is blocked.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would unblock the signal in whoever starts it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hold_if_there_is_room(source: DaskSource) -> None:
    """Keep a matrix on the workers if it takes up to half of their memory; else it is read in every pass."""
    room = memory()
    if room is not None and source.lazy.nbytes <= SHARE * room:
        source.lazy = source.lazy.persist()
