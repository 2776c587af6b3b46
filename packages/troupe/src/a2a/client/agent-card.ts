import type { AgentCard } from '@a2a-js/sdk';

import type { JsonObject } from '../../util/json.ts';
import { A2AError } from '../protocol/a2a-error.ts';
import type { FoundCard } from './agent-card-resolver.ts';
import { verifyCard, type CardKey } from '../protocol/card-signature.ts';
import { a2aSdk, a2aLegacy } from '../protocol/sdk.ts';

export interface CardRules {
  /** Origins of agents besides the origin of the card. */
  readonly allowedOrigins: readonly string[];
  /** Keys of which one must have signed the card. */
  readonly cardKeys: readonly CardKey[] | undefined;
}

const BINDINGS = ['JSONRPC', 'HTTP+JSON'];

/**
 * Reads a card of protocol 1.0 or 0.3, and removes addresses that may not be used.
 * @throws A2AError if the card is invalid, lacks a required signature, or has no usable address.
 */
export function readAgentCard({ card: json, origin }: FoundCard, rules: CardRules): AgentCard {
  const card = parseCard(json);
  if (rules.cardKeys !== undefined) verifyCard(card, rules.cardKeys);
  const origins = origin === undefined ? undefined : [origin, ...rules.allowedOrigins];
  const spoken = card.supportedInterfaces.filter(({ protocolBinding: binding, url }) => {
    return BINDINGS.includes(binding.toUpperCase()) && originOf(url) !== undefined;
  });
  if (spoken.length === 0)
    throw new A2AError('bad_card', `The agent card has no interface that is JSON-RPC or HTTP+JSON.`);
  const supportedInterfaces = spoken.filter(({ url }) => origins?.includes(originOf(url) ?? '') ?? true);
  if (supportedInterfaces.length > 0) return { ...card, supportedInterfaces };
  const elsewhere = originOf(spoken[0]?.url ?? '');
  const problem = `The card from ${origin} says that the agent is at ${elsewhere}.`;
  throw new A2AError('unsafe_url', `${problem} If that is right, name it in allowedOrigins.`);
}

/** Origins of the agent's addresses. */
export function originsOf({ supportedInterfaces }: AgentCard): readonly string[] {
  return supportedInterfaces.flatMap(({ url }) => originOf(url) ?? []);
}

function parseCard(json: JsonObject): AgentCard {
  let card: AgentCard;
  try {
    // A converted old card is parsed again as a new card, which gives all fields the right types.
    const { AgentCard } = a2aSdk;
    const isLegacy = a2aLegacy.isLegacyAgentCard(json);
    card = AgentCard.fromJSON(isLegacy ? AgentCard.toJSON(a2aLegacy.parseLegacyAgentCard(json)) : json);
  } catch {
    throw new A2AError('bad_card', 'The agent card is not valid by the protocol.');
  }
  if (card.name !== '') return card;
  throw new A2AError('bad_card', 'The agent card has no name.');
}

function originOf(address: string): string | undefined {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : undefined;
}
