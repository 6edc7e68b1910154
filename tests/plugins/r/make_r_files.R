# Models of made-up people, and what R predicts: `Rscript make_r_files.R FOLDER`, which make_r_files.py packs.
#
# It writes CASE.rds and CASE.csv: rows with R's answers behind them, `score.CLASS` (probabilities, or votes), `label`,
# `number`. Debian: r-base-core r-cran-rpart r-cran-ranger r-cran-randomforest r-cran-caret r-cran-gbm. With two numbers
# besides it writes so many random models from that seed on, and nothing else.
suppressMessages({library(rpart); library(ranger); library(randomForest); library(caret); library(gbm)})
folder <- commandArgs(trailingOnly = TRUE)[1]
models <- if (length(commandArgs(trailingOnly = TRUE)) > 1) as.integer(commandArgs(trailingOnly = TRUE)[2]) else 60
first <- if (length(commandArgs(trailingOnly = TRUE)) > 2) as.integer(commandArgs(trailingOnly = TRUE)[3]) else 0
n <- 200
WARDS <- c("north", "south", "west", "east end", "<30", "zoo", "b", "a")
GRADES <- c("low", "middle", "high")
TOWNS <- c("Ayr", "Bath", "Cork")
CLASSES <- c("no", "yes", "maybe", "never")

pick <- function(...) { options <- list(...); options[[sample.int(length(options), 1)]] }
gaps <- function(people, share) {
  for (name in names(people)) people[[name]][runif(nrow(people)) < share] <- NA
  people
}
make_people <- function(wards, rows) data.frame(
  age = sample(18:80, rows, TRUE), bmi = round(rnorm(rows, 26, 4), 1), visits = sample(0:5, rows, TRUE),
  ward = factor(sample(WARDS[1:wards], rows, TRUE), levels = WARDS[1:wards]),
  grade = factor(sample(GRADES, rows, TRUE), levels = GRADES, ordered = TRUE),
  smoker = runif(rows) < .4, town = sample(TOWNS, rows, TRUE), stringsAsFactors = FALSE
)
save_case <- function(case, fit, rows = NULL, answers = NULL) {
  saveRDS(fit, file.path(folder, paste0(case, ".rds")), compress = FALSE, version = pick(2, 3))
  if (is.null(rows)) return(invisible())
  written <- cbind(rows, answers)
  for (name in names(written)) if (is.double(written[[name]])) written[[name]] <- ifelse(is.na(written[[name]]), NA, sprintf("%.17g", written[[name]]))
  write.csv(written, file.path(folder, paste0(case, ".csv")), row.names = FALSE, na = "")
}
scores <- function(matrix) { colnames(matrix) <- paste0("score.", colnames(matrix)); as.data.frame(matrix, check.names = FALSE) }
tally <- function(labels) t(apply(labels, 1, function(row) tabulate(match(row, CLASSES), length(CLASSES))))
votes <- function(labels) { found <- tally(labels); colnames(found) <- CLASSES; scores(found) }

# Rows that try more: cells of other people, numbers at, just below and just above thresholds, and gaps.
probes <- function(people, thresholds, missing) {
  rows <- people[sample.int(nrow(people), 40, TRUE), ]
  for (name in names(people)) rows[[name]] <- sample(people[[name]], 40, TRUE)
  for (name in intersect(names(thresholds), names(people))) {
    at <- thresholds[[name]]
    cells <- c(at, at * (1 - 2^-50), at * (1 + 2^-50))
    rows[[name]][1:20] <- cells[sample.int(length(cells), 20, TRUE)]
  }
  rows <- if (missing) rbind(gaps(rows, .3), rows[1, ]) else rows
  for (name in intersect(c("age", "visits"), names(rows))) rows[[name]] <- as.numeric(rows[[name]])
  unique(rows)
}

