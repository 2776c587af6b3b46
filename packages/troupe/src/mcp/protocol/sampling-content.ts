import type { SpecTypes } from '@modelcontextprotocol/server';

import type { ContentBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';

type SamplingMessage = SpecTypes['SamplingMessage'];
type SamplingBlock = Extract<SamplingMessage['content'], readonly unknown[]>[number];

/** Converts a message for a client's model. Text, images and sound are sent; other blocks are left out. */
export function toSamplingContent(msg: Msg): SamplingMessage {
  const content = msg.getContentBlocks(['text', 'image', 'audio']).flatMap(toSamplingBlock);
  const [only] = content;
  const role = msg.role === 'assistant' ? 'assistant' : 'user';
  return { role, content: content.length === 1 && only !== undefined ? only : content };
}

function toSamplingBlock(block: ContentBlock): readonly SamplingBlock[] {
  if (block.type === 'text') return [{ type: 'text', text: block.text }];
  if (block.type !== 'image' && block.type !== 'audio') return [];
  if (block.source.type !== 'base64') return [];
  const { data, mediaType: mimeType } = block.source;
  return [{ type: block.type, data, mimeType }];
}

/** Converts the answer of a client's model. The name is that of the model. */
export function toSampledMsg({ model, content }: SpecTypes['CreateMessageResult']): Msg {
  return Msg.assistant(fromSamplingContent(content), { name: model });
}

/** Blocks of a sampling message. Tool calls and tool results, which we do not offer, become text. */
export function fromSamplingContent(content: SamplingMessage['content']): ContentBlock[] {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.map((block): ContentBlock => {
    if (block.type === 'text') return { type: 'text', text: block.text };
    if (block.type !== 'image' && block.type !== 'audio') return { type: 'text', text: `(${block.type})` };
    const { data, mimeType: mediaType } = block;
    return { type: block.type, source: { type: 'base64', mediaType, data } };
  });
}
