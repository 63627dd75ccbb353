"""The rival's own operator tests, run on this project's compiler."""
