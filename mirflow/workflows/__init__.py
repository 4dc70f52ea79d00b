"""Work that runs systems and then asks: numbers of papers computed again, benchmarks, patches of references."""
