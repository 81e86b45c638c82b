"""Numbered, forward-only SQL files of the schema `storecrawl`, executed in order, each in one transaction."""
