"""The values, rules and errors that every other floor speaks of; standard library only."""