case_rpart <- function(case) {
  wards <- sample(2:8, 1); people <- make_people(wards, n); classes <- sample(2:4, 1)
  risk <- people$age / 30 + as.integer(people$ward) %% 3 + as.integer(people$grade) + people$smoker + rnorm(n)
  method <- pick("class", "class", "class", "anova", "poisson")
  people$target <- switch(method,
    class = factor(CLASSES[cut(risk, classes, labels = FALSE)], levels = sample(CLASSES[1:classes])),
    anova = round(risk * 10, 1), poisson = rpois(n, exp(risk / 5)))
  people$target <- if (is.factor(people$target)) droplevels(people$target) else people$target
  names_of <- sample(c("age", "bmi", "visits", "ward", "grade", "smoker", "town"), sample(3:6, 1))
  people[names_of] <- gaps(people[names_of], pick(0, 0, .1, .25))
  k <- nlevels(people$target)
  parms <- if (method == "class") switch(sample(4, 1),
    NULL, list(prior = diff(c(0, sort(sample(15, k - 1)), 16)) / 16), list(split = "information"),
    list(loss = { m <- matrix(sample(1:5, k * k, TRUE), k); diag(m) <- 0; m }))
  control <- rpart.control(cp = pick(.001, .01), minsplit = pick(5, 20), maxdepth = pick(2, 4, 8), xval = pick(0, 3),
    usesurrogate = sample(0:2, 1), maxsurrogate = pick(0, 2, 5), maxcompete = pick(0, 4), surrogatestyle = sample(0:1, 1))
  formula <- reformulate(names_of, "target")
  arguments <- list(formula, quote(people), method = method, control = control, model = pick(TRUE, FALSE), y = pick(TRUE, FALSE))
  if (!is.null(parms)) arguments$parms <- parms
  if (pick(TRUE, FALSE, FALSE)) { people$weight <- sample(1:3, n, TRUE); arguments$weights <- quote(weight) }
  fit <- pick(function() eval(as.call(c(quote(rpart), arguments))), function() do.call(rpart, lapply(arguments, eval, list(people = people, weight = people$weight))))()
  if (pick(TRUE, TRUE, FALSE)) attr(fit$terms, ".Environment") <- globalenv()
  split <- if (is.null(fit$splits)) data.frame() else data.frame(name = rownames(fit$splits), at = fit$splits[, "index"], ncat = fit$splits[, "ncat"])
  split <- split[abs(split$ncat) == 1 & split$name %in% c("age", "bmi", "visits"), ]
  rows <- probes(people[names_of], if (nrow(split)) split(split$at, split$name) else list(), TRUE)
  answers <- if (method == "class") cbind(scores(predict(fit, rows, type = "prob")), label = as.character(predict(fit, rows, type = "class")))
    else data.frame(number = predict(fit, rows))
  save_case(case, fit, rows, answers)
}

case_ranger <- function(case) {
  wards <- sample(2:8, 1); people <- make_people(wards, n); classes <- sample(2:4, 1)
  risk <- people$age / 30 + as.integer(people$ward) %% 3 + as.integer(people$grade) + people$smoker + rnorm(n)
  kind <- pick("class", "probability", "number"); mode <- pick("ignore", "order", "partition")
  people$target <- if (kind == "number") round(risk * 10, 1) else droplevels(factor(CLASSES[cut(risk, classes, labels = FALSE)], levels = sample(CLASSES)))
  names_of <- sample(c("age", "bmi", "visits", "ward", "grade", "smoker"), sample(3:6, 1))
  fit <- ranger(reformulate(names_of, "target"), people, num.trees = sample(3:5, 1), probability = kind == "probability",
    respect.unordered.factors = mode, replace = pick(TRUE, FALSE), keep.inbag = pick(TRUE, FALSE), min.node.size = pick(5, 15),
    max.depth = pick(0, 3), splitrule = pick(NULL, if (mode == "partition") NULL else "extratrees"), seed = sample.int(1e6, 1), num.threads = 1)
  at <- lapply(setNames(seq_along(fit$forest$independent.variable.names), fit$forest$independent.variable.names), function(i)
    unlist(Map(function(variable, value, left) value[variable == i - 1 & left != 0], fit$forest$split.varIDs, fit$forest$split.values, lapply(fit$forest$child.nodeIDs, `[[`, 1))))
  at <- at[intersect(c("age", "bmi", "visits"), names(at)[lengths(at) > 0])]
  rows <- probes(people[names_of], at, FALSE)
  if (mode == "order" && "ward" %in% names_of) levels(rows$ward) <- c(levels(rows$ward), "unseen")
  if (mode == "order" && "ward" %in% names_of) rows$ward[c(3, 9)] <- "unseen"
  rows <- unique(rows)
  if (kind == "class") {
    each <- predict(fit, rows, predict.all = TRUE, num.threads = 1)$predictions
    answers <- votes(matrix(fit$forest$levels[each], nrow(rows)))
  } else if (kind == "probability") answers <- scores(predict(fit, rows, num.threads = 1)$predictions)
  else answers <- data.frame(number = predict(fit, rows, num.threads = 1)$predictions)
  save_case(case, fit, rows, answers)
}

