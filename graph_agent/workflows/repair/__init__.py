"""The repair agent: a failing test goes in, a verified patch comes out, or a reason why not."""
