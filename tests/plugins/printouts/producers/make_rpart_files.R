# Small trees as R's rpart prints them, with what R predicts: `Rscript make_rpart_files.R FOLDER`.
#
# It writes the files of an archive (see tests/support/producer_archive.py) into FOLDER, which
# tests/producers/make_all.py packs: CASE.txt, what R prints; rows.csv, margins.csv and labels.csv.
library(rpart)
set.seed(20)
folder <- commandArgs(trailingOnly = TRUE)[1]
n <- 80
wards <- c("A", "B", "C", "north east", "<30")
people <- data.frame(
  age = sample(18:89, n, TRUE), visits = sample(0:8, n, TRUE), ward = factor(sample(wards, n, TRUE), levels = wards)
)
risk <- people$age / 25 + as.integer(people$ward) %% 3 + rnorm(n)
people$two <- factor(ifelse(risk > 3.5, "yes", "no"))
people$three <- cut(risk, c(-Inf, 2.5, 4, Inf), c("low", "middle", "high"))
people$cost <- round(100 * risk, 1)
people$number <- round(abs(risk) + 2)
rows <- people[c("age", "visits", "ward")]
others <- expand.grid(age = c(0, 30.5, 55, 200), visits = c(0, 3.5, 90), ward = factor(wards, levels = wards))
rows <- rbind(rows, others)
margins <- data.frame(row.names = seq_len(nrow(rows)))
labels <- margins

write_tree <- function(name, learned, ..., depth = 4, smallest = 8, digits = 7, levels = FALSE) {
  formula <- reformulate(c("age", "visits", "ward"), learned)
  fit <- rpart(formula, people, control = rpart.control(cp = 0.001, minsplit = smallest, maxdepth = depth, xval = 0), ...)
  sink(file.path(folder, paste0(name, ".txt")))
  print(fit, digits = digits)
  if (levels) print(attr(fit, "ylevels"))
  sink()
  if (fit$method == "class") {
    shares <- predict(fit, rows)
    for (i in seq_len(ncol(shares))) margins[[paste(name, i - 1, sep = ".")]] <<- shares[, order(colnames(shares))[i]]
    labels[[name]] <<- as.character(predict(fit, rows, type = "class"))
  } else {
    margins[[paste(name, 0, sep = ".")]] <<- predict(fit, rows)
  }
}
write_tree("two", "two")
write_tree("three", "three")
write_tree("deep", "three", depth = 8, smallest = 2)
write_tree("pruned", "two", depth = 1)
write_tree("information", "two", parms = list(split = "information"))
write_tree("three-digits", "three", digits = 3)
write_tree("prior", "three", parms = list(prior = c(0.2, 0.5, 0.3)))
prior_labels <- labels[["prior"]]
for (i in 1:3) margins[[paste("prior", i - 1, sep = ".")]] <- as.numeric(prior_labels == c("high", "low", "middle")[i])
write_tree("losses", "two", parms = list(loss = matrix(c(0, 1, 4, 0), 2)), levels = TRUE)
write_tree("one-leaf", "two", smallest = 200, levels = TRUE)
write_tree("weights", "two", weights = rep(1:3, length.out = n))
write_tree("anova", "cost")
write_tree("poisson", "number", method = "poisson")
write_tree("unnamed-class", "two", smallest = 200)
margins[["unnamed-class.0"]] <- margins[["unnamed-class.1"]] <- labels[["unnamed-class"]] <- NULL
for (name in c("rows", "margins", "labels")) {
  write.csv(get(name), file.path(folder, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)
}
writeLines(c("R", as.character(getRversion())), file.path(folder, "made_with.csv"))
writeLines(as.character(packageVersion("rpart")), file.path(folder, "VERSION"))
