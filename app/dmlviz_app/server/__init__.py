"""Server of all routes and pages: services, access rules, middleware, monitoring, hosting."""
