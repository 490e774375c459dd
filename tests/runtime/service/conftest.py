"""Sockets of a runtime stand in a short place, as in the tests of the link."""

from __future__ import annotations

from tests.runtime.link.conftest import short_place

__all__ = ["short_place"]
