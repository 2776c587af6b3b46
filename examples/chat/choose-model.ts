import type { ChatModelBase } from 'troupe';
import { AnthropicChatModel } from 'troupe/anthropic';
import { GeminiChatModel } from 'troupe/gemini';
import { OfflineModel } from 'troupe/offline';
import { OllamaChatModel } from 'troupe/ollama';
import { OpenAIChatModel } from 'troupe/openai';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ChosenModel {
  readonly model: ChatModelBase;
  /** Description for the user. */
  readonly description: string;
}

/**
 * Vendors in the order in which their keys are looked for, and their default model. TROUPE_MODEL names
 * another model.
 */
const VENDORS: readonly {
  readonly variable: string;
  readonly modelName: string;
  readonly make: (options: { modelName: string; apiKey: string }) => ChatModelBase;
}[] = [
  { variable: 'OPENAI_API_KEY', modelName: 'gpt-5-mini', make: (options) => new OpenAIChatModel(options) },
  {
    variable: 'ANTHROPIC_API_KEY',
    modelName: 'claude-haiku-4-5',
    make: (options) => new AnthropicChatModel(options),
  },
  {
    variable: 'GEMINI_API_KEY',
    modelName: 'gemini-2.5-flash',
    make: (options) => new GeminiChatModel(options),
  },
  {
    variable: 'DASHSCOPE_API_KEY',
    modelName: 'qwen-plus',
    make: (options) => new OpenAIChatModel({ ...options, vendor: 'dashscope' }),
  },
];

/** A real model if there is a key or a local Ollama; otherwise the OfflineModel, which needs neither. */
export async function chooseModel(env: Environment, delayMs = 0): Promise<ChosenModel> {
  for (const { variable, modelName, make } of VENDORS) {
    const apiKey = env[variable];
    if (!apiKey) continue;
    const model = make({ modelName: env['TROUPE_MODEL'] || modelName, apiKey });
    return { model, description: `${model.modelName}, because ${variable} is set` };
  }
  const local = await firstOllamaModel(env['OLLAMA_HOST']);
  if (local !== undefined) {
    const model = new OllamaChatModel({
      modelName: env['TROUPE_MODEL'] || local,
      baseUrl: env['OLLAMA_HOST'],
    });
    return { model, description: `${model.modelName}, because Ollama runs on this machine` };
  }
  const description = `offline, by simple rules.
For a real model set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY
or DASHSCOPE_API_KEY, or start Ollama`;
  return { model: new OfflineModel({ delayMs }), description };
}

/** Name of a model in the local Ollama, if it runs. */
async function firstOllamaModel(host = '127.0.0.1'): Promise<string | undefined> {
  const [, name, port = '11434'] = /^([^/:]*)(?::(\d+))?$/.exec(host) ?? [];
  const base = name === undefined ? host : `http://${name.replace('0.0.0.0', '') || '127.0.0.1'}:${port}`;
  try {
    const response = await fetch(`${base}/api/tags`, { signal: AbortSignal.timeout(500) });
    const { models = [] } = (await response.json()) as { models?: { name?: string }[] };
    return models.map((model) => model.name).find((name) => name !== undefined && !name.includes('embed'));
  } catch {
    return undefined; // Ollama is not running
  }
}
