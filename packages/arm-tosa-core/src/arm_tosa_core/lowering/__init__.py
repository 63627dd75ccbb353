"""From an exported program to TOSA graphs: rules, values, builders, support analysis, regions."""
