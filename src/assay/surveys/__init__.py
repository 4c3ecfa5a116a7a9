"""What files does a tree have? `assay survey`.

The engine walks the tree (`engine/src/survey`); `surveyor` starts it and reads along, `tree_survey` has what it hands out,
`survey_json` writes that for other programs and reads it to go on, and `survey_load` makes a load file of it.
"""