case_forest <- function(case) {
  wards <- sample(2:8, 1); people <- make_people(wards, n); classes <- sample(2:4, 1)
  people$smoker <- NULL; people$town <- NULL
  risk <- people$age / 30 + as.integer(people$ward) %% 3 + as.integer(people$grade) + rnorm(n)
  is_class <- pick(TRUE, TRUE, FALSE); by_formula <- pick(TRUE, FALSE)
  people$target <- if (is_class) droplevels(factor(CLASSES[cut(risk, classes, labels = FALSE)], levels = sample(CLASSES))) else round(risk * 10, 1)
  names_of <- sample(c("age", "bmi", "visits", "ward", if (!by_formula) "grade"), sample(3:4, 1))
  k <- nlevels(people$target)
  arguments <- list(ntree = sample(3:5, 1), keep.inbag = pick(TRUE, FALSE), nodesize = pick(5, 10))
  if (is_class && pick(TRUE, FALSE)) arguments$cutoff <- { p <- runif(k) + .3; p / sum(p) }
  fit <- if (by_formula) do.call(randomForest, c(list(reformulate(names_of, "target"), data = quote(people)), arguments))
    else do.call(randomForest, c(list(x = quote(people[names_of]), y = quote(people$target)), arguments))
  if (by_formula && pick(TRUE, FALSE)) attr(fit$terms, ".Environment") <- globalenv()
  rows <- probes(people[names_of], list(), FALSE)
  for (name in intersect(c("age", "bmi", "visits"), names_of)) {
    at <- fit$forest$xbestsplit[fit$forest$bestvar == match(name, rownames(fit$importance)) & fit$forest$nodestatus != -1]
    if (length(at)) rows[[name]][1:15] <- at[sample.int(length(at), 15, TRUE)]
  }
  rows <- unique(rows)
  if (is_class) {
    counted <- predict(fit, rows, type = "vote", norm.votes = FALSE)
    best <- sweep(unclass(counted), 2, fit$forest$cutoff, "/")
    tied <- apply(best, 1, function(row) sum(row >= max(row) * (1 - 1e-12)) > 1)
    answers <- cbind(scores(matrix(counted, nrow(rows), dimnames = list(NULL, fit$classes))), label = ifelse(tied, NA, as.character(predict(fit, rows))))
  } else answers <- data.frame(number = predict(fit, rows))
  save_case(case, fit, rows, answers)
}

