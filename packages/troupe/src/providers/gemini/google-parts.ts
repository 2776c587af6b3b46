import type { ContentBlock, ProviderToolBlock } from '../../message/blocks.ts';
import { objectOf, stringOf } from '../../model/http/wire-values.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';

/** Name of the provider, and key of the metadata. */
export const GEMINI_KEY = 'gemini';

/** Parts of calls that Google runs, with the part of their result. */
const RESULT_OF = {
  executableCode: 'codeExecutionResult',
  toolCall: 'toolResponse',
  functionCall: 'functionResponse',
} as const;
type CallKey = keyof typeof RESULT_OF;
const CALL_KEYS = Object.keys(RESULT_OF) as CallKey[];

/** Whether a part is a call that Google runs itself, or its result; a function call is one only together with its result. */
export function isGooglePart(part: JsonObject): boolean {
  return ['executableCode', 'toolCall', 'codeExecutionResult', 'toolResponse'].some((key) =>
    isJsonObject(part[key]),
  );
}

/** Makes the blocks of calls that Google runs, and of their results. */
export class GoogleParts {
  #count = 0;
  /** Id and name of the last code: its result may have no id. */
  #lastCode = { id: '', name: 'code_execution' };

  toBlock(part: JsonObject): ProviderToolBlock {
    const { executableCode, codeExecutionResult, toolCall, toolResponse } = part;
    if (isJsonObject(executableCode)) {
      const id = stringOf(executableCode['id']) || `code_${this.#count++}`;
      this.#lastCode = { id, name: 'code_execution' };
      return call(part, this.#lastCode, { code: stringOf(executableCode['code']) });
    }
    if (isJsonObject(codeExecutionResult)) {
      const isOk = stringOf(codeExecutionResult['outcome']) === 'OUTCOME_OK';
      const output = stringOf(codeExecutionResult['output']);
      const id = stringOf(codeExecutionResult['id']) || this.#lastCode.id;
      return result(part, { ...this.#lastCode, id }, output, isOk);
    }
    if (isJsonObject(toolCall)) return call(part, toolOf(toolCall), objectOf(toolCall['args']));
    const response = objectOf(toolResponse);
    return result(part, toolOf(response), JSON.stringify(response['response'] ?? {}), true);
  }

  /** The block of a part of which only Google knows the meaning, so that nothing of an answer is lost. It goes on as text. */
  opaque(part: JsonObject): ProviderToolBlock {
    const name = Object.keys(part).find((key) => isJsonObject(part[key])) ?? 'part';
    return result(part, { id: `${name}_${this.#count++}`, name }, JSON.stringify(part), true);
  }

  /** The blocks of a function call that Google has answered itself, as it does for remote MCP servers. */
  *answeredCall(callPart: JsonObject, resultPart: JsonObject): Generator<ProviderToolBlock, void, void> {
    const asked = objectOf(callPart['functionCall']);
    const answered = objectOf(resultPart['functionResponse']);
    const name = stringOf(asked['name']);
    const tool = { id: stringOf(asked['id']) || `${name}_${this.#count++}`, name };
    const response = objectOf(answered['response']);
    const text = stringOf(response['output']) || stringOf(response['error']) || JSON.stringify(response);
    yield call(callPart, tool, objectOf(asked['args']));
    yield result(resultPart, tool, text, response['error'] === undefined);
  }
}

/** The part behind a block, as Google made it; undefined if Google did not, or if the block says nothing to Google. */
export function wireGooglePart(block: ContentBlock): JsonObject | undefined {
  const part = objectOf(objectOf(block.providerMeta?.[GEMINI_KEY])['part']);
  const key = CALL_KEYS.find((one) => isJsonObject(part[one]) || isJsonObject(part[RESULT_OF[one]]));
  if (key === undefined) return undefined;
  const isCall = isJsonObject(part[key]);
  if (isCall !== (block.type === 'provider_tool_use')) return undefined;
  const kept = isCall ? key : RESULT_OF[key];
  const signature = stringOf(part['thoughtSignature']);
  return { [kept]: objectOf(part[kept]), ...(signature !== '' && { thoughtSignature: signature }) };
}

function toolOf(call: JsonObject): { readonly id: string; readonly name: string } {
  const type = stringOf(call['toolType']);
  return { id: stringOf(call['id']) || type, name: type.toLowerCase() || 'tool' };
}

function call(
  part: JsonObject,
  tool: { readonly id: string; readonly name: string },
  input: JsonObject,
): ProviderToolBlock {
  const providerMeta = { [GEMINI_KEY]: { part } };
  return { type: 'provider_tool_use', ...tool, input, executedBy: GEMINI_KEY, providerMeta };
}

function result(
  part: JsonObject,
  tool: { readonly id: string; readonly name: string },
  output: string,
  isOk: boolean,
): ProviderToolBlock {
  const providerMeta = { [GEMINI_KEY]: { part } };
  const status = isOk ? 'ok' : 'error';
  return { type: 'provider_tool_result', ...tool, output, status, executedBy: GEMINI_KEY, providerMeta };
}
