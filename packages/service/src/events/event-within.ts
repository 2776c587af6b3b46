import type { AgentEvent } from 'troupe';

/** Texts of a too long event are cut to this part of the limit, then to the next one, until it fits. */
const PARTS = [8, 64, 512];

/**
 * An event as JSON of at most `maxChars`: long texts, such as the data of images, are cut and say so. The messages of the session have
 * them whole. An event that is too long for other reasons becomes a custom event `too_large` that names its type.
 */
export function eventWithin(event: AgentEvent, maxChars: number): string {
  const json = JSON.stringify(event);
  if (json.length <= maxChars) return json;
  for (const part of PARTS) {
    const cut = JSON.stringify(event, (_key, value: unknown) => cutTo(value, Math.floor(maxChars / part)));
    if (cut.length <= maxChars) return cut;
  }
  const { id, runId, replyId, agentPath, seq, timestamp, type } = event;
  const data = { type, chars: json.length };
  return JSON.stringify({
    id,
    runId,
    replyId,
    agentPath,
    seq,
    timestamp,
    type: 'custom',
    name: 'too_large',
    data,
  });
}

function cutTo(value: unknown, maxChars: number): unknown {
  if (typeof value !== 'string' || value.length <= maxChars) return value;
  const end = value.charCodeAt(maxChars - 1);
  const isHalf = end >= 0xd800 && end <= 0xdbff; // the first half of a character
  return `${value.slice(0, isHalf ? maxChars - 1 : maxChars)} … ${value.length} characters`;
}
