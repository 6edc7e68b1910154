/* How results of the search are ranked: as Sphinx does, but a heading that has all of the query comes first, and
   measurements and pages about the project come after others that are as good. */
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) =>
    (kind === "title" ? score + 100 : score) - (/^(measurements|project)\//.test(docname) ? 1 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
