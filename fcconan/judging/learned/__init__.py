"""Raters that learn from people's ratings.

`rated_texts` has the table they learn from, `features` what they see of a reply, `folds` which replies are held out
together, `regression` what they learn, `cross_fitting` predictions for replies that were held out, `rater` the finished
rater, `training_texts` what it remembers of its training texts, `judge` its ratings, and `files` its folder.
"""
