const ABBREVIATIONS = /(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Sr|Jr|vs|etc|No|Vol|Fig|e\.g|i\.e)|\b[A-Z])\.\s*$/;
/** Characters at the end of a piece that are searched for an abbreviation. */
const TAIL = 16;

/** Sentences of a text with the white space after them: joined, they are the text. In linear time. */
export function splitSentences(text: string): readonly string[] {
  const parts = text.split(/(?<=[.!?]["'”’)\]]?\s)(?=\S)|(?<=[。！？])|(?<=\n[^\S\n]*\n)/);
  const sentences: string[] = [];
  let [start, end] = [0, 0];
  for (const part of parts) {
    end += part.length;
    const isAbbreviation = ABBREVIATIONS.test(part.slice(-TAIL)) && !/\n\s*\n\s*$/.test(part.slice(-TAIL));
    if (isAbbreviation && end < text.length) continue;
    sentences.push(text.slice(start, end));
    start = end;
  }
  return sentences;
}
