//! From gold SPARQL to verified reasoning programs and instruction data
