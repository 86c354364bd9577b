"""A question and a folder of documents -> an answer whose citations were read back."""
