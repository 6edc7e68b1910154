/* How results of the search are ranked: as Sphinx does, but a heading that has all of the query comes first. */
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => (kind === "title" ? score + 100 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
