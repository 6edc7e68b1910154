# Made-up people and a tree that predicts who of them is ill: Rscript docs/r/train.R, in this folder.
library(rpart)
set.seed(7)
n <- 1200
people <- data.frame(age = sample(20:79, n, TRUE), ward = sample(c("north", "south", "west"), n, TRUE))
people$ill <- ifelse(runif(n) < ifelse(people$age > 50 & people$ward == "north", .75, .2), "yes", "no")
write.csv(people, "people.csv", row.names = FALSE, quote = FALSE)

fit <- function(people, cp) {
  people[] <- lapply(people, function(column) if (is.character(column)) factor(column) else column)
  rpart(ill ~ age + ward, people, cp = cp, minbucket = 30)
}
saveRDS(fit(people, .02), "model.rds")
