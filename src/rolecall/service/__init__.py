"""The service layer: one small class for each subject, used by the CLI, the API and the dashboard.

Each class takes a `Database`, returns model values and raises model errors. It knows nothing of argv, HTTP or tables.
"""
