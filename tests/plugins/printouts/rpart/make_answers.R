# Writes the other files of this folder: `Rscript make_answers.R` with rpart 4.1.
#
# NAME.txt is what R prints of a tree. `people.csv` has made-up people, and in the column NAME what R predicts of them;
# `nodes.csv` how many people of each class R counts on every node.
library(rpart)
set.seed(20)
n <- 120
wards <- c("A", "B", "C", " north", "", "<30", ">=30")
people <- data.frame(ward = factor(sample(wards, n, TRUE), levels = wards), age = sample(20:90, n, TRUE))
risk <- people$age / 25 + as.integer(people$ward) %% 3 + rnorm(n)
people$two <- factor(ifelse(risk > 3.5, "yes", "no"))
people$three <- cut(risk, c(-Inf, 2.5, 4, Inf), c("low", "middle", "high"))
people$six <- factor(paste("group", pmax(1, pmin(6, ceiling(risk)))))
people$cost <- round(100 * risk, 1)
people$visits <- round(risk + 2)
answers <- people
counted <- NULL

write_tree <- function(name, learned, ..., depth = 4, smallest = 8, digits = 7, levels = FALSE) {
  formula <- reformulate(c("ward", "age"), learned)
  control <- rpart.control(cp = 0.001, minsplit = smallest, maxdepth = depth, xval = 0)
  fit <- rpart(formula, people, control = control, ...)
  sink(paste0(name, ".txt"))
  print(fit, digits = digits)
  if (levels) print(attr(fit, "ylevels"))
  sink()
  is_class <- fit$method == "class"
  answers[[name]] <<- if (is_class) as.character(predict(fit, type = "class")) else signif(predict(fit), 7)
  if (!is_class) return(invisible())
  nodes <- as.integer(row.names(fit$frame))
  for (node in nodes) {
    reached <- sapply(nodes[fit$where], function(leaf) { while (leaf > node) leaf <- leaf %/% 2; leaf == node })
    there <- table(people[[learned]][reached])
    counted <<- rbind(counted, data.frame(tree = name, node = node, class = names(there), people = c(there)))
  }
}
write_tree("levels", "two")
write_tree("digits", "three", digits = 3)
write_tree("prior", "three", parms = list(prior = c(0.2, 0.5, 0.3)))
write_tree("losses", "two", parms = list(loss = matrix(c(0, 1, 4, 0), 2)), levels = TRUE)
write_tree("unpredicted", "two", smallest = 200, levels = TRUE)
write_tree("six", "six", depth = 5)
write_tree("weights", "two", weights = rep(1:3, length.out = n))
write_tree("anova", "cost")
write_tree("poisson", "visits", method = "poisson")
write.csv(answers, "people.csv", row.names = FALSE)
write.csv(counted, "nodes.csv", row.names = FALSE)
