"""Actions of people through any interface: review locations, change routes, create tasks for stores."""
