# Models with numbers, a text or a table that nobody needs, each in one place: `Rscript plant_content.R FOLDER`.
suppressMessages({library(rpart); library(ranger); library(randomForest)})
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(3); n <- 90
people <- data.frame(age = sample(20:80, n, TRUE), ward = factor(sample(c("north", "south"), n, TRUE)))
people$ill <- factor(ifelse(runif(n) < people$age / 100, "yes", "no"))
models <- list(rpart = rpart(ill ~ age + ward, people, cp = .02), ranger = ranger(ill ~ age + ward, people, num.trees = 2, respect.unordered.factors = "order"),
  forest = randomForest(ill ~ age + ward, people, ntree = 2))
planted <- list(numbers = 7319 + seq_len(150) / 7, text = paste(rep("planted 7319 cell", 12), collapse = " "),
  rows = 7319 + seq_len(n) / 7, table = data.frame(a = 1:40, b = letters[rep(1:20, 2)]))
places <- list(
  element = function(fit, x) { fit$extra <- x; fit }, attribute = function(fit, x) { attr(fit, "extra") <- x; fit },
  call = function(fit, x) { fit$call$extra <- x; fit }, nested = function(fit, x) { fit$extra <- list(list(other = list(x))); fit },
  environment = function(fit, x) { e <- new.env(); assign("extra", x, e); fit$extra <- y ~ a; attr(fit$extra, ".Environment") <- e; fit },
  closure = function(fit, x) { fit$extra <- local({ inner <- x; function() inner }); fit },
  promise = function(fit, x) { fit$extra <- (function(argument) { force(argument); environment() })(x); fit },
  s4 = function(fit, x) { setClass("Holder", representation(inner = "ANY"), where = globalenv()); fit$extra <- new("Holder", inner = x); fit },
  expression = function(fit, x) { fit$extra <- as.expression(x); fit },
  model = function(fit, x) { part <- if (is.null(fit$forest)) "frame" else "forest"; attr(fit[[part]], "extra") <- x; fit },
  forest = function(fit, x) { if (!is.null(fit$forest)) fit$forest$extra <- x else attr(fit$splits, "extra") <- x; fit },
  settings = function(fit, x) { if (is.null(fit$control)) fit$mtry <- x else fit$control$extra <- x; fit }
)
for (model in names(models)) {
  saveRDS(models[[model]], file.path(folder, paste0(model, ".rds")))
  for (place in names(places)) for (what in names(planted))
    saveRDS(places[[place]](models[[model]], planted[[what]]), file.path(folder, paste(model, place, what, "rds", sep = ".")))
}
