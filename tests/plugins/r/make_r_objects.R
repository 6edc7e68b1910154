folder <- commandArgs(trailingOnly = TRUE)[1]
describe <- function(x) {
  if (is.environment(x)) return(paste0("environment(", paste(sort(ls(x, all.names = TRUE)), collapse = ","), ")"))
  if (is.function(x)) return("function")
  if (is.list(x) && !is.pairlist(x)) return(paste0("list(", paste(vapply(x, describe, ""), collapse = "|"), ")"))
  if (is.character(x)) return(paste0("texts(", paste(ifelse(is.na(x), "NA", enc2utf8(x)), collapse = ","), ")"))
  if (is.raw(x)) return(paste0("raw(", paste(as.integer(x), collapse = ","), ")"))
  if (is.complex(x)) return(paste0("complex(", paste(Re(x), Im(x), collapse = ","), ")"))
  if (is.numeric(x) || is.logical(x)) return(paste0(typeof(x), "(", paste(sprintf("%.17g", as.double(x)), collapse = ","), ")"))
  typeof(x)
}
latin <- "caf\xe9"; Encoding(latin) <- "latin1"
cycle <- new.env(); cycle$self <- cycle; cycle$age <- c(1.5, NA, Inf)
compiled <- compiler::cmpfun(function(x, y = 2) { for (i in 1:3) x <- x + if (i > 1) y else quote(a + b); g <- function(z) z * x; x })
objects <- list(
  null = NULL, logical = c(TRUE, FALSE, NA), integer = c(1L, NA, -5L), double = c(pi, NA, NaN, -Inf), complex = complex(real = 1:2, imaginary = 3),
  texts = c("a", NA, "é", latin, ""), raw = as.raw(0:3), list = list(a = 1, b = list("x", NULL)), factor = factor(c("u", "v", NA)),
  compact = 1:10, down = 5:2, long = seq_len(1000), deferred = as.character(1:5), call = quote(f(x, y = 2)), formula = y ~ a + b, expression = expression(a, b + 1),
  compiled = compiled, after = quote(f(x)), closure = function(a, ...) a, primitive = sum, special = `if`, cycle = cycle, again = cycle, base = baseenv(), namespace = asNamespace("stats"),
  package = as.environment("package:stats"), empty = emptyenv(), global = globalenv(), missing = quote(f(, 1)), s4 = methods::new("numeric"),
  frame = data.frame(age = c(30, 40), ward = c("n", "s")), matrix = matrix(1:4, 2, dimnames = list(NULL, c("a", "b"))), date = as.Date("2026-01-01"),
  wrapped = { w <- as.numeric(sample(100)); w[1] <- 0; sort(w) }, compiled2 = compiled, dots = (function(...) environment())(1, b = 2)
)
for (version in 2:3) for (compress in c("gzip", "bzip2", "xz", "none"))
  saveRDS(objects, file.path(folder, paste0("objects.", version, ".", compress, ".rds")), version = version, compress = if (compress == "none") FALSE else compress)
saveRDS(objects, file.path(folder, "objects.ascii.rds"), ascii = TRUE)
con <- file(file.path(folder, "objects.native.rds"), "wb"); serialize(objects, con, xdr = FALSE); close(con)
save(objects, file = file.path(folder, "objects.RData"))
a <- 1; save(objects, a, file = file.path(folder, "two.RData"))
writeLines(paste(names(objects), vapply(objects, describe, ""), sep = "\t"), file.path(folder, "objects.txt"), useBytes = TRUE)
