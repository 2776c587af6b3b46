import type { JsonObject } from '../../util/json.ts';

/** Published card and its origin. */
export interface FoundCard {
  readonly card: JsonObject;
  /** Origin of a card from the network. The agent must have the same origin, unless others are allowed. */
  readonly origin?: string | undefined;
}

/** Finds the card of a remote agent. */
export interface AgentCardResolver {
  resolve(signal: AbortSignal): Promise<FoundCard>;
}
