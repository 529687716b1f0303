"""What a user writes -> programs: traced Python functions, recurrences, pipelines and annotated C."""
