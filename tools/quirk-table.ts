// Keeps the tables of vendor quirks in the docs equal to those in the code. `--write` brings it up to date.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EFFORTS, type ModelRule } from '../packages/troupe/src/providers/openai/model-rules.ts';
import { CHAT_VENDORS, type ChatVendor } from '../packages/troupe/src/providers/openai/vendors.ts';
import { featureTable } from './feature-table.ts';
import { report, ROOT } from './lib/files.ts';

const PAGES: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'docs/models/chat-vendors.md': async () => quirkTables(),
  'docs/models/features.md': async () => [await featureTable()],
};
const START = '<!-- made by tools/quirk-table.ts from the code: do not edit -->';
const END = '<!-- end -->';

type Columns<Row> = readonly (readonly [heading: string, cell: (row: Row, name: string) => string])[];

/** Columns: a heading, and the cell of a vendor. */
const COLUMNS: Columns<ChatVendor> = [
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
  ['Fetches by itself', ({ fetches }) => fetches.join(', ') || 'nothing'],
  ['Order of roles', ({ roleOrder }) => ORDERS[roleOrder]],
  ['Documentation', ({ docs }) => (docs === undefined ? '' : `[page](${docs})`)],
];

const MODEL_COLUMNS: Columns<ModelRule> = [
  ['`vendor`', (_, name) => `\`${name}\``],
  ['Models', ({ models: pattern }) => models(pattern)],
  ['`temperature`, `topP`', ({ sampling }) => SAMPLING[sampling]],
  ['Penalties', ({ penalties }) => (penalties ? 'yes' : 'no')],
  ['`stop`', ({ stop }) => (stop ? 'yes' : 'no')],
  ['`reasoningEffort`', effortsOf],
  ['With tools in Chat Completions', ({ chatTools }) => (chatTools === undefined ? '' : 'it does not think')],
];

function effortsOf({ efforts, thinkingSwitch }: ModelRule): string {
  if (thinkingSwitch === 'none' || efforts.length === 0) return 'no';
  return efforts === EFFORTS ? 'any' : efforts.join(', ');
}

const SAMPLING: Record<ModelRule['sampling'], string> = {
  always: 'yes',
  without_thinking: "with the effort 'none'",
  never: 'no',
};

const BACK: Record<ChatVendor['thinkingBack'], (field: string) => string> = {
  never: () => 'no',
  with_tool_calls: (field) => `with tool calls, as \`${field}\``,
  always: (field) => `always, as \`${field}\``,
};
const ORDERS: Record<ChatVendor['roleOrder'], string> = {
  any: 'any',
  assistant_after_tool: 'the assistant after tool results',
  alternating: 'by turns',
};
const FORCED: Record<ChatVendor['forcedChoice'], string> = { any: 'any', named: 'by name only', none: 'no' };

/** Models of a pattern, in words. */
function models(pattern: RegExp): string {
  if (pattern.source === '(?:)') return 'all';
  return pattern.source === '(?!)' ? 'none' : `\`${pattern.source.replaceAll('|', '\\|')}\``;
}

function table<Row>(columns: Columns<Row>, rows: readonly (readonly [name: string, row: Row])[]): string {
  const lines = [
    columns.map(([heading]) => heading),
    columns.map(() => '---'),
    ...rows.map(([name, row]) => columns.map(([, cell]) => cell(row, name))),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Tables in the order of the page. */
export function quirkTables(): readonly string[] {
  const vendors = Object.entries<ChatVendor>(CHAT_VENDORS);
  // Vendors with the rules of another vendor are listed together with it.
  const owners = vendors.filter(
    ([, { models: rules }], i) => vendors.findIndex(([, own]) => own.models === rules) === i,
  );
  const rules = owners.flatMap(([, owner]) => {
    const name = vendors
      .flatMap(([name, { models: own }]) => (own === owner.models ? name : []))
      .join('`, `');
    return owner.models.map((rule) => [name, rule] as const);
  });
  return [table(COLUMNS, vendors), table(MODEL_COLUMNS, rules)];
}

/** A page with current tables. */
export function withTables(page: string, tables: readonly string[]): string {
  const [before, ...places] = page.split(START);
  const parts = tables.map((text, i) => {
    const [, after = ''] = (places[i] ?? '').split(END);
    return `${START}\n\n${text}\n\n${END}${after}`;
  });
  return `${before}${parts.join('')}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problems: string[] = [];
  for (const [file, tables] of Object.entries(PAGES)) {
    const path = join(ROOT, file);
    const page = readFileSync(path, 'utf8');
    const current = withTables(page, await tables());
    if (process.argv.includes('--write')) writeFileSync(path, current);
    else if (page !== current)
      problems.push(`${file} does not show the tables of the code: run npm run check -- quirks --write`);
  }
  report(problems, 'the tables are up to date');
}
