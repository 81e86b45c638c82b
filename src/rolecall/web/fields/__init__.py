"""The fields of requests and responses: parameters, filters, new tasks, views and an app's aliases."""
