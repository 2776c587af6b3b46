const ABBREVIATIONS = /(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Sr|Jr|vs|etc|No|Vol|Fig|e\.g|i\.e)|\b[A-Z])\.\s*$/;

/** Sentences of a text with the white space after them: joined, they are the text. */
export function splitSentences(text: string): readonly string[] {
  const parts = text.split(/(?<=[.!?]["'”’)\]]?\s)(?=\S)|(?<=[。！？])|(?<=\n[^\S\n]*\n)/);
  const sentences: string[] = [];
  for (const part of parts) {
    const last = sentences.at(-1);
    if (last !== undefined && ABBREVIATIONS.test(last) && !last.includes('\n\n')) {
      sentences[sentences.length - 1] = last + part;
    } else {
      sentences.push(part);
    }
  }
  return sentences;
}
