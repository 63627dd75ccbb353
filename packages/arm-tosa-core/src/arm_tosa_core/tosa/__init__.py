"""TOSA: the specification, the operator table, the graph and its rewriting, the flatbuffer, the reference model."""
