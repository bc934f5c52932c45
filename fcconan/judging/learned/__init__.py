"""Raters that learn from people's ratings.

- `rated_texts`: table of the training data
- `features`: features of replies
- `folds`: folds of replies
- `regression`: kernel ridge regression
- `cross_fitting`: out-of-fold predictions, and models of all folds
- `rater`: the trained rater
- `training_texts`: hashes of the training texts
- `judge`: ratings in the columns of a Rating
- `training`, `files`: training, and the folder of a rater
"""
