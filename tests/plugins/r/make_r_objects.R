# Objects of each type that R serialises, and a line that describes each element: `Rscript make_r_objects.R FOLDER`.
folder <- commandArgs(trailingOnly = TRUE)[1]
numbers <- function(x) paste(ifelse(is.nan(x), "nan", ifelse(is.na(x), "NA", sprintf("%.17g", as.double(x)))), collapse = ",")
describe <- function(x) {
  if (is.environment(x)) return("environment")
  if (is.function(x)) return("function")
  if (is.list(x) && !is.pairlist(x)) return(paste0("list(", paste(vapply(unclass(x), describe, ""), collapse = "|"), ")"))
  if (is.character(x)) return(paste0("texts(", paste(ifelse(is.na(x), "NA", enc2utf8(x)), collapse = ","), ")"))
  if (is.raw(x)) return(paste0("raw(", paste(as.integer(x), collapse = ","), ")"))
  if (is.complex(x)) return(paste0("complex(", paste(numbers(Re(x)), numbers(Im(x)), sep = ";"), ")"))
  if (is.factor(x) || is.numeric(x) || is.logical(x) || inherits(x, "Date")) return(paste0(typeof(x), "(", numbers(unclass(x)), ")"))
  "other"
}
latin <- "caf\xe9"; Encoding(latin) <- "latin1"
cycle <- new.env(); cycle$self <- cycle; cycle$age <- c(1.5, NA, Inf); cycle$many <- list2env(setNames(as.list(1:600), paste0("v", 1:600)))
compiled <- compiler::cmpfun(function(x, y = 2) { for (i in 1:3) x <- x + if (i > 1) y else quote(a + b); g <- function(z) z * x; x })
methods::setClass("Clinic", representation(beds = "numeric"))
wide <- reformulate(paste0("column", 1:150), "y")
objects <- list(
  null = NULL, logical = c(TRUE, FALSE, NA), integer = c(1L, NA, -5L), double = c(pi, NA, NaN, -Inf), complex = complex(real = 1:2, imaginary = 3),
  texts = c("a", NA, "\u00e9", latin, ""), raw = as.raw(0:3), list = list(a = 1, b = list("x", NULL)), factor = factor(c("u", "v", NA)),
  compact = 1:10, down = 5:2, long = seq_len(100), deferred = as.character(1:5), call = quote(f(x, y = 2)), formula = y ~ a + b, expression = expression(a, b + 1),
  compiled = compiled, after = quote(f(x)), closure = function(a, ...) a, primitive = sum, special = `if`, cycle = cycle, again = cycle, base = baseenv(), namespace = asNamespace("stats"),
  package = as.environment("package:stats"), empty = emptyenv(), global = globalenv(), missing = quote(f(, 1)), s4 = methods::new("Clinic", beds = 7),
  frame = data.frame(age = c(30, 40), ward = c("n", "s")), matrix = matrix(1:4, 2, dimnames = list(NULL, c("a", "b"))), date = as.Date("2026-01-01"),
  wrapped = sort(as.numeric(sample(20))), again.compiled = compiled, dots = (function(...) environment())(1, b = 2), wide = wide, last = 17
)
quiet <- suppressWarnings
for (version in 2:3) quiet(saveRDS(objects, file.path(folder, paste0("objects.", version, ".rds")), version = version, compress = FALSE))
for (compress in c("bzip2", "xz")) quiet(saveRDS(objects, file.path(folder, paste0("objects.", compress, ".rds")), compress = compress))
quiet(saveRDS(objects, file.path(folder, "refused.ascii.rds"), ascii = TRUE))
con <- file(file.path(folder, "refused.native.rds"), "wb"); quiet(serialize(objects, con, xdr = FALSE)); close(con)
quiet(save(objects, file = file.path(folder, "objects.RData")))
a <- 1; b <- 2; quiet(save(a, b, file = file.path(folder, "refused.two.RData")))
writeLines(paste(names(objects), vapply(objects, describe, ""), sep = "\t"), file.path(folder, "objects.txt"), useBytes = TRUE)
