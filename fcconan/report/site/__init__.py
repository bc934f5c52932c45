"""The report site: one static folder of pages that share a layout, from the results of several verbs."""
