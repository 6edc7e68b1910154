"""What WEKA's J48 (`weka`) and R's rpart (`rpart`) print.

Both parse the lines of one tree and put it together with `builder`, which also records the other lines.
"""
