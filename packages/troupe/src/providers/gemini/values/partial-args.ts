import { ModelError } from '../../../model/model-error.ts';
import type { JsonObject, JsonValue } from '../../../util/json.ts';

const STEPS = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]/gy;

type Holder = Map<string | number, Node>;
type Node = { readonly holder: Holder; isList: boolean } | { value: JsonValue };

/**
 * Arguments of a tool call that come in parts, each with the path of its value (RFC 9535, such as
 * `$.places[0].name`). Texts come in pieces.
 */
export class PartialArgs {
  readonly #root: Node & { readonly holder: Holder } = { holder: new Map(), isList: false };

  /** @throws ModelError if the path is invalid */
  add(part: JsonObject): void {
    const steps = stepsOf(part['jsonPath']);
    const last = steps.pop();
    if (last === undefined) throw malformed();
    let holder = this.#root.holder;
    for (const [i, step] of steps.entries()) {
      let node = holder.get(step);
      if (node === undefined || 'value' in node) {
        node = { holder: new Map(), isList: typeof (steps[i + 1] ?? last) === 'number' };
        holder.set(step, node);
      }
      holder = node.holder;
    }
    const value = valueOf(part);
    if (value === undefined) return;
    const node = holder.get(last);
    const before = node !== undefined && 'value' in node ? node.value : undefined;
    const isText = typeof before === 'string' && typeof value === 'string';
    holder.set(last, { value: isText ? before + value : value });
  }

  get json(): string {
    return JSON.stringify(toValue(this.#root));
  }
}

function valueOf(part: JsonObject): JsonValue | undefined {
  const { stringValue, numberValue, boolValue, nullValue } = part;
  return stringValue ?? numberValue ?? boolValue ?? (nullValue === undefined ? undefined : null);
}

function stepsOf(path: unknown): (string | number)[] {
  if (typeof path !== 'string' || !path.startsWith('$')) throw malformed();
  const steps: (string | number)[] = [];
  let end = 1;
  for (const match of path.slice(1).matchAll(STEPS)) {
    const [whole, name, single, double, index] = match;
    end += whole.length;
    const key = name ?? (single ?? double)?.replaceAll(/\\(.)/g, '$1');
    steps.push(key ?? Number(index));
  }
  if (end !== path.length) throw malformed();
  return steps;
}

function toValue(node: Node): JsonValue {
  if ('value' in node) return node.value;
  const entries = Array.from(node.holder, ([step, inner]) => [step, toValue(inner)] as const);
  if (!node.isList) return Object.fromEntries(entries);
  return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
}

function malformed(): ModelError {
  return new ModelError('A part of the arguments of a tool call has no valid path.', { kind: 'malformed' });
}
