/* What the search finds: `bookSearch.find(query)`. The index is a script of its own, loaded on
   first use, so that it also works for a book opened from a folder.

   Every word asked for has to be somewhere in a section: as it is, in another spelling or
   number, by its beginning, as a synonym, or, where the book has next to nothing, with a typing
   error or two. Titles count more than text; the glossary's own word comes first, lists of
   works come last. */
"use strict";
const bookSearch = (() => {
  /* Lower case without accents, each letter where it was (so that places stay the same). */
  const fold = (text) =>
    text
      .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
      .replace(/[^\0-\x7f]/gu, (letter) => {
        const plain = letter.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
        return plain.length === letter.length ? plain : letter;
      });

  /* The words of a text and where they stand. `create_causal_mask` is also found by "causal",
     `LayerNorm` by "norm", "over-fitting" by "overfitting": each is a word from there on. */
  const wordsOf = (text) => {
    const folded = fold(text);
    const words = [];
    for (const { 0: run, index } of folded.matchAll(/[\p{L}\p{N}]+(?:_+[\p{L}\p{N}]+)*/gu)) {
      const original = text.slice(index, index + run.length);
      const starts = [...original.matchAll(/(?<=\p{Ll})\p{Lu}|(?<=_)[^_]/gu)].map((part) => part.index);
      for (const start of [0, ...starts]) {
        words.push({ word: run.slice(start), place: index + start, length: run.length - start });
      }
    }
    for (const { 0: run, index } of folded.matchAll(/[\p{L}\p{N}]+(?:[-‑][\p{L}\p{N}]+)+/gu)) {
      words.push({ word: run.replace(/[-‑]/g, ""), place: index, length: run.length });
    }
    return words;
  };

  /* One form for British and American spelling, singular and plural. It need not be a word. */
  const plain = (word) =>
    word.length < 4
      ? word
      : word
          .replace(/ies$/, "y")
          .replace(/(?<=ss|x|ch|sh|z)es$/, "")
          .replace(/(?<![us])s$/, "")
          .replace(/([iy])s(?=[aei]|$)/g, "$1z") // tokenise, analyse
          .replace(/(?<=\p{L}{2})our/u, "or") // colour
          .replace(/(?<=\p{L}{2})tr(?:e|(?=ing$))/u, "ter") // centre, centring
          .replace(/ll(?=ed$|ing$|er$)/, "l") // labelled
          .replace(/ogue$/, "og") // dialogue
          .replace(/(?<=^lic|^def|^off)ence/, "ense")
          .replace(/^grey/, "gray")
          .replace(/programme/, "program")
          .replace(/rnt$/, "rned"); // learnt
  const phrase = (words) => words.join("_").split(/_+/).map(plain).join(" ");
  const asked = (text) => fold(text).match(/[\p{L}\p{N}]+(?:_+[\p{L}\p{N}]+)*/gu) ?? [];

  /* How many letters are wrong, missing, too many or swapped: against the whole word, and
     against the best beginning of it. */
  const errors = (typed, word) => {
    let before = null;
    let last = Array.from({ length: word.length + 1 }, (_, j) => j);
    for (let i = 1; i <= typed.length; i++) {
      const row = [i];
      for (let j = 1; j <= word.length; j++) {
        row[j] = Math.min(
          last[j] + 1,
          row[j - 1] + 1,
          last[j - 1] + (typed[i - 1] === word[j - 1] ? 0 : 1)
        );
        const swapped = i > 1 && j > 1 && typed[i - 1] === word[j - 2] && typed[i - 2] === word[j - 1];
        if (swapped) row[j] = Math.min(row[j], before[j - 2] + 1);
      }
      [before, last] = [last, row];
    }
    return { whole: last[word.length], beginning: Math.min(...last) };
  };

  let sections = null;
  let vocabulary = null; // word -> its plain form and where it stands
  let synonyms = null; // a phrase in its plain form -> the phrases that mean the same
  let memory = null; // what `alike` has found

  const read = ({ pages, sections: rows, synonyms: groups }) => {
    const root = document.documentElement.dataset.root;
    vocabulary = new Map();
    memory = new Map();
    let top = 0;
    sections = rows.map(([page, id, title, text, kind], index) => {
      const [address, number, name] = pages[page];
      if (!id) top = index;
      const section = {
        page: root + address,
        hash: id ? `#${encodeURIComponent(id)}` : "",
        chapter: number ? `${number} ${name}` : name,
        title: id ? title : name,
        text,
        kind: kind ?? "",
        top: !id,
        first: top, // the top of the same page
      };
      for (const field of ["title", "text"]) {
        for (const { word, place, length } of wordsOf(section[field])) {
          let entry = vocabulary.get(word);
          if (!entry) vocabulary.set(word, (entry = { plain: plain(word), hits: [] }));
          entry.hits.push({ index, field, place, length });
        }
      }
      return section;
    });
    synonyms = new Map();
    for (const group of groups) {
      const phrases = group.map(asked);
      for (const words of phrases) {
        const known = synonyms.get(phrase(words)) ?? [];
        synonyms.set(phrase(words), [...known, ...phrases.filter((other) => other !== words)]);
      }
    }
  };

  const load = async () => {
    if (sections) return;
    await loadScript(document.documentElement.dataset.index);
    if (!sections) read(window.bookIndex);
  };

  /* How well a word of the book answers the word asked for. */
  const WHOLE = 1, SAME = 0.95, BEGINNING = 0.6, TYPO = 0.35, TYPO_SO_FAR = 0.25;
  const FEW = 3; // below so many places a typing error is thought of

  const alike = (word, typos = true) => {
    const key = `${word} ${typos}`;
    if (memory.has(key)) return memory.get(key);
    const form = plain(word);
    const found = new Map();
    let places = 0;
    for (const [other, entry] of vocabulary) {
      let quality = 0;
      if (other === word || other.startsWith(`${word}_`)) quality = WHOLE;
      else if (entry.plain === form) quality = SAME;
      else if (word.length > 1 && (other.startsWith(word) || entry.plain.startsWith(form))) quality = BEGINNING;
      if (!quality) continue;
      found.set(other, quality);
      places += entry.hits.length;
    }
    const limit = word.length < 4 || /\d/.test(word) ? 0 : word.length < 8 ? 1 : 2;
    if (typos && places < FEW && limit) {
      const near = { whole: [], beginning: [] };
      for (const [other, entry] of vocabulary) {
        if (other.length < 4 || other.length < word.length - limit || found.has(other)) continue;
        const distance = errors(form, entry.plain);
        for (const kind of ["whole", "beginning"]) (near[kind][distance[kind]] ??= []).push(other);
      }
      const best = (lists) => lists.slice(0, limit + 1).find((list) => list?.length) ?? [];
      const whole = best(near.whole);
      for (const other of whole.length ? whole : best(near.beginning)) {
        found.set(other, whole.length ? TYPO : TYPO_SO_FAR);
      }
    }
    const result = { words: found, exact: places > 0, bySection: null };
    memory.set(key, result);
    return result;
  };

  /* Where a word stands: for each section its places, the best quality by field. */
  const placesOf = (word, typos) => {
    const result = alike(word, typos);
    if (result.bySection) return result.bySection;
    const bySection = new Map();
    for (const [other, quality] of result.words) {
      for (const hit of vocabulary.get(other).hits) {
        let entry = bySection.get(hit.index);
        if (!entry) bySection.set(hit.index, (entry = { title: 0, text: 0, hits: [] }));
        entry[hit.field] = Math.max(entry[hit.field], quality);
        // Of a word that only begins so, its beginning is marked.
        const length = quality === BEGINNING ? Math.min(word.length, hit.length) : hit.length;
        entry.hits.push({ ...hit, length, word: other, quality });
      }
    }
    return (result.bySection = bySection);
  };

  /* The query in units: a word or a known phrase, each with the phrases that may stand for it.
     What is known has no typing errors. */
  const unitsOf = (words) => {
    const units = [];
    for (let at = 0; at < words.length; ) {
      let size = words.length - at;
      while (size > 1 && !synonyms.has(phrase(words.slice(at, at + size)))) size--;
      const own = words.slice(at, at + size);
      const others = synonyms.get(phrase(own)) ?? [];
      const parts = own.join("_").split(/_+/);
      units.push([
        { words: own, weight: 1, typos: !others.length },
        ...others.map((words) => ({ words, weight: 0.7, typos: false })),
        ...(parts.length > own.length && !own.every((word) => alike(word, false).exact) ? [{ words: parts, weight: 0.5, typos: false }] : []),
      ]);
      at += size;
    }
    return units;
  };

  const worth = (entry, field, weight) => {
    if (!entry?.[field]) return 0;
    const count = entry.hits.filter((hit) => hit.field === field).length;
    return weight * entry[field] * (1 + Math.log1p(count) / 4);
  };

  const holds = (text, words) => fold(text).replace(/[^\p{L}\p{N}_]+/gu, " ").includes(words.join(" "));

  /* One way to say one unit, in one section. */
  const score = (index, { words, weight, typos }) => {
    const section = sections[index];
    let total = 0;
    const hits = [];
    for (const word of words) {
      const places = placesOf(word, typos);
      const entry = places.get(index);
      const inTitle = worth(entry, "title", section.top ? 12 : 7);
      const inText = worth(entry, "text", 2 * (500 / (500 + section.text.length) + 0.5));
      const inPage = section.top ? 0 : worth(places.get(section.first), "title", 1);
      if (!inTitle && !inText && !inPage) return null;
      total += inTitle || inText ? inTitle + inText + inPage : inPage / 4;
      if (entry) hits.push(...entry.hits);
    }
    if (words.length > 1) {
      if (holds(section.title, words)) total += 8;
      else if (holds(section.text, words)) total += 3;
    }
    return { total: (total * weight) / words.length, hits };
  };

  /* Whether the section is the glossary's own for what was asked: each word of the term. */
  const isTerm = (section, ways) => {
    if (section.kind !== "term") return false;
    const terms = [section.title, ...section.title.split(",")].map(asked);
    const same = (word, part, typos) => (alike(word, typos).words.get(part) ?? BEGINNING) !== BEGINNING;
    return ways.some(({ words, typos }) =>
      terms.some(
        (term) =>
          (words.length === term.length && term.every((part, i) => same(words[i], part, typos))) ||
          same(words.join(""), term.join(""), typos) // "overfitting" for "over-fitting"
      )
    );
  };

  /* The best sections, each with the places of its text and title that match. */
  const find = (query, most = 20) => {
    const words = asked(query);
    if (!words.length) return [];
    const units = unitsOf(words);
    const ways = units.length === 1 ? units[0] : [{ words, typos: true }];
    const results = [];
    for (const [index, section] of sections.entries()) {
      let total = 0;
      const hits = [];
      const all = units.every((unit) => {
        const found = unit.map((way) => score(index, way)).filter(Boolean);
        if (!found.length) return false;
        total += Math.max(...found.map((one) => one.total));
        for (const one of found) hits.push(...one.hits);
        return true;
      });
      if (!all || !hits.length) continue;
      if (words.length > 1) {
        if (holds(section.title, words)) total += 8;
        else if (holds(section.text, words)) total += 3;
      }
      const order = isTerm(section, ways) ? 0 : section.kind === "references" ? 2 : 1;
      results.push({ section, hits, total, order });
    }
    return results.sort((a, b) => a.order - b.order || b.total - a.total).slice(0, most);
  };

  /* What a word with typing errors was taken for; null where the book has the word itself. */
  const takenFor = (query) => {
    const guessed = unitsOf(asked(query)).map(([own]) => own).filter((own) => own.typos);
    const words = guessed.flatMap((own) => own.words);
    const wrong = words.filter((word) => !alike(word).exact && alike(word).words.size);
    return wrong.length ? wrong.flatMap((word) => [...alike(word).words.keys()].slice(0, 2)) : null;
  };

  return { load, find, takenFor, wordsOf };
})();
