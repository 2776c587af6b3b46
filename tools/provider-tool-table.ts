// Keeps the table of provider tools and citations in the docs equal to the code: models are made and asked, and their
// requests are read. `--write` brings the table up to date.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Msg } from '../packages/troupe/src/message/msg.ts';
import type { ContentBlock } from '../packages/troupe/src/message/blocks.ts';
import type { ChatModelBase } from '../packages/troupe/src/model/chat-model-base.ts';
import type { HttpModelOptions } from '../packages/troupe/src/model/http/http-chat-model.ts';
import { AnthropicChatModel, anthropicTools } from '../packages/troupe/src/providers/anthropic/index.ts';
import { GeminiChatModel, googleTools } from '../packages/troupe/src/providers/gemini/index.ts';
import { OllamaChatModel } from '../packages/troupe/src/providers/ollama/index.ts';
import {
  CHAT_VENDORS,
  chatProviderTools,
  OpenAIChatModel,
  OpenAIResponsesModel,
  openaiTools,
  type ChatVendorName,
} from '../packages/troupe/src/providers/openai/index.ts';
import { report, ROOT } from './lib/files.ts';

const PAGE = 'docs/how-to/use-provider-tools.md';
const START = '<!-- made by tools/provider-tool-table.ts from the code: do not edit -->';
const END = '<!-- end -->';

interface Row {
  readonly vendor: string;
  readonly modelName: string;
  readonly make: (options: HttpModelOptions) => ChatModelBase;
  /** Names of the vendor's own tools. */
  readonly tools: readonly string[];
}

/** A model of each vendor of Chat Completions; others are asked with a made-up name. */
const CHAT_MODELS: Partial<Record<ChatVendorName, string>> = {
  openai: 'gpt-4.1',
  azure: 'gpt-4.1',
  dashscope: 'qwen3-max',
  deepseek: 'deepseek-chat',
  moonshot: 'kimi-k2.5',
  zhipu: 'glm-4.6',
  xai: 'grok-4',
};

const ROWS: readonly Row[] = [
  {
    vendor: 'Anthropic',
    modelName: 'claude-sonnet-4-5',
    make: (options) => new AnthropicChatModel(options),
    tools: Object.keys(anthropicTools),
  },
  {
    vendor: 'OpenAI, Responses',
    modelName: 'gpt-5.1',
    make: (options) => new OpenAIResponsesModel({ vendor: 'openai', ...options }),
    tools: Object.keys(openaiTools),
  },
  {
    vendor: 'Gemini',
    modelName: 'gemini-3-flash-preview',
    make: (options) => new GeminiChatModel(options),
    tools: Object.keys(googleTools),
  },
  { vendor: 'Ollama', modelName: 'qwen3', make: (options) => new OllamaChatModel(options), tools: [] },
  ...(Object.keys(CHAT_VENDORS) as ChatVendorName[]).map((vendor) => ({
    vendor: CHAT_VENDORS[vendor].title,
    modelName: CHAT_MODELS[vendor] ?? 'any',
    make: (options: HttpModelOptions) =>
      new OpenAIChatModel({ vendor, baseUrl: 'http://127.0.0.1:9/v1', ...options }),
    tools: Object.keys(chatProviderTools).filter((name) => name.startsWith(vendor)),
  })),
];

/** A cited text in the form of each vendor. */
const cited: ContentBlock = {
  type: 'text',
  text: 'Sunny.',
  citations: [{ url: 'https://example.com/' }],
  providerMeta: {
    anthropic: { texts: [{ length: 6, citations: [{ type: 'web_search_result_location' }] }] },
    openaiResponses: { parts: [{ length: 6, annotations: [{ type: 'url_citation' }] }] },
  },
};
/** The body that a model sends for a history. */
async function bodyFor({ modelName, make }: Row, ...history: readonly Msg[]): Promise<string> {
  let sent = '';
  const model = make({
    modelName,
    apiKey: 'key',
    onRepair: () => {},
    fetch: async (_url, init) => {
      sent = typeof init?.body === 'string' ? init.body : '';
      return new Response('', { status: 400 });
    },
  });
  await model.call({ messages: [Msg.user('Hi.'), ...history, Msg.user('Go on.')] }).catch(() => undefined);
  return sent;
}

async function cellsOf(row: Row): Promise<readonly string[]> {
  const body = await bodyFor(row, Msg.assistant([cited]));
  return [
    row.vendor,
    row.tools.map((name) => `\`${name}\``).join(', ') || 'none',
    body.includes('Sources:') ? 'as a list of sources' : 'as they came',
  ];
}

const HEADINGS = ['Vendor', 'Tools of its own', 'Citations go back'];

/** The page with the current table. */
export async function withToolTable(page: string): Promise<string> {
  const rows = await Promise.all(ROWS.map(cellsOf));
  const lines = [HEADINGS, HEADINGS.map(() => '---'), ...rows];
  const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const [before = '', rest = ''] = page.split(START);
  const [, after = ''] = rest.split(END);
  return `${before}${START}\n\n${table}\n\n${END}${after}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const path = join(ROOT, PAGE);
  const page = readFileSync(path, 'utf8');
  const current = await withToolTable(page);
  if (process.argv.includes('--write')) writeFileSync(path, current);
  const problem = `${PAGE} does not show the table of the code: run npm run check -- tools --write`;
  report(page === current || process.argv.includes('--write') ? [] : [problem], 'the table is up to date');
}
