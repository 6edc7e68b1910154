"""What WEKA's J48 and R's rpart print."""
