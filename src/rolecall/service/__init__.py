"""What an operator may do: one small class a noun, under the command line and whatever comes beside it.

Each is given a `Database`, returns model values and raises model errors; none knows argv, HTTP or tables.
"""
