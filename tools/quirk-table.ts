// Keeps the table of vendor quirks in the docs equal to the one in the code. `--write` brings it up to date.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CHAT_VENDORS, type ChatVendor } from '../packages/troupe/src/providers/openai/vendors.ts';
import { report, ROOT } from './lib/files.ts';

const PAGE = 'docs/models/chat-vendors.md';
const START = '<!-- made by tools/quirk-table.ts from the code: do not edit -->';
const END = '<!-- end -->';

/** The columns: a heading, and what a vendor has there. */
const COLUMNS: readonly [heading: string, cell: (vendor: ChatVendor, name: string) => string][] = [
  ['`vendor`', (_, name) => `\`${name}\``],
  ['Name', ({ title }) => title],
  ['`baseUrl`', ({ baseUrl }) => (baseUrl === undefined ? 'your own' : `\`${baseUrl}\``)],
  ['Key', ({ keyVariables }) => keyVariables.map((variable) => `\`${variable}\``).join(' or ') || 'if any'],
  ['Length limit', ({ maxTokensField }) => `\`${maxTokensField}\``],
  ['Thinking is set by', ({ thinkingSwitch }) => (thinkingSwitch === 'none' ? '–' : `\`${thinkingSwitch}\``)],
  ['Thinking goes back', ({ thinkingBack, thinkingField }) => BACK[thinkingBack](thinkingField)],
  [
    'Forced tools',
    ({ forcedChoice, forcedTools }) =>
      FORCED[forcedChoice] + (forcedTools === 'without_thinking' ? ', not while it thinks' : ''),
  ],
  ['JSON Schema', ({ structured }) => (structured === 'native' ? 'yes' : 'by a tool')],
  ['Names', ({ takesNames }) => (takesNames ? 'yes' : 'no')],
  ['`topK`', ({ takesTopK }) => (takesTopK ? 'yes' : 'no')],
  ['Sees images', ({ vision }) => models(vision)],
];

const BACK: Record<ChatVendor['thinkingBack'], (field: string) => string> = {
  never: () => 'no',
  with_tool_calls: (field) => `with tool calls, as \`${field}\``,
  always: (field) => `always, as \`${field}\``,
};
const FORCED: Record<ChatVendor['forcedChoice'], string> = { any: 'any', named: 'by name only', none: 'no' };

/** Which models a pattern means, in words. */
function models(pattern: RegExp): string {
  if (pattern.source === '(?:)') return 'all';
  return pattern.source === '(?!)' ? 'none' : `\`${pattern.source.replaceAll('|', '\\|')}\``;
}

export function quirkTable(): string {
  const rows = Object.entries(CHAT_VENDORS).map(([name, vendor]) =>
    COLUMNS.map(([, cell]) => cell(vendor, name)),
  );
  const lines = [COLUMNS.map(([heading]) => heading), COLUMNS.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The page with the table of today in its place. */
export function withTable(page: string): string {
  const [before, rest = ''] = page.split(START);
  const [, after = ''] = rest.split(END);
  return `${before}${START}\n\n${quirkTable()}\n\n${END}${after}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const path = join(ROOT, PAGE);
  const page = readFileSync(path, 'utf8');
  const current = withTable(page);
  if (process.argv.includes('--write')) writeFileSync(path, current);
  const problem = `${PAGE} does not show the table of the code: run node tools/quirk-table.ts --write`;
  report(page === current || process.argv.includes('--write') ? [] : [problem], 'the table is up to date');
}
