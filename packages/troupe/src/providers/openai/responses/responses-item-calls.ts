import { stringOf } from '../../../model/http/wire-values.ts';
import type { JsonObject } from '../../../util/json.ts';
import { readClientCall } from '../tools/responses-client-calls.ts';
import {
  generatedImage,
  providerItemId,
  providerToolInput,
  providerToolName,
  providerToolResult,
} from '../tools/responses-provider-items.ts';
import { callOrigin, keptId, LATE_ID, type OutputItem } from './responses-output-item.ts';

/** Makes the deltas of items that are calls: of functions, of other tools of the program, and of tools that the vendor runs. */
export class ItemCalls {
  readonly #metaKey: string;
  readonly #vendorName: string;
  readonly #keepsIds: boolean;

  constructor(metaKey: string, vendorName: string, keepsIds: boolean) {
    this.#metaKey = metaKey;
    this.#vendorName = vendorName;
    this.#keepsIds = keepsIds;
  }

  begin(item: OutputItem, data: JsonObject): void {
    if (item.kind === 'function') {
      item.held = data;
      if (stringOf(data['arguments']) === '') this.startFunction(item);
    } else if (item.kind === 'client') {
      if (item.type !== LATE_ID) this.#startClientCall(item, data);
    } else if (item.kind === 'provider') {
      const call = { id: providerItemId(data, item.index), name: providerToolName(data) };
      item.deltas.push({
        type: 'tool_use_start',
        index: item.index,
        ...call,
        executedBy: this.#vendorName,
      });
    }
  }

  /** Reports a held function call. A call that begins with its arguments may end as a tool that the vendor has run. */
  startFunction(item: OutputItem): void {
    const data = item.held;
    if (data === undefined) return;
    item.held = undefined;
    const kept = { ...(this.#keepsIds && keptId(data)), ...callOrigin(data) };
    const meta = Object.keys(kept).length > 0 && { providerMeta: { [this.#metaKey]: kept } };
    const call = { id: stringOf(data['call_id']), name: stringOf(data['name']) };
    item.deltas.push({ type: 'tool_use_start', index: item.index, ...call, ...meta });
  }

  #startClientCall({ deltas, index }: OutputItem, data: JsonObject): void {
    const { id, name } = readClientCall(data);
    deltas.push({ type: 'tool_use_start', index, id, name });
  }

  addInput(call: OutputItem | undefined, json: string): void {
    if (call === undefined || call.kind === 'other' || json === '') return;
    this.startFunction(call);
    call.hasContent = true;
    call.input += json;
    call.deltas.push({ type: 'tool_input', index: call.index, json });
  }

  /** Adds a piece of an input that is one text, as a piece of JSON. */
  addString(call: OutputItem | undefined, key: string, piece: string): void {
    if (call === undefined || piece === '' || (call.kind === 'provider' && key === 'input')) return;
    const isFirst = !call.hasContent;
    this.addInput(call, `${isFirst ? `{${JSON.stringify(key)}:"` : ''}${JSON.stringify(piece).slice(1, -1)}`);
    call.part = key;
  }

  showImage(item: OutputItem | undefined, event: JsonObject): void {
    const data = stringOf(event['partial_image_b64']);
    if (item?.kind !== 'provider' || data === '') return;
    this.#endProviderCall(item, { ...event, type: item.type }); // the call is complete: its image is coming
    const mediaType = `image/${stringOf(event['output_format']) || 'png'}`;
    item.deltas.push({ type: 'partial_image', data, mediaType });
  }

  /** Completes the input of a call of the program's; the item of the wire stays with it. */
  endInput(item: OutputItem, data: JsonObject): void {
    if (item.part !== undefined) item.deltas.push({ type: 'tool_input', index: item.index, json: '"}' });
    if (item.kind === 'client') {
      if (item.type === LATE_ID) this.#startClientCall(item, data);
      if (!item.hasContent) this.addInput(item, JSON.stringify(readClientCall(data).input));
      item.meta = { [this.#metaKey]: { item: data } };
    } else {
      const whole = stringOf(data['arguments']);
      if (whole.startsWith(item.input)) this.addInput(item, whole.slice(item.input.length)); // the rest that no delta told
    }
  }

  endProvider(item: OutputItem, data: JsonObject): void {
    this.#endProviderCall(item, data);
    const image = data['type'] === 'image_generation_call' && generatedImage(data, this.#metaKey);
    const id = providerItemId(data, item.index);
    const block = image || providerToolResult(data, id, this.#vendorName, this.#metaKey);
    item.deltas.push({ type: 'block', block });
  }

  /** Ends the call of a tool that the vendor runs, once. */
  #endProviderCall(item: OutputItem, data: JsonObject): void {
    if (item.isCallEnded) return;
    item.isCallEnded = true;
    const { index } = item;
    if (item.part !== undefined) item.deltas.push({ type: 'tool_input', index, json: '"}' });
    else if (!item.hasContent) this.addInput(item, JSON.stringify(providerToolInput(data)));
    const meta = item.type === 'image_generation_call' ? {} : { item: data };
    item.deltas.push({ type: 'tool_use_end', index, providerMeta: { [this.#metaKey]: meta } });
  }
}
