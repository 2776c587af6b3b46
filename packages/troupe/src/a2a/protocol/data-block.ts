import type { ContentBlock, TextBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { copyJson, isJsonObject, type JsonValue } from '../../util/json.ts';

const KEY = 'a2a';

/** Data for another agent as a block: JSON text for models, a data part on the wire. */
export function dataBlock(data: JsonValue): TextBlock {
  const copied = copyJson(data, 'data', { maxDepth: 60 });
  return { type: 'text', text: JSON.stringify(copied), providerMeta: { [KEY]: { data: copied } } };
}

/** Data in a message, in the order of its blocks. */
export function dataIn(msg: Msg): readonly JsonValue[] {
  return msg.getContentBlocks().flatMap((block) => {
    const data = dataOf(block);
    return data === undefined ? [] : [data];
  });
}

export function dataOf({ providerMeta }: ContentBlock): JsonValue | undefined {
  const meta = providerMeta?.[KEY];
  return isJsonObject(meta) ? meta['data'] : undefined;
}
