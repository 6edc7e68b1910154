"""LightGBM's text files.

`reader` reads the trees and their settings, `categories` finds the features of the lists of categories at the end of
a file, `unread` records the lines that are not part of the model.
"""
