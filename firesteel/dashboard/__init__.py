"""The dashboard of jobs: pages that the driver's web server renders, of what Flink's own dashboard cannot know too."""

from __future__ import annotations

from firesteel.dashboard.routes import dashboard_routes

__all__ = ["dashboard_routes"]
