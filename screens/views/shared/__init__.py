"""What several views use: render context, filters, sorting, caches.

Imports `runtime.link.client` and `screens.render`.
"""
