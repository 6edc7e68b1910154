# Predictions of a model that leafgate wrote; needs R alone: source("predict.R"); predict_people(people)
#
# `people` is a data frame with the columns that the model asks about. The answer is a data frame with a row for each
# person: the predicted class or number, NA where the model predicts nothing, and beside it the score of each class
# where the model has scores. The functions are the same for every model; the model itself is below them.

predict_people <- function(people, model = .leafgate_model) {
  n <- nrow(people)
  width <- max(1L, length(model$classes))
  missed <- setdiff(vapply(model$features, function(feature) feature$column, ""), names(people))
  if (length(missed)) stop("the model asks about columns that are not there: ", paste(missed, collapse = ", "))
  cells <- lapply(model$features, .leafgate_cells, people = people)
  leaves <- lapply(model$trees, .leafgate_leaves, cells = cells, n = n)
  if (!length(model$classes)) {
    total <- rep(if (length(model$base)) model$base[1] else 0, n)
    for (i in seq_along(leaves)) total <- total + c(model$trees[[i]]$adds[, 1], NA)[leaves[[i]]]
    if (model$combine == "exp_sum") total <- exp(pmin(pmax(total, -700), 700))
    return(data.frame(prediction = if (model$combine == "mean_per_tree") total / length(leaves) else total))
  }
  found <- .leafgate_votes(model, leaves, "adds", n, width)
  best <- max.col(found$votes, ties.method = "first")
  answer <- data.frame(prediction = ifelse(found$voted, model$classes[best], NA), stringsAsFactors = FALSE)
  if (!model$scores) return(answer)
  found <- .leafgate_votes(model, leaves, if (model$combine == "one") "scores" else "adds", n, width)
  votes <- found$votes
  if (model$combine == "boost" && !length(model$sums)) votes <- exp(votes - apply(votes, 1, max))
  votes <- pmax(votes, 0) / rowSums(votes)
  votes[!found$voted, ] <- NA
  colnames(votes) <- model$classes
  cbind(answer, as.data.frame(votes, optional = TRUE))
}

.leafgate_votes <- function(model, leaves, part, n, width) {
  votes <- matrix(0, n, width)
  boosted <- model$combine == "boost" && length(model$base) > 0
  for (i in seq_along(model$base)) if (boosted) votes[, width - length(model$base) + i] <- model$base[i]
  voted <- rep(boosted, n)
  last_tree <- cumsum(vapply(model$sums, function(sum) sum$trees, 0))
  shares <- matrix(0, n, width)
  for (i in seq_along(leaves)) {
    adds <- rbind(model$trees[[i]][[part]], 0)
    at <- leaves[[i]]
    votes <- votes + adds[at, , drop = FALSE]
    voted <- voted | if (model$combine == "boost") at < nrow(adds) else rowSums(adds)[at] > 0
    if (i %in% last_tree) {
      shares <- shares + .leafgate_shares(votes, model$sums[[match(i, last_tree)]])
      votes[] <- 0
    }
  }
  list(votes = if (length(last_tree)) shares / length(last_tree) else votes, voted = voted)
}

# The shares of classes that a calibration makes of what some trees add up to; of two classes one has what the other
# leaves.
.leafgate_shares <- function(scores, sum) {
  if (sum$mean) scores <- scores / sum$trees
  if (sum$link == "softmax") {
    powers <- exp(scores - apply(scores, 1, max))
    return(powers / rowSums(powers))
  }
  shares <- if (sum$link == "logistic") 1 / (1 + exp(-scores)) else 0 * scores
  for (k in seq_along(sum$points)) {
    points <- sum$points[[k]]
    if (nrow(points) == 1) shares[, k] <- points[1, 2]
    if (nrow(points) > 1) shares[, k] <- approx(points[, 1], points[, 2], scores[, k], rule = 2)$y
  }
  rest <- which(vapply(sum$points, nrow, 0L) == 0)
  if (length(rest)) shares[, rest] <- 1 - rowSums(shares)
  total <- rowSums(shares)
  shares[total == 0, ] <- 1 / ncol(shares)
  shares / ifelse(total == 0, 1, total)
}

# What a feature is of each person: a number, NaN where it is missing, Inf for a value that the model does not take.
.leafgate_cells <- function(feature, people) {
  column <- people[[feature$column]]
  texts <- if (is.numeric(column)) vapply(column, function(cell) format(cell, digits = 15, scientific = FALSE, trim = TRUE), "") else as.character(column)
  texts[is.na(column)] <- NA
  if (feature$kind == "coded") {
    at <- match(texts, feature$values)
    alike <- match(.leafgate_number(texts), .leafgate_number(feature$values), incomparables = NA)
    at <- ifelse(is.na(at), alike, at)
    number <- ifelse(is.na(texts), feature$missing, ifelse(is.na(at), feature$other, feature$codes[at]))
  } else if (feature$kind == "absent") {
    number <- ifelse(is.na(column), feature$gone, feature$there)
  } else {
    number <- if (is.numeric(column) || is.logical(column)) as.numeric(column) else .leafgate_number(texts)
    if (!is.null(feature$fill)) number[is.na(number)] <- feature$fill
  }
  list(number = as.numeric(number), texts = texts)
}

.leafgate_number <- function(texts) {
  truth <- match(tolower(texts), c("false", "true")) - 1
  ifelse(is.na(truth), suppressWarnings(as.numeric(texts)), truth)
}

.leafgate_single <- function(numbers) {
  if (!length(numbers)) return(numbers)
  readBin(writeBin(as.numeric(numbers), raw(), size = 4), "numeric", length(numbers), size = 4)
}

# The node in which each person ends; one more than there are nodes where the model does not take the person's value.
.leafgate_leaves <- function(tree, cells, n) {
  size <- length(tree$feature)
  at <- rep(1L, n)
  flag <- function(flags) rep_len(flags, size)
  strict <- flag(tree$strict); single <- flag(tree$float32); missing_low <- flag(tree$missing_low)
  set_at <- integer(size)
  for (i in seq_along(tree$sets)) set_at[tree$sets[[i]]$node] <- i
  waiting <- which(tree$feature[at] > 0L)
  while (length(waiting)) {
    for (node in unique(at[waiting])) {
      here <- waiting[at[waiting] == node]
      cell <- cells[[tree$feature[node]]]
      number <- cell$number[here]
      seen <- if (single[node]) .leafgate_single(number) else number
      taken <- is.na(number) | is.finite(number)
      if (set_at[node] > 0L) {
        chosen <- tree$sets[[set_at[node]]]
        named <- cell$texts[here] %in% chosen$texts
        low <- ifelse(is.na(number), missing_low[node], seen %in% chosen$codes) | named
        taken <- taken | named
      } else {
        low <- if (strict[node]) seen < tree$threshold[node] else seen <= tree$threshold[node]
        low <- ifelse(is.na(number), missing_low[node], low)
      }
      at[here] <- ifelse(taken, ifelse(low, tree$low[node], tree$high[node]), size + 1L)
    }
    waiting <- waiting[at[waiting] <= size]
    waiting <- waiting[tree$feature[at[waiting]] > 0L]
  }
  at
}

