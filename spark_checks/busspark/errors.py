"""The reason why an engine, and not the history, gave no verdict. Importable without Spark."""


class EngineError(RuntimeError):
    """One sentence for the user."""
