import type { ModelDelta } from '../../../message/model-delta.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import { isJsonObject, readJson, type JsonObject } from '../../../util/json.ts';

/** A tool run by the vendor, with the fields received so far. */
interface ExecutedTool {
  readonly id: string;
  readonly name: string;
  told: JsonObject;
  hasResult: boolean;
}

/** Fields of a tool with results besides its output. */
const RESULTS = ['code_results', 'browser_results'];

function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** Reads the tools run by a vendor such as Groq: arguments come first, output later. */
export class ExecutedTools {
  readonly #vendorName: string;
  readonly #tools = new Map<number, ExecutedTool>();

  constructor(vendorName: string) {
    this.#vendorName = vendorName;
  }

  *read(list: unknown): Generator<ModelDelta, void, void> {
    for (const [position, piece] of objectsOf(list).entries()) {
      const index = numberOf(piece['index']) ?? position;
      let tool = this.#tools.get(index);
      if (tool === undefined) {
        const name = stringOf(piece['name']) || stringOf(piece['type']) || 'tool';
        tool = { id: `executed_${index}`, name, told: piece, hasResult: false };
        this.#tools.set(index, tool);
        yield this.#call(tool);
      } else tool.told = { ...tool.told, ...piece };
      yield* this.#result(tool);
    }
  }

  #call({ id, name, told }: ExecutedTool): ModelDelta {
    const args = readJson(stringOf(told['arguments']));
    const input = isJsonObject(args) ? args : { arguments: stringOf(told['arguments']) };
    const block = { type: 'provider_tool_use', id, name, input, executedBy: this.#vendorName } as const;
    return { type: 'block', block: { ...block, providerMeta: { [this.#vendorName]: {} } } };
  }

  *#result(tool: ExecutedTool): Generator<ModelDelta, void, void> {
    const { id, name, told } = tool;
    const found = objectsOf(objectOf(told['search_results'])['results']);
    const kept = {
      ...(found.length > 0 && { search_results: found }),
      ...Object.fromEntries(RESULTS.flatMap((key) => (isFilled(told[key]) ? [[key, told[key]]] : []))),
    };
    const said = Object.values(kept).map((value) => JSON.stringify(value));
    const output = stringOf(told['output']) || said.join('\n');
    if (tool.hasResult || output === '') return;
    tool.hasResult = true;
    const providerMeta = { [this.#vendorName]: kept };
    const result = { type: 'provider_tool_result', id, name, output, status: 'ok' } as const;
    yield { type: 'block', block: { ...result, executedBy: this.#vendorName, providerMeta } };
  }
}
