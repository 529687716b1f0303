"""What is computed, without how: stencils, tables, pipelines, chains of matrices and loops of annotated C."""
