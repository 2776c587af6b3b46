import type { ToolResultBlock } from '../../message/blocks.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import type { PastCall } from './conversation.ts';
import type { PlannedToolCall } from './plan-tool-calls.ts';
import { wordsOf } from './words.ts';

const WHO = "I am Troupe's offline stand-in: I follow simple rules, and no language model is behind me";
const REAL_MODEL =
  'For real answers, give the agent a real model in my place, such as `new OpenAIChatModel({ modelName })` of troupe/openai. ' +
  'There are models for OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, DASHSCOPE_API_KEY and others, and for a local Ollama.';
const MAX_OUTPUT = 4_000;
const GREETING = /^(?:hello|hi|hey|hallo|greetings|good (?:morning|afternoon|evening))\b/;

/** Whether a message is a greeting and nothing else. */
export function isGreeting(message: string): boolean {
  const words = wordsOf(message);
  return words.length <= 3 && GREETING.test(words.join(' '));
}

export function greeting(tools: readonly ToolSchema[]): string {
  return `Hello! ${WHO}. ${toolList(tools)}`;
}

/** Answer to a message without a matching rule. */
export function help(tools: readonly ToolSchema[]): string {
  return `I can't answer that. ${WHO}. ${toolList(tools)}\n${REAL_MODEL}`;
}

/** Describes the results of tool calls. */
export function report(pastCalls: readonly PastCall[]): string {
  return pastCalls.map(({ call, result }) => reportOne(call.name, result)).join('\n');
}

export function askForMissing(calls: readonly PlannedToolCall[]): string {
  const requests = calls.map(({ name, missing }) => `To use ${name} I need: ${missing.join(', ')}.`);
  return `${requests.join(' ')} Please say it in one sentence, with text in quotes.`;
}

export function refuseTools(calls: readonly PlannedToolCall[]): string {
  return `I would use ${calls.map((call) => call.name).join(' and ')} for this, but no tools are allowed here. ${WHO}.`;
}

/** Adds an introduction, for the first answer of a conversation. */
export function introduced(text: string): string {
  return text.includes(WHO) ? text : `${text}\n(${WHO}.)`;
}

function reportOne(name: string, { status, output }: ToolResultBlock): string {
  const text = outputText(output);
  switch (status) {
    case 'ok':
      if (text === '') return `${name} is done; it returned nothing.`;
      return text.includes('\n') ? `${name} says:\n${text}` : `${name} says: ${text}`;
    case 'error':
      return `${name} failed: ${text}`;
    case 'interrupted':
      return `${name} was interrupted before it had a result.`;
    case 'denied':
      return `${name} was not allowed: ${text}`;
    case 'unavailable':
      return `${name} is not available: ${text}`;
  }
}

function outputText(output: ToolResultBlock['output']): string {
  const parts =
    typeof output === 'string'
      ? [output]
      : output.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`));
  const text = parts.join('\n').trim();
  return text.length > MAX_OUTPUT ? `${text.slice(0, MAX_OUTPUT)}… (cut off)` : text;
}

function toolList(tools: readonly ToolSchema[]): string {
  if (tools.length === 0) return 'I have no tools, so there is little that I can do.';
  const lines = tools.map(
    ({ name, description = '' }) => `- ${name}${description === '' ? '' : `: ${firstLine(description)}`}`,
  );
  return `I can use these tools when you ask for what they do:\n${lines.join('\n')}`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.slice(0, 120) ?? '';
}
