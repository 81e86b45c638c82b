"""What a person does, by whichever shell: review locations, change routes, have tasks made for stores."""
