"""Pictures of executions: graphs of events, and timelines of machines."""
