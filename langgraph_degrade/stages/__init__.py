"""One room a stage: what each stage of an agent knows about failing, and nothing about ladders."""