case_caret <- function(case) {
  people <- make_people(sample(3:6, 1), n); people$town <- NULL; people$grade <- NULL
  risk <- people$age / 30 + as.integer(people$ward) %% 3 + people$smoker + rnorm(n)
  people$target <- factor(CLASSES[cut(risk, 3, labels = FALSE)], levels = CLASSES[1:3])
  people$smoker <- NULL
  method <- pick("rpart", "rf"); tune <- if (method == "rf") data.frame(mtry = 2) else data.frame(cp = .01)
  control <- trainControl(method = "none"); names_of <- c("age", "bmi", "visits", "ward")
  fit <- suppressWarnings(if (pick(TRUE, FALSE)) train(target ~ age + bmi + visits + ward, people, method = method, trControl = control, tuneGrid = tune)
    else train(people[names_of], people$target, method = method, trControl = control, tuneGrid = tune))
  if (method == "rf") fit <- train(people[names_of], people$target, method = method, trControl = control, tuneGrid = tune, ntree = 5)
  rows <- probes(people[names_of], list(), FALSE)
  answers <- cbind(scores(as.matrix(predict(fit, rows, type = "prob"))), label = as.character(predict(fit, rows)))
  if (method == "rf") { p <- as.matrix(answers[grep("score", names(answers))]); answers$label[apply(p, 1, function(row) sum(row == max(row)) > 1)] <- NA }
  save_case(case, fit, rows, answers)
}

kinds <- list(rpart = case_rpart, rpart = case_rpart, ranger = case_ranger, forest = case_forest, rpart = case_rpart, ranger = case_ranger, forest = case_forest)
for (i in seq_len(models) + first) {
  set.seed(i); kind <- if (i %% 30 == 0) "caret" else names(kinds)[i %% length(kinds) + 1]
  case <- sprintf("%s-%03d", kind, i)
  if (kind == "caret") case_caret(case) else kinds[[i %% length(kinds) + 1]](case)
}
if (first > 0) quit()

# What is refused.
set.seed(1); people <- make_people(3, n); people$target <- factor(ifelse(people$age > 50, "yes", "no")); people$cost <- people$age + rnorm(n)
people$time <- rexp(n)
save_case("refused-gbm", gbm(cost ~ age + bmi, data = people, distribution = "gaussian", n.trees = 3))
save_case("refused-survival", rpart(survival::Surv(time) ~ age + bmi, people))
save_case("refused-bias", suppressWarnings(randomForest(people[c("age", "bmi")], people$cost, ntree = 2, corr.bias = TRUE)))
save_case("refused-unsupervised", randomForest(people[1:20, c("age", "bmi")], ntree = 2))
save_case("refused-no-trees", randomForest(people[c("age", "bmi")], people$cost, ntree = 2, keep.forest = FALSE))
save_case("refused-no-forest", ranger(cost ~ age + bmi, people, num.trees = 2, write.forest = FALSE))
save_case("refused-ranger-survival", ranger(survival::Surv(time) ~ age, people[1:20, ], num.trees = 2, max.depth = 1))
preprocessed <- train(people[1:50, c("age", "bmi")], people$cost[1:50], method = "rpart", preProcess = "scale", trControl = trainControl(method = "none"), tuneGrid = data.frame(cp = .1))
preprocessed$modelInfo <- preprocessed$finalModel <- NULL
save_case("refused-preprocessed", preprocessed)
save_case("refused-lm", lm(cost ~ age, people[1:20, ]))
save_case("refused-frame", people[1:20, ])

# Fitted within a function, whose variables the formula's environment holds.
within <- function(people) { clinic <- "Clinic 7"; rpart(target ~ age + ward + bmi, people, cp = .02) }
save_case("held-rpart", within(people[c("age", "ward", "bmi", "target")]))
save_case("held-inbag", ranger(target ~ age + bmi, people, num.trees = 3, max.depth = 2, keep.inbag = TRUE))
save_case("held-proximity", randomForest(people[1:40, c("age", "bmi")], people$target[1:40], ntree = 3, proximity = TRUE))
save_case("held-nothing", { fit <- within(people); attr(fit$terms, ".Environment") <- globalenv(); fit$where <- fit$y <- NULL; fit$call <- NULL; fit })
write.csv(people[c("age", "ward", "bmi", "target")], file.path(folder, "held.csv"), row.names = FALSE)
